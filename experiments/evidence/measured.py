# SPDX-License-Identifier: MIT
"""Runs that are timed one by one, for docs/beyond.md.

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
import time

import netCDF4
import numpy as np

from lab import Failed, Missing, Program, spelt


class Lab(Program):
    def __init__(self, program, work, pictures, quick, rows):
        super().__init__(program, work)
        self.quick, self.rows, self.pictures = quick, rows, pictures
        self.samplers = set(self.json("list", "samplers")["samplers"])

    def needs(self, *samplers):
        missing = [s for s in samplers if s not in self.samplers]
        if missing:
            raise Missing(f"this program has no sampler {' or '.join(missing)}")

    def has(self, sampler):
        return sampler in self.samplers

    def sample(self, model, data, sampler, *options, seed=1, threads=1, watched=False):
        """One chain on one core, unless options say otherwise."""
        words = ["sample", model, "--data", data, "--sampler", sampler, "--threads", threads,
                 "--seed", seed, "--out", "last.run", "--overwrite", "--quiet", "--allow-unconverged", *options]
        if "--chains" not in options:
            words += ["--chains", 1]
        if "--prior-precision" not in options:
            words += ["--prior-precision", 1]
        begin = time.monotonic()
        with open(self.work / "said.txt", "w") as said:
            process = self.start(words, stdout=said, stderr=said)
            try:
                status, used, peak = watch(process.pid) if watched else (*os.wait4(process.pid, 0)[1:], None)
            except BaseException:
                process.terminate()
                raise
            finally:
                self.ended(process)
        wall = time.monotonic() - begin
        process.returncode = os.waitstatus_to_exitcode(status)
        text = (self.work / "said.txt").read_text()
        if process.returncode not in (0, 75):
            raise Failed(f"{spelt(words)}: exit {process.returncode}\n{text}")
        run = self.json("summary", "last.run")
        run["head"] = self.head("last.run")
        run["wall"], run["cpu"] = wall, used.ru_utime + used.ru_stime
        run["peak"], run["text"] = peak, text
        run["info"] = run["head"].get("sampler_info") or {}
        run["anchor"] = run["info"].get("anchor") or {}
        return run

    def head(self, name):
        """The run file's head: JSON after the magic word."""
        with open(self.work / name, "rb") as f:
            text = f.read(1 << 20).decode("utf-8", "replace")
        return json.JSONDecoder().raw_decode(text[text.index('{"'):])[0]

    def compare(self, reference):
        return self.json("compare", "last.run", "--reference", reference)

    def draws(self):
        """chains x draws x parameters."""
        self.sgfs("export", "last.run", "last.npy", "--overwrite", "--quiet")
        return np.load(self.work / "last.npy")

    def stats(self):
        """The statistics of every draw of the last run: name -> chains x draws."""
        self.sgfs("export", "last.run", "last.nc", "--overwrite", "--quiet")
        with netCDF4.Dataset(self.work / "last.nc") as file:
            return {name: np.asarray(v[:]) for name, v in file["sample_stats"].variables.items()}

    def anchors(self):
        """New ones that the last run took on its way: 0 where chains stay where their anchor is."""
        found = self.stats().get("anchors")
        return 0 if found is None else int(found.max(axis=-1).sum())

    def simulated(self, rows, dim):
        """A packed file in single precision and its truth, made once."""
        name = f"rows{rows:.0e}-{dim}".replace("+", "")
        if not (self.work / f"{name}.json").exists():
            self.sgfs("simulate", "logistic", "--rows", rows, "--dim", dim, "--seed", 1, "--storage", "f32", "--prior-precision", 1,
                      "--out", f"{name}.sgd", "--truth", f"{name}.json", "--overwrite", "--quiet")
        return f"{name}.sgd", f"{name}.json"


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
