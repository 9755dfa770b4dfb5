#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The experiments of Ahn, Korattikara and Welling (ICML 2012), section 5, by the program's own commands.

    experiments/run.sh [NAME ...] [--quick | --smoke] [--data-dir FOLDER] [--device cuda]

    fig1        MNIST 7 against 9, logistic regression: 2-d marginals of SGFS against the truth
    fig2        the same: error of means and covariances after T seconds against how fast chains mix
    fig3-left   a neural network on health claims (synthetic, unless you have the prize's files: --hhp FOLDER)
    fig3-right  a neural network on MNIST, test error against iterations and seconds
    table1      a discriminative RBM on KDD Cup 1999, error rates
    fig4-5      a small RBM on the same: marginals of correlated pairs, errors against mixing

An experiment is a module here with four functions:

    run(lab)           its runs; hands back its numbers, a dictionary that JSON can hold
    draw(found, pen)   its pictures, from those numbers alone
    page(found)        its part of docs/paper.md, from those numbers alone
    rows(found)        head and rows of its CSV file

Numbers go to docs/paper/NAME.json and NAME.csv, pictures to NAME.svg and NAME.png, and docs/paper.md shows them between
NAME's two markers. --quick does a tenth of the work and --smoke next to nothing: their numbers and pictures stay
in the work folder (--out for another). A run that is complete is not made again: after Ctrl-C, the same command goes on.
--show makes pictures and page anew from the numbers that are there. --device cuda (or auto) makes the runs that pay there on a GPU;
where that machine has no gnuplot, --no-pictures there and --show here, beside its NAME.json, do the same.

Exit codes: 0 done; 1 an experiment failed; 2 wrong words; 3 no experiment could run, for want of data; 75 stopped."""
import argparse
import csv
import importlib
import io
import json
import os
import pathlib
import re
import signal
import sys
import time

sys.dont_write_bytecode = True
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

from lab import Failed, Lab, Missing, Stopped, rounded  # noqa: E402
from text import Page, seconds, table, write_whole  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[1]
MODULES = {"fig1": "fig1", "fig2": "fig2", "fig3-left": "fig3_left", "fig3-right": "fig3_right", "table1": "table1",
           "fig4-5": "fig4_5"}
ALIASES = {"fig4": ["fig4-5"], "fig5": ["fig4-5"], "fig3": ["fig3-left", "fig3-right"], "all": list(MODULES)}


def data_folder():
    """SGFS_DATA, else data/ in the repository, else ../shared/data beside it."""
    if os.environ.get("SGFS_DATA"):
        return pathlib.Path(os.environ["SGFS_DATA"])
    return next((p for p in (ROOT / "data", ROOT.parent / "shared" / "data") if p.is_dir()), ROOT / "data")


def parse():
    parser = argparse.ArgumentParser(prog="experiments/run.sh", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help="which experiments [all]")
    scale = parser.add_mutually_exclusive_group()
    scale.add_argument("--quick", dest="scale", action="store_const", const="quick", default="full",
                       help="a tenth of the work: minutes in all")
    scale.add_argument("--smoke", dest="scale", action="store_const", const="smoke", help="does it run at all: seconds each")
    parser.add_argument("--data-dir", type=pathlib.Path, default=data_folder(), metavar="FOLDER",
                        help="the folder with mnist/ and kdd99/ [SGFS_DATA, or data, or ../shared/data]")
    parser.add_argument("--hhp", type=pathlib.Path, metavar="FOLDER", help="release 3 of the Heritage Health Prize, if you have it")
    parser.add_argument("--device", default="blas", metavar="NAME", help="""blas, cuda, cuda:1 or auto: runs that pay on a GPU are
                        made there, the others on the cores at the same time [blas]""")
    parser.add_argument("--gpu-jobs", type=int, default=1, metavar="K", help="""runs side by side on the GPU: more than one pay
                        where NVIDIA's MPS is running [1]""")
    parser.add_argument("--jobs", type=int, metavar="K", help="runs side by side [as many as there are cores]")
    parser.add_argument("--max-time", type=float, metavar="S",
                        help="stop each run after so many seconds; tables show how far it came")
    parser.add_argument("--work", type=pathlib.Path, default=ROOT / "build" / "paper", help="where runs are kept [build/paper]")
    parser.add_argument("--out", type=pathlib.Path, help="another folder for numbers, pictures and the page")
    parser.add_argument("--program", type=pathlib.Path, default=ROOT / "build" / "sgfs")
    parser.add_argument("--fresh", action="store_true", help="forget the runs that are there")
    parser.add_argument("--show", action="store_true", help="no runs: pictures and page from the numbers that are there")
    parser.add_argument("--no-pictures", action="store_true", help="numbers alone, without gnuplot")
    args = parser.parse_args()
    wanted = [m for n in args.names or ["all"] for m in ALIASES.get(n, [n])]
    unknown = [n for n in wanted if n not in MODULES]
    if unknown:
        parser.error(f"there is no experiment {', '.join(unknown)}: {', '.join(MODULES)}")
    for word, number in (("--jobs", args.jobs), ("--gpu-jobs", args.gpu_jobs)):
        if number is not None and number < 1:
            parser.error(f"{word} {number}: at least one run at a time")
    if not re.fullmatch(r"blas|auto|cuda(:\d+)?", args.device):
        parser.error(f"--device is blas, auto, cuda or cuda:1 (the second GPU), not {args.device}")
    if args.max_time is not None and not args.max_time > 0:
        parser.error(f"--max-time {args.max_time:g}: a number of seconds above 0")
    args.names = [n for n in MODULES if n in wanted]
    args.data_dir, args.work = args.data_dir.resolve(), args.work.resolve()
    return args


class Book(Page):
    """Where numbers, pictures and the page go."""

    def __init__(self, args):
        out = args.out or (args.work / args.scale if args.scale != "full" else None)
        super().__init__(ROOT / "docs" / "paper.md", out, "make paper")
        self.pictures = not args.no_pictures

    def numbers(self, name):
        path = self.folder / f"{name}.json"
        return json.loads(path.read_text()) if path.exists() else None

    def enter(self, name, module, found):
        """Everything that follows from the numbers of one experiment."""
        write_whole(self.folder / f"{name}.json", legible(found))
        self.show(name, module)

    def show(self, name, module):
        found = self.numbers(name)
        head, rows = module.rows(found)
        lines = io.StringIO()
        csv.writer(lines, lineterminator="\n").writerows([head, *rows])
        write_whole(self.folder / f"{name}.csv", lines.getvalue())
        self.drawn = []
        if self.pictures:
            from pen import Pen
            pen = Pen(self.folder)
            module.draw(found, pen)
            self.drawn = pen.drawn
        self.write(name, module.page(found) + "\n\n" + footnote(found["made"]))

    def contents(self):
        """The table of all experiments and what each took."""
        lines = []
        for name in MODULES:
            found = self.numbers(name)
            if found:
                made = found["made"]
                gpu = made.get("gpu")
                time = [seconds(made["core_seconds"])] + ([f"{seconds(gpu['seconds'])} on the GPU"] if gpu else [])
                lines.append([f"[{name}](#{name})", made["runs"], ", ".join(time), made["scale"],
                              ", ".join([made["machine"]] + ([gpu["machine"]] if gpu else []))])
        head = ["experiment", "runs of `sgfs`", "time on one core, all runs together", "scale", "machine"]
        if lines:
            self.write("contents", table(head, lines))


def legible(found):
    """JSON with a line for every list of numbers."""
    return re.sub(r"\[\s+([^\[\]{}]*?)\s+\]", lambda m: "[" + re.sub(r"\s+", " ", m.group(1)) + "]", json.dumps(found, indent=1)) + "\n"


def footnote(made):
    gpu, here = made.get("gpu"), f"{seconds(made['core_seconds'])} of one core in all, {min(made['jobs'], made['runs'])} side by side"
    there = ""
    if gpu:
        here = f"{made['runs'] - gpu['runs']} on cores, {here}"
        there = f"; {gpu['runs']} on a GPU, {seconds(gpu['seconds'])} in all, {gpu['jobs']} side by side, {gpu['machine']}"
    return (f"*`experiments/run.sh {made['name']}`, {made['scale']} scale: {made['runs']} runs of {made['version']}, "
            f"{here}, {made['machine']}{there}; data: {made['data']}.*")


def perform(name, module, args):
    lab = Lab(name, args)
    lab.hhp = args.hhp
    if args.fresh:
        for record in lab.work.glob("*.record.json"):
            record.unlink()
    found = module.run(lab)
    found["made"] = {"name": name, "scale": lab.scale, **how(lab.made), "version": lab.version, "data": found.pop("data")}
    return rounded(found)


def how(records):
    """Where and in what time runs were made, now or before: those on cores, and below "gpu" those on a GPU."""
    there, here = [r for r in records if r["gpu"]], [r for r in records if not r["gpu"]]
    made = {"runs": len(records), "core_seconds": sum(r["wall"] for r in here), "jobs": at_once(here),
            "machine": " and ".join(sorted({r["machine"] for r in records}))}
    if there:
        made["gpu"] = {"runs": len(there), "seconds": sum(r["wall"] for r in there), "jobs": at_once(there),
                       "machine": " and ".join(sorted({r["gpu"] for r in there}))}
    return made


def at_once(records):
    return max((min(r["side_by_side"], len(records)) for r in records), default=0)


def main():
    args = parse()
    for kind in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(kind, signal.default_int_handler)  # as Ctrl-C: whoever ends this ends its runs
    book = Book(args)
    left_out, failed = 0, 0
    for name in args.names:
        start = time.monotonic()
        module = importlib.import_module(MODULES[name])
        try:
            if not args.show:
                book.enter(name, module, perform(name, module, args))
            elif book.numbers(name):
                book.show(name, module)
            else:
                raise Missing(f"there are no numbers of it in {book.folder} yet: run it without --show")
        except Missing as reason:
            left_out += 1
            print(f"{name}: left out: {reason}", file=sys.stderr)
            continue
        except (Failed, OSError) as reason:
            failed += 1
            print(f"{name}: failed: {reason}", file=sys.stderr)
            continue
        except (Stopped, KeyboardInterrupt):
            print(f"{name}: stopped. The runs that are complete are kept: the same command goes on from here.", file=sys.stderr)
            return 75
        print(f"{name}: {book.folder / name}.json, .csv{''.join(', ' + p for p in book.drawn)}; "
              f"{seconds(time.monotonic() - start)}", file=sys.stderr)
    book.contents()
    return 1 if failed else 3 if left_out == len(args.names) else 0


if __name__ == "__main__":
    sys.exit(main())
