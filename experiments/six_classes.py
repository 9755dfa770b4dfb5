# SPDX-License-Identifier: MIT
"""The rows of figures 4 and 5: the six most populous classes of KDD Cup 1999, every column between 0 and 1.

Words of the three symbolic columns become their number in order of appearance; `num_outbound_cmds`, always 0, is left
out. The same rows twice: all of them, for minibatches, and the different ones with how often each occurs (`--weights`), which
give sums over all rows for a third of the work."""
import gzip

import numpy as np

import kdd

CLASSES = ("smurf", "neptune", "normal", "satan", "ipsweep", "portsweep")
SYMBOLIC = ("protocol_type", "service", "flag")
COLUMNS = """duration protocol_type service flag src_bytes dst_bytes land wrong_fragment urgent hot num_failed_logins logged_in
num_compromised root_shell su_attempted num_root num_file_creations num_shells num_access_files num_outbound_cmds is_host_login
is_guest_login count srv_count serror_rate srv_serror_rate rerror_rate srv_rerror_rate same_srv_rate diff_srv_rate
srv_diff_host_rate dst_host_count dst_host_srv_count dst_host_same_srv_rate dst_host_diff_srv_rate dst_host_same_src_port_rate
dst_host_srv_diff_host_rate dst_host_serror_rate dst_host_srv_serror_rate dst_host_rerror_rate dst_host_srv_rerror_rate""".split()
LEFT_OUT = "num_outbound_cmds"


def files(lab):
    """The packed files, all rows and different rows, and what is in them. quick: every tenth row; smoke: some hundreds."""
    source = lab.file(kdd.TENTH)
    made = [lab.common / "six-all.sgd", lab.common / "six-different.sgd"]
    key = [lab.scale, lab.version, str(source), source.stat().st_size]

    def make():
        return _make(lab, source, *made)

    about = lab.once("six-classes", key, make)
    return (*made, about if all(f.exists() for f in made) else make())


def _make(lab, source, whole, different):
    order, text, about = read(source, lab.by_scale(1, 10, None))
    names = [c for c in COLUMNS if c != LEFT_OUT] + ["class"]
    counts = np.bincount(order)
    tables = ((whole, names, (text[k] for k in order), []),
              (different, names + ["times"], (f"{t},{n}" for t, n in zip(text, counts)), ["--weights", "times"]))
    for path, head, lines, words in tables:
        table = path.with_suffix(".csv")
        table.write_text(",".join(head) + "\n" + "\n".join(lines) + "\n")
        lab.sgfs("pack", table, "--target", "class", *words, "--out", path, "--overwrite", "--quiet")
        table.unlink()
    return about


def read(source, every):
    """Every k-th row of the six classes, as indices of different rows; these as text; and their numbers."""
    index, order = {}, []
    with gzip.open(source, "rt") as file:
        kept = [line.rstrip(".\n") for line in file if line.rstrip(".\n").rsplit(",", 1)[1] in CLASSES]
    for line in kept[::every or max(1, len(kept) // 600)]:
        order.append(index.setdefault(line, len(index)))
    cells = np.array([line.split(",") for line in index])
    x = np.column_stack([numbers(cells[:, j], c) for j, c in enumerate(COLUMNS) if c != LEFT_OUT])
    times = np.bincount(order)
    mean = np.average(x, 0, times)
    spread = np.sqrt(np.average((x - mean)**2, 0, times))
    furthest = float(np.max(np.abs(x - mean) / np.where(spread > 0, spread, 1)))
    low, high = x.min(0), x.max(0)
    x = (x - low) / np.where(high > low, high - low, 1)
    text = [",".join(f"{v:.9g}" for v in row) + f",{label}" for row, label in zip(x, cells[:, -1])]
    labels = cells[:, -1][order]
    constant = [c for c, a, b in zip((c for c in COLUMNS if c != LEFT_OUT), low, high) if a == b]
    about = {"rows": len(order), "different": len(text), "columns": x.shape[1], "constant": constant, "furthest": furthest,
             "classes": {c: int((labels == c).sum()) for c in CLASSES if (labels == c).any()}}
    return order, text, about


def numbers(cells, column):
    if column not in SYMBOLIC:
        return cells.astype(float)
    words = {w: k for k, w in enumerate(dict.fromkeys(cells))}
    return np.array([words[w] for w in cells], dtype=float)
