# SPDX-License-Identifier: MIT
"""Every set of tests/zoo/networks.py, in its own units and standardised. `make networks` prints the same as a table."""
import os
import pathlib
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "zoo"))
import networks  # noqa: E402

PROGRAM = os.environ.get("SGFS")
pytestmark = pytest.mark.skipif(not PROGRAM, reason="SGFS (the program) is not set")


@pytest.mark.parametrize("units", ["raw", "standard"])
@pytest.mark.parametrize("model", ["mlp", "drbm"])
@pytest.mark.parametrize("entry", networks.SETS, ids=lambda e: e.name)
def test_set(entry, model, units):
    pytest.importorskip("sklearn")
    out = networks.judge(PROGRAM, entry, model, units)
    if out.skipped:
        pytest.skip(out.skipped)
    assert not out.wrong
