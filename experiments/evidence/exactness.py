# SPDX-License-Identifier: MIT
"""Is `exact-rows` exact? Logistic regression with two parameters and few events, so that the posterior is skewed,
against integration on a grid: means, covariances, and the whole distribution of each parameter.

    KS     largest distance of the distribution functions, over both parameters, from all draws
    p      Kolmogorov-Smirnov's for the parameter that is worse, from draws thinned to 4 tau apart"""
import json

import measures
import numpy as np
from scipy import stats

from evidence import plot
from text import table

LAMBDA = 0.1
SIZES = [100, 300, 1000]
DRAWS = 200_000
RUNS = [("exact-rows", None), ("sgfs-cv", 0.2), ("sgfs-cv", 1.0), ("laplace", None)]


def rare(N):
    """About 4 % of the rows are positive, at N = 100 a tenth."""
    rng = np.random.default_rng(38)
    x = rng.standard_normal(N)
    rate = {100: -2.6, 300: -3.4}.get(N, -3.9)
    y = (rng.random(N) < 1 / (1 + np.exp(-rate - x))).astype(float)
    return x, y


class Grid:
    """The posterior on a grid of 801 x 801 points, mode -+ 9 Laplace standard deviations. The integrand is smooth
    and ends in nothing: the sum over a grid is right to rounding."""

    def __init__(self, x, y, points=801):
        design = np.column_stack([np.ones_like(x), x])
        theta = np.zeros(2)
        for _ in range(100):
            p = 1 / (1 + np.exp(-design @ theta))
            A = (design * (p * (1 - p))[:, None]).T @ design + LAMBDA * np.eye(2)
            theta = theta + np.linalg.solve(A, design.T @ (y - p) - LAMBDA * theta)
        self.mode, self.laplace_cov = theta, np.linalg.inv(A)
        sd = np.sqrt(np.diag(self.laplace_cov))
        self.axis = [np.linspace(t - 9 * s, t + 9 * s, points) for t, s in zip(theta, sd)]
        log = -LAMBDA / 2 * (self.axis[0][:, None]**2 + self.axis[1][None, :]**2)
        for xi, yi in zip(x, y):
            eta = self.axis[0][:, None] + xi * self.axis[1][None, :]
            log += yi * eta - np.logaddexp(0, eta)
        weight = np.exp(log - log.max())
        weight /= weight.sum()
        self.marginal = [weight.sum(1), weight.sum(0)]
        self.mean = np.array([a @ m for a, m in zip(self.axis, self.marginal)])
        d0, d1 = (a - m for a, m in zip(self.axis, self.mean))
        cross = d0 @ weight @ d1
        self.cov = np.array([[d0**2 @ self.marginal[0], cross], [cross, d1**2 @ self.marginal[1]]])

    def cdf(self, j):
        """At the cells' right edges, linear between: the trapezoid rule's error is far below a draw's."""
        step = self.axis[j][1] - self.axis[j][0]
        edges, values = self.axis[j] + step / 2, np.cumsum(self.marginal[j])
        return lambda v: np.interp(v, edges, values, left=0, right=1)

    def density(self, j):
        return self.marginal[j] / (self.axis[j][1] - self.axis[j][0])


def measure(lab, grid, N, sampler, h):
    draws_wanted = DRAWS // 100 if lab.quick else DRAWS
    words = ["--draws", draws_wanted, "--prior-precision", LAMBDA] + (["--step", h] if h else [])
    run = lab.sample("logistic", "rare.npy", sampler, *words)
    fell_back = run["head"]["sampler"] != sampler
    of, draws = lab.compare("rare.json"), lab.draws()[0]
    tau = max(1.0, draws_wanted / run["ess_min"])
    far = int(np.ceil(4 * tau)) if tau > 1.05 else 1
    distance = [stats.kstest(draws[:, j], grid.cdf(j)).statistic for j in range(2)]
    p = min(stats.kstest(draws[::far, j], grid.cdf(j)).pvalue for j in range(2))
    m = {"N": N, "sampler": sampler, "h": h, "E1": of["E1"], "E2": of["E2"], "trR": of["trR"], "KS": max(distance),
         "p": p, "tau": tau, "rows": run["rows_touched"] / draws_wanted, "draws": draws, "fell_back": fell_back,
         "anchors": lab.anchors() if sampler == "sgfs-cv" else 0,
         "noise": measures.monte_carlo(draws, grid.mean, grid.cov)}
    print(f"   N = {N} {sampler} {h or ''}: E1 {m['E1']:.5f} ({m['noise'][0]:.5f}) E2 {m['E2']:.4f} ({m['noise'][1]:.4f}) "
          f"trR {m['trR']:.4f} ({m['noise'][2]:.4f}) KS {m['KS']:.4f} p {p:.3g} tau {tau:.2f} rows {m['rows']:.1f}"
          + (" (fell back)" if fell_back else "") + (f" ({m['anchors']} new anchors)" if m["anchors"] else ""), flush=True)
    return m


def rows_of(found, events):
    for m in found:
        name = f"`{m['sampler']}`" + (f" h = {m['h']:g}" if m["h"] else "") + (" (fell back to SGFS)" if m["fell_back"] else "")
        name += f" ({m['anchors']} new anchors)" if m["anchors"] else ""
        yield [f"{m['N']:,} ({events[m['N']]} events)", name, f"{m['E1']:.5f} ({m['noise'][0]:.5f})",
               f"{m['E2']:.4f} ({m['noise'][1]:.4f})", f"{m['trR']:.4f} ({m['noise'][2]:.4f})", f"{m['KS']:.4f}",
               f"{m['p']:.2g}" if m["p"] > 1e-6 else "< 1e-6", f"{m['tau']:.2f}", f"{m['rows']:,.1f}"]


def picture(lab, grids, found):
    fig, axes = plot.figure(len(grids), 2, width=3.4, height=2.7)
    style = {("sgfs-cv", 1.0): dict(color="#009E73"), ("sgfs-cv", 0.2): dict(color="#56B4E9"),
             ("laplace", None): dict(color="#777777", linestyle="--")}
    for column, (N, grid) in enumerate(grids.items()):
        for j in range(2):
            ax, axis = axes[j, column], grid.axis[j]
            sd = np.sqrt(grid.cov[j, j])
            seen = np.abs(axis - grid.mean[j]) < 4.2 * sd
            ax.fill_between(axis[seen][::6], grid.density(j)[seen][::6], color="#dddddd", linewidth=0, label="grid")
            edges = np.linspace(grid.mean[j] - 4.2 * sd, grid.mean[j] + 4.2 * sd, 43)
            middle, width = (edges[1:] + edges[:-1]) / 2, edges[1] - edges[0]
            for m in (m for m in found if m["N"] == N):
                heights = np.histogram(m["draws"][:, j], edges)[0] / (len(m["draws"]) * width)
                label = m["sampler"] + (f", h = {m['h']:g}" if m["h"] else "")
                if m["sampler"] == "exact-rows":
                    ax.plot(middle, heights, "o", color="#0072B2", markersize=3, label=label, zorder=3)
                else:
                    ax.plot(middle, heights, label=label, linewidth=1.3, zorder=4, **style[m["sampler"], m["h"]])
            ax.set_yticks([])
            ax.set_title(f"{('intercept', 'slope')[j]}, N = {N:,}")
    fig.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=5)
    plot.save(lab, fig, "exactness")


def run(lab):
    grids, found, events = {}, [], {}
    for N in SIZES[:1] if lab.quick else SIZES:
        x, y = rare(N)
        grid = grids[N] = Grid(x, y, 201 if lab.quick else 801)
        events[N] = int(y.sum())
        np.save(lab.work / "rare.npy", np.column_stack([x, y]))
        (lab.work / "rare.json").write_text(json.dumps(
            {"names": ["intercept", "x1"], "mean": grid.mean.tolist(), "cov": grid.cov.tolist()}))
        found += [measure(lab, grid, N, *r) for r in RUNS if lab.has(r[0])]
    picture(lab, grids, found)
    head = ["N", "", "E1", "E2", "trR", "KS", "p", "tau", "rows a draw"]
    return table(head, rows_of(found, events)) + f"\n\nIn brackets: what Monte Carlo error alone gives, {DRAWS:,} draws."
