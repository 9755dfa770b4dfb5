#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Make every call of the program fail once, and see that nothing is lost.

    faults.py --program build/sgfs --library build/tests/faults.so              # every call of every command
    faults.py ... --commands nuts,summary --kinds alloc                         # some
    faults.py ... --part 2/4                                                    # the second quarter
    faults.py ... --sites                                                       # each calling place once
    faults.py ... --sample 500                                                  # a fixed sample

A command (commands.py) runs once untouched, while faults.so counts its calls of each kind. Then it runs again for every
call, which fails: alone, and with all that follow. Whatever happens, these must hold:

  * it ends by itself, in time, and not by a signal;
  * exit code 0 (or that of a refusal): the results are those of the untouched run;
  * another exit code is that of the failure (1: memory, 5: files), with a sentence on the standard error;
  * no file is left behind but those that the command was to write, and each of them is complete, or as it was before.
    A run file may hold fewer draws; those are the first ones of the untouched run;
  * no block of memory is left that the untouched run gives back.
"""
import argparse
import json
import os
import random
import re
import shutil
import struct
import subprocess
import sys
import tempfile
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import Queue

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))
from commands import COMMANDS, make_inputs  # noqa: E402

KINDS = ("alloc", "open", "read", "write", "map", "sync", "rename", "truncate", "lock", "close", "stat")
ERRNO = dict(alloc=12, open=24, read=5, write=28, map=12, sync=5, rename=5, truncate=28, lock=37, close=5, stat=5)
CODES = {"alloc": (1,), "map": (1, 5)}  # of others: 5
EFFECTS = 0x80000003  # a block of a run file
FRAMES, CALLS, SECONDS = 40, 1 << 16, 30
HEAD = struct.Struct(f"{len(KINDS)}q2q{FRAMES}Q{FRAMES}Q")

# Times, which no two runs share, and the memory that a rehearsal was seen to take.
TIMES = re.compile(r"\d[\d.]*(e[-+]\d+)? ?((s|ms|seconds?|min|h)\b|per second|[a-z/]+ a second|(draws|iterations|rows)/s)"
                   r"|\d+ [kMG]B/s|iterations at [\d.e+]+/s"
                   r"|memory +about [\d.]+ [MG]B"
                   r"|\"[a-z_]*(seconds|time|per_s|created_at|rate|inv_atuc)[a-z_]*\": [^,\n]*")
LAST_COLUMN = re.compile(r"^([*~ ] [\w-]+=.*?) +[\d.e-]+$", re.M)  # of sgfs tune: seconds


# Progress, which a busy machine shows and an idle one does not.
PROGRESS = re.compile(r"^[A-Za-z][A-Za-z -]*: +\d+ %[^\n]*\n?", re.M)


def timeless(text):
    return LAST_COLUMN.sub(r"\1 TIME", TIMES.sub("TIME", PROGRESS.sub("", text)))


class Harness:
    """The program, a folder with inputs, and one place to work for each thread."""

    def __init__(self, program, library, model, folder, jobs=1):
        self.program, self.library = str(Path(program).resolve()), str(Path(library).resolve())
        self.folder, self.places = Path(folder), Queue()
        (self.folder / "in").mkdir()
        make_inputs(self.folder / "in", self.program, model)
        for i in range(jobs):
            self.places.put(i)
        self.clean = {}

    def run(self, command, kind="count", n=0, how="once"):
        """One run: exit code, stdout, stderr, files, and what faults.so says of it."""
        place = self.places.get()
        try:
            work, report = self.folder / "work" / str(place), self.folder / f"report-{place}"
            shutil.rmtree(work, ignore_errors=True)
            work.mkdir(parents=True)
            before = command.before(self.folder / "in")
            for name, content in before.items():
                (work / name).write_bytes(content)
            with open(report, "wb") as f:
                f.truncate(HEAD.size + 4 * len(KINDS) * CALLS)
            env = dict(os.environ, LD_PRELOAD=self.library, FAULT=f"{kind} {n} {ERRNO.get(kind, 0)} {how}",
                       FAULT_REPORT=str(report), TMPDIR=".", OMP_NUM_THREADS="1",
                       OMP_WAIT_POLICY="passive")  # else the program begins once more (cli/main.c)
            stdin = open(self.folder / "in" / command.stdin, "rb") if command.stdin else subprocess.DEVNULL
            try:
                done = subprocess.run([self.program, *command.words.split()], cwd=work, env=env, stdin=stdin,
                                      capture_output=True, timeout=SECONDS)
                code, out, err = done.returncode, done.stdout.decode(), done.stderr.decode(errors="replace")
            except subprocess.TimeoutExpired:
                code, out, err = None, "", ""
            files = {p.name: p.read_bytes() for p in work.iterdir()}
            raw = report.read_bytes()
        finally:
            self.places.put(place)
        head = HEAD.unpack_from(raw)
        count, (failed, leaked), frames = head[:len(KINDS)], head[len(KINDS):len(KINDS) + 2], head[len(KINDS) + 2:]
        sites = [np.frombuffer(raw, "<u4", min(max(count[k], 0), CALLS), HEAD.size + 4 * CALLS * k).tolist()
                 for k in range(len(KINDS)) if kind == "count"]
        return dict(code=code, out=out, err=err, files=files, count=count, failed=failed, leaked=leaked, sites=sites,
                    frames=[f for f in frames[:FRAMES] if f], leak=[f for f in frames[FRAMES:] if f])

    def untouched(self, command):
        if command.name not in self.clean:
            run = self.run(command)
            assert run["code"] == command.code, f"{command.name}: {run['code']} {run['err']}"
            self.clean[command.name] = run
        return self.clean[command.name]

    # ---- what must hold ----------------------------------------------------------------------

    def draws(self, content):
        """Header without times, the draws, and the effects of groups; None for what is no run file."""
        with tempfile.TemporaryDirectory(dir=self.folder) as folder:
            path = Path(folder) / "a.run"
            path.write_bytes(content)
            done = subprocess.run([self.program, "export", "a.run", "a.npy", "-q"], cwd=folder, capture_output=True)
            if done.returncode not in (0, 3):
                return None
            length = struct.unpack_from("<I", content, 12)[0]
            header = json.loads(content[16:16 + length])
            drop = ("created_at", "tau_predicted", "machine")
            header = {key: value for key, value in header.items() if key not in drop}
            made, at, effects = Path(folder) / "a.npy", 16 + length + 4, b""
            while at + 40 <= len(content):
                kind, size = struct.unpack_from("<I", content, at + 4)[0], struct.unpack_from("<Q", content, at + 32)[0]
                effects = content[at + 44:at + 44 + size] if kind == EFFECTS else effects
                at += 44 + size + 4
            return timeless(json.dumps(header)), np.load(made) if made.exists() else None, effects

    def same_file(self, name, content, wanted, whole, before=None):
        """Is it the file of the untouched run? A run that is not whole: its first draws, and those it had `before`."""
        if content == wanted:
            return True
        if name.endswith(".run"):
            mine, theirs = self.draws(content), self.draws(wanted)
            if mine is not None and before is not None and not whole and before != b"older\n":
                had = self.draws(before)
                if mine[0] == had[0] and mine[1] is not None and mine[1].shape[1] >= had[1].shape[1]:
                    mine = theirs[0], mine[1], mine[2]
            if mine is None or mine[0] != theirs[0]:
                return False
            if mine[1] is None or theirs[1] is None:
                return not whole
            if whole:
                return np.array_equal(mine[1], theirs[1]) and mine[2] == theirs[2]
            k = mine[1].shape[1]  # chains without draws are left out
            return all(any(np.array_equal(chain, other[:k]) for other in theirs[1]) for chain in mine[1])
        if name.endswith(".nc"):
            return len(content) == len(wanted)  # it holds the time at which it was made
        text, other = content.decode(errors="replace"), wanted.decode(errors="replace")
        return timeless(text) == timeless(other)

    def verdict(self, command, kind, n, run):
        """What is wrong with a run whose n-th call of a kind failed; "" for nothing."""
        clean = self.untouched(command)
        code, err = run["code"], run["err"].strip()
        if code is None:
            return "it hangs"
        if code < 0:
            return f"signal {-code}"
        before = command.before(self.folder / "in")
        spared = bool(command.warning) and any(sentence in err for sentence in command.warning.split("|"))
        if code == command.code:
            for stream in ("out",) if spared else ("out", "err"):
                if timeless(run[stream]) != timeless(clean[stream]):
                    return f"exit {code} with other std{stream}"
        elif not run["failed"]:
            return f"exit {code} without a failure"
        elif code not in CODES.get(kind, (5,)):
            return f"exit {code}"
        elif not re.search(r"^(\n?sgfs|libgomp)[^\n]*\w[^\n]*$", err.splitlines()[-1] if err else ""):
            return "no sentence"
        elif kind == "alloc" and "memory" not in err:
            return "a sentence without memory"
        for name, content in run["files"].items():
            if name not in clean["files"]:
                return f"a stray file {name}"
            if (code != command.code or spared) and content == before.get(name):
                continue
            if not self.same_file(name, content, clean["files"][name], code == command.code,
                                  before.get(name)):
                return f"another {name}"
        if code == command.code and set(run["files"]) != set(clean["files"]):
            return "a missing file"
        if run["leaked"] > clean["leaked"]:
            return "a leak"
        return ""

    def places_of(self, frames):
        """Names of the functions, the innermost first."""
        if not frames:
            return []
        done = subprocess.run(["addr2line", "-f", "-e", self.program, *(hex(f - 1) for f in frames)],
                              capture_output=True, text=True)
        return done.stdout.splitlines()[::2]


def chosen(harness, args):
    """The runs to make: (command, kind, n, how)."""
    wanted = args.commands.split(",") if args.commands else None
    seen = set()
    for command in COMMANDS:
        if wanted and command.name not in wanted:
            continue
        clean = harness.untouched(command)
        for kind in args.kinds.split(",") if args.kinds else KINDS:
            k = KINDS.index(kind)
            numbers = range(1, clean["count"][k] + 1)
            if args.sites:
                first = {(kind, site): n for n, site in reversed(list(enumerate(clean["sites"][k], 1)))}
                numbers = sorted(n for site, n in first.items() if site not in seen)
                seen.update(first)
            for n in numbers:
                for how in args.how.split(","):
                    yield command, kind, n, how


def select(harness, args):
    todo = list(chosen(harness, args))
    if args.sample:  # of every command and kind alike
        random.Random(2385).shuffle(todo)
        before = Counter()
        rank = []
        for item in todo:
            before[item[:2]] += 1
            rank.append(before[item[:2]])
        todo = [item for _, item in sorted(zip(rank, todo), key=lambda pair: pair[0])][:args.sample]
    part, parts = (int(v) for v in args.part.split("/"))
    return todo[part - 1::parts]


def explore(harness, args):
    """Make the chosen runs; yields (command, kind, n, how, run, what is wrong)."""
    def one(item):
        command, kind, n, how = item
        run = harness.run(command, kind, n, how)
        return (*item, run, harness.verdict(command, kind, n, run))
    with ThreadPoolExecutor(args.jobs) as pool:
        yield from pool.map(one, select(harness, args))


def options(words=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--program", required=True)
    parser.add_argument("--library", required=True)
    parser.add_argument("--model", help="examples/student_t.so")
    parser.add_argument("--commands", help="names of commands.py, with commas")
    parser.add_argument("--kinds", help=", ".join(KINDS))
    parser.add_argument("--part", default="1/1")
    parser.add_argument("--how", default="once,on")
    parser.add_argument("--sites", action="store_true")
    parser.add_argument("--sample", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)))
    return parser.parse_args(words)


def main():
    args = options()
    with tempfile.TemporaryDirectory() as folder:
        harness = Harness(args.program, args.library, args.model, folder, args.jobs)
        tried, bad, seen = Counter(), Counter(), Counter()
        for command, kind, n, how, run, wrong in explore(harness, args):
            tried[command.name, kind] += 1
            if not wrong:
                continue
            bad[command.name, kind] += 1
            places = harness.places_of(run["leak"] if wrong == "a leak" else run["frames"])
            where = " < ".join([p for p in places if not p.startswith(("sgfsi_arena", "sgfsi_json_", "??"))][:5])
            seen[wrong, where] += 1
            if seen[wrong, where] == 1:
                last = run["err"].strip().splitlines()[-1:] or [""]
                print(f"{command.name}: {kind} {n} {how}: {wrong}: {where}\n    {last[0][:160]}", flush=True)
        print(f"\n{'':22}" + "".join(f"{kind:>11}" for kind in KINDS))
        for command in COMMANDS:
            cells = [(tried[command.name, kind], bad[command.name, kind]) for kind in KINDS]
            if any(n for n, _ in cells):
                print(f"{command.name:22}" + "".join(f"{f'{b}/{n}' if n else '-':>11}" for n, b in cells))
        print(f"\n{sum(bad.values())} of {sum(tried.values())} runs with a failing call were not as they should be")
        return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
