# SPDX-License-Identifier: MIT
"""Effective exact draws a second, one chain on one core, with the sampler that the program chooses by itself: MNIST's 7
against 9, and simulated tables from packed files. An effective draw is one of the slowest parameter's. Beside
them NumPyro's NUTS in double precision on one core, where it is installed and a draw does not take seconds: its draws after
warm-up and compilation, by its own estimate of effective draws."""
import os
import time

import mnist79
import numpy as np

from text import digits, machine, seconds, table

# name, rows, columns besides the intercept, draws, draws of NumPyro
TABLES = [("MNIST, 7 against 9", None, None, 200_000, 1000), ("simulated", 10**5, 199, 4_000, 100),
          ("simulated", 10**6, 20, 400_000, 0)]


def mnist(lab):
    x, y = mnist79.load()
    np.save(lab.work / "rates.npy", np.column_stack([x, y]))
    return "rates.npy", x, y


def simulated(lab, rows, columns):
    data, _ = lab.simulated(rows, columns)
    lab.sgfs("simulate", "logistic", "--rows", rows, "--dim", columns, "--seed", 1, "--out", "rates.npy", "--overwrite", "--quiet")
    made = np.load(lab.work / "rates.npy", mmap_mode="r")
    return data, made[:, :-1], made[:, -1]


def numpyro_rate(x, y, draws):
    """Effective draws a second of NUTS, of its slowest parameter; None where there is no NumPyro."""
    os.environ["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"
    os.environ["JAX_PLATFORMS"] = "cpu"
    try:
        import jax
        import numpyro
        from numpyro.diagnostics import effective_sample_size
        from numpyro.distributions import Bernoulli, Normal
    except ImportError:
        return None
    jax.config.update("jax_enable_x64", True)
    x, y = jax.numpy.asarray(np.column_stack([np.ones(len(y)), x])), jax.numpy.asarray(y)

    def model():
        theta = numpyro.sample("theta", Normal(0, 1).expand([x.shape[1]]).to_event(1))
        numpyro.sample("y", Bernoulli(logits=x @ theta), obs=y)

    mcmc = numpyro.infer.MCMC(numpyro.infer.NUTS(model), num_warmup=draws, num_samples=draws, progress_bar=False)
    mcmc.warmup(jax.random.PRNGKey(1))
    mcmc.run(jax.random.PRNGKey(2))  # compiles
    begin = time.monotonic()
    mcmc.run(jax.random.PRNGKey(3))
    theta = np.asarray(mcmc.get_samples(group_by_chain=True)["theta"])
    return effective_sample_size(theta).min() / (time.monotonic() - begin)


def measure(lab, name, rows, columns, draws, theirs):
    if lab.quick:
        rows, columns, draws, theirs = 2000, 5, 500, 0
    data, x, y = simulated(lab, rows, columns) if rows else mnist(lab)
    run = lab.sample("logistic", data, "exact", "--draws", draws)
    iteration = run["sample_seconds"] / run["draws"]
    return {"name": name, "rows": len(y), "columns": x.shape[1] + 1, "sampler": run["head"]["sampler"], "iteration": iteration,
            "tau": run["draws"] / run["ess_min"], "before": run["seconds"] - run["sample_seconds"],
            "share": run["cpu"] / run["wall"], "theirs": theirs and numpyro_rate(x, y, theirs)}


def run(lab):
    found = [measure(lab, *t) for t in TABLES if t[1] or mnist79.there()]
    rows = [[m["name"], f"{m['rows']:,} x {m['columns']}", f"`{m['sampler']}`", seconds(m["before"]), seconds(m["iteration"]),
             f"{m['tau']:.2f}", digits(1 / (m["iteration"] * m["tau"])), digits(m["theirs"]) if m["theirs"] else ""] for m in found]
    head = ["data", "rows x parameters", "sampler", "before the first draw", "a draw", "tau", "effective draws a second",
            "NumPyro's NUTS"]
    return (table(head, rows) + f"\n\nOne core of an {machine()}; the program had at least "
            f"{100 * min(m['share'] for m in found):.0f} % of it (`experiments/evidence/rates.py`).")
