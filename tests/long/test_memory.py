# SPDX-License-Identifier: MIT
"""What --dry-run says of memory, within a fifth of what the run takes, at 2 GB: an array of doubles, the
same as text, packed, and a matrix of that size. Needs 5 GB of disk and 6 GB of memory."""
import json
import os
import subprocess
import sys

import numpy as np
import pytest

PROGRAM = os.environ.get("SGFS")
SHIM = ("import os,sys\npid=os.spawnv(os.P_NOWAIT,sys.argv[1],sys.argv[1:])\n_,status,used=os.wait4(pid,0)\n"
        "print(used.ru_maxrss,os.waitstatus_to_exitcode(status),file=sys.stderr)")
pytestmark = pytest.mark.skipif(not PROGRAM, reason="SGFS (the program) is not set")


def run(folder, *words):
    return subprocess.run([PROGRAM, *map(str, words)], cwd=folder, capture_output=True, text=True, check=True).stdout


def compare(folder, *words):
    told = json.loads(run(folder, "sample", *words, "--dry-run", "--json", "-q"))["bytes_needed"]
    done = subprocess.run([sys.executable, "-S", "-E", "-c", SHIM, PROGRAM, "sample", *map(str, words), "--out", "x.run", "--overwrite", "-q"],
                          cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=True)
    kilobytes, code = done.stderr.splitlines()[-1].split()
    assert code in ("0", "7"), done.stderr
    assert abs(told / (1024 * int(kilobytes)) - 1) < 0.2, (told / 1e6, int(kilobytes) / 1e3)


@pytest.fixture(scope="module")
def big(tmp_path_factory):
    folder = tmp_path_factory.mktemp("big")
    run(folder, "simulate", "logistic", "--rows", 10_000_000, "--dim", 24, "--out", "big.npy", "-q")  # 2 GB
    return folder


SHORT = ("--sampler", "sgld", "--warmup", 200, "--draws", 400, "--ess", 0)


def test_an_array(big):
    compare(big, "logistic", "--data", "big.npy", *SHORT)


def test_text(big):
    run(big, "simulate", "logistic", "--rows", 5_000_000, "--dim", 24, "--out", "big.csv", "-q")  # 1 GB as doubles
    compare(big, "logistic", "--data", "big.csv", *SHORT)
    os.remove(big / "big.csv")


def test_packed(big):
    run(big, "pack", "big.npy", "--out", "big.sgd", "-q")
    compare(big, "logistic", "--data", "big.sgd", *SHORT, "--batch", 5000)


def test_matrices(tmp_path):
    """3,000 parameters: 72 MB a matrix, a dozen for each of two chains."""
    rng = np.random.default_rng(1)
    x = rng.standard_normal((8000, 3000), dtype=np.float32)
    np.save(tmp_path / "wide.npy", np.column_stack([x, x[:, 0] > 0]).astype(np.float32))
    compare(tmp_path, "logistic", "--data", "wide.npy", "--sampler", "sgfs-f", "--chains", 2, "--warmup", 4, "--draws", 4, "--ess", 0)
