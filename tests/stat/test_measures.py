# SPDX-License-Identifier: MIT
"""The measures of the statistical tests and of the experiments, themselves tested: on chains whose autocorrelation
time is known. And the verdicts of experiments/section9.py on numbers that are and are not of the same kind."""
import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
import pytest

import measures
import section9

D = 4


def autoregression(rho, count, seed):
    """count draws of len(rho) chains with variance 1: tau = (1 + rho)/(1 - rho) each."""
    rng = np.random.default_rng(seed)
    z = np.empty((count, len(rho)))
    z[0] = rng.standard_normal(len(rho))
    noise = rng.standard_normal(z.shape) * np.sqrt(1 - rho**2)
    for t in range(1, count):
        z[t] = rho * z[t - 1] + noise[t]
    return z


@pytest.mark.parametrize("rho", [-0.3, 0.0, 0.8, 0.98])
def test_tau(rho):
    tau, error, resolved = measures.own_tau(3 + 2 * autoregression(np.full(D, rho), 40_000, 1))
    assert resolved
    assert abs(tau - (1 + rho) / (1 - rho)) < 4 * error + 0.01


def test_too_short_for_tau():
    assert not measures.own_tau(autoregression(np.full(D, 0.999), 20_000, 2))[2]  # 10 tau


def test_own_tau_of_a_linear_chain():
    """Two ways of pooling differ where directions do: theory for both, against a simulated chain."""
    cov = np.array([[2.0, 1.2], [1.2, 1.0]])
    L, rate = np.linalg.cholesky(cov), np.array([0.02, 0.5])
    turn = np.array([[0.8, -0.6], [0.6, 0.8]])
    P = L @ turn @ np.diag(rate) @ turn.T @ L.T
    exact = P @ np.linalg.inv(cov)
    Q = cov - (np.eye(2) - exact) @ cov @ (np.eye(2) - exact).T  # no minibatch noise: right variances
    linear = measures.LinearChain(cov, P, np.zeros((2, 2)), Q, np.inf)
    draws = autoregression(1 - rate, 400_000, 3) @ (L @ turn).T
    np.testing.assert_allclose(linear.trR, 1, rtol=1e-9)
    np.testing.assert_allclose(linear.stiffest, 0.5, rtol=1e-9)
    np.testing.assert_allclose(linear.tau, (99 + 3) / 2, rtol=1e-9)
    for expected, (tau, error, resolved) in ((linear.own_tau, measures.own_tau(draws)),
                                             (linear.tau, measures.sokal_tau(draws, np.zeros(2), cov))):
        assert resolved and abs(tau - expected) < 4 * 1.5 * error  # the slow one of two counts for nearly all
    assert abs(linear.own_tau - linear.tau) > 5


# ---- verdicts --------------------------------------------------------------------------------------


def setting(theirs, values, key="E2"):
    runs = [{"E1": 0.002, "E2": 0.07, "trR": 1.0, "tau": 19.0, "resolved": True, "draws": 100_000, key: v} for v in values]
    for k, r in enumerate(runs):  # the others vary, too
        r.update({other: r[other] * (1 + 0.01 * (-1)**k) for other in ("E1", "E2", "trR", "tau") if other != key})
    return {"name": "SGFS-f", "theirs": theirs, "runs": runs, "same": True, "within": None}


def test_printed_numbers():
    assert section9.printed("1.14") == pytest.approx((1.135, 1.145))
    assert section9.printed("82-92") == pytest.approx((81.5, 92.5))
    assert section9.printed("0.0020-0.0028") == pytest.approx((0.00195, 0.00285))


def test_verdicts():
    values = [0.070, 0.072, 0.071, 0.073, 0.069, 0.071]
    agrees = setting(["0.0020", "0.074", "1.00", "19.1", "80"], values)
    assert section9.verdict(agrees, 0.001) == "agrees"
    off = setting(["0.0020", "0.095", "1.00", "19.1", "80"], values)
    assert section9.verdict(off, 0.001).startswith("differs: E2 0.095 of the prototype is outside of 0.0")
    assert "not judged" in section9.verdict({**agrees, "same": False}, 0.001)
    silent = setting(["", "", "", "unresolved", "80"], values)
    assert section9.verdict(silent, 0.001) == "nothing to compare"


def test_false_alarms_are_as_rare_as_promised():
    """One more value of the same kind is inside its interval 95 % of the time."""
    rng = np.random.default_rng(4)
    inside = 0
    for _ in range(8000):
        values = np.exp(rng.standard_normal(5) * 0.3)
        low, high = section9.interval(list(values[:4]), True, 0.05)
        inside += low <= values[4] <= high
    assert abs(inside / 8000 - 0.95) < 4 * np.sqrt(0.95 * 0.05 / 8000)
