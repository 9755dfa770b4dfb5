# SPDX-License-Identifier: MIT
"""A fixed sample of what `make test-faults` does: every command, with calls of every kind that fail."""
import os
from pathlib import Path

import pytest

from faults import Harness, explore, options

PROGRAM, LIBRARY = os.environ.get("SGFS"), os.environ.get("SGFS_FAULTS")
MODEL = Path(os.environ.get("SGFS_BUILD", ".")) / "examples" / "student_t.so"


@pytest.mark.skipif(not (PROGRAM and LIBRARY), reason="the program or faults.so is not built here")
def test_a_call_that_fails_loses_nothing(tmp_path):
    words = ["--program", PROGRAM, "--library", LIBRARY, "--sample", "480", "--jobs", "2"]
    args = options(words)
    harness = Harness(PROGRAM, LIBRARY, MODEL, tmp_path, args.jobs)
    wrong, failed = [], 0
    for command, kind, n, how, run, what in explore(harness, args):
        failed += run["failed"] > 0
        if what:
            wrong.append(f"{command.name}: {kind} {n} {how}: {what} {harness.places_of(run['frames'])[:6]}")
    assert not wrong, "\n".join(wrong)
    assert failed > 400  # the calls that were meant to fail did
