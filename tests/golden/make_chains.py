# SPDX-License-Identifier: MIT
"""Makes chains.json: chains and what ArviZ says of them, for tests/unit/test_diagnostics.c.

Run by hand (python3 tests/golden/make_chains.py, with arviz 0.23, numpy and scipy) only when a
chain is added; the file is stored, so that the tests need no Python. ArviZ refuses R-hat for one
chain; there its own pieces are put together for the two halves, which is what sgfs reports.
"""
import json
import pathlib
import warnings

import arviz
import numpy
import scipy.stats
from arviz.stats import diagnostics

SEED = 20240717


def ar1(rng, chains, draws, rho):
    x = numpy.empty((chains, draws))
    x[:, 0] = rng.standard_normal(chains)
    for t in range(1, draws):
        x[:, t] = rho * x[:, t - 1] + numpy.sqrt(1 - rho**2) * rng.standard_normal(chains)
    return x


def make_cases(rng):
    shifted = ar1(rng, 4, 120, 0.3)
    shifted[2] += 1.385
    wide = ar1(rng, 3, 150, 0.2)
    wide[1] *= 3.2
    tiny = 2.385e-3 * ar1(rng, 2, 100, 0.5) + 41.7
    half_frozen = ar1(rng, 2, 90, 0.4)
    half_frozen[0] = 0.25
    return {
        "independent": ar1(rng, 4, 200, 0.0),
        "rho 0.5": ar1(rng, 4, 200, 0.5),
        "rho 0.9": ar1(rng, 4, 250, 0.9),
        "rho 0.99": ar1(rng, 2, 300, 0.99),
        "antithetic": ar1(rng, 4, 150, -0.6),
        "cauchy": rng.standard_cauchy((3, 150)),
        "poisson": rng.poisson(2.7, (4, 120)).astype(float),
        "binary": (ar1(rng, 2, 150, 0.7) > 0.3).astype(float),
        "sign": numpy.sign(ar1(rng, 2, 100, 0.7)),
        "shifted chain": shifted,
        "wide chain": wide,
        "far from zero": tiny,
        "frozen chain": half_frozen,
        "odd": ar1(rng, 3, 101, 0.6),
        "odd, ties": numpy.round(ar1(rng, 2, 77, 0.6), 1),
        "one chain": ar1(rng, 1, 201, 0.4),
        "one trend": ar1(rng, 1, 100, 0.1) + numpy.linspace(-1.0, 1.7, 100),
        "four draws": ar1(rng, 2, 4, 0.0),
        "five draws": ar1(rng, 2, 5, 0.0),
        "nine draws": ar1(rng, 1, 9, 0.2),
        "eleven draws": ar1(rng, 2, 11, 0.2),
        "three draws": ar1(rng, 2, 3, 0.0),
        "constant": numpy.full((2, 20), 0.1),
    }


def rhat(x):
    if x.shape[0] > 1 or x.shape[1] < 4:
        return arviz.rhat(x)
    split = diagnostics._split_chains(x)
    folded = abs(split - numpy.median(split))
    return max(diagnostics._rhat(diagnostics._z_scale(s)) for s in (split, folded))


def ess_tail(x):
    """ArviZ's, but with numpy's quantile where scipy's mquantiles, its own, is wrong by rounding.

    Between two equal draws a, mquantiles returns (1 - g) a + g a, which may come out one bit below
    a; then x <= quantile misses every draw tied with it. numpy.quantile returns a.
    """
    if x.shape[1] < 4:
        return numpy.nan
    exact = numpy.quantile(x, [0.05, 0.95])
    rounded = diagnostics._quantile(x, [0.05, 0.95])
    if all(numpy.array_equal(x <= a, x <= b) for a, b in zip(exact, rounded)):
        return arviz.ess(x, method="tail")
    return min(diagnostics._ess(diagnostics._split_chains(x <= q)) for q in exact)


def number(x):
    return float(x) if numpy.isfinite(x) else None


def describe(name, x):
    q5, q50, q95 = numpy.quantile(x, [0.05, 0.5, 0.95])
    return {
        "name": name, "chains": x.tolist(), "mean": x.mean(), "sd": x.std(ddof=1),
        "q5": q5, "q50": q50, "q95": q95,
        "ess_mean": number(arviz.ess(x, method="mean")),
        "ess_bulk": number(arviz.ess(x, method="bulk")),
        "ess_tail": number(ess_tail(x)),
        "r_hat": number(rhat(x)), "mcse": number(arviz.mcse(x, method="mean")),
    }


def main():
    warnings.simplefilter("ignore")
    rng = numpy.random.default_rng(SEED)
    # Twelve digits are kept, and ArviZ sees what is kept.
    cases = {name: numpy.array([[float(f"{v:.12g}") for v in chain] for chain in x])
             for name, x in make_cases(rng).items()}
    p = [1e-300, 1e-100, 1e-20, 1e-9, 1e-4, 0.0031, 0.02425, 0.1, 0.2385, 0.25, 0.4321, 0.4999999,
         0.5, 0.50001, 0.7, 0.75, 0.9, 0.999, 0.9999999]
    out = {
        "made_by": f"make_chains.py, arviz {arviz.__version__}, seed {SEED}",
        "normal": {"p": p, "x": scipy.stats.norm.ppf(p).tolist()},
        "cases": [describe(k, x) for k, x in cases.items()],
    }
    path = pathlib.Path(__file__).with_name("chains.json")
    path.write_text(json.dumps(out, separators=(",", ":")).replace('{"name"', '\n{"name"') + "\n")


if __name__ == "__main__":
    main()
