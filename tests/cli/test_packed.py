# SPDX-License-Identifier: MIT
"""Packed files through the program. The file is read here by a reader of a few lines, written from the
byte layout in the documentation and not from the program, so that both have to agree on it."""
import json
import os
import struct
import zlib

import numpy as np
import pytest

from cli_program import SHORT

USAGE, DATA = 2, 3
TYPES = {1: "<f8", 2: "<f4", 3: "<i8", 4: "<i4", 5: "<i2", 6: "i1", 7: "u1", 8: "<u2", 9: "<u4"}
SIMULATE = ("--rows", "3001", "--dim", "3", "--seed", "7", "--overwrite", "-q")


def unpack(path):
    """Rows and description of a packed file, every checksum looked at."""
    blob = path.read_bytes()
    magic, version, page, size, rows, cols, kind, flags, chunk_rows, chunk_bytes, chunks, crc_at, json_at, json_bytes, \
        crc_crc, json_crc = struct.unpack_from("<8sIIQQQIIQQQQQQII", blob)
    assert magic == b"\x89SGD\r\n\x1a\n" and version == 1 and page == 4096 and size == len(blob)
    assert zlib.crc32(blob[:4092]) == struct.unpack_from("<I", blob, 4092)[0]
    assert blob[104:4092] == bytes(4092 - 104)
    assert zlib.crc32(blob[crc_at:json_at]) == crc_crc and zlib.crc32(blob[json_at:]) == json_crc
    assert json_at + json_bytes == size and crc_at == 4096 + chunks * chunk_bytes
    sums = struct.unpack_from(f"<{chunks}I", blob, crc_at)
    parts = []
    for k in range(chunks):
        chunk = blob[4096 + k * chunk_bytes:4096 + (k + 1) * chunk_bytes]
        assert zlib.crc32(chunk) == sums[k]
        n = min(chunk_rows, rows - k * chunk_rows)
        cells = np.frombuffer(chunk, TYPES[kind], n * cols)
        assert not any(chunk[cells.nbytes:])
        parts.append(cells.reshape(n, cols))
    return np.concatenate(parts), json.loads(blob[json_at:]), flags


@pytest.fixture(scope="module")
def site(shared):
    """The program, with the same simulated rows in every kind of file."""
    for name in ("s.npy", "s.csv", "s.sgd"):
        shared.ok("simulate", "logistic", *SIMULATE, "--out", name)
    shared.ok("simulate", "logistic", *SIMULATE, "--out", "s32.sgd", "--storage", "f32", "--truth", "t.json")
    shared.rows = np.load(shared.folder / "s.npy")
    return shared


# ---- simulation ----------------------------------------------------------------------------------

def test_the_rows_are_those_of_other_files(site):
    rows, told, flags = unpack(site.folder / "s.sgd")
    assert (rows == site.rows).all() and rows.dtype == np.float64 and flags == 1
    assert [c["name"] for c in told["columns"]] == ["x1", "x2", "x3", "y"]
    assert [c["role"] for c in told["columns"]] == ["feature"] * 3 + ["target"]
    single, _, _ = unpack(site.folder / "s32.sgd")
    assert (single == site.rows.astype(np.float32)).all() and single.dtype == np.float32
    assert (np.genfromtxt(site.folder / "s.csv", delimiter=",", skip_header=1) == site.rows).all()


@pytest.mark.parametrize("name", ["s.sgd", "s32.sgd"])
def test_the_file_tells_its_statistics(site, name):
    rows, told, _ = unpack(site.folder / name)
    for x, c in zip(rows.astype(np.float64).T, told["columns"]):
        # sums of 3001 numbers of order 1: errors of order 3001 x 1e-16
        assert abs(c["mean"] - x.mean()) < 1e-12 and abs(c["ss"] / (x.var() * len(x)) - 1) < 1e-12
        assert c["min"] == x.min() and c["max"] == x.max()
    values, counts = np.unique(rows[:, -1], return_counts=True)
    assert told["values"] == list(values) and told["value_rows"] == list(counts)


def test_threads_do_not_matter(site):
    site.ok("simulate", "poisson", *SIMULATE, "--out", "one.sgd", env={**os.environ, "OMP_NUM_THREADS": "1"})
    site.ok("simulate", "poisson", *SIMULATE, "--out", "three.sgd", env={**os.environ, "OMP_NUM_THREADS": "3"})
    assert (site.folder / "one.sgd").read_bytes() == (site.folder / "three.sgd").read_bytes()


def test_simulations_that_cannot_be(site):
    done = site("simulate", "logistic", *SIMULATE, "--out", "no.npy", "--storage", "f32")
    assert done.returncode == USAGE and "packed files" in done.stderr
    few = ("simulate", "linear", "--rows", "50", "--out", "no.sgd", "-q")
    done = site(*few, "--storage", "f32")  # fifty values could be labels, which must not change
    assert done.returncode == DATA and '"y"' in done.stderr and "--storage f64" in done.stderr
    assert not list(site.folder.glob("no.*"))
    site.ok(*few)
    assert site(*few).returncode == USAGE
    site.ok("simulate", "linear", *SIMULATE, "--out", "measured.sgd", "--storage", "f32")


# ---- sampling ------------------------------------------------------------------------------------

@pytest.mark.parametrize("words", [(), ("--standardize",), ("--no-intercept",), ("--sampler", "sgld", "--epsilon", "1e-4"),
                                   ("--sampler", "nuts"), ("--batch-scheme", "without")])
def test_the_same_draws_bit_for_bit(site, words):
    """With a step of our own: the automatic one is found on some rows, and of a shuffled file on others."""
    words = words if "--batch-scheme" in words or "nuts" in words else (*words, "--batch-scheme", "with")
    assert (site.sample("logistic", "s.npy", *words) == site.sample("logistic", "s.sgd", *words)).all()


def test_nearly_the_same_draws_in_f32(site):
    """A rounding of 2^-24 moves the gradient, and with it a chain that forgets, by about as much."""
    a = site.sample("logistic", "s.npy", "--batch-scheme", "with")
    b = site.sample("logistic", "s32.sgd", "--batch-scheme", "with")
    assert (a != b).any() and np.abs(a - b).max() < 1e-4 * a.std()


def test_the_truth_is_the_mode(site):
    """The truth's search began at the simulated values; optimize starts elsewhere."""
    site.ok("optimize", "logistic", "--data", "s32.sgd", "--out", "mode.json", "--overwrite", "-q")
    truth = json.loads((site.folder / "t.json").read_text())
    found = json.loads((site.folder / "mode.json").read_text())
    # the truth's mean is a correction of order 1/N away from the mode; the curvature is the mode's own
    sd = np.sqrt(np.diag(truth["cov"]))
    assert (np.abs(np.array(truth["mean"]) - found["mean"]) < 0.1 * sd).all()
    assert np.allclose(truth["cov"], found["cov"], rtol=1e-6, atol=0)


def test_other_roles(site):
    words = ("--target", "x3", "--features", "x1,2", "--batch-scheme", "with")
    assert (site.sample("linear", "s.npy", *words) == site.sample("linear", "s.sgd", *words)).all()
    done = site("sample", "linear", "--data", "s.sgd", "--target", "x9", "--out", "f.run", *SHORT)
    assert done.returncode == USAGE and '"x9"' in done.stderr


# ---- damage --------------------------------------------------------------------------------------

def test_damaged_files_are_refused(site):
    whole = (site.folder / "s.sgd").read_bytes()
    flipped = bytearray(whole)
    flipped[len(whole) - 9] ^= 4
    cases = {"empty": b"", "short": whole[:1000], "cut": whole[:-1], "half": whole[:len(whole) // 2], "long": whole + b"\n",
             "text": whole.replace(b"\r\n", b"\n", 1), "tail": bytes(flipped), "zeros": bytes(len(whole)),
             "head": whole[:24] + b"\xff" * 8 + whole[32:]}
    for name, blob in cases.items():
        (site.folder / "bad.sgd").write_bytes(blob)
        done = site("sample", "logistic", "--data", "bad.sgd", *SHORT, "--out", "bad.run")
        assert done.returncode == DATA, (name, done.stderr)
        assert "bad.sgd" in done.stderr and len(done.stderr.splitlines()) < 4, (name, done.stderr)
