# SPDX-License-Identifier: MIT
"""Three of the sets of networks.py: a default network predicts no worse than scikit-learn's, whatever the units of the
columns, or says that it is not to be trusted. All sets are in tests/long, the table is `make networks`."""
import os

import numpy as np
import pytest

import networks

PROGRAM = os.environ.get("SGFS")
QUICK = [entry for entry in networks.SETS if entry.name in networks.QUICK]


@pytest.mark.parametrize("model, units, entry", [("mlp", "raw", QUICK[0]), ("mlp", "standard", QUICK[1]), ("mlp", "raw", QUICK[2]),
                                                 ("drbm", "raw", QUICK[0])], ids=lambda v: getattr(v, "name", v))
def test_set(model, units, entry):
    if not PROGRAM:
        pytest.skip("SGFS (the program) is not set")
    pytest.importorskip("sklearn")
    out = networks.judge(PROGRAM, entry, model, units)
    if out.skipped:
        pytest.skip(out.skipped)
    assert not out.wrong
    assert not out.untrusted  # these three settle


def test_a_worse_one_is_seen():
    """Its own losses against better ones: two standard errors are allowed, and no more."""
    rng = np.random.default_rng(1)
    best = rng.exponential(0.3, 400)
    noise = rng.standard_normal(400)
    error = noise.std(ddof=1) / 20
    for shift, said in ((1.9, False), (2.1, True), (-50.0, False)):
        out = networks.Outcome("made up")
        networks.compare(out, best + noise - noise.mean() + shift * error, best + 9, best)
        assert bool(out.wrong) == said
        out = networks.Outcome("made up", untrusted="Do not trust")
        networks.compare(out, best + noise - noise.mean() + shift * error, best + 9, best)
        assert not out.wrong
