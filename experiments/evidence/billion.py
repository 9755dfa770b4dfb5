# SPDX-License-Identifier: MIT
"""Anchor and exact draws from one packed file that is larger than what may be resident: 8 columns in single
precision, 36 bytes a row (--rows 1e8: 3.6 GB of disk). Not part of `make beyond`."""
import shutil

from lab import Missing
from text import digits, machine, seconds, table


def run(lab):
    lab.needs("exact-rows")
    rows = 20_000 if lab.quick else lab.rows
    need, free = rows * 36 + 2e8, shutil.disk_usage(lab.work).free
    if free < need:
        raise Missing(f"{lab.work} has {free / 1e9:.1f} GB free; {rows:.0e} rows take {need / 1e9:.1f} GB (--work FOLDER)")
    data, truth = lab.simulated(rows, 8)
    size = (lab.work / data).stat().st_size
    lines = []
    for sampler in ("exact-rows", "sgfs-cv"):
        if not lab.has(sampler):
            continue
        run_ = lab.sample("logistic", data, sampler, "--draws", 2000 if lab.quick else 100_000, watched=True)
        of, draws = lab.compare(truth), run_["draws"] * run_["head"]["thin"]
        per_second = run_["ess_min"] / run_["sample_seconds"]
        lines.append([f"`{sampler}`", f"{run_['anchor'].get('passes', '')}", seconds(run_["anchor"].get("seconds")),
                      seconds(run_["seconds"] - run_["sample_seconds"]), f"{run_['peak'] / 1e6:,.0f} MB",
                      f"{draws / run_['ess_min']:.2f}", digits(per_second), f"{of['E1']:.1e} ({of['E1_noise']:.1e})",
                      f"{of['trR']:.4f}"])
        print("   " + " | ".join(lines[-1]), flush=True)
    head = ["", "passes", "anchor", "all before the first draw", "peak resident", "tau", "effective draws a second", "E1", "trR"]
    return (table(head, lines) + f"\n\n{rows:,} rows, a file of {size / 1e9:.2f} GB, one core of an {machine()}.")
