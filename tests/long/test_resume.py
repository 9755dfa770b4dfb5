# SPDX-License-Identifier: MIT
"""Five hundred kills at random moments, over all samplers: every run is taken up until it is complete, and its file is
that of a run that nobody disturbed, bit for bit. tests/cli/test_resume.py has some of them in every `make test`."""
import os
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "cli"))
from cli_program import Sgfs  # noqa: E402
from resumed import CASES, Killer  # noqa: E402

KILLS = 500
pytestmark = pytest.mark.skipif(not os.environ.get("SGFS"), reason="SGFS (the program) is not set")


def test_five_hundred_kills(tmp_path):
    killer = Killer(Sgfs(tmp_path), 717)
    while killer.kills < KILLS:
        for name in CASES:
            killer.ordeal(name)
    print(f"{killer.kills} kills, {killer.resumed} of them resumed")
    assert killer.resumed >= KILLS / 2, "the rest was killed before there was a file"
