# SPDX-License-Identifier: MIT
"""Reference posteriors with effects of groups, by a NUTS that is not ours (NumPyro), for
tests/stat/test_groups.py.

    make_groups.py [NAME ...]    make the data (CSV) and the results (JSON) of these problems, or all

It needs numpyro, jax and arviz; it does not need sgfs. Coefficients and log_sigma have the prior
N(0, 1) on the columns as they stand, standard deviations between groups half-normal(1), and
correlation matrices LKJ(1). Effects are sampled as standard normals and scaled.
"""
import datetime
import json
import platform
import sys
from pathlib import Path

import numpy as np

HERE = Path(__file__).resolve().parent
CHAINS, WARMUP, DRAWS = 4, 2000, 10000

# ---- problems ------------------------------------------------------------------------------------


def columns(seed, rows, groups, cells=0):
    """x, and the groups of each row: the first 12 groups have one row each, the others share the rest."""
    rng = np.random.Generator(np.random.PCG64(seed))
    x = np.round(rng.standard_normal(rows), 3)
    user = np.concatenate([np.arange(12), 12 + rng.integers(0, groups - 12, rows - 12)])
    item = rng.integers(0, cells, rows) if cells else np.zeros(rows, int)
    return rng, x, user, item


def linear_data():
    rng, x, user, item = columns(101, 240, 40)
    u, s = 0.9 * rng.standard_normal(40), 0.5 * rng.standard_normal(40)
    return x, user, item, np.round(0.4 + 0.6 * x + u[user] + s[user] * x + 0.8 * rng.standard_normal(240), 3)


def logistic_data():
    """Few events: most groups have none."""
    rng, x, user, item = columns(102, 400, 60)
    u = 0.8 * rng.standard_normal(60)
    return x, user, item, (rng.random(400) < 1 / (1 + np.exp(2.4 - 0.8 * x - u[user]))).astype(int)


def crossed_data():
    rng, x, user, item = columns(103, 400, 40, 15)
    u, v = 0.9 * rng.standard_normal(40), 0.6 * rng.standard_normal(15)
    eta = 0.3 + 0.5 * x + u[user] + v[item]
    return x, user, item, (rng.random(400) < 1 / (1 + np.exp(-eta))).astype(int)


def poisson_data():
    rng, x, user, item = columns(104, 240, 40)
    u, s = 0.6 * rng.standard_normal(40), 0.3 * rng.standard_normal(40)
    return x, user, item, rng.poisson(np.exp(-0.2 + 0.3 * x + u[user] + s[user] * x))


def nothing_data():
    """No difference between groups at all: the standard deviation is near 0."""
    rng, x, user, item = columns(105, 150, 30)
    return x, user, item, rng.poisson(np.exp(0.2 + 0.4 * x))


def single_data():
    """One group: its effect and the intercept are told apart by the prior alone."""
    rng, x, user, item = columns(106, 60, 13)
    return x, np.zeros(60, int), item, np.round(0.5 + 0.7 * x + 0.6 * rng.standard_normal(60), 3)


# terms: factor, columns that vary ("1" and "x"), correlated
PROBLEMS = {
    "linear": {"make": linear_data, "model": "linear", "terms": [("user", "1x", True)]},
    "logistic": {"make": logistic_data, "model": "logistic", "terms": [("user", "1", False)]},
    "crossed": {"make": crossed_data, "model": "logistic", "terms": [("user", "1", False), ("item", "1", False)]},
    "poisson": {"make": poisson_data, "model": "poisson", "terms": [("user", "1x", False)]},
    "nothing": {"make": nothing_data, "model": "poisson", "terms": [("user", "1", False)]},
    "single": {"make": single_data, "model": "linear", "terms": [("user", "1", False)]},  # a funnel: shorter steps
}


def formula(name):
    def term(factor, what, correlated):
        inside = " + ".join(what)
        return f"({inside} {'|' if correlated or len(what) == 1 else '||'} {factor})"
    return "y ~ x + " + " + ".join(term(*t) for t in PROBLEMS[name]["terms"])


# ---- NUTS ----------------------------------------------------------------------------------------


def density(name, x, group, y):
    import jax.numpy as jnp
    import numpyro
    import numpyro.distributions as dist

    kind = PROBLEMS[name]["model"]

    def model():
        beta = numpyro.sample("beta", dist.Normal(0, 1).expand([2]))
        eta = beta[0] + beta[1] * x
        for factor, what, correlated in PROBLEMS[name]["terms"]:
            q, rows = len(what), group[factor]
            sd = numpyro.sample(f"sd_{factor}", dist.HalfNormal(1).expand([q]))
            raw = numpyro.sample(f"raw_{factor}", dist.Normal(0, 1).expand([int(rows.max()) + 1, q]))
            L = jnp.eye(q)
            if correlated:
                L = numpyro.sample(f"L_{factor}", dist.LKJCholesky(q, 1.0))
                numpyro.deterministic(f"cor_{factor}", L[1, 0])
            u = numpyro.deterministic(f"u_{factor}", raw @ (sd[:, None] * L).T)
            z = jnp.stack([jnp.ones_like(x) if c == "1" else x for c in what], axis=1)
            eta = eta + (z * u[rows]).sum(1)
        if kind == "linear":
            log_sigma = numpyro.sample("log_sigma", dist.Normal(0, 1))
            numpyro.sample("y", dist.Normal(eta, jnp.exp(log_sigma)), obs=y)
        elif kind == "logistic":
            numpyro.sample("y", dist.Bernoulli(logits=eta), obs=y)
        else:
            numpyro.sample("y", dist.Poisson(jnp.exp(eta)), obs=y)

    return model


def make(name, seed):
    import arviz
    import jax
    import numpyro
    from numpyro.infer import MCMC, NUTS

    x, user, item, y = PROBLEMS[name]["make"]()
    with open(HERE / f"groups_{name}.csv", "w") as out:
        out.write("x,user,item,y\n")
        out.writelines(f"{a:.3f},u{b:02d},{c},{d}\n" for a, b, c, d in zip(x, user, item, y))
    jax.config.update("jax_enable_x64", True)
    levels = {"user": np.unique(user), "item": np.unique(item)}
    group = {"user": np.searchsorted(levels["user"], user), "item": np.searchsorted(levels["item"], item)}
    mcmc = MCMC(NUTS(density(name, x, group, y), target_accept_prob=0.999 if name == "single" else 0.95), num_warmup=WARMUP, num_samples=DRAWS,
                num_chains=CHAINS, chain_method="sequential", progress_bar=False)
    mcmc.run(jax.random.PRNGKey(seed), extra_fields=("diverging",))
    draws = {k: np.asarray(v) for k, v in mcmc.get_samples(group_by_chain=True).items()}
    row = {"intercept": draws["beta"][:, :, 0], "x": draws["beta"][:, :, 1]}
    if "log_sigma" in draws:
        row["log_sigma"] = draws["log_sigma"]
    effects = {}
    for factor, what, correlated in PROBLEMS[name]["terms"]:
        names = ["intercept" if c == "1" else c for c in what]
        for j, n in enumerate(names):
            row[f"sd_{factor}[{n}]"] = draws[f"sd_{factor}"][:, :, j]
            u = draws[f"u_{factor}"][:, :, :, j]
            effects[f"{factor}[{n}]"] = {"mean": u.mean((0, 1)).round(6).tolist(), "sd": u.std((0, 1)).round(6).tolist()}
        if correlated:
            row[f"cor_{factor}[{','.join(names)}]"] = draws[f"cor_{factor}"]
    result = {
        "names": list(row), "formula": formula(name), "model": PROBLEMS[name]["model"], "rows": len(y),
        "mean": [float(v.mean()) for v in row.values()], "sd": [float(v.std()) for v in row.values()],
        "mcse_mean": [float(arviz.mcse(v, method="mean")) for v in row.values()],
        "mcse_sd": [float(arviz.mcse(v, method="sd")) for v in row.values()],
        "ess": min(float(arviz.ess(v)) for v in row.values()),
        "r_hat": max(float(arviz.rhat(v)) for v in row.values()),
        "effects": effects,
        "divergent": int(mcmc.get_extra_fields()["diverging"].sum()),
        "sampler": {"chains": CHAINS, "warmup": WARMUP, "draws": DRAWS, "seed": seed},
        "tools": {"python": platform.python_version(), "numpyro": numpyro.__version__, "jax": jax.__version__},
        "date": datetime.date.today().isoformat(),
    }
    (HERE / f"groups_{name}.json").write_text(json.dumps(result, indent=1) + "\n")
    print(name, result["ess"], result["r_hat"], result["divergent"], flush=True)


if __name__ == "__main__":
    for number, problem in enumerate(PROBLEMS):
        if len(sys.argv) == 1 or problem in sys.argv[1:]:
            make(problem, 800 + number)
