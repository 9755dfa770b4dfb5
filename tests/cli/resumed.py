# SPDX-License-Identifier: MIT
"""What the tests of --resume share: every sampler with a run of a fraction of a second, a run file as everything in it
that is no time, and runs that are killed at random moments and taken up until they are complete."""
import gzip
import json
import os
import random
import struct
import subprocess
import sys
import time
import zlib
from pathlib import Path

import numpy as np

from cli_program import PROGRAM, write

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "fuzz"))
import make_corpus  # noqa: E402

DRAWS, INFO, END, POINTS, STATE = 1, 2, 3, 4, 0x80000002
LENGTHS = ("--warmup", "300", "--draws", "6000", "--chains", "3")
MINI = ("--batch", "30", *LENGTHS)
FEW = ("--warmup", "150", "--draws", "400", "--chains", "2")

# name, words; a run of each takes some tenths of a second
CASES = {
    "sgfs-f": ("logistic", "--sampler", "sgfs-f", *MINI),
    "sgfs-d": ("softmax", "--sampler", "sgfs-d", *MINI, "--validate", "aside.csv"),
    "sgfs-b": ("logistic", "--sampler", "sgfs-b", "--block-size", "2", *MINI),
    "sgfs": ("logistic", "--sampler", "sgfs", "--fisher", "diag", *MINI, "--thin", "7"),
    "sgfs-cv": ("logistic", "--sampler", "sgfs-cv", *MINI, "--reanchor-at", "0.3"),
    "exact-rows": ("logistic", "--sampler", "exact-rows", *LENGTHS),
    "exact-pairs": ("logistic", "--sampler", "exact-pairs", *LENGTHS),
    "exact-hmc": ("logistic", "--sampler", "exact-hmc", *FEW, "--validate", "aside.csv"),
    "exact-linear": ("linear", "--sampler", "exact-linear", *LENGTHS, "--draws", "40000"),
    "groups": ("logistic", "--effects", "(1 + b | a) + (1 | c)", *FEW),
    "formula": ("linear", "--formula", "y ~ b + (1 | a)", *FEW),
    "scan": ("logistic", "--sampler", "exact-rows", "--scan", "on", *FEW),
    "sketch": ("logistic",),
    "exact": ("poisson", "--sampler", "exact", *LENGTHS),
    "auto": ("logistic", "--ess", "3000", "--validate", "aside.csv"),
    "nuts": ("logistic", "--sampler", "nuts", *FEW),
    "hmc": ("softmax", "--sampler", "hmc", "--leapfrog", "4", *FEW),
    "laplace": ("logistic", "--sampler", "laplace", *LENGTHS, "--draws", "40000"),
    "sgld": ("logistic", "--sampler", "sgld", "--epsilon", "1e-4", *MINI),
    "psgld": ("logistic", "--sampler", "psgld", "--epsilon", "1e-5", *MINI),
    "sghmc": ("logistic", "--sampler", "sghmc", "--epsilon", "1e-4", *MINI),
    "sgnht": ("logistic", "--sampler", "sgnht", "--epsilon", "1e-4", "--cycles", "2", *MINI),
    "sgd": ("logistic", "--sampler", "sgd", "--epsilon", "1e-4", *MINI),
    "gauss": ("logistic", "--sampler", "gauss", *LENGTHS, "--draws", "40000"),
    "packed": ("logistic", "--sampler", "sgfs-f", *MINI),
    "mlp": ("mlp", "--hidden", "2", "--warmup", "100", "--draws", "100", "--chains", "2"),
    "drbm": ("drbm", "--hidden", "2", "--sampler", "sgfs-d", *MINI),
    "arrow": ("logistic", "--sampler", "sgfs-f", "--categorical", "word", *MINI),
    "several": ("logistic", "--sampler", "sgfs-d", "--split", "0.8,0.2", "--standardize", *MINI),
    "pipe": ("poisson", "--sampler", "exact-pairs", *LENGTHS),
    "own": ("./student_t.so", "--sampler", "sgfs-f", *MINI),
}
DATA = {"packed": ["rows.sgd"], "arrow": ["rows.arrow"], "several": ["part-1.csv.gz", "part-2.csv.gz"], "pipe": ["-"]}


def words_of(name):
    if name == "sketch":
        return ("sample", "--sketch", "rows.sketch")
    return ("sample", CASES[name][0], "--data", *DATA.get(name, ["rows.csv"]), "--target", "y", *CASES[name][1:])


def words_to_go_on(name):
    """What has to be given once more: a model of one's own, and rows that came through a pipe."""
    own, pipe = CASES[name][:1] if name == "own" else (), ("--data", "-") if name == "pipe" else ()
    return ("sample", *own, "--resume", "fit.run", *pipe)


def arrow_of(x, y):
    """The rows as a stream of two batches, with a column of words beside the numbers."""
    head = make_corpus.arrow_schema([("a", "d"), ("word", "k"), ("b", "f"), ("c", "i"), ("y", "v")])
    words = make_corpus.arrow_batch([("s", ["red", "green", "blue"])], words=True)
    cells = [("d", x[:, 0].tolist()), ("k", [k % 3 for k in range(len(y))]), ("f", x[:, 1].tolist()),
             ("i", (4 * x[:, 2]).astype(int).tolist()), ("v", ["no" if label == 0 else "yes" for label in y])]
    half = len(y) // 2
    batches = [make_corpus.arrow_batch([(kind, part[where]) for kind, part in cells])
               for where in (slice(0, half), slice(half, None))]
    return head + words + b"".join(batches) + struct.pack("<II", 0xFFFFFFFF, 0)


def make_data(sgfs):
    rng = np.random.default_rng(717)
    for file, rows in (("rows.csv", 300), ("aside.csv", 50)):
        x = rng.integers(-8, 9, (rows, 3)) / 4
        y = (rng.random(rows) < 1 / (1 + np.exp(-x[:, 0] + 0.5 * x[:, 2]))).astype(int)
        write(sgfs.folder / file, ["a,b,c,y"] + [",".join(map(repr, map(float, r))) + f",{k}" for r, k in zip(x, y)])
    sgfs.ok("pack", "rows.csv", "--target", "y", "--out", "rows.sgd", "-q")
    sgfs.ok("sketch", "logistic", "--data", "rows.csv", "--target", "y", "--chains", "2", "--warmup", "150", "--draws", "2000",
            "--out", "rows.sketch", "-q")
    lines = (sgfs.folder / "rows.csv").read_bytes().splitlines(keepends=True)
    for part in (1, 2):
        half = [lines[0], *lines[1:151]] if part == 1 else [lines[0], *lines[151:]]
        (sgfs.folder / f"part-{part}.csv.gz").write_bytes(gzip.compress(b"".join(half), mtime=0))
    numbers = np.genfromtxt(sgfs.folder / "rows.csv", delimiter=",", skip_header=1)
    (sgfs.folder / "rows.arrow").write_bytes(arrow_of(numbers[:, :3], numbers[:, 3].astype(int)))
    (sgfs.folder / "student_t.so").symlink_to(
        Path(os.environ.get("SGFS_BUILD", ".")).resolve() / "examples" / "student_t.so")


def blocks(path):
    """Header and blocks (kind, chain, first, count, payload) of a run file; every checksum is looked at."""
    raw = path.read_bytes()
    length = struct.unpack_from("<I", raw, 12)[0]
    at, found = 16 + length + 4, []
    assert zlib.crc32(raw[:at - 4]) == struct.unpack_from("<I", raw, at - 4)[0]
    while at < len(raw):
        kind, chain = struct.unpack_from("<II", raw, at + 4)
        first, count, size = struct.unpack_from("<qqQ", raw, at + 16)
        end = at + 44 + size
        assert zlib.crc32(raw[at:end]) == struct.unpack_from("<I", raw, end)[0], hex(kind)
        found.append((kind, chain, first, count, raw[at + 44:end]))
        at = end + 4
    return json.loads(raw[16:16 + length]), found


def contents(path):
    """All of a run file that is no time: two runs that are the same have the same."""
    header, found = blocks(path)
    for there, key in ((header, "created_at"), (header["machine"], "threads")):
        there.pop(key)
    for there in (header["config"], header["given"]):
        for key in ("run.threads", "run.checkpoint", "run.max_time", "run.mpi", "output.overwrite"):
            there.pop(key, None)
    for found_while_opening in header["sampler_info"].values():
        if isinstance(found_while_opening, dict):
            found_while_opening.pop("seconds", None)
    for file in header["data"]["fingerprint"]:
        file.pop("modified", 0), file.pop("modified_ns", 0)
    out = [header]
    for kind, chain, first, count, payload in found:
        if kind == INFO:
            payload = payload[:24] + payload[40:]
            if header["data"]["path"].endswith(".sgd"):  # the last three: waits, bytes, faults
                payload = payload[:-24] + payload[-16:-8]
        if kind == POINTS:
            points = np.frombuffer(payload).reshape(count, 7).copy()
            points[:, 1] = 0
            payload = points.tobytes()
        out.append((kind, chain, first, count, payload))
    return out


def assert_same(one, other):
    a, b = contents(one), contents(other)
    for key in a[0].keys() | b[0].keys():
        assert a[0].get(key) == b[0].get(key), key
    assert [x[:4] for x in a[1:]] == [x[:4] for x in b[1:]]
    for x, y in zip(a[1:], b[1:]):
        assert x[4] == y[4], f"kind {x[0]:#x}, chain {x[1]}, draw {x[2]}"


class Killer:
    """Makes runs, kills them, takes them up, and compares them with runs that nobody disturbed."""

    def __init__(self, sgfs, seed):
        self.sgfs, self.random, self.took = sgfs, random.Random(seed), {}
        self.kills = self.resumed = 0
        make_data(sgfs)

    def reference(self, name):
        if name not in self.took:
            before = time.monotonic()
            with self.rows(name) as rows:
                self.sgfs.ok(*words_of(name), "--threads", "1", "--out", f"{name}.ref", "-q", stdin=rows)
            self.took[name] = time.monotonic() - before
        return self.sgfs.folder / f"{name}.ref"

    def rows(self, name):
        """What stands at the other end of the standard input."""
        return open(self.sgfs.folder / "rows.csv" if name == "pipe" else os.devnull)

    def killed(self, *words, after, **options):
        """Whether it was killed; if not, it was complete before."""
        process = self.sgfs.start(*words, "-q", stdout=subprocess.DEVNULL, **options)
        try:
            _, err = process.communicate(timeout=after)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
            self.kills += 1
            return True
        assert process.returncode == 0, err
        return False

    def ordeal(self, name):
        """One run with one, two or three kills, on any number of threads, compared."""
        path, reference = self.sgfs.folder / "fit.run", self.reference(name)
        path.unlink(missing_ok=True)
        words, under_way = (*words_of(name), "--out", "fit.run", "--checkpoint", self.random.choice(["0", "0.02"])), True
        for _ in range(self.random.choice([1, 1, 2, 3])):
            with self.rows(name) as rows:
                under_way = self.killed(*words, "--threads", self.random.choice("1124"), stdin=rows,
                                        after=self.random.uniform(0, 1.05 * self.took[name]))
            if not under_way:
                break
            if path.exists():  # else it was killed before it began
                self.resumed += 1
                words = (*words_to_go_on(name), "--checkpoint", "0")
        if under_way:
            with self.rows(name) as rows:
                self.sgfs.ok(*words, "-q", stdin=rows)
        assert_same(reference, path)
        leftovers = [p.name for p in self.sgfs.folder.iterdir() if p.name.startswith("fit.run") and p != path]
        assert leftovers in ([], ["fit.run.tmp"])  # a temporary of a killed process is taken over by the next
