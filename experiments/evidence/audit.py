# SPDX-License-Identifier: MIT
"""What `sgfs audit` says of a few runs, and what is true of them. The truth is known for the two parameters of
evidence/exactness.py: a long run of the same sampler against the grid, for the parameters that the audit
named. Differences of means are in posterior standard deviations, those of standard deviations in per cent."""
import json

import mnist79
import numpy as np

from evidence.exactness import LAMBDA, Grid, rare
from lab import Missing
from text import table

ROWS = 300
# name, data, options of the run
RARE = [("`laplace`, {N} rows, {events} events", ["laplace"]), ("`sgfs-cv` h = 1, the same", ["sgfs-cv", "--step", 1]),
        ("`sgfs-cv` h = 0.25, the same", ["sgfs-cv", "--step", 0.25]), ("`sgfs-f` alpha 0, the same", ["sgfs-f", "--alpha", 0])]


def audited(lab, model, data, sampler, *options, draws, precision):
    lab.sample(model, data, sampler, "--draws", draws, "--chains", 4, *options)
    words = ["--precision", 0.1] if lab.quick else ["--precision", precision, "--max-time", 120]
    return json.loads(lab.sgfs("audit", "last.run", "--threads", 1, "--json", "--quiet", *words).stdout)


def truth(lab, grid, names, sampler, *options):
    """Differences of the parameters that the audit named, from a run long enough for them."""
    lab.sample("logistic", "audit.npy", sampler, "--prior-precision", LAMBDA, "--draws", 5000 if lab.quick else 1_000_000,
               *options)
    draws, j = lab.draws()[0], [["intercept", "x1"].index(n) for n in names]
    sd = np.sqrt(np.diag(grid.cov))
    return ((draws.mean(0) - grid.mean) / sd)[j[0]], (draws.std(0) / sd - 1)[j[1]]


def row(name, said, true=None):
    mean, sd = said["largest_mean"], said["largest_sd"]
    print(f"   {name}: {said['verdict']}", flush=True)
    found = [w for w, key in (("means", "mean_differs"), ("sds", "sd_differs")) if said[key]]
    return [name, f"{mean['mean']:.4f} +- {mean['mean_error']:.4f}", f"{true[0]:.4f}" if true else "",
            f"{100 * sd['sd']:.2f} +- {100 * sd['sd_error']:.2f} %", f"{100 * true[1]:.2f} %" if true else "",
            " and ".join(found) or "nothing", f"{said['seconds']:.0f} s"]


def rare_rows(lab):
    x, y = rare(ROWS)
    grid = Grid(x, y, 201 if lab.quick else 801)
    np.save(lab.work / "audit.npy", np.column_stack([x, y]))
    for name, (sampler, *options) in RARE[:2] if lab.quick else RARE:
        said = audited(lab, "logistic", "audit.npy", sampler, "--prior-precision", LAMBDA, *options,
                       draws=1000 if lab.quick else 100_000, precision=0.003)
        named = [said["largest_mean"]["name"], said["largest_sd"]["name"]]
        yield row(name.format(N=ROWS, events=int(y.sum())), said, truth(lab, grid, named, sampler, *options))


def run(lab):
    if "\n  audit " not in lab.sgfs("help").stdout:
        raise Missing("this program has no command audit")
    rows = list(rare_rows(lab))
    if not lab.quick:
        data, _truth = lab.simulated(10**5, 20)
        rows.append(row("`sgfs-cv` h = 1, 100,000 simulated rows, 21 parameters",
                        audited(lab, "logistic", data, "sgfs-cv", "--step", 1, draws=10_000, precision=0.003)))
    if not lab.quick and mnist79.there():
        np.save(lab.work / "mnist.npy", np.column_stack(mnist79.load()))
        rows.append(row("`sgfs-cv` h = 1, MNIST 7 against 9, 51 parameters",
                        audited(lab, "logistic", "mnist.npy", "sgfs-cv", "--step", 1, "--batch", 500, draws=10_000,
                                precision=0.01)))
    head = ["run", "largest difference of a mean, in sd", "true", "of an sd", "true", "found beyond chance", "took"]
    return table(head, rows)
