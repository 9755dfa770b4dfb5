# SPDX-License-Identifier: MIT
"""sgfs pack: the rows that go in come out, once each and in another order, from every kind of file; the
same seed gives the same bytes whatever the memory; the posterior stays what it was; whatever ends the
program early leaves nothing; memory is bounded.

`unpack` reads the format by its documentation, not by the program."""
import json
import os
import resource
import signal
import struct
import subprocess
import sys
import time
import zlib

import numpy as np
import pytest

from cli_program import PROGRAM, Sgfs, lines, quarters, write

USAGE, DATA, IO, STOPPED = 2, 3, 5, 75
TYPES = {1: "<f8", 2: "<f4", 3: "<i8", 4: "<i4", 5: "<i2", 6: "i1", 7: "u1", 8: "<u2", 9: "<u4"}


def unpack(path):
    """The rows of a packed file and its JSON text, with the checksums looked at."""
    raw = path.read_bytes()
    assert raw[:8] == b"\x89SGD\r\n\x1a\n"
    size, rows, cols, kind, flags, chunk_rows, chunk_bytes, chunks, crc_at, json_at, json_bytes = \
        struct.unpack_from("<QQQIIQQQQQQ", raw, 16)
    assert size == len(raw) and zlib.crc32(raw[:4092]) == struct.unpack_from("<I", raw, 4092)[0]
    blocks = []
    for c in range(chunks):
        chunk = raw[4096 + c * chunk_bytes:4096 + (c + 1) * chunk_bytes]
        assert zlib.crc32(chunk) == struct.unpack_from("<I", raw, crc_at + 4 * c)[0]
        n = min(chunk_rows, rows - c * chunk_rows)
        blocks.append(np.frombuffer(chunk, TYPES[kind], n * cols).reshape(n, cols))
    told = json.loads(raw[json_at:json_at + json_bytes])
    told["type"], told["shuffled"] = TYPES[kind], flags == 1
    return np.concatenate(blocks), told


def names(told):
    return [c["name"] for c in told["columns"]]


def assert_same_rows(packed, rows):
    """The same rows, each as often; but not in the same order."""
    rows = np.asarray(rows, packed.dtype)
    assert packed.shape == rows.shape
    assert not np.array_equal(packed, rows)
    assert np.array_equal(packed[np.lexsort(packed.T)], rows[np.lexsort(rows.T)])


def big_csv(path, rows, cols=9, seed=5):
    """Numbers of about 10 characters, made fast: a block of lines again and again."""
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((5000, cols - 1))
    y = rng.integers(0, 2, 5000)
    block = "".join(",".join(f"{v:.7f}" for v in row) + f",{label}\n" for row, label in zip(x, y))
    with open(path, "w", encoding="utf-8") as f:
        f.write(",".join(f"x{j + 1}" for j in range(cols - 1)) + ",y\n")
        for _ in range(rows // 5000):
            f.write(block)


@pytest.fixture(name="data")
def small_files(tmp_path):
    x, y = quarters(3000)
    x = np.column_stack([x, np.arange(3000)])  # every row is another
    write(tmp_path / "good.csv", lines(x, y, ("a", "b", "id", "y")))
    np.save(tmp_path / "good.npy", np.column_stack([x, y]))
    return np.column_stack([x, y])


# ---- what comes out ------------------------------------------------------------------------------

def test_rows_of_a_csv_file(sgfs, data):
    done = sgfs.ok("pack", "good.csv", "--out", "good.sgd")
    rows, told = unpack(sgfs.folder / "good.sgd")
    assert_same_rows(rows, data)
    assert names(told) == ["a", "b", "id", "y"] and told["shuffled"] and told["type"] == "<f8"
    assert "3000 rows, 4 columns of f64" in done.stderr and "MB/s" in done.stderr
    assert sorted(os.listdir(sgfs.folder)) == ["good.csv", "good.npy", "good.sgd"]


def test_json_tells_the_same(sgfs, data):
    told = json.loads(sgfs.ok("pack", "good.csv", "--out", "g.sgd", "--json").stdout)
    assert told["rows"] == len(data) and told["columns"] == 4 and told["shuffled"]
    assert told["bytes"] == (sgfs.folder / "g.sgd").stat().st_size
    assert told["bytes_spilled"] == 0
    assert told["chunk_rows"] * told["chunks"] >= len(data)


def test_other_files_give_the_same_bytes_of_rows(sgfs, data):
    """npy, gzip, standard input and two files in a row."""
    sgfs.ok("pack", "good.csv", "--out", "one.sgd")
    wanted, _ = unpack(sgfs.folder / "one.sgd")
    text = (sgfs.folder / "good.csv").read_text(encoding="utf-8").split("\n")[:-1]
    write(sgfs.folder / "p1.csv", text[:1200])
    write(sgfs.folder / "p2.csv", text[:1] + text[1200:])
    for k, words in enumerate((["good.npy"], ["p1.csv", "p2.csv"], ["p*.csv"])):
        sgfs.ok("pack", *words, "--out", f"{k}.sgd")
        assert np.array_equal(unpack(sgfs.folder / f"{k}.sgd")[0], wanted)
    with open(sgfs.folder / "good.csv", "rb") as f:
        sgfs.ok("pack", "-", "--out", "stdin.sgd", stdin=f)
    assert np.array_equal(unpack(sgfs.folder / "stdin.sgd")[0], wanted)


def test_the_seed_and_the_order(sgfs, data):
    for k, words in enumerate(([], ["--shuffle-seed", "1"], ["--shuffle-seed", "2"])):
        sgfs.ok("pack", "good.csv", "--out", f"{k}.sgd", *words)
    first, same, other = (unpack(sgfs.folder / f"{k}.sgd")[0] for k in range(3))
    assert np.array_equal(first, same) and not np.array_equal(first, other)
    sgfs.ok("pack", "good.csv", "--out", "plain.sgd", "--no-shuffle")
    rows, told = unpack(sgfs.folder / "plain.sgd")
    assert np.array_equal(rows, data) and not told["shuffled"]


def test_integers_stay_integers_until_something_computes(sgfs):
    rng = np.random.default_rng(3)
    rows = np.column_stack([rng.integers(0, 256, (500, 3)), rng.integers(0, 2, 500)])
    np.save(sgfs.folder / "bytes.npy", rows.astype(np.uint8))
    for words, kind in (([], "u1"), (["--limit", "100"], "u1"), (["--drop", "2"], "u1"),
                        (["--storage", "f32"], "<f4"), (["--log1p", "1"], "<f8")):
        sgfs.ok("pack", "bytes.npy", "--out", "b.sgd", "--overwrite", *words)
        packed, told = unpack(sgfs.folder / "b.sgd")
        assert told["type"] == kind, words
        if words == []:
            assert_same_rows(packed, rows)
    np.save(sgfs.folder / "more.npy", rows.astype(np.int16))
    sgfs.ok("pack", "bytes.npy", "more.npy", "--out", "m.sgd")  # a type that holds both
    packed, told = unpack(sgfs.folder / "m.sgd")
    assert told["type"] == "<f8"
    assert_same_rows(packed, np.concatenate([rows, rows]))


def idx(array):
    """An IDX file of bytes."""
    sizes = b"".join(struct.pack(">I", n) for n in array.shape)
    return bytes([0, 0, 8, array.ndim]) + sizes + array.astype(np.uint8).tobytes()


def test_images_and_labels(sgfs):
    rng = np.random.default_rng(4)
    images, labels = rng.integers(0, 256, (200, 4, 3)), rng.integers(0, 10, 200)
    (sgfs.folder / "images.idx").write_bytes(idx(images))
    (sgfs.folder / "labels.idx").write_bytes(idx(labels))
    sgfs.ok("pack", "images.idx", "--labels", "labels.idx", "--out", "i.sgd")
    rows, told = unpack(sgfs.folder / "i.sgd")
    assert told["type"] == "u1"
    assert_same_rows(rows, np.column_stack([images.reshape(200, 12), labels]))


def test_f32_rounds_features_and_refuses_other_labels(sgfs):
    rng = np.random.default_rng(3)
    rows = np.column_stack([rng.standard_normal((400, 2)), rng.integers(0, 2, 400) * 0.1])
    np.save(sgfs.folder / "r.npy", rows)
    done = sgfs("pack", "r.npy", "--storage", "f32", "--out", "r.sgd")
    assert done.returncode == DATA and "f32 would change" in done.stderr
    rows[:, 2] *= 10
    np.save(sgfs.folder / "r.npy", rows.round(14))
    sgfs.ok("pack", "r.npy", "--storage", "f32", "--out", "r.sgd")
    assert_same_rows(unpack(sgfs.folder / "r.sgd")[0], rows.astype(np.float32))


def test_roles_and_transforms(sgfs):
    """Target, weights, words and a standardised column, by numpy."""
    rng = np.random.default_rng(8)
    n = 600
    x, w = rng.integers(-8, 9, n) / 4, rng.integers(1, 4, n)
    color, y = rng.choice(["red", "green", "blue"], n), rng.choice(["no", "yes"], n)
    write(sgfs.folder / "t.csv", ["y,x,w,color"] + [f"{a},{b},{c},{d}"
                                                    for a, b, c, d in zip(y, x, w, color)])
    done = sgfs.ok("pack", "t.csv", "--target", "y", "--weights", "w", "--categorical", "color",
                   "--standardize", "--out", "t.sgd")
    assert "draws will be on that scale" in done.stderr
    rows, told = unpack(sgfs.folder / "t.sgd")
    roles = {c["name"]: c["role"] for c in told["columns"]}
    assert roles["y"] == "target" and roles["w"] == "weights" and roles["x"] == "feature"
    assert sorted(told["levels"]) == ["no", "yes"]
    mean = np.average(x, weights=w)
    z = np.sort(rows[:, names(told).index("x")])
    sd = np.sqrt(np.average((x - mean) ** 2, weights=w) * n / (n - 1))
    assert np.allclose(z, np.sort((x - mean) / sd), atol=1e-12)
    label = np.array(told["levels"])[rows[:, names(told).index("y")].astype(int)]
    assert (label == "yes").sum() == (y == "yes").sum()


@pytest.mark.parametrize("words", [[], ["--standardize"]])
def test_words_that_come_late(sgfs, words):
    """A target of numbers for thousands of rows, and then a word; in one pass and in two."""
    x, _ = quarters(150000)
    y = ["1", "2"] * 74999 + ["none", "1"]
    write(sgfs.folder / "late.csv", lines(x, y))
    sgfs.ok("pack", "late.csv", "--out", "late.sgd", "--memory", "8M", *words)
    rows, told = unpack(sgfs.folder / "late.sgd")
    assert sorted(told["levels"]) == ["1", "2", "none"]
    count = np.bincount(rows[:, 2].astype(int), minlength=3)
    assert dict(zip(told["levels"], count)) == {"1": 75000, "2": 74999, "none": 1}


def test_sparse_rows_get_their_zeros(sgfs):
    rng = np.random.default_rng(2)
    dense = rng.integers(1, 9, (300, 6)) * (rng.random((300, 6)) < 0.3)
    dense[0] = 1
    y = rng.integers(0, 2, 300)
    write(sgfs.folder / "s.svm", [f"{label} " + " ".join(f"{j + 1}:{v}" for j, v in enumerate(row) if v)
                                  for label, row in zip(y, dense)])
    done = sgfs.ok("pack", "s.svm", "--out", "s.sgd")
    assert "hold their zeros" in done.stderr
    assert_same_rows(unpack(sgfs.folder / "s.sgd")[0], np.column_stack([dense, y]))
    write(sgfs.folder / "wide.svm", ["1 1:1 30000:2", "0 2:1"])
    done = sgfs("pack", "wide.svm", "--out", "wide.sgd")
    assert done.returncode == DATA and "--project" in done.stderr


# ---- the same posterior --------------------------------------------------------------------------

def test_the_posterior_is_the_same(sgfs):
    """The mode and its Gaussian to rounding; draws to Monte Carlo error: 5 standard errors of a
    difference (6e-7 for each of 4 means and 4 standard deviations)."""
    sgfs.ok("simulate", "logistic", "--rows", "3000", "--dim", "3", "--out", "d.csv", "--seed", "3", "-q")
    sgfs.ok("pack", "d.csv", "--out", "d.sgd", "-q")
    found = []
    for data in ("d.csv", "d.sgd"):
        mode = json.loads(sgfs.ok("optimize", "logistic", "--data", data, "--json", "-q").stdout)
        sgfs.ok("sample", "logistic", "--data", data, "--sampler", "nuts", "--warmup", "300", "--draws",
                "700", "--chains", "2", "--out", "fit.run", "--overwrite", "-q")
        summary = json.loads(sgfs.ok("summary", "fit.run", "--json").stdout)
        found.append((mode, summary))
    (mode, summary), (packed_mode, packed_summary) = found
    sd = np.sqrt(np.diag(mode["cov"]))
    assert mode["distance"] < 1e-7 and packed_mode["distance"] < 1e-7  # in sd, from the mode itself
    assert np.all(np.abs(np.subtract(mode["mean"], packed_mode["mean"])) < 2e-7 * sd)
    assert np.allclose(mode["cov"], packed_mode["cov"], rtol=1e-6)
    for a, b in zip(summary["params"], packed_summary["params"]):
        assert abs(a["mean"] - b["mean"]) < 5 * np.hypot(a["mcse"], b["mcse"]), a["name"]
        noise = np.hypot(a["sd"] / np.sqrt(2 * a["ess_tail"]), b["sd"] / np.sqrt(2 * b["ess_tail"]))
        assert abs(a["sd"] - b["sd"]) < 5 * noise, a["name"]


# ---- bounded memory ------------------------------------------------------------------------------

def peak(sgfs, *words):
    """Peak resident memory of one run of the program, in bytes."""
    code = ("import resource, subprocess, sys; subprocess.run(sys.argv[1:], check=True); "
            "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)")
    asan = {**os.environ, "ASAN_OPTIONS": "quarantine_size_mb=1"}  # else freed memory counts
    done = subprocess.run([sys.executable, "-c", code, PROGRAM, *map(str, words)], cwd=sgfs.folder,
                          stdout=subprocess.PIPE, check=True, text=True, env=asan)
    return 1024 * int(done.stdout.split()[-1])


def test_memory_does_not_grow_with_the_rows(sgfs):
    """Rows of 2 and 8 times --memory: the same peak, and the same bytes as with much memory."""
    big_csv(sgfs.folder / "tiny.csv", 5000)
    big_csv(sgfs.folder / "once.csv", 250000)
    big_csv(sgfs.folder / "four.csv", 1000000)
    tiny, once, four = (peak(sgfs, "pack", f"{name}.csv", "--memory", "8M", "--out", f"{name}.sgd", "-q")
                        for name in ("tiny", "once", "four"))
    assert four - once < 3e6, (tiny, once, four)
    assert four - tiny < 12e6, (tiny, once, four)
    told = json.loads(sgfs.ok("pack", "once.csv", "--out", "much.sgd", "--json").stdout)
    assert told["bytes_spilled"] == 0
    assert (sgfs.folder / "much.sgd").read_bytes() == (sgfs.folder / "once.sgd").read_bytes()


def test_sizes(sgfs, data):
    for size in ("9M", "9000k", "0.009G", "9000000"):
        sgfs.ok("pack", "good.csv", "--memory", size, "--out", "s.sgd", "--overwrite", "-q")
    for size in ("much", "-5M", "5X", "5Mx", ""):
        done = sgfs("pack", "good.csv", f"--memory={size}", "--out", "t.sgd")
        assert done.returncode == USAGE, size
    done = sgfs("pack", "good.csv", "--memory", "100k", "--out", "t.sgd")
    assert done.returncode == USAGE and "give at least" in done.stderr
    least = done.stderr.split("give at least ")[1].split(".")[0]
    sgfs.ok("pack", "good.csv", "--memory", least, "--out", "t.sgd")


# ---- all or nothing ------------------------------------------------------------------------------

def stop_somewhere(sgfs, number, code):
    """Send the signal after more and more time, until the program is faster: each time there is
    nothing, or all of it. How often was there nothing?"""
    stopped = 0
    before = sorted(os.listdir(sgfs.folder))
    for delay in (0.03, 0.1, 0.2, 0.3, 0.45, 0.6, 0.8):
        with sgfs.start("pack", "big.csv", "--memory", "8M", "--out", "big.sgd") as process:
            time.sleep(delay)
            process.send_signal(number)
            _, err = process.communicate(timeout=60)
        if process.returncode == 0 or "big.sgd" in os.listdir(sgfs.folder):
            sgfs.ok("pack", "--check", "big.sgd")
            break
        assert process.returncode in (code, -number), err  # too early for the handler
        assert sorted(os.listdir(sgfs.folder)) == before
        stopped += process.returncode == code
    return stopped


def test_an_interrupt_leaves_nothing(sgfs):
    big_csv(sgfs.folder / "big.csv", 500000)
    assert stop_somewhere(sgfs, signal.SIGINT, STOPPED) > 0


def test_a_kill_leaves_nothing(sgfs):
    big_csv(sgfs.folder / "big.csv", 500000)
    assert stop_somewhere(sgfs, signal.SIGKILL, -signal.SIGKILL) > 0


def test_a_mistake_in_the_last_row_leaves_nothing(sgfs, data):
    with open(sgfs.folder / "good.csv", "a", encoding="utf-8") as f:
        f.write("1,2,x,0\n")
    done = sgfs("pack", "good.csv", "--out", "good.sgd")
    assert done.returncode == DATA and ":3002" in done.stderr
    assert sorted(os.listdir(sgfs.folder)) == ["good.csv", "good.npy"]


def test_a_write_that_fails(sgfs):
    """A full disk, imitated by a limit on the size of files."""
    big_csv(sgfs.folder / "big.csv", 250000)
    before = sorted(os.listdir(sgfs.folder))
    for memory in ("8M", "1G"):  # while shuffling, and while writing

        def limit():
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (9000000, 9000000))

        done = sgfs("pack", "big.csv", "--memory", memory, "--out", "big.sgd", preexec_fn=limit)
        assert done.returncode == IO, done.stderr
        assert sorted(os.listdir(sgfs.folder)) == before


# ---- usage ---------------------------------------------------------------------------------------

def test_existing_files(sgfs, data):
    sgfs.ok("pack", "good.csv", "--out", "good.sgd")
    first = (sgfs.folder / "good.sgd").read_bytes()
    done = sgfs("pack", "good.csv", "--out", "good.sgd", "--shuffle-seed", "2")
    assert done.returncode == USAGE and "--overwrite" in done.stderr
    assert (sgfs.folder / "good.sgd").read_bytes() == first
    sgfs.ok("pack", "good.csv", "--out", "good.sgd", "--shuffle-seed", "2", "--overwrite")
    assert (sgfs.folder / "good.sgd").read_bytes() != first
    done = sgfs("pack", "good.csv", "--out", "good.csv", "--overwrite")
    assert done.returncode == USAGE and "is the data" in done.stderr


def test_check(sgfs, data):
    sgfs.ok("pack", "good.csv", "--out", "good.sgd")
    done = sgfs.ok("pack", "--check", "good.sgd")
    assert "every checksum is right" in done.stderr
    raw = bytearray((sgfs.folder / "good.sgd").read_bytes())
    raw[4096 + 40000] ^= 4
    (sgfs.folder / "bad.sgd").write_bytes(raw)
    done = sgfs("pack", "--check", "bad.sgd")
    assert done.returncode == DATA and "checksum" in done.stderr
    assert sgfs("pack", "--check", "good.csv").returncode == DATA
    assert sgfs("pack", "--check", "none.sgd").returncode == IO


@pytest.mark.parametrize("words, code, said", [
    (["--out", "x.sgd"], USAGE, "Name files"),
    (["good.csv"], USAGE, "Name files"),
    (["none.csv", "--out", "x.sgd"], IO, "none.csv"),
    (["good.csv", "--out", "nowhere/x.sgd"], IO, "nowhere"),
    (["good.csv", "--no-intercept", "--out", "x.sgd"], USAGE, "sgfs sample"),
    (["good.csv", "--keep-classes", "7", "--out", "x.sgd"], DATA, "7"),
    (["good.csv", "--memroy", "1G", "--out", "x.sgd"], USAGE, "--memory"),
])
def test_refusals(sgfs, data, words, code, said):
    done = sgfs("pack", *words)
    assert done.returncode == code and said in done.stderr, done.stderr
    assert sorted(os.listdir(sgfs.folder)) == ["good.csv", "good.npy"]


def test_packing_again(sgfs, data):
    """Packed files are data like any others: two of them, and one with its transforms kept."""
    sgfs.ok("pack", "good.csv", "--out", "a.sgd", "-q")
    sgfs.ok("pack", "good.csv", "--out", "b.sgd", "--shuffle-seed", "5", "-q")
    sgfs.ok("pack", "a.sgd", "--out", "c.sgd", "--limit", "1000")
    rows, told = unpack(sgfs.folder / "c.sgd")
    first, _ = unpack(sgfs.folder / "a.sgd")
    assert_same_rows(rows, first[:1000])
    assert names(told) == ["a", "b", "id", "y"]
    sgfs.ok("pack", "a.sgd", "b.sgd", "--out", "d.sgd")
    assert_same_rows(unpack(sgfs.folder / "d.sgd")[0], np.concatenate([data, data]))


def test_an_order_is_kept_or_lost(sgfs, data):
    """Without another shuffle, the rows of one shuffled file are in the order drawn for it; those of two,
    one behind the other, are not in one drawn for all."""
    sgfs.ok("pack", "good.csv", "--out", "a.sgd", "-q")
    sgfs.ok("pack", "good.csv", "--out", "b.sgd", "--shuffle-seed", "5", "-q")
    sgfs.ok("pack", "a.sgd", "--out", "one.sgd", "--no-shuffle", "-q")
    sgfs.ok("pack", "a.sgd", "b.sgd", "--out", "two.sgd", "--no-shuffle", "-q")
    a, b, one, two = (unpack(sgfs.folder / f"{name}.sgd") for name in ("a", "b", "one", "two"))
    assert np.array_equal(one[0], a[0]) and one[1]["shuffled"]
    assert np.array_equal(two[0], np.concatenate([a[0], b[0]])) and not two[1]["shuffled"]


def test_the_file_tells_what_was_done(sgfs, data):
    """Operations with what they learnt, those of the first packing before those of the second."""
    sgfs.ok("pack", "good.csv", "--out", "none.sgd", "-q")
    assert "recipe" not in unpack(sgfs.folder / "none.sgd")[1]
    sgfs.ok("pack", "good.csv", "--log1p", "id", "--out", "a.sgd", "-q")
    done = sgfs.ok("pack", "a.sgd", "--standardize", "--drop", "b", "--out", "b.sgd")
    assert "on that scale" in done.stderr  # --standardize is the last one, wherever it was given
    rows, told = unpack(sgfs.folder / "b.sgd")
    assert [step["op"] for step in told["recipe"]] == ["columns", "log1p", "columns", "drop", "standardize"]
    assert names(told) == ["a", "log1p(id)", "y"]
    z = np.log1p(data[:, 2])
    assert np.allclose(np.sort(rows[:, 1]), np.sort((z - z.mean()) / z.std(ddof=1)), atol=1e-12)
