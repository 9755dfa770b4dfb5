#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Models with effects of groups beside lme4, statsmodels, GPBoost, NumPyro and bambi: estimates, times and memory of each.

    bench/groups.py                          everything up to 10^6 rows: build/groups.json
    bench/groups.py --only sleepstudy cbpp   some tables (--list names them); what others measured before stays
    bench/groups.py --large                  10^7 rows besides, in a packed file
    bench/groups.py --docs                   writes the tables of docs/groups.md from build/groups.json

Four tables are lme4's own: Debian has it as r-cran-lme4. The other packages are what the Python of this program has (`make
bench` prepares build-bench); one that is missing, fails or takes longer than --limit seconds of processor, or four times
as many by the clock, is a row that says so. All have two threads. Times are by the clock: those of sgfs are of the whole
command, start, reading and diagnostics included, those of others of the fit alone. Tables that are made up have fixed
seeds."""
import argparse
import contextlib
import datetime
import json
import os
import pathlib
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from importlib import metadata

import numpy as np

from bench import machine
from measure import Failed, busy, run, stopwatch
from text import Page, table, write_whole  # of experiments, whose folder bench has added to the path

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent
PEERS = ("lme4", "statsmodels", "gpboost", "numpyro", "bambi")
NAMES = {"statsmodels": "statsmodels", "gpboost": "GPBoost", "numpyro": "NumPyro NUTS", "lme4": "lme4", "bambi": "bambi"}
THREADS, CLOCK = 2, 4
ADDRESS_SPACE = 12 << 30  # a peer must not take the memory of the whole machine


class TooLong(Exception):
    """A peer was stopped by its limit of processor time."""


@dataclass
class Set:
    """A table, its model, and which estimates are shown. make writes the file; one of lme4's own is named in `own`."""
    title: str
    model: str
    formula: str
    features: list
    terms: list  # (factor, slopes)
    shown: list
    own: str = ""
    make: object = None
    prepare: object = None  # of the columns of lme4's file
    failures: str = ""
    peers: tuple = PEERS
    words: tuple = ()  # more options of sgfs
    bounds: dict = field(default_factory=dict)  # what must hold: seconds or peak (bytes)
    large: bool = False


# ---- tables

def effects(rng, groups, sd, rows):
    """Group codes of the rows, and the effects; groups have as many rows as chance gives them."""
    return rng.integers(0, groups, rows), sd * rng.standard_normal(groups)


def made_up(rows, columns, factors, model="logistic", single=False):
    """A .npy file: columns, the codes of the factors (groups, sd) and the target."""
    def write(path):
        rng = np.random.default_rng(7)
        out = np.lib.format.open_memmap(path, "w+", np.float32 if single else float, (rows, columns + len(factors) + 1))
        beta, eta = 0.4 * np.cos(np.arange(columns)), np.full(rows, -0.5)
        for j in range(columns):
            out[:, j] = rng.standard_normal(rows).round(3)
            eta += beta[j] * out[:, j]
        for k, (groups, sd) in enumerate(factors):
            code, u = effects(rng, groups, sd, rows)
            out[:, columns + k] = code
            eta += u[code]
        if model == "logistic":
            out[:, -1] = rng.random(rows) < 1 / (1 + np.exp(-eta))
        else:
            out[:, -1] = eta + 1.3 * rng.standard_normal(rows)
    return write


def simulated(title, rows, columns, factors, **more):
    names, codes = [f"x{j + 1}" for j in range(columns)], [f"x{columns + k + 1}" for k in range(len(factors))]
    formula = "y ~ " + " + ".join(names + [f"(1 | {c})" for c in codes])
    model = more.pop("model", "logistic")
    return Set(title, model, formula, names, [(c, []) for c in codes],
               ["intercept", "x1", "x2", *(f"sd_{c}[intercept]" for c in codes)],
               make=made_up(rows, columns, factors, model, more.pop("single", False)), **more)


def zeros_and_ones(columns, source, values):
    for value in values:
        columns[f"{source}_{value}".replace(" ", "")] = [str(int(v == value)) for v in columns[source]]
    return columns


def cbpp(columns):
    columns["healthy"] = [str(int(n) - int(k)) for n, k in zip(columns["size"], columns["incidence"])]
    return zeros_and_ones(columns, "period", ["2", "3", "4"])


def verbagg(columns):
    columns["yes"] = [str(int(v == "Y")) for v in columns["r2"]]
    columns = zeros_and_ones(columns, "btype", ["scold", "shout"])
    return zeros_and_ones(zeros_and_ones(columns, "situ", ["self"]), "Gender", ["M"])


SETS = {
    "sleepstudy": Set(
        "sleepstudy, 180 rows, 18 groups", "linear", "Reaction ~ Days + (Days | Subject)", ["Days"], [("Subject", ["Days"])],
        ["intercept", "Days", "sd_Subject[intercept]", "sd_Subject[Days]", "cor_Subject[intercept,Days]", "sigma"], "sleepstudy"),
    "cbpp": Set(
        "cbpp, 56 rows of counts, 15 groups", "logistic",
        "cbind(incidence, healthy) ~ period_2 + period_3 + period_4 + (1 | herd)", ["period_2", "period_3", "period_4"],
        [("herd", [])], ["intercept", "period_2", "period_3", "period_4", "sd_herd[intercept]"], "cbpp", prepare=cbpp,
        failures="healthy"),
    "VerbAgg": Set(
        "VerbAgg, 7,584 rows, 316 x 24 crossed", "logistic",
        "yes ~ Anger + Gender_M + btype_scold + btype_shout + situ_self + (1 | id) + (1 | item)",
        ["Anger", "Gender_M", "btype_scold", "btype_shout", "situ_self"], [("id", []), ("item", [])],
        ["intercept", "Anger", "btype_shout", "sd_id[intercept]", "sd_item[intercept]"], "VerbAgg", prepare=verbagg),
    "InstEval": Set(
        "InstEval, 73,421 rows, 2,972 x 1,128 crossed", "linear", "y ~ service + (1 | s) + (1 | d)", ["service"],
        [("s", []), ("d", [])], ["intercept", "service", "sd_s[intercept]", "sd_d[intercept]", "sigma"], "InstEval",
        words=("--chains", 2, "--warmup", 200, "--draws", 400)),
    "simulated-1e4": simulated("10^4 rows, 10^3 groups, D 10", 10**4, 9, [(10**3, 0.8)]),
    "simulated-1e5": simulated("10^5 rows, 10^4 groups, D 10", 10**5, 9, [(10**4, 0.8)]),
    "linear-1e6": simulated("linear, 10^6 rows, 10^5 groups, D 10", 10**6, 9, [(10**5, 0.8)], model="linear"),
    "simulated-1e6": simulated("10^6 rows, 10^5 groups, D 10", 10**6, 9, [(10**5, 0.8)], bounds={"seconds": 180}),
    "crossed-1e6": simulated("10^6 rows, 10^5 x 10^4 crossed, D 5", 10**6, 4, [(10**5, 0.8), (10**4, 0.5)],
                             bounds={"seconds": 900}, words=("--chains", 2, "--warmup", 150, "--draws", 600)),
    "simulated-1e7": simulated("10^7 rows, 10^6 groups, D 10, packed", 10**7, 9, [(10**6, 0.8)], bounds={"peak": 4e9},
                               single=True, peers=(), words=("--warmup", 5, "--draws", 5, "--ess", 0), large=True),
}


def make(name, one, folder):
    """The file of a set, made if it is not there yet."""
    path = folder / (f"{one.own}.csv" if one.own else f"{name}.npy")
    if one.own:
        raw = folder / "raw.csv"
        rscript("write", one.own, raw)
        head, *rows = [line.split(",") for line in raw.read_text().splitlines()]
        columns = dict(zip(head, map(list, zip(*rows))))
        columns = one.prepare(columns) if one.prepare else columns
        path.write_text("\n".join([",".join(columns), *map(",".join, zip(*columns.values()))]) + "\n")
    else:
        one.make(path)
        if one.large:
            packed = path.with_suffix(".sgd")
            return path, packed
    return path, path


def rscript(*words, folder=None, limit=120):
    program = shutil.which("Rscript")
    if program is None:
        raise Failed("there is no Rscript")
    done = run([program, "--vanilla", HERE / "peers" / "groups_lme4.R", *words], folder or pathlib.Path(words[-1]).parent, limit,
               {"OPENBLAS_NUM_THREADS": str(THREADS), "OMP_NUM_THREADS": str(THREADS)})
    return worked(done)


# ---- programs

def worked(done):
    if done["code"] in (-signal.SIGXCPU, -signal.SIGKILL):
        raise TooLong
    if done["code"] != 0:
        raise Failed((done["err"].strip() or f"exit {done['code']}").splitlines()[-1])
    return done


def of_draws(folder, words):
    """Mean and standard deviation of each parameter; sigma in place of its logarithm."""
    found = {}
    draws = np.load(folder / "fit.npy")
    for k, name in enumerate(words):
        x = draws[..., k]
        found["sigma" if name == "log_sigma" else name] = (np.exp(x) if name == "log_sigma" else x)
    return {name: [float(x.mean()), float(x.std())] for name, x in found.items()}


def ours(program, one, data, folder, limit):
    words = [program, "sample", one.model, "--data", data, "--formula", one.formula, "--threads", THREADS, "--out", "fit.run",
             "--overwrite", "--quiet", *one.words]
    done = run(words, folder, limit, {"OPENBLAS_NUM_THREADS": "1"})
    if done["code"] not in (0, 7):
        raise Failed(f"exit {done['code']}: {done['err'].strip()[-200:]}")
    said = json.loads(run([program, "summary", "fit.run", "--json"], folder)["out"])
    again = run([program, "export", "fit.run", "fit.npy", "--overwrite", "--quiet"], folder)
    if again["code"] != 0:
        raise Failed(again["err"].strip()[-200:])
    total = said["chains"] * said["draws_made"]
    return {"seconds": done["wall"], "cpu": done["cpu"], "peak": done["peak"],
            "estimates": of_draws(folder, [p["name"] for p in said["params"]]), "ess": said["ess_min"],
            "r_hat": max(p["r_hat"] for p in said["params"]), "tau": total / said["ess_min"], "grouped": said["grouped"],
            "iterations": total, "version": run([program, "--version"], folder)["out"].split()[1]}


def peer(name, one, data, folder, limit):
    if name == "lme4":
        if shutil.which("Rscript") is None:
            raise Failed("there is no Rscript")
        done = rscript(one.model, data, one.formula, folder=folder, limit=limit)
    else:
        target = one.formula.split("~")[0].strip().removeprefix("cbind(").split(",")[0]
        (folder / "spec.json").write_text(json.dumps({
            "model": one.model, "target": target, "failures": one.failures or None, "features": one.features,
            "terms": [{"factor": f, "slopes": s} for f, s in one.terms]}))
        threads = str(THREADS)
        done = run([sys.executable, HERE / "peers" / "groups_.py", name, data, "spec.json"], folder, limit,
                   {"OMP_NUM_THREADS": threads, "OPENBLAS_NUM_THREADS": threads, "TF_CPP_MIN_LOG_LEVEL": "3",
                    "PYTHONWARNINGS": "ignore", "CUDA_VISIBLE_DEVICES": "", "JAX_PLATFORMS": "cpu"})
        worked(done)
    found = json.loads([line for line in done["out"].splitlines() if line.startswith("{")][-1])
    return {**found, "peak": done["peak"]}


def attempt(who, limit, call):
    """A row, whatever comes of it."""
    begin = stopwatch()
    try:
        row = call()
    except subprocess.TimeoutExpired:
        row = {"note": f"stopped after {CLOCK * limit:.0f} s by the clock"}
    except TooLong:
        row = {"note": f"stopped after {limit:.0f} s of processor"}
    except (Failed, OSError, ValueError, KeyError, IndexError) as reason:
        row = {"note": f"failed: {' '.join(str(reason).split())[:110]}"}
    row = {"who": who, **row}
    took = f"{row['seconds']:9.2f} s, {row['cpu']:9.2f} s of processor" if "seconds" in row else f"{begin():9.2f} s: -"
    print(f"  {NAMES.get(who, who):14} {took}  {row.get('note', '')}".rstrip(), flush=True)
    for name, (mean, sd) in row.get("estimates", {}).items():
        print(f"      {name:36} {mean:10.4f}" + (f" +- {sd:.4f}" if sd is not None else ""), flush=True)
    return row


@contextlib.contextmanager
def limited(seconds):
    """Programs that are started here have so much processor time, and a part of the memory."""
    limits = {resource.RLIMIT_AS: ADDRESS_SPACE, resource.RLIMIT_CPU: int(time.process_time() + seconds)}
    for what, most in limits.items():
        resource.setrlimit(what, (most, resource.RLIM_INFINITY))
    try:
        yield
    finally:
        for what in limits:
            resource.setrlimit(what, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))


def measure(name, program, folder, limit, peers):
    one, load = SETS[name], busy()
    print(f"\n{name}: {one.title}; {one.model}, {one.formula}", flush=True)
    try:
        plain, data = make(name, one, folder)
        if data != plain:
            done = run([program, "pack", plain, "--out", data, "--overwrite", "--quiet"], folder)
            if done["code"] != 0:
                raise Failed(done["err"].strip()[-200:])
            plain.unlink()
    except (Failed, OSError) as reason:
        return {"rows": [{"who": "sgfs", "note": f"no table: {str(reason)[:110]}"}], "load": load}
    rows = [attempt("sgfs", 20 * limit, lambda: ours(program, one, data, folder, CLOCK * 20 * limit))]
    for who in one.peers if peers else ():
        with limited(limit):
            rows.append(attempt(who, limit, lambda: peer(who, one, data, folder, CLOCK * limit)))
    for path in (data, plain):
        path.unlink(missing_ok=True)
    return {"rows": rows, "load": max(load, busy())}


# ---- docs/groups.md

def shown(value, sd):
    """As many digits as the standard deviation has a use for."""
    digits = 3 if sd is None or not sd > 0 else int(np.clip(1 - np.floor(np.log10(sd)), 0, 4))
    return f"{value:.{digits}f}" + ("" if sd is None else f" +- {sd:.{digits}f}")


def time_of(row, which="seconds"):
    return "-" if which not in row else f"{row[which]:.2g} s" if row[which] < 99.5 else f"{row[which]:,.0f} s"


def remark(row):
    if "ess" not in row:
        return (row.get("note") or "").replace("|", "/")
    return f"ESS {row['ess']:.0f}, R-hat {row['r_hat']:.3f}" + (f"; {row['note']}" if row.get("note") else "")


def tables(sets):
    out = []
    for name in (n for n in SETS if n in sets):
        one = SETS[name]
        rows = []
        for row in sets[name]["rows"]:
            found = row.get("estimates", {})
            who = "**sgfs**" if row["who"] == "sgfs" else NAMES[row["who"]]
            rows.append([who, time_of(row, "seconds"), time_of(row, "cpu"), *(shown(*found[s]) if s in found else "" for s in one.shown), remark(row)])
        formula = one.formula if len(one.formula) < 90 else one.formula.replace(" + x3 + x4 + x5 + x6 + x7 + x8", " + ...")
        out += [f"**{one.title}** (`--only {name}`): {one.model}, `{formula}`",
                table(["", "clock", "processor", *(f"`{s}`" for s in one.shown), ""], rows)]
    return "\n\n".join(out)


def judge(sets):
    """What must hold: rows of text."""
    rows = []
    for name in (n for n in SETS if n in sets and SETS[n].bounds):
        one, row = SETS[name], sets[name]["rows"][0]
        for what, bound in one.bounds.items():
            if what not in row:
                rows.append([one.title, "", "-", "", "not measured"])
                continue
            good = row[what] <= bound and (what == "peak" or row["ess"] >= 400)
            asked = f"{bound / 60:.0f} min to ESS 400" if what == "seconds" else f"{bound / 1e9:.0f} GB"
            measured = time_of(row) if what == "seconds" else f"{row['peak'] / 1e9:.2f} GB"
            grouped = row["grouped"]
            more = (f"tau {row['tau']:.3g} iterations; ESS {row['ess']:.0f} of {row['iterations']:,} draws; accepted: groups "
                    f"{100 * grouped['groups']:.0f} %, coefficients {100 * grouped['beta']:.0f} %, scales "
                    f"{100 * grouped['scales']:.0f} %; {row['cpu']:.0f} s of processor") if what == "seconds" else (
                    f"{row['iterations']} iterations after warm-up, which is no fit: memory alone")
            verdict = "PASS" if good else f"short: {row[what] / bound:.2f} times the bound, ESS {row['ess']:.0f}"
            if not good and what == "seconds" and row["cpu"] < THREADS * bound and row["ess"] >= 400:
                verdict += f"; {row['cpu'] / THREADS:.0f} s on two cores of its own, by its time of processor"
            rows.append([one.title, asked, measured, more, verdict])
    return table(["", "at most", "measured", "", ""], rows)


def origin(out):
    m, load = out["machine"], max(s["load"] for s in out["sets"].values())
    state = ("The machine was idle otherwise." if load <= 0.7 else
             f"The machine was busy with other things at the same time (up to {load:.1f} runnable processes a core): times are "
             "longer than on an idle one, for all.")
    found = {NAMES[r["who"]]: r["version"] for s in out["sets"].values() for r in s["rows"] if "version" in r and r["who"] in NAMES}
    peers = ", ".join(f"{name} {version}" for name, version in found.items())
    return f"{m['processor']}, {m['cores']} cores, {m['program']}. {state} Peers: {peers or 'none'}; {THREADS} threads for each."


def write_page(out, folder):
    page = Page(ROOT / "docs" / "groups.md", folder, "bench/groups.py")
    page.write("machine", origin(out))
    page.write("bounds", judge(out["sets"]))
    page.write("tables", tables(out["sets"]))
    write_whole(page.folder / "groups.json", json.dumps(out, separators=(",", ":")).replace('{"who"', '\n{"who"') + "\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", default=str(ROOT / "build" / "sgfs"))
    parser.add_argument("--only", nargs="*", choices=SETS, help="these tables")
    parser.add_argument("--list", action="store_true", help="name the tables")
    parser.add_argument("--large", action="store_true", help="10^7 rows besides")
    parser.add_argument("--no-peers", action="store_true", help="without other people's packages")
    parser.add_argument("--limit", type=float, default=300, help="seconds that a peer may take (sgfs: twenty times as many)")
    parser.add_argument("--json", default=str(ROOT / "build" / "groups.json"))
    parser.add_argument("--out", type=pathlib.Path, help="with --docs: a folder for a copy of the page")
    parser.add_argument("--docs", action="store_true", help="write docs/groups.md from the JSON file, and measure nothing")
    args = parser.parse_args()
    if args.list:
        print("\n".join(f"{name:16} {one.title}" for name, one in SETS.items()))
        return 0
    path = pathlib.Path(args.json)
    before = json.loads(path.read_text()) if path.exists() else {}
    if args.docs:
        write_page(before, args.out)
        return 0
    program = str(pathlib.Path(args.program).resolve())
    out = {"date": datetime.date.today().isoformat(), "machine": machine(program), "sets": before.get("sets", {})}
    with tempfile.TemporaryDirectory() as scratch:
        for name in args.only or [n for n in SETS if args.large or not SETS[n].large]:
            out["sets"][name] = measure(name, program, pathlib.Path(scratch), args.limit, not args.no_peers)
            write_whole(path, json.dumps(out, indent=1) + "\n")  # after each: an interruption leaves what there is
    print(f"\n{judge(out['sets'])}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
