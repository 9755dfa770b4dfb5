# SPDX-License-Identifier: MIT
"""sgfs optimize and --sampler laplace as a user meets them, against scipy's own optimiser.

The search stops within 1e-8 posterior standard deviations; scipy's BFGS on a float64 sum is polished
with two Newton steps of our own, so that both sides are good to far better than the 1e-6 asked for."""
import json
import os
import signal
import time

import numpy as np
import pytest
from scipy.optimize import minimize

from cli_program import lines, quarters, write

USAGE, DATA, NUMERIC, IO = 2, 3, 4, 5


def logistic_mode(x, y, precision):
    """Mode and inverse Hessian of logistic regression with an intercept, without our code."""
    A = np.column_stack([np.ones(len(x)), x])

    def loss(t):
        eta = A @ t
        return np.sum(np.logaddexp(0, eta) - y * eta) + precision / 2 * t @ t

    def gradient(t):
        return A.T @ (1 / (1 + np.exp(-(A @ t))) - y) + precision * t

    def hessian(t):
        p = 1 / (1 + np.exp(-(A @ t)))
        return (A * (p * (1 - p))[:, None]).T @ A + precision * np.eye(A.shape[1])

    t = minimize(loss, np.zeros(A.shape[1]), jac=gradient, method="BFGS").x
    for _ in range(2):
        t = t - np.linalg.solve(hessian(t), gradient(t))
    return t, np.linalg.inv(hessian(t)), -loss(t)


@pytest.fixture(scope="module")
def site(shared):
    write(shared.folder / "good.csv", lines(*quarters(400)))
    write(shared.folder / "apart.csv", ["a,y", *(f"{i},{int(i > 6)}" for i in range(12))])
    return shared


def optimize(sgfs, *words, model="logistic", data="good.csv"):
    return json.loads(sgfs.ok("optimize", model, "--data", data, "--json", *words).stdout)


# ---- the answer ----------------------------------------------------------------------------------

@pytest.mark.parametrize("method", ["fisher", "lbfgs"])
@pytest.mark.parametrize("precision", [0, 1, 20])
def test_logistic_as_scipy_finds_it(site, method, precision):
    mode, cov, density = logistic_mode(*quarters(400), precision)
    got = optimize(site, "--method", method, "--prior-precision", precision)
    sd = np.sqrt(np.diag(cov))
    assert got["names"] == ["intercept", "a", "b"] and got["method"] == method
    assert np.all(np.abs(np.array(got["mean"]) - mode) < 1e-6 * sd)
    assert np.allclose(got["cov"], cov, rtol=0, atol=1e-6 * sd.max() ** 2)
    assert got["log_density"] == pytest.approx(density, rel=1e-10)
    assert 0 < got["iterations"] < got["passes"] and got["distance"] < 1e-8
    assert "not the posterior" in got["what"]


def test_linear_with_unknown_sigma_in_house_prices(sgfs):
    """Least squares on the user's scale, from a search on the standardised one; no prior."""
    rng = np.random.default_rng(2385)
    n = 300
    area, year = rng.normal(140, 45, n), rng.integers(1900, 2021, n)
    price = 30000 + 2100 * area + 350 * (year - 1950) + rng.normal(0, 40000, n)
    write(sgfs.folder / "house.csv", lines(np.column_stack([area, year]), price, ("area", "year", "price")))
    got = optimize(sgfs, "--target", "price", "--standardize", "--prior-precision", "0",
                   model="linear", data="house.csv")
    A = np.column_stack([np.ones(n), area, year])
    beta, rss = np.linalg.lstsq(A, price, rcond=None)[:2]
    sigma2 = rss[0] / n
    cov = sigma2 * np.linalg.inv(A.T @ A)
    sd = np.sqrt(np.diag(cov))
    assert np.all(np.abs(np.array(got["mean"][:3]) - beta) < 1e-6 * sd)
    assert got["mean"][3] == pytest.approx(np.log(sigma2) / 2, abs=1e-7)
    assert np.allclose(np.array(got["cov"])[:3, :3] / np.outer(sd, sd), cov / np.outer(sd, sd), atol=1e-6)
    assert got["cov"][3][3] == pytest.approx(1 / (2 * n), rel=1e-6)


# ---- output --------------------------------------------------------------------------------------

def test_the_table(site):
    done = site.ok("optimize", "logistic", "--data", "good.csv")
    mode, cov, _ = logistic_mode(*quarters(400), 1)
    rows = {r.split()[0]: r.split()[1:] for r in done.stdout.splitlines() if len(r.split()) == 3}
    for j, name in enumerate(["intercept", "a", "b"]):
        assert rows[name] == [f"{mode[j]:.4g}", f"{np.sqrt(cov[j, j]):.4g}"]
    assert "Fisher scoring" in done.stdout and "passes over the data" in done.stdout
    assert "not the posterior" in done.stdout
    assert done.stderr == ""


def test_out_is_a_reference_that_compare_reads(sgfs):
    write(sgfs.folder / "good.csv", lines(*quarters(400)))
    done = sgfs.ok("optimize", "logistic", "--data", "good.csv", "--out", "mode.json")
    assert "mode -> mode.json" in done.stderr
    sgfs.ok("sample", "logistic", "--data", "good.csv", "--sampler", "laplace", "--out", "fit.run", "-q")
    compared = json.loads(sgfs.ok("compare", "fit.run", "--reference", "mode.json", "--json").stdout)
    assert max(abs(p["z"]) for p in compared["params"]) < 4.5
    assert abs(compared["trR"] - 1) < 0.1
    first = (sgfs.folder / "mode.json").read_text()
    again = sgfs("optimize", "logistic", "--data", "good.csv", "--out", "mode.json")
    assert again.returncode == USAGE and "exists already" in again.stderr
    assert (sgfs.folder / "mode.json").read_text() == first
    sgfs.ok("optimize", "logistic", "--data", "good.csv", "--out", "mode.json", "--overwrite", "-q",
            "--prior-precision", "9")
    assert (sgfs.folder / "mode.json").read_text() != first
    assert sorted(p.name for p in sgfs.folder.iterdir() if "tmp" in p.name) == []


def test_an_interrupt_leaves_no_file(sgfs):
    sgfs.ok("simulate", "logistic", "--rows", "200000", "--dim", "60", "--out", "big.npy", "-q")
    process = sgfs.start("optimize", "logistic", "--data", "big.npy", "--out", "mode.json")
    time.sleep(0.15)
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=60)
    left = [p for p in os.listdir(sgfs.folder) if p.startswith("mode.json")]
    assert left == ([] if process.returncode != 0 else ["mode.json"])


# ---- refusals ------------------------------------------------------------------------------------

@pytest.mark.parametrize("words, code, says", [
    (("logistik", "--data", "good.csv"), USAGE, "logistic"),
    (("logistic",), USAGE, "--data"),
    ((), USAGE, "Name one model"),
    (("logistic", "good.csv", "--data", "good.csv"), USAGE, "What is \"good.csv\" for"),
    (("logistic", "--data", "good.csv", "--chains", "4"), USAGE, "--chains"),
    (("logistic", "--data", "good.csv", "--alpha", "2"), USAGE, "--alpha"),
    (("logistic", "--data", "good.csv", "--method", "newton"), USAGE, "auto|fisher|lbfgs"),
    (("logistic", "--data", "good.csv", "--tolerance", "7"), USAGE, "--tolerance"),
    (("logistic", "--data", "good.csv", "--sigma", "2"), USAGE, "model linear"),
    (("logistic", "--data", "good.csv", "--threads", "0"), USAGE, "--threads"),
    (("logistic", "--data", "good.csv", "--out", "good.csv"), USAGE, "is the data"),
    (("logistic", "--data", "none.csv"), IO, "none.csv"),
    (("logistic", "--data", "good.csv", "--target", "a"), DATA, "more than two values"),
    (("logistic", "--data", "good.csv", "--out", "nowhere/mode.json"), IO, "nowhere"),
    (("logistic", "--data", "apart.csv", "--prior-precision", "0"), NUMERIC, "does not exist"),
    (("logistic", "--data", "apart.csv", "--prior-precision", "0", "--method", "lbfgs"), NUMERIC,
     "does not exist"),
    (("logistic", "--data", "good.csv", "--max-iterations", "1"), NUMERIC, "--max-iterations"),
])
def test_refusals(site, words, code, says):
    done = site("optimize", *words)
    assert done.returncode == code and says in done.stderr, done.stderr


def test_help_has_examples_and_no_sampling(site):
    text = site.ok("help", "optimize").stdout
    assert "Examples:" in text and "--tolerance" in text and "--standardize" in text
    assert "--draws" not in text and "--alpha" not in text
    assert "optimize" in site.ok("help").stdout


# ---- laplace -------------------------------------------------------------------------------------

def test_laplace_defaults_and_words(site):
    done = site.ok("sample", "logistic", "--data", "good.csv", "--sampler", "laplace", "--out", "lap.run",
                   "--overwrite")
    assert "0 warm-up + 1000 draws" in done.stderr and "rows read while opening only" in done.stderr
    assert "Laplace is approximate" in done.stdout
    summary = json.loads(site.ok("summary", "lap.run", "--json").stdout)
    assert all(p["sd_curvature"] is None for p in summary["params"]), "it would agree with itself"
    assert summary["rows_touched"] == 400 * optimize(site)["passes"], "one search for all chains"


def test_laplace_same_seed_same_bits(site):
    words = ("sample", "logistic", "--data", "good.csv", "--sampler", "laplace", "--overwrite", "-q",
             "--out", "bits.run")
    site.ok(*words, "--threads", "1")
    one = site.draws("bits.run")
    site.ok(*words, "--threads", "3")
    assert (site.draws("bits.run") == one).all()
    site.ok(*words, "--chains", "2")
    assert (site.draws("bits.run") == one[:2]).all()
    site.ok(*words, "--seed", "2")
    assert not (site.draws("bits.run") == one).any()


def test_laplace_refuses_what_it_does_not_read(site):
    for flag, value in (("--batch", "50"), ("--fisher", "diag"), ("--alpha", "1"), ("--init", "3")):
        done = site("sample", "logistic", "--data", "good.csv", "--sampler", "laplace", flag, value)
        assert done.returncode == USAGE and flag in done.stderr
    done = site("sample", "logistic", "--data", "apart.csv", "--sampler", "laplace", "--prior-precision", "0",
                "--out", "none.run")
    assert done.returncode == NUMERIC and "does not exist" in done.stderr
    assert not (site.folder / "none.run").exists()
