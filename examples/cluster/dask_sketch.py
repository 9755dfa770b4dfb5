# SPDX-License-Identifier: MIT
"""Draws from rows in many files, by Dask: each worker runs `sgfs sketch` on the files it is given, and the results meet
here. docs/cluster.md explains the steps.

    python dask_sketch.py fit.run part-*.csv -- logistic --target y --draws 2000

Workers need the program (SGFS names it) and see the same folder. A Client() of your own cluster works as well."""
import json
import os
import subprocess
import sys

from distributed import Client, LocalCluster

SGFS = os.environ.get("SGFS", "sgfs")


def sketch(*words):
    """One step; its file, and what it says of it."""
    out = words[words.index("--out") + 1]
    said = subprocess.run([SGFS, "sketch", "--json", *words], check=True, stdout=subprocess.PIPE, text=True).stdout
    return out, json.loads(said)


def draw(client, run, files, first):
    def each(step, *words):
        """A step on every part, on whichever worker is free."""
        tasks = [client.submit(sketch, *words, "--data", name, "--out", f"{run}.{step}-{k}", pure=False)
                 for k, name in enumerate(files)]
        return [out for out, _ in client.gather(tasks)]

    place, said = sketch("--merge", *each("columns", *first, "--columns-only"), "--out", f"{run}.place-0")
    turn = 0
    while not said["done"]:
        turn += 1
        results = each(f"pass-{turn}", "--at", place)
        place, said = sketch("--at", place, "--merge", *results, "--out", f"{run}.place-{turn}")
    marks = each("marks", "--at", place)
    subprocess.run([SGFS, "sample", "--sketch", "\n".join(marks), "--out", run], check=True)


if __name__ == "__main__":
    cut = sys.argv.index("--")
    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster, Client(cluster) as client:
        draw(client, sys.argv[1], sys.argv[2:cut], sys.argv[cut + 1:])
