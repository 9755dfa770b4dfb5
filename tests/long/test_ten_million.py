# SPDX-License-Identifier: MIT
"""bench/billion.sh at a hundredth of its size: ten million rows in a packed file, sampled by SGFS.

Left out of `make test`; `make test-long` runs it (some minutes). What must hold at any size is
asserted: resident memory that does not depend on the rows, means and spreads that agree with the
posterior found by full passes, a packed copy of a sorted array with the same mode and curvature."""
import json
import os
import subprocess

import numpy as np
import pytest

PROGRAM = os.environ.get("SGFS")
ROWS = 10_000_000
pytestmark = pytest.mark.skipif(not PROGRAM, reason="SGFS (the program) is not set")


def run(folder, *words):
    """Run the program; its stdout, and the largest resident set in MB."""
    process = subprocess.Popen([PROGRAM, *map(str, words)], cwd=folder, stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, text=True)
    out = process.stdout.read()
    err = process.stderr.read()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0, err
    return out, usage.ru_maxrss / 1024


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    where = tmp_path_factory.mktemp("long")
    _, peak = run(where, "simulate", "logistic", "--rows", ROWS, "--dim", 8, "--seed", 3,
                  "--storage", "f32", "--out", "big.sgd", "--truth", "truth.json", "-q")
    assert peak < 500, f"simulating took {peak:.0f} MB"
    return where


def compare(folder, name):
    """E1, its Monte Carlo noise, tr(C*^-1 C)/D and its noise."""
    out, _ = run(folder, "compare", name, "--reference", "truth.json", "--json")
    told = json.loads(out)
    return told["E1"], told["E1_noise"], told["trR"], told["trR_noise"]


def sample(folder, data, name, *words):
    """About 60 passes in all: 2 chains of some 25 effective draws. Returns the peak in MB."""
    batch = 10_000
    _, peak = run(folder, "sample", "logistic", "--allow-unconverged", "--data", data, "--sampler", "sgfs-f", "--alpha", 0,
                  "--batch", batch, "--chains", 2, "--warmup", 6 * ROWS // batch, "--draws",
                  100 * ROWS // batch, "--thin", 20, "--seed", 5, "--out", name, "-q", *words)
    return peak


def test_chunks_of_a_packed_file_give_the_posterior(folder):
    """E1 stays within 4 times what Monte Carlo error alone gives on average; the spread within 4 of
    its standard errors: false alarms once in some ten thousand seeds, and the seed is fixed."""
    peak = sample(folder, "big.sgd", "big.run")
    assert peak < 450, f"the file has 360 MB, and {peak:.0f} MB were resident"
    error, noise, spread, spread_noise = compare(folder, "big.run")
    assert error < 4 * noise
    assert abs(spread - 1) < 4 * spread_noise


def test_packing_an_array_is_bounded_and_keeps_every_row(folder):
    """A sorted array of 800 MB packed within 64 MB and what the program itself takes."""
    rng = np.random.default_rng(9)
    step = 100_000
    # not mapped: what is resident here would count for the program that is started from here
    with open(folder / "sorted.npy", "wb") as file:
        np.lib.format.write_array_header_1_0(
            file, {"descr": "<f8", "fortran_order": False, "shape": (ROWS, 10)})
        for first in range(0, ROWS, step):
            x = rng.standard_normal((step, 10))
            x[:, 0] = np.arange(first, first + step)
            x[:, 9] = x[:, 1] > 0
            x.tofile(file)
    _, peak = run(folder, "pack", "sorted.npy", "--memory", "64M", "--out", "sorted.sgd", "-q")
    assert peak < 350, f"{peak:.0f} MB were resident"
    run(folder, "pack", "--check", "sorted.sgd")
    told = []
    for name in ("sorted.npy", "sorted.sgd"):
        out, _ = run(folder, "optimize", "linear", "--sigma", 1, "--standardize", "--data", name, "--json")
        told.append(json.loads(out))
    for key in ("mean", "cov"):  # sums over all rows in another order
        first, second = (np.array(t[key]) for t in told)
        scale = np.abs(first).max() if key == "mean" else np.sqrt(np.outer(np.diag(first), np.diag(first)))
        assert np.all(np.abs(first - second) <= 1e-9 * scale)
