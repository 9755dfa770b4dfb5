#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Regressions of the shapes that people bring, with the shortest command: seconds, processor seconds, effective
sample size, R-hat, the sampler that was chosen and the memory it took, as a table and, with --json FILE, for a program.

    bench/regressions.py [--program build/sgfs] [--only NAME ...] [--threads K] [--json FILE] [--keep FOLDER]

    loans       9,857 x 115, logistic: a fifth numbers (two of them nearly collinear, one with rows far out), the others
                one-hot with Zipf levels; 5 % events, and levels in which every row or none has the event
    scaled      the same with the columns of 0 and 1 scaled to variance 1, so that the prior says nothing of rare levels
    flights     327,346 x 152, logistic, the same kind
    digits      1,797 x 64, softmax of 10 classes: counts from 0 to 16, many of them nearly always 0
    words       300,000 rows of 5 numbers and 5 columns of 150 Zipf words, logistic: a CSV file, 750 columns as sparse rows
    unrolled    the same table as a matrix of zeros and ones, 0.9 GB in single precision: only where it is named
    tenth, unrolled-tenth   the two with 30,000 rows

Everything is drawn from fixed seeds. Needs numpy."""
import argparse
import json
import os
import pathlib
import subprocess
import tempfile
import time

import numpy as np


def one_hot(rng, N, left):
    """Factors of 2 to 29 levels (the most frequent has no column) with shares like 1/k^1.5, `left` columns in all."""
    columns = []
    while left > 0:
        levels = min(left, int(rng.integers(2, 30)))
        share = 1 / np.arange(1, levels + 2) ** 1.5
        level = rng.choice(levels + 1, size=N, p=share / share.sum())
        columns.append((level[:, None] == np.arange(1, levels + 1)).astype(float))
        left -= levels
    return np.hstack(columns)


def events(rng, eta, rate):
    """Labels by odds exp(eta + c), c such that `rate` of them are 1."""
    low, high = -50.0, 50.0
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (low, middle) if (1 / (1 + np.exp(-eta - middle))).mean() > rate else (middle, high)
    return (rng.random(len(eta)) < 1 / (1 + np.exp(-eta - middle))).astype(float)


def table(N, D, seed, rate=0.05, scaled=False):
    rng = np.random.default_rng(seed)
    numbers = rng.standard_normal((N, D // 5))
    numbers[:, 1] = 0.98 * numbers[:, 0] + 0.2 * numbers[:, 1]
    numbers[:, 2] = np.exp(1.5 * numbers[:, 2])
    numbers[:, 2] = (numbers[:, 2] - numbers[:, 2].mean()) / numbers[:, 2].std()
    dummies = one_hot(rng, N, D - D // 5)
    X = np.hstack([numbers, dummies])
    y = events(rng, X @ (0.5 * rng.standard_normal(D)), rate)
    rare = np.flatnonzero((dummies.sum(0) > 0) & (dummies.sum(0) < 40))
    for k, j in enumerate(rare[:: max(1, len(rare) // 6)]):  # quasi-separated: some all 0, some all 1
        y[dummies[:, j] == 1] = k % 2
    if scaled:
        keep = dummies.std(0) > 0
        X[:, D // 5:][:, keep] = (dummies[:, keep] - dummies[:, keep].mean(0)) / dummies[:, keep].std(0)
    return X, y


def digits(seed):
    """Blurred blobs of 8 x 8, another place and shape for each class."""
    rng = np.random.default_rng(seed)
    N, side = 1797, np.arange(8)
    label = rng.integers(0, 10, N)
    centre = rng.uniform(1.5, 5.5, (10, 3, 2))  # of three strokes of a class
    X = np.zeros((N, 8, 8))
    for stroke in range(3):
        at = centre[label, stroke] + 0.35 * rng.standard_normal((N, 2))
        width = 0.7 + 0.2 * rng.random(N)
        near = ((side[None, :, None] - at[:, None, None, 0]) ** 2 + (side[None, None, :] - at[:, None, None, 1]) ** 2)
        X += 16 * np.exp(-near / (2 * width[:, None, None] ** 2))
    X = np.clip(np.round(X + 0.3 * rng.standard_normal(X.shape)), 0, 16)
    return X.reshape(N, 64), label.astype(float)


def words(seed, N=300000, numbers=5, factors=5, levels=150):
    """Numbers, the words of each row by their number, and labels: words have shares like 1/k and effects of sd 0.5."""
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((N, numbers))
    share = 1 / np.arange(1, levels + 1)
    word = rng.choice(levels, size=(N, factors), p=share / share.sum())
    effect = 0.5 * rng.standard_normal((factors, levels))
    eta = x @ (0.5 * rng.standard_normal(numbers)) + sum(effect[k, word[:, k]] for k in range(factors))
    return x, word, events(rng, eta, 0.2)


def array(make):
    """A writer of what make() returns as an .npy file."""
    def write(folder, name):
        X, y = make()
        np.save(folder / f"{name}.npy", np.column_stack([X, y]))
        return f"{name}.npy", X.shape, ()
    return write


def text(N):
    def write(folder, name):
        x, word, y = words(4, N)
        columns = [*(np.char.mod("%.5f", x[:, j]) for j in range(x.shape[1])),
                   *(np.char.mod("w%d", word[:, k]) for k in range(word.shape[1])), np.char.mod("%d", y)]
        names = [*(f"x{j + 1}" for j in range(x.shape[1])), *(f"f{k + 1}" for k in range(word.shape[1])), "y"]
        with open(folder / f"{name}.csv", "w") as out:
            out.write(",".join(names) + "\n")
            out.writelines(",".join(row) + "\n" for row in zip(*columns))
        return f"{name}.csv", (N, x.shape[1] + word.shape[1]), ("--categorical", "auto")
    return write


def unrolled(N):
    """The most frequent word has no column, as with --categorical."""
    def write(folder, name):
        x, word, y = words(4, N)
        size = [len(np.unique(word[:, k])) - 1 for k in range(word.shape[1])]
        cols = x.shape[1] + sum(size) + 1
        out = np.lib.format.open_memmap(folder / f"{name}.npy", "w+", np.float32, (N, cols))
        out[:, :x.shape[1]] = np.round(x, 5)
        at = x.shape[1]
        for k in range(word.shape[1]):
            levels, count = np.unique(word[:, k], return_counts=True)
            for level in levels:
                if level == levels[count.argmax()]:
                    continue
                out[:, at] = word[:, k] == level
                at += 1
        out[:, at] = y
        out.flush()
        return f"{name}.npy", (N, cols - 1), ()
    return write


SETS = {"loans": ("logistic", array(lambda: table(9857, 115, 1))),
        "scaled": ("logistic", array(lambda: table(9857, 115, 1, scaled=True))),
        "flights": ("logistic", array(lambda: table(327346, 152, 2))),
        "digits": ("softmax", array(lambda: digits(3))),
        "words": ("logistic", text(300000)),
        "unrolled": ("logistic", unrolled(300000)),
        "tenth": ("logistic", text(30000)),
        "unrolled-tenth": ("logistic", unrolled(30000))}
USUAL = ["loans", "scaled", "flights", "digits", "words"]


def measure(program, folder, name, more):
    model, write = SETS[name]
    data, shape, told_of_data = write(folder, name)
    command = [program, "sample", model, "--data", data, "--out", f"{name}.run", "--overwrite", *told_of_data, *more]
    begin = time.time()
    child = subprocess.Popen([*command, "-q"], cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, used = os.wait4(child.pid, 0)
    seconds, code = time.time() - begin, os.waitstatus_to_exitcode(status)
    child.returncode = code
    told = json.loads(subprocess.run([program, "summary", f"{name}.run", "--json"], cwd=folder, capture_output=True,
                                     check=True).stdout)
    ess = min(min(p["ess_bulk"], p["ess_tail"]) for p in told["params"])
    passes = told.get("rows_touched", float("nan")) / shape[0]
    return {"set": name, "rows": shape[0], "columns": shape[1], "parameters": len(told["params"]), "exit": code,
            "sampler": told["title"].split("parameters: ")[-1].split(",")[0], "seconds": seconds,
            "cpu": used.ru_utime + used.ru_stime, "megabytes": used.ru_maxrss / 1024,
            "ess_min": ess, "r_hat": max(p["r_hat"] for p in told["params"]), "trust": told["trust"],
            "passes_per_effective_draw": passes / ess}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", default="build/sgfs")
    parser.add_argument("--only", nargs="*", choices=SETS, default=USUAL)
    parser.add_argument("--threads")
    parser.add_argument("--json")
    parser.add_argument("--keep", help="where the files stay")
    given = parser.parse_args()
    program = str(pathlib.Path(given.program).resolve())
    rows = []
    with tempfile.TemporaryDirectory() as scratch:
        folder = pathlib.Path(given.keep or scratch)
        folder.mkdir(parents=True, exist_ok=True)
        print("| | rows x columns | sampler | seconds | processor seconds | MB | ESS min | R-hat | passes a chain for an "
              "effective draw |\n|---|---|---|---|---|---|---|---|---|")
        for name in given.only:
            r = measure(program, folder, name, ("--threads", given.threads) if given.threads else ())
            rows.append(r)
            print(f"| {name} | {r['rows']:,} x {r['columns']} | {r['sampler']} | {r['seconds']:.1f} | {r['cpu']:.1f} | "
                  f"{r['megabytes']:.0f} | {r['ess_min']:.0f} | {r['r_hat']:.3f} | {r['passes_per_effective_draw']:.3g} |", flush=True)
    if given.json:
        pathlib.Path(given.json).write_text(json.dumps(rows, indent=1) + "\n")


if __name__ == "__main__":
    main()
