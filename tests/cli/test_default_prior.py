# SPDX-License-Identifier: MIT
"""The prior that regressions have when nobody names one, against posteriors that numpy works out by itself.

With s = 1 (linear: the sd of the target): N(0, 2.5 s/sd(x)) for numbers, N(0, 2.5 s) for columns of 0 and 1, the
intercept at the columns' means N(0, 2.5 s) (linear: around the target's mean), log_sigma N(log s, 3). The columns
are far from 0 (a year), so that a prior on the intercept at 0, or one scale for all columns, gives another answer."""
import json

import numpy as np
import pytest

from cli_program import Sgfs, write

RNG = np.random.default_rng(2385)
ROWS = 60
YEAR = RNG.integers(1990, 2021, ROWS).astype(float)
CITY = (RNG.random(ROWS) < 0.3).astype(float)
NOISE = RNG.standard_normal(ROWS)
LABEL = (RNG.random(ROWS) < 1 / (1 + np.exp(-0.11 * (YEAR - 2007)))).astype(int)
PRICE = 4e4 * (YEAR - 1950) + 3e5 * CITY + 2e5 * NOISE


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    sgfs = Sgfs(tmp_path_factory.mktemp("default_prior"), prior=None)
    write(sgfs.folder / "label.csv", ["year,y", *(f"{a:g},{b}" for a, b in zip(YEAR, LABEL))])
    write(sgfs.folder / "both.csv", ["year,city,y", *(f"{a:g},{c:g},{b}" for a, c, b in zip(YEAR, CITY, LABEL))])
    write(sgfs.folder / "price.csv", ["year,city,y", *(f"{a:g},{c:g},{b!r}" for a, c, b in zip(YEAR, CITY, map(float, PRICE)))])
    write(sgfs.folder / "rows.svm", [f"{b} 1:{a:g}" + (" 2:1" if c else "") for a, c, b in zip(YEAR, CITY, LABEL)])
    return sgfs


def mode(sgfs, model, data, *words):
    """Mode and covariance that `optimize` finds, on the scale of the file's columns."""
    return json.loads(sgfs.ok("optimize", model, "--data", data, "--json", *words).stdout)


def header(sgfs, run="fit.run"):
    text = (sgfs.folder / run).read_bytes()
    return json.JSONDecoder().raw_decode(text[text.index(b'{"'):].decode("utf-8", "replace"))[0]


def logistic_mode(A, prior):
    """Newton; A: columns with their intercept, prior: precision matrix of their coefficients."""
    t = np.zeros(A.shape[1])
    for _ in range(100):
        p = 1 / (1 + np.exp(-A @ t))
        H = (A * (p * (1 - p))[:, None]).T @ A + prior
        t = t + np.linalg.solve(H, A.T @ (LABEL - p) - prior @ t)
    return t


def test_a_grid_of_two_parameters(site):
    """Means and sds of year and of the intercept of the file's own column, by quadrature over 301 x 301 places."""
    mean, sd = YEAR.mean(), YEAR.std(ddof=1)
    b0, b1 = np.meshgrid(np.linspace(-7, 7, 301), np.linspace(-1.2 / sd, 6 / sd, 301), indexing="ij")
    eta = b0[..., None] + b1[..., None] * (YEAR - mean)
    log_density = (LABEL * eta - np.logaddexp(0, eta)).sum(-1) - (b0**2 + (b1 * sd) ** 2) / (2 * 2.5**2)
    w = np.exp(log_density - log_density.max())
    w /= w.sum()
    site.ok("sample", "logistic", "--data", "label.csv", "--draws", "8000", "--chains", "4", "--seed", "3",
            "--out", "fit.run", "--overwrite", "-q")
    draws = site.draws().reshape(-1, 2)
    for got, grid in ((draws[:, 1], b1), (draws[:, 0] + mean * draws[:, 1], b0), (draws[:, 0], b0 - mean * b1)):
        m = (w * grid).sum()
        s = np.sqrt((w * (grid - m) ** 2).sum())
        # about 10,000 effective draws: an error of 0.01 sd in a mean, of 0.7 % in an sd
        assert abs(got.mean() - m) < 0.05 * s and abs(got.std() / s - 1) < 0.04, (got.mean(), m, got.std(), s)


@pytest.mark.parametrize("words", [(), ("--prior", "auto")])
def test_numbers_and_columns_of_zeros_and_ones(site, words):
    """The mode, with year scaled by its sd, the column of zeros and ones as it is, and both centred."""
    X = np.column_stack([YEAR, CITY])
    A = np.column_stack([np.ones(ROWS), X - X.mean(0)])
    t = logistic_mode(A, np.diag([1, YEAR.var(ddof=1), 1]) / 2.5**2)
    wanted = [t[0] - X.mean(0) @ t[1:], t[1], t[2]]
    got = mode(site, "logistic", "both.csv", *words)
    np.testing.assert_allclose(got["mean"], wanted, rtol=1e-6)
    softmax = mode(site, "softmax", "both.csv", *words)  # of two labels, one the reference: the same model
    np.testing.assert_allclose(softmax["mean"], wanted, rtol=1e-6)


VISITS = np.where(np.arange(ROWS) % 5 < 3, 40 + 3 * RNG.standard_normal(ROWS), 0)  # zeros, and numbers far from them
RARE = (np.arange(ROWS) % 29 == 4).astype(float)
TARGETS = {"logistic": LABEL, "softmax": (np.arange(ROWS) * 7 + LABEL) % 3, "poisson": np.floor(3 * CITY + 2 + NOISE).clip(0),
           "linear": PRICE}


def both_ways(site, y, some=slice(None)):
    """The same table dense and as sparse rows: years, of which every row has one, and three columns with zeros."""
    table = np.column_stack([YEAR, CITY, VISITS, RARE])[some]
    write(site.folder / "dense.csv", ["f1,f2,f3,f4,y", *(",".join(map(repr, map(float, (*x, v)))) for x, v in zip(table, y[some]))])
    write(site.folder / "sparse.svm", [f"{float(v)!r} " + " ".join(f"{j + 1}:{float(c)!r}" for j, c in enumerate(x) if c) for x, v in zip(table, y[some])])


@pytest.mark.parametrize("model", TARGETS)
def test_sparse_rows_have_the_prior_of_dense_ones(site, model):
    """Only the years can be centred in sparse rows; the intercept is at the means of all columns nevertheless."""
    both_ways(site, TARGETS[model])
    dense, sparse = mode(site, model, "dense.csv"), mode(site, model, "sparse.svm")
    sd, got = (np.sqrt(np.diag(fit["cov"])) for fit in (dense, sparse))
    np.testing.assert_allclose(np.array(sparse["mean"]) / sd, np.array(dense["mean"]) / sd, rtol=0, atol=1e-4)
    np.testing.assert_allclose(got, sd, rtol=1e-4)


@pytest.mark.parametrize("some", [slice(None), slice(2, 6)])
def test_sparse_linear_draws_have_the_prior_of_dense_ones(site, some):
    """Independent draws in closed form, with more rows than columns and with fewer."""
    both_ways(site, PRICE, some)
    draws = []
    for data in ("dense.csv", "sparse.svm"):
        site.ok("sample", "linear", "--data", data, "--sampler", "exact-linear", "--draws", "5000", "--chains", "4", "--seed", "3",
                "--out", "fit.run", "--overwrite", "-q")
        draws.append(site.draws().reshape(20000, -1))
    np.testing.assert_allclose(header(site)["model_info"]["prior_sds"][0], 2.5 * PRICE[some].std(ddof=1), rtol=1e-9)
    dense, sparse = draws  # 20,000 independent draws each: an error of 0.01 sd in a difference of means
    sd = dense.std(0)
    assert np.abs((sparse.mean(0) - dense.mean(0)) / sd).max() < 0.05
    assert np.abs(sparse.std(0) / sd - 1).max() < 0.05


def test_a_run_on_sparse_rows_that_goes_on_keeps_the_prior(site):
    both_ways(site, LABEL)
    words = ("sample", "logistic", "--data", "sparse.svm", "--sampler", "nuts", "--seed", "3", "--chains", "1", "--allow-unconverged", "-q")
    site.ok(*words, "--draws", "60", "--out", "whole.run", "--overwrite")
    site.ok(*words, "--draws", "30", "--out", "part.run", "--overwrite")
    site.ok("sample", "--resume", "part.run", "--draws", "60", "--allow-unconverged", "-q")
    assert header(site, "part.run")["model_info"]["prior_means"] == header(site, "whole.run")["model_info"]["prior_means"]
    np.testing.assert_array_equal(site.draws("part.run"), site.draws("whole.run"))


GROUP = np.arange(ROWS) % 3


def test_without_an_intercept_groups_keep_their_means(site):
    """Cell means far from 0: with sd(y) for a scale the prior would pull every mean towards 0."""
    y = np.array([4e3, 5e3, 5.5e3])[GROUP] + 700 * NOISE + 1e5
    write(site.folder / "cells.csv", ["a,b,c,y", *(",".join(f"{g == k:d}" for k in range(3)) + f",{v!r}" for g, v in zip(GROUP, map(float, y)))])
    done = site.ok("sample", "linear", "--data", "cells.csv", "--target", "y", "--no-intercept", "--draws", "4000", "--seed", "5",
                   "--out", "fit.run", "--overwrite")
    assert "2.5 rms(y)" in done.stderr and "constant" not in done.stderr
    rms = np.hypot(y.mean(), y.std(ddof=1))
    info = header(site)["model_info"]
    np.testing.assert_allclose(info["prior_sds"], [2.5 * rms] * 3 + [3], rtol=1e-9)
    draws = site.draws().reshape(-1, 4)
    for k in range(3):
        cell = y[GROUP == k]
        assert abs(draws[:, k].mean() - cell.mean()) < 0.2 * y.std() / np.sqrt(len(cell))
    pooled = np.sqrt(np.mean([y[GROUP == k].var(ddof=1) for k in range(3)]))
    assert abs(draws[:, 3].mean() - np.log(pooled)) < 0.05


@pytest.mark.parametrize("model,y,reach", [
    ("logistic", np.arange(ROWS) % 20 == 7, np.log(19)),
    ("softmax", np.arange(ROWS) % 20 == 7, np.log(19)),
    ("poisson", np.arange(ROWS) % 3 * 1e5, np.log(1e5)),
])
def test_without_an_intercept_the_predictors_middle_is_in_reach(site, model, y, reach):
    write(site.folder / "cells.csv", ["one,b,y", *(f"3,{g == 1:d},{int(v)}" for g, v in zip(GROUP, y))])
    done = site.ok("sample", model, "--data", "cells.csv", "--target", "y", "--no-intercept", "--draws", "100", "--allow-unconverged",
                   "--out", "fit.run", "--overwrite")
    assert "constant" not in done.stderr, done.stderr
    s = 2.5 * np.hypot(1, reach)
    np.testing.assert_allclose(header(site)["model_info"]["prior_sds"], [s / 3, s], rtol=1e-9)


def test_linear_in_closed_form(site):
    """sigma given: beta is Gaussian, with covariance (X'X/sigma^2 + P)^-1 in the columns that the prior knows."""
    sigma, s = 2e5, PRICE.std(ddof=1)
    X = np.column_stack([YEAR, CITY])
    A = np.column_stack([np.ones(ROWS), X - X.mean(0)])
    P = np.diag([1, YEAR.var(ddof=1), 1]) / (2.5 * s) ** 2
    cov = np.linalg.inv(A.T @ A / sigma**2 + P)
    t = cov @ (A.T @ (PRICE - PRICE.mean()) / sigma**2)
    site.ok("sample", "linear", "--data", "price.csv", "--sigma", sigma, "--draws", "5000", "--seed", "5", "--out", "fit.run",
            "--overwrite", "-q")
    draws = site.draws().reshape(-1, 3)
    at_means = draws[:, 0] + draws[:, 1:] @ X.mean(0)
    for got, m, sd in zip((at_means, draws[:, 1], draws[:, 2]), t + [PRICE.mean(), 0, 0], np.sqrt(np.diag(cov))):
        assert abs(got.mean() - m) < 0.06 * sd and abs(got.std() / sd - 1) < 0.05, (got.mean(), m, got.std(), sd)


def test_linear_with_its_sigma(site):
    """log_sigma by quadrature: given sigma the target is Gaussian with covariance sigma^2 + A P^-1 A'."""
    s = PRICE.std(ddof=1)
    X = np.column_stack([YEAR, CITY])
    A = np.column_stack([np.ones(ROWS), X - X.mean(0)]) * np.array([1, 1 / YEAR.std(ddof=1), 1]) * 2.5
    y = (PRICE - PRICE.mean()) / s
    grid, log_density = np.linspace(-3, 2, 401), []
    for g in grid:
        C = np.exp(2 * g) * np.eye(ROWS) + A @ A.T
        log_density.append(-0.5 * np.linalg.slogdet(C)[1] - 0.5 * y @ np.linalg.solve(C, y) - (g / 3) ** 2 / 2)
    w = np.exp(log_density - np.max(log_density))
    w /= w.sum()
    m = w @ grid + np.log(s)
    sd = np.sqrt(w @ (grid + np.log(s) - m) ** 2)
    site.ok("sample", "linear", "--data", "price.csv", "--draws", "8000", "--seed", "5", "--out", "fit.run", "--overwrite", "-q")
    got = site.draws()[..., 3]
    assert abs(got.mean() - m) < 0.06 * sd and abs(got.std() / sd - 1) < 0.06, (got.mean(), m, got.std(), sd)


def test_a_line_says_so_and_the_header_has_the_numbers(site):
    done = site.ok("sample", "linear", "--data", "price.csv", "--draws", "200", "--out", "fit.run", "--overwrite")
    assert "Prior: normal with sd 2.5 sd(y)/sd(x)" in done.stderr and "--prior-precision 1" in done.stderr
    assert "narrow" not in done.stderr and "differ in scale" not in done.stderr
    head = header(site)
    assert head["config"]["prior.kind"] == "auto" and head["config"]["prior.precision"] == "auto"
    info = head["model_info"] if "model_info" in head else head["info"]
    s = PRICE.std(ddof=1)
    np.testing.assert_allclose(info["prior_precisions"], [0.16, 0.16, 0.16, 1 / 9], rtol=1e-12)
    np.testing.assert_allclose(info["prior_sds"], [2.5 * s, 2.5 * s / YEAR.std(ddof=1), 2.5 * s, 3], rtol=1e-9)
    done = site.ok("sample", "linear", "--data", "price.csv", "--draws", "200", "--prior-precision", "1", "--out", "fit.run",
                   "--overwrite")
    assert "Prior:" not in done.stderr and "is narrow for these units" in done.stderr


def test_standardised_columns_have_it_already(site):
    """--standardize changes nothing about it where there are numbers only."""
    plain, scaled = (mode(site, "logistic", "label.csv", *words)["mean"] for words in ((), ("--standardize",)))
    np.testing.assert_allclose(plain, scaled, rtol=1e-9)


def test_a_run_is_opened_again_with_it(site):
    site.ok("sample", "logistic", "--data", "both.csv", "--draws", "400", "--out", "fit.run", "--overwrite", "-q")
    audit = json.loads(site.ok("audit", "fit.run", "--json", "-q").stdout)
    assert audit
    site.ok("predict", "fit.run", "--data", "both.csv", "--out", "p.csv", "--overwrite", "-q")
    p = np.loadtxt(site.folder / "p.csv", delimiter=",", skiprows=1, usecols=None, dtype=str)
    draws = site.draws().reshape(-1, 3)
    wanted = (1 / (1 + np.exp(-(draws[:, :1] + draws[:, 1:] @ np.array([YEAR, CITY]))))).mean(0)
    best = min(np.abs(p[:, j].astype(float) - wanted).max() for j in range(p.shape[1])
               if all(c.replace(".", "").replace("e-", "").isdigit() for c in p[:, j]))
    assert best < 1e-6


def test_a_networks_prior_falls_with_the_weights_that_meet(site):
    """By layer, on columns that are centred and scaled; weights of a layer have a scale in common."""
    done = site("sample", "mlp", "--data", "label.csv", "--hidden", "4", "--draws", "20", "--warmup", "20", "--sampler", "sgfs-d",
                "--out", "fit.run", "--overwrite")
    assert "Prior: normal on standardised columns" in done.stderr
    info = header(site)["model_info"]
    sds = np.array(info["prior_precisions"]) ** -0.5
    columns = len(sds[:-10]) // 4 - 1  # label.csv has two labels: 2 x (1 + 4) weights behind the units
    first, last = sds[:-10].reshape(4, -1), sds[-10:].reshape(2, -1)
    np.testing.assert_allclose(first[:, 0], 1)
    assert np.ptp(first[:, 1:]) < 1e-12 and 1 / np.sqrt(columns) <= first[0, 1] * 1.0001 <= 1.001
    np.testing.assert_allclose(last, [[2.5] + 4 * [64 / 2]] * 2)
    layers = np.array(info["prior_layers"])
    assert (layers[:-10].reshape(4, -1) == [0] + columns * [1]).all()
    assert (layers[-10:].reshape(2, -1) == [0] + 4 * [2]).all()


@pytest.mark.parametrize("model", ["mlp", "drbm"])
def test_a_network_does_not_know_the_units(site, model):
    """Centimetres for metres, and years since another year: the same fit, and the same predictions."""
    rng = np.random.default_rng(5)
    x = rng.standard_normal((60, 2))
    y = (x[:, 0] * x[:, 1] > 0).astype(int)
    told = []
    for name, rows in (("plain", x), ("units", x * [100, 1e-3] + [0, 7])):
        np.save(site.folder / f"{name}.npy", np.column_stack([rows, y]))
        site("sample", model, "--data", f"{name}.npy", "--hidden", "3", "--sampler", "nuts", "--max-depth", "2", "--warmup", "0", "--draws", "3",
             "--climb", "3", "--out", "fit.run", "--overwrite", "-q")
        site.ok("predict", "fit.run", "--data", f"{name}.npy", "--out", "p.csv", "--overwrite", "-q")
        told.append(np.genfromtxt(site.folder / "p.csv", delimiter=",", names=True, deletechars=""))
    same = [n for n in told[0].dtype.names if n.startswith("p[")]
    for name in same:
        np.testing.assert_allclose(told[0][name], told[1][name], atol=1e-4)


def test_the_truth_of_simulated_data_has_it(site):
    """The stored posterior is on the scale of the file's columns, and that of the default prior."""
    site.ok("simulate", "logistic", "--rows", "500", "--dim", "2", "--out", "s.csv", "--truth", "t.json", "--overwrite", "-q")
    truth = json.loads((site.folder / "t.json").read_text())
    got = mode(site, "logistic", "s.csv")
    sd = np.sqrt(np.diag(got["cov"])) if "cov" in got else np.sqrt(np.diag(truth["cov"]))
    # the truth is a mean, with the first correction to the mode
    assert np.abs(np.subtract(got["mean"], truth["mean"]) / sd).max() < 0.3
    site.ok("sample", "logistic", "--data", "s.csv", "--draws", "2000", "--out", "fit.run", "--overwrite", "-q")
    done = site.ok("compare", "fit.run", "--reference", "t.json")
    assert done.returncode == 0

# ---- --standardize and columns of zeros and ones -------------------------------------------------


def test_standardize_leaves_zeros_and_ones_on_their_scale(site):
    """With N(0, 1) named: on year/sd and on the column of zeros and ones itself; "all" divides that one, too."""
    X = np.column_stack([YEAR, CITY])
    A = np.column_stack([np.ones(ROWS), X - X.mean(0)])
    for words, city in ((("--standardize",), 1), (("--standardize", "all"), CITY.var(ddof=1)),
                        (("--standardize=all",), CITY.var(ddof=1))):
        t = logistic_mode(A, np.diag([1, YEAR.var(ddof=1), city]))
        got = mode(site, "logistic", "both.csv", "--prior-precision", "1", *words)
        np.testing.assert_allclose(got["mean"], [t[0] - X.mean(0) @ t[1:], t[1], t[2]], rtol=1e-6)


def test_what_a_column_of_zeros_and_ones_is(site):
    """Only these two values, whatever the type of the file and also where a packed file has the statistics."""
    almost = CITY.copy()
    almost[np.argmax(CITY)] = 0.999
    table = np.column_stack([CITY, almost, 2 * CITY, CITY - 1, LABEL])
    np.save(site.folder / "kinds.npy", table)
    site.ok("pack", "kinds.npy", "--out", "kinds.sgd", "--overwrite", "-q")
    for data in ("kinds.npy", "kinds.sgd"):
        site.ok("sample", "logistic", "--data", data, "--standardize", "--prior-precision", "1", "--draws", "200",
                "--out", "fit.run", "--overwrite", "-q")
        scale = [column["scale"] for column in header(site)["data"]["features"]]
        np.testing.assert_allclose(scale, [1, *(1 / table[:, j].std(ddof=1) for j in (1, 2, 3))], rtol=1e-9)


def test_standardize_in_the_middle_leaves_them_too(site):
    """Baked into a packed file: year is scaled, the column of zeros and ones is centred only."""
    for word, spread in (("--standardize", CITY.std(ddof=1)), ("--standardize=all", 1)):
        site.ok("pack", "both.csv", word, "--out", "baked.sgd", "--overwrite", "-q")
        site.ok("sample", "logistic", "--data", "baked.sgd", "--prior-precision", "1", "--draws", "200", "--out", "fit.run",
                "--overwrite", "-q")
        sd = [column["sd"] for column in header(site)["data"]["features"]]
        np.testing.assert_allclose(sd, [1, spread], rtol=1e-9)


def test_naming_one_parameter_keeps_the_default_for_the_rest(site):
    """A precision is in the user's units: the default's, named, change nothing, and another is a term of its own."""
    plain = mode(site, "linear", "price.csv")
    sd = PRICE.std(ddof=1)
    for name, scale in (("log_sigma", 3), ("year", 2.5 * sd / YEAR.std(ddof=1)), ("city", 2.5 * sd), ("intercept", 2.5 * sd)):
        got = mode(site, "linear", "price.csv", "--prior-precision", f"{name}={float(scale) ** -2!r}")
        assert got["mean"] == pytest.approx(plain["mean"], rel=1e-5), name
    got = mode(site, "logistic", "both.csv", "--prior-precision", "year=70")
    mean = np.array([YEAR.mean(), CITY.mean()])
    A = np.column_stack([np.ones(ROWS), np.column_stack([YEAR, CITY]) - mean])
    t = logistic_mode(A, np.diag([2.5**-2, 70, 2.5**-2]))
    assert got["mean"] == pytest.approx([t[0] - t[1:] @ mean, *t[1:]], rel=1e-4)
    done = site.ok("sample", "linear", "--data", "price.csv", "--prior-precision", "log_sigma=4", "--draws", "50",
                   "--out", "fit.run", "--overwrite")
    assert "besides what --prior-precision names" in done.stderr
    sds = header(site)["model_info"]["prior_sds"]
    assert sds == pytest.approx([2.5 * sd, 2.5 * sd / YEAR.std(ddof=1), 2.5 * sd, 0.5])
    site.ok("sample", "linear", "--config", "fit.run", "--out", "more.run", "--overwrite")
    assert header(site, "more.run")["model_info"]["prior_sds"] == sds


def test_a_number_or_all_coefficients_name_the_whole_prior(site):
    for words in ("beta=1", "1", "1,city=1", "beta=1,year=1"):
        got, one = (mode(site, "logistic", "both.csv", "--prior-precision", w)["mean"] for w in (words, "1"))
        assert got == one, words


def test_more_coefficients_than_rows_is_said(site):
    wide = RNG.standard_normal((6, 9))
    write(site.folder / "wide.csv", [",".join(f"x{j}" for j in range(9)) + ",y",
                                     *(",".join(f"{v:.4f}" for v in row) + f",{i}.5" for i, row in enumerate(wide))])
    done = site.ok("sample", "linear", "--data", "wide.csv", "--draws", "100", "--out", "fit.run", "--overwrite")
    assert "more coefficients (10) than rows (6)" in done.stdout and "the prior alone decides" in done.stdout
    done = site.ok("sample", "linear", "--data", "price.csv", "--draws", "100", "--out", "fit.run", "--overwrite")
    assert "than rows" not in done.stdout + done.stderr
