# SPDX-License-Identifier: MIT
"""Formulas: the columns that they make beside those of formulaic, in every format and on new rows; and what is refused,
with a caret under its place. `sgfs pack` shows the columns."""
import json

import numpy as np
import pytest

from cli_program import Sgfs, write
from test_pack import names as names_of, unpack

USAGE, DATA = 2, 3
N = 300


@pytest.fixture(scope="module")
def site(shared):
    rng = np.random.default_rng(7)
    columns = {"x": rng.normal(3, 1, N), "z": rng.uniform(1, 5, N), "a": rng.choice(["p", "q", "r"], N, p=[0.2, 0.5, 0.3]),
               "b": rng.choice(["u", "v"], N, p=[0.3, 0.7]), "c": rng.choice(["k", "l", "m"], N, p=[0.5, 0.3, 0.2]),
               "h": rng.choice([3, 11, 7], N, p=[0.2, 0.3, 0.5]), "odd name": rng.normal(size=N)}
    columns["y"] = (rng.random(N) < 0.5).astype(int)
    shared.columns = {name: np.asarray(v) for name, v in columns.items()}
    write_csv(shared.folder / "a.csv", shared.columns)
    return shared


def write_csv(path, columns):
    write(path, [",".join(columns), *(",".join(v if isinstance(v, str) else repr(v) for v in row)
                                      for row in zip(*(v.tolist() for v in columns.values())))])


def design(site, formula, *words, data="a.csv"):
    """The columns that a formula makes, by name."""
    site.ok("pack", data, "--formula", formula, "--out", "d.sgd", "--overwrite", "-q", "--no-shuffle", *words)
    rows, told = unpack(site.folder / "d.sgd")
    return {name: rows[:, k] for k, name in enumerate(names_of(told)) if name != "y"}


def theirs(columns, formula):
    """The same by formulaic; words have the reference that we take, the most frequent one, and our names."""
    formulaic, pandas = pytest.importorskip("formulaic"), pytest.importorskip("pandas")
    table = {}
    for name, v in columns.items():
        words, count = np.unique(v, return_counts=True)
        first = words[count.argmax()]
        order = [first, *(w for w in words if w != first)]
        table[name] = pandas.Categorical(v, categories=order) if len(words) < 10 and name != "y" else v
    matrix = formulaic.model_matrix(formula, pandas.DataFrame(table), context={"log1p": np.log1p, "sqrt": np.sqrt})
    return {our_name(name): matrix[name].to_numpy(float) for name in matrix.columns if name != "Intercept"}


def our_name(name):
    """a[T.q]:x:poly(x, 2)[1] is x:poly(x, 2)[1]:a=q."""
    numbers, columns, words = [], [], []
    for factor in name.split(":"):
        head, bracket, level = factor.rpartition("[")
        if bracket and not (head.startswith(("poly(", "bs("))):
            columns.append(head.removeprefix("C(").rstrip(")"))
            words.append(level.rstrip("]").removeprefix("T."))
        else:
            numbers.append(factor)
    return ":".join(numbers + columns) + ("=" + ":".join(words) if words else "")


@pytest.mark.parametrize("formula", [
    "x + z", "a", "a + b", "a*b", "a + b + c", "a*b*c", "a + a:b", "a/b", "(a + b + c)^2", "(a + b + x)**2", "a*b - a:b",
    "0 + a", "a - 1", "0 + a + b", "0 + a:b", "-1 + a*b", "x:z", "x*z", "x*a", "x:a", "0 + x:a", "a + x:a", "a*b*x",
    "x*a - x", "a + a:b:x", "a:x + a:z", "(x + z):a", "a*(b + x)", "1 + x", "x + z + 1 - z", "C(h)", "C(h)*x", "C(h):a + a",
    "log(x + 10)", "log1p(z) + sqrt(z) + exp(x)", "I(x**2)", "I(x - 2*z/x)", "I(-x**2 + 1)", "I((x + z)*x)", "scale(x)",
    "scale(x)*a", "poly(x, 1)", "poly(x, 2)", "poly(z, 5)", "poly(x, degree=3) + z", "poly(x, 2):a", "poly(x, 2)*poly(z, 2)",
    "poly(log(z), 3)", "bs(x, df=5)", "bs(z)", "bs(z, df=7, degree=2)", "bs(x, knots=[2.5, 3.5], degree=1)",
    "bs(z, df=4) + bs(z, df=4):b", "`odd name` + x:`odd name`", "I(`odd name`*2)", "log(scale(z) + 5)", "a:b:c - 1",
])
def test_columns_are_those_of_formulaic(site, formula):
    ours, wanted = design(site, "y ~ " + formula), theirs(site.columns, formula)
    assert {n.replace("`", "") for n in ours} == {n.replace("`", "") for n in wanted}
    for name, column in ours.items():
        other = next(v for n, v in wanted.items() if n.replace("`", "") == name.replace("`", ""))
        assert np.abs(column - other).max() <= 1e-9 * max(1, np.abs(other).max()), name


@pytest.mark.parametrize("formula", ["a:b", "x + x:a:b", "a + a:b:c", "b:c + a", "a:b + b:c", "a:b:c", "x:a:b"])
def test_other_codings_stand_for_the_same(site, formula):
    """Where a product is there without its parts, there are several ways to code it: as many columns, the same span."""
    ours, wanted = (np.column_stack([np.ones(N), *d.values()])
                    for d in (design(site, "y ~ " + formula), theirs(site.columns, formula)))
    rank = np.linalg.matrix_rank
    assert ours.shape == wanted.shape and rank(ours) == rank(wanted) == rank(np.hstack([ours, wanted])) == ours.shape[1]


def test_a_product_of_words_is_a_column_of_pairs(site):
    columns = design(site, "y ~ a:b")
    pair = [f"{p}:{q}" for p, q in zip(site.columns["a"], site.columns["b"])]
    words, count = np.unique(pair, return_counts=True)
    assert set(columns) == {f"a:b={w}" for w in words if w != words[count.argmax()]}
    for name, column in columns.items():
        assert np.array_equal(column, [f"a:b={w}" == name for w in pair])
