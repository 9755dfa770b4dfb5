# SPDX-License-Identifier: MIT
"""The truth of the statistical tests, itself tested: against a Gaussian with known moments and against
integration on a grid. Steps are so large that a wrong Metropolis ratio would show."""
import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
import numpy as np
import pytest

import hmc
import measures

MEAN = np.array([0.3, -1.0, 2.0])
COV = np.array([[1.2, 0.5, 0.0], [0.5, 0.8, -0.3], [0.0, -0.3, 1.5]])


def gaussian(z, want_value):
    centred = z - MEAN[:, None]
    gradient = -np.linalg.solve(COV, centred)
    return ((centred * gradient).sum(0) / 2 if want_value else None), gradient


def in_errors(run, moments, true_mean, true_cov, groups=25):
    """(mean - truth)/error and (cov - truth)/error, errors from the spread over groups of chains."""
    parts = [moments(part) for part in np.array_split(np.arange(run.z.shape[2]), groups)]
    out = []
    for k, truth in enumerate((true_mean, true_cov)):
        values = np.array([p[k] for p in parts])
        out.append(np.abs((values.mean(0) - truth) / (values.std(0, ddof=1) / np.sqrt(groups))).max())
    return out


@pytest.fixture(scope="module")
def gaussian_run():
    rng = np.random.default_rng(1)
    return hmc.sample(gaussian, rng.standard_normal((3, 1000)), 200, rng, accept=0.6)


def test_gaussian_moments(gaussian_run):
    assert 0.5 < gaussian_run.acceptance < 0.7
    mean, cov = hmc.plain_moments(gaussian_run.z)
    np.testing.assert_allclose(mean, MEAN, atol=0.02)
    np.testing.assert_allclose(cov, COV, atol=0.03)
    z_mean, z_cov = in_errors(gaussian_run, lambda p: hmc.plain_moments(gaussian_run.z[:, :, p]), MEAN, COV)
    assert z_mean < 4.5 and z_cov < 4.5


def test_stein_moments_of_a_gaussian(gaussian_run):
    run = gaussian_run
    z_mean, z_cov = in_errors(run, lambda p: hmc.stein_moments(run.z[:, :, p], run.score[:, :, p]), MEAN, COV)
    assert z_mean < 4.5 and z_cov < 4.5


def test_stein_moments_have_no_noise_where_the_target_is_standard_normal():
    z = np.random.default_rng(2).standard_normal((5, 4, 6))
    mean, cov = hmc.stein_moments(z, -z)
    np.testing.assert_allclose(mean, 0, atol=1e-15)
    np.testing.assert_allclose(cov, np.eye(4), atol=1e-15)


def test_leapfrog_goes_back():
    rng = np.random.default_rng(3)
    z, momentum = rng.standard_normal((2, 3, 4))
    new_z, new_momentum, _, gradient = hmc.leapfrog(gaussian, z, momentum, gaussian(z, False)[1], 0.3, 4)
    old_z, old_momentum, _, _ = hmc.leapfrog(gaussian, new_z, -new_momentum, gradient, 0.3, 4)
    np.testing.assert_allclose(old_z, z, atol=1e-12)
    np.testing.assert_allclose(-old_momentum, momentum, atol=1e-12)


@pytest.fixture(scope="module")
def few_rows():
    """Rare events: two parameters, 60 rows, 6 positives; the posterior is skewed."""
    rng = np.random.default_rng(4)
    x = np.column_stack([np.ones(60), rng.standard_normal(60)])
    y = np.zeros(60)
    y[np.argsort(-(x[:, 1] + rng.standard_normal(60)))[:6]] = 1
    return x, y


def test_logistic_target(few_rows):
    x, y = few_rows
    theta = np.random.default_rng(5).standard_normal((2, 3))
    value, gradient = hmc.logistic_target(x, y, 0.5)(theta, True)
    a = x @ theta
    by_hand = (y[:, None] * a - np.logaddexp(0, a)).sum(0) - 0.25 * (theta**2).sum(0)
    np.testing.assert_allclose(value, by_hand, rtol=1e-12)
    for j in range(2):
        step = np.zeros((2, 1))
        step[j] = 1e-5
        up, down = (hmc.logistic_target(x, y, 0.5)(theta + s, True)[0] for s in (step, -step))
        np.testing.assert_allclose(gradient[j], (up - down) / 2e-5, rtol=1e-6, atol=1e-7)


def test_against_a_grid(few_rows):
    x, y = few_rows
    truth = hmc.logistic_truth(x, y, 0.5, chains=2000, iterations=200, seed=6)
    assert 0.8 < truth.acceptance < 0.95
    sd = np.sqrt(np.diag(np.linalg.inv(truth.curvature)))
    axes = [np.linspace(m - 14 * s, m + 10 * s, 600) for m, s in zip(truth.mode, sd)]
    grid = np.stack([g.ravel() for g in np.meshgrid(*axes)])
    log_p = hmc.logistic_target(x, y, 0.5)(grid, True)[0]
    p = np.exp(log_p - log_p.max())
    p /= p.sum()
    mean = grid @ p
    cov = (grid - mean[:, None]) * p @ (grid - mean[:, None]).T
    assert np.abs((truth.plain_mean - mean) / truth.plain_mean_error).max() < 4.5
    assert np.abs((truth.mean - mean) / truth.mean_error).max() < 4.5
    assert np.abs((truth.cov - cov) / truth.cov_error).max() < 4.5
    assert measures.E1(truth.mean, mean) < 0.002 and measures.E2(truth.cov, cov) < 0.01
    assert measures.E1(truth.plain_mean, mean) < 0.004 and measures.E2(truth.plain_cov, cov) < 0.02
    # the Laplace approximation is far off here: none of this was free
    assert measures.E1(truth.mode, mean) > 0.03
    assert measures.E2(np.linalg.inv(truth.curvature), cov) > 0.05
