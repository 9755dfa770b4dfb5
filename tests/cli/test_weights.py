# SPDX-License-Identifier: MIT
"""--weights and --exposure from the command line: a weighted file is the file with its rows repeated,
whichever reader it comes through, and what cannot be used is refused with a sentence."""
import json
import re

import numpy as np
import pytest

from cli_program import SHORT, Sgfs, lines, quarters, write

USAGE, DATA = 2, 3


def weights_of(rows):
    return np.arange(rows) % 4


@pytest.fixture(name="sgfs")
def folder_with_files(tmp_path):
    """good.csv has columns a, b, w, t, y; repeated.csv each row w times; good.npy the same numbers,
    with w and t last."""
    x, y = quarters()
    w, t = weights_of(len(y)), 0.5 + np.arange(len(y)) / 8
    names = ("a", "b", "w", "t", "y")
    rows = np.column_stack([x, w, t])
    write(tmp_path / "good.csv", lines(rows, y, names))
    write(tmp_path / "repeated.csv", lines(np.repeat(x, w, axis=0), np.repeat(y, w)))
    np.save(tmp_path / "good.npy", np.column_stack([x, y, w, t]))
    good = lines(rows, y, names)
    for name, line, text in (("negative", 6, "1,2,-0.5,1,0"), ("text", 7, "1,2,often,1,0"),
                             ("hole", 8, "1,2,,1,0"), ("nan", 9, "1,2,nan,1,0"),
                             ("exposure", 5, "1,2,1,0,0")):
        write(tmp_path / f"{name}.csv", good[:line - 1] + [text] + good[line:])
    write(tmp_path / "zero.csv", lines(np.column_stack([x, 0 * w, t]), y, names))
    return Sgfs(tmp_path)


def mode(sgfs, data, *words):
    """The table that optimize prints, without the lines that tell rows and seconds."""
    out = sgfs.ok("optimize", "logistic", "--data", data, *words, "-q").stdout
    table = [line for line in out.split("\n") if " rows, " not in line and " s; " not in line]
    assert len(table) > 4
    return "\n".join(table)


def test_weights_are_repetitions(sgfs):
    """The mode and its Gaussian are those of the repeated rows; also from .npy, by number."""
    once = mode(sgfs, "repeated.csv")
    assert mode(sgfs, "good.csv", "--weights", "w", "--features", "a,b") == once
    assert mode(sgfs, "good.csv", "--weights", "3", "--features", "1-2", "--target", "y") == once
    npy = mode(sgfs, "good.npy", "--weights", "4", "--features", "1,2", "--target", "3")
    assert npy.replace("x1", "a").replace("x2", "b").split() == once.split()
    assert mode(sgfs, "good.csv", "--features", "a,b") != once


def test_all_others_leaves_the_weights_out(sgfs):
    """The default features are all columns that are nothing else."""
    draws = sgfs.sample("logistic", "good.csv", "--weights", "w")
    assert draws.shape[2] == 4  # intercept, a, b, t
    draws = sgfs.sample("logistic", "good.npy", "--weights", "x4", "--target", "3")
    assert draws.shape[2] == 4  # intercept, x1, x2, x5


def test_the_default_target_is_the_last_of_the_others(sgfs):
    """With the weights in the last column it is the one before it."""
    draws = sgfs.sample("linear", "good.npy", "--weights", "x5")
    named = sgfs.sample("linear", "good.npy", "--weights", "5", "--target", "x4")
    assert draws.shape[2] == 5 and (draws == named).all()  # intercept, x1 to x3, log_sigma


def test_the_note_says_how_many_rows_they_count_for(sgfs):
    total = weights_of(60).sum()
    done = sgfs.ok("optimize", "logistic", "--data", "good.csv", "--weights", "w")
    assert f"Weights sum to {total}: " in done.stderr and "not of 60" in done.stderr


def test_the_run_file_remembers(sgfs):
    sgfs.sample("logistic", "good.csv", "--weights", "w", out="w.run")
    assert b'"weights"' in (sgfs.folder / "w.run").read_bytes()
    assert b'"total_weight"' in (sgfs.folder / "w.run").read_bytes()


def test_tune_takes_weights(sgfs):
    done = sgfs.ok("tune", "logistic", "--data", "good.csv", "--weights", "w", "--grid", "alpha=0,1",
                   "--folds", "3", "--draws", "60", "--warmup", "60", "--chains", "2", "-q")
    assert "nan" not in done.stdout.lower()


def logistic(data, *words):
    return ("sample", "logistic", "--data", data, *SHORT, "--out", "out.run", *words)


REFUSED = [
    ("negative", logistic("negative.csv", "--weights", "w"), DATA,
     r'negative\.csv: row 5, column "w" holds -0\.5: a weight .* 0 or more'),
    ("text", logistic("text.csv", "--weights", "w"), DATA,
     r'text\.csv:7: column 3 \("w"\) holds "often", not a number; is --weights the right'),
    ("empty cell", logistic("hole.csv", "--weights", "w"), DATA, r'hole\.csv:8: column 3 \("w"\)'),
    ("nan", logistic("nan.csv", "--weights", "w"), DATA, r'nan\.csv:9: column 3 \("w"\)'),
    ("all zero", logistic("zero.csv", "--weights", "w"), DATA,
     r'zero\.csv: the weights \(column "w"\) are all 0'),
    ("unknown", logistic("good.csv", "--weights", "wt"), USAGE,
     r'--weights asks for "wt".*did you mean "w"'),
    ("also a feature", logistic("good.csv", "--weights", "w", "--features", "a,w"), USAGE,
     r'column 3 \("w"\) holds the weights and cannot be a feature too'),
    ("also the target", logistic("good.csv", "--weights", "y", "--target", "y"), USAGE,
     r'column 5 \("y"\) cannot be named by --weights and by --target'),
    ("also the exposure", logistic("good.csv", "--weights", "t", "--exposure", "t"), USAGE,
     r'cannot be named by --weights and by --exposure'),
    ("without replacement", logistic("good.csv", "--weights", "w", "--batch-scheme", "without"),
     USAGE, r"--batch-scheme without cannot draw rows by their weights"),
    ("batch beyond all weights", logistic("good.csv", "--weights", "w", "--batch", "91"), USAGE,
     r"--batch 91 is more than the 90 rows"),
    ("exposure for classes", logistic("good.csv", "--exposure", "t"), USAGE,
     r"--exposure is for model poisson: model logistic"),
    ("exposure of nothing", logistic("exposure.csv", "--exposure", "t"), DATA,
     r'row 4, column "t" holds 0: an exposure must be above 0'),
]


@pytest.mark.parametrize("words, code, sentence", [r[1:] for r in REFUSED],
                         ids=[r[0] for r in REFUSED])
def test_refused(sgfs, words, code, sentence):
    before = sorted(p.name for p in sgfs.folder.iterdir())
    done = sgfs(*words)
    assert done.returncode == code, done.stderr
    assert re.search(sentence, done.stderr, re.DOTALL), done.stderr
    assert done.stdout == ""
    assert sorted(p.name for p in sgfs.folder.iterdir()) == before


def test_a_row_of_weight_zero_is_not_there_whatever_it_holds(sgfs):
    """exp(5000 b) is no number: a row that does not count must not spoil the others' sums."""
    rng = np.random.default_rng(5)
    x = np.round(rng.normal(size=300), 3)
    y = rng.poisson(np.exp(0.3 + 0.5 * x))
    rows = [f"{a},{b},1" for a, b in zip(x, y)]
    write(sgfs.folder / "without.csv", ["x,y,w"] + rows)
    write(sgfs.folder / "with.csv", ["x,y,w"] + rows + ["5000,0,0"])
    words = ("--target", "y", "--features", "x", "--weights", "w", "-q", "--json")
    a, b = (json.loads(sgfs.ok("optimize", "poisson", "--data", f, *words).stdout) for f in ("without.csv", "with.csv"))
    np.testing.assert_allclose(a["mean"], b["mean"], rtol=1e-9)
    np.testing.assert_allclose(a["cov"], b["cov"], rtol=1e-9)


def test_weights_of_less_than_a_row(sgfs):
    x, y = quarters()
    write(sgfs.folder / "tiny.csv", lines(np.column_stack([x, np.full(len(y), 1e-9)]), y, ("a", "b", "w", "y")))
    done = sgfs("sample", "logistic", "--data", "tiny.csv", "--weights", "w", *SHORT)
    assert done.returncode == DATA and "less than a single row" in done.stderr
