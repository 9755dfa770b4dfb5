#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""How fast the program is: every workload beside its floor, measured in the same run, and beside other people's packages.

    make bench                               everything: one table, build/bench.json
    make bench BENCH='--only few-rows'       one part (--list names them)
    make bench BENCH='--no-peers'            without other packages
    bench/bench.py --scaling                 time and memory against rows, parameters, batch, chains and threads, with plots
    bench/bench.py --docs                    writes the tables of docs/performance.md from build/bench.json

Numbers are processor time of one core unless a row says otherwise, and ratios are what to compare between machines. At
the end the targets (targets.py) are printed with the measured ratio and PASS or the shortfall. A part, or a peer, that
cannot run here is a row that says why. Peers are what the Python of this program has (`make bench` gives it a private
environment, build-bench). Data are made up from fixed seeds; a9a is taken from the folder SGFS_DATA."""
import argparse
import datetime
import json
import os
import pathlib
import platform
import re
import subprocess
import sys
import tempfile
import time
from importlib import metadata

# Of numpy, which measures floors: one thread, and the kernel that OpenBLAS takes by itself.
os.environ["OPENBLAS_NUM_THREADS"] = "1"
DROPPED = {name: os.environ.pop(name) for name in list(os.environ) if name in ("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE")}

import numpy as np

import scaling
import targets
from measure import Bench, Failed, busy, classes, logistic, stopwatch, words
from text import Page, table, write_whole  # of experiments, whose folder scaling has added to the path

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent
PRIOR = ("--prior-precision", 1)


# ---- the parts: each measures one sort of workload

def iteration(b):
    """One iteration of logistic regression, D 51, n 500."""
    b.native("iteration")


def passes(b):
    """A pass over all rows."""
    b.native("pass", *((2000, 5) if b.quick else ()))


def networks(b):
    """An iteration of the paper's networks: mlp, D 940, n 2000, and drbm, D 2647, n 500."""
    b.native("networks")
    if not b.peers:
        return
    for model, columns, count, D, n in (("mlp", 20, 10, 940, 2000), ("drbm", 40, 23, 2647, 500)):
        np.save(b.folder / "classes.npy", classes(20_000, columns, count))
        b.peer("scan.py", f"{model}, D {D}, n {n}", "classes.npy", "--model", model, "--batch", n)


def draws(b, workload, data, contenders, batch=None):
    """Time of an iteration and of an effective draw for each (sampler, draws, options)."""
    for sampler, count, *options in contenders:
        if b.quick:
            count = min(count, 400)
        sized = ("--batch", batch) if batch and sampler in ("sgfs-f", "sgfs-d", "sgld", "sghmc") else ()
        m = b.per_draw("logistic", "--data", data, "--sampler", sampler, *PRIOR, *sized, *options, draws=count,
                       rounds=3 if count >= 1000 else 1)
        floor = next((f["value"] for f in b.found if f["workload"] == workload and f.get("ratio") == 1), None)
        b.add(workload, f"{sampler}, a draw", 1e6 * m["seconds"], "us", floor, before=m["before"], sampler=m["sampler"])
        few = count / m["tau"] < 50
        b.add(workload, f"{sampler}, an effective draw", 1e6 * m["seconds"] * m["tau"], "us", floor, tau=m["tau"],
              **({"note": "of fewer than 50: a guess"} if few else {}))


def mode(b, workload, data, *options):
    """Time to the mode of the posterior: of the search alone, as for peers, and of the whole command."""
    best = None
    for _ in range(1 if b.quick else 3):
        done = b.sgfs("optimize", "logistic", "--data", data, *PRIOR, *options, "--threads", 1, "--json")
        took = json.loads(done["out"])["seconds"] * min(1.0, done["cpu"] / done["wall"])
        best = min(best or (took, done["cpu"]), (took, done["cpu"]))
    b.add(workload, "mode", best[0], "s")
    b.add(workload, "mode, the whole command", best[1], "s", note="start and reading included")


def logistic_small(b):
    """Logistic regression, 10^4 x 51: draws and the mode."""
    workload = "logistic, 10^4 x 51"
    np.save(b.folder / "small.npy", logistic(300, 4) if b.quick else logistic(10_000, 50))
    draws(b, workload, "small.npy", [("sgfs-f", 40_000), ("sgfs-d", 40_000), ("sgld", 40_000), ("exact", 20_000), ("nuts", 400)],
          100 if b.quick else 500)
    mode(b, workload, "small.npy")
    for script in ("scan.py", "blackjax_.py", "numpyro_.py", "posteriors_.py", "modes.py"):
        b.peer(script, workload, "small.npy", "--batch", 500)


def logistic_large(b):
    """Logistic regression, 10^5 x 200: draws and the mode."""
    workload = "logistic, 10^5 x 200"
    size = (2000, 9) if b.quick else (100_000, 199)
    b.native("iteration", *size)
    b.native("pass", *size)
    np.save(b.folder / "large.npy", logistic(*size))
    draws(b, workload, "large.npy", [("sgfs-f", 4000), ("sgld", 10_000), ("exact", 3000), ("nuts", 60)], 500)
    mode(b, workload, "large.npy")
    for script in ("scan.py", "blackjax_.py", "numpyro_.py", "modes.py"):
        b.peer(script, workload, "large.npy", "--batch", 500)


def few_rows(b):
    """Exact draws that ask a few rows, N 10^6 and 10^7, D 21."""
    b.native("few", *((3000,) if b.quick else ()))
    for N in (3000,) if b.quick else (10**6, 10**7):
        workload = f"few rows, N {N}, D 21"
        b.sgfs("simulate", "logistic", "--rows", N, "--dim", 20, "--storage", "f32", "--seed", 1, "--out", "few.sgd", "--overwrite")
        draws(b, workload, "few.sgd", [("exact-rows", 400_000)])
    (b.folder / "few.sgd").unlink()
    if b.peers:
        np.save(b.folder / "few.npy", logistic(10**6, 20))
        for script in ("numpyro_.py", "blackjax_.py"):
            b.peer(script, "few rows, N 1000000, D 21", "few.npy", "--only-nuts")
        (b.folder / "few.npy").unlink()


def sparse(b):
    """a9a, 32,561 x 124 from a libsvm file: draws and the mode."""
    workload, data = "a9a, 32561 x 124, sparse", pathlib.Path(os.environ.get("SGFS_DATA", ".")) / "a9a" / "a9a.gz"
    if not data.exists():
        b.add(workload, "draws", None, "", note="no a9a/a9a.gz in the folder that SGFS_DATA names")
        return
    draws(b, workload, data.resolve(), [("sgfs-f", 4000), ("exact", 1000)], 500)
    mode(b, workload, data.resolve())
    b.peer("modes.py", workload, data.resolve(), "--sparse")


def write_words(path, x, level, label):
    with open(path, "w") as f:
        f.write(",".join([*(f"x{j}" for j in range(x.shape[1])), *(f"w{j}" for j in range(level.shape[1])), "y"]) + "\n")
        for numbers, codes, y in zip(x, level, label):
            f.write(",".join([*(f"{v:g}" for v in numbers), *(f"L{c}" for c in codes), str(y)]) + "\n")


def one_hot(x, level, label, levels):
    """The same as doubles: a column of 0 and 1 for every level but the first."""
    dense = np.zeros((len(x), x.shape[1] + level.shape[1] * (levels - 1) + 1))
    dense[:, :x.shape[1]] = x
    for j in range(level.shape[1]):
        there = np.flatnonzero(level[:, j] > 0)
        dense[there, x.shape[1] + j * (levels - 1) + level[there, j] - 1] = 1
    dense[:, -1] = label
    return dense


def predict(b, data, count):
    """Processor seconds of predicting with so many draws of the last run."""
    return b.sgfs("predict", "bench.run", "--data", data, "--max-draws", count, "--threads", 1, "--out", "p.csv", "--overwrite")["cpu"]


def codes(b):
    """Columns of words beside the same columns as doubles: 300,000 x (5 numbers + 5 columns of 150 words)."""
    rows, levels = (3000, 12) if b.quick else (300_000, 150)
    x, level, label = words(rows, 5, 5, levels)
    write_words(b.folder / "words.csv", x, level, label)
    np.save(b.folder / "dense.npy", one_hot(x, level, label, levels))
    both = {"words": ("--data", "words.csv", "--categorical", "auto"), "dense": ("--data", "dense.npy")}

    def compare(what, of):
        took = {}
        for name, data in both.items():
            try:
                took[name] = of(data)
            except (Failed, subprocess.TimeoutExpired) as reason:
                return b.add(targets.CODES, what, None, "", note=f"{name}: {str(reason)[-100:]}")
        return b.add(targets.CODES, what, 1e3 * took["words"], "ms", 1e3 * took["dense"], dense=1e3 * took["dense"])

    peak = {}

    def by_draw(data, sampler, count, *options):
        m = b.per_draw("logistic", *data, "--sampler", sampler, *PRIOR, *options, draws=count, rounds=1)
        peak.setdefault(sampler, {})[data[1]] = m["peak"]
        return m["seconds"]

    def predicted(data):
        """With few draws and with many: the difference is without start and reading."""
        b.sample("logistic", *data, "--sampler", "sgld", *PRIOR, "--warmup", 20, draws=300)
        few, many = (predict(b, data[1], k) for k in (20, 220))
        return max(many - few, 1e-9)

    short = ("--warmup", 20)
    compare("passes", lambda d: by_draw(d, "hmc", 20, *short, "--epsilon", 0.001, "--leapfrog", 2) / 2)
    compare("minibatches", lambda d: by_draw(d, "sgld", 4000, *short))
    compare("exact draws", lambda d: by_draw(d, "exact", 50))
    # Zeros are left out of any rows that are predicted: dense ones have none here.
    np.load(b.folder / "dense.npy", mmap_mode="r+")[:, x.shape[1]:-1] += 1
    compare("prediction", predicted)
    if len(peak.get("sgld", {})) == 2:
        b.add(targets.CODES, "memory", peak["sgld"]["words.csv"] / 1e6, "MB", peak["sgld"]["dense.npy"] / 1e6)
    (b.folder / "dense.npy").unlink()


def one_hot_150(b):
    """One-hot, 300,000 x 150, from words: draws and the mode."""
    workload, rows, levels = "one-hot, 300000 x 150", 3000 if b.quick else 300_000, 30
    write_words(b.folder / "hot.csv", *words(rows, 5, 5, levels))
    data = b.folder / "hot.csv"
    draws(b, workload, data, [("exact", 400, "--categorical", "auto")])
    mode(b, workload, data, "--categorical", "auto")
    b.peer("modes.py", workload, data, "--words")


def smh(b):
    """Figure 1 of Scalable Metropolis-Hastings: effective draws a second, d = 10, N = 2^6 to 2^24, everything counted."""
    for k in (6, 8) if b.quick else (6, 8, 10, 12, 14, 16, 18, 20, 22, 24):
        workload = f"SMH, d 10, N 2^{k}"
        table = logistic(2**k, 9, seed=k)
        np.save(b.folder / "smh.npy", table)
        m = b.sample("logistic", "--data", "smh.npy", "--sampler", "exact", *PRIOR, draws=2000 if b.quick else 100_000)
        b.add(workload, "exact: effective draws a second", m["ess"] / m["cpu"], "/s", note="start, mode and table included")
        if k in (6, 10, 14, 18):
            b.peer("pymhss_.py", workload, "smh.npy", seconds=8, limit=30)
    (b.folder / "smh.npy").unlink()


def text(b):
    """CSV files read, MB a second."""
    b.native("csv", b.folder)
    for digits in (6, 17):
        b.peer("reading.py", f"CSV, {digits} digits", f"bench-{digits}.csv")
        (b.folder / f"bench-{digits}.csv").unlink(missing_ok=True)


def packing(b):
    """Packed files written and checked, MB a second."""
    b.native("packed", b.folder)


def prediction(b):
    """Averaged predictions: 10^5 rows x 21, 500 draws; the floor is the product of matrices and an exp for each element."""
    rows, columns, count = (500, 4, 50) if b.quick else (100_000, 20, 500)
    table = logistic(rows, columns)
    np.save(b.folder / "predict.npy", table)
    b.sample("logistic", "--data", "predict.npy", "--sampler", "laplace", *PRIOR, draws=count)
    theta, bare = np.random.default_rng(1).standard_normal((count, columns)), float("inf")
    for _ in range(3):
        begin = time.process_time()
        for first in range(0, rows, 1000):
            1 / (1 + np.exp(-table[first:first + 1000, :columns] @ theta.T))
        bare = min(bare, time.process_time() - begin)
    cpu = {k: min(predict(b, "predict.npy", k) for _ in range(1 if b.quick else 3)) for k in (1, count)}
    workload = f"prediction, {rows} rows x {columns + 1}, {count} draws"
    b.add(workload, "product and exps (numpy)", 1e3 * bare, "ms", 1e3 * bare)
    b.add(workload, "predict, without start, reading and writing", 1e3 * max(cpu[count] - cpu[1], 1e-9), "ms", 1e3 * bare)
    b.add(workload, "predict", 1e3 * cpu[count], "ms", 1e3 * bare)


def portable(b):
    """The build for any processor beside the native one."""
    folder = ROOT / "build-portable"
    if b.quick:
        return
    for command in ("cmake --preset portable -DSGFS_TESTS=OFF", "cmake --build build-portable -j2 --target sgfs"):
        done = subprocess.run(command.split(), cwd=ROOT, capture_output=True, text=True)
        if done.returncode != 0:
            b.add("portable build", "build", None, "", note=f"failed: {done.stderr.strip()[-100:]}")
            return
    np.save(b.folder / "small.npy", logistic(10_000, 50))
    np.save(b.folder / "few.npy", logistic(200_000, 20))
    for what, data, sampler, count, *options in (("sgfs-f", "small.npy", "sgfs-f", 20_000, "--batch", 500, "--fisher-every", 1),
                                                 ("sgld", "small.npy", "sgld", 40_000, "--batch", 500),
                                                 ("exact-rows", "few.npy", "exact-rows", 400_000),
                                                 ("passes", "few.npy", "hmc", 40, "--warmup", 10)):
        took = {}
        for _ in range(2):  # in turns
            for program in (b.program, folder / "sgfs"):
                m = b.per_draw("logistic", "--data", data, "--sampler", sampler, *PRIOR, *options, draws=count, program=program,
                               rounds=1)
                took[program] = min(took.get(program, float("inf")), m["seconds"])
        b.add("portable build", what, 1e6 * took[folder / "sgfs"], "us", 1e6 * took[b.program])


def chains(b):
    """Two chains on one core and on two, by the clock."""
    np.save(b.folder / "small.npy", logistic(300, 4) if b.quick else logistic(10_000, 50))
    wall = {}
    for _ in range(1 if b.quick else 3):
        for threads in (1, 2):
            done = b.sgfs("sample", "logistic", "--data", "small.npy", "--sampler", "sgfs-f", *PRIOR, "--chains", 2, "--threads", threads,
                          "--ess", 0, "--draws", 200 if b.quick else 100_000, "--thin", 100, "--out", "bench.run", "--overwrite")
            wall[threads] = min(wall.get(threads, float("inf")), done["wall"])
    b.add("two chains", "one core", wall[1], "s", wall[1])
    row = b.add("two chains", "two cores", wall[2], "s")
    row["ratio"] = wall[1] / wall[2]
    print(f"  two cores are {row['ratio']:.2f} times as fast")


def details(b):
    """Pairs of proposals, scores of networks, rows of packed files."""
    for name in ("pairs", "scores", "chunks"):
        b.native(name)


def rules(b):
    """What rules in the code were drawn from: batches of sgfs-cv, remembered scores, updates of a factor. By its name only."""
    for name in ("cv", "remember", "fisher"):
        b.native(name)


PARTS = {"iteration": iteration, "passes": passes, "networks": networks, "few-rows": few_rows, "logistic-small": logistic_small,
         "logistic-large": logistic_large, "sparse": sparse, "codes": codes, "one-hot": one_hot_150, "smh": smh, "csv": text,
         "packing": packing, "prediction": prediction, "chains": chains, "portable": portable, "details": details, "rules": rules}
QUICK = ("iteration", "passes", "few-rows", "logistic-small", "codes", "prediction", "chains")


# ---- where and with what

def machine(program):
    def said(*command):
        try:
            return subprocess.run(command, capture_output=True, text=True, timeout=20).stdout.strip()
        except OSError:
            return ""
    model = re.search(r"model name\s*: (.*)", pathlib.Path("/proc/cpuinfo").read_text()) if os.path.exists("/proc/cpuinfo") else None
    return {"processor": model[1] if model else platform.processor(), "cores": len(os.sched_getaffinity(0)),
            "system": platform.system(),
            "compiler": said("cc", "--version").split("\n")[0], "program": said(program, "--version").split("\n")[0],
            "commit": said("git", "-C", str(ROOT), "describe", "--always", "--dirty"), "python": platform.python_version()}


def versions():
    """Of the peers' packages, as far as they are installed."""
    lines = (HERE / "requirements.txt").read_text().split("\n")
    found = {}
    for name in " ".join(line for line in lines if not line.startswith("#")).split():
        name = re.split("[<>=!~]", name)[0]
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            found[name] = "not installed"
    return found


# ---- docs/performance.md

def number(value, unit):
    return "-" if value is None else f"{value:,.0f} {unit}" if value >= 1000 else f"{value:.3g} {unit}"


def workloads(parts):
    """A table for each part, in the order of PARTS; without `rules`, which is long."""
    out = ["Peers are in italics."]
    for name in (n for n in PARTS if n in parts and n != "rules"):
        rows = []
        for m in parts[name]["found"]:
            what = f"*{m['what']}*" if m.get("who") == "peer" else m["what"]
            ratio = f"{m['ratio']:.3g}" if m.get("ratio") is not None else ""
            note = (m.get("note") or "").replace("|", "/").split("\n")[0]
            rows.append([m["workload"], what, number(m["value"], m["unit"]), ratio, note])
        said = PARTS[name].__doc__.split("\n")[0]
        out += [f"{said} (`--only {name}`)", table(["workload", "what", "measured", "ratio", ""], rows)] if rows else []
    return "\n\n".join(out)


def origin(out):
    m, load = out["machine"], max(part["load"] for part in out["parts"].values())
    state = ("The machine was idle otherwise." if load <= 0.7 else
             f"The machine was busy with other things at the same time (up to {load:.1f} runnable processes a core): times by the "
             "clock, such as those of two cores, are not to be trusted, and others are rough.")
    peers = ", ".join(f"{name} {version}" for name, version in out["versions"].items())
    minutes = sum(part["seconds"] for part in out["parts"].values()) / 60
    return (f"{m['processor']}, {m['cores']} cores; {m['system']}; OpenBLAS with the kernel {m.get('blas', 'unknown')}; "
            f"{m['compiler']}; {m['program']}; Python {m['python']}. {state} "
            f"All parts together took {minutes:.0f} minutes. Peers: {peers or 'none'}.")


def write_page(out, folder=None):
    """docs/performance.md, or a copy of it in `folder`; the numbers that it was made of stay beside it."""
    page = Page(ROOT / "docs" / "performance.md", folder, "bench/bench.py")
    page.write("machine", origin(out))
    page.write("targets", targets.table(out["targets"]))
    page.write("workloads", workloads(out["parts"]))
    if out.get("scaling"):
        scaling.draw(out["scaling"], page.folder)
        page.write("scaling", scaling.page(out["scaling"]))
    kept = {**out, "parts": {name: part for name, part in out["parts"].items() if name != "rules"}}
    write_whole(page.folder / "bench.json", json.dumps(kept, separators=(",", ":")).replace('{"workload"', '\n{"workload"') + "\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", default=str(ROOT / "build" / "sgfs"))
    parser.add_argument("--only", nargs="+", choices=PARTS, help="these parts")
    parser.add_argument("--list", action="store_true", help="name the parts")
    parser.add_argument("--no-peers", action="store_true", help="without other people's packages")
    parser.add_argument("--quick", action="store_true", help="tiny sizes, no peers: does it work?")
    parser.add_argument("--json", default=str(ROOT / "build" / "bench.json"))
    parser.add_argument("--keep", help="where made-up data stay")
    parser.add_argument("--scaling", action="store_true", help="the sweeps of scaling.py, and with --only parts besides")
    parser.add_argument("--out", type=pathlib.Path, help="with --docs: a folder for a copy of the page")
    parser.add_argument("--docs", action="store_true", help="write docs/performance.md from the JSON file, and measure nothing")
    args = parser.parse_args()
    if args.list:
        print("\n".join(f"{name:16} {part.__doc__.splitlines()[0]}" for name, part in PARTS.items()))
        return 0
    peers = not (args.no_peers or args.quick)
    took, load = stopwatch(), busy()
    if load > 0.5 and not args.docs:
        print(f"This machine is busy ({load:.1f} runnable processes a core): times are not to be trusted, ratios are rough.")
    path = pathlib.Path(args.json)
    before = json.loads(path.read_text()) if path.exists() else {}
    if args.docs:
        missing = [name for name in PARTS if name != "rules" and name not in before.get("parts", {})]
        if missing and args.out is None:
            sys.exit(f"{path} lacks {', '.join(missing)}, of which the page would lose its tables: measure them first, without "
                     "--docs.")
        write_page(before, args.out)
        return 0
    for name, value in DROPPED.items():
        print(f"Without {name}={value}: floors are those of the kernel that OpenBLAS takes by itself.")
    kept = before.get("parts", {}) if args.only or args.scaling else {}  # what other parts measured before stays
    out = {"date": datetime.date.today().isoformat(), "command": " ".join(["bench/bench.py", *sys.argv[1:]]),
           "machine": machine(args.program), "versions": versions() if peers else before.get("versions", {}), "load": load,
           "parts": kept, "scaling": before.get("scaling", {})}

    def keep():
        """After each part: an interruption leaves what there is."""
        out["machine"]["blas"] = b.kernel or before.get("machine", {}).get("blas", "unknown")
        out["targets"], out["seconds"] = targets.judge([m for part in kept.values() for m in part["found"]]), took()
        write_whole(path, json.dumps(out, indent=1) + "\n")

    with tempfile.TemporaryDirectory() as scratch:
        folder = pathlib.Path(args.keep or scratch).resolve()
        folder.mkdir(parents=True, exist_ok=True)
        b = Bench(args.program, folder, args.quick, peers)
        if args.scaling:
            out["scaling"] = scaling.measure(b)
            keep()
        failed = []
        for name in args.only or ([] if args.scaling else QUICK if args.quick else [p for p in PARTS if p != "rules"]):
            print(f"\n{name}: {PARTS[name].__doc__.splitlines()[0]}", flush=True)
            b.found, begin, load_before = [], stopwatch(), busy()
            try:
                PARTS[name](b)
            except (Failed, subprocess.TimeoutExpired) as reason:
                b.add(name, "part", None, "", note=f"failed: {str(reason)[-300:]}")
                failed.append(name)
            kept[name] = {"found": b.found, "seconds": begin(), "load": max(load_before, busy()), "quick": args.quick}
            keep()
    if not args.scaling:
        met = sum(r["verdict"] == "PASS" for r in out["targets"])
        print(f"\n{targets.table(out['targets'])}\n\n{met} of {len(out['targets'])} targets are met; {took():.0f} s.")
    if failed:
        print(f"Failed: {', '.join(failed)}.", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
