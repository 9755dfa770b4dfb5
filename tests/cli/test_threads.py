# SPDX-License-Identifier: MIT
"""How many threads a run uses: the option, then OMP_NUM_THREADS, then the cores it may run on; and which device."""

import json
import os
import shutil
import subprocess

import pytest

from cli_program import PROGRAM, lines, quarters, write

WORDS = ("sample", "--allow-unconverged", "logistic", "--data", "good.csv", "--warmup", "20", "--draws", "20", "--chains", "6",
         "--sampler", "sgfs-d", "--ess", "0", "--out", "fit.run", "--overwrite", "-q")


@pytest.fixture
def site(sgfs):
    write(sgfs.folder / "good.csv", lines(*quarters()))
    return sgfs


def machine(folder, *words, before=(), **environment):
    """What the run file says of the machine."""
    free = {k: v for k, v in os.environ.items() if k != "OMP_NUM_THREADS"}
    done = subprocess.run([*before, PROGRAM, *WORDS, *words], cwd=folder, env=free | environment,
                          capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    head = (folder / "fit.run").read_bytes()
    begin = head.index(b'"machine"')
    return json.JSONDecoder().raw_decode(head[head.index(b"{", begin):].decode(errors="replace"))[0]


def threads(*words, **options):
    return machine(*words, **options)["threads"]


def test_the_environment_decides_where_no_option_does(site):
    assert threads(site.folder, OMP_NUM_THREADS="1") == 1
    assert threads(site.folder, OMP_NUM_THREADS="3") == 3
    assert threads(site.folder, "--threads", "2", OMP_NUM_THREADS="3") == 2


@pytest.mark.skipif(shutil.which("taskset") is None, reason="taskset is not installed")
def test_cores_that_are_taken_away_are_not_used(site):
    core = str(min(os.sched_getaffinity(0)))
    assert threads(site.folder, before=("taskset", "-c", core)) == 1
    assert threads(site.folder, before=("taskset", "-c", core), OMP_NUM_THREADS="2") == 2


def test_only_a_run_with_blas_names_it(site):
    assert machine(site.folder)["device"] == "blas"
    assert "OpenBLAS" in machine(site.folder)["blas"]
    host = machine(site.folder, "--device", "host")
    assert host["device"] == "host" and "blas" not in host and "blas_core" not in host
