# SPDX-License-Identifier: MIT
"""Reference posteriors by a NUTS that is not ours (NumPyro), for tests/stat/test_reference.py.

    make_nuts.py            make the data (CSV) and the results (JSON) of every problem
    make_nuts.py --check    recompute the stored moments by a method without Markov chains; exit 1
                            where they disagree by more than Monte Carlo error

The first needs numpyro, jax and arviz, the second only numpy and scipy; neither needs sgfs. The
densities are written three times on purpose: in C in sgfs, in jax here for NUTS, in numpy here for
the check.

All posteriors have the prior N(0, 1/lambda) on every parameter, the intercept and log_sigma too,
and see the columns as they stand in the CSV:

    logistic   log p = sum_i [y_i eta_i - log(1 + exp eta_i)] - lambda/2 |beta|^2,  eta = X beta
    linear     log p = -N log_sigma - |y - X beta|^2 / (2 sigma^2) - lambda/2 (|beta|^2 + log_sigma^2)
    poisson    log p = sum_i [y_i eta_i - exp eta_i] - lambda/2 |beta|^2,  eta = X beta + log exposure
    softmax    log p = sum_i [eta_i,y_i - log sum_k exp eta_ik] - lambda/2 |B|^2,  eta = X B'

X (N x p) has a column of ones first. theta = beta, or (beta, log_sigma), or the K rows of B (K x p).
"""
import argparse
import datetime
import json
import platform
import sys
from pathlib import Path

import numpy as np

HERE = Path(__file__).resolve().parent
PROBS = (0.05, 0.5, 0.95)
CHAINS, WARMUP, DRAWS = 4, 5000, 50000
TARGET_ACCEPT = 0.9
Z_MOST = 4.5

# ---- problems ------------------------------------------------------------------------------------


def correlated_columns(rng, rows, scales):
    """Columns with correlations up to 0.8 and scales as far apart as asked, three decimals."""
    p = len(scales)
    mix = np.eye(p) + np.tril(np.full((p, p), 0.75), -1)
    x = rng.standard_normal((rows, p)) @ mix.T
    x /= np.sqrt((mix**2).sum(1))
    return np.round(x * scales, 3)


def logistic_data():
    """500 rows of which about one in fifteen is positive: the posterior is visibly skewed."""
    rng = np.random.Generator(np.random.PCG64(20120626))
    x = correlated_columns(rng, 500, np.array([1.0, 6.0, 0.25, 2.0]))
    eta = -3.4 + x @ np.array([0.9, -0.11, 1.7, 0.35])
    return x, (rng.random(500) < 1 / (1 + np.exp(-eta))).astype(float)


def linear_data():
    rng = np.random.Generator(np.random.PCG64(20120701))
    x = correlated_columns(rng, 200, np.array([1.0, 5.0, 0.3]))
    mean = 1.3 + x @ np.array([-0.8, 0.4, 2.1])
    return x, np.round(mean + 2.4 * rng.standard_normal(200), 3)


def poisson_data():
    """250 counts of mean about 1 over exposures that differ by a factor of 8."""
    rng = np.random.Generator(np.random.PCG64(20120708))
    x = correlated_columns(rng, 250, np.array([1.0, 4.0, 0.25]))
    exposure = np.round(np.exp(rng.uniform(-0.7, 1.4, 250)), 3)
    eta = -0.9 + x @ np.array([0.55, -0.12, 1.1])
    return np.column_stack([x, exposure]), rng.poisson(exposure * np.exp(eta)).astype(float)


def softmax_data():
    """250 rows in three classes, 1 to 3, the first of them rare."""
    rng = np.random.Generator(np.random.PCG64(20120709))
    x = correlated_columns(rng, 250, np.array([1.0, 3.0]))
    eta = np.column_stack([np.ones(250), x]) @ np.array([[-1.6, 0.7, 0.2], [0.4, -0.5, 0.1], [0.3, 0.6, -0.35]]).T
    return x, 1.0 + np.argmax(eta + rng.gumbel(size=eta.shape), axis=1)


PROBLEMS = {
    "logistic": {"make": logistic_data, "lambda": 0.5, "seed": 717, "columns": ["a", "b", "c", "d"]},
    "linear": {"make": linear_data, "lambda": 2.0, "seed": 718, "columns": ["a", "b", "c"]},
    "poisson": {"make": poisson_data, "lambda": 0.7, "seed": 719, "columns": ["a", "b", "c"], "exposure": True},
    "softmax": {"make": softmax_data, "lambda": 0.3, "seed": 720, "columns": ["a", "b"], "classes": ["1", "2", "3"]},
}


def write_csv(name):
    x, y = PROBLEMS[name]["make"]()
    header = ",".join(PROBLEMS[name]["columns"] + (["exposure"] if "exposure" in PROBLEMS[name] else []) + ["y"])
    form = ["%.3f"] * x.shape[1] + ["%.3f" if name == "linear" else "%.0f"]
    np.savetxt(HERE / f"{name}.csv", np.column_stack([x, y]), delimiter=",", header=header, comments="",
               fmt=form)


def read_csv(name):
    """X with its column of ones, and y, as they stand in the file."""
    table = np.loadtxt(HERE / f"{name}.csv", delimiter=",", skiprows=1)
    p = len(PROBLEMS[name]["columns"])
    return np.column_stack([np.ones(len(table)), table[:, :p]]), table[:, -1]


def read_exposure(name):
    """The column before the last, or ones."""
    table = np.loadtxt(HERE / f"{name}.csv", delimiter=",", skiprows=1)
    return table[:, -2] if "exposure" in PROBLEMS[name] else np.ones(len(table))


def param_names(name):
    row = ["intercept"] + PROBLEMS[name]["columns"]
    if "classes" in PROBLEMS[name]:
        return [f"{label}: {column}" for label in PROBLEMS[name]["classes"] for column in row]
    return row + (["log_sigma"] if name == "linear" else [])


# ---- NUTS ----------------------------------------------------------------------------------------


def potential(name, x, y, lam):
    import jax.numpy as jnp
    from jax.scipy.special import logsumexp

    log_exposure = jnp.log(read_exposure(name))

    def logistic(theta):
        eta = x @ theta
        return -jnp.sum(y * eta - jnp.logaddexp(0.0, eta)) + 0.5 * lam * jnp.sum(theta**2)

    def linear(theta):
        r = y - x @ theta[:-1]
        data = len(y) * theta[-1] + 0.5 * jnp.sum(r**2) * jnp.exp(-2 * theta[-1])
        return data + 0.5 * lam * jnp.sum(theta**2)

    def poisson(theta):
        eta = x @ theta + log_exposure
        return -jnp.sum(y * eta - jnp.exp(eta)) + 0.5 * lam * jnp.sum(theta**2)

    def softmax(theta):
        eta = x @ theta.reshape(-1, x.shape[1]).T
        own = jnp.take_along_axis(eta, y[:, None].astype(int) - 1, axis=1)[:, 0]
        return -jnp.sum(own - logsumexp(eta, axis=1)) + 0.5 * lam * jnp.sum(theta**2)

    return {"logistic": logistic, "linear": linear, "poisson": poisson, "softmax": softmax}[name]


def run_nuts(name, seed):
    """Draws (chains x draws x D) and what the sampler says of itself."""
    import jax
    from numpyro.infer import MCMC, NUTS

    jax.config.update("jax_enable_x64", True)
    x, y = read_csv(name)
    kernel = NUTS(potential_fn=potential(name, x, y, PROBLEMS[name]["lambda"]), dense_mass=True,
                  target_accept_prob=TARGET_ACCEPT)
    mcmc = MCMC(kernel, num_warmup=WARMUP, num_samples=DRAWS, num_chains=CHAINS, chain_method="vectorized",
                progress_bar=False)
    start = np.random.default_rng(seed).uniform(-0.5, 0.5, (CHAINS, len(param_names(name))))
    mcmc.run(jax.random.PRNGKey(seed), init_params=jax.numpy.asarray(start),
             extra_fields=("diverging", "accept_prob", "num_steps"))
    draws = np.asarray(mcmc.get_samples(group_by_chain=True))
    assert draws.dtype == np.float64 and draws.shape == (CHAINS, DRAWS, start.shape[1])
    return draws, {k: np.asarray(v) for k, v in mcmc.get_extra_fields().items()}


# ---- results -------------------------------------------------------------------------------------


def per_param(draws, function):
    return [float(function(draws[:, :, i])) for i in range(draws.shape[2])]


def describe(draws):
    """Moments and quantiles, each with its Monte Carlo error (ArviZ's)."""
    import arviz

    D = draws.shape[2]
    flat = draws.reshape(-1, D)
    centred = draws - flat.mean(0)
    cov_error = [[float(arviz.mcse(centred[:, :, i] * centred[:, :, j], method="mean")) for j in range(D)]
                 for i in range(D)]
    ess = {m: per_param(draws, lambda a, m=m: arviz.ess(a, method=m)) for m in ("bulk", "tail", "mean", "sd")}
    return {
        "mean": flat.mean(0).tolist(),
        "cov": np.cov(flat.T).tolist(),
        "ess": min(min(ess["mean"]), min(ess["sd"])),
        "sd": flat.std(0, ddof=1).tolist(),
        "mcse_mean": per_param(draws, lambda a: arviz.mcse(a, method="mean")),
        "mcse_sd": per_param(draws, lambda a: arviz.mcse(a, method="sd")),
        "mcse_cov": cov_error,
        "quantiles": {
            "prob": list(PROBS),
            "value": [np.quantile(flat, p, axis=0).tolist() for p in PROBS],
            "mcse": [per_param(draws, lambda a, p=p: arviz.mcse(a, method="quantile", prob=p)) for p in PROBS],
            "ess": [per_param(draws, lambda a, p=p: arviz.ess(a, method="quantile", prob=p)) for p in PROBS],
        },
        "ess_bulk": ess["bulk"], "ess_tail": ess["tail"], "ess_mean": ess["mean"], "ess_sd": ess["sd"],
        "r_hat": per_param(draws, arviz.rhat),
    }


def tools():
    import arviz
    import jax
    import numpyro

    return {"python": platform.python_version(), "numpy": np.__version__, "numpyro": numpyro.__version__,
            "jax": jax.__version__, "arviz": arviz.__version__}


def settings(seed, extra):
    return {"kind": "numpyro.infer.NUTS", "chains": CHAINS, "warmup": WARMUP, "draws": DRAWS, "seed": seed,
            "target_accept_prob": TARGET_ACCEPT, "dense_mass": True, "max_tree_depth": 10, "float": 64,
            "divergent": int(extra["diverging"].sum()), "acceptance_rate": float(extra["accept_prob"].mean()),
            "steps_per_draw": float(extra["num_steps"].mean())}


def make(name, seed):
    write_csv(name)
    draws, extra = run_nuts(name, seed)
    x, y = read_csv(name)
    result = {"names": param_names(name), **describe(draws), "model": name, "data": f"{name}.csv",
              "rows": len(y), "prior_precision": PROBLEMS[name]["lambda"], "sampler": settings(seed, extra),
              "tools": tools(), "date": datetime.date.today().isoformat()}
    result["check"] = check(name, result)
    (HERE / f"{name}.json").write_text(json.dumps(result, indent=1) + "\n")


# ---- check: no Markov chain ----------------------------------------------------------------------
#
# Every check returns the same dictionary: mean (D), cov (D x D), below (3 x D: probability of lying
# below the stored quantiles) and an error for each.


def check_linear(x, y, lam, cut):
    """Given sigma, beta is Gaussian: A = X'X/sigma^2 + lambda I, beta ~ N(A^-1 X'y/sigma^2, A^-1). One
    integral over s = log_sigma is left, by the trapezoidal rule, which is exact to rounding here."""
    from scipy.special import ndtr

    s = np.linspace(-1.0, 3.0, 4001)
    N, p = x.shape
    weight, centre, inner = np.empty(len(s)), np.empty((len(s), p)), np.empty((len(s), p, p))
    for k, v in enumerate(np.exp(-2 * s)):
        A = v * x.T @ x + lam * np.eye(p)
        inner[k] = np.linalg.inv(A)
        centre[k] = v * inner[k] @ (x.T @ y)
        # log of the integral over beta: evidence of y given sigma
        weight[k] = (-N * s[k] - 0.5 * v * y @ y + 0.5 * v * (x.T @ y) @ centre[k]
                     - 0.5 * np.linalg.slogdet(A)[1] - 0.5 * lam * s[k]**2)
    weight = np.exp(weight - weight.max())
    assert weight[0] < 1e-20 and weight[-1] < 1e-20
    weight /= weight.sum()
    point = np.column_stack([centre, s])
    mean = weight @ point
    cov = (point - mean).T @ ((point - mean) * weight[:, None])
    cov[:p, :p] += np.einsum("k,kij->ij", weight, inner)
    sd = np.sqrt(np.einsum("kii->ki", inner))
    below = [[weight @ ndtr((q[i] - centre[:, i]) / sd[:, i]) for i in range(p)]
             + [np.interp(q[p], s + 0.5 * (s[1] - s[0]), np.cumsum(weight))] for q in cut]
    zero = np.zeros
    return {"method": "quadrature over log_sigma, exact given it", "mean": mean, "cov": cov,
            "below": np.array(below), "mean_error": zero(p + 1), "cov_error": zero((p + 1, p + 1)),
            "below_error": zero((3, p + 1))}


def logistic_parts(x, y, exposure, theta):
    """Log likelihood of each theta (... x D); and of one theta, its gradient and Hessian."""
    eta = theta @ x.T
    value = (eta * y - np.logaddexp(0, eta)).sum(-1)
    if theta.ndim > 1:
        return value
    prob = 1 / (1 + np.exp(-eta))
    return value, x.T @ (y - prob), x.T @ (x * (prob * (1 - prob))[:, None])


def poisson_parts(x, y, exposure, theta):
    eta = theta @ x.T + np.log(exposure)
    mu = np.exp(eta)
    value = (eta * y - mu).sum(-1)
    return value if theta.ndim > 1 else (value, x.T @ (y - mu), x.T @ (x * mu[:, None]))


def softmax_parts(x, y, exposure, theta):
    p, one = x.shape[1], (y[:, None] == np.unique(y)).astype(float)
    eta = np.einsum("...kj,ij->...ik", theta.reshape(*theta.shape[:-1], -1, p), x)
    top = eta.max(-1, keepdims=True)
    part = np.exp(eta - top)
    total = part.sum(-1)
    value = ((eta * one).sum(-1) - top[..., 0] - np.log(total)).sum(-1)
    if theta.ndim > 1:
        return value
    prob = part / total[:, None]
    weight = prob[:, :, None] * (np.eye(prob.shape[1]) - prob[:, None, :])
    hessian = np.einsum("ikl,ia,ib->kalb", weight, x, x).reshape(len(theta), -1)
    return value, ((one - prob).T @ x).ravel(), hessian


PARTS = {"logistic": logistic_parts, "poisson": poisson_parts, "softmax": softmax_parts}


def find_mode(parts, x, y, exposure, lam, D):
    theta = np.zeros(D)
    for _ in range(100):
        _, gradient, hessian = parts(x, y, exposure, theta)
        A = hessian + lam * np.eye(D)
        theta = theta + np.linalg.solve(A, gradient - lam * theta)
    return theta, A


def importance_batch(log_p, mode, root, df, points, seed):
    """One scrambled Sobol set through a multivariate t at the mode: points and log weights, up to the
    constants of both densities."""
    from scipy.stats import chi2, norm, qmc

    p = len(mode)
    u = qmc.Sobol(p + 1, scramble=True, rng=np.random.default_rng(seed)).random(points)
    u = np.clip(u, 1e-15, 1 - 1e-15)
    t = norm.ppf(u[:, :p]) / np.sqrt(chi2.ppf(u[:, p:], df) / df)
    theta = mode + t @ root.T
    value = np.concatenate([log_p(some) for some in np.array_split(theta, max(1, points // 2048))])
    log_q = -0.5 * (df + p) * np.log1p((t**2).sum(1) / df)
    return theta, value - log_q


def check_importance(name, x, y, lam, cut, points=1 << 15, batches=16):
    """Importance sampling from a t with 8 degrees of freedom and 1.2 times the Laplace covariance, by
    scrambled Sobol points; errors from the spread over independent scrambles."""
    parts, exposure = PARTS[name], read_exposure(name)
    mode, A = find_mode(parts, x, y, exposure, lam, cut.shape[1])
    root = np.linalg.cholesky(1.2 * np.linalg.inv(A))

    def log_p(theta):
        return parts(x, y, exposure, theta) - 0.5 * lam * (theta**2).sum(1)

    runs, share = [], []
    for b in range(batches):
        theta, log_w = importance_batch(log_p, mode, root, 8, points, 9000 + b)
        w = np.exp(log_w - log_w.max())
        w /= w.sum()
        mean = w @ theta
        cov = (theta - mean).T @ ((theta - mean) * w[:, None])
        below = np.array([[w @ (theta[:, i] < q[i]) for i in range(len(mode))] for q in cut])
        runs.append((mean, cov, below))
        share.append(1 / (w**2).sum() / points)
    out = {"method": f"importance sampling, {batches} x {points} scrambled Sobol points, weights worth "
                     f"{min(share):.2f} of the points"}
    for k, key in enumerate(("mean", "cov", "below")):
        values = np.array([run[k] for run in runs])
        out[key] = values.mean(0)
        out[key + "_error"] = values.std(0, ddof=1) / np.sqrt(batches)
    return out


def check(name, stored, **how):
    """Compare stored moments and quantiles with the check; returns what is written into the result."""
    x, y = read_csv(name)
    q = stored["quantiles"]
    cut, D = np.array(q["value"]), len(stored["mean"])
    lam = stored["prior_precision"]
    truth = check_linear(x, y, lam, cut) if name == "linear" else check_importance(name, x, y, lam, cut, **how)
    prob = np.array(q["prob"])[:, None]
    pairs = np.tril_indices(D)
    z = {
        "mean": (stored["mean"] - truth["mean"]) / np.hypot(stored["mcse_mean"], truth["mean_error"]),
        "cov": ((stored["cov"] - truth["cov"]) / np.hypot(stored["mcse_cov"], truth["cov_error"]))[pairs],
        "quantiles": (truth["below"] - prob) / np.hypot(np.sqrt(prob * (1 - prob) / q["ess"]), truth["below_error"]),
    }
    return {"method": truth["method"], "mean": truth["mean"].tolist(), "sd": np.sqrt(np.diag(truth["cov"])).tolist(),
            "comparisons": int(sum(v.size for v in z.values())),
            "z_max": {k: float(np.abs(v).max()) for k, v in z.items()}}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--check", action="store_true", help="check the stored results; no NUTS is run")
    parser.add_argument("names", nargs="*", default=list(PROBLEMS), help="problems (default: all)")
    args = parser.parse_args()
    bad = False
    for name in args.names:
        if not args.check:
            make(name, PROBLEMS[name]["seed"])
        stored = json.loads((HERE / f"{name}.json").read_text())
        outcome = check(name, stored)
        worst = max(outcome["z_max"].values())
        bad = bad or not worst <= Z_MOST
        print(f"{name}: {outcome['comparisons']} numbers against {outcome['method']}: "
              + ", ".join(f"{k} |z| <= {v:.2f}" for k, v in outcome["z_max"].items()))
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
