# SPDX-License-Identifier: MIT
"""MNIST 7 against 9 of figures 1 and 2 (section 5.1): rows for the program, and the truth.

The recipe is that of docs/math.md, section 9 (experiments/mnist79.py): D = 51, N = 10,000, lambda = 1. The truth is a long
HMC run in numpy that shares no code with the program (experiments/hmc.py), with Stein's control variates on the moments."""
import os
import zlib

import hmc
import measures
import mnist79
import numpy as np

from lab import Failed, stamps, write_reference

FILES = ["mnist/train-images-idx3-ubyte.gz", "mnist/train-labels-idx1-ubyte.gz"]


def rows(lab):
    """The file of the rows, for --data; x with ones in front, and y."""
    try:
        x, y = mnist79.load([lab.file(f) for f in FILES])
    except (OSError, EOFError, ValueError, zlib.error) as reason:
        raise Failed(f"{', '.join(FILES)} in {lab.data}: damaged ({reason}); `sh experiments/get-data.sh --check {lab.data}` says which")
    x = x[:, :max(2, len(y) // 20)]  # of few rows, as tests have, fewer columns
    path, whole = lab.common / "seven-nine.npy", np.column_stack([x, y])
    if not holds(path, whole):
        part = path.with_name(f"{path.stem}.{os.getpid()}.npy")
        np.save(part, whole)
        os.replace(part, path)
    return os.path.relpath(path, lab.work), np.column_stack([np.ones(len(y)), x]), y


def holds(path, table):
    try:
        return np.array_equal(np.load(path), table)
    except (OSError, EOFError, ValueError):  # not there, or half written by someone else
        return False


def about(y):
    """The data in words."""
    short = "" if len(y) == mnist79.N else f", only {len(y):,} rows where the recipe has {mnist79.N:,}"
    return f"MNIST 7 against 9, first {len(y):,} training images of the two{short}"


def batch(y):
    """The paper's, or less where there are few rows."""
    return min(500, len(y) // 4)


def words(data, *more, seed=1):
    """Behind `sgfs sample`: one chain on one core."""
    one = ["--chains", 1, "--threads", 1, "--seed", seed]
    return ["logistic", "--data", data, "--prior-precision", f"{mnist79.LAMBDA:g}", *more, *one]


def truth(lab, x, y):
    """A file for `sgfs compare --reference`, and its content: names, mean, cov, and the reference's own noise in E1 and E2."""
    iterations = lab.by_scale(1000, 200, 20)
    key = [iterations, mnist79.LAMBDA, x.shape, stamps([str(lab.file(f)) for f in FILES], lab.common)]
    found = lab.once("seven-nine-truth", key, lambda: _moments(hmc.logistic_truth(x, y, mnist79.LAMBDA, 100, iterations, seed=2)))
    path = lab.common / "seven-nine-reference.json"
    write_reference(path, found)
    return path, found


def _moments(t):
    half = np.sqrt(2 / np.pi)
    return {"names": ["intercept"] + [f"x{j}" for j in range(1, len(t.mean))], "mean": t.mean.tolist(), "cov": t.cov.tolist(),
            "draws": t.count, "acceptance": t.acceptance, "mode": t.mode.tolist(),
            "E1_noise": half * t.mean_error.sum() / np.abs(t.mean).sum(),
            "E2_noise": half * t.cov_error.sum() / np.abs(t.cov).sum()}


def gauge(lab, reference):
    """For Job.after: E1, E2 and trR over every iteration, kept or not, by `sgfs compare`; tau in kept draws, its error, and
    whether the run is long enough to know it."""
    def measure(path):
        told = lab.json("compare", path, "--reference", reference)
        found = {k: told[k] for k in ("E1", "E2", "trR")}
        draws = exported(lab, path)
        if len(draws) >= 40:
            found["tau"], found["tau_error"], found["resolved"] = measures.own_tau(draws)
        return found

    return measure


def exported(lab, path):
    """The kept draws of a run of one chain."""
    file = path.with_suffix(".npy")
    lab.sgfs("export", path, file, "--overwrite", "--quiet")
    draws = np.load(file)[0]
    file.unlink()
    return draws


# ---- linear theory ---------------------------------------------------------------------------------


class Theory:
    """The samplers of the paper as linear chains around the truth (measures.LinearChain), with replacement."""

    def __init__(self, x, y, truth):
        self.N, self.n = len(y), batch(y)
        self.mean, self.cov = np.array(truth["mean"]), np.array(truth["cov"])
        rng = np.random.default_rng(1)
        places = rng.multivariate_normal(self.mean, self.cov, 20)
        scores = ((y - 1 / (1 + np.exp(-(x @ theta))))[:, None] * x for theta in places)
        self.score_cov = sum(np.cov(g, rowvar=False) for g in scores) / len(places)

    def sgfs(self, alpha, diagonal):
        matrix = (self.N + self.n) / self.n * self.N * self.score_cov
        matrix = np.diag(np.diag(matrix)) if diagonal else matrix
        P = 2 / (1 + alpha**2) * np.linalg.inv(matrix)
        return self._chain(P, alpha**2 * P @ matrix @ P)

    def sgld(self, epsilon):
        return self._chain(epsilon / 2 * np.eye(len(self.mean)), epsilon * np.eye(len(self.mean)))

    def _chain(self, P, Q):
        return measures.LinearChain(self.cov, P, self.N**2 / self.n * self.score_cov, Q, np.inf)
