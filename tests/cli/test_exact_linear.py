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


def log_sigma_of_one_column(x, y):
    """Mean and sd of log sigma under the default prior: given sigma, y has one variance along x, one along 1, and sigma^2
    across both."""
    s, z, y = y.std(ddof=1), (x - x.mean()) / np.linalg.norm(x - x.mean()), y - y.mean()
    rest, length = y - z * (z @ y), np.linalg.norm(x - x.mean())
    u = np.log(s) + np.linspace(-40, 12, 20001)
    wide = 6.25 * s**2 * np.array([len(x), length**2 / x.var(ddof=1)])
    f = -(len(x) - 2) * u - rest @ rest / 2 * np.exp(-2 * u) - (u - np.log(s))**2 / 18
    for v, part in zip(wide, (0, z @ y)):
        f -= np.log(np.exp(2 * u) + v) / 2 + part**2 / (np.exp(2 * u) + v) / 2
    p = np.exp(f - f.max())
    mean = p @ u / p.sum()
    return mean, np.sqrt(p @ (u - mean)**2 / p.sum())


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


def table(sgfs, name, columns, fmt="%.17g"):
    np.savetxt(sgfs.folder / name, np.column_stack(list(columns.values())), delimiter=",", comments="", fmt=fmt, header=",".join(columns))


def test_columns_that_determine_the_target(sgfs):
    """A total is the sum of its parts: what is left is rounding, which must not be taken for noise."""
    rng = np.random.default_rng(3)
    a, b, c = rng.integers(0, 50, (3, 100)).astype(float)
    net, shipping, x = rng.lognormal(5, 1, 300).round(2), rng.choice([4.9, 9.9], 300), rng.normal(size=(3, 300))
    year = rng.integers(2000, 2020, 300)
    table(sgfs, "integers.csv", {"a": a, "b": b, "c": c, "y": a + b + c}, "%d")
    table(sgfs, "dependent.csv", {"a": a, "b": b, "c": c, "dif": a - b, "y": a + b + c}, "%d")
    table(sgfs, "cents.csv", {"net": net, "shipping": shipping, "y": net + shipping}, "%.2f")
    table(sgfs, "digits.csv", {"u": x[0], "v": x[1], "w": x[2], "y": 3 + x[0] - 2.5 * x[1]})
    table(sgfs, "years.csv", {"year": year, "u": x[0].round(3), "y": 12 * year - x[0].round(3)}, "%.3f")
    (sgfs.folder / "groups.csv").write_text("g,y\n" + "".join(f"g{k},{(1.3, 2.2, 8.1)[k]}\n" for k in rng.integers(0, 3, 90)))
    sgfs.ok("pack", "cents.csv", "--target", "y", "--out", "cents.sgd", "-q")
    exact = {"integers.csv": "y = a + b + c.", "dependent.csv": " b + c", "cents.csv": "y = net + shipping.", "digits.csv": "y = 3 + u - 2.5 v.",
             "years.csv": "y = 12 year - u.", "groups.csv": " + 6.8 g=g2."}
    for name, sum in exact.items():
        how = ("--target", "y", "--out", "e.run", *(("--categorical", "g") if name == "groups.csv" else ()))
        for prior in (("--prior", "auto"), ("--prior", "flat"), ("--prior-precision", "1"), ("--standardize",)):
            if name == "dependent.csv" and prior == ("--prior", "flat"):
                continue  # there is no posterior, whatever the target is
            done = sgfs("sample", "linear", "--data", name, *how, *prior)
            said = done.stderr
            assert done.returncode == 3 and "columns determine the target exactly" in said and sum in said and "--drop" in said, (name, prior, said)
    assert sgfs("sample", "linear", "--data", "cents.sgd", "--out", "e.run").returncode == 3
    # a few rows, where the prior alone holds sigma up
    for name, columns in {"three": {"x": [1, 2, 3], "y": [2, 4, 6]}, "four": {"x": [1, 2, 3, 4], "z": [1, 0, 1, 0], "y": [3, 4, 7, 8]}}.items():
        table(sgfs, f"{name}.csv", columns)
        done = sgfs("sample", "linear", "--data", f"{name}.csv", "--target", "y", "--prior", "auto", "--out", "e.run")
        assert done.returncode == 3 and "columns determine the target exactly (R^2 = 1 up to rounding): y = 2 x" in done.stderr, done.stderr
    # a noise that is given is a noise, and a target that lacks one of its parts has some
    sgfs.ok("sample", "linear", "--data", "cents.csv", "--target", "y", "--sigma", "0.1", "--out", "k.run", "-q")
    sgfs.ok("sample", "linear", "--data", "dependent.csv", "--target", "y", "--drop", "c", "--out", "l.run", "-q")


def test_nearly_exact_fits_are_fits(sgfs):
    """Numbers rounded before they are added up leave a residual: least squares and its errors, to the digit. More columns
    than rows fit any target, which is no reason to refuse it."""
    rng = np.random.default_rng(4)
    x = rng.normal(size=(100, 4))
    for digits in (6, 10):
        data = np.column_stack([x, x @ [1, 2, 3, 4]]).round(digits)
        table(sgfs, "near.csv", dict(zip("abcdy", data.T)))
        sgfs.ok("sample", "linear", "--data", "near.csv", "--target", "y", "--prior", "flat", "--out", "near.run", "--overwrite", "-q")
        X, y = np.column_stack([np.ones(100), data[:, :4]]), data[:, 4]
        mean = np.linalg.lstsq(X, y, rcond=None)[0]
        sd = np.sqrt(np.sum((y - X @ mean)**2) / 93 * np.diag(np.linalg.inv(X.T @ X)))  # Student-t, 95 degrees of freedom
        agrees(sgfs, "near.run", mean, sd)
    for noise in (1e-4, 1e-9):  # of four rows: long tails, and no wrong draws
        few = np.arange(1, 5.0), 2 * np.arange(1, 5) + noise * np.array([1, -1, 1, -1])
        table(sgfs, "few.csv", dict(zip("xy", few)))
        done = sgfs.ok("sample", "linear", "--data", "few.csv", "--target", "y", "--prior", "auto", "--out", "few.run", "--overwrite")
        assert "Trust" in done.stdout and "Do not" not in done.stdout, done.stdout
        row = next(p for p in json.loads(sgfs.ok("summary", "few.run", "--json").stdout)["params"] if p["name"] == "log_sigma")
        mean, sd = log_sigma_of_one_column(*few)
        assert abs(row["mean"] - mean) < 5 * 0.016 * sd and abs(row["sd"] / sd - 1) < 0.1, (noise, row, mean, sd)
    wide = rng.normal(size=(30, 40)).round(2)
    table(sgfs, "wide.csv", {f"c{j}": v for j, v in enumerate(wide.T)} | {"y": wide.sum(1)}, "%.2f")
    sgfs.ok("sample", "linear", "--data", "wide.csv", "--target", "y", "--out", "wide.run", "-q")
