# SPDX-License-Identifier: MIT
"""Missing values (--na), and columns that cannot be used, all told at once.

What the program makes of missing values is compared with rows that were left out or filled in by
hand: the modes have to agree to the last bits, whatever the format and the other transforms."""
import json
import math
import re
import shlex

import numpy as np
import pytest

from cli_program import write

RNG = np.random.default_rng(2026)
ROWS = 400
AGE_LACKS, PAY_LACKS, Y_LACKS = 40, 3, 5  # of 400: 10 %, below 1 %, of the target


def make_rows():
    """age, pay, city, y as lists with None where there is nothing; no row lacks two."""
    age = list(RNG.integers(72, 280, ROWS) / 4)
    pay = list(RNG.integers(-8, 9, ROWS) / 4)
    city = list(RNG.choice(["Kiel", "Lyon", "Oslo"], ROWS))
    eta = [0.05 * (a - 40) + p - (c == "Lyon") for a, p, c in zip(age, pay, city)]
    y = [int(RNG.random() < 1 / (1 + math.exp(-e))) for e in eta]
    holes = RNG.permutation(ROWS)
    for i in holes[:AGE_LACKS]:
        age[i] = None
    for i in holes[AGE_LACKS:AGE_LACKS + PAY_LACKS]:
        pay[i] = None
    for i in holes[AGE_LACKS + PAY_LACKS:AGE_LACKS + PAY_LACKS + Y_LACKS]:
        y[i] = None
    return list(zip(age, pay, city, y))


ROWS_MADE = make_rows()
NAMES = ("age", "pay", "city", "y")


def text(value, empty=""):
    return empty if value is None else repr(float(value)) if isinstance(value, float) else str(value)


def write_rows(path, rows, names=NAMES, empty=""):
    write(path, [",".join(names), *(",".join(text(v, empty) for v in row) for row in rows)])


def mode(sgfs, data, *words, model="logistic"):
    done = sgfs.ok("optimize", model, "--data", data, "--json", *words)
    found = json.loads(done.stdout)
    return dict(zip(found["names"], found["mean"]))


def same(a, b):
    assert list(a) == list(b)
    np.testing.assert_allclose(list(a.values()), list(b.values()), rtol=1e-9)


def whole(rows):
    return [row for row in rows if None not in row]


def filled(rows, learn=None):
    """By hand: means of the rows that have a target, and a column for what more than 1 % lack."""
    rows = [row for row in rows if row[3] is not None]
    learn = rows if learn is None else [row for row in learn if row[3] is not None]
    age = np.mean([row[0] for row in learn if row[0] is not None])
    pay = np.mean([row[1] for row in learn if row[1] is not None])
    return [(row[0] if row[0] is not None else float(age), int(row[0] is None),
             row[1] if row[1] is not None else float(pay), row[2], row[3]) for row in rows]


FILLED = ("age", "age=NA", "pay", "city", "y")


# ---- the three choices ---------------------------------------------------------------------------

@pytest.mark.parametrize("empty", ["", "NA", "nan", "NULL", "?", "N/A", "None", "<NA>", "."])
def test_what_is_missing(sgfs, empty):
    write_rows(sgfs.folder / "gaps.csv", ROWS_MADE, empty=empty)
    write_rows(sgfs.folder / "whole.csv", whole(ROWS_MADE))
    words = ("--categorical", "city")
    if empty in ("None", "."):  # which may be a label
        write_rows(sgfs.folder / "gaps.csv", [row for row in ROWS_MADE if row[3] is not None], empty=empty)
    same(mode(sgfs, "gaps.csv", *words, "--na", "drop"), mode(sgfs, "whole.csv", *words))


def test_drop_counts_and_names(sgfs):
    write_rows(sgfs.folder / "gaps.csv", ROWS_MADE)
    done = sgfs.ok("optimize", "logistic", "--data", "gaps.csv", "--categorical", "auto", "--na", "drop")
    assert f'48 of {ROWS} rows lack a value and are left out: "age" lacks 40, "y" lacks 5, "pay" lacks 3' in done.stderr


def test_mean(sgfs):
    write_rows(sgfs.folder / "gaps.csv", ROWS_MADE)
    write_rows(sgfs.folder / "hand.csv", filled(ROWS_MADE), FILLED)
    same(mode(sgfs, "gaps.csv", "--categorical", "city", "--na", "mean"), mode(sgfs, "hand.csv", "--categorical", "city"))
    done = sgfs.ok("optimize", "logistic", "--data", "gaps.csv", "--categorical", "auto", "--na", "mean")
    assert '"age": 40 of 395 values are missing' in done.stderr and '"age=NA" says in which rows' in done.stderr
    assert '"pay": 3 of 395' in done.stderr and "pay=NA" not in done.stderr
    assert '5 of 400 rows lack a value and are left out: "y" lacks 5 (--na mean makes up values of features' in done.stderr


def test_targets_are_never_made_up(sgfs):
    write(sgfs.folder / "some.csv", ["x,y", *(f"{i % 7},{'' if i == 9 else i % 2}" for i in range(60))])
    done = sgfs("optimize", "logistic", "--data", "some.csv")
    assert done.returncode == 3 and "--na drop and --na mean leave such rows out" in done.stderr
    write(sgfs.folder / "none.csv", ["x,y", *(f"{i % 7},NA" for i in range(60))])
    done = sgfs("optimize", "linear", "--data", "none.csv", "--target", "y", "--na", "mean")
    assert done.returncode == 3 and "none of the 60 rows has a target" in done.stderr, done.stderr
    assert "is another --target meant" in done.stderr


def test_a_word_that_lacks_in_new_rows_only(sgfs):
    """The sentence says what helps, and it does."""
    city, x, y = gaps_of_words()
    write(sgfs.folder / "whole.csv", ["city,x,y", *(f"{c or 'Kiel'},{v},{k}" for c, v, k in zip(city, x, y))])
    write(sgfs.folder / "new.csv", ["city,x", "Kiel,0.5", ",1", "NA,0.25"])
    sgfs.sample("logistic", "whole.csv", "--categorical", "city", "--na", "mean")
    done = sgfs("predict", "fit.run", "--data", "new.csv")
    assert done.returncode == 3 and 'new.csv:3: column "city" is empty, which it was in no row' in done.stderr, done.stderr
    assert "--na drop" in done.stderr and "--new-words zero" in done.stderr
    assert "2 of 3 rows lack a value" in sgfs.ok("predict", "fit.run", "--data", "new.csv", "--na", "drop").stderr
    sgfs.ok("predict", "fit.run", "--data", "new.csv", "--new-words", "zero")


def test_error_names_column_line_count_and_choices(sgfs):
    rows = [row[:2] + row[3:] for row in ROWS_MADE]
    write_rows(sgfs.folder / "gaps.csv", rows, ("age", "pay", "y"))
    line = 2 + next(i for i, row in enumerate(rows) if None in row)
    done = sgfs("optimize", "logistic", "--data", "gaps.csv")
    assert done.returncode == 3 and f"gaps.csv:{line}: column" in done.stderr
    for said in ("48 such cells", '"age" 40', '"pay" 3', '"y" 5', "--na drop", "--na mean", "--na error"):
        assert said in done.stderr, done.stderr


def test_columns_that_lack_most_are_dropped_first(sgfs):
    """--na drop alone would leave 3 of 40 rows; the options of the sentence leave what it says."""
    cells = [[i, "" if i % 4 else i * i % 7, "" if i % 3 else i % 5, "" if i == 5 else i % 11, i % 2] for i in range(40)]
    for words, kind in ([], "a,b,c,d,y"), (["x", "z"], "a,b,c,d,town,y"):
        rows = [[*r[:4], *([words[i % 2]] if words else []), r[4]] for i, r in enumerate(cells)]
        write(sgfs.folder / "sparse.csv", [kind, *(",".join(map(str, r)) for r in rows)])
        done = sgfs("optimize", "logistic", "--data", "sparse.csv")
        assert done.returncode == 3, done.stderr
        if words:
            assert "--categorical auto --drop b,c --na drop (at least 39 of 40 rows stay; or --na mean)" in done.stderr, done.stderr
        else:
            assert "(4 of 40 stay); --drop b,c --na drop keeps at least 39;" in done.stderr, done.stderr
    done = sgfs.ok("optimize", "logistic", "--data", "sparse.csv", "--categorical", "auto", "--drop", "b,c", "--na", "drop")
    assert "1 of 40 rows lack a value" in done.stderr, done.stderr


def test_numbers_that_stand_for_missing_values(sgfs):
    """-999 and 999 far from all other values, in several rows, are asked about; what may well be a value is not."""
    codes = {"low": [-999 if i % 9 == 0 else 3 + i % 8 for i in range(60)], "high": [999 if i % 7 == 0 else i % 12 for i in range(60)]}
    fine = {"capped": [min(i, 99) * 1.0 for i in range(60, 120)], "counts": [0] * 20 + list(range(20)) + [9999] * 2 + [5] * 18,
            "signed": [-9 if i % 6 == 0 else i % 13 - 6 for i in range(60)], "ages": [18 + i % 50 if i % 5 else 99 for i in range(60)],
            "binary": [i % 2 for i in range(60)], "once": [-999, *range(1, 60)]}
    y = [str(i // 2 % 2) for i in range(60)]

    def said(columns):
        write(sgfs.folder / "codes.csv", [",".join([*columns, "y"]), *(",".join(map(str, r)) for r in zip(*columns.values(), y))])
        return sgfs.ok("optimize", "logistic", "--data", "codes.csv").stderr

    done = said({**fine, **codes})
    assert 'Column "low" holds -999 in 7 of 60 rows, and else numbers from 3 to 10: if it stands for a missing value' in done, done
    assert 'So do "high" (999).' in done, done
    assert "stands for a missing" not in said(fine)


def test_sentences_about_many_columns_are_whole(sgfs):
    """Whatever their number and the length of their names, the sentence ends with the columns left out of it and options."""
    for length in range(1, 40):
        names = [f"{'n' * length}{k}" for k in range(9)]
        write(sgfs.folder / "many.csv", [",".join(names) + ",y", *(",".join([f"w{i % 3}" if i % 5 else ""] * 9) + f",{i % 2}" for i in range(30))])
        said = sgfs("optimize", "logistic", "--data", "many.csv").stderr
        assert "(24 of 30 rows stay; or --na mean)" in said and "..." not in said, said
        told = said.count('holds words (line')
        assert told == 9 or f"; and {9 - told} more. " in said, said


def test_infinite_is_not_missing(sgfs):
    write(sgfs.folder / "inf.csv", ["a,y", "1,0", "inf,1", "2,0", "3,1", ",0"])
    for na in ("drop", "mean"):
        done = sgfs("optimize", "logistic", "--data", "inf.csv", "--na", na)
        assert done.returncode == 3 and 'inf.csv:3: column 1 ("a") holds "inf"' in done.stderr, done.stderr


def test_nothing_left(sgfs):
    write(sgfs.folder / "none.csv", ["a,b,y", "1,,0", ",2,1", "2,,0"])
    done = sgfs("optimize", "logistic", "--data", "none.csv", "--na", "drop")
    assert done.returncode == 3 and "each of the 3 rows lacks a value" in done.stderr and '"b" lacks 2' in done.stderr
    write(sgfs.folder / "empty.csv", ["a,b,y", "1,,0", "2,,1", "2,,0"])
    done = sgfs("optimize", "logistic", "--data", "empty.csv", "--na", "mean")
    assert done.returncode == 3 and 'column "b" is empty in each of the 3 rows: leave it out with --drop b' in done.stderr
    same(mode(sgfs, "empty.csv", "--na", "mean", "--drop", "b"), mode(sgfs, "empty.csv", "--drop", "b"))


# ---- words ---------------------------------------------------------------------------------------

def gaps_of_words():
    city = [c if i % 9 else "" for i, c in enumerate(RNG.choice(["Kiel", "Lyon", "Oslo"], 200))]
    x = RNG.integers(-8, 9, 200) / 4
    return city, x, [int(v + (c == "Lyon") > 0.3) for c, v in zip(city, x)]


@pytest.mark.parametrize("which", ["city", "auto"])
def test_missing_words(sgfs, which):
    """Left out, or a word of their own, which is never the reference (the first row lacks one)."""
    city, x, y = gaps_of_words()
    write(sgfs.folder / "w.csv", ["city,x,y", *(f"{c},{v},{k}" for c, v, k in zip(city, x, y))])
    write(sgfs.folder / "kept.csv", ["city,x,y", *(f"{c},{v},{k}" for c, v, k in zip(city, x, y) if c)])
    same(mode(sgfs, "w.csv", "--categorical", which, "--na", "drop"), mode(sgfs, "kept.csv", "--categorical", "city"))
    found = mode(sgfs, "w.csv", "--categorical", which, "--na", "mean")
    first = max(("Kiel", "Lyon", "Oslo"), key=city.count)  # the reference
    assert "city=NA" in found and f"city={first}" not in found and len(found) == 5
    write(sgfs.folder / "own.csv", ["city,x,y", *(f"{c or 'zz'},{v},{k}" for c, v, k in zip(city[1:], x[1:], y[1:]))])
    write(sgfs.folder / "later.csv", ["city,x,y", *(f"{c},{v},{k}" for c, v, k in zip(city[1:], x[1:], y[1:]))])
    a, b = mode(sgfs, "later.csv", "--categorical", which, "--na", "mean"), mode(sgfs, "own.csv", "--categorical", "city")
    assert [n.replace("zz", "NA") for n in b] == list(a)
    np.testing.assert_allclose(list(a.values()), list(b.values()), rtol=1e-9)


def test_words_for_missing_among_words(sgfs):
    """? and null are words, unless --na asks for missing values; none always is one."""
    write(sgfs.folder / "w.csv", ["c,y", *(f"{('?', 'null', 'none', 'red')[i % 4]},{(i // 4) % 2}" for i in range(80))])
    assert len(mode(sgfs, "w.csv", "--categorical", "c")) == 4
    assert list(mode(sgfs, "w.csv", "--categorical", "c", "--na", "drop")) == ["intercept", "c=red"]
    assert set(mode(sgfs, "w.csv", "--categorical", "c", "--na", "mean")) == {"intercept", "c=red", "c=NA"}


def test_target_of_words(sgfs):
    rows = [(a, p, None if t is None else ("no", "yes")[t]) for a, p, _, t in ROWS_MADE]
    write_rows(sgfs.folder / "t.csv", rows, ("age", "pay", "y"))
    write_rows(sgfs.folder / "kept.csv", whole(rows), ("age", "pay", "y"))
    same(mode(sgfs, "t.csv", "--na", "drop"), mode(sgfs, "kept.csv"))
    same(mode(sgfs, "t.csv", "--na", "drop", "--keep-classes", "no,yes"), mode(sgfs, "kept.csv"))
    same(mode(sgfs, "t.csv", "--keep-classes", "no,yes", "--na", "drop"), mode(sgfs, "kept.csv"))


# ---- every format --------------------------------------------------------------------------------

def numbers():
    a = np.array([[np.nan if v is None else v for v in (row[0], row[1], row[3])] for row in ROWS_MADE])
    return a


def filled_numbers(a):
    a = a[~np.isnan(a[:, 2])]
    gap = np.isnan(a[:, 0])
    out = np.where(np.isnan(a), np.nanmean(a, axis=0), a)
    return np.column_stack([out[:, 0], gap, out[:, 1], out[:, 2]])


@pytest.mark.parametrize("kind", ["npy", "f32", "fortran", "two", "csv_and_npy", "libsvm_dense"])
def test_formats(sgfs, kind):
    a = numbers()
    more = ()
    folder = sgfs.folder
    np.save(folder / "kept.npy", a[~np.isnan(a).any(axis=1)])
    np.save(folder / "hand.npy", filled_numbers(a))
    data = "a.npy"
    if kind == "npy":
        np.save(folder / "a.npy", a)
    if kind == "f32":
        np.save(folder / "a.npy", a.astype(np.float32))
    if kind == "fortran":
        np.save(folder / "a.npy", np.asfortranarray(a))
    if kind == "two":
        np.save(folder / "p1.npy", a[:150])
        np.save(folder / "p2.npy", a[150:])
        data = "p*.npy"
    if kind == "csv_and_npy":
        write(folder / "p1.csv", ["x1,x2,y", *(",".join("" if np.isnan(v) else repr(float(v)) for v in row) for row in a[:150])])
        np.save(folder / "p2.npy", a[150:])
        data = "p*"
    if kind == "libsvm_dense":
        write(folder / "a.svm", [f"{row[2]:g} 1:{row[0]} 2:{row[1]}" for row in a])
        data, more = "a.svm", ("--dense",)
    kept, hand = mode(sgfs, "kept.npy"), mode(sgfs, "hand.npy")
    np.testing.assert_allclose(list(mode(sgfs, data, "--na", "drop", *more).values()), list(kept.values()), rtol=1e-6)
    found = mode(sgfs, data, "--na", "mean", *more)
    assert list(found) == ["intercept", "x1", "x1=NA", "x2"]
    np.testing.assert_allclose(list(found.values()), list(hand.values()), rtol=1e-6)


def test_sparse(sgfs):
    """Sparse rows stay sparse; what they do not have is 0, and what is nan is missing."""
    a = numbers()
    a[:, 1] = np.where(RNG.random(ROWS) < 0.5, 0, a[:, 1])
    write(sgfs.folder / "a.svm", [f"{row[2]:g} 1:{row[0]}" + ("" if row[1] == 0 else f" 2:{row[1]}") for row in a])
    np.save(sgfs.folder / "kept.npy", a[~np.isnan(a).any(axis=1)])
    np.testing.assert_allclose(list(mode(sgfs, "a.svm", "--na", "drop").values()), list(mode(sgfs, "kept.npy").values()), rtol=1e-9)
    np.save(sgfs.folder / "hand.npy", np.delete(filled_numbers(a), 1, axis=1))
    np.testing.assert_allclose(list(mode(sgfs, "a.svm", "--na", "mean").values()), list(mode(sgfs, "hand.npy").values()), rtol=1e-9)
    done = sgfs("optimize", "logistic", "--data", "a.svm")
    assert done.returncode == 3 and "--na drop" in done.stderr


def test_npy_without_na_counts(sgfs):
    np.save(sgfs.folder / "a.npy", numbers())
    done = sgfs("optimize", "logistic", "--data", "a.npy")
    assert done.returncode == 3 and "the first of 48 such cells" in done.stderr and "--na mean" in done.stderr


# ---- weights, other transforms, their order ------------------------------------------------------

def test_weights_and_exposure(sgfs):
    rows = [(a, p, 2.0, t) for a, p, _, t in ROWS_MADE]
    rows[7] = (30.0, 1.0, None, 1)
    rows[8] = (31.0, 1.0, None, 0)
    for column in ("weights", "exposure"):
        model = "poisson" if column == "exposure" else "logistic"
        write_rows(sgfs.folder / "gaps.csv", rows, ("age", "pay", "w", "y"))
        write_rows(sgfs.folder / "kept.csv", whole(rows), ("age", "pay", "w", "y"))
        same(mode(sgfs, "gaps.csv", f"--{column}", "w", "--na", "drop", model=model),
             mode(sgfs, "kept.csv", f"--{column}", "w", model=model))
        some = [row for row in rows if row[2] is not None]
        write_rows(sgfs.folder / "some.csv", some, ("age", "pay", "w", "y"))
        same(mode(sgfs, "gaps.csv", f"--{column}", "w", "--na", "mean", model=model),
             mode(sgfs, "some.csv", f"--{column}", "w", "--na", "mean", model=model))


def test_means_are_weighted(sgfs):
    write(sgfs.folder / "w.csv", ["a,w,y", "1,1,0", "2,3,1", ",1,0", ",2,1", "4,0,1", "3,1,0"])
    write(sgfs.folder / "hand.csv", ["a,a=NA,w,y", "1,0,1,0", "2,0,3,1", "2,1,1,0", "2,1,2,1", "4,0,0,1", "3,0,1,0"])
    same(mode(sgfs, "w.csv", "--weights", "w", "--na", "mean"), mode(sgfs, "hand.csv", "--weights", "w"))


def test_order(sgfs):
    """--na is done before every operation on columns, and in its turn among choices of rows."""
    write_rows(sgfs.folder / "gaps.csv", ROWS_MADE)
    write_rows(sgfs.folder / "hand.csv", filled(ROWS_MADE), FILLED)
    write_rows(sgfs.folder / "whole.csv", whole(ROWS_MADE))
    for words in (("--log1p", "age"), ("--standardize", "--project", "2"), ("--standardize",), ("--drop", "pay")):
        for order in ((*words, "--na", "mean"), ("--na", "mean", *words)):
            same(mode(sgfs, "gaps.csv", "--categorical", "city", *order), mode(sgfs, "hand.csv", "--categorical", "city", *words))
            if "--drop" in words:
                continue  # a column that is left out decides over no row
            drop = tuple("drop" if w == "mean" else w for w in order)
            same(mode(sgfs, "gaps.csv", "--categorical", "city", *drop), mode(sgfs, "whole.csv", "--categorical", "city", *words))
    write_rows(sgfs.folder / "first.csv", whole(ROWS_MADE)[:100])
    write_rows(sgfs.folder / "early.csv", whole(ROWS_MADE[:100]))
    base = ("--categorical", "city")
    same(mode(sgfs, "gaps.csv", *base, "--na", "drop", "--limit", 100), mode(sgfs, "first.csv", *base))
    same(mode(sgfs, "gaps.csv", *base, "--limit", 100, "--na", "drop"), mode(sgfs, "early.csv", *base))


def test_dropped_columns_may_lack_everything(sgfs):
    write_rows(sgfs.folder / "gaps.csv", ROWS_MADE)
    rows = [row for row in ROWS_MADE if row[1] is not None and row[3] is not None]
    write_rows(sgfs.folder / "kept.csv", [row[1:] for row in rows], NAMES[1:])
    same(mode(sgfs, "gaps.csv", "--na", "drop", "--drop", "age,city"), mode(sgfs, "kept.csv", "--drop", "city"))
    np.save(sgfs.folder / "a.npy", numbers())
    done = sgfs.ok("optimize", "logistic", "--data", "a.npy", "--na", "drop", "--drop", "1")
    assert "8 of 400 rows" in done.stderr, done.stderr


def test_columns_missing_together_share_one(sgfs):
    x = RNG.integers(-8, 9, (100, 2)) / 4
    write(sgfs.folder / "both.csv", ["a,b,y", *(f"{'' if i % 5 == 0 else u},{'' if i % 5 == 0 else v},{i % 2}" for i, (u, v) in enumerate(x))])
    assert list(mode(sgfs, "both.csv", "--na", "mean")) == ["intercept", "a", "a=NA", "b"]


# ---- split, validate, predict, pack --------------------------------------------------------------

def predictions(sgfs, *words):
    sgfs.ok("predict", *words, "--out", "p.csv", "--overwrite", "-q")
    return [line.split(",") for line in (sgfs.folder / "p.csv").read_text().splitlines()]


def test_predict_fills_with_the_means_of_the_run(sgfs):
    write_rows(sgfs.folder / "gaps.csv", ROWS_MADE)
    sgfs.sample("logistic", "gaps.csv", "--categorical", "city", "--na", "mean", "--split", "0.7,0.3")
    assert "filled in" in sgfs.ok("summary", "fit.run").stdout
    gaps = predictions(sgfs, "fit.run", "--data", "gaps.csv")
    assert len(gaps) == 1 + ROWS  # one line a row, those without a target too
    without = [i for i, row in enumerate(ROWS_MADE) if row[3] is None]
    assert all(gaps[1 + i][-1] == "" and gaps[1 + i][-2] == "" and gaps[1 + i][0] != "" for i in without)
    write_rows(sgfs.folder / "new.csv", [(30.0, None, "Oslo", 1), (None, 0.5, "Kiel", 0)])
    assert len(predictions(sgfs, "fit.run", "--data", "new.csv")) == 3
    # Missing words, of which the run has none.
    write_rows(sgfs.folder / "word.csv", [(30.0, 0.5, None, 1)])
    done = sgfs("predict", "fit.run", "--data", "word.csv")
    assert done.returncode == 3 and '"city" is empty' in done.stderr and "--new-words" in done.stderr
    # Other choices than the run's.
    done = sgfs("predict", "fit.run", "--data", "gaps.csv", "--na", "error")
    assert done.returncode == 3 and "--na drop" in done.stderr
    some = predictions(sgfs, "fit.run", "--data", "gaps.csv", "--na", "drop")
    for i, row in enumerate(ROWS_MADE):
        assert (some[1 + i][0] == "") == (row[0] is None or row[1] is None)


def test_filled_prediction_is_that_of_the_mean(sgfs):
    rows = [(a, p, t) for a, p, _, t in ROWS_MADE if None not in (a, p, t)]
    write_rows(sgfs.folder / "no_gaps.csv", rows, ("age", "pay", "y"))
    sgfs.sample("logistic", "no_gaps.csv", "--na", "mean")
    mean = float(np.mean([row[0] for row in rows]))
    write_rows(sgfs.folder / "gap.csv", [(None, 0.5, 1)], ("age", "pay", "y"))
    write_rows(sgfs.folder / "mean.csv", [(mean, 0.5, 1)], ("age", "pay", "y"))
    a, b = (predictions(sgfs, "fit.run", "--data", name)[1] for name in ("gap.csv", "mean.csv"))
    np.testing.assert_allclose([float(v) for v in a[1:]], [float(v) for v in b[1:]], rtol=1e-9)


def test_predict_leaves_lines_empty(sgfs):
    """Of a run with --na drop, and of one that never heard of it."""
    write_rows(sgfs.folder / "gaps.csv", ROWS_MADE)
    write_rows(sgfs.folder / "whole.csv", whole(ROWS_MADE))
    sgfs.sample("logistic", "gaps.csv", "--categorical", "city", "--na", "drop")
    lines = predictions(sgfs, "fit.run", "--data", "gaps.csv")
    alone = predictions(sgfs, "fit.run", "--data", "whole.csv")
    full = [line for line, row in zip(lines[1:], ROWS_MADE) if None not in row]
    assert full == alone[1:] and all(len(line) == len(lines[0]) for line in lines)
    for line, row in zip(lines[1:], ROWS_MADE):
        assert (line[0] == "") == (row[0] is None or row[1] is None) and (line[-1] == "") == (None in row)
    done = sgfs.ok("predict", "fit.run", "--data", "gaps.csv", "--json")
    o = json.loads(done.stdout)
    assert o["unpredicted"] == 43 and o["unscored"] == 48 and o["rows"] == ROWS
    assert "43 of 400 rows lack a value and have no prediction" in done.stderr
    assert sum(label["rows"] for label in o["labels"]) == ROWS - 48
    assert o["log_loss"] == pytest.approx(json.loads(sgfs.ok("predict", "fit.run", "--data", "whole.csv", "--json").stdout)["log_loss"])
    sgfs.sample("logistic", "whole.csv", "--categorical", "city")
    done = sgfs("predict", "fit.run", "--data", "gaps.csv")
    assert done.returncode == 3 and "leaves the predictions of such rows empty" in done.stderr
    sgfs.ok("predict", "fit.run", "--data", "gaps.csv", "--na", "drop")
    done = sgfs("predict", "fit.run", "--data", "gaps.csv", "--na", "mean")
    assert done.returncode == 2 and "no means" in done.stderr


def test_split_goes_by_the_rows_of_the_file(sgfs):
    """What is missing changes no row's part: every row of the file is in one of them, whole or not."""
    write_rows(sgfs.folder / "gaps.csv", ROWS_MADE)
    sgfs.sample("logistic", "gaps.csv", "--categorical", "city", "--na", "drop", "--split", "0.7,0.3")
    every = predictions(sgfs, "fit.run", "--data", "gaps.csv")[1:]
    test, train = (predictions(sgfs, "fit.run", "--data", "gaps.csv", "--part", part)[1:] for part in ("test", "train"))
    assert len(test) + len(train) == ROWS and len(test) > 50
    assert sorted(line[0] + line[-2] for line in test + train) == sorted(line[0] + line[-2] for line in every)
    out = sgfs.ok("summary", "fit.run").stdout
    assert "na drop: " in out and "left out" in out


def test_validate(sgfs):
    write_rows(sgfs.folder / "gaps.csv", ROWS_MADE[:300])
    write_rows(sgfs.folder / "aside.csv", ROWS_MADE[300:])
    for na in ("drop", "mean"):
        done = sgfs.ok("sample", "logistic", "--data", "gaps.csv", "--categorical", "city", "--na", na, "--validate", "aside.csv",
                       "--warmup", 60, "--draws", 80, "--chains", 2, "--out", f"{na}.run")
        left = sum(None in row if na == "drop" else row[3] is None for row in ROWS_MADE[300:])
        assert left > 0 and f"aside.csv: {left} rows lack a value and are left out" in done.stderr, done.stderr


def test_pack(sgfs):
    write_rows(sgfs.folder / "gaps.csv", ROWS_MADE)
    base = ("--categorical", "city")
    done = sgfs("pack", "gaps.csv", *base, "--out", "bad.sgd")
    assert done.returncode == 3 and "--na drop" in done.stderr and not (sgfs.folder / "bad.sgd").exists()
    for na in ("drop", "mean"):
        sgfs.ok("pack", "gaps.csv", *base, "--na", na, "--out", f"{na}.sgd")
        a, b = mode(sgfs, f"{na}.sgd"), mode(sgfs, "gaps.csv", *base, "--na", na)
        np.testing.assert_allclose(list(a.values()), list(b.values()), rtol=1e-9)
        assert list(a) == list(b)
        sgfs.sample("logistic", f"{na}.sgd")
        lines = predictions(sgfs, "fit.run", "--data", "gaps.csv")  # the file's own choice, done again
        assert len(lines) == 1 + ROWS
        empty = sum(line[0] == "" for line in lines[1:])
        assert empty == (43 if na == "drop" else 0)
    raw = (sgfs.folder / "drop.sgd").read_bytes()
    assert b'"op":"complete"' in raw and b'"rows":48' in raw and b'"age":40' in raw
    raw = (sgfs.folder / "mean.sgd").read_bytes()
    assert b'"op":"fill"' in raw and b'"cells":43' in raw and b'"mean":[' in raw
    np.save(sgfs.folder / "a.npy", numbers())
    assert sgfs("pack", "a.npy", "--out", "bad.sgd").returncode == 3
    sgfs.ok("pack", "a.npy", "--na", "drop", "--out", "npy.sgd")
    np.testing.assert_allclose(list(mode(sgfs, "npy.sgd").values()), list(mode(sgfs, "a.npy", "--na", "drop").values()), rtol=1e-9)


# ---- all unusable columns at once ----------------------------------------------------------------

def test_one_sentence_and_its_options_work(sgfs):
    write(sgfs.folder / "first.csv", ["id,age,city,day,$ of it,y", *(
        f'u{i},{"" if i % 7 == 0 else i % 50},{("Kiel", "Lyon", "Oslo")[i % 3]},2024-{1 + i // 28:02d}-{1 + i % 28:02d},"{i},5",{i % 2}'
        for i in range(200))])
    done = sgfs("optimize", "logistic", "--data", "first.csv")
    assert done.returncode == 3 and done.stderr.count("\n") == 1
    for said in ('"id" has another word in most rows', '"age" lacks 29 values', '"city" holds words', '"day" holds dates'):
        assert said in done.stderr, done.stderr
    assert "Write decimal points (1.5 for 1,5)." in done.stderr
    options = done.stderr.split("the others can be: ")[1].split(" (")[0]
    words = shlex.split(options)
    assert "auto" in words and "drop" in words and words[words.index("--drop") + 1] == "id" and words[words.index("--date") + 1] == "day"
    words[words.index("--drop") + 1] += ",5"  # whose commas are the file's business
    done = sgfs.ok("optimize", "logistic", "--data", "first.csv", *words)
    assert "29 of 200 rows" in done.stderr


def test_of_a_large_file_the_first_rows_are_counted(sgfs):
    """After text in a column 64 MB are looked at, and the sentence does not take them for all rows."""
    row = "0" * 1000 + "1.5"
    rows = [f"{'' if i % 10 == 0 else row},{'ab'[i % 2]},{i % 2}" for i in range(1000)]
    write(sgfs.folder / "large.csv", ["x,w,y", *rows * 100])
    said = sgfs("optimize", "logistic", "--data", "large.csv").stderr
    kept, seen = re.search(r"\((\d+) of the first (\d+) rows stay; or --na mean\)", said).groups()
    assert 60000 < int(seen) < 100000 and int(kept) == pytest.approx(0.9 * int(seen), rel=1e-3), said


def test_options_that_were_given_stay(sgfs):
    write(sgfs.folder / "two.csv", ["a,b,id,x,y", *(f"{'rs'[i % 2]},{'uvw'[i % 3]},n{i},{i % 7},{i % 2}" for i in range(60))])
    done = sgfs("optimize", "logistic", "--data", "two.csv", "--categorical", "a")
    assert "--categorical a,b --drop id" in done.stderr, done.stderr
    done = sgfs("optimize", "logistic", "--data", "two.csv", "--drop", "a")
    assert "--categorical auto --drop a,id" in done.stderr, done.stderr
    sgfs.ok("optimize", "logistic", "--data", "two.csv", "--categorical", "auto", "--drop", "a,id")


def test_a_few_words_among_numbers(sgfs):
    write(sgfs.folder / "few.csv", ["hp,y", *(f"{'unknown' if i == 30 else i % 17},{i % 2}" for i in range(60))])
    done = sgfs("optimize", "logistic", "--data", "few.csv")
    assert done.returncode == 3 and 'few.csv:32: column 1 ("hp") holds "unknown"' in done.stderr and "write NA there" in done.stderr


def test_many_columns_of_words_fit_a_sentence(sgfs):
    names = [f"a rather long name of column {k}" for k in range(60)]
    write(sgfs.folder / "wide.csv", [",".join([*names, "y"]), *(",".join(["red", "blue"][(i + k) % 2] for k in range(60)) + f",{i % 2}" for i in range(30))])
    done = sgfs("optimize", "logistic", "--data", "wide.csv")
    assert "60 columns cannot be used" in done.stderr and "and 5" in done.stderr and "--categorical auto" in done.stderr, done.stderr


# ---- one rule for each sort of cell

def made(sgfs, name, rows, head="a,b,y"):
    (sgfs.folder / name).write_text("\n".join([head, *rows]) + "\n")


@pytest.mark.parametrize("column", [0, 1, 2])
def test_an_infinite_number_is_not_missing(sgfs, column):
    """No --na takes it, and no sentence says that one would; NA in its place is taken."""
    rows = [[f"{i % 7 / 4}", f"{i % 5 / 4}", f"{i % 3 / 4}"] for i in range(40)]
    rows[7][column] = "inf"
    made(sgfs, "inf.csv", [",".join(r) for r in rows])
    for na in ((), ("--na", "drop"), ("--na", "mean")):
        done = sgfs("optimize", "linear", "--data", "inf.csv", *na)
        assert done.returncode == 3 and "inf.csv:9" in done.stderr and "--na does not touch it" in done.stderr, done.stderr
        assert "leave such rows out" not in done.stderr and "write NA" in done.stderr
    rows[7][column] = "NA"
    made(sgfs, "na.csv", [",".join(r) for r in rows])
    sgfs.ok("optimize", "linear", "--data", "na.csv", "--na", "drop")
    rows[9][column] = "inf"
    made(sgfs, "both.csv", [",".join(r) for r in rows])
    said = sgfs("optimize", "linear", "--data", "both.csv").stderr
    assert "some of them are infinite" in said and "--na drop" in said, said


@pytest.mark.parametrize("na", [(), ("--na", "drop"), ("--na", "mean")])
def test_a_column_without_a_value_is_to_be_dropped(sgfs, na):
    made(sgfs, "void.csv", [f"{i % 7 / 4},,{i % 3 / 4}" for i in range(40)], head="a,void,y")
    done = sgfs("optimize", "linear", "--data", "void.csv", *na)
    assert done.returncode == 3 and "empty in each of the 40 rows" in done.stderr and "--drop void" in done.stderr, done.stderr
    sgfs.ok("optimize", "linear", "--data", "void.csv", *na, "--drop", "void")
    made(sgfs, "more.csv", [f"{'' if i == 4 else i % 7 / 4},,{i % 3 / 4},,{'ab'[i % 2]}" for i in range(40)], head="a,void,y,none,w")
    said = sgfs("optimize", "linear", "--data", "more.csv", "--target", "y", "--categorical", "auto", *na).stderr
    assert ("--drop void" if na else "--drop void,none") in said, said


def test_missing_words_are_counted(sgfs):
    made(sgfs, "words.csv", [f"{i % 7 / 4},{'' if i % 4 == 0 else 'uv'[i % 2]},{i % 3 / 4}" for i in range(40)])
    for coding in ("onehot", "integer"):
        words = ("--data", "words.csv", "--categorical", "b", "--na", "mean", "--coding", coding)
        done = sgfs.ok("sample", "linear", *words, "--out", "words.run", "--overwrite")
        assert 'Column "b": 10 of 40 words are missing' in done.stderr, done.stderr
        assert "10 missing words are NA" in done.stdout and "0 values" not in done.stdout, done.stdout
    made(sgfs, "both.csv", [f"{'' if i == 3 else i % 7 / 4},{'' if i % 4 == 0 else 'uv'[i % 2]},{i % 3 / 4}" for i in range(40)])
    done = sgfs.ok("sample", "linear", "--data", "both.csv", "--categorical", "b", "--na", "mean", "--out", "both.run")
    assert "na mean: 1 value filled in, 10 missing words are NA" in done.stdout, done.stdout


@pytest.mark.parametrize("holes, level", [(10, ""), (30, "warning: ")])
def test_most_rows_are_not_left_out_without_a_warning(sgfs, holes, level):
    made(sgfs, "holes.csv", [f"{i % 7 / 4},{'' if i < holes else i % 5},{'uvw'[i % 3]},{i * i % 11 / 4}" for i in range(40)],
         head="a,b,w,y")
    done = sgfs.ok("sample", "linear", "--data", "holes.csv", "--categorical", "w", "--na", "drop", "--out", "holes.run")
    line = next(x for x in done.stderr.split("\n") if "left out" in x)
    assert line.startswith(f"{level}{holes} of 40 rows") and f'"b" lacks {holes}' in line, line
    header = (sgfs.folder / "holes.run").read_bytes()
    assert b'"lacks": {"b": %d}' % holes in header or b'"lacks":{"b":%d}' % holes in header
