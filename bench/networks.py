#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The table at the end of docs/models.md: what networks and a DRBM predict for rows kept aside, at the end
of short runs. Needs numpy, MNIST (mnist/train-images-idx3-ubyte.gz, ...) and the 10 % file of KDD Cup 1999
(kdd99/kddcup.data_10_percent.gz) in one folder:

    bench/networks.py FOLDER [--program build/sgfs] [--only mnist|kdd]

About ten minutes of one core. The errors depend on the projection (--projection SEED), the times on the
machine."""
import argparse
import gzip
import json
import pathlib
import subprocess
import tempfile

import numpy as np

MNIST = [("`--sampler sgfs-f --prior-precision 1`", 1000, 12000, 12),
         ("`--sampler sgfs-f --alpha 2 --prior-precision 0.001`", 300, 10000, 10),
         ("`--sampler sgfs-d --alpha 2 --prior-precision 0.001`", 1000, 40000, 40),
         ("`--sampler sgd --prior-precision 0.001 --step-a 1 --step-b 1000 --step-delta 1`", 5000, 40000, 40),
         ("`--sampler sgld --prior-precision 0.001 --step-a 1 --step-b 1000 --step-delta 1`", 5000, 40000, 40)]
KDD = [("automatic warm-up", 2000, 6000, 20), ("`--warmup-alpha 8.95`", 2000, 6000, 20)]


def idx(path):
    raw = gzip.decompress(path.read_bytes())
    dims = [int.from_bytes(raw[4 + 4 * k:8 + 4 * k], "big") for k in range(raw[3])]
    return np.frombuffer(raw, np.uint8, offset=4 + 4 * raw[3]).reshape(dims[0], -1)


def mnist(folder, out, seed):
    """Pixels/255 through a 784 x 20 matrix of N(0, 1)/28; columns x1 to x20 and the digit."""
    project = np.random.default_rng(seed).normal(size=(784, 20)) / 28
    for name, kind in (("train", "train"), ("test", "t10k")):
        x = idx(folder / "mnist" / f"{kind}-images-idx3-ubyte.gz") / 255.0
        y = idx(folder / "mnist" / f"{kind}-labels-idx1-ubyte.gz")
        np.save(out / f"{name}.npy", np.column_stack([x @ project, y]))


def kdd(folder, out):
    """Symbols numbered in order of appearance, num_outbound_cmds left out; every 20th row is for the test and
    the one after it is left out, as in the paper's 90/5/5."""
    codes = [{} for _ in range(42)]
    rows = []
    with gzip.open(folder / "kdd99" / "kddcup.data_10_percent.gz", "rt") as f:
        for line in f:
            cells = line.strip().rstrip(".").split(",")
            rows.append([codes[j].setdefault(c, len(codes[j])) if j in (1, 2, 3, 41) else float(c)
                         for j, c in enumerate(cells) if j != 19])
    rows = np.array(rows)
    place = np.arange(len(rows)) % 20
    np.save(out / "train.npy", rows[place > 1])
    np.save(out / "test.npy", rows[place == 0])


def run(program, out, model, common, rows):
    print("| options | warm-up + draws | test error | log loss | seconds |\n|---|---|---|---|---|")
    for name, warmup, draws, thin in rows:
        words = name.strip("`").split() if name.startswith("`") else []
        subprocess.run([program, "sample", model, "--data", out / "train.npy", "--validate", out / "test.npy", "--standardize",
                        "--allow-unconverged", "--chains", "1", "--threads", "1", "--warmup", str(warmup), "--draws", str(draws), "--thin", str(thin),
                        "--out", out / "fit.run", "--overwrite", "--quiet", *common, *words], check=True, capture_output=True)
        said = json.loads(subprocess.run([program, "summary", out / "fit.run", "--json"], check=True, capture_output=True).stdout)
        end = said["validation"]
        print(f"| {name} | {warmup:,} + {draws:,} | {end['error']:.3g} | {end['log_loss']:.3g} | {said['seconds']:.0f} |",
              flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--program", default="build/sgfs")
    parser.add_argument("--only", choices=["mnist", "kdd"])
    parser.add_argument("--projection", type=int, default=1)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        out = pathlib.Path(folder)
        if args.only != "kdd":
            mnist(args.folder, out, args.projection)
            print("MNIST, 20 projected columns, 30 hidden units, D = 940, --batch 2000")
            run(args.program, out, "mlp", ["--hidden", "30", "--batch", "2000"], MNIST)
        if args.only != "mnist":
            kdd(args.folder, out)
            print("\nKDD99 10 %, 41 hidden units, D = 2647, --sampler sgfs-d --alpha 8.95 --prior-precision 10 --batch 500")
            run(args.program, out, "drbm", ["--hidden", "41", "--sampler", "sgfs-d", "--alpha", "8.95", "--prior-precision", "10",
                                            "--batch", "500"], KDD)
