# SPDX-License-Identifier: MIT
"""Several files, patterns, standard input and pipes: whatever way the rows come, they are the same
rows, and the draws agree bit for bit with those from the one file they were cut from."""
import gzip
import io
import json
import os
import pty
import subprocess

import numpy as np
import pytest

from cli_program import PROGRAM, SHORT, Sgfs, lines, quarters, write

USAGE, DATA, IO = 2, 3, 5
NAMES = ("x1", "x2", "y")  # those that are made up for arrays
CUTS = ((0, 17), (17, 18), (18, 60))


def svm(x, y):
    """libsvm lines without their zeros."""
    return [" ".join([str(label), *(f"{j + 1}:{v}" for j, v in enumerate(row) if v != 0)])
            for row, label in zip(x, y)]


@pytest.fixture(name="sgfs", scope="module")
def folder_with_pieces(tmp_path_factory):
    """whole.* and the pieces it was cut into, in every format; text.csv has labels no and yes."""
    folder = tmp_path_factory.mktemp("files")
    x, y = quarters()
    words = np.array(["no", "yes"])[y]
    table = np.column_stack([x, y])
    sgfs = Sgfs(folder)

    def save(name, rows):
        write(folder / f"{name}.csv", lines(x[rows], y[rows], NAMES))
        write(folder / f"{name}.svm", svm(x[rows], y[rows]))
        write(folder / f"{name}.text", lines(x[rows], words[rows], NAMES))
        np.save(folder / f"{name}.npy", table[rows])

    save("whole", slice(None))
    for k, (first, end) in enumerate(CUTS, 1):
        save(f"part-{k}", slice(first, end))
        sgfs.ok("pack", f"part-{k}.csv", "--no-shuffle", "--out", f"part-{k}.sgd", "-q")
    with gzip.open(folder / "whole.csv.gz", "wb") as f:
        f.write((folder / "whole.csv").read_bytes())
    write(folder / "turned.csv", lines(np.column_stack([y[18:], x[18:, 1]]), x[18:, 0],
                                       ("y", "x2", "x1")))
    write(folder / "bare.csv", lines(x, y, None))
    return sgfs


@pytest.fixture(name="whole", scope="module")
def draws_of_the_whole(sgfs):
    return sgfs.sample("logistic", "whole.csv", "--sampler", "sgfs-f", out="whole.run")


def drawn(sgfs, *data, **options):
    """The draws from these names behind --data."""
    sgfs.ok("sample", "logistic", "--data", *data, "--sampler", "sgfs-f", *SHORT, "--out", "fit.run",
            "--overwrite", "-q", **options)
    return sgfs.draws()


PIECES = {
    "pattern": ("part-*.csv",),
    "spelled out": ("part-1.csv", "part-2.csv", "part-3.csv"),
    "given again": ("part-1.csv", "--data", "part-2.csv", "--data=part-3.csv"),
    "both": ("part-1.csv", "--data", "part-[23].csv"),
    "arrays": ("part-*.npy",),
    "dense libsvm": ("part-*.svm", "--dense", "--columns", "2"),
    "mixed": ("part-1.csv", "part-2.npy", "part-3.csv"),
    "arrays first": ("part-1.npy", "part-2.npy", "part-3.csv"),
    "packed and text": ("part-1.sgd", "part-2.csv", "part-3.npy"),
    "mixed with libsvm": ("part-1.csv", "part-2.svm", "part-3.npy", "--dense", "--columns", "2"),
    "another order": ("part-1.csv", "part-2.csv", "turned.csv", "--target", "y"),
}


@pytest.mark.parametrize("data", PIECES.values(), ids=PIECES.keys())
def test_pieces_are_the_whole(sgfs, whole, data):
    assert np.array_equal(drawn(sgfs, *data), whole)


def test_packed_pieces_are_the_whole(sgfs, whole):
    """Means are put together from what each piece says of itself, so they agree but for rounding,
    which 140 steps of a chain that contracts do not blow up."""
    draws = drawn(sgfs, "part-?.sgd", "--batch-scheme", "with")
    assert np.allclose(draws, whole, rtol=1e-9, atol=1e-9)


def test_sparse_pieces_are_the_whole(sgfs):
    """Sparse rows have sums of their own order: compared with the sparse whole."""
    assert np.array_equal(drawn(sgfs, "part-*.svm"), drawn(sgfs, "whole.svm"))


def test_words_are_those_of_the_whole(sgfs, whole):
    """Labels in each piece in its own order; draws are those of 0 and 1 where "no" comes first."""
    assert np.array_equal(drawn(sgfs, "part-*.text"), drawn(sgfs, "whole.text"))
    assert np.array_equal(drawn(sgfs, "part-*.text"), whole)


def shell(sgfs, line):
    """A line of bash, with $SGFS for the program."""
    return subprocess.run(["bash", "-c", line], cwd=sgfs.folder, capture_output=True, text=True,
                          env={**os.environ, "SGFS": PROGRAM}, timeout=120, check=False)


SAMPLE = f"$SGFS sample logistic --sampler sgfs-f --prior-precision 1 {' '.join(SHORT)} --out fit.run --overwrite -q --data "


@pytest.mark.parametrize("line", [
    f"cat whole.csv | {SAMPLE} -",
    f"cat whole.csv.gz | {SAMPLE} -",
    f"{SAMPLE} - < whole.csv",
    f"{SAMPLE} - < whole.npy",
    f"cat whole.npy | {SAMPLE} -",
    f"cat whole.csv | {SAMPLE} /dev/stdin",
    f"{SAMPLE} <(zcat whole.csv.gz)",
    f"{SAMPLE} <(cat part-1.csv) part-2.csv <(gzip -c part-3.csv)",
    f"cat part-2.csv | {SAMPLE} part-1.csv - part-3.csv",
    f"mkfifo rows.fifo; cat whole.csv > rows.fifo & {SAMPLE} rows.fifo; wait; rm rows.fifo",
    f"(read -r line; {SAMPLE} - --header no --target 3) < whole.csv",
    f"{SAMPLE} part-*.csv",
])
def test_pipes_are_files(sgfs, whole, line):
    done = shell(sgfs, line)
    assert done.returncode == 0, done.stderr
    assert np.array_equal(sgfs.draws(), whole)


def test_nothing_is_left_of_a_pipe(sgfs):
    (sgfs.folder / "room").mkdir()
    done = shell(sgfs, f"cat whole.csv | TMPDIR=room {SAMPLE} -; ls -A room | wc -l")
    assert done.stdout.split() == ["0"], done.stderr
    done = shell(sgfs, f"cat whole.csv | TMPDIR=nowhere {SAMPLE} -")
    assert done.returncode == IO and "cannot be copied to nowhere" in done.stderr


def test_the_header_names_all_files(sgfs):
    def told(*data, **options):
        drawn(sgfs, *data, **options)
        sgfs.ok("export", "fit.run", "fit.csv", "--overwrite", "-q")
        text = (sgfs.folder / "fit.run").read_bytes()
        start = text.index(b'{"')
        return json.JSONDecoder().raw_decode(text[start:].decode("utf-8", "replace"))[0]["data"]

    data = told("part-*.csv")
    assert data["path"] == "part-*.csv (3 files)"
    assert data["files"] == ["part-1.csv", "part-2.csv", "part-3.csv"]
    with open(sgfs.folder / "whole.csv", encoding="utf-8") as f:
        data = told("-", stdin=f)
    assert data["path"] == "standard input" and "files" not in data


def without_times(v):
    """The same result without what differs from time to time, and without names of files."""
    if isinstance(v, dict):
        return {k: without_times(w) for k, w in v.items()
                if k not in ("data", "path") and "second" not in k and "per_s" not in k}
    return [without_times(w) for w in v] if isinstance(v, list) else v


@pytest.mark.parametrize("command", ["optimize", "check-grad", "tune"])
def test_other_commands_take_the_same(sgfs, command):
    """What they find is the same, but for seconds and the names of files."""
    own = {"tune": ("--draws", "20", "--warmup", "20", "--holdout", "0.3", "--grid", "alpha=0,1",
                    "--chains", "1", "--out", "best.json", "--overwrite", "--json"),
           "optimize": ("--json",), "check-grad": ("--json",)}[command]

    def found(*data, **options):
        out = sgfs.ok(command, "logistic", "--data", *data, *own, "-q", **options).stdout
        return without_times(json.loads(out))

    once = found("whole.csv")
    assert found("part-*.csv") == once
    assert found("part-1.csv", "part-2.npy", "part-3.csv") == once
    with open(sgfs.folder / "whole.csv.gz", "rb") as f:
        assert found("-", stdin=f) == once
    assert found("part-1.csv", "part-3.csv") != once


# ---- new rows ------------------------------------------------------------------------------------

def predictions(sgfs, *data, **options):
    sgfs.ok("predict", "whole.run", "--data", *data, "--out", "p.csv", "--overwrite", "-q",
            **options)
    return (sgfs.folder / "p.csv").read_text()


@pytest.mark.usefixtures("whole")
def test_predictions_of_pieces(sgfs):
    once = predictions(sgfs, "whole.csv")
    assert predictions(sgfs, "part-*.csv") == once
    assert predictions(sgfs, "part-1.csv", "part-2.csv", "--data", "part-3.csv") == once
    assert predictions(sgfs, "part-1.csv", "part-2.sgd", "turned.csv") == once
    assert predictions(sgfs, "part-*.csv", "--threads", "2") == once
    with open(sgfs.folder / "whole.csv.gz", "rb") as f:
        assert predictions(sgfs, "-", stdin=f) == once
    assert shell(sgfs, "$SGFS predict whole.run --data <(cat part-1.csv) part-[23].csv --out p.csv "
                       "--overwrite -q").returncode == 0
    assert (sgfs.folder / "p.csv").read_text() == once
    # the run may stand behind its data, where there is one file
    assert sgfs.ok("predict", "--data", "whole.csv", "whole.run", "-q").stdout != ""
    # rows are counted through
    limited = predictions(sgfs, "whole.csv", "--limit", "18")
    assert limited.count("\n") == 19
    assert predictions(sgfs, "part-*.csv", "--limit", "18") == limited


def test_parts_of_a_split_are_counted_through(sgfs):
    """--part test takes the rows of one long file, wherever they stand."""
    sgfs.ok("sample", "logistic", "--data", "whole.csv", "--split", "0.6,0.2,0.2", *SHORT, "--out",
            "split.run", "--overwrite", "-q")
    outs = []
    for data in (["whole.csv"], ["part-1.csv", "part-2.csv", "part-3.csv"]):
        sgfs.ok("predict", "split.run", "--data", *data, "--part", "test", "--out", "t.csv",
                "--overwrite", "-q")
        outs.append((sgfs.folder / "t.csv").read_text())
    assert outs[0] == outs[1] and 3 < outs[0].count("\n") < 40


@pytest.mark.usefixtures("whole")
def test_very_many_files_of_one_row(sgfs):
    """The same rows, to the last digits: BLAS has another kernel for the last rows of a block, which may round anew."""
    once = predictions(sgfs, "whole.csv")
    rows = (sgfs.folder / "whole.csv").read_text().splitlines(keepends=True)
    (sgfs.folder / "many").mkdir()
    for copy in range(2):  # more files in a block than stay open
        for i, row in enumerate(rows[1:]):
            (sgfs.folder / "many" / f"{copy}-{i:03d}.csv").write_text(rows[0] + row)
    many = predictions(sgfs, "many/*.csv")
    assert many.split("\n", 1)[0] == once.split("\n", 1)[0]
    once, many = (np.loadtxt(io.StringIO(text), delimiter=",", skiprows=1) for text in (once, many))
    assert np.allclose(many, np.vstack([once, once]), rtol=1e-12, atol=0)
    assert drawn(sgfs, "many/0-*.csv").shape[0] == 2


def test_validation_from_several_files(sgfs, whole):
    def curve(validate, **options):
        sgfs.ok("sample", "logistic", "--data", "whole.csv", "--sampler", "sgfs-f", *SHORT, "--out", "v.run", "-q",
                "--overwrite", "--validate", validate, **options)
        assert np.array_equal(sgfs.draws("v.run"), whole)
        sgfs.ok("export", "v.run", "v.curve.csv", "--overwrite", "-q")
        head, *rows = (sgfs.folder / "v.curve.csv").read_text().split("\n")
        kept = [k for k, name in enumerate(head.split(",")) if "second" not in name]
        return [[row.split(",")[k] for k in kept] for row in rows if row]

    once = curve("whole.csv")
    assert len(once) > 10
    assert curve("part-*.csv") == once
    with open(sgfs.folder / "whole.csv", encoding="utf-8") as f:
        assert curve("-", stdin=f) == once


# ---- what is refused -----------------------------------------------------------------------------

def refused(sgfs, code, sentence, *words, **options):
    done = sgfs(*words, **options)
    assert done.returncode == code, done.stderr
    assert sentence in done.stderr, done.stderr
    assert "/proc/self" not in done.stderr


ON = ("optimize", "logistic", "--data")


@pytest.mark.parametrize("code, sentence, words", [
    (IO, "none-*.csv: no file fits this pattern", (*ON, "none-*.csv")),
    (IO, 'did you mean "part-', (*ON, "Part_*.csv")),
    (IO, "is a directory; give the name of a file, or a pattern in quotes: './*.csv'", (*ON, ".")),
    (USAGE, "part-1.csv: is named twice", (*ON, "part-1.csv", "part-1.csv")),
    (USAGE, "part-1.csv and ./part-1.csv are the same file", (*ON, "part-1.csv", "./part-1.csv")),
    (USAGE, "Standard input (-) can be read once", (*ON, "-", "--data", "-")),
    (USAGE, 'What is "target" for?', (*ON, "whole.csv", "target", "y")),
    (USAGE, 'What is "bare.csv" for?', ("optimize", "logistic", "bare.csv", *ON[2:], "whole.csv")),
    (USAGE, "a pattern in quotes", ("optimize", "--data", "part-1.csv", "part-2.csv", "logistic")),
    (DATA, "bare.csv: does not say what its columns are called", (*ON, "whole.csv", "bare.csv")),
    (DATA, "part-2.svm: is sparse, and part-1.csv is not", (*ON, "part-1.csv", "part-2.svm")),
    (DATA, "part-2.npy: its targets are numbers", (*ON, "part-1.text", "part-2.npy")),
    (DATA, 'turned.csv: its column "x1" is the target', (*ON, "part-1.csv", "turned.csv")),
    (USAGE, "is the data; give the output another name", ("sample", "logistic", "--data", "part-*.csv",
                                                "--out", "part-2.csv", "--overwrite")),
    (USAGE, "--labels is for files of kind idx", (*ON, "part-1.csv", "part-2.csv", "--labels",
                                                  "whole.csv")),
])
def test_refusals(sgfs, code, sentence, words):
    with open(sgfs.folder / "whole.csv", encoding="utf-8") as f:
        refused(sgfs, code, sentence, *words, stdin=f)


def test_no_rows_on_standard_input(sgfs):
    refused(sgfs, IO, "standard input: is not a regular file", *ON, "-", stdin=subprocess.DEVNULL)
    done = shell(sgfs, "true | $SGFS optimize logistic --data -")
    assert done.returncode == DATA and "standard input: is empty" in done.stderr
    done = shell(sgfs, "$SGFS optimize logistic --data - <&-")
    assert done.returncode == IO and "standard input: is not a regular file" in done.stderr
    main, terminal = pty.openpty()
    refused(sgfs, USAGE, "standard input: is a terminal", *ON, "-", stdin=terminal)
    os.close(terminal)
    os.close(main)


def test_faults_are_found_in_their_file(sgfs):
    bad = (sgfs.folder / "part-3.csv").read_text().split("\n")
    bad[4] = "1.5,hm,1"
    write(sgfs.folder / "bad.csv", bad[:-1])
    refused(sgfs, DATA, "bad.csv:5: column 2", *ON, "part-1.csv", "bad.csv")
    text = "\n".join(bad)
    done = subprocess.run([PROGRAM, *ON, "part-1.csv", "-"], cwd=sgfs.folder, input=text,
                          capture_output=True, text=True, check=False)
    assert done.returncode == DATA and "standard input:5: column 2" in done.stderr
    table = np.load(sgfs.folder / "part-3.npy")
    table[6, 1] = np.nan
    np.save(sgfs.folder / "nan.npy", table)
    refused(sgfs, DATA, 'nan.npy: row 7, column "x2"', *ON, "part-1.npy", "nan.npy")


@pytest.mark.usefixtures("whole")
def test_faults_of_new_rows_are_found_in_their_file(sgfs):
    x, y = quarters()
    write(sgfs.folder / "seven.csv", lines(x[:4], [0, 1, 7, 0], NAMES))
    write(sgfs.folder / "only.csv", ["x1,x2", "1,2"])
    predict = ("predict", "whole.run", "--data")
    refused(sgfs, DATA, 'seven.csv:4: the target is "7"', *predict, "part-2.csv", "part-1.csv",
            "seven.csv")
    refused(sgfs, DATA, "only.csv: has no target, and part-1.csv has it", *predict, "part-1.csv",
            "only.csv")
    with open(sgfs.folder / "seven.csv", encoding="utf-8") as f:
        refused(sgfs, DATA, 'standard input:4: the target is "7"', *predict, "part-1.csv", "-",
                stdin=f)


def test_packing_pieces(sgfs, whole):
    """pack reads the same names; in order, the rows are those of the whole."""
    for k, data in enumerate((["part-*.csv"], ["part-1.csv", "part-2.npy", "part-3.sgd"])):
        sgfs.ok("pack", *data, "--no-shuffle", "--out", f"all-{k}.sgd", "-q")
        assert np.array_equal(drawn(sgfs, f"all-{k}.sgd", "--batch-scheme", "with"), whole)
    sgfs.ok("pack", "part-*.text", "--no-shuffle", "--out", "text.sgd", "-q")
    assert np.array_equal(drawn(sgfs, "text.sgd", "--batch-scheme", "with"), whole)
    with open(sgfs.folder / "whole.csv.gz", "rb") as f:
        sgfs.ok("pack", "-", "--no-shuffle", "--out", "input.sgd", "-q", stdin=f)
    assert np.array_equal(drawn(sgfs, "input.sgd", "--batch-scheme", "with"), whole)
