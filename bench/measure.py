# SPDX-License-Identifier: MIT
"""What the parts of bench.py stand on: processes with their processor time and memory, measurements, and made-up rows.

Times are processor seconds (user and system) of a process that has one core, so that other programs on the machine count
as little as possible; on an idle machine they are the clock's."""
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import time

import numpy as np

# A process of its own, which is small: the largest memory of a child counts that of its parent at the fork.
SHIM = ("import os,sys,time\nbegin=time.monotonic()\npid=os.spawnv(os.P_NOWAIT,sys.argv[2],sys.argv[2:])\n"
        "_,status,used=os.wait4(pid,0)\nopen(sys.argv[1],'w').write(repr([os.waitstatus_to_exitcode(status),"
        "used.ru_utime+used.ru_stime,time.monotonic()-begin,1024*used.ru_maxrss]))")


class Failed(Exception):
    """A command that should have worked did not, and what it said."""


def run(words, folder, limit=600, environment=None):
    """Runs a command: its output, exit code, processor seconds, seconds of the clock and largest memory in bytes."""
    with tempfile.NamedTemporaryFile("r", dir=folder, suffix=".used") as used:
        child = subprocess.Popen([sys.executable, "-S", "-E", "-c", SHIM, used.name, *map(str, words)], cwd=folder, text=True,
                                 stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True,
                                 env={**os.environ, **(environment or {})})
        try:
            out, err = child.communicate(timeout=limit)
        except BaseException:
            os.killpg(child.pid, signal.SIGKILL)  # the command is a child of this child
            child.wait()
            raise
        numbers = used.read()
    if not numbers:
        raise Failed(f"{words[0]}: {err.strip()[-300:]}")
    code, cpu, wall, peak = json.loads(numbers)
    return {"code": code, "cpu": cpu, "wall": wall, "peak": peak, "out": out, "err": err}


class Bench:
    """The program, a folder to work in, and the measurements so far."""

    def __init__(self, program, folder, quick=False, peers=False):
        self.program, self.folder, self.quick, self.peers = str(pathlib.Path(program).resolve()), pathlib.Path(folder), quick, peers
        self.found, self.kernel = [], ""  # kernel: of OpenBLAS, as the C programs say

    def add(self, workload, what, value, unit, floor=None, **more):
        """One measurement, printed and kept. floor: of the same unit; the ratio is to it."""
        row = {"workload": workload + (" (tiny)" if self.quick else ""), "what": what, "value": value, "unit": unit, **more}
        if floor:
            row["ratio"] = value / floor
        self.found.append(row)
        ratio = f"{row['ratio']:9.3g}" if row.get("ratio") is not None else ""
        number = f"{value:10.4g} {unit:5}" if value is not None else f"{'-':>10}      "
        print(f"  {what:40} {number} {ratio}  {more.get('note', '')}".rstrip(), flush=True)
        return row

    def native(self, name, *words, limit=300):
        """One of the C programs of this folder: its measurements, read from the file it was given for them."""
        path = self.folder / "measured.jsonl"
        path.unlink(missing_ok=True)
        program = pathlib.Path(self.program).parent / "bench" / name
        if not program.exists():
            print(f"  {name}: not built")
            return
        done = run([program, *words], self.folder, limit, {"BENCH_JSON": str(path)})
        print(done["out"], end="", flush=True)
        named = re.search(r"\(OpenBLAS (\S+)\)", done["out"])
        self.kernel = named[1] if named else self.kernel
        if done["code"] != 0:
            raise Failed(f"{name}: exit {done['code']} {done['err'].strip()[-300:]}")
        self.found += [json.loads(line) for line in path.read_text().splitlines()]

    def sgfs(self, *words, program=None, limit=600):
        done = run([program or self.program, *words, "--quiet"], self.folder, limit, {"OPENBLAS_NUM_THREADS": "1"})
        if done["code"] not in (0, 7):
            raise Failed(f"sgfs {' '.join(map(str, words))}: exit {done['code']}\n{done['err'].strip()[-500:]}")
        return done

    def sample(self, *words, draws, thin=1, program=None):
        """One chain on one thread; seconds and, of its summary, the smallest effective sample size."""
        words = ["sample", *words, "--chains", 1, "--draws", draws, "--thin", thin, "--ess", 0, "--out", "bench.run", "--overwrite"]
        if "--threads" not in words:
            words += ["--threads", 1]
        done = self.sgfs(*words, program=program)
        said = json.loads(self.sgfs("summary", "bench.run", "--json")["out"])
        return {**done, "ess": said["ess_min"], "draws": draws, "said": said}

    def per_draw(self, *words, draws, thin=1, program=None, rounds=3):
        """Seconds of one draw, and the draws that are worth one effective draw. What was before the first draw (reading, the
        mode, warm-up) and what is after the last one (diagnostics) does not count. The clock's time of the draws is taken
        times the share of a core that the process had."""
        best = None
        for _ in range(1 if self.quick else rounds):
            done = self.sample(*words, draws=draws, thin=thin, program=program)
            took = done["said"]["sample_seconds"] * min(1.0, done["cpu"] / done["wall"])
            if best is None or took < best[0]:
                best = took, done
        took, done = best
        return {"seconds": took / draws, "tau": draws / max(done["ess"], 1e-9), "before": max(done["cpu"] - took, 0),
                "peak": done["peak"], "sampler": done["said"]["title"].split(": ")[-1].split(",")[0]}

    def peer(self, script, workload, *words, seconds=10, limit=45):
        """A script of peers/: a measurement for each line of JSON that it prints. One that is missing, fails or takes too long
        is a row that says so."""
        if not self.peers:
            return
        name, limit = pathlib.Path(script).stem, limit * max(1.0, busy())  # a busy machine gives less in the same time
        try:
            here = pathlib.Path(__file__).resolve().parent / "peers"
            done = run([sys.executable, here / script, *words, "--seconds", seconds], self.folder, limit,
                       {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "TF_CPP_MIN_LOG_LEVEL": "3", "PYTHONWARNINGS": "ignore",
                        "XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1", "CUDA_VISIBLE_DEVICES": ""})
            lines = [json.loads(line) for line in done["out"].splitlines() if line.startswith("{")]
            if done["code"] != 0:
                lines.append({"what": name, "note": f"failed: {(done['err'].strip() or '?').splitlines()[-1][:120]}"})
        except subprocess.TimeoutExpired as late:
            text = late.stdout.decode() if isinstance(late.stdout, bytes) else late.stdout or ""
            lines = [json.loads(line) for line in text.splitlines() if line.startswith("{") and line.endswith("}")]
            lines.append({"what": name, "note": f"stopped after {limit:.0f} s"})
        except (Failed, OSError, ValueError) as reason:
            lines = [{"what": name, "note": f"failed: {str(reason)[:120]}"}]
        for line in lines:
            self.add(workload, line.pop("what"), line.pop("value", None), line.pop("unit", ""), who="peer", **line)


# ---- made-up rows

def logistic(rows, columns, seed=1):
    """rows x (columns + 1), the label behind."""
    rng = np.random.default_rng(seed)
    table = np.empty((rows, columns + 1))
    for first in range(0, rows, 100_000):
        x = rng.standard_normal((min(100_000, rows - first), columns))
        theta = 0.5 * np.cos(np.arange(columns)) / np.sqrt(columns / 4)
        table[first:first + len(x), :columns] = x
        table[first:first + len(x), columns] = rng.random(len(x)) < 1 / (1 + np.exp(0.3 - x @ theta))
    return table


def words(rows, numbers, columns, levels, seed=1):
    """Numbers (rows x numbers), levels (rows x columns, integers) of shares like 1/sqrt(k), and labels."""
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((rows, numbers)).round(3)
    share = 1 / np.sqrt(np.arange(1, levels + 1))
    level = rng.choice(levels, size=(rows, columns), p=share / share.sum())
    effect = 0.4 * rng.standard_normal((columns, levels))
    eta = 0.3 * x.sum(1) + sum(effect[j, level[:, j]] for j in range(columns)) - 0.5
    return x, level, (rng.random(rows) < 1 / (1 + np.exp(-eta))).astype(int)


def classes(rows, columns, count, seed=1):
    """rows x (columns + 1), the label behind: the largest of random linear forms."""
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((rows, columns))
    return np.column_stack([x, (x @ rng.standard_normal((columns, count))).argmax(1)])


def busy():
    """Runnable processes for each core, over the last minute."""
    return os.getloadavg()[0] / len(os.sched_getaffinity(0))


def stopwatch():
    begin = time.monotonic()
    return lambda: time.monotonic() - begin
