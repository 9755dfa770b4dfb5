#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Do anchors that follow the chain help networks? Error and log loss of rows kept aside (predictions averaged
over the draws so far) against seconds of the processor, one chain on one thread each, for SGFS and for sgfs-cv
with several structures, batches and steps. Data as for bench/networks.py:

    bench/anchors.py FOLDER [--program build/sgfs] [--only mnist|kdd] [--seconds 100] [--jobs 1]

Runs last until so many seconds of the clock times --busy (1: the machine is idle) have gone by; seconds of the
processor are what a busy machine leaves comparable. The last columns are the largest log loss of a single draw
and what the chain did: step h, gradient noise (of the curvature), anchors."""
import argparse
import concurrent.futures
import csv
import os
import pathlib
import subprocess
import tempfile

import networks

# options, iterations of warm-up
MNIST = [("--sampler sgfs-d --alpha 2 --batch 2000", 1000), ("--sampler sgfs-d --alpha 0.5 --batch 500", 1000),
         ("--sampler sgfs-cv --fisher diag --batch 100", 1000), ("--sampler sgfs-cv --fisher diag --batch 500", 1000),
         ("--sampler sgfs-cv --fisher diag --batch 500 --step 0.02", 1000),
         ("--sampler sgfs-cv --fisher diag --batch 2000 --step 0.03", 1000),
         ("--sampler sgfs-f --alpha 2 --batch 2000", 300), ("--sampler sgfs-b --alpha 2 --batch 2000", 300),
         ("--sampler sgfs-cv --fisher block --batch 500", 300), ("--sampler sgfs-cv --fisher block --batch 2000", 300),
         ("--sampler sgfs-cv --fisher full --batch 2000", 300)]
KDD = [("--sampler sgfs-d --alpha 8.95 --batch 500", 1000), ("--sampler sgfs-d --alpha 2 --batch 500", 1000),
       ("--sampler sgfs-cv --fisher diag --batch 100", 1000), ("--sampler sgfs-cv --fisher diag --batch 500", 1000)]


def one(args, out, model, common, row, number):
    program, (words, warmup), seconds = args.program, row, args.seconds
    fit = out / f"fit{number}.run"
    with open(out / f"fit{number}.err", "w+") as complaints:
        child = subprocess.Popen([program, "sample", model, "--data", out / "train.npy", "--validate", out / "test.npy",
                                  "--standardize", "--chains", "1", "--threads", "1", "--warmup", str(warmup), "--draws",
                                  "100000000", "--thin", "50", "--max-time", str(seconds * args.busy), "--out", fit, "--overwrite",
                                  "--quiet", *common.split(), *words.split()], stdout=subprocess.DEVNULL, stderr=complaints)
        _, code, used = os.wait4(child.pid, 0)
        complaints.seek(0)
        said = complaints.read().strip()
    if not fit.exists():
        return f"| `{words}` | {said[-200:]} |"
    curve, stan = out / f"fit{number}.curve.csv", out / f"fit{number}.stan.csv"
    for path in (curve, stan):
        if subprocess.run([program, "export", fit, path, "--overwrite"], capture_output=True).returncode != 0:
            return f"| `{words}` | no draw: {said[-200:]} |"
    rows = [[float(c) for c in r] for r in list(csv.reader(open(curve)))[1:]]
    share = used.ru_utime / rows[-1][2]  # of the clock's seconds that were ours
    for r in rows:
        r[2] *= share
    cells = []
    for at in [seconds / 16, seconds / 4, seconds]:
        past = [r for r in rows if r[2] <= at and r[3] > 0]
        cells.append(f"{past[-1][4]:.4f} / {past[-1][5]:.4f}" if past else "")
    alone = [r[7] for r in rows if r[3] > 0]
    files = sorted(out.glob(f"fit{number}*.stan.csv"))
    told = [line for line in open(files[0]) if not line.startswith("#")]
    head, last = next(csv.reader([told[0]])), next(csv.reader([told[-1]]))
    at = {name.rstrip("_"): last[k] for k, name in enumerate(head) if name.endswith("__")}
    did = ", ".join(f"{k} {float(at[k]):.3g}" for k in ("step_size", "stepsize", "noise", "anchors") if k in at)
    ended = "" if "Stopped early" in said or code == 0 else said[-160:]
    return (f"| `{words}` | {' | '.join(cells)} | {max(alone, default=0):.3f} | {rows[-1][1]:.0f} iterations, "
            f"{rows[-1][2]:.0f} s; {did} {ended} |")


def table(args, out, model, common, rows):
    times = [args.seconds / 16, args.seconds / 4, args.seconds]
    print("| options | " + " | ".join(f"error / log loss after {t:g} s" for t in times) + " | worst draw | did |")
    print("|---|---|---|---|---|---|", flush=True)
    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        todo = [pool.submit(one, args, out, model, common, row, k) for k, row in enumerate(rows)]
        for job in todo:
            print(job.result(), flush=True)


def chosen(args, rows):
    return [rows[int(k)] for k in args.rows.split(",")] if args.rows else rows


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--program", default="build/sgfs")
    parser.add_argument("--only", choices=["mnist", "kdd"])
    parser.add_argument("--projection", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=100)
    parser.add_argument("--rows", help="only these rows of the table, 0 being the first: 0,3")
    parser.add_argument("--busy", type=float, default=1)
    parser.add_argument("--jobs", type=int, default=1)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        out = pathlib.Path(folder)
        if args.only != "kdd":
            networks.mnist(args.folder, out, args.projection)
            print("MNIST, 20-30-10, D = 940, --prior-precision 0.001")
            table(args, out, "mlp", "--hidden 30 --prior-precision 0.001", chosen(args, MNIST))
        if args.only != "mnist":
            networks.kdd(args.folder, out)
            print("\nKDD99 10 %, DRBM of 41 hidden units, D = 2647, --prior-precision 10")
            table(args, out, "drbm", "--hidden 41 --prior-precision 10", chosen(args, KDD))
