# SPDX-License-Identifier: MIT
"""How time and memory grow with the batch n, the parameters D, the rows N, the chains and the threads: one sweep each, with the
exponent of a power law fitted to its upper half, and a picture. Memory is the largest resident set of the process, beside
what `--dry-run` says before the run. Part of bench.py (`--scaling`); nothing here is compared with a bound."""
import json
import os
import pathlib
import shutil
import sys
import tempfile

import numpy as np

from measure import logistic

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "experiments"))
PRIOR = ("--prior-precision", 1)
EVERY = ("--fisher-every", 1)

# sweep: what varies, its values, the shape (N, columns) at x, and for each series: sampler, options at x, draws at x
SWEEPS = {
    "batch": {"letter": "n", "label": "rows of a minibatch, n", "values": [50, 100, 200, 500, 1000, 2000, 5000],
              "shape": lambda x: (100_000, 50),
              "series": {"sgfs-f": (lambda x: ("--batch", x, *EVERY), lambda x: 2_000_000 // (x + 500)),
                         "sgfs-d": (lambda x: ("--batch", x), lambda x: 4_000_000 // (x + 500)),
                         "sgld": (lambda x: ("--batch", x), lambda x: 4_000_000 // (x + 500))}},
    "parameters": {"letter": "D", "label": "parameters, D", "values": [11, 21, 51, 101, 201, 401, 801],
                   "shape": lambda x: (20_000, x - 1),
                   "series": {"sgfs-f": (lambda x: ("--batch", 500, *EVERY, "--warmup", 200), lambda x: 40_000_000 // (x + 100) ** 2),
                              "sgfs-d": (lambda x: ("--batch", 500, "--warmup", 200), lambda x: 400_000 // (x + 50)),
                              "sgld": (lambda x: ("--batch", 500, "--warmup", 200), lambda x: 400_000 // (x + 50))}},
    "rows": {"letter": "N", "label": "rows, N", "values": [1000, 4000, 16_000, 64_000, 256_000, 1_024_000],
             "shape": lambda x: (x, 20),
             "series": {"exact-rows": (lambda x: (), lambda x: 50_000),
                        "sgld": (lambda x: ("--batch", 250, "--warmup", 1000), lambda x: 10_000),
                        "hmc": (lambda x: ("--warmup", 10), lambda x: max(20, 2_000_000 // x))}},
    "chains": {"letter": "C", "label": "chains C, on one thread", "values": [1, 2, 4, 8, 16], "shape": lambda x: (20_000, 100),
               "series": {"sgfs-f": (lambda x: ("--chains", x, "--batch", 500), lambda x: 2000),
                          "sgld": (lambda x: ("--chains", x, "--batch", 500), lambda x: 2000)}},
    "threads": {"letter": "T", "label": "threads T, four chains", "values": [1, 2], "shape": lambda x: (20_000, 100),
                "series": {"sgfs-f": (lambda x: ("--chains", 4, "--threads", x, "--batch", 500), lambda x: 4000),
                           "nuts": (lambda x: ("--chains", 4, "--threads", x, "--warmup", 50), lambda x: 20)}}}


def measure(b):
    """name -> series -> points: x, seconds of an iteration, peak and told bytes."""
    found = {}
    for name, sweep in SWEEPS.items():
        values = sweep["values"][:2] if b.quick else sweep["values"]
        if name == "threads":  # up to the cores there are
            values = [x for x in (1, 2, 4, 8, 16, 32) if x <= len(os.sched_getaffinity(0))]
        found[name] = {sampler: [] for sampler in sweep["series"]}
        print(f"\n{sweep['label']}", flush=True)
        for x in values:
            N, columns = sweep["shape"](x)
            np.save(b.folder / "scaling.npy", logistic(500 if b.quick else N, columns))
            for sampler, (options, count) in sweep["series"].items():
                point = one(b, sampler, options(x), 20 if b.quick else count(x))
                found[name][sampler].append({"x": x, **point})
                print(f"  {sampler:12} {x:8} {1e6 * point['seconds']:10.4g} us {point['peak'] / 1e6:8.1f} MB, "
                      f"{point['told'] / 1e6:.1f} said", flush=True)
    return found


def one(b, sampler, options, draws):
    """Of a single iteration of all chains together: seconds, and memory. On one thread the processor time of a short run is taken
    from that of a long one, with as many draws kept: start, reading and warm-up do not count, nor do other programs. On
    several threads, each with as many chains, it is the clock's time of the draws, which the run adds up over chains."""
    words = ["logistic", "--data", "scaling.npy", "--sampler", sampler, *PRIOR, *options, "--ess", 0]
    words += [] if "--chains" in words else ["--chains", 1]
    words += [] if "--threads" in words else ["--threads", 1]
    told = json.loads(b.sgfs("sample", *words, "--draws", draws, "--dry-run", "--json")["out"])["bytes_needed"]

    def make(count, kept):
        return b.sgfs("sample", *words, "--draws", count, "--thin", max(1, count // kept), "--out", "bench.run", "--overwrite")

    if words[words.index("--threads") + 1] == 1:
        short, kept = draws // 4, max(draws // 4, 4) if draws < 400 else 100
        least = make(short, kept)["cpu"]
        done = make(draws, kept)
        return {"seconds": max(done["cpu"] - least, 1e-9) / (draws - short), "peak": done["peak"], "told": told}
    done = make(draws, draws)
    said = json.loads(b.sgfs("summary", "bench.run", "--json")["out"])
    seconds = said["sample_seconds"] / words[words.index("--threads") + 1]
    return {"seconds": seconds / draws, "peak": done["peak"], "told": told}


def exponent(points, field="seconds"):
    """Of a power law through the upper half of the points."""
    upper = points[len(points) // 2:] if len(points) > 3 else points
    x, y = np.log([p["x"] for p in upper]), np.log([max(p[field], 1e-12) for p in upper])
    return float(np.polyfit(x, y, 1)[0]) if len(upper) > 1 else None


def draw(found, folder):
    """One picture a sweep: time on the left, memory on the right; SVG alone."""
    from pen import Pen
    look = {"sgfs-f": ("#E69F00", 9), "sgfs-d": ("#56B4E9", 5), "sgld": ("#CC79A7", 11), "exact-rows": ("#332288", 15),
            "hmc": ("#D55E00", 13), "nuts": ("#0072B2", 5)}
    with tempfile.TemporaryDirectory() as scratch:
        pen = Pen(scratch)
        for name, series in found.items():
            tables = {f"s{k}": [(p["x"], 1e6 * p["seconds"], p["peak"] / 1e6, p["told"] / 1e6) for p in points]
                      for k, points in enumerate(series.values())}
            style = {s: f'lc rgb "{look[s][0]}" pt {look[s][1]}' for s in series}
            time = ", ".join(f'$s{k} using 1:2 with linespoints {style[s]} title "{s}"' for k, s in enumerate(series))
            memory = ", ".join(f'$s{k} using 1:3 with points {style[s]} title "{s}", $s{k} using 1:4 with lines lc rgb "{look[s][0]}"'
                               for k, s in enumerate(series))
            pen.plot(f"scaling-{name}", f"""set multiplot layout 1,2
set logscale xy
set key top left
set xlabel "{SWEEPS[name]['label']}"
set ylabel "us an iteration"
plot {time}
set ylabel "MB (lines: --dry-run)"
plot {memory}
unset multiplot""", tables, 800, 320)
            folder.mkdir(parents=True, exist_ok=True)
            shutil.copy(pathlib.Path(scratch) / f"scaling-{name}.svg", folder)


def page(found):
    """The section of docs/performance.md, as text."""
    out = ["| what grows | sampler | time of an iteration | memory | memory said by `--dry-run`, of the measured |",
           "|---|---|---|---|---|"]
    for name, series in found.items():
        for sampler, points in series.items():
            said = [p["told"] / p["peak"] for p in points]
            powers = [f"{SWEEPS[name]['letter']}^{exponent(points, field):.2f}" for field in ("seconds", "peak")]
            out.append(f"| {SWEEPS[name]['label']} | {sampler} | {powers[0]} | {powers[1]} | {min(said):.2f} to {max(said):.2f} |")
    return "\n".join(out) + "\n\n" + "\n\n".join(f"![Time and memory against {SWEEPS[name]['label']}](performance/scaling-{name}.svg)"
                                                 for name in found)
