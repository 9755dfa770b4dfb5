# SPDX-License-Identifier: MIT
"""What the experiments share: the program as a function, data, and the page with its markers.

A run is `lab.sample(...)`, a dictionary: the summary and the run file's head, and beside them
    wall, cpu         seconds of the process
    peak              its largest resident set in bytes, if watched
    anchor            what the sampler said of its anchor ("sampler_info"), or {}
    info              all of "sampler_info"
Draws come from `lab.draws()`: the program's own export of the last run."""
import json
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import time

import netCDF4
import numpy as np

from evidence.text import write_block


class Missing(Exception):
    """An experiment cannot run here, and why."""


class Lab:
    def __init__(self, args, source):
        self.quick, self.rows, self.source = args.quick, args.rows, source
        self.program = pathlib.Path(os.path.abspath(args.program))
        if not os.access(self.program, os.X_OK):
            raise SystemExit(f"No program at {args.program}: run make first, or give --program.")
        self.page, self.pictures = source / "docs" / "beyond.md", source / "docs" / "beyond"
        if args.out is not None:
            args.out.mkdir(parents=True, exist_ok=True)
            shutil.copy(self.page, args.out / "beyond.md")
            self.page, self.pictures = args.out / "beyond.md", args.out / "beyond"
        self.pictures.mkdir(exist_ok=True)
        self.keep = args.work

    def __enter__(self):
        self.folder = pathlib.Path(self.keep or tempfile.mkdtemp(prefix="beyond-"))
        self.folder.mkdir(parents=True, exist_ok=True)
        self.samplers = set(json.loads(self("list", "samplers", "--json").stdout)["samplers"])
        return self

    def __exit__(self, *_):
        if self.keep is None:
            shutil.rmtree(self.folder)

    # ---- the program

    def __call__(self, *words):
        done = subprocess.run([self.program, *map(str, words)], cwd=self.folder, capture_output=True, text=True)
        if done.returncode not in (0, 75):
            raise RuntimeError(f"sgfs {' '.join(map(str, words))}: exit {done.returncode}\n{done.stderr}")
        return done

    def needs(self, *samplers):
        missing = [s for s in samplers if s not in self.samplers]
        if missing:
            raise Missing(f"this program has no sampler {' or '.join(missing)}")

    def has(self, sampler):
        return sampler in self.samplers

    def sample(self, model, data, sampler, *options, seed=1, threads=1, watched=False):
        """One chain on one core, unless options say otherwise."""
        words = [self.program, "sample", model, "--data", data, "--sampler", sampler, "--threads", threads,
                 "--seed", seed, "--out", "last.run", "--overwrite", "--quiet", *options]
        if "--chains" not in options:
            words += ["--chains", 1]
        start = time.monotonic()
        with open(self.folder / "said.txt", "w") as said:
            process = subprocess.Popen([str(w) for w in words], cwd=self.folder, stdout=said, stderr=said)
            status, used, peak = watch(process.pid) if watched else (*os.wait4(process.pid, 0)[1:], None)
        wall = time.monotonic() - start
        process.returncode = os.waitstatus_to_exitcode(status)
        text = (self.folder / "said.txt").read_text()
        if process.returncode not in (0, 75):
            raise RuntimeError(f"{' '.join(map(str, words[1:]))}: exit {process.returncode}\n{text}")
        run = json.loads(self("summary", "last.run", "--json").stdout)
        run["head"] = self.head("last.run")
        run["wall"], run["cpu"] = wall, used.ru_utime + used.ru_stime
        run["peak"], run["text"] = peak, text
        run["info"] = run["head"].get("sampler_info") or {}
        run["anchor"] = run["info"].get("anchor") or {}
        return run

    def head(self, name):
        """The run file's head: JSON after the magic word."""
        with open(self.folder / name, "rb") as f:
            text = f.read(1 << 20).decode("utf-8", "replace")
        return json.JSONDecoder().raw_decode(text[text.index('{"'):])[0]

    def compare(self, reference):
        return json.loads(self("compare", "last.run", "--reference", reference, "--json").stdout)

    def draws(self):
        """chains x draws x parameters."""
        self("export", "last.run", "last.npy", "--overwrite", "--quiet")
        return np.load(self.folder / "last.npy")

    def stats(self):
        """The statistics of every draw of the last run: name -> chains x draws."""
        self("export", "last.run", "last.nc", "--overwrite", "--quiet")
        with netCDF4.Dataset(self.folder / "last.nc") as file:
            return {name: np.asarray(v[:]) for name, v in file["sample_stats"].variables.items()}

    def anchors(self):
        """New ones that the last run took on its way: 0 where chains stay where their anchor is."""
        found = self.stats().get("anchors")
        return 0 if found is None else int(found.max(axis=-1).sum())

    def simulated(self, rows, dim):
        """A packed file in single precision and its truth, made once."""
        name = f"rows{rows:.0e}-{dim}".replace("+", "")
        if not (self.folder / f"{name}.json").exists():
            self("simulate", "logistic", "--rows", rows, "--dim", dim, "--seed", 1, "--storage", "f32",
                 "--out", f"{name}.sgd", "--truth", f"{name}.json", "--overwrite", "--quiet")
        return f"{name}.sgd", f"{name}.json"

    # ---- the page

    def write_table(self, name, table):
        write_block(self.page, name, "make beyond", table)


def watch(pid):
    """Waits for a process; exit status, resources, and its largest resident set (what wait4 says of that is at
    least its parent's)."""
    peak = 0
    while True:
        try:
            found = re.search(r"VmHWM:\s*(\d+) kB", pathlib.Path(f"/proc/{pid}/status").read_text())
            peak = max(peak, 1024 * int(found.group(1))) if found else peak
        except OSError:
            pass
        done, status, used = os.wait4(pid, os.WNOHANG)
        if done:
            return status, used, peak
        time.sleep(0.01)
