# SPDX-License-Identifier: MIT
"""MNIST 7 against 9 (docs/math.md, section 9): D = 51, N = 10,000, against a long HMC run that shares no code
with sgfs (experiments/hmc.py). Runs of sgfs-cv at a smaller h are longer, so that all have about 100,000
effective draws; `noise` is what Monte Carlo error alone would give in E1, E2 and trR - 1."""
import json

import hmc
import measures
import mnist79
import numpy as np

from evidence import plot
from lab import Missing
from text import table

# sampler, h, batch, iterations
RUNS = [("laplace", None, None, 100_000), ("nuts", None, None, 4_000), ("sgfs-f", None, 500, 400_000),
        ("sgfs-cv", 1.0, 500, 100_000), ("sgfs-cv", 0.5, 500, 300_000), ("sgfs-cv", 0.2, 500, 900_000),
        ("sgfs-cv", 0.1, 500, 1_900_000), ("sgfs-cv", None, 100, 300_000), ("exact-rows", None, None, 100_000),
        ("exact-pairs", None, None, 100_000)]
KEPT = 100_000


def problem(lab):
    if lab.quick:  # 9 parameters, 400 rows
        rng = np.random.default_rng(5)
        x = rng.standard_normal((400, 8))
        y = (rng.random(400) < 1 / (1 + np.exp(-x[:, 0] + 0.5))).astype(float)
    elif mnist79.there():
        x, y = mnist79.load()
    else:
        raise Missing(mnist79.ABSENT)
    np.save(lab.work / "mnist.npy", np.column_stack([x, y]))
    return np.column_stack([np.ones(len(y)), x]), y


def reference(lab, x, y):
    truth = hmc.logistic_truth(x, y, mnist79.LAMBDA, chains=100, iterations=20 if lab.quick else 1000, seed=2)
    names = ["intercept"] + [f"x{j}" for j in range(1, x.shape[1])]
    (lab.work / "mnist.json").write_text(
        json.dumps({"names": names, "mean": truth.mean.tolist(), "cov": truth.cov.tolist()}))
    return truth


def measure(lab, truth, sampler, h, batch, iterations):
    if lab.quick:
        iterations, batch = iterations // 100, batch and 50
    thin = max(1, iterations // KEPT)
    words = ["--draws", iterations, "--thin", thin, "--prior-precision", mnist79.LAMBDA]
    words += ["--step", h] if h else []
    words += ["--batch", batch] if batch else []
    words += ["--metric", "fisher", "--warmup", 100] if sampler == "nuts" else []
    words += ["--alpha", 0, "--warmup", 3000] if sampler == "sgfs-f" else []
    run = lab.sample("logistic", "mnist.npy", sampler, *words)
    of = lab.compare("mnist.json")
    draws = lab.draws()[0]
    pooled = sampler in ("sgfs-cv", "exact-rows", "exact-pairs", "nuts")
    tau = measures.sokal_tau(draws, truth.mean, truth.cov)[0] * thin if pooled else iterations / run["ess_min"]
    noise = measures.monte_carlo(draws, truth.mean, truth.cov)
    m = {"sampler": sampler, "h": h, "batch": batch, "iterations": iterations, "tau": tau, "noise": noise,
         "E1": of["E1"], "E2": of["E2"], "trR": of["trR"], "us": 1e6 * run["sample_seconds"] / iterations,
         "rows": run["rows_touched"] / iterations, "interventions": run["interventions"], "info": run["info"],
         "step": step_taken(lab) if sampler == "sgfs-cv" else None, "anchors": lab.anchors() if sampler == "sgfs-cv" else 0}
    print(f"   {sampler} h {h} n {batch}: E1 {m['E1']:.5f} ({noise[0]:.5f}) E2 {m['E2']:.4f} ({noise[1]:.4f}) trR "
          f"{m['trR']:.4f} ({noise[2]:.4f}) tau {tau:.3f}, {m['us']:.1f} us, {m['rows']:.0f} rows, step {m['step']}, "
          f"{m['anchors']} new anchors",
          flush=True)
    return m


def step_taken(lab):
    return float(lab.stats()["step_size"].flat[-1])


def rows_of(found):
    for m in found:
        name = f"`{m['sampler']}`"
        if m["sampler"] == "sgfs-cv":
            name += f" h = {m['step']:.3g}" + (" (chosen)" if m["h"] is None else "") + f", n = {m['batch']}"
            name += f" ({m['anchors']} new anchors)" if m["anchors"] else ""
        e1, e2, tr = m["noise"]
        yield [name, f"{m['iterations']:,}", f"{m['E1']:.5f} ({e1:.5f})", f"{m['E2']:.4f} ({e2:.4f})",
               f"{m['trR']:.4f} ({tr:.4f})", f"{m['tau']:.2f}", f"{m['us']:.1f}", f"{m['us'] * m['tau']:.1f}",
               f"{m['rows']:,.0f}"]


def picture(lab, truth, found):
    fig, axes = plot.figure(3, width=3.3)
    steps = [m for m in found if m["sampler"] == "sgfs-cv" and m["h"]]
    gauss = np.linalg.inv(truth.curvature)  # Laplace's own, without Monte Carlo error
    laplace = {"E1": measures.E1(truth.mode, truth.mean), "E2": measures.E2(gauss, truth.cov),
               "trR": measures.trR(gauss, truth.cov)}
    for k, (ax, key) in enumerate(zip(axes[0], ("E1", "E2", "trR"))):
        h, value = [m["h"] for m in steps], np.array([m[key] for m in steps])
        noise = np.array([m["noise"][k] for m in steps])
        low, high = (np.zeros_like(noise), noise) if key != "trR" else (1 - 2 * noise, 1 + 2 * noise)
        ax.fill_between(h, low, high, color="#cccccc", linewidth=0, label="Monte Carlo error alone")
        ax.plot(h, value, label="sgfs-cv", **plot.LOOK["sgfs-cv"])
        ax.axhline(laplace[key], linestyle="--", color=plot.LOOK["laplace"]["color"], label="Laplace approximation")
        ax.set(xlabel="step h", title=key, xscale="log", xticks=h, xticklabels=[f"{x:g}" for x in h])
        ax.minorticks_off()
        if key != "trR":
            ax.set_ylim(bottom=0)
    fig.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=3)
    plot.save(lab, fig, "mnist")


def run(lab):
    lab.needs("sgfs-cv")
    truth = reference(lab, *problem(lab))
    found = [measure(lab, truth, *r) for r in RUNS if lab.has(r[0])]
    picture(lab, truth, found)
    head = ["", "iterations", "E1", "E2", "trR", "tau", "us an iteration", "us an effective draw", "rows an iteration"]
    e1 = np.sqrt(2 / np.pi) * truth.mean_error.sum() / np.abs(truth.mean).sum()
    e2 = np.sqrt(2 / np.pi) * truth.cov_error.sum() / np.abs(truth.cov).sum()
    return (table(head, rows_of(found)) + "\n\nIn brackets: what Monte Carlo error alone gives. The reference's own: "
            f"E1 {e1:.5f}, E2 {e2:.4f} ({truth.count:,} draws of HMC with Stein's control variates).")
