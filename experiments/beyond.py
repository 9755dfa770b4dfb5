#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Every table and picture of docs/beyond.md: draws whose cost does not grow with the rows, measured.

    experiments/beyond.py [--only NAME ...] [--program build/sgfs] [--quick]

An experiment is a module of experiments/evidence with a function `run(lab)`. It hands back its table, which
replaces what stands between its two markers in the page, and draws docs/beyond/NAME.svg:

    cost        seconds per effective draw against N = 1e4 .. 1e7, one core
    rates       effective exact draws a second, with the sampler that is chosen by itself
    mnist       MNIST 7 against 9 against a long HMC run: bias against the step h
    exactness   two parameters, rare events, against integration on a grid
    noise       the noise of sgfs-cv, and the covariance of its draws, against closed forms
    audit       what `sgfs audit` says of a few runs
    billion     anchor and exact draws from a packed file with bounded memory; only when asked for
                (--only billion --rows 1e8)

Times belong to a machine, and mean something only where a core is free: the share of the core that the
program had is measured and shown with them. --quick runs everything in seconds, on little data, for the
tests: its numbers mean nothing, so it needs --out, a folder for a copy of the page and its pictures."""
import argparse
import contextlib
import importlib
import os
import pathlib
import sys
import tempfile
import time

sys.dont_write_bytecode = True
os.environ["OPENBLAS_NUM_THREADS"] = "1"

from lab import Failed, Missing  # noqa: E402
from evidence.measured import Lab  # noqa: E402
from text import Page  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[1]
DEFAULT = ["cost", "rates", "mnist", "exactness", "noise", "audit"]


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", default=DEFAULT, choices=[*DEFAULT, "billion"], metavar="NAME")
    parser.add_argument("--program", type=pathlib.Path, default=ROOT / "build" / "sgfs")
    parser.add_argument("--quick", action="store_true", help="seconds, little data, numbers that mean nothing")
    parser.add_argument("--out", type=pathlib.Path, help="write a copy of the page and the pictures here instead")
    parser.add_argument("--work", type=pathlib.Path, help="keep the data and the runs in this folder")
    parser.add_argument("--rows", type=lambda s: int(float(s)), default=10**8, help="of billion [1e8]")
    args = parser.parse_args()
    if args.quick and args.out is None:
        parser.error("--quick needs --out FOLDER: its numbers are not for docs/")
    return args


def main():
    args = parse()
    page = Page(ROOT / "docs" / "beyond.md", args.out, "make beyond")
    with contextlib.ExitStack() as stack:
        work = args.work or stack.enter_context(tempfile.TemporaryDirectory(prefix="beyond-"))
        lab = Lab(args.program, pathlib.Path(work), page.folder, args.quick, args.rows)
        for name in args.only:
            start = time.monotonic()
            print(f"== {name}", flush=True)
            try:
                table = importlib.import_module(f"evidence.{name}").run(lab)
            except Missing as reason:
                print(f"   left out: {reason}")
                continue
            except Failed as reason:
                raise SystemExit(f"{name}: {reason}") from None
            page.write(name, table)
            print(f"{table}\n   {time.monotonic() - start:.0f} s", flush=True)


if __name__ == "__main__":
    main()
