# SPDX-License-Identifier: MIT
"""The whole zoo (tests/zoo): every data set, up to 327,346 rows. `make zoo` prints the same as a table."""
import os
import pathlib
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "zoo"))
import zoo  # noqa: E402
from sets import ZOO  # noqa: E402

PROGRAM = os.environ.get("SGFS")
pytestmark = pytest.mark.skipif(not PROGRAM, reason="SGFS (the program) is not set")


@pytest.mark.parametrize("entry", ZOO, ids=lambda e: e.name)
def test_set(entry, tmp_path):
    verdict = zoo.judge(PROGRAM, entry, not zoo.has_default_prior(PROGRAM, tmp_path))
    if verdict.skipped:
        pytest.skip(verdict.skipped)
    assert not verdict.wrong
