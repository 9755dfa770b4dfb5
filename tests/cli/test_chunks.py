# SPDX-License-Identifier: MIT
"""Sampling from packed files: minibatches in chunks, the same posterior as from single rows, what the
disk cost, and files that are damaged or become shorter while they are read."""
import json
import os
import time

import numpy as np
import pytest

DATA, IO = 3, 5


def summary(sgfs, run):
    return json.loads(sgfs.ok("summary", run, "--json").stdout)


@pytest.fixture(scope="module")
def linear(shared):
    """40,000 rows of a Gaussian posterior of 2 parameters, packed, and its mean and covariance."""
    shared.ok("simulate", "linear", "--rows", 40000, "--dim", 1, "--out", "line.sgd", "--truth",
              "line.json", "--sigma", 1, "--seed", 11, "-q")
    return shared


@pytest.fixture(scope="module")
def large(shared):
    """2,100,000 rows: more than are looked at without need."""
    shared.ok("simulate", "logistic", "--rows", 2100000, "--dim", 1, "--out", "large.sgd", "-q")
    return shared


# ---- the posterior -------------------------------------------------------------------------------

def sample(sgfs, *words, data="line.sgd", out="fit.run"):
    return sgfs.ok("sample", "linear", "--data", data, "--sigma", 1, "--alpha", 0, "--batch", 2000,
                   "--warmup", 500, "--draws", 8000, "--thin", 8, "--out", out, "--overwrite",
                   *words)


def test_packed_files_are_drawn_in_chunks(linear):
    """The largest chunks of which there are 1000 for each parameter: 20 rows."""
    done = sample(linear)
    assert "batch 2000 in chunks of 20" in done.stderr
    told = summary(linear, "fit.run")
    assert told["disk_bytes"] > 0 and told["disk_wait_seconds"] >= 0 and told["major_faults"] >= 0
    assert "looked at" in linear.ok("summary", "fit.run", "--verbose").stdout
    assert told["rows_touched"] > 4 * 8000 * 2000


@pytest.mark.parametrize("scheme", ["auto", "with"])
def test_every_scheme_gives_the_posterior(linear, scheme):
    """trR of 2000 chunks in one order is right to sqrt(2/(2000 D)) = 2.2 %, and T = 32,000 iterations
    with tau2 = 10 add sqrt(2 tau2/(T D)) = 1.8 % (one standard deviation each): 5 of both are 14 %.
    The empirical information differs from the curvature by sqrt(2/40000), less than that."""
    sample(linear, "--batch-scheme", scheme, "-q")
    told = json.loads(linear.ok("compare", "fit.run", "--reference", "line.json", "--json").stdout)
    assert abs(told["trR"] - 1) < 0.14


def test_few_rows_are_drawn_one_by_one(sgfs):
    sgfs.ok("simulate", "linear", "--rows", 3000, "--dim", 3, "--out", "few.sgd", "-q")
    done = sgfs.ok("sample", "linear", "--data", "few.sgd", "--sampler", "sgfs-f", "--draws", 50, "--warmup", 50,
                   "--out", "a.run")
    assert "too few for chunks" in done.stderr and "with replacement" in done.stderr


def test_weights_are_drawn_one_by_one(sgfs):
    rng = np.random.default_rng(7)
    rows = np.c_[rng.normal(size=(9000, 1)), rng.integers(1, 4, 9000), rng.normal(size=9000)]
    np.savetxt(sgfs.folder / "w.csv", rows, delimiter=",", header="x,w,y", comments="")
    sgfs.ok("pack", "w.csv", "--out", "w.sgd", "--weights", "w", "-q")
    words = ("--draws", 50, "--warmup", 50, "--out", "a.run", "--overwrite")
    done = sgfs.ok("sample", "linear", "--data", "w.sgd", "--weights", "w", "--sampler", "sgfs-f", *words)
    assert "drawn one by one" in done.stderr
    done = sgfs("sample", "linear", "--data", "w.sgd", "--weights", "w", "--batch-scheme", "chunks", *words)
    assert done.returncode == 2 and "weights" in done.stderr


def test_chunks_of_rows_in_any_order_are_refused(sgfs):
    np.savetxt(sgfs.folder / "a.csv", np.arange(20).reshape(10, 2) % 7, delimiter=",")
    done = sgfs("sample", "linear", "--data", "a.csv", "--batch-scheme", "chunks")
    assert done.returncode == 2 and "sgfs pack" in done.stderr


# ---- large data ----------------------------------------------------------------------------------

def resident(path):
    """Bytes of the file in the page cache, or None where that cannot be asked."""
    import mmap
    import ctypes
    libc = ctypes.CDLL(None, use_errno=True)
    size = os.path.getsize(path)
    with open(path, "rb") as f:
        with mmap.mmap(f.fileno(), size, prot=mmap.PROT_READ) as m:
            at = np.frombuffer(m, np.uint8)
            seen = np.zeros((size + 4095) // 4096, np.uint8)
            failed = libc.mincore(ctypes.c_void_p(at.ctypes.data), ctypes.c_size_t(size),
                                  ctypes.c_void_p(seen.ctypes.data))
            del at
    return None if failed else int((seen & 1).sum()) * 4096


def test_large_files_are_not_read_as_a_whole(large):
    """SGFS with default options apart from the length: minibatches, some rows of the start, and the rows of
    the check at the end are read, no more."""
    path = large.folder / "large.sgd"
    size = os.path.getsize(path)
    with open(path, "rb") as f:
        os.fsync(f.fileno())
        os.posix_fadvise(f.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
    before = resident(path)
    if before is None or before > size / 20:
        pytest.skip("the page cache could not be emptied")
    done = large.ok("sample", "logistic", "--data", "large.sgd", "--sampler", "sgfs-f", "--draws", 200, "--warmup",
                    200, "--chains", 1, "--out", "large.run", "--overwrite")
    assert "of the 2100000 rows" in done.stderr
    assert resident(path) < 0.5 * size
    rows = summary(large, "large.run")["params"]
    assert all(np.isfinite(r["sd_curvature"]) and r["sd_curvature"] > 0 for r in rows)


# ---- files that change ---------------------------------------------------------------------------

def wait_for(condition, process, seconds=30):
    end = time.monotonic() + seconds
    while not condition():
        assert process.poll() is None, process.stderr.read()
        assert time.monotonic() < end
        time.sleep(0.02)


def shrink_while_sampling(sgfs, data):
    """Cut the file after some draws, and a state behind which none is given up, have been written; returns exit code and
    messages."""
    run = sgfs.folder / "cut.run"
    process = sgfs.start("sample", "logistic", "--data", data, "--draws", 100000000, "--thin", 10, "--chains", 2,
                         "--warmup", 200, "--checkpoint", 0.1, "--out", "cut.run", "--overwrite")
    with process:
        wait_for(lambda: run.exists() and run.stat().st_size > 2000000, process)
        os.truncate(sgfs.folder / data, 8192)
        _, err = process.communicate(timeout=60)
    return process.returncode, err


@pytest.mark.parametrize("data", ["cut.sgd", "cut.npy"])
def test_a_file_that_becomes_shorter(sgfs, data):
    sgfs.ok("simulate", "logistic", "--rows", 60000, "--dim", 3, "--out", data, "-q")
    code, err = shrink_while_sampling(sgfs, data)
    assert code == IO and "became shorter" in err
    told = summary(sgfs, "cut.run")
    assert told["draws"] > 0


def test_a_damaged_chunk_ends_the_run(sgfs):
    """Every chunk has another byte: the first minibatch meets one. Then only the last: draws are kept."""
    sgfs.ok("simulate", "logistic", "--rows", 60000, "--dim", 3, "--out", "bad.sgd", "-q")
    path = sgfs.folder / "bad.sgd"
    content = bytearray(path.read_bytes())
    sound = bytes(content)
    for at in range(4096 + 100, 4096 + 60000 * 4 * 4, 4096):
        content[at] ^= 1
    path.write_bytes(content)
    words = ("sample", "logistic", "--data", "bad.sgd", "--draws", 100000, "--warmup", 0, "--fisher-fill", 0, "--chains", 1,
             "--batch", 50, "--out", "bad.run", "--overwrite")
    done = sgfs(*words)
    assert done.returncode == DATA and "bad.sgd" in done.stderr and "checksum" in done.stderr
    content = bytearray(sound)
    content[4096 + 100 * 4096 + 100] ^= 1
    path.write_bytes(content)
    done = sgfs(*words)
    assert done.returncode == DATA and "Draws before it are kept" in done.stderr
    assert summary(sgfs, "bad.run")["draws"] > 0
