# SPDX-License-Identifier: MIT
"""Transforms and packed files: what was done when a file was packed is part of the run that reads it, so that new rows
may come as they were before, or packed in the same way, and nothing is done twice."""
import json

import numpy as np
import pytest

from cli_program import write
from test_transforms import ALL, csv, header, mode, parts, predict, rows

NAMES = ("a", "b", "w", "c", "y")


@pytest.fixture(scope="module")
def site(shared):
    x, word, y = rows()
    csv(shared.folder / "raw.csv", [x[:, 0], x[:, 1], word, x[:, 2], y], NAMES)
    return shared


def pack(site, data, out, *words):
    site.ok("pack", data, "--out", out, "--overwrite", "-q", *words)


def same_predictions(site, run, raw, packed):
    """The packed file has its rows in another order."""
    a, b = predict(site, run, raw), predict(site, run, packed)
    a, b = (p[np.lexsort(np.round(p, 9).T)] for p in (a, b))
    assert a.shape == b.shape
    assert np.allclose(a, b, rtol=1e-9)


def test_packed_rows_are_transformed_alike(site):
    """The mode does not mind the order of rows."""
    for words in (ALL[:-1], (*ALL, "--project", "3")):
        pack(site, "raw.csv", "all.sgd", *words)
        assert np.allclose(mode(site, "all.sgd"), mode(site, "raw.csv", *words), rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("more", [(), ("--project", "3"), ("--features", "log1p(b),a"), ("--drop", "a")])
def test_predict_does_the_rest(site, more):
    """Packed with some transforms, sampled with more."""
    pack(site, "raw.csv", "all.sgd", *ALL)
    site.sample("logistic", "all.sgd", *more, out="packed.run")
    told = header(site, "packed.run")["data"]["recipe"]
    assert [o["op"] for o in told[:7]] == ["columns", "categorical", "keep-classes", "split", "log1p", "drop",
                                           "standardize"]
    assert told[7]["op"] == "columns"
    # another part of the same file, packed in the same way: it learns from the training rows as well
    pack(site, "raw.csv", "test.sgd", *ALL, "--part", "test")
    x, word, y = rows()
    chosen = (parts(len(y), (0.7, 0.3)) == 1) & (y != 4)
    csv(site.folder / "test.csv", [x[chosen, 0], x[chosen, 1], word[chosen], x[chosen, 2], y[chosen]], NAMES)
    same_predictions(site, "packed.run", "test.csv", "test.sgd")


def test_a_run_from_text_knows_packed_rows(site):
    """The packed file has had the first of the run's transforms, or all of them."""
    words = ("--categorical", "w", "--log1p", "b", "--keep-classes", "7,9")
    site.sample("logistic", "raw.csv", *words, "--drop", "c", out="raw.run")
    x, word, y = rows()
    csv(site.folder / "kept.csv", [v[y != 4] for v in (x[:, 0], x[:, 1], word, x[:, 2], y)], NAMES)
    for done in (words, (*words, "--drop", "c")):
        pack(site, "raw.csv", "some.sgd", *done)
        same_predictions(site, "raw.run", "kept.csv", "some.sgd")


def test_nothing_is_done_twice(site):
    site.sample("logistic", "raw.csv", "--drop", "w", "--keep-classes", "7,9", "--log1p", "b", out="raw.run")
    pack(site, "raw.csv", "other.sgd", "--drop", "w,c", "--log1p", "b")
    done = site("predict", "raw.run", "--data", "other.sgd", "-q")
    assert done.returncode == 3 and "not as those of the run" in done.stderr
    site.sample("logistic", "raw.csv", "--drop", "w", "--keep-classes", "7,9", out="plain.run")
    done = site("predict", "plain.run", "--data", "other.sgd", "-q")
    assert done.returncode == 3


def test_columns_that_were_only_packed_are_found_by_name(site):
    site.sample("logistic", "raw.csv", "--drop", "w", "--keep-classes", "7,9", "--log1p", "b", out="raw.run")
    x, word, y = rows(90, 4)
    keep = y != 4
    csv(site.folder / "numbers.csv", [x[keep, 0], x[keep, 1], x[keep, 2], y[keep]], ("a", "b", "c", "y"))
    pack(site, "numbers.csv", "numbers.sgd")
    same_predictions(site, "raw.run", "numbers.csv", "numbers.sgd")


# ---- files of different days ----------------------------------------------------------------------

def days(folder):
    """Three days, of which each lacks a town or has one more; and the table that they are cut from."""
    rng = np.random.default_rng(31)
    rows = []
    for day, towns in enumerate((("Kiel", "Lyon"), ("Durham", "Kiel", "Oslo"), ("Lyon", "Oslo", "10", "9"))):
        write(folder / f"day{day}.csv", ["x,town,kind,when,y", *(own := [
            f"{rng.normal():.4f},{towns[rng.integers(len(towns))]},{'ab'[rng.integers(2)]},2024-0{1 + day + rng.integers(2)}-1{rng.integers(7)},"
            f"{('no', 'yes')[rng.integers(2)]}" for _ in range(120 + 60 * day)])])
        rows += own
    write(folder / "all.csv", ["x,town,kind,when,y", *rows])


@pytest.mark.parametrize("words", [
    ("--categorical", "auto", "--drop", "when"), ("--categorical", "auto", "--drop", "when", "--coding", "integer"),
    ("--categorical", "town,kind", "--date", "when", "--log1p", "x")])
def test_days_are_joined_by_name_and_word(sgfs, words):
    """The mode is that of the table in one piece; predictions from the table itself know the words."""
    days(sgfs.folder)
    if "--log1p" in words:
        for name in ("day0", "day1", "day2", "all"):
            text = (sgfs.folder / f"{name}.csv").read_text().replace("\n-", "\n")
            (sgfs.folder / f"{name}.csv").write_text(text)
    packs = [sgfs.ok("pack", f"day{k}.csv", *words, "--out", f"day{k}.sgd") and f"day{k}.sgd" for k in range(3)]

    def mode(*words):
        told = json.loads(sgfs.ok("optimize", "logistic", *words, "--json").stdout)
        return dict(zip(told["names"], told["mean"]))
    whole = mode("--data", "all.csv", *words)
    joined = mode("--data", "day*.sgd")
    assert joined == pytest.approx(whole, rel=1e-6, abs=1e-7) and list(joined) == list(whole)
    sgfs.ok("pack", *packs, "--out", "all.sgd")
    assert mode("--data", "all.sgd") == pytest.approx(whole, rel=1e-6, abs=1e-7)
    done = sgfs.ok("sample", "logistic", "--data", "day*.sgd", "--draws", "50", "--ess", "1", "--out", "days.run")
    assert done.stderr.count("joined by name and word") == 1
    sgfs.ok("predict", "days.run", "--data", "all.csv")


def test_what_is_more_than_words_is_refused_as_before(sgfs):
    """A word that was dropped would be taken for the one that others are compared with; a mean that was filled in, or
    a scale, belongs to its own rows."""
    days(sgfs.folder)
    for k in range(2):
        sgfs.ok("pack", f"day{k}.csv", "--categorical", "auto", "--reference-level",
                f"town={('Lyon', 'Durham')[k]}", "--drop", "when,town=Kiel", "--out", f"one{k}.sgd")
        sgfs.ok("pack", f"day{k}.csv", "--categorical", "auto", "--drop", "when", "--standardize", "--out", f"two{k}.sgd")
    for name in ("one", "two"):
        done = sgfs("optimize", "logistic", "--data", f"{name}0.sgd", "--data", f"{name}1.sgd")
        assert done.returncode == 3 and f"{name}1.sgd" in done.stderr, done.stderr
