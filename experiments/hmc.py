# SPDX-License-Identifier: MIT
"""Hamiltonian Monte Carlo in numpy: the truth the samplers are measured against. It shares no code with
sgfs. Many chains run side by side, so that a gradient is two matrix products.

Coordinates are whitened, z = L^-1 (theta - mode) with L L' the inverse curvature at the mode, so that the
target is nearly N(0, I). Its score s = grad log p(z) then nearly equals -z, and with r = z + s two
identities of Stein's hold exactly for any target with light tails,

    E[z] = E[r],      E[(z - m)(z - m)'] = I + E[(z - m) r'] for the mean m

because E[s] = 0 and E[(z - m) s'] = -I. Only r is noisy, and r vanishes where the target is Gaussian:
moments from them need far fewer draws than plain averages, and are unbiased."""
from dataclasses import dataclass

import numpy as np

ROWS = 500  # rows at a time: rows x chains stays in the cache


def logistic_target(x, y, precision):
    """log posterior and its gradient for theta (D x chains); y is 0 or 1, prior N(0, 1/precision)."""
    signed = np.ascontiguousarray(x * (2 * y - 1)[:, None])
    total = signed.sum(0)

    def target(theta, want_value):
        value = total @ theta - precision / 2 * (theta**2).sum(0) if want_value else None
        gradient = -precision * theta
        for start in range(0, len(signed), ROWS):
            rows = signed[start:start + ROWS]
            u = rows @ theta  # log p = sum of -log(1 + exp(-a)) = a - log(1 + exp(a))
            np.exp(u, out=u)
            u += 1
            if want_value:
                value -= np.log(u).sum(0)
            gradient += rows.T @ np.reciprocal(u, out=u)
        return value, gradient

    return target


def logistic_curvature(x, theta, precision):
    p = 1 / (1 + np.exp(-(x @ theta)))
    return (x * (p * (1 - p))[:, None]).T @ x + precision * np.eye(x.shape[1])


def logistic_mode(x, y, precision):
    """Mode by Newton's method, and the curvature (minus the Hessian) there."""
    theta, target = np.zeros((x.shape[1], 1)), logistic_target(x, y, precision)
    for _ in range(50):
        curvature = logistic_curvature(x, theta[:, 0], precision)
        move = np.linalg.solve(curvature, target(theta, False)[1])
        theta += move
        if np.abs(move).max() < 1e-10:
            return theta[:, 0], curvature
    raise RuntimeError("Newton's method did not converge")


def whitened(target, centre, curvature):
    """The target in z, theta = centre + L z, and L."""
    L = np.linalg.inv(np.linalg.cholesky(curvature)).T

    def white(z, want_value):
        value, gradient = target(centre[:, None] + L @ z, want_value)
        return value, L.T @ gradient

    return white, L


def leapfrog(target, z, momentum, gradient, step, count):
    z, momentum = z.copy(), momentum + step / 2 * gradient
    for k in range(count):
        z += step * momentum
        value, gradient = target(z, k == count - 1)
        momentum += (step / 2 if k == count - 1 else step) * gradient
    return z, momentum, value, gradient


@dataclass
class Draws:
    z: np.ndarray  # iterations x D x chains
    score: np.ndarray  # the same: grad log p(z)
    acceptance: float
    step: float


def sample(target, start, iterations, rng, step=0.5, leapfrogs=(2, 3, 4, 5), warmup=60, accept=0.9):
    """One draw per iteration and chain; start is D x chains. With a warm-up the step is adapted in it to the
    acceptance wanted, and held afterwards; the number of leapfrogs is drawn anew each iteration."""
    z = start.copy()
    value, gradient = target(z, True)
    kept = np.empty((2, iterations) + z.shape)
    accepted = 0.0
    for t in range(-warmup, iterations):
        momentum = rng.standard_normal(z.shape)
        new_z, new_momentum, new_value, new_gradient = leapfrog(
            target, z, momentum, gradient, step, rng.choice(leapfrogs))
        # log of the Metropolis ratio p(new) exp(-|new momentum|^2/2) / (p(old) exp(-|momentum|^2/2))
        log_ratio = (new_value - (new_momentum**2).sum(0) / 2) - (value - (momentum**2).sum(0) / 2)
        taken = np.log(rng.random(z.shape[1])) < log_ratio
        z, gradient = np.where(taken, new_z, z), np.where(taken, new_gradient, gradient)
        value = np.where(taken, new_value, value)
        rate = np.exp(np.minimum(log_ratio, 0)).mean()
        if t < 0:
            step *= np.exp((rate - accept) / (1 + (t + warmup) / 5))
        else:
            accepted += rate / iterations
            kept[:, t] = z, gradient
    return Draws(kept[0], kept[1], accepted, step)


def plain_moments(z):
    flat = z.transpose(0, 2, 1).reshape(-1, z.shape[1])
    return flat.mean(0), np.cov(flat, rowvar=False).reshape(z.shape[1], z.shape[1])


def stein_moments(z, score):
    """Mean and covariance by the identities above; z and score are iterations x D x chains."""
    flat = z.transpose(0, 2, 1).reshape(-1, z.shape[1])
    r = flat + score.transpose(0, 2, 1).reshape(flat.shape)
    mean = r.mean(0)
    cross = (flat - flat.mean(0)).T @ (r - mean) / (len(flat) - 1)
    return mean, np.eye(len(mean)) + (cross + cross.T) / 2


@dataclass
class Truth:
    mode: np.ndarray
    curvature: np.ndarray  # at the mode
    mean: np.ndarray
    cov: np.ndarray
    mean_error: np.ndarray  # standard errors, from the spread over groups of chains
    cov_error: np.ndarray
    plain_mean: np.ndarray  # without Stein's identities
    plain_cov: np.ndarray
    plain_mean_error: np.ndarray
    draws: np.ndarray  # some thousands of theta, rows
    acceptance: float
    count: int


def logistic_truth(x, y, precision, chains, iterations, seed, groups=10):
    """Posterior moments of Bayesian logistic regression and their standard errors."""
    rng = np.random.default_rng(seed)
    mode, curvature = logistic_mode(x, y, precision)
    white, L = whitened(logistic_target(x, y, precision), mode, curvature)
    run = sample(white, rng.standard_normal((len(mode), chains)), iterations, rng)
    parts = np.array_split(np.arange(chains), groups)

    def back(moments):
        return mode + L @ moments[0], L @ moments[1] @ L.T

    def error(values):
        return np.std(values, axis=0, ddof=1) / np.sqrt(groups)

    stein = [back(stein_moments(run.z[:, :, p], run.score[:, :, p])) for p in parts]
    plain = [back(plain_moments(run.z[:, :, p])) for p in parts]
    mean, cov = back(stein_moments(run.z, run.score))
    plain_mean, plain_cov = back(plain_moments(run.z))
    some = run.z[::max(1, iterations // 10)].transpose(0, 2, 1).reshape(-1, len(mode))
    return Truth(mode, curvature, mean, cov, error([m for m, _ in stein]), error([c for _, c in stein]),
                 plain_mean, plain_cov, error([m for m, _ in plain]), mode + some @ L.T, run.acceptance,
                 chains * iterations)
