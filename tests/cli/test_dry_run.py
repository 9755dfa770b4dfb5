# SPDX-License-Identifier: MIT
"""sgfs sample --dry-run: what will be chosen, the memory and the time, before it is made. The memory
is compared with the largest resident memory of the run itself (sizes to 60 MB here, to 2 GB in
tests/long)."""
import json
import os
import subprocess
import sys

import numpy as np
import pytest

from cli_program import PROGRAM, SANITIZED, write

pytestmark = pytest.mark.skipif(SANITIZED, reason="a sanitizer takes memory of its own")

WITHIN = 0.2
# A process of its own, which is small: the largest memory of a child counts that of its parent at the fork.
SHIM = ("import os,sys\npid=os.spawnv(os.P_NOWAIT,sys.argv[1],sys.argv[1:])\n_,status,used=os.wait4(pid,0)\n"
        "print(used.ru_maxrss,os.waitstatus_to_exitcode(status),file=sys.stderr)")


def peak(sgfs, *words):
    """Bytes of the largest resident memory of the program."""
    done = subprocess.run([sys.executable, "-S", "-E", "-c", SHIM, PROGRAM, *map(str, words)], cwd=sgfs.folder,
                          stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, timeout=300)
    kilobytes, code = done.stderr.splitlines()[-1].split()
    assert code in ("0", "7"), done.stderr
    return 1024 * int(kilobytes)


def told(sgfs, *words):
    return json.loads(sgfs.ok("sample", *words, "--dry-run", "--json", "-q").stdout)


def compare(sgfs, *words):
    """A run is made in full, so it must be short; what is told must be right within a fifth."""
    out = told(sgfs, *words)
    real = peak(sgfs, "sample", *words, "--out", "x.run", "--overwrite", "-q")
    assert abs(out["bytes_needed"] / real - 1) < WITHIN, (out["bytes_needed"] / 1e6, real / 1e6)
    return out


def save(sgfs, name, rows, cols, dtype=np.float64):
    rng = np.random.default_rng(rows + cols)
    x = rng.standard_normal((rows, cols))
    np.save(sgfs.folder / name, np.column_stack([x, x[:, 0] + rng.standard_normal(rows) > 0]).astype(dtype))


# with states saved on the way, as a run of minutes has them
SHORT = ("--warmup", 20, "--draws", 40, "--threads", 1, "--ess", 0, "--checkpoint", 0.01, "--prior-precision", 1)


@pytest.mark.parametrize("sampler", ["sgfs-f", "sgfs-d", "sgld", "sghmc", "nuts", "exact-rows", "exact-pairs", "exact-hmc", "sgfs-cv", "laplace"])
def test_samplers(shared, sampler):
    if not (shared.folder / "d200.npy").exists():
        save(shared, "d200.npy", 4000, 200)
    compare(shared, "logistic", "--data", "d200.npy", "--sampler", sampler, *SHORT)


@pytest.mark.parametrize("kind", ["tiny", "f32", "csv", "csv_f32", "sparse", "packed", "chains", "threads", "draws"])
def test_kinds_of_data(shared, kind):
    words = ("--data", "n.npy", "--sampler", "sgld", *SHORT)
    if kind == "tiny":
        save(shared, "n.npy", 60, 3)
    elif kind == "f32":
        save(shared, "n.npy", 300_000, 20, np.float32)
    elif kind in ("csv", "csv_f32"):
        rng = np.random.default_rng(3)
        x = rng.integers(-99, 99, (400_000, 12))
        np.savetxt(shared.folder / "n.csv", np.column_stack([x, x[:, 0] > 0]), fmt="%d", delimiter=",")
        words = ("--data", "n.csv", "--sampler", "sgld", *SHORT, *(("--storage", "f32") if kind == "csv_f32" else ()))
    elif kind == "sparse":
        rng = np.random.default_rng(4)
        write(shared.folder / "n.svm", [f"{i % 2} " + " ".join(f"{j}:1" for j in sorted(rng.choice(2000, 30, replace=False) + 1)) for i in range(20_000)])
        words = ("--data", "n.svm", "--sampler", "sgld", *SHORT)
    elif kind == "packed":
        save(shared, "n.npy", 300_000, 20)
        shared.ok("pack", "n.npy", "--out", "n.sgd", "--overwrite", "-q")
        words = ("--data", "n.sgd", "--sampler", "sgld", "--warmup", 200, "--draws", 400, "--batch", 2000, "--threads", 1, "--ess", 0)
    elif kind == "chains":
        save(shared, "n.npy", 2000, 150)
        words = ("--data", "n.npy", "--sampler", "sgfs-f", "--chains", 24, "--checkpoint", 0.1, *SHORT)  # whose states are written now and then
    elif kind == "threads":
        save(shared, "n.npy", 4000, 300)
        words = ("--data", "n.npy", "--sampler", "nuts", "--warmup", 3, "--draws", 3, "--threads", 2, "--ess", 0)
    else:
        save(shared, "n.npy", 3000, 400)
        words = ("--data", "n.npy", "--sampler", "sgld", "--warmup", 20, "--draws", 4000, "--chains", 4, "--threads", 2, "--ess", 0)
    compare(shared, "logistic", *words)


def test_what_is_told(sgfs):
    save(sgfs, "n.npy", 2000, 5)
    done = sgfs.ok("sample", "logistic", "--data", "n.npy", "--dry-run")
    assert "exact" in done.stdout and "memory" in done.stdout and "time" in done.stdout, done.stdout
    assert not list(sgfs.folder.glob("*.run"))
    out = told(sgfs, "logistic", "--data", "n.npy", "--sampler", "sgfs-f", "--draws", 100000, "--warmup", 1000)
    assert out["iterations"] == 4 * 101000 and out["seconds"] > 0 and out["bytes_available"] > out["bytes_needed"] > 1e6
    assert "sgfs-f" in out["run"]


def test_what_cannot_fit_is_refused(sgfs):
    save(sgfs, "wide.npy", 300, 20_000, np.float32)
    for dry in ((), ("--dry-run",)):
        done = sgfs("sample", "logistic", "--data", "wide.npy", "--sampler", "sgfs-f", "--chains", 1000, "--out", "w.run", *dry)
        assert done.returncode == 1 and "needs at least" in done.stderr and "there are" in done.stderr, done.stderr
        assert not (sgfs.folder / "w.run").exists()
    # Chains that are small, but too many, are refused when two of them are open.
    save(sgfs, "n.npy", 2000, 400)
    limit = ["bash", "-c", 'ulimit -v 5000000; exec "$@"', "limited"]
    done = subprocess.run([*limit, PROGRAM, "sample", "logistic", "--data", "n.npy", "--sampler", "sgfs-f", "--chains", "600", "--threads", "1",
                           "--out", "n.run"], cwd=sgfs.folder, capture_output=True, text=True, env={**os.environ, "OPENBLAS_NUM_THREADS": "1"})
    assert done.returncode == 1 and "needs about" in done.stderr and "600 chains" in done.stderr, done.stderr


def test_a_table_that_cannot_fit_is_refused_early(sgfs):
    rng = np.random.default_rng(5)
    x = rng.integers(0, 9, (700_000, 30))
    np.savetxt(sgfs.folder / "n.csv", np.column_stack([x, x[:, 0] > 4]), fmt="%d", delimiter=",")
    limit = ["bash", "-c", 'ulimit -v 150000; exec "$@"', "limited"]
    done = subprocess.run([*limit, PROGRAM, "sample", "logistic", "--data", "n.csv", "--threads", "1", "--out", "n.run"], cwd=sgfs.folder,
                          capture_output=True, text=True, env={**os.environ, "OPENBLAS_NUM_THREADS": "1"})
    assert done.returncode == 1 and "rows need about" in done.stderr and "sgfs pack" in done.stderr, done.stderr
