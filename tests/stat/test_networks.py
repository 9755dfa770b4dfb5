# SPDX-License-Identifier: MIT
"""Networks without an option of the sampler: they end with a held-out log loss no worse than that of scikit-learn's
MLPClassifier on the same rows, or the summary says that they did not converge.

The numbers of scikit-learn 1.9 (its defaults and max_iter=1000, random_state=0, on standardised columns) are kept here,
with those of multinomial regression, which is what made the rows of two of the sets and cannot be bettered there; `python test_networks.py` finds them again where scikit-learn is installed."""
import json
import os
import pathlib
import sys

import numpy as np
import pytest

SOURCE = pathlib.Path(os.environ.get("SGFS_SOURCE") or pathlib.Path(__file__).parents[2])
sys.path.insert(0, str(SOURCE / "tests" / "cli"))


def rings(rng, n):
    y = np.arange(n) % 2
    angle, radius = rng.uniform(0, 2 * np.pi, n), 1 + y + 0.35 * rng.standard_normal(n)
    return np.column_stack([radius * np.cos(angle), radius * np.sin(angle)]), y


def clouds(rng, n):
    y = np.arange(n) % 3
    return rng.standard_normal((n, 4)) + 1.5 * np.eye(4)[y], y


def plain(rng, n):
    """Nothing but a line, and four columns that say nothing."""
    x = rng.standard_normal((n, 5))
    return x, (rng.random(n) < 1 / (1 + np.exp(-1.5 * x[:, 0]))).astype(int)


SETS = {"rings": rings, "clouds": clouds, "plain": plain}


def rows(name):
    """120 rows to learn from, and 600 to be judged by."""
    x, y = SETS[name](np.random.default_rng(19), 720)
    return x[:120], y[:120], x[120:], y[120:]


def save(path, x, y):
    names = ",".join(f"x{j}" for j in range(x.shape[1])) + ",y"
    np.savetxt(path, np.column_stack([x, y]), delimiter=",", header=names, comments="", fmt="%.10g")


REFERENCE = {"rings": 0.2366, "clouds": 0.8483, "plain": 0.9980}  # multinomial: 0.6968, 0.5697, 0.5459
# two columns give a drbm three units, too few for rings
RUNS = [("rings", "mlp"), ("clouds", "mlp"), ("clouds", "drbm"), ("plain", "drbm")]


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    from cli_program import Sgfs
    folder = Sgfs(tmp_path_factory.mktemp("networks"))
    for name in SETS:
        x, y, new, target = rows(name)
        save(folder.folder / f"{name}.csv", x, y)
        save(folder.folder / f"{name}.test.csv", new, target)
    return folder


def did_not_converge(site, run):
    return "did not converge" in json.loads(site("summary", run, "--json").stdout)["verdict"]


@pytest.mark.parametrize("name, model", RUNS)
def test_no_worse_than_others(site, name, model):
    run = f"{name}.{model}.run"
    done = site("sample", model, "--data", f"{name}.csv", "--standardize", "--warmup", "200", "--draws", "200", "--chains", "2",
                "--seed", "3", "--out", run, "--overwrite")
    assert "Sampler nuts (all 120 rows; exact around the modes" in done.stderr, done.stderr
    assert not did_not_converge(site, run)
    loss = json.loads(site.ok("predict", run, "--data", f"{name}.test.csv", "--json").stdout)["log_loss"]
    print(f"{name}, {model}: log loss {loss:.3f}, scikit-learn's {REFERENCE[name]:.3f}")
    assert loss < 1.05 * REFERENCE[name] + 0.01


@pytest.mark.parametrize("model, hidden", [("mlp", 5), ("drbm", 5)])
def test_a_network_worse_than_none_is_told(site, model, hidden):
    """Chains that stand still where all units are saturated and wrong: nothing varies, and R-hat sees nothing."""
    still = ("--data", "clouds.csv", "--hidden", hidden, "--sampler", "sgld", "--epsilon", "1e-300", "--warmup", "0", "--draws", "20",
             "--out", "still.run", "--overwrite")
    site("sample", model, *still)
    parameters = json.loads(site("summary", "still.run", "--json").stdout)["dim"]
    assert not did_not_converge(site, "still.run")
    np.save(site.folder / "far.npy", 40 * np.random.default_rng(1).standard_normal(parameters))
    site("sample", model, *still, "--start", "far.npy")
    assert did_not_converge(site, "still.run")


if __name__ == "__main__":
    from sklearn.linear_model import LogisticRegression
    from sklearn.metrics import log_loss
    from sklearn.neural_network import MLPClassifier
    for one in SETS:
        x0, y0, x1, y1 = rows(one)
        mean, sd = x0.mean(0), x0.std(0)
        ways = [MLPClassifier(max_iter=1000, random_state=0), LogisticRegression(max_iter=1000)]
        print(one, [round(log_loss(y1, w.fit((x0 - mean) / sd, y0).predict_proba((x1 - mean) / sd)), 4) for w in ways])
