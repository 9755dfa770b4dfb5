# SPDX-License-Identifier: MIT
"""What the tests of --resume share: every sampler with a run of a fraction of a second, a run file as everything in it
that is no time, and runs that are killed at random moments and taken up until they are complete."""
import json
import random
import struct
import subprocess
import time
import zlib

import numpy as np

from cli_program import PROGRAM, write

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
}


def words_of(name):
    data = "rows.sgd" if name == "packed" else "rows.csv"
    return ("sample", CASES[name][0], "--data", data, "--target", "y", *CASES[name][1:])


def make_data(sgfs):
    rng = np.random.default_rng(717)
    for file, rows in (("rows.csv", 300), ("aside.csv", 50)):
        x = rng.integers(-8, 9, (rows, 3)) / 4
        y = (rng.random(rows) < 1 / (1 + np.exp(-x[:, 0] + 0.5 * x[:, 2]))).astype(int)
        write(sgfs.folder / file, ["a,b,c,y"] + [",".join(map(repr, map(float, r))) + f",{k}" for r, k in zip(x, y)])
    sgfs.ok("pack", "rows.csv", "--target", "y", "--out", "rows.sgd", "-q")


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
        for key in ("run.threads", "run.checkpoint", "run.max_time", "output.overwrite"):
            there.pop(key, None)
    for found_while_opening in header["sampler_info"].values():
        if isinstance(found_while_opening, dict):
            found_while_opening.pop("seconds", None)
    for file in header["data"]["fingerprint"]:
        file.pop("modified"), file.pop("modified_ns")
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
            self.sgfs.ok(*words_of(name), "--threads", "1", "--out", f"{name}.ref", "-q")
            self.took[name] = time.monotonic() - before
        return self.sgfs.folder / f"{name}.ref"

    def killed(self, *words, after):
        """Whether it was killed; if not, it was complete before."""
        process = self.sgfs.start(*words, "-q", stdout=subprocess.DEVNULL)
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
            under_way = self.killed(*words, "--threads", self.random.choice("1124"),
                                    after=self.random.uniform(0, 1.05 * self.took[name]))
            if not under_way:
                break
            if path.exists():  # else it was killed before it began
                self.resumed += 1
                words = ("sample", "--resume", "fit.run", "--checkpoint", "0")
        if under_way:
            self.sgfs.ok(*words, "-q")
        assert_same(reference, path)
        leftovers = [p.name for p in self.sgfs.folder.iterdir() if p.name.startswith("fit.run") and p != path]
        assert leftovers in ([], ["fit.run.tmp"])  # a temporary of a killed process is taken over by the next
