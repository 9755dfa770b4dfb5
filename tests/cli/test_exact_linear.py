# SPDX-License-Identifier: MIT
"""--sampler exact-linear as a user meets it: independent draws, every sort of file, refusals.

Means and sds are compared with those of a grid over log sigma, made here with numpy. 4,000 independent draws: a mean is
off by 0.016 sd, an sd by 1.1 %; five of these are allowed.
"""
import json

import numpy as np
import pytest

ROWS, COLS = 300, 4


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(8)
    x = rng.normal(size=(ROWS, COLS)) * (rng.random((ROWS, COLS)) < 0.4)
    y = 0.7 + x @ [1.1, -0.4, 0, 0.25] + 0.8 * rng.normal(size=ROWS)
    return x, y, rng.integers(0, 4, ROWS)


def truth(x, y, weight, precision=1.0):
    x = np.column_stack([np.ones(len(y)), x])
    grid, total = np.linspace(-2, 1.5, 701), []
    for u in grid:
        a = np.exp(-2 * u)
        A = a * (x.T * weight) @ x + precision * np.eye(x.shape[1])
        b = a * x.T @ (weight * y)
        m = np.linalg.solve(A, b)
        f = -weight.sum() * u - a * (weight @ y**2) / 2 + b @ m / 2 - np.linalg.slogdet(A)[1] / 2 - precision * u * u / 2
        total.append((f, np.append(m, u), np.append(np.diag(np.linalg.inv(A)), 0)))
    f, m, v = (np.array(t) for t in zip(*total))
    p = np.exp(f - f.max())
    p /= p.sum()
    mean = p @ m
    return mean, np.sqrt(p @ (v + m**2) - mean**2)


def agrees(sgfs, name, mean, sd):
    said = json.loads(sgfs.ok("summary", name, "--json").stdout)
    for got, m, s in zip(said["params"], mean, sd):
        assert abs(got["mean"] - m) < 5 * 0.016 * s, got
        assert abs(got["sd"] / s - 1) < 5 * 0.0112, got
        assert 3000 < got["ess_bulk"] < 5000


def test_every_sort_of_file(sgfs, rows):
    x, y, w = rows
    np.savetxt(sgfs.folder / "d.csv", np.column_stack([x, w, y]), delimiter=",", comments="", header="a,b,c,d,w,y", fmt="%.17g")
    with open(sgfs.folder / "d.svm", "w") as f:
        for r, t in zip(x, y):
            f.write(f"{t:.17g} " + " ".join(f"{j + 1}:{v:.17g}" for j, v in enumerate(r) if v) + "\n")
    sgfs.ok("pack", "d.csv", "--drop", "w", "--target", "y", "--out", "d.sgd", "-q")
    how = ("--sampler", "exact-linear", "--overwrite", "-q")
    plain = truth(x, y, np.ones(ROWS))
    for data in (("d.csv", "--target", "y", "--drop", "w"), ("d.svm",), ("d.sgd",)):
        sgfs.ok("sample", "linear", "--data", *data, "--out", "fit.run", *how)
        agrees(sgfs, "fit.run", *plain)
    sgfs.ok("sample", "linear", "--data", "d.csv", "--target", "y", "--weights", "w", "--out", "fit.run", *how)
    agrees(sgfs, "fit.run", *truth(x, y, w))


def test_words(sgfs, rows):
    x, y, _ = rows
    np.savetxt(sgfs.folder / "d.csv", np.column_stack([x, y]), delimiter=",", comments="", header="a,b,c,d,y", fmt="%.17g")
    done = sgfs.ok("sample", "linear", "--data", "d.csv", "--target", "y", "--sampler", "exact-linear", "--out", "fit.run")
    assert "exact-linear, rows read while opening only, 4 chains x (0 warm-up + 1000 draws)" in done.stdout + done.stderr
    done = sgfs("sample", "logistic", "--data", "d.csv", "--target", "y", "--sampler", "exact-linear")
    assert done.returncode != 0
    done = sgfs("sample", "linear", "--data", "d.csv", "--target", "y", "--sampler", "exact-linear", "--prior", "laplace")
    assert done.returncode == 2 and "the prior is not Gaussian" in done.stderr
