# SPDX-License-Identifier: MIT
"""MNIST 7 against 9 of figures 1 and 2 (section 5.1): rows for the program, and the truth.

The recipe is that of docs/math.md, section 9 (tests/stat/mnist79.py): D = 51, N = 10,000, lambda = 1. The truth is a long
HMC run in numpy that shares no code with the program (tests/stat/hmc.py), with Stein's control variates on the moments."""
import hmc
import mnist79
import numpy as np

from lab import stamps, write_reference

FILES = ["mnist/train-images-idx3-ubyte.gz", "mnist/train-labels-idx1-ubyte.gz"]


def rows(lab):
    """The file of the rows, for --data; x with ones in front, and y."""
    x, y = mnist79.load([lab.file(f) for f in FILES])
    path = lab.common / "seven-nine.npy"
    if not path.exists():
        np.save(path, np.column_stack([x, y]))
    return path, np.column_stack([np.ones(len(y)), x]), y


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
