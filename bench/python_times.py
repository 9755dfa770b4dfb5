#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Times of a logistic regression in Python, on the same rows: sgfs beside what else one might use.

    python bench/python_times.py [--rows 20000] [--dim 10]

Prints the table of docs/python.md. Each way runs twice in a process of its own, from arrays in
memory to means of all coefficients: the first time with imports and compilation, as a user waits
for them. What is not installed is left out. statsmodels finds the mode only, with its Gaussian; the
others draw, and the second run's seconds for each 100 effective draws of the worst coefficient
stand beside.
"""
import argparse
import json
import os
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def rows_of(rows, dim):
    import numpy as np

    rng = np.random.default_rng(1)
    X = rng.normal(size=(rows, dim))
    beta = rng.normal(size=dim) / dim ** 0.5
    return X, (X @ beta - 0.5 + rng.logistic(size=rows) > 0).astype(float)


def of_sgfs(X, y):
    import sgfs

    fit = sgfs.sample("logistic", X, y, progress=False)
    table = list(fit.summary_dict().values())
    return [row["mean"] for row in table], min(row["ess_bulk"] for row in table)


def of_statsmodels(X, y):
    import statsmodels.api as sm

    return list(sm.Logit(y, sm.add_constant(X)).fit(disp=False).params), None


def of_numpyro(X, y):
    import jax
    import numpy as np

    jax.config.update("jax_enable_x64", True)
    import numpyro
    import numpyro.distributions as dist
    from numpyro.diagnostics import effective_sample_size

    X = np.column_stack([np.ones(len(X)), X])

    def model():
        beta = numpyro.sample("beta", dist.Normal(0, 2.5).expand([X.shape[1]]).to_event(1))
        numpyro.sample("y", dist.Bernoulli(logits=X @ beta), obs=y)

    mcmc = numpyro.infer.MCMC(numpyro.infer.NUTS(model), num_warmup=500, num_samples=500,
                              num_chains=4, chain_method="vectorized", progress_bar=False)
    mcmc.run(jax.random.PRNGKey(1))
    draws = np.asarray(mcmc.get_samples(group_by_chain=True)["beta"])
    return list(draws.mean(axis=(0, 1))), float(effective_sample_size(draws).min())


def of_bambi(X, y):
    import arviz
    import bambi
    import pandas

    names = [f"x{j + 1}" for j in range(X.shape[1])]
    frame = pandas.DataFrame(X, columns=names).assign(y=y.astype(int))
    model = bambi.Model("y ~ " + " + ".join(names), frame, family="bernoulli")
    data = model.fit(draws=500, tune=500, chains=4, cores=os.cpu_count(), random_seed=1,
                     progressbar=False)
    table = arviz.summary(data)
    return list(table["mean"]), float(table["ess_bulk"].min())


WAYS = {"sgfs": of_sgfs, "statsmodels": of_statsmodels, "numpyro": of_numpyro, "bambi": of_bambi}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rows", type=int, default=20000)
    parser.add_argument("--dim", type=int, default=10)
    parser.add_argument("--ways", default=",".join(WAYS))
    parser.add_argument("--limit", type=float, default=600, help="seconds for each")
    parser.add_argument("--way", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.way:
        X, y = rows_of(given.rows, given.dim)
        seconds = []
        for _ in range(2):
            begin = time.monotonic()
            try:
                mean, ess = WAYS[given.way](X, y)
            except ImportError as error:
                sys.exit(f"not installed ({error})")
            seconds.append(time.monotonic() - begin)
        print(json.dumps({"seconds": seconds, "ess": ess, "mean": list(map(float, mean))}))
        return
    print(f"{given.rows:,} rows, {given.dim} columns, {os.cpu_count()} cores, load before "
          f"{os.getloadavg()[0]:.1f}\n\n| | seconds | again | smallest ESS | seconds for 100 ESS |")
    print("|---|---|---|---|---|")
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(
        [str(ROOT / "python"), os.environ.get("PYTHONPATH", "")])}
    for way in given.ways.split(","):
        try:
            done = subprocess.run([sys.executable, __file__, "--way", way, "--rows",
                                   str(given.rows), "--dim", str(given.dim)], env=environment,
                                  capture_output=True, text=True, timeout=given.limit)
        except subprocess.TimeoutExpired:
            print(f"| {way} | more than {given.limit:.0f} | | | |")
            continue
        if done.returncode:
            print(f"| {way} | {done.stderr.strip().splitlines()[-1][:90]} | | | |")
            continue
        said = json.loads(done.stdout.splitlines()[-1])
        (first, again), ess = said["seconds"], said["ess"]
        print(f"| {way} | {first:.1f} | {again:.1f} | " + (
            "the mode only | - |" if ess is None else f"{ess:,.0f} | {100 * again / ess:.2g} |"),
            flush=True)



if __name__ == "__main__":
    main()
