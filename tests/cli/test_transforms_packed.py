# SPDX-License-Identifier: MIT
"""Transforms and packed files: what was done when a file was packed is part of the run that reads it, so that new rows
may come as they were before, or packed in the same way, and nothing is done twice."""
import numpy as np
import pytest

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
