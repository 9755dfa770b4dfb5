# SPDX-License-Identifier: MIT
"""sgfs-cv where everything is known: linear regression with known sigma, Gaussian columns, D = 20. The posterior
is N(m, A^-1) in closed form, and so is the noise of a gradient with control variates: with n rows drawn with
replacement, averaged over the posterior,

    S = (D + 1)/n A (about: exactly for Gaussian columns and a flat prior),   so h <= 2/(1 + (D + 1)/n)

The table has the ratio of the draws' covariance to the true one for every n and h that is possible: its mean
eigenvalue (trR), and the noise that the sampler itself measured, tr(A^-1 S)/D."""
import json

import measures
import numpy as np

from evidence import plot
from text import table

D, N, SIGMA, LAMBDA = 20, 20_000, 1.3, 1.0
STEPS = [1.0, 0.5, 0.2]
BATCHES = [D // 2, D, 2 * D, 5 * D, 10 * D]
COLOURS = {1.0: "#009E73", 0.5: "#0072B2", 0.2: "#D55E00"}


def problem(lab):
    rng = np.random.default_rng(20)
    shape = np.linalg.cholesky(0.5 ** np.abs(np.subtract.outer(np.arange(D), np.arange(D))))
    x = rng.standard_normal((N, D)) @ shape.T
    y = x @ rng.standard_normal(D) + SIGMA * rng.standard_normal(N)
    np.save(lab.work / "noise.npy", np.column_stack([x, y]))
    A = x.T @ x / SIGMA**2 + LAMBDA * np.eye(D)
    mean, cov = np.linalg.solve(A, x.T @ y / SIGMA**2), np.linalg.inv(A)
    (lab.work / "noise.json").write_text(json.dumps(
        {"names": [f"x{j + 1}" for j in range(D)], "mean": mean.tolist(), "cov": cov.tolist()}))
    # S averaged over the posterior: N^2/n times the covariance over rows of x_i x_i'd/sigma^2, d ~ N(0, A^-1)
    B = x * ((x @ cov) * x).sum(1)[:, None]  # E_d[(x'd)^2] x
    second, first = N * (x.T @ B), N / N * (x.T @ x) @ cov @ (x.T @ x)
    theory = np.trace(cov @ (second - first)) / SIGMA**4 / D  # of n tr(A^-1 S)/D
    return mean, cov, theory


def measure(lab, mean, cov, n, h):
    iterations = 2000 if lab.quick else 200_000
    words = ["--sigma", SIGMA, "--no-intercept", "--prior-precision", LAMBDA, "--batch", n, "--batch-scheme", "with",
             "--draws", iterations]
    try:
        run = lab.sample("linear", "noise.npy", "sgfs-cv", *words, "--step", h)
    except RuntimeError as refusal:
        print(f"   n = {n}, h = {h}: {str(refusal).splitlines()[-1]}")
        return None
    of, noise = lab.compare("noise.json"), float(np.mean(lab.stats()["noise"]))
    # not what a Gaussian chain would have: the noise grows with the distance from the anchor
    E1_noise, E2_noise, error = measures.monte_carlo(lab.draws()[0], mean, cov)
    m = {"n": n, "h": h, "trR": of["trR"], "error": error, "noise": noise, "E1": of["E1"], "E1_noise": E1_noise,
         "E2": of["E2"], "E2_noise": E2_noise, "tau": iterations / run["ess_min"],
         "took": float(lab.stats()["step_size"].flat[-1]), "sampler": run["head"]["sampler"],
         "interventions": run["interventions"]}
    print(f"   n = {n}, h = {h}: trR {m['trR']:.4f} ({m['error']:.4f}), noise {noise:.3f}, E1 {m['E1']:.5f} "
          f"({m['E1_noise']:.5f}), E2 {m['E2']:.4f} ({m['E2_noise']:.4f}), tau {m['tau']:.2f}, {m['sampler']} "
          f"h {m['took']:.3g}, {m['interventions']:.0f} interventions", flush=True)
    return m


def picture(lab, found, theory):
    fig, axes = plot.figure(2)
    left, right = axes[0]
    n = np.array(BATCHES)
    left.loglog(n, theory / n, color="#333333", linewidth=1, label="closed form")
    for h in STEPS:
        mine = [m for m in found if m["h"] == h]
        if not mine:
            continue
        left.loglog([m["n"] for m in mine], [m["noise"] for m in mine], "o", color=COLOURS[h], label=f"h = {h:g}")
        shift = 1 + 0.06 * (STEPS.index(h) - 1)
        right.errorbar([m["n"] * shift for m in mine], [m["trR"] for m in mine], [2 * m["error"] for m in mine],
                       fmt="o", color=COLOURS[h], label=f"h = {h:g}", capsize=2, linewidth=1.2)
    right.axhline(1, color="#333333", linewidth=1)
    right.set_xscale("log")
    left.set_title("noise of the gradient, tr(A$^{-1}$S)/D")
    right.set_title("variance of the draws over the true one")
    for ax in (left, right):
        ax.set(xlabel="batch n (D = 20)", xticks=BATCHES, xticklabels=BATCHES, xlim=(0.8 * BATCHES[0], 1.25 * BATCHES[-1]))
        ax.minorticks_off()
        ax.legend(fontsize=8.5)
    plot.save(lab, fig, "noise")


def run(lab):
    lab.needs("sgfs-cv")
    mean, cov, theory = problem(lab)
    found, rows = [], []
    for n in BATCHES[-1:] if lab.quick else BATCHES:
        cells = []
        for h in STEPS:
            m = measure(lab, mean, cov, n, h) if h <= 2 / (1 + theory / n) else None
            found += [m] if m else []
            cells.append(f"{m['trR']:.4f} ({m['error']:.4f})" if m else "not possible")
        mine = [m for m in found if m["n"] == n]
        rows.append([n, f"{theory / n:.3f}", f"{np.mean([m['noise'] for m in mine]):.3f}" if mine else "",
                     f"{min(2.0, 2 / (1 + theory / n)):.2f}", *cells])
    picture(lab, found, theory)
    head = ["n", "tr(A^-1 S)/D", "measured", "largest h"] + [f"trR, h = {h:g}" for h in STEPS]
    return table(head, rows) + "\n\nIn brackets: Monte Carlo standard error of trR."
