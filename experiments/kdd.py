# SPDX-License-Identifier: MIT
"""KDD Cup 1999 for the program (section 5.3): which file, and how its columns become 40 numbers.

Each line has 41 features and a label. The three symbolic columns become whole numbers in the order in which their words
appear; the 20th column (num_outbound_cmds), always 0, is left out: that makes the paper's 40 features and 23 classes."""
import collections
import gzip

from lab import Missing, stamps

WHOLE, TENTH = "kdd99/kddcup.data.gz", "kdd99/kddcup.data_10_percent.gz"
COLUMNS = ["--header", "no", "--drop", 20, "--categorical", "2,3,4", "--coding", "integer"]

# Rows of the whole file by label, where they are not those of the 10 % file: from the literature, not counted here.
# Seven labels were cut to one row in ten for the 10 % file, the other sixteen were kept whole.
WHOLE_COUNTS = {"smurf": 2807886, "neptune": 1072017, "normal": 972781, "satan": 15892, "ipsweep": 12481, "portsweep": 10413,
                "nmap": 2316}


def source(lab):
    """The whole file if it is there, else the 10 % file; and which it is."""
    try:
        return lab.file(WHOLE), "whole"
    except Missing:
        return lab.file(TENTH), "tenth"


def counts(lab, path):
    """Rows by label."""
    def make():
        with gzip.open(path, "rt") as lines:
            return collections.Counter(line.rsplit(",", 1)[1].strip().rstrip(".") for line in lines)
    return lab.once(f"{path.name}-labels", stamps([str(path)], path.parent), make)


def words(shares, more=()):
    """Behind `sgfs pack`."""
    return [*COLUMNS, *more, "--storage", "f32", "--split", shares]


def parts(lab, path, shares, more=()):
    """Packed files of training, validation and test rows in the experiment's work folder, by name of the part, and their
    numbers of rows: read once, not in every run."""
    made = {p: f"kdd-{p}.sgd" for p in ("train", "validation", "test")}

    def make():
        return {p: lab.json("pack", path, *words(shares, more), "--part", p, "--out", out, "--overwrite")["rows"]
                for p, out in made.items()}

    if not all((lab.work / f).exists() for f in made.values()):
        (lab.common / f"{lab.name}-parts.json").unlink(missing_ok=True)
    return made, lab.once(f"{lab.name}-parts", [words(shares, more), lab.version, stamps([str(path)], path.parent)], make)
