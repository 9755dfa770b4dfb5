# SPDX-License-Identifier: MIT
"""bench/scale.py: its model does what its formula says, it knows how the library cuts a pass, and docs/cluster.md is made of
its numbers. No time is judged here."""
import json
import math
import os
import pathlib
import re
import shutil
import subprocess
import sys

import pytest

ROOT = pathlib.Path(os.environ.get("SGFS_SOURCE", pathlib.Path(__file__).resolve().parents[2]))
PROGRAM = os.environ.get("SGFS") or str(ROOT / "build" / "sgfs")
sys.path.insert(0, str(ROOT / "bench"))
import scale

COST = {"a": 2e-3, "w": 3e-9, "meetings": 70, "bytes": 5e6}
FREE = {"latency": 0, "bandwidth": math.inf}


def test_work_is_shared_out_by_parts():
    N = 10**7
    alone = scale.model(COST, FREE, 1, N)
    assert math.isclose(alone, 70 * (2e-3 + 3e-9 * N))
    assert math.isclose(scale.model(COST, FREE, 7, N), 70 * (2e-3 + 3e-9 * N * 10 / 64))  # the longest share is 10 parts
    assert scale.model(COST, FREE, 64, N) == scale.model(COST, FREE, 1000, N)  # and no more of 64 parts can be had
    assert scale.model(COST, FREE, 1000, 10**12) < scale.model(COST, FREE, 64, 10**12)
    assert math.isclose(scale.model(COST, FREE, 4, N, cores=2), 2 * scale.model(COST, FREE, 4, N))


def test_meetings_and_bytes_cost_what_the_network_says():
    N, slow = 10**7, {"latency": 1e-3, "bandwidth": math.inf}
    assert math.isclose(scale.model(COST, slow, 5, N) - scale.model(COST, FREE, 5, N), 2 * 70 * 1e-3 * 3)
    thin = {"latency": 0, "bandwidth": 1e6}
    assert math.isclose(scale.model(COST, thin, 5, N) - scale.model(COST, FREE, 5, N), 5 + 24 * 70 * 5 / 1e6)
    assert scale.model(COST, slow, 1, N) == scale.model(COST, thin, 1, N) == scale.model(COST, FREE, 1, N)


def test_parts_are_those_of_the_library():
    """tests/unit/test_comm.c has the same numbers of the library."""
    text = (ROOT / "tests" / "unit" / "test_comm.c").read_text()
    table = re.search(r"parts_grow_with_the_rows.*?cases\[\] = \{(.*?)\};", text, re.S)[1]
    cases = re.findall(r"\{([^{},]+), (\d+)\}", table)
    assert len(cases) >= 7
    for rows, parts in cases:
        assert scale.parts_of(eval(rows)) == int(parts)


@pytest.mark.skipif(shutil.which("gnuplot") is None, reason="pictures need gnuplot")
def test_the_page_in_the_tree_is_that_of_its_numbers(tmp_path):
    """No number of its section is typed: made anew from docs/cluster/scale.json, the page is the same."""
    numbers = ROOT / "docs" / "cluster" / "scale.json"
    words = [sys.executable, ROOT / "bench" / "scale.py", "--docs", "--json", numbers, "--out", tmp_path]
    subprocess.run(words, check=True, timeout=100)
    assert (tmp_path / "cluster.md").read_text() == (ROOT / "docs" / "cluster.md").read_text()
    assert "<svg" in (tmp_path / "cluster" / "scale.svg").read_text()
    assert not json.loads(numbers.read_text())["quick"]


@pytest.mark.skipif("SGFS_LONG" not in os.environ, reason="in the longer tier")
@pytest.mark.skipif(shutil.which("mpirun") is None, reason="there is no mpirun: make mpi installs it")
@pytest.mark.skipif(not (pathlib.Path(PROGRAM).parent / "libsgfs_mpi.so").exists(), reason="this build has no plug-in for MPI")
def test_tiny_runs_are_measured(tmp_path):
    done = subprocess.run([sys.executable, ROOT / "bench" / "scale.py", "--quick", "--program", PROGRAM, "--json", tmp_path / "s.json"],
                          capture_output=True, text=True, timeout=900)
    assert done.returncode == 0, done.stderr
    out = json.loads((tmp_path / "s.json").read_text())
    assert len(out["checks"]) == 9 and out["quick"] and all(c["meetings"] > 5 and c["bytes"] > 0 for c in out["costs"].values())
