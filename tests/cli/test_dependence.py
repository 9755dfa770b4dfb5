# SPDX-License-Identifier: MIT
"""Columns that follow from others are named, and no others are."""
import numpy as np
import pytest

from cli_program import write

ROWS = 3000
SAID = "the prior does"


def save(sgfs, name, columns, y=None, dtype=float):
    rng = np.random.default_rng(len(columns))
    x = np.column_stack(list(columns.values()))
    y = (rng.random(len(x)) < 0.5).astype(int) if y is None else y
    if name.endswith(".npy"):
        np.save(sgfs.folder / name, np.column_stack([x, y]).astype(dtype))
        return
    write(sgfs.folder / name, [",".join([*columns, "y"]), *(",".join(repr(float(v)) for v in row) + f",{k}" for row, k in zip(x, y))])


def warned(sgfs, *words):
    done = sgfs.ok("optimize", "logistic", "--data", *words)
    told = [line for line in done.stderr.splitlines() if SAID in line]
    assert len(told) <= 1, told
    return told[0] if told else ""


def columns(n=ROWS, seed=1):
    rng = np.random.default_rng(seed)
    return {"a": rng.normal(20, 3, n), "b": rng.integers(0, 40, n) / 4, "c": rng.standard_normal(n) ** 2}


def test_copies_multiples_and_sums(sgfs):
    c = columns()
    c["copy"] = c["a"]
    c["feet"] = 3.28 * c["b"] + 7
    c["total"] = c["a"] + 2 * c["b"] - c["c"]
    save(sgfs, "d.csv", c)
    said = warned(sgfs, "d.csv")
    for part in ('"copy" is "a" over again', '"feet" follows from "b"', '"total" follows from "a", "b" and "c"', "--drop copy"):
        assert part in said, said
    assert warned(sgfs, "d.csv", "--drop", "copy,feet,total") == ""
    sgfs.ok("sample", "logistic", "--data", "d.csv", "--draws", 50, "--warmup", 50, "--out", "d.run", "-q")
    assert SAID in sgfs.ok("summary", "d.run").stdout  # stored
    sgfs.ok("pack", "d.csv", "--out", "d.sgd")
    assert warned(sgfs, "d.sgd") == ""  # whose rows are not read for this
    assert '"total" follows from' in warned(sgfs, "d.csv", "--standardize")


def test_a_column_that_nearly_follows_hides_no_other(sgfs):
    """Miles in three decimals are kilometres but for rounding: they are not named, and what does follow is."""
    c = columns()
    c["copy"] = c["a"]
    c["total"] = c["a"] + c["b"]
    c["km"] = np.round(1000 * np.random.default_rng(5).random(ROWS), 3)
    c["miles"] = np.round(c["km"] / 1.609344, 3)
    save(sgfs, "d.csv", c)
    said = warned(sgfs, "d.csv")
    assert '"copy" is "a" over again' in said and '"total" follows from "a" and "b"' in said and "miles" not in said, said


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_arrays_of_floats(sgfs, dtype):
    c = columns()
    c["sum"] = (c["a"].astype(dtype) + c["b"].astype(dtype)) + 1000
    save(sgfs, "d.npy", c, dtype=dtype)
    assert '"x4" follows from "x1" and "x2"' in warned(sgfs, "d.npy")


def test_no_noise(sgfs):
    """Nearly collinear is not collinear; words with a reference are not; rare levels are not."""
    rng = np.random.default_rng(3)
    year = rng.integers(1990, 2021, ROWS)
    a = rng.standard_normal(ROWS)
    save(sgfs, "near.csv", {"year": year, "year2": year ** 2, "year3": year ** 3, "a": a, "noisy": a + 1e-4 * rng.standard_normal(ROWS),
                            "share1": np.round(rng.random(ROWS), 3)})
    assert warned(sgfs, "near.csv") == ""
    words = [f"w{k}" for k in range(30)]
    level = rng.choice(words, ROWS, p=np.r_[0.985, [0.015 / 29] * 29])
    other = rng.choice(["u", "v"], ROWS)
    write(sgfs.folder / "words.csv", ["w,v,x,y", *(f"{w},{v},{x:.3f},{i % 2}" for i, (w, v, x) in enumerate(zip(level, other, a)))])
    assert warned(sgfs, "words.csv", "--categorical", "auto") == ""
    # Without an intercept each word has its column, and two full sets are one too many.
    assert "follows from" in warned(sgfs, "words.csv", "--categorical", "auto", "--no-intercept")


def test_full_sets_beside_an_intercept(sgfs):
    """Also where a level is so rare that the first rows looked at do not have it."""
    rng = np.random.default_rng(4)
    level = np.r_[rng.integers(0, 4, 40000), [4, 4]]
    level = rng.permutation(level)
    sets = {f"k={j}": (level == j).astype(float) for j in range(5)}
    sets["x"] = rng.standard_normal(len(level))
    save(sgfs, "sets.npy", sets)
    said = warned(sgfs, "sets.npy")
    assert '"x5" follows from "x1", "x2", "x3" and 1 more' in said, said
    assert warned(sgfs, "sets.npy", "--no-intercept") == ""
    # One row breaks it, far down.
    sets["k=0"][np.flatnonzero(level == 4)[1]] = 1
    save(sgfs, "broken.npy", sets)
    assert warned(sgfs, "broken.npy") == ""


def test_sparse(sgfs):
    rng = np.random.default_rng(5)
    k, j = rng.integers(0, 3, ROWS), rng.integers(0, 2, ROWS)
    write(sgfs.folder / "s.svm", [f"{i % 2} {1 + a}:1 {4 + b}:1" for i, (a, b) in enumerate(zip(k, j))])
    said = warned(sgfs, "s.svm")
    assert '"x3" follows from "x1" and "x2"' in said and '"x5" follows from "x4"' in said


def test_copies_among_many(sgfs):
    """More columns than are compared with all others; and more columns than rows."""
    rng = np.random.default_rng(6)
    x = rng.integers(0, 5, (900, 400)).astype(float)
    x[:, 311] = x[:, 17]
    np.save(sgfs.folder / "wide.npy", np.column_stack([x, rng.random(900) < 0.5]))
    assert '"x312" is "x18" over again' in warned(sgfs, "wide.npy")
    x[899, 311] += 1
    np.save(sgfs.folder / "wide.npy", np.column_stack([x, rng.random(900) < 0.5]))
    assert warned(sgfs, "wide.npy") == ""
    x = rng.integers(0, 5, (40, 60)).astype(float)
    x[:, 50] = x[:, 3]
    np.save(sgfs.folder / "few.npy", np.column_stack([x, np.arange(40) % 2]))
    assert '"x51" is "x4" over again' in warned(sgfs, "few.npy")
