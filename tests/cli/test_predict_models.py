# SPDX-License-Identifier: MIT
"""Every model predicts: the averages that `sgfs predict` writes are computed again with numpy from the
exported draws and the formulas of docs/models.md, and the end of the curve of `--validate` is the same
error and log loss. Columns of the new rows stand in another order, and the runs are standardised, so that
draws must be for the columns as they are."""
import json
import os
from pathlib import Path

import numpy as np
import pytest

from cli_program import write

BUILD = os.environ.get("SGFS_BUILD")
SHORT = ("--warmup", "60", "--draws", "90", "--thin", "3", "--chains", "1", "--threads", "1")
TREES = ["ash", "fir", "oak"]


def rows(seed, n):
    rng = np.random.default_rng(seed)
    x = np.round(np.column_stack([3 + 2 * rng.normal(size=n), 0.1 * rng.normal(size=n)]), 4)
    eta = 0.4 + 0.5 * (x[:, 0] - 3) + 8 * x[:, 1]
    time = np.round(rng.uniform(0.5, 3, n), 3)
    tree = np.array(TREES)[(eta[:, None] + rng.normal(size=(n, 1)) > [-0.3, 0.8]).sum(axis=1)]
    return {"a": x[:, 0], "b": x[:, 1], "time": time, "weight": rng.integers(0, 3, n), "tree": tree,
            "pair": np.where(tree == "oak", "yes", "no"), "count": rng.poisson(time * np.exp(0.4 * eta)),
            "size": np.round(eta + 0.3 * rng.normal(size=n), 5)}


def table(path, columns, names):
    write(path, [",".join(names)] + [",".join(str(columns[n][i]) for n in names) for i in range(len(columns["a"]))])


@pytest.fixture(scope="module")
def site(shared):
    table(shared.folder / "old.csv", rows(1, 400), ["a", "b", "time", "weight", "tree", "pair", "count", "size"])
    shared.new = rows(2, 333)
    table(shared.folder / "new.csv", shared.new, ["size", "pair", "b", "weight", "tree", "time", "count", "a"])
    return shared


def softmax(eta):
    e = np.exp(eta - eta.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def by_logistic(theta, x, new):
    p = 1 / (1 + np.exp(-theta @ x.T))
    return np.stack([1 - p, p], axis=-1)


def by_softmax(theta, x, new):  # draws x rows x classes; "ash" is the reference
    eta = np.einsum("skp,np->snk", theta.reshape(len(theta), 2, 3), x)
    return softmax(np.concatenate([np.zeros_like(eta[..., :1]), eta], axis=-1))


def hidden(theta, x, H):
    return 1 / (1 + np.exp(-np.einsum("shp,np->snh", theta[:, :3 * H].reshape(-1, H, 3), x)))


def by_mlp(theta, x, new):
    z = hidden(theta, x, 4)
    z = np.concatenate([np.ones_like(z[..., :1]), z], axis=-1)
    return softmax(np.einsum("skh,snh->snk", theta[:, 12:].reshape(-1, 3, 5), z))


def by_network_of_numbers(theta, x, new):
    z = hidden(theta, x, 4)
    return theta[:, None, 12] + np.einsum("sh,snh->sn", theta[:, 13:17], z)


def by_drbm(theta, x, new):
    H, K = 2, 3
    s = np.einsum("shp,np->snh", theta[:, :3 * H].reshape(-1, H, 3), x)
    U = theta[:, 3 * H:3 * H + H * K].reshape(-1, H, K)
    return softmax(theta[:, None, -K:] + np.logaddexp(0, s[..., None] + U[:, None]).sum(axis=2))


CASES = {
    "logistic": ("logistic", "pair", (), by_logistic),
    "softmax": ("softmax", "tree", (), by_softmax),
    "softmax with weights": ("softmax", "tree", ("--weights", "weight"), by_softmax),
    "poisson": ("poisson", "count", ("--exposure", "time"), lambda t, x, new: new["time"] * np.exp(t @ x.T)),
    "linear": ("linear", "size", (), lambda t, x, new: t[:, :3] @ x.T),
    "mlp": ("mlp", "tree", ("--hidden", "4"), by_mlp),
    "mlp of numbers": ("mlp", "size", ("--hidden", "4"), by_network_of_numbers),
    "drbm": ("drbm", "tree", ("--hidden", "2"), by_drbm),
}


@pytest.mark.parametrize("case", CASES)
def test_predictions_are_those_of_the_draws(site, case):
    model, target, words, predicted = CASES[case]
    theta = site.sample(model, "old.csv", "--target", target, "--features", "a,b", "--standardize", "--validate", "new.csv",
                        *SHORT, *words, out="fit.run").reshape(30, -1)
    done = site.ok("predict", "fit.run", "--data", "new.csv", "--out", "p.csv", "--overwrite", "--json")
    said = json.loads(done.stdout)
    assert "weight" not in done.stderr or "--weights" not in words  # a column that the run knows
    names, *lines = [line.split(",") for line in (site.folder / "p.csv").read_text().splitlines()]
    written = dict(zip(names, zip(*lines)))
    x = np.column_stack([np.ones(333), site.new["a"], site.new["b"]])
    mean = predicted(theta, x, site.new).mean(axis=0)
    y = site.new[target]
    if mean.ndim == 2:
        labels = ["no", "yes"] if target == "pair" else TREES
        for k, label in enumerate(labels):
            np.testing.assert_allclose(np.array(written[f"p[{label}]"], float), mean[:, k], atol=2e-12)
        assert list(written["prediction"]) == [labels[k] for k in mean.argmax(axis=1)]
        truth = mean[np.arange(333), [labels.index(label) for label in y]]
        np.testing.assert_allclose(said["log_loss"], -np.log(truth).mean(), rtol=1e-10)
        np.testing.assert_allclose(said["error"], (truth < mean.max(axis=1)).mean(), atol=1e-12)
        error = said["error"]
    else:
        np.testing.assert_allclose(np.array(written["mean"], float), mean, rtol=1e-9, atol=1e-9)
        error = said["rmse"]
        np.testing.assert_allclose(error, np.sqrt(((y - mean) ** 2).mean()), rtol=1e-9)
    last = json.loads(site.ok("summary", "fit.run", "--json").stdout)["validation"]["curve"][-1]
    assert last["draws"] == 30 and last["iteration"] == 150
    np.testing.assert_allclose(last["error"], error, rtol=1e-10)
    np.testing.assert_allclose(last["log_loss"], said["log_loss"], rtol=1e-10)


@pytest.mark.parametrize("words", [(), ("--standardize",)])
def test_a_model_of_the_users_predicts(site, words):
    """The example of docs/extending.md: its draws are for the columns as it saw them."""
    model = Path(BUILD) / "examples" / "student_t.so"
    if not model.exists():
        pytest.skip("the example is not built")
    theta = site.sample(model, "old.csv", "--target", "size", "--features", "a,b", "--validate", "new.csv", *SHORT, *words,
                        out="user.run").reshape(30, 4)
    done = site("predict", "user.run", "--data", "new.csv", "--json")
    assert done.returncode == 2 and "--model" in done.stderr  # a file that a run names is not loaded unasked
    said = json.loads(site.ok("predict", "user.run", "--data", "new.csv", "--model", model, "--json").stdout)
    old = rows(1, 400)
    x = np.column_stack([site.new["a"], site.new["b"]])
    if words:
        seen = np.column_stack([old["a"], old["b"]])
        x = (x - seen.mean(axis=0)) / seen.std(axis=0, ddof=1)
    mean = (theta[:, :3] @ np.column_stack([np.ones(333), x]).T).mean(axis=0)
    np.testing.assert_allclose(said["rmse"], np.sqrt(((site.new["size"] - mean) ** 2).mean()), rtol=1e-9)
    curve = json.loads(site.ok("summary", "user.run", "--json").stdout)["validation"]["curve"]
    np.testing.assert_allclose(curve[-1]["log_loss"], said["log_loss"], rtol=1e-10)


def test_a_target_given_by_number_is_found_by_its_name_in_rows_kept_aside(site):
    by_name = site.sample("linear", "old.csv", "--target", "size", "--features", "a,b", "--validate", "new.csv", *SHORT, out="n.run")
    by_number = site.sample("linear", "old.csv", "--target", "8", "--features", "1,2", "--validate", "new.csv", *SHORT, out="m.run")
    np.testing.assert_array_equal(by_name, by_number)
    curves = [json.loads(site.ok("summary", run, "--json").stdout)["validation"]["curve"] for run in ("n.run", "m.run")]
    assert [p["error"] for p in curves[0]] == [p["error"] for p in curves[1]]
