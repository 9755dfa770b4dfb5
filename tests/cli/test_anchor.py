# SPDX-License-Identifier: MIT
"""Anchors as a user meets them: scores at the anchor kept or made again, and models that have none."""
import json

import numpy as np
import pytest

USAGE = 2
COMMON = ("--sampler", "sgfs-cv", "--warmup", "100", "--draws", "200", "--chains", "2", "--threads", "1", "--batch", "60",
          "--out", "fit.run", "--overwrite", "--quiet")


@pytest.fixture
def rows(sgfs):
    rng = np.random.default_rng(385)
    x = rng.normal(size=(900, 3))
    y = (rng.random(900) < 1 / (1 + np.exp(-x[:, 0] + 0.4))).astype(int)
    np.save(sgfs.folder / "rows.npy", np.column_stack([x, y]))
    return "rows.npy"


def header(path):
    """The first line of a run file is its header."""
    raw = path.read_bytes()
    start = raw.index(b'{"')
    return json.JSONDecoder().raw_decode(raw[start:].decode("utf-8", "replace"))[0]


def test_scores_at_the_anchor_are_kept_or_made_again(sgfs, rows):
    """Few rows: kept. Either way the draws are the same to rounding, and the run file says which way it was."""
    draws, said = {}, {}
    for way in ("auto", "on", "off"):
        sgfs.ok("sample", "logistic", "--data", rows, *COMMON, "--anchor-cache", way)
        draws[way] = sgfs.draws()
        said[way] = header(sgfs.folder / "fit.run")
    np.testing.assert_array_equal(draws["auto"], draws["on"])
    np.testing.assert_allclose(draws["off"], draws["on"], rtol=0, atol=1e-8)
    assert [said[w]["sampler_info"]["anchor"]["cached"] for w in draws] == [True, True, False]
    assert said["auto"]["config"]["sampler.anchor_cache"] == "on"


@pytest.mark.parametrize("N, rate, seed, sd", [(100, -2.6, 3, 0.467), (300, -3.4, 4, 0.434)])
def test_a_chain_that_stays_keeps_its_anchor(sgfs, N, rate, seed, sd):
    """Few events: the gradient's noise is wild, though the chain goes nowhere. New anchors at means of a few
    dozen places made these chains' sds 3 to 6 % too large; sd: 160,000 draws, whose Monte Carlo error is 0.4 %."""
    rng = np.random.default_rng(38)
    x = rng.standard_normal(N)
    y = rng.random(N) < 1 / (1 + np.exp(-rate - x))
    np.save(sgfs.folder / "rare.npy", np.column_stack([x, y]))
    sgfs.ok("sample", "logistic", "--data", "rare.npy", "--prior-precision", "0.1", "--sampler", "sgfs-cv", "--step", "1",
            "--seed", str(seed), "--chains", "8", "--draws", "20000", "--warmup", "500", "--out", "fit.run", "--quiet")
    said = json.loads(sgfs.ok("summary", "fit.run", "--json").stdout)
    assert said.get("reanchors", 0) == 0
    draws = np.asarray(sgfs.draws())
    assert draws.reshape(-1, draws.shape[-1])[:, 0].std() == pytest.approx(sd, rel=0.02)


@pytest.mark.parametrize("model, words, sentence", [
    ("mlp", ("--hidden", "2"), "--sampler sgfs-f"),
    ("drbm", ("--hidden", "2"), "the posterior may have many modes"),
    ("logistic", ("--fisher-fill", "3"), "--fisher-fill has no meaning"),
    ("logistic", ("--anchor-every", "50"), "--anchor-every"),
])
def test_what_has_no_meaning_is_refused(sgfs, rows, model, words, sentence):
    done = sgfs("sample", model, "--data", rows, *COMMON, *words)
    assert done.returncode == USAGE
    assert sentence in done.stderr
