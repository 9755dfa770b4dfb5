# SPDX-License-Identifier: MIT
"""What all experiments share: the program as a function (`Program`), runs that are made once (`Lab`), and progress.

The paper's experiments make their runs through a `Lab`; those of docs/beyond.md time each run by itself
(evidence/measured.py). Both stand on `Program`, which starts processes and stops them.

In a `Lab` a run is a `Job`: a name, the words behind `sgfs sample`, and how long it is likely to take. `lab.samples(jobs)`
makes those that the work folder does not have yet, side by side on the cores there are, and hands back a record
for each:

    command    the words, as they would be typed beside the folder of the data
    summary    of `sgfs summary --json`, without the parameters
    measured   what job.after(run file) found: a dictionary
    wall       seconds of the process
    machine    the processor, and gpu: the GPU that made the run, or nothing
    run        the run file

With a GPU (`--device`) the runs that pay there are made there, one after another, and all others on the cores at the same
time: `Lab._shares` is the one place that knows how many. A run pays there when its experiment says how long it takes
there (`Job.gpu`). Processes that share a GPU take turns, and each turn costs more than an iteration, so side by side they
are slower than one after another, unless NVIDIA's MPS brings them together (`--gpu-jobs`).

A record is written when its run is complete, so an interrupted experiment goes on with the run that it was in. It counts
for the same words, program and data files only. A run that fails stops the others, and so does Ctrl-C: no
process is left behind, and no half of a record."""
import fcntl
import hashlib
import json
import math
import os
import pathlib
import shlex
import struct
import subprocess
import sys
import threading
import time
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from typing import Callable

from text import machine, seconds, write_whole


class Missing(Exception):
    """An experiment cannot run here, and why."""


class Stopped(Exception):
    """The user wants to stop; what is complete is kept."""


class Failed(Exception):
    """A run that should have worked did not, and what it said."""


@dataclass
class Job:
    name: str  # of the files in the work folder: letters, digits, - and .
    words: list  # behind `sgfs sample`, without --out
    expected: float = 1.0  # seconds of a core, for the time left
    after: Callable = None  # run file -> dictionary of numbers, kept in the record
    keep: bool = True  # the run file itself
    tolerated: tuple = ()  # exit codes other than 0 (and 75 at --max-time) that are a result: 4 where a sampler may diverge
    gpu: float = None  # seconds to expect on a GPU; None: its iterations are too small to pay there
    record: dict = field(default=None, repr=False)


class Program:
    """The program as a function. Its processes work in `work`, and none of them outlives this one's Ctrl-C."""

    def __init__(self, path, work, data=None):
        self.program, self.work, self.data = pathlib.Path(os.path.abspath(path)), work, data
        if not os.access(self.program, os.X_OK):
            raise SystemExit(f"No program at {path}: run make first, or give --program.")
        work.mkdir(parents=True, exist_ok=True)
        self.stopping = threading.Event()
        self.children, self.lock = set(), threading.Lock()

    def sgfs(self, *words):
        """Runs the program in the work folder."""
        done = self._call(words)
        if done.returncode not in (0, 75):
            raise Failed(f"{spelt(words, self.data)}: exit {done.returncode}\n{done.stderr}")
        return done

    def json(self, *words):
        return json.loads(self.sgfs(*words, "--json").stdout)

    def start(self, words, **streams):
        """A process in a session of its own: Ctrl-C reaches this program alone, which then stops its children."""
        with self.lock:
            if self.stopping.is_set():
                raise Stopped
            child = subprocess.Popen([str(self.program), *map(str, words)], cwd=self.work, text=True, start_new_session=True,
                                     env={**os.environ, "OPENBLAS_NUM_THREADS": "1"}, **streams)
            self.children.add(child)
        return child

    def _call(self, words):
        child = self.start(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        try:
            out, err = child.communicate()
        except BaseException:
            child.terminate()
            child.wait()
            raise
        finally:
            self.ended(child)
        if self.stopping.is_set():
            raise Stopped
        return subprocess.CompletedProcess(words, child.returncode, out, err)

    def ended(self, child):
        with self.lock:
            self.children.discard(child)


class Lab(Program):
    def __init__(self, name, args):
        super().__init__(args.program, args.work / args.scale / name, args.data_dir)
        self.name, self.scale = name, args.scale
        self.max_time = args.max_time
        self.jobs = args.jobs or len(os.sched_getaffinity(0))
        self.device, self.gpu_jobs = args.device, args.gpu_jobs
        self.common = args.work / args.scale / "common"  # what several experiments use
        self.common.mkdir(parents=True, exist_ok=True)
        self.claim = claimed(self.work)
        self.program_sum = hashlib.sha256(self.program.read_bytes()).hexdigest()[:16]  # rebuilt: made again
        self.version = self.sgfs("--version").stdout.strip()
        self.made = []  # the records of all runs, made now or before
        if self.device == "auto":
            self.device = "cuda" if self._opens("cuda") else "blas"

    @property
    def gpu(self):
        """Is there one to use?"""
        return self.device != "blas"

    def _opens(self, device):
        """Does the program find its plug-in and a GPU?"""
        rows = self.work / "device.csv"
        rows.write_text("x,y\n" + "1,0\n2,1\n3,0\n4,1\n")
        return self._call(["check-grad", "linear", "--data", rows.name, "--device", device, "--quiet"]).returncode == 0

    def by_scale(self, full, quick, smoke):
        return {"full": full, "quick": quick, "smoke": smoke}[self.scale]

    def count(self, full, least=1):
        """A number of iterations: a tenth of it for quick, a five-hundredth for smoke."""
        return max(least, self.by_scale(full, full // 10, full // 500))

    def file(self, path):
        found = self.data / path
        if not found.exists():
            raise Missing(f"there is no {found}; `sh experiments/get-data.sh FOLDER` fetches it, --data-dir FOLDER names its place")
        return found

    def once(self, name, key, make):
        """make(), a value that JSON can hold, unless an experiment has made it for the same key."""
        path, key = self.common / f"{name}.json", json.loads(json.dumps(key))
        if path.exists():
            kept = json.loads(path.read_text())
            if kept.get("key") == key:
                return kept["value"]
        value = make()
        write_whole(path, json.dumps({"key": key, "value": value}))
        return value

    # ---- runs

    def samples(self, jobs):
        """The jobs' records, in their order."""
        for job in jobs:
            job.record = self._kept(job)
        todo = [job for job in jobs if job.record is None]
        there, here = self._shares(todo)
        for job in todo:
            job.expected = job.gpu if self._far(job) else job.expected
        progress = Progress(self.name, todo, len(jobs), there + here)
        with ThreadPoolExecutor(here) as cores, ThreadPoolExecutor(there or 1) as gpu, progress:
            waiting = [(gpu if self._far(job) else cores).submit(self._make, job, progress) for job in todo]
            try:
                for future in wait(waiting, return_when=FIRST_EXCEPTION).done:
                    future.result()
            except BaseException as reason:
                self._stop(waiting)
                if isinstance(reason, KeyboardInterrupt):
                    raise Stopped from None
                raise
        self.made += [job.record for job in jobs]
        return [job.record for job in jobs]

    def _far(self, job):
        """Is it made on the GPU?"""
        return self.gpu and job.gpu is not None

    def _shares(self, jobs):
        """How many of the runs are made side by side on the GPU, each of which needs a core as well, and how many on the
        cores that are left."""
        there = min(self.gpu_jobs, sum(map(self._far, jobs)))
        return there, max(1, self.jobs - there)

    def each(self, call, values):
        """What call(value) gives for each of the values: not runs, but what follows from them, side by side on all cores."""
        with ThreadPoolExecutor(self.jobs) as cores:
            return list(cores.map(call, values))

    def _stop(self, waiting):
        """No run begins any more, and those that are under way end."""
        with self.lock:
            self.stopping.set()
            for child in self.children:
                child.terminate()
        for future in waiting:
            future.cancel()

    def _asked(self, job):
        return [str(w) for w in job.words] + (["--device", self.device] if self._far(job) else [])

    def _words(self, job):
        words = self._asked(job)
        return words + ["--max-time", f"{self.max_time:g}"] if self.max_time and "--max-time" not in words else words

    def _key(self, job):
        return {"words": self._asked(job), "version": self.version, "program": self.program_sum,
                "files": stamps(job.words, self.work)}

    def _kept(self, job):
        path = self.work / f"{job.name}.record.json"
        try:
            record = json.loads(path.read_text())
            # a run that came to its end would have done so with any limit
            same = record["key"] == self._key(job) and (record["exit"] != 75 or record["limit"] == self.max_time)
            gone = job.keep and record["exit"] in (0, 75) and not pathlib.Path(record["run"]).exists()
        except (FileNotFoundError, ValueError, KeyError):
            return None
        record.setdefault("gpu", "")  # records made before there was a choice
        return record if same and not gone else None

    def _make(self, job, progress):
        run, key = self.work / f"{job.name}.run", self._key(job)
        words = ["sample", *self._words(job), "--out", run.name, "--overwrite"]
        progress.begin(job)
        start, begun = time.monotonic(), self.work / f"{job.name}.begun.json"
        done, before = self._go_on(job, run, begun, key)
        if done is None:
            start, before = time.monotonic(), 0
            write_whole(begun, json.dumps({"key": key, "time": time.time()}))
            done = self._call([*words, "--quiet", "--allow-unconverged"])  # the measures judge it
        wall = before + time.monotonic() - start
        if not self._is_result(job, done.returncode, wall):
            raise Failed(f"{spelt(words, self.data)}: exit {done.returncode}\n{done.stderr}")
        record = {"key": key, "name": job.name, "command": spelt(words, self.data), "exit": done.returncode, "wall": wall,
                  "machine": machine(), "gpu": "", "side_by_side": self.gpu_jobs if self._far(job) else self.jobs,
                  "limit": self.max_time, "run": str(run), "said": done.stderr, "summary": {}, "measured": {}}
        if done.returncode in (0, 75) and "before the first draw" not in done.stderr:
            record["summary"] = self.json("summary", run.name)
            record["summary"].pop("params", None)
            record["gpu"] = card(run) if self._far(job) else ""
            record["measured"] = job.after(run) if job.after else {}
        write_whole(self.work / f"{job.name}.record.json", json.dumps(record, indent=1))
        begun.unlink(missing_ok=True)
        if not job.keep and run.exists():
            run.unlink()
        job.record = record
        progress.end(job)

    def _go_on(self, job, run, begun, key):
        """A run that was interrupted goes on to the draws it would have made: its end, and the seconds before; None, 0
        where there is none. How far a run with a limit of time comes is what is measured: it begins anew."""
        try:
            then = json.loads(begun.read_text())
            same = then["key"] == key and "--max-time" not in self._words(job)
            before = max(0.0, run.stat().st_mtime - then["time"])
        except (FileNotFoundError, ValueError, KeyError):
            return None, 0
        done = self._call(["sample", "--resume", run.name, "--quiet", "--allow-unconverged"]) if same else None
        return (done, before) if done is not None and done.returncode in (0, *job.tolerated) else (None, 0)

    def _is_result(self, job, code, wall):
        """75 is a result at the time limit alone: someone else may have stopped the process."""
        words = self._words(job)
        if code == 75:
            return "--max-time" in words and wall >= float(words[words.index("--max-time") + 1])
        return code in (0, *job.tolerated)


class Progress:
    """How far the runs of one experiment are, and the time left: a line that is written over on a terminal, else one line
    for each run that ends and one a minute."""

    def __init__(self, name, todo, count, cores):
        self.name, self.todo, self.count, self.cores = name, todo, count, cores
        self.running, self.done, self.start = {}, [], time.monotonic()
        self.lock, self.over = threading.Lock(), threading.Event()
        self.terminal = sys.stderr.isatty()

    def __enter__(self):
        if self.todo:
            kept = self.count - len(self.todo)
            cores = min(self.cores, len(self.todo))
            about = max(max(j.expected for j in self.todo), sum(j.expected for j in self.todo) / cores)
            self._say(f"{len(self.todo)} runs" + (f" ({kept} more are there already)" if kept else "") +
                      f", {cores} at a time, about {seconds(about)}", True)
            self.thread = threading.Thread(target=self._tick, daemon=True)
            self.thread.start()
        elif self.count:
            self._say(f"all {self.count} runs are there already", True)
        return self

    def __exit__(self, *_):
        self.over.set()
        if self.todo:
            self.thread.join()
            if self.terminal:
                sys.stderr.write("\r\033[K")

    def begin(self, job):
        with self.lock:
            self.running[job.name] = (job, time.monotonic())

    def end(self, job):
        with self.lock:
            took = time.monotonic() - self.running.pop(job.name)[1]
            self.done.append(job)
            left = f"; {self._left()}" if len(self.done) < len(self.todo) else ""
            self._say(f"{self.count - len(self.todo) + len(self.done)}/{self.count} {job.name}: {seconds(took)}{left}", True)

    def _left(self):
        """What remains of the expected seconds, at the pace so far."""
        now = time.monotonic()
        made = sum(j.expected for j in self.done)
        made += sum(min(now - since, j.expected) for j, since in self.running.values())
        rest = max(0.0, sum(j.expected for j in self.todo) - made)
        elapsed = now - self.start
        left = rest * elapsed / made if elapsed > 5 and made > 0 else rest / self.cores
        return f"about {seconds(left)} left" if left >= 1 else "nearly done"

    def _tick(self):
        last = time.monotonic()
        while not self.over.wait(2 if self.terminal else 5):
            if not self.terminal and time.monotonic() - last < 60:
                continue
            last = time.monotonic()
            with self.lock:
                if self.running:
                    names = ", ".join(f"{n} {seconds(last - since)}" for n, (_, since) in self.running.items())
                    self._say(f"{self.count - len(self.todo) + len(self.done)}/{self.count} done; running {names}; "
                              f"{self._left()}", False)

    def _say(self, text, stays):
        line = f"{self.name}: {text}"
        if self.terminal:
            width = os.get_terminal_size(sys.stderr.fileno()).columns
            sys.stderr.write("\r\033[K" + (line + "\n" if stays else line[:width - 1]))
            sys.stderr.flush()
        else:
            print(line, file=sys.stderr, flush=True)


def card(run):
    """The GPU that made a run, by the head of its file (docs/formats.md); nothing for a processor."""
    with open(run, "rb") as file:
        length = struct.unpack_from("<I", file.read(16), 12)[0]
        made = json.loads(file.read(length))["machine"]
    return made["blas"] if made["device"] == "cuda" else ""


def where(record):
    """The kind of device that made a run."""
    return "GPU" if record["gpu"] else "core"


def spelt(words, data=None):
    """The command, as one would type it beside the folder of the data."""
    return "sgfs " + shlex.join(shown(w, data) for w in words)


def shown(word, data):
    """A word of a command; a file in the folder of the data as data/..., another one by its name, so that no folder of this
    machine gets into what is kept."""
    path = pathlib.Path(str(word))
    if not path.is_absolute():
        return str(word)
    return f"data/{path.relative_to(data)}" if data and path.is_relative_to(data) else path.name


def claimed(folder):
    """The folder for this process alone, until it ends."""
    lock = open(folder / "lock", "w")
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        raise Failed(f"another process is at work in {folder}: wait for it, or give --work another folder") from None
    return lock


def stamps(words, folder):
    """Size and time of every file that the words name: another file, another run."""
    found = {}
    for word in map(str, words):
        path = folder / word  # an absolute path stays what it is
        if len(word) < 1000 and path.is_file():
            found[word] = [path.stat().st_size, path.stat().st_mtime_ns]
    return found


def rounded(value, count=6):
    """Numbers of a result with so many digits, inside lists and dictionaries too: what is kept is what is shown."""
    if isinstance(value, dict):
        return {k: rounded(v, count) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [rounded(v, count) for v in value]
    if type(value).__module__ == "numpy":
        return rounded(value.tolist(), count)
    if isinstance(value, float):
        return float(f"{value:.{count}g}") if math.isfinite(value) else None
    return value


def write_reference(path, moments):
    """Moments as `sgfs compare --reference` reads them."""
    write_whole(path, json.dumps({k: moments[k] for k in ("names", "mean", "cov")}))
