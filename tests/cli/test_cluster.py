# SPDX-License-Identifier: MIT
"""examples/cluster: what schedulers run, run for real on a few files. The draws agree with those of the rows."""
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from cli_program import PROGRAM, Sgfs

CLUSTER = Path(__file__).resolve().parents[2] / "examples" / "cluster"


@pytest.fixture
def rows(tmp_path):
    """Four files of one table, and draws from all of it."""
    site = Sgfs(tmp_path, prior=None)
    site.ok("simulate", "logistic", "--rows", "4000", "--dim", "3", "--seed", "2", "--out", "all.csv", "-q")
    head, *lines = (tmp_path / "all.csv").read_text().splitlines()
    for k in range(4):
        (tmp_path / f"part-{k}.csv").write_text("\n".join([head, *lines[k::4]]) + "\n")
    site.ok("sample", "logistic", "--data", "all.csv", "--sampler", "exact-rows", "--draws", "2000", "--out", "rows.run",
            "-q")
    return site


def assert_agree(site):
    a, b = (site.draws(run).reshape(-1, 4) for run in ("fit.run", "rows.run"))
    # 8,000 draws each, of which at least 2,000 are worth independent ones: 5 Monte Carlo errors
    assert (np.abs(a.mean(0) - b.mean(0)) < 5 * b.std(0) * np.sqrt(2 / 2000)).all()
    assert (np.abs(a.std(0) / b.std(0) - 1) < 5 / np.sqrt(2000)).all()


def run(site, *words):
    done = subprocess.run(words, cwd=site.folder, env={**os.environ, "SGFS": PROGRAM, "MAKEFLAGS": ""},
                          capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return done


def test_make(rows):
    words = ("make", "-j2", "-s", "-f", CLUSTER / "Makefile", "ROWS=part-*.csv", "FIRST=logistic --draws 2000")
    run(rows, *words)
    assert_agree(rows)
    # what was lost is made again, and nothing else
    (rows.folder / "part-2.csv.marks").unlink()
    (rows.folder / "fit.run").unlink()
    before = (rows.folder / "part-1.csv.marks").stat().st_mtime_ns
    run(rows, *words)
    assert (rows.folder / "part-1.csv.marks").stat().st_mtime_ns == before
    assert_agree(rows)


def test_dask(rows):
    pytest.importorskip("distributed")
    files = [f"part-{k}.csv" for k in range(4)]
    run(rows, sys.executable, CLUSTER / "dask_sketch.py", "fit.run", *files, "--", "logistic", "--draws", "2000")
    assert_agree(rows)
