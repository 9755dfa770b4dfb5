# SPDX-License-Identifier: MIT
"""What a run is measured by, what chance alone gives, and the thresholds of the tests (docs/math.md,
section 9). A run is an array of draws x D, the truth a mean and a covariance."""
import numpy as np
from scipy.linalg import solve_discrete_lyapunov


def E1(mean, true_mean):
    return np.abs(mean - true_mean).sum() / np.abs(true_mean).sum()


def E2(cov, true_cov):
    return np.abs(cov - true_cov).sum() / np.abs(true_cov).sum()


def trR(cov, true_cov):
    return np.trace(np.linalg.solve(true_cov, cov)) / len(cov)


# ---- the size of Monte Carlo noise ----------------------------------------------------------------


def c1(true_mean, true_cov):
    """E1 of one independent draw's worth of noise: expect c1 sqrt(tau/T)."""
    return np.sqrt(2 / np.pi) * np.sqrt(np.diag(true_cov)).sum() / np.abs(true_mean).sum()


def c2(true_cov):
    """The same for E2: expect c2 sqrt(tau2/T)."""
    var = np.diag(true_cov)
    return np.sqrt(2 / np.pi) * np.sqrt(np.outer(var, var) + true_cov**2).sum() / np.abs(true_cov).sum()


def tau(gamma, alpha):
    """Autocorrelation time of SGFS on a quadratic posterior."""
    return gamma * (1 + alpha**2) - 1


def tau2(gamma, alpha):
    """That of its squares: an AR(1) chain with coefficient rho."""
    rho = 1 - 2 / (gamma * (1 + alpha**2))
    return (1 + rho**2) / (1 - rho**2)


class Thresholds:
    """Section 9: E2 <= 1.3 c2 sqrt(tau2/T) + 0.005 (1.5 where T/tau < 300), E1 <= 1.8 c1 sqrt(tau/T) + 0.0005,
    trR within max(0.02, 4 sqrt(2 tau2/(T D))) of 1."""

    def __init__(self, true_mean, true_cov, draws, gamma, alpha):
        t, t2 = tau(gamma, alpha), tau2(gamma, alpha)
        self.expected_E2 = c2(true_cov) * np.sqrt(t2 / draws)
        self.E2 = (1.5 if draws / t < 300 else 1.3) * self.expected_E2 + 0.005
        self.E1 = 1.8 * c1(true_mean, true_cov) * np.sqrt(t / draws) + 0.0005
        self.trR = max(0.02, 4 * np.sqrt(2 * t2 / (draws * len(true_mean))))


def monte_carlo(draws, true_mean, true_cov, batches=25):
    """What Monte Carlo error alone gives in E1, in E2, and as one standard error of trR, whatever the chain: from the
    spread of means over batches, each of which is to be many autocorrelation times long."""
    L = np.linalg.cholesky(true_cov)
    parts = np.array_split(draws - draws.mean(0), batches)
    means = np.array([p.mean(0) for p in parts])
    seconds = np.array([p.T @ p / len(p) for p in parts])
    ratios = np.array([np.trace(np.linalg.solve(L, np.linalg.solve(L, s).T)) / len(L) for s in seconds])

    def error(values):
        return values.std(0, ddof=1) / np.sqrt(batches)

    half = np.sqrt(2 / np.pi)  # E|x| of N(0, 1)
    return (half * error(means).sum() / np.abs(true_mean).sum(), half * error(seconds).sum() / np.abs(true_cov).sum(),
            error(ratios))


# ---- autocorrelation time -------------------------------------------------------------------------


def pooled_autocov(draws, true_mean, true_cov, lags):
    """Autocovariances at lags 0 to lags, summed over the coordinates that the truth makes independent."""
    T = len(draws)
    z = np.linalg.solve(np.linalg.cholesky(true_cov), (draws - true_mean).T)
    size = 1 << (T + lags).bit_length()
    power = np.zeros(size // 2 + 1)
    for row in z:  # one coordinate at a time: memory
        power += np.abs(np.fft.rfft(row, size))**2
    return np.fft.irfft(power, size)[:lags + 1] / (T - np.arange(lags + 1))


def pooled_tau(draws, true_mean, true_cov, window):
    """1 + 2 sum of rho(s), s <= window, with rho averaged over the coordinates that the truth makes
    independent; and its standard error (Sokal 1997: relative variance 2(2 window + 1)/T each)."""
    T, D = draws.shape
    autocov = pooled_autocov(draws, true_mean, true_cov, window)
    value = 1 + 2 * autocov[1:].sum() / autocov[0]
    return value, value * np.sqrt(2 * (2 * window + 1) / (T * D))


def sokal_tau(draws, true_mean, true_cov):
    """pooled_tau with Sokal's window, the first that is five times what comes out (at least 10): tau and its standard
    error, in draws; and whether the chain is long enough to know it, 50 tau. Where it is not, tau is a lower bound."""
    T, D = draws.shape
    most = max(1, T // 4)
    autocov = pooled_autocov(draws, true_mean, true_cov, most)
    values = 1 + 2 * np.cumsum(autocov[1:]) / autocov[0]
    windows = np.arange(1, most + 1)
    enough = np.flatnonzero(windows >= np.maximum(10, 5 * values))
    at = enough[0] if len(enough) else most - 1
    return values[at], abs(values[at]) * np.sqrt(2 * (2 * windows[at] + 1) / (T * D)), bool(T >= 50 * values[at])


def own_tau(draws):
    """sokal_tau over the parameters themselves, each about its own mean: what the autocorrelation time of a chain
    commonly means. Slow directions count for more than in coordinates that the truth makes independent."""
    return sokal_tau(draws, draws.mean(0), np.diag(draws.var(0)))


# ---- linear theory --------------------------------------------------------------------------------


class LinearChain:
    """theta += P (G + noise of covariance S) + noise of covariance Q, where G has the regression -A (theta -
    mean) on theta. A = C*^-1 holds exactly for the truth's covariance C* (Stein), so that this is the best
    linear description of a chain that is near the truth. tau is pooled as in pooled_tau, own_tau over the parameters
    themselves; trR and trR_error are the expectation and standard error after T draws (about their own mean, which
    takes tau/T off). stiffest: the largest of the eigenvalues of P A; the chain diverges beyond 2."""

    def __init__(self, true_cov, P, S, Q, T):
        D = len(true_cov)
        M = np.eye(D) - P @ np.linalg.inv(true_cov)
        cov = solve_discrete_lyapunov(M, P @ S @ P.T + Q)
        # coordinates in which C* = I and I - M is diagonal (P is symmetric)
        rate, basis = np.linalg.eigh(_whiten(true_cov, P))
        rho, var = 1 - rate, np.diag(basis.T @ _whiten(true_cov, cov) @ basis)
        tau = (1 + rho) / (1 - rho)
        self.stiffest = rate[-1]
        self.tau = tau.mean()
        parts = (np.linalg.cholesky(true_cov) @ basis)**2 * var  # each coordinate's share in each parameter's variance
        self.own_tau = (parts @ tau / parts.sum(1)).mean()
        self.trR = (var * (1 - tau / T)).mean()
        self.trR_error = np.sqrt(2 * np.sum(var**2 * (1 + rho**2) / (1 - rho**2)) / T) / D


def _whiten(true_cov, matrix):
    """L^-1 matrix L^-T, L L' = C*."""
    L = np.linalg.cholesky(true_cov)
    return np.linalg.solve(L, np.linalg.solve(L, matrix).T)
