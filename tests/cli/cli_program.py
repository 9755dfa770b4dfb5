# SPDX-License-Identifier: MIT
"""What the tests of the program share: a way to run it, and small data.

`Sgfs` is the program as a function: sgfs("sample", "logistic", ...) runs it in one folder and hands
back exit code, stdout and stderr. Numbers in the data are quarters, so that every format holds them
exactly and the draws can be compared bit for bit."""
import os
import pathlib
import re
import subprocess

import numpy as np

PROGRAM = os.environ.get("SGFS")
CACHE = pathlib.Path(os.environ.get("SGFS_BUILD", ".")) / "CMakeCache.txt"
# A program that is ten times as slow, and takes memory of its own.
SANITIZED = CACHE.exists() and re.search(r"^SGFS_SANITIZE:\w+=\S", CACHE.read_text(), re.M) is not None
SHORT = ("--warmup", "60", "--draws", "80", "--chains", "2", "--threads", "1")


REGRESSIONS = ("linear", "logistic", "softmax", "poisson")
TAKES_A_PRIOR = ("sample", "optimize", "tune", "check-grad", "simulate")


class Sgfs:
    """The program, run in one folder. Regressions get the prior N(0, 1), of which most tests know what it gives, unless
    a command names another or a config, or `prior` is None: the program's own default. Most tests make runs far too
    short to be trusted: only a strict one sees the exit code that says so."""

    def __init__(self, folder, prior=("--prior-precision", "1"), strict=False):
        self.folder, self.prior, self.strict = folder, prior, strict

    def start(self, *words, **options):
        words = [str(w) for w in words]
        plain = words[:1] and words[0] in TAKES_A_PRIOR and words[1:2] and words[1] in REGRESSIONS
        if self.prior and plain and not any(w.startswith(("--prior", "--config", "--help", "-h")) for w in words):
            words += self.prior
        if words[:1] == ["sample"] and not self.strict:
            words.insert(1, "--allow-unconverged")
        options = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, **options}
        return subprocess.Popen([PROGRAM, *words], cwd=self.folder, **options)

    def __call__(self, *words, **options):
        with self.start(*words, **options) as process:
            out, err = process.communicate(timeout=120)
        return subprocess.CompletedProcess(process.args, process.returncode, out, err)

    def ok(self, *words, **options):
        done = self(*words, **options)
        assert done.returncode == 0, done.stderr
        return done

    def draws(self, run="fit.run"):
        """The draws of a run file, chains x draws x parameters."""
        self.ok("export", run, "draws.npy", "--overwrite", "-q")
        return np.load(self.folder / "draws.npy")

    def sample(self, model, data, *words, out="fit.run"):
        """Sample a little, and return the draws."""
        self.ok("sample", model, "--data", data, *SHORT, "--out", out, "--overwrite", "-q", *words)
        return self.draws(out)


def quarters(rows=60, seed=385):
    """Two features in quarters and labels 0/1 that follow from the first."""
    rng = np.random.default_rng(seed)
    x = rng.integers(-8, 9, (rows, 2)) / 4
    y = (rng.random(rows) < 1 / (1 + np.exp(-x[:, 0]))).astype(int)
    y[:2] = 0, 1
    return x, y


def lines(x, y, names=("a", "b", "y"), delimiter=","):
    """The rows as lines of text, with a header unless names is None."""
    head = [] if names is None else [delimiter.join(names)]
    return head + [delimiter.join([*(repr(float(v)) for v in row), str(label)])
                   for row, label in zip(x, y)]


def write(path, text):
    path.write_text("\n".join(text) + "\n", encoding="utf-8")
