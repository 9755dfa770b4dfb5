# SPDX-License-Identifier: MIT
"""Draws from rows in many files, by whatever runs commands on many machines. docs/cluster.md explains the steps.

`each(commands)` runs all of them, each on any machine that sees the folder, and returns when they are done. A command is
a list of words, so that nothing of Python has to reach the machines. dask_sketch.py and spark_sketch.py are two of them."""
import json
import os
import subprocess
import sys

SGFS = os.environ.get("SGFS", "sgfs")


def draw(each, run, files, first):
    """The run file `run` from the rows of all files. `first`: model and options of the first step."""
    def parts(step, *words):
        """A step on every part, and the names of its results."""
        outs = [f"{run}.{step}-{k}" for k in range(len(files))]
        each([[SGFS, "sketch", "-q", *words, "--data", name, "--out", out] for name, out in zip(files, outs)])
        return outs

    def merge(place, results, *words):
        """The next place, and whether it is the anchor."""
        command = [SGFS, "sketch", "--json", *words, "--merge", *results, "--out", place]
        return place, json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout)["done"]

    turn = 0
    place, done = merge(f"{run}.place-0", parts("columns", *first, "--columns-only"))
    while not done:
        turn += 1
        place, done = merge(f"{run}.place-{turn}", parts(f"pass-{turn}", "--at", place), "--at", place)
    marks = parts("marks", "--at", place)
    subprocess.run([SGFS, "sample", "--sketch", "\n".join(marks), "--out", run], check=True)


def words():
    """RUN FILES... -- MODEL OPTIONS..., as `draw` wants them."""
    cut = sys.argv.index("--")
    return sys.argv[1], sys.argv[2:cut], sys.argv[cut + 1:]
