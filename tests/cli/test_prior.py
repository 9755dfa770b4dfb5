# SPDX-License-Identifier: MIT
"""Priors as a user meets them: options, what a run file remembers, refusals, and who cannot use a kink.

Modes are compared with scipy's minimum of the same density to 1e-6 standard deviations."""
import json

import numpy as np
import pytest
from scipy.optimize import minimize

from cli_program import SHORT, lines, quarters, write

USAGE, DATA, IO = 2, 3, 5


@pytest.fixture(scope="module")
def site(shared):
    write(shared.folder / "good.csv", lines(*quarters(300)))
    write(shared.folder / "p.txt", ["# intercept, a, b", "0.01", "4", "0"])
    np.save(shared.folder / "p.npy", np.array([0.01, 4, 0]))
    return shared


def optimize(sgfs, *words):
    return json.loads(sgfs.ok("optimize", "logistic", "--data", "good.csv", "--json", *words).stdout)


def header(sgfs, *words):
    sgfs.ok("sample", "logistic", "--data", "good.csv", *SHORT, "--out", "fit.run", "--overwrite", "-q", *words)
    text = (sgfs.folder / "fit.run").read_bytes()
    start = text.index(b'{"')
    return json.JSONDecoder().raw_decode(text[start:].decode("utf-8", "replace"))[0]


def scipy_mode(penalty):
    x, y = quarters(300)
    A = np.column_stack([np.ones(len(x)), x])

    def loss(t):
        eta = A @ t
        return np.sum(np.logaddexp(0, eta) - y * eta) + penalty(t)

    t = minimize(loss, np.zeros(3), method="BFGS", options={"gtol": 1e-9}).x
    for _ in range(3):  # Newton by differences, as far as doubles go
        h = 1e-4
        eye = h * np.eye(3)
        g = np.array([(loss(t + e) - loss(t - e)) / (2 * h) for e in eye])
        H = np.array([[(loss(t + e + f) - loss(t + e - f) - loss(t - e + f) + loss(t - e - f)) / (4 * h * h)
                       for f in eye] for e in eye])
        t = t - np.linalg.solve(H, g)
    return t, np.sqrt(np.diag(np.linalg.inv(H)))


def test_a_precision_for_each_parameter(site):
    precision = np.array([0.01, 4, 0])
    mode, sd = scipy_mode(lambda t: precision @ t**2 / 2)
    for words in (("--prior-file", "p.txt"), ("--prior-file", "p.npy"),
                  ("--prior-precision", "beta=4,intercept=0.01,b=0"), ("--prior-precision", "b=0,4,intercept=0.01")):
        for method in ("fisher", "lbfgs"):
            got = optimize(site, *words, "--method", method)
            # the differences of scipy_mode are good to h^2 of the third derivative's change
            assert np.all(np.abs(np.array(got["mean"]) - mode) < 1e-5 * sd), (words, method)
            assert got["prior"] == "gaussian" and got["prior_precisions"] == list(precision)
            assert "prior_precision" not in got


def test_student_t_mode(site):
    mode, sd = scipy_mode(lambda t: 2 * np.log1p(9 * t**2 / 3).sum())
    got = optimize(site, "--prior", "student-t", "--prior-df", "3", "--prior-precision", "9")
    assert np.all(np.abs(np.array(got["mean"]) - mode) < 1e-5 * sd)
    assert got["prior"] == "student-t" and got["prior_df"] == 3 and got["prior_precision"] == "9"


def test_flat_is_precision_zero(site):
    flat, zero = optimize(site, "--prior", "flat"), optimize(site, "--prior-precision", "0")
    assert flat["mean"] == zero["mean"] and flat["cov"] == zero["cov"]
    assert flat["prior"] == "flat" and flat["prior_precision"] == "0"


def test_the_run_remembers(site):
    plain = header(site)
    assert plain["config"]["prior.kind"] == "gaussian" and plain["config"]["prior.precision"] == "1"
    assert "prior_precisions" not in plain["model_info"]
    listed = header(site, "--prior", "laplace", "--prior-precision", "0.5,intercept=0")
    assert listed["config"]["prior.kind"] == "laplace"
    assert listed["config"]["prior.precision"] == "0.5,intercept=0"
    assert listed["model_info"]["prior_precisions"] == [0, 0.5, 0.5]
    filed = header(site, "--prior-file", "p.txt")
    assert filed["config"]["prior.file"] == "p.txt" and filed["config"]["prior.precision"] == ""
    assert filed["model_info"]["prior_precisions"] == [0.01, 4, 0]
    assert header(site, "--prior", "flat")["config"]["prior.precision"] == "0"


def test_cautions(site):
    for words, said in (((), False), (("--prior", "laplace"), True), (("--prior", "student-t"), True),
                        (("--prior", "laplace", "--sampler", "nuts"), False), (("--prior", "flat"), False),
                        (("--prior", "student-t", "--prior-precision", "0"), False)):
        sampler = () if "--sampler" in words else ("--sampler", "sgfs-f")
        cautions = " ".join(header(site, *words, *sampler)["cautions"])
        assert ("The prior is not Gaussian" in cautions) is said, words


def test_one_number_in_every_spelling_is_the_same_chain(site):
    draws = site.sample("logistic", "good.csv", "--prior-precision", "0.5")
    for words in (("--prior-precision", "beta=0.5"), ("--prior-precision", "0.5,a=0.5"),
                  ("--prior", "gaussian", "--prior-precision", "5e-1")):
        assert np.array_equal(site.sample("logistic", "good.csv", *words), draws)


@pytest.mark.parametrize("sampler", ["sgfs-f", "sgfs-d", "sgfs-b", "sgld", "psgld", "sghmc", "sgnht", "hmc", "nuts"])
@pytest.mark.parametrize("prior", ["laplace", "student-t", "flat"])
def test_every_sampler_takes_every_prior(site, sampler, prior):
    draws = site.sample("logistic", "good.csv", "--prior", prior, "--sampler", sampler)
    assert np.all(np.isfinite(draws)) and draws.std() > 0


@pytest.mark.parametrize("words", [
    ("optimize", "logistic", "--data", "good.csv"),
    ("optimize", "logistic", "--data", "good.csv", "--method", "lbfgs"),
    ("sample", "logistic", "--data", "good.csv", "--out", "no.run", "--sampler", "laplace"),
    ("sample", "logistic", "--data", "good.csv", "--out", "no.run", "--sampler", "gauss"),
    ("sample", "logistic", "--data", "good.csv", "--out", "no.run", "--sampler", "nuts", "--metric", "fisher"),
    ("sample", "logistic", "--data", "good.csv", "--out", "no.run", "--sampler", "sgld", "--precondition", "curvature"),
])
def test_who_needs_a_mode_refuses_the_kink(site, words):
    done = site(*words, "--prior", "laplace")
    assert done.returncode == USAGE and "kink at 0" in done.stderr and "--sampler nuts" in done.stderr
    assert not (site.folder / "no.run").exists()


@pytest.mark.parametrize("words, code, says", [
    (("--prior", "horseshoe"), USAGE, "gaussian|laplace|student-t|flat"),
    (("--prior", "flat", "--prior-precision", "2"), USAGE, "--prior flat has no precision"),
    (("--prior-precision", "-1"), USAGE, "at least 0"),
    (("--prior-precision", "many"), USAGE, "takes a number, or a list"),
    (("--prior-precision", "intercpt=1"), USAGE, "Did you mean \"intercept\"?"),
    (("--prior-df", "3"), USAGE, "--prior-df has no meaning with --prior gaussian"),
    (("--prior", "student-t", "--prior-df", "0.2"), USAGE, "--prior-df must lie between"),
    (("--prior-file", "p.txt", "--prior-precision", "1"), USAGE, "give one of them"),
    (("--prior-file", "none.txt"), IO, "none.txt"),
    (("--prior-file", "good.csv"), DATA, "good.csv"),
])
def test_refusals(site, words, code, says):
    done = site("sample", "logistic", "--data", "good.csv", "--out", "no.run", *words)
    assert done.returncode == code and says in done.stderr, done.stderr
    assert not (site.folder / "no.run").exists()


def test_simulate_refuses_before_it_writes(site):
    done = site("simulate", "linear", "--rows", "100", "--out", "made.csv", "--prior-precision", "-3")
    assert done.returncode == USAGE and "at least 0" in done.stderr
    assert not (site.folder / "made.csv").exists()


def test_scales_matter_only_to_a_prior_that_treats_columns_alike(site):
    rng = np.random.default_rng(8)
    rows = [f"{1e6 * rng.random():.1f},{rng.random():.3f},{rng.random():.3f}" for _ in range(50)]
    (site.folder / "scales.csv").write_text("\n".join(["a,b,y", *rows]) + "\n")
    said = [site.ok("optimize", "linear", "--data", "scales.csv", *w).stderr
            for w in (("--prior-precision", "1"), ("--prior", "flat"), ("--prior-precision", "a=1e12,b=1,intercept=1,log_sigma=1"))]
    assert ["differ in scale" in s for s in said] == [True, False, False], said
