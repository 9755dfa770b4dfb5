# SPDX-License-Identifier: MIT
"""Effective exact draws a second, one chain on one core, with the sampler that the program chooses by itself: MNIST's 7
against 9, and simulated tables from packed files. An effective draw is one of the slowest parameter's."""
import mnist79
import numpy as np

from text import digits, machine, seconds, table

# name, rows, columns besides the intercept, draws
TABLES = [("MNIST, 7 against 9", None, None, 200_000), ("simulated", 10**5, 199, 4_000), ("simulated", 10**6, 20, 400_000)]


def mnist(lab):
    np.save(lab.work / "rates.npy", np.column_stack(mnist79.load()))
    return "rates.npy", mnist79.N, 50


def measure(lab, name, rows, columns, draws):
    if lab.quick:
        rows, columns, draws = 2000, 5, 500
    data, rows, columns = (lab.simulated(rows, columns)[0], rows, columns) if rows else mnist(lab)
    run = lab.sample("logistic", data, "exact", "--draws", draws)
    iteration = run["sample_seconds"] / run["draws"]
    return {"name": name, "rows": rows, "columns": columns + 1, "sampler": run["head"]["sampler"], "iteration": iteration,
            "tau": run["draws"] / run["ess_min"], "before": run["seconds"] - run["sample_seconds"],
            "share": run["cpu"] / run["wall"]}


def run(lab):
    found = [measure(lab, *t) for t in TABLES if t[1] or mnist79.there()]
    rows = [[m["name"], f"{m['rows']:,} x {m['columns']}", f"`{m['sampler']}`", seconds(m["before"]), seconds(m["iteration"]),
             f"{m['tau']:.2f}", digits(1 / (m["iteration"] * m["tau"]))] for m in found]
    head = ["data", "rows x parameters", "sampler", "before the first draw", "a draw", "tau", "effective draws a second"]
    return (table(head, rows) + f"\n\nOne core of an {machine()}; the program had at least "
            f"{100 * min(m['share'] for m in found):.0f} % of it (`experiments/evidence/rates.py`).")
