# SPDX-License-Identifier: MIT
"""Sampler exact through the program: the same draws from every kind of file and for any number of threads, what
it says of itself, and what it refuses. That the draws are right is tested in tests/stat."""
import json

import numpy as np
import pytest

from cli_program import write

USAGE = 2
BRIEF = ("--sampler", "exact-rows", "--warmup", "90", "--draws", "200", "--chains", "2", "--seed", "3")
SIMULATE = ("--rows", "3001", "--dim", "3", "--seed", "7", "--overwrite", "-q")


@pytest.fixture(scope="module")
def site(shared):
    for name in ("s.npy", "s.csv", "s.sgd"):
        shared.ok("simulate", "logistic", *SIMULATE, "--out", name)
    rows = np.load(shared.folder / "s.npy")
    rows[:, :2] *= np.abs(rows[:, :2]) > 0.4  # some zeros
    np.save(shared.folder / "zeros.npy", rows)
    write(shared.folder / "zeros.svm", [
        f"{int(r[-1])} " + " ".join(f"{j + 1}:{float(v)!r}" for j, v in enumerate(r[:-1]) if v != 0)
        for r in rows])
    return shared


def draw(site, data, *words, model="logistic"):
    site.ok("sample", model, "--data", data, *BRIEF, "--threads", 1, "--out", "fit.run", "--overwrite", "-q", *words)
    return site.draws()


@pytest.mark.parametrize("words", [(), ("--psi-entries", "100"), ("--rho", "0.7", "--psi-entries", "1")])
def test_every_file_and_any_number_of_threads_give_the_same_draws(site, words):
    wanted = draw(site, "s.npy", *words)
    assert len(np.unique(wanted[0, :, 0])) > 100
    for data in ("s.csv", "s.sgd"):
        assert (draw(site, data, *words) == wanted).all(), data
    assert (draw(site, "s.npy", *words, "--threads", "3") == wanted).all()


def test_rows_without_their_zeros(site):
    # the same random numbers; sums in another order differ by rounding alone
    dense, sparse = draw(site, "zeros.npy", "--target", "4"), draw(site, "zeros.svm")
    assert np.abs(dense - sparse).max() < 1e-9


def test_weights_are_copies(site):
    rows = np.load(site.folder / "s.npy")[:500]
    w = np.arange(500) % 3
    names = "x1,x2,x3,y"
    np.savetxt(site.folder / "w.csv", np.c_[rows, w], delimiter=",", header=names + ",w", comments="", fmt="%.17g")
    np.savetxt(site.folder / "c.csv", np.repeat(rows, w, 0), delimiter=",", header=names, comments="", fmt="%.17g")
    words = ("--draws", "20000", "--target", "y")
    a = draw(site, "w.csv", *words, "--weights", "w").reshape(-1, 4)
    b = draw(site, "c.csv", *words).reshape(-1, 4)
    # 40,000 draws each, tau below 2: 0.01 sd is the error of a difference of means; 5 of them
    assert (np.abs(a.mean(0) - b.mean(0)) < 0.05 * b.std(0)).all()
    assert (np.abs(a.std(0) / b.std(0) - 1) < 0.05).all()


def test_it_says_what_it_did(site):
    done = site.ok("sample", "logistic", "--data", "s.sgd", *BRIEF, "--out", "told.run", "--overwrite", "--verbose")
    said = done.stdout + done.stderr
    assert "Exact draws, up to Monte Carlo error" in said and "a few rows each draw" in said
    assert "rows asked for each draw" in said and "approximate" not in said
    told = json.loads(site.ok("summary", "told.run", "--json").stdout)["asked"]
    assert 0.8 < told["acceptance"] <= 1 and 0 < told["rows_per_draw"] < 100 and 0 <= told["rho"] < 1
    blob = (site.folder / "told.run").read_bytes()
    assert b'"psi_total"' in blob and b'"rows_per_draw"' in blob and b'"entries":3001' in blob.replace(b": ", b":")


def test_a_closed_form_asks_no_row(site):
    site.ok("simulate", "linear", "--rows", 300, "--dim", 2, "--out", "l.csv", "--overwrite", "-q")
    done = site.ok("sample", "linear", "--data", "l.csv", *BRIEF, "--out", "fit.run", "--overwrite")
    assert "rows read while opening only" in done.stdout + done.stderr
    told = json.loads(site.ok("summary", "fit.run", "--json").stdout)["asked"]
    assert told["rows_per_draw"] == 0 and told["acceptance"] > 0.8


@pytest.mark.parametrize("model,words,why", [
    ("mlp", (), "cannot draw from this posterior"),
    ("logistic", ("--prior", "laplace"), "kink"),
    ("logistic", ("--init", "2"), "no meaning for sampler exact-rows"),
    ("logistic", ("--batch", "50"), "no meaning"),
    ("logistic", ("--rho", "1"), "--rho"),
    ("logistic", ("--psi-entries", "0"), "--psi-entries"),
])
def test_what_it_refuses(site, model, words, why):
    done = site("sample", model, "--data", "s.npy", *BRIEF, "--out", "no.run", "--overwrite", *words)
    assert done.returncode == USAGE and why in done.stderr, done.stderr
