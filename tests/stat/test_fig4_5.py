# SPDX-License-Identifier: MIT
"""experiments/fig4_5.py: what it measures the truth and the chains by, on draws that are known; images of a DRBM's mode by the
model's own formula; and its verdicts, on numbers on both sides."""
import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
import copy
import gzip
import pathlib

import numpy as np
import pytest

SOURCE = pathlib.Path(os.environ.get("SGFS_SOURCE") or pathlib.Path(__file__).parents[2])
import fig4_5  # noqa: E402
import fig4_5_words as words  # noqa: E402
import six_classes  # noqa: E402

CLASSES, COLUMNS = 3, 4
D = 2 * (1 + COLUMNS) + 3 * CLASSES


def log_probabilities(theta, x):
    """Of every label, by docs/models.md."""
    W, U, d = np.split(theta, [2 * (1 + COLUMNS), D - CLASSES])
    a = np.column_stack([np.ones(len(x)), x]) @ W.reshape(2, -1).T
    score = d + np.logaddexp(0, a[:, :, None] + U.reshape(2, -1)).sum(1)
    return score - np.logaddexp.reduce(score, 1, keepdims=True)


def test_images_mean_the_same():
    rng = np.random.default_rng(1)
    point, x = 2 * rng.standard_normal(D), rng.standard_normal((20, COLUMNS))
    all_images = list(fig4_5.images(point, CLASSES))
    assert np.array_equal(all_images[0], point)
    assert len({tuple(i.round(6)) for i in all_images}) == 8
    for image in all_images:
        assert np.allclose(log_probabilities(image, x), log_probabilities(point, x), atol=1e-9)


def test_elsewhere():
    rng = np.random.default_rng(2)
    point = 2 * rng.standard_normal(D)
    draws = point + 0.05 * rng.standard_normal((100, D))
    assert fig4_5.elsewhere(draws, point, CLASSES) == 0
    draws[:25] += list(fig4_5.images(point, CLASSES))[5] - point
    assert fig4_5.elsewhere(draws, point, CLASSES) == 0.25


def test_rhat():
    rng = np.random.default_rng(3)
    runs = [rng.standard_normal((400, 3)) for _ in range(10)]
    assert fig4_5.rhat(runs) < 1.02
    apart = [r + [0, 0, 1.0 * (k < 5)] for k, r in enumerate(runs)]  # between 1/4 beside 1 within
    assert fig4_5.rhat(apart) == pytest.approx(np.sqrt(1 + 0.25), abs=0.03)
    drifting = [r + np.linspace(0, 2, 400)[:, None] for r in runs]  # all alike: only halves tell
    assert fig4_5.rhat(drifting) == pytest.approx(np.sqrt(1 + 0.25 / (1 + 1 / 12)), abs=0.03)


def test_noise_of_the_truth():
    """Of independent draws: E1 is c1/sqrt(T), E2 c2/sqrt(T), and trR T/(T - D - 1)."""
    rng = np.random.default_rng(4)
    L = np.tril(rng.standard_normal((D, D))) + 3 * np.eye(D)
    mean, cov = np.full(D, 5.0), L @ L.T
    runs = [mean + rng.standard_normal((40, D)) @ L.T for _ in range(30)]
    found = fig4_5.halves(runs)
    T = 1200
    assert found["E1_noise"] == pytest.approx(fig4_5.measures.c1(mean, cov) / np.sqrt(T), rel=0.25)
    assert found["E2_noise"] == pytest.approx(fig4_5.measures.c2(cov) / np.sqrt(T), rel=0.25)
    assert found["trR_right"] == pytest.approx(T / (T - D - 1), abs=0.006)
    assert found["effective"] == pytest.approx(T, rel=0.2)


def test_most_correlated_pairs():
    cov = np.diag([1.0, 4.0, 9.0, 1.0])
    cov[0, 2] = cov[2, 0] = -2.4  # -0.8
    cov[1, 3] = cov[3, 1] = 1.2  # 0.6
    assert fig4_5.correlated(cov)[:2] == [[0, 2], [1, 3]]


def test_rows(tmp_path):
    """Words by appearance, columns from 0 to 1, rows of other classes left out, the same rows both ways."""
    def line(duration, protocol, label):
        return ",".join([str(duration), protocol, "http", "SF", *["0"] * 37, label])
    lines = [line(*c) for c in ((0, "udp", "smurf."), (5, "tcp", "normal."), (3, "tcp", "back."), (0, "udp", "smurf."),
                                (10, "icmp", "satan."))]
    with gzip.open(tmp_path / "rows.gz", "wt") as file:
        file.write("\n".join(lines) + "\n")
    order, text, about = six_classes.read(tmp_path / "rows.gz", 1)
    assert order == [0, 1, 0, 2]
    cells = [t.split(",") for t in text]
    assert [[c[0], c[1], c[-1]] for c in cells] == [["0", "0", "smurf"], ["0.5", "0.5", "normal"], ["1", "1", "satan"]]
    assert all(len(c) == 41 for c in cells)
    assert about["rows"] == 4 and about["different"] == 3 and about["columns"] == 40
    assert about["classes"] == {"smurf": 2, "normal": 1, "satan": 1} and len(about["constant"]) == 38


# ---- verdicts


def chain(family, label, tau, error, score):
    return {"family": family, "label": label, "state": "", "elsewhere": 0.0, "trR": 1.0, "tau": tau, "us": 100.0, "draws": 10**5,
            "E1": error, "E2": error, "E1_noise": 0.01, "E2_noise": 0.01, "resolved": True,
            "pairs": [{"score": score} for _ in range(25)]}


@pytest.fixture
def found():
    return {"hmc": {"rhat": 1.01, "effective": 10_000.0, "runs": 30, "draws": 4000, "step": 0.3, "acceptance": 0.8},
            "standardised": {"step": 0.02, "runs": 4, "draws": 1500, "rhat": 5.0, "rhat_here": 1.03},
            "methods": [chain("sgfs-f", "alpha 2", 30, 0.1, 0.05), chain("sgld", "epsilon 0.0001", 500, 0.2, 0.3)]}


def test_verdicts_that_confirm(found):
    assert [v.startswith("confirmed") for _, _, v in words.claims(found)] == [True] * 3


def broken(found, change):
    found = copy.deepcopy(found)
    change(found)
    return [not v.startswith("confirmed") for _, _, v in words.claims(found)]


def test_verdicts_that_do_not(found):
    assert broken(found, lambda f: f["hmc"].update(rhat=1.2)) == [True, False, False]
    assert broken(found, lambda f: [p.update(score=0.4) for p in f["methods"][0]["pairs"][:7]]) == [False, True, False]
    assert broken(found, lambda f: [p.update(score=0.4) for p in f["methods"][0]["pairs"][:6]]) == [False, False, False]
    assert broken(found, lambda f: f["methods"][1].update(tau=20)) == [False, False, True]
    assert broken(found, lambda f: f["methods"][1].update(E2=0.05, E1=0.05)) == [False, False, True]


def test_chains_that_left(found):
    for change in ({"state": "diverged"}, {"elsewhere": 0.5}, {"trR": 1e5}):
        gone = {**found["methods"][0], **change}
        assert not words.stayed(gone)
        assert broken(found, lambda f, gone=gone: f.update(methods=[gone, f["methods"][1]])) == [False, True, True]
