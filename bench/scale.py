#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""How long a run takes with many processes (--mpi): a model, checked here with 1, 2 and 4 of them, and what it says of 1,000.

    bench/scale.py                measures a minute or ten, and leaves build/scale.json
    bench/scale.py --docs         writes the section of docs/cluster.md and its picture from build/scale.json

Everything that is measured of the work is measured in one process:

    T(P, N) = m (a + w N ceil(S/P)/S) + 2 m latency ceil(log2 P) + (B S/64 + 24 m P)/bandwidth

m, B   meetings of the processes, mostly one for each pass, and bytes they gather, as `--verbose` counts them in a run of 2
a, w   processor seconds of a meeting without rows, which every process needs, and of a row: from runs of two lengths
S      parts of a pass (src/rows/shares.h), the most processes that can share it
latency, bandwidth   of the network, each meeting being two gathers; here, on one machine, from a run of few rows with P
       processes

With fewer cores than processes the first term grows by P/cores. What a launcher needs to start them is measured, taken off,
and not part of the model. Times by the clock want an idle machine; the processor time of the busiest process, which is
beside the first term, does not. Needs numpy, gnuplot, and Open MPI's mpirun."""
import argparse
import datetime
import json
import math
import os
import pathlib
import re
import shutil
import sys
import tempfile

from measure import Failed, busy, run

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "experiments"))
from text import Page, machine, seconds, table, write_whole

COLUMNS, FEW = 20, 2000
RANKS = (1, 2, 4)
LENGTHS = ("--chains", 2, "--ess", 0, "--seed", 5, "--threads", 1)
# options, rows of the two runs that costs are taken from, and of those that the model is checked with
SAMPLERS = {"nuts": (("--warmup", 10, "--draws", 10), 25_000, 100_000, 200_000),
            "exact-pairs": (("--warmup", 240, "--draws", 720), 25_000, 100_000, 200_000),
            "exact-rows": (("--scan", "on", "--warmup", 240, "--draws", 720), 500_000, 2_000_000, 4_000_000)}
PARTS, MOST_PARTS, PART_BLOCKS = 64, 1024, 1024  # src/rows/shares.h
NOTE = 24  # bytes that a process says at each meeting
NETWORKS = {"10 Gb Ethernet": {"latency": 25e-6, "bandwidth": 1.25e9}, "InfiniBand": {"latency": 2e-6, "bandwidth": 12e9}}
# More processes than cores, and no network; it may be root who measures. Open MPI's words.
QUIET = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "OMPI_MCA_rmaps_base_oversubscribe": "1",
         "OMPI_MCA_mpi_yield_when_idle": "1", "OMPI_MCA_btl": "self,vader", "OMPI_MCA_btl_vader_single_copy_mechanism": "none",
         "OMPI_MCA_plm_rsh_agent": "", "OMPI_MCA_hwloc_base_binding_policy": "none", "OPENBLAS_NUM_THREADS": "1"}


# ---- the model

def parts_of(N):
    """Parts of a pass over so many rows."""
    blocks, parts = -(-N // 1024), PARTS
    while parts < MOST_PARTS and 2 * parts * PART_BLOCKS <= blocks:
        parts *= 2
    return min(blocks, parts)


def work(cost, ranks, rows):
    """Processor seconds of the process with most rows."""
    parts = parts_of(rows)
    return cost["meetings"] * (cost["a"] + cost["w"] * rows * -(-parts // ranks) / parts)


def model(cost, network, ranks, rows, cores=math.inf):
    """Seconds of a run with so many processes; cost: a, w, meetings, bytes."""
    if ranks == 1:
        return work(cost, ranks, rows)
    rounds = 2 * cost["meetings"] * math.ceil(math.log2(ranks))
    sent = cost["bytes"] * parts_of(rows) / PARTS + NOTE * cost["meetings"] * ranks
    return work(cost, ranks, rows) * max(1, ranks / cores) + rounds * network["latency"] + sent / network["bandwidth"]


# ---- what is measured

class Lab:
    def __init__(self, program, folder, quick, rounds):
        self.program, self.folder, self.rounds = str(pathlib.Path(program).resolve()), folder, 1 if quick else rounds
        self.cores = len(os.sched_getaffinity(0))
        self.shrink = 10 if quick else 1

    def sgfs(self, *words, ranks=0):
        """The shell writes what each process needed of a processor."""
        each = ["sh", "-c", '"$0" "$@" && times > "cpu.$OMPI_COMM_WORLD_RANK"', self.program]
        launch = [shutil.which("mpirun"), "-q", "-n", ranks, *each] if ranks else [self.program]
        done = run([*launch, *words], self.folder, 1200, QUIET)
        if done["code"] != 0:
            raise Failed(f"sgfs {' '.join(map(str, words))}: exit {done['code']}\n{done['err'].strip()[-500:]}")
        return done

    def rows(self, count):
        name = f"rows-{count}.sgd"
        if not (self.folder / name).exists():
            self.sgfs("simulate", "logistic", "--rows", count, "--dim", COLUMNS, "--storage", "f32", "--seed", 1, "--out", name, "-q")
        return name

    def busiest(self, ranks):
        """Processor seconds of the process that needed most."""
        used = [re.findall(r"(\d+)m([\d.]+)s", (self.folder / f"cpu.{k}").read_text())[2:] for k in range(ranks)]
        return max(sum(60 * int(m) + float(s) for m, s in both) for both in used)

    def time(self, ranks, count, sampler, *options):
        """Of the best of some runs: seconds of the clock, processor seconds, and what rank 0 has sent."""
        clock = cpu = math.inf
        for _ in range(self.rounds):
            done = self.sgfs("sample", "logistic", "--data", self.rows(count), "--sampler", sampler, *LENGTHS, *options, "--mpi",
                             "--verbose", "--allow-unconverged", "--out", "scale.run", "--overwrite", ranks=ranks)
            clock, cpu = min(clock, done["wall"]), min(cpu, self.busiest(ranks))
        found = re.search(r"has sent ([\d.]+) (\w+) in ([\d,]+) meetings", " ".join(done["err"].split()))
        units = {"bytes": 1, "kB": 1e3, "MB": 1e6, "GB": 1e9}
        return {"clock": clock, "cpu": cpu, "bytes": float(found[1]) * units[found[2]] if found else 0,
                "meetings": int(found[3].replace(",", "")) if found else 0}


def measure(lab):
    """Costs of each sampler, this machine's network, and runs beside the model."""
    out = {"costs": {}, "latency": {}, "checks": [], "cores": lab.cores}
    start, both = {}, {}
    for ranks in RANKS:  # as good as no work
        start[ranks] = lab.time(ranks, FEW, "laplace", "--warmup", 0, "--draws", 50)
        print(f"{ranks} started in {seconds(start[ranks]['clock'])}", flush=True)
    for sampler, (options, *sizes) in SAMPLERS.items():
        sizes = [n // lab.shrink for n in sizes]
        sent = [lab.time(2, n, sampler, *options) for n in sizes]
        both[sampler] = sent[-1]
        few, many = ((lab.time(1, n, sampler, *options)["cpu"] - start[1]["cpu"]) / s["meetings"] for n, s in zip(sizes[:2], sent))
        w = max(many - few, 0) / (sizes[1] - sizes[0])
        cost = {"rows": sizes[-1], "a": max(few - w * sizes[0], 0), "w": w, "meetings": sent[-1]["meetings"],
                "bytes": 2 * max(sent[-1]["bytes"] - NOTE * sent[-1]["meetings"], 0)}
        out["costs"][sampler] = cost
        print(f"{sampler}: {cost['meetings']} meetings of {seconds(cost['a'])} + {1e9 * w:.3g} ns a row, {cost['bytes']:.3g} bytes", flush=True)
    cost = out["costs"]["nuts"]  # which meets most often
    for ranks in RANKS[1:]:
        took = lab.time(ranks, FEW, "nuts", *SAMPLERS["nuts"][0])
        few = {**cost, "meetings": took["meetings"]}
        spare = took["clock"] - start[ranks]["clock"] - model(few, {"latency": 0, "bandwidth": math.inf}, ranks, FEW, lab.cores)
        out["latency"][ranks] = max(spare, 0) / (2 * few["meetings"] * math.ceil(math.log2(ranks)))
        print(f"{ranks}: a step of a gather takes {seconds(out['latency'][ranks])}", flush=True)
    for sampler, (options, *_) in SAMPLERS.items():
        cost = out["costs"][sampler]
        rows = cost["rows"]
        for ranks in RANKS:
            took = both[sampler] if ranks == 2 else lab.time(ranks, rows, sampler, *options)
            here = {"latency": out["latency"].get(ranks, 0), "bandwidth": 2e9}
            check = {"sampler": sampler, "rows": rows, "ranks": ranks, "work": work(cost, ranks, rows),
                     "model": model(cost, here, ranks, rows, lab.cores),
                     **{k: max(took[k] - start[ranks][k], 1e-3) for k in ("cpu", "clock")}}
            out["checks"].append(check)
            print(f"{sampler}, {ranks}: processor {seconds(check['cpu'])}, model {seconds(check['work'])}; "
                  f"clock {seconds(check['clock'])}, model {seconds(check['model'])}", flush=True)
    return out


# ---- the page

def keyed(numbers):
    """JSON makes words of whole numbers that are keys."""
    return {int(k): v for k, v in numbers.items()}


def text(out):
    latency = " and ".join(f"{seconds(v)} with {k}" for k, v in keyed(out["latency"]).items())
    costs = [[s, f"{c['rows']:,}", f"{c['meetings']:,}", seconds(c["a"]), f"{1e9 * c['w']:.2g} ns", f"{c['bytes'] / 1e6:.2g} MB"]
             for s, c in out["costs"].items()]
    checks = [[c["sampler"], c["ranks"], *(seconds(c[k]) for k in ("cpu", "work")), f"{c['work'] / c['cpu']:.2f}",
               *(seconds(c[k]) for k in ("clock", "model")), f"{c['model'] / c['clock']:.2f}"] for c in out["checks"]]
    off = {k: [c[k[0]] / c[k[1]] for c in out["checks"]] for k in (("work", "cpu"), ("model", "clock"))}
    said = {k: f"{min(v):.2f} to {max(v):.2f}" for k, v in off.items()}
    load = ("The machine was idle otherwise." if out["load"] <= 0.7 else
            f"The machine was busy with other things (up to {out['load']:.0f} runnable processes a core), so that the clock says "
            "more of them than of the model.")
    far = [[sampler, f"10^{round(math.log10(rows))}",
            *(seconds(model(cost, NETWORKS["10 Gb Ethernet"], P, rows)) for P in (1, 10, 100, 1000)),
            seconds(model(cost, NETWORKS["InfiniBand"], 1000, rows))]
           for sampler, cost in out["costs"].items() for rows in (10**9, 10**12)]
    runs = ", ".join(f"{s} {o[o.index('--warmup') + 1]} + {o[o.index('--draws') + 1]}" for s, (o, *_) in SAMPLERS.items())
    return f"""Measured on {out['processor']}, {out['cores']} cores, {out['date']}: 2 chains of so many iterations ({runs}),
logistic regression with {COLUMNS} columns (D = {COLUMNS + 1}), packed in single precision and in memory. {load} One process
needs of a processor:

{table(["sampler", "rows", "meetings", "a meeting", "and for each row", "gathered by all"], costs)}

The model of a run with N rows and P processes, where m is its meetings, a and w are the times of one and of each row, and
S is the parts of a pass:

    T = m (a + w N ceil(S/P)/S) + 2 m latency ceil(log2 P) + bytes/bandwidth

Its first term is compared with the processor time of the busiest process here, and the whole with the clock. A step of a
gather took {latency} processes:

{table(["sampler", "processes", "processor", "first term", "ratio", "clock", "model", "ratio"], checks)}

The first term was {said["work", "cpu"]} times what was measured, and the whole {said["model", "clock"]} times. What it says
of larger clusters, of a run like these:

![Time against processes, for 10^9 and 10^12 rows](cluster/scale.svg)

{table(["sampler", "rows", "1 process", "10", "100", "1,000", "1,000 by InfiniBand"], far)}

The steps at the right are those of parts: 10^9 rows have 512 of them and 10^12 have 1,024, of which 1,000 processes get
two at the most. Dotted lines, which hardly differ, are InfiniBand's.

A process is a core here, on 10 Gb Ethernet (25 us, 1.25 GB/s) but for the last column (2 us, 12 GB/s). Assumed, and
measured nowhere: rows lie in memory, of which 10^12 rows need 84 TB, or on disks as fast as the passes; cores do not slow
each other down; a gather takes ceil(log2 P) steps, and nobody waits for a slow process; a run makes as many passes as here,
since the posterior is a parabola all the more the more rows there are."""


def draw(out, folder):
    from pen import LOOK, Pen
    style = {s: LOOK[{"exact-pairs": "sgfs-f", "exact-rows": "exact"}.get(s, s)][0] for s in SAMPLERS}
    grid = sorted({round(10 ** (k / 20)) for k in range(61)})
    tables, lines = {}, []
    for k, (sampler, cost) in enumerate(out["costs"].items()):
        for j, rows in enumerate((10**9, 10**12)):
            tables[f"c{k}{j}"] = [(P, *(model(cost, n, P, rows) for n in NETWORKS.values())) for P in grid]
            title = f'title "{sampler}"' if j == 0 else "notitle"
            lines += [f'$c{k}{j} using 1:2 with lines lw 2 lc rgb "{style[sampler]}" {title}',
                      f'$c{k}{j} using 1:3 with lines dt 3 lc rgb "{style[sampler]}" notitle']
    for k, sampler in enumerate(SAMPLERS):
        tables[f"m{k}"] = [(c["ranks"], c["cpu"], c["work"]) for c in out["checks"] if c["sampler"] == sampler]
    here = ", ".join(f'$m{k} using 1:2 with points pt 7 lc rgb "{style[s]}" notitle, '
                     f'$m{k} using 1:3 with lines lc rgb "{style[s]}" title "{s}"' for k, s in enumerate(SAMPLERS))
    with tempfile.TemporaryDirectory() as scratch:
        Pen(scratch).plot("scale", f"""set multiplot layout 1,2
set logscale xy
set xlabel "processes"
set ylabel "processor seconds of the busiest process"
set key bottom left
set title "here; points are measured"
set xrange [0.9:4.5]
set xtics (1, 2, 4)
plot {here}
set ylabel "seconds of a run"
set title "10^9 rows (below) and 10^{{12}}"
unset key
set xrange [1:1000]
set xtics (1, 10, 100, 1000)
set format y "10^{{%T}}"
plot {", ".join(lines)}
unset multiplot""", tables, 900, 380)
        shutil.copy(pathlib.Path(scratch) / "scale.svg", folder)


def write_page(out, folder=None):
    page = Page(ROOT / "docs" / "cluster.md", folder, "bench/scale.py")
    page.write("scale", text(out))
    draw(out, page.folder)
    write_whole(page.folder / "scale.json", json.dumps(out, indent=1) + "\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", default=str(ROOT / "build" / "sgfs"))
    parser.add_argument("--json", default=str(ROOT / "build" / "scale.json"), type=pathlib.Path)
    parser.add_argument("--quick", action="store_true", help="tiny sizes: does it work?")
    parser.add_argument("--rounds", type=int, default=2, help="runs of each sort, of which the shortest counts")
    parser.add_argument("--docs", action="store_true", help="write docs/cluster.md from the JSON file, and measure nothing")
    parser.add_argument("--out", type=pathlib.Path, help="with --docs: a folder for a copy of the page")
    args = parser.parse_args()
    if args.docs:
        return write_page(json.loads(args.json.read_text()), args.out)
    if shutil.which("mpirun") is None:
        raise SystemExit("There is no mpirun: `make mpi` installs Open MPI.")
    load = busy()
    with tempfile.TemporaryDirectory() as folder:
        out = measure(Lab(args.program, pathlib.Path(folder), args.quick, args.rounds))
    write_whole(args.json, json.dumps({**out, "processor": machine(), "date": datetime.date.today().isoformat(),
                                       "load": max(load, busy()), "quick": args.quick}, indent=1) + "\n")


if __name__ == "__main__":
    sys.exit(main())
