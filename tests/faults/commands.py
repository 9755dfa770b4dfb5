# SPDX-License-Identifier: MIT
"""The commands that are made to fail, and the small files that they read.

A command runs in an empty folder and finds its inputs in IN. `outputs` are the names of the files that it writes;
with `--overwrite` an older file of that name is there before, and `changes` are copies of files of IN that it changes.
Data are as small as each reader, sampler and export
allows: what counts is how many different calls are made, not how often."""
import gzip
import json
import os
import struct
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "fuzz"))
import make_corpus  # noqa: E402

IN = "../../in"
# Of a run: neither costs a draw.
IN_ORDER = ("The run is complete; its file could not be put in order, and stays as it was written.|"
            "The run goes on; if it is interrupted, work since the last state that was saved will be done again.")
SHORT = "--warmup 12 --draws 16 --chains 2 --seed 3 --threads 1"


@dataclass(frozen=True)
class Command:
    name: str
    words: str
    outputs: tuple = ()
    stdin: str = ""  # a file of IN
    changes: tuple = ()
    code: int = 0  # of the undisturbed run
    warning: str = ""  # sentences, with a bar between: that a file could not be written as it should, which is no failure

    def before(self, inputs):
        """The files that are there when it starts, with their contents."""
        older = {name: b"older\n" for name in self.outputs if "--overwrite" in self.words}
        return {**older, **{name: (inputs / name).read_bytes() for name in self.changes}}


def sample(name, words, out="fit.run", short=SHORT, **rest):
    return Command(name, f"sample --allow-unconverged {words} {short} --out {out}", (out,), warning=IN_ORDER, **rest)


CSV = f"--data {IN}/words.csv"
COMMANDS = [
    # Every family of samplers.
    sample("sgfs-f", f"logistic {CSV} --features 2-4 --sampler sgfs-f --batch 8 --overwrite"),
    sample("sgfs-d", f"softmax --data {IN}/classes.csv --sampler sgfs-d --batch 8 --verbose"),
    sample("sgfs-b", f"linear --data {IN}/numbers.npy --sampler sgfs-b --block-size 2 --batch 8"),
    sample("sgfs-inverse", f"linear --data {IN}/numbers.npy --sampler sgfs "
           "--fisher inverse --alpha 0 --warmup-alpha 0 --batch 8"),
    sample("exact", f"logistic --data {IN}/packed.sgd"),
    sample("ess", f"logistic --data {IN}/packed.sgd --sampler exact-pairs --ess 100"),  # doubles its draws
    sample("exact-rows", f"logistic --data {IN}/rows.svm --sampler exact-rows"),
    sample("exact-pairs", f"poisson --data {IN}/counts.csv --exposure time --sampler exact-pairs"),
    sample("exact-hmc", f"logistic --data {IN}/packed.sgd --sampler exact-hmc"),
    sample("exact-linear", f"linear --data {IN}/numbers.npy --sampler exact-linear"),
    sample("groups", f"logistic {CSV} --target y --features b --effects (1|animal)"),
    sample("formula", f"linear {CSV} --formula a~.-c+(1+b||animal) --quiet"),
    sample("formula of all sorts", f"logistic {CSV} --formula y~poly(a,2)*animal+I(b^2)+scale(c)-1 --sampler laplace --quiet"),
    sample("binomial counts", f"logistic --data {IN}/counts.csv --formula cbind(count,time)~a --sampler laplace --quiet"),
    sample("groups of two threads", f"poisson --data {IN}/counts.csv --formula count~a+(1|time) --quiet",
           short=SHORT.replace("--threads 1", "--threads 2")),
    sample("two factors", f"poisson --data {IN}/groups.csv --formula count~a+offset(log(time))+(1+a|animal)+(1|farm) --keep-groups 5 "
           "--group-prior half-t --reference-level animal=bee --quiet"),
    sample("a factor in another", f"linear --data {IN}/groups.csv --formula a~b+(1|animal/farm) --quiet"),
    sample("scan", f"logistic --data {IN}/packed.sgd --sampler exact-rows --scan on --quiet"),
    sample("sketched", f"--sketch {IN}/whole.sketch"),
    sample("sketched parts", f"--sketch {IN}/marks-? --quiet", short=SHORT.replace("--draws 16", "--draws 12")),
    sample("sgfs-cv", f"logistic --data {IN}/packed.sgd --sampler sgfs-cv --batch 8"),
    sample("nuts", f"logistic --data {IN}/packed.sgd --sampler nuts --json"),
    sample("hmc", f"linear --data {IN}/numbers.npy --sampler hmc --standardize"),
    sample("laplace", f"softmax --data {IN}/classes.csv --sampler laplace --json"),
    sample("sgld", f"logistic --data {IN}/packed.sgd --sampler sgld --batch 8"),
    sample("psgld", f"mlp --data {IN}/classes.csv --hidden 2 --sampler psgld --batch 8"),
    sample("sghmc", f"drbm --data {IN}/images.idx --labels {IN}/labels.idx.gz --hidden 2 --sampler sghmc --batch 8"),
    sample("sgnht", f"linear --data {IN}/numbers.npy --sampler sgnht --batch 8"),
    sample("gauss", f"linear --data {IN}/numbers.npy --sampler gauss"),
    sample("automatic", f"logistic --data {IN}/numbers.npy --target 1", short="--chains 2 --threads 1"),
    sample("sgd", f"logistic --data {IN}/packed.sgd --sampler sgd --batch 8 --quiet"),
    # Every reader and transform, and what is beside the data.
    sample("transforms", f"logistic {CSV} --target y --categorical auto --drop c --log1p b --standardize "
           "--split 0.8,0.1,0.1 --sampler sgld --batch 8"),
    sample("many files", f"linear --data {IN}/part-1.csv.gz {IN}/part-2.csv.gz --sampler sgld --batch 8 --project 2"),
    sample("missing", f"linear --data {IN}/missing.csv --na mean --sampler exact-linear"),
    sample("missing rows", f"linear --data {IN}/missing.csv --na drop --sampler laplace --quiet"),
    sample("a pipe", "logistic --data - --sampler sgld --batch 8 --quiet", stdin="numbers.csv"),
    sample("arrow", f"logistic --data {IN}/words.arrow --target y --categorical auto --sampler sgld --batch 8 --quiet"),
    sample("an arrow pipe", "linear --data - --na mean --storage f32 --sampler laplace --quiet", stdin="holes.arrow"),
    sample("dates", f"logistic --data {IN}/dates.csv --target y --date when --sampler laplace --quiet"),
    sample("commas", f"logistic --data {IN}/latin.csv.gz --target Größe --categorical auto --sampler sgld --batch 8 -q"),
    sample("words of many", f"poisson --data {IN}/many.csv --categorical word --sampler exact-pairs --quiet"),
    Command("dry run", f"sample logistic --data {IN}/packed.sgd --threads 1 --dry-run"),
    sample("a matrix and a start of files", f"logistic --data {IN}/packed.sgd --sampler sgfs-f --batch 8 "
           f"--b-file {IN}/matrix.npy --quiet"),
    sample("a shape from a file", f"logistic --data {IN}/packed.sgd --sampler sgld --batch 8 --precondition-file {IN}/prior.txt "
           "--quiet"),
    sample("a Gaussian from files", f"logistic --data {IN}/packed.sgd --sampler gauss --gauss-mean {IN}/prior.txt "
           f"--gauss-precision {IN}/matrix.npy --quiet"),
    sample("labels aside", f"logistic --data {IN}/images.idx --labels {IN}/labels.idx.gz --sampler sgld --batch 8 --quiet "
           f"--validate {IN}/images.idx --validate-labels {IN}/labels.idx.gz"),
    sample("a prior with tails", f"linear --data {IN}/few.csv --prior student-t --prior-df 1 --quiet"),
    sample("a prior with a kink", f"softmax --data {IN}/classes.csv --prior laplace --keep-classes ape,bee --reference-class bee "
           "--quiet"),
    sample("anchors anew", f"logistic --data {IN}/packed.sgd --sampler sgfs-cv --batch 8 --reanchor-at 0.01 --anchor-cache on "
           "--quiet"),
    sample("a metric", f"logistic --data {IN}/packed.sgd --sampler nuts --metric fisher --init 1 --quiet"),
    sample("part of the rows", f"logistic {CSV} --target y --categorical animal --coding integer --limit 30 --split 0.5,0.2,0.3 "
           "--part validation --sampler laplace --quiet"),
    sample("weights", f"poisson --data {IN}/counts.csv --weights time --sampler sgld --batch 8 --quiet"),
    sample("validate", f"logistic --data {IN}/packed.sgd --sampler sgld --batch 8 --validate {IN}/packed.sgd"),
    sample("start", f"logistic --data {IN}/packed.sgd --sampler sgld --batch 8 --start {IN}/mode.json "
           f"--prior-file {IN}/prior.txt --prior gaussian"),
    sample("config", f"logistic --data {IN}/packed.sgd --config {IN}/fit.run --quiet --overwrite"),
    sample("a model of one's own", f"{IN}/student_t.so --data {IN}/numbers.npy --sampler sgld --batch 8 --quiet"),
    sample("two threads", f"logistic --data {IN}/packed.sgd --sampler sgfs-f --batch 8 --quiet",
           short=SHORT.replace("--threads 1", "--threads 2")),
    sample("checkpoints", f"logistic --data {IN}/numbers.csv --sampler sgfs-f --batch 8 --quiet --checkpoint 0.001",
           short=SHORT.replace("--draws 16", "--draws 400")),
    Command("longer", "sample --allow-unconverged --resume fit.run --draws 24 --threads 1", changes=("fit.run",),
            warning=IN_ORDER),
    Command("longer groups", "sample --allow-unconverged --resume groups.run --draws 24 --threads 1",
            changes=("groups.run",), warning=IN_ORDER),
    Command("sketched again", "sample --allow-unconverged --resume sketch.run --draws 14 --threads 1",
            changes=("sketch.run",), warning=IN_ORDER),
    Command("nothing to do", "sample --allow-unconverged --resume cv.run --threads 1", changes=("cv.run",),
            warning=IN_ORDER),
    # What is done with a run.
    Command("summary", f"summary {IN}/fit.run --verbose"),
    Command("summary json", f"summary {IN}/words.run --json"),
    Command("summary odds", f"summary {IN}/fit.run --odds --interval 0.95,hdi --sort effect --wide"),
    Command("summary csv", f"summary {IN}/words.run --odds --params a* --csv"),
    Command("summary groups", f"summary {IN}/groups.run --groups animal --top 2 --verbose"),
    Command("compare", f"compare {IN}/fit.run --reference {IN}/mode.json"),
    Command("summary of two factors", f"summary {IN}/farms.run --json"),
    Command("compare groups", f"compare {IN}/groups.run --reference {IN}/groups.run"),
    Command("compare runs", f"compare {IN}/fit.run --reference {IN}/cv.run --json"),
    Command("compare several", f"compare {IN}/fit.run {IN}/cv.run"),
    Command("compare several json", f"compare {IN}/fit.run {IN}/cv.run --reference {IN}/mode.json --json"),
    Command("predict", f"predict {IN}/words.run --data {IN}/words.csv --out p.csv", ("p.csv",)),
    Command("predict missing", f"predict {IN}/missing.run --data {IN}/missing.csv --out p.csv --overwrite", ("p.csv",)),
    Command("predict text", f"predict {IN}/fit.run --data {IN}/packed.sgd --json"),
    Command("predict arrow", f"predict {IN}/words.run --data {IN}/words.arrow --new-words zero --out p.npy", ("p.npy",)),
    Command("predict groups", f"predict {IN}/groups.run --data {IN}/words.csv --key animal --interval 0.8 --out p.csv",
            ("p.csv",)),
    Command("predict new groups", f"predict {IN}/farms.run --data {IN}/groups.csv --new-groups zero --max-draws 6 --out p.npy",
            ("p.npy",)),
    Command("predict part", f"predict {IN}/split.run --data {IN}/words.csv --part test --json --out p.csv", ("p.csv",)),
    Command("predict formula", f"predict {IN}/formula.run --data {IN}/words.csv --out p.csv", ("p.csv",)),
    Command("predict dates", f"predict {IN}/dates.run --data {IN}/dates.csv --key when --out p.csv --json", ("p.csv",)),
    Command("predict a sketch", f"predict {IN}/sketch.run --data {IN}/numbers.csv --out p.csv", ("p.csv",)),
    Command("audit", f"audit {IN}/cv.run --no-store --quiet --threads 1 --precision 0.2 --chains 2"),
    Command("audit kept", "audit cv.run --quiet --threads 1 --precision 0.2 --chains 2", changes=("cv.run",),
            warning="warning: the result is not kept in the run file. "),
    Command("audit of all", f"audit {IN}/cv.run --no-store --quiet --threads 1 --precision 0.2 --chains 1 --against-reference"),
    Command("audit of groups", f"audit {IN}/groups.run --no-store --quiet --threads 1"),
    Command("report", f"report {IN}/fit.run --test-data {IN}/packed.sgd --threads 1 --out r.html", ("r.html",),
            warning="The page has none."),
    Command("report runs", f"report {IN}/fit.run {IN}/fit.run --threads 1 --out r.html --overwrite --json", ("r.html",),
            warning="The page has none."),
    Command("plot", f"plot {IN}/fit.run density --threads 1 --out d.svg", ("d.svg",)),
    Command("plot text", f"plot {IN}/fit.run trace --threads 1"),
    Command("export nc", f"export {IN}/fit.run fit.nc --overwrite", ("fit.nc",)),
    Command("export stan", f"export {IN}/fit.run fit.stan.csv", ("fit_1.stan.csv", "fit_2.stan.csv")),
    Command("export groups", f"export {IN}/groups.run fit.csv", ("fit.csv",)),
    Command("export groups nc", f"export {IN}/groups.run fit.nc", ("fit.nc",)),
    Command("export csv", f"export {IN}/words.run fit.csv --overwrite", ("fit.csv",)),
    Command("export npy", f"export {IN}/fit.run fit.npy", ("fit.npy",)),
    Command("export curve", f"export {IN}/curve.run fit.curve.csv", ("fit.curve.csv",)),
    Command("report of several", f"report {IN}/fit.run {IN}/cv.run --reference {IN}/mode.json --threads 1 --out r.html",
            ("r.html",)),
    Command("plot errors", f"plot {IN}/fit.run {IN}/cv.run error --reference {IN}/mode.json --out e.svg --threads 1", ("e.svg",)),
    Command("plot png", f"plot {IN}/fit.run density --out p.png --threads 1 --overwrite", ("p.png",)),
    Command("report of groups", f"report {IN}/groups.run --threads 1 --out r.html", ("r.html",), warning="The page has none."),
    # Sketches, in one step and in all of them.
    Command("sketch", f"sketch logistic --data {IN}/numbers.csv {SHORT} --out all.sketch --json --overwrite", ("all.sketch",)),
    Command("sketch columns", f"sketch logistic --data {IN}/words.csv --target y --features a,b --standardize --columns-only "
            "--threads 1 --out columns", ("columns",)),
    Command("sketch place", f"sketch --merge {IN}/columns-1 {IN}/columns-2 --out place --threads 1", ("place",)),
    Command("sketch pass", f"sketch --at {IN}/place-0 --data {IN}/half-1.csv --out pass --threads 1", ("pass",)),
    Command("sketch merge", f"sketch --at {IN}/place-0 --merge {IN}/pass-0-1 {IN}/pass-0-2 --out place --threads 1", ("place",)),
    Command("sketch anchor", f"sketch --at {IN}/place-last --merge {IN}/pass-last-1 {IN}/pass-last-2 --out place --threads 1",
            ("place",)),
    Command("sketch marks", f"sketch --at {IN}/place --data {IN}/half-2.csv --out marks --threads 1", ("marks",)),
    Command("sketch one", f"sketch --merge {IN}/marks-1 {IN}/marks-2 --out all.sketch --threads 1", ("all.sketch",)),
    Command("sketch again", f"sketch --at {IN}/place --data {IN}/half-1.csv --out marks-1 --threads 1", changes=("marks-1",)),
    Command("another sketch", f"sketch logistic --data {IN}/half-1.csv --seed 4 --out marks-1 --threads 1",
            changes=("marks-1",), code=2),
    Command("other rows", f"sketch --at {IN}/place --data {IN}/numbers.csv --out marks --threads 1", code=3),
    Command("a part is missing", f"sample --sketch {IN}/marks-1", code=2),
    Command("a damaged sketch", f"sample --sketch {IN}/damaged.sketch", code=6),
    # What is refused.
    Command("an odd formula", f"sample logistic {CSV} --formula y~a+(b", code=2),
    Command("exists", f"sample logistic --data {IN}/packed.sgd --sampler sgld --batch 8 --out fit.run",
            changes=("fit.run",), code=2),
    Command("an input", "pack numbers.csv --out numbers.csv --overwrite", changes=("numbers.csv",), code=2),
    Command("an odd row", f"sample logistic --data {IN}/odd.csv", code=3),
    Command("a lost value", f"sample linear --data {IN}/missing.csv", code=3),
    Command("no noise", f"sample linear --data {IN}/exact.csv", code=3),
    Command("a cut arrow", f"sample linear --data {IN}/cut.arrow --na drop", code=3),
    Command("another command", "sampel", code=2),
    Command("an unknown option", f"sample logistic --data {IN}/packed.sgd --epsilo 1", code=2),
    Command("a damaged run", f"summary {IN}/damaged.run", code=6),
    Command("no run", f"predict {IN}/numbers.csv --data {IN}/numbers.csv", code=6),
    # What makes or looks at data and models.
    Command("tune", f"tune logistic --data {IN}/packed.sgd --sampler sgld --grid epsilon=1e-2,1e-3 --batch 8 "
            "--quiet --holdout 0.25 --warmup 12 --draws 16 --chains 1 --threads 1 --out best.json --overwrite", ("best.json",)),
    Command("tune by error", f"tune linear --data {IN}/numbers.npy --sampler sgfs-d --by error --batch 8 --grid "
            f"alpha=1,2 --reference {IN}/linear.json --warmup 12 --draws 16 --threads 1 --out best.json --json",
            ("best.json",)),
    Command("tune by folds", f"tune logistic --data {IN}/words.csv --target y --categorical auto --folds 2 --sampler sgfs-d --batch 8 "
            "--grid alpha=1,2 --quiet --warmup 12 --draws 16 --chains 1 --threads 1 --out best.json", ("best.json",)),
    Command("optimize a formula", f"optimize poisson --data {IN}/counts.csv --formula count~a+offset(log(time)) --method lbfgs "
            "--threads 1 --json"),
    Command("optimize", f"optimize softmax --data {IN}/classes.csv --threads 1 --out mode.json", ("mode.json",)),
    Command("check-grad", f"check-grad logistic --data {IN}/packed.sgd --threads 1 --points 2"),
    Command("check-grad wide", f"check-grad mlp --hidden 2 --data {IN}/classes.csv --threads 1 --points 1 --json"),
    Command("simulate", "simulate logistic --rows 40 --dim 2 --out d.npy --truth t.json", ("d.npy", "t.json")),
    Command("simulate csv", "simulate softmax --rows 40 --dim 2 --out d.csv --overwrite", ("d.csv",)),
    Command("simulate packed", "simulate linear --rows 40 --dim 2 --out d.sgd", ("d.sgd",)),
    Command("pack", f"pack {IN}/words.csv --target y --categorical auto --out d.sgd", ("d.sgd",)),
    Command("pack on disk", f"pack {IN}/long.npy --memory 5M --out d.sgd --overwrite", ("d.sgd",)),
    Command("pack check", f"pack --check {IN}/packed.sgd"),
    Command("list", "list"),
    Command("help", "help sample"),
    Command("version", "--version"),
]


def write_arrow(folder, x, y):
    """A file with words in every way of having them, a stream with missing values, and one that is cut."""
    columns = [("d", row.tolist()) for row in x.T]
    end = struct.pack("<II", 0xFFFFFFFF, 0)
    head = make_corpus.arrow_schema([("animal", "k"), ("a", "d"), ("b", "d"), ("c", "d"), ("y", "s")])
    coded = make_corpus.arrow_batch([("s", ["ape", "bee", "cat"])], words=True)
    rows = make_corpus.arrow_batch([("k", [i % 3 for i in range(len(y))]), *columns,
                                    ("s", ["no" if label == 0 else "yes" for label in y])])
    (folder / "words.arrow").write_bytes(b"ARROW1\0\0" + head + coded + rows + rows + end)
    head = make_corpus.arrow_schema([("a", "d"), ("b", "d"), ("c", "d"), ("y", "i")])
    holes = [("d", [None if i % 7 == 0 else v for i, v in enumerate(cells)]) for _, cells in columns]
    rows = make_corpus.arrow_batch([*holes, ("i", [int(v) for v in y])])
    (folder / "holes.arrow").write_bytes(head + rows + rows + end)
    (folder / "cut.arrow").write_bytes(head + rows + rows[:-40])


def make_sketches(run, folder):
    """A sketch of two halves with all its steps: place-0 is the first place, place-last the one before `place`, the
    anchor; and one of all rows."""
    def each(step, words):
        for half in (1, 2):
            run(f"sketch {words} --data {IN}/half-{half}.csv --out {IN}/{step}-{half}")
        return f"{IN}/{step}-1 {IN}/{step}-2"

    run(f"sketch logistic --data {IN}/packed.sgd {SHORT} --out {IN}/whole.sketch")
    run(f"sample --sketch {IN}/whole.sketch {SHORT.replace('--draws 16', '--draws 12')} --out {IN}/sketch.run")
    run(f"sketch --merge {each('columns', f'logistic {SHORT} --columns-only')} --out {IN}/place-0")
    at = "place-0"
    while True:
        k = at.split("-")[1]
        parts = each(f"pass-{k}", f"--at {IN}/{at}")
        after = f"place-{int(k) + 1}"
        if json.loads(run(f"sketch --at {IN}/{at} --merge {parts} --out {IN}/{after} --json"))["done"]:
            break
        at = after
    for name in ("place", "pass"):
        for part in ("",) if name == "place" else ("-1", "-2"):
            (folder / f"{name}-last{part}").write_bytes((folder / f"{name}-{k}{part}").read_bytes())
    (folder / "place").write_bytes((folder / after).read_bytes())
    each("marks", f"--at {IN}/place")


def make_inputs(folder, program, model):
    """The files of IN, with the program itself for runs and packed rows."""
    rng = np.random.default_rng(2385)
    n = 40
    x = rng.integers(-8, 9, (n, 3)) / 4
    y = (rng.random(n) < 1 / (1 + np.exp(-x[:, 0]))).astype(int)
    y[:2] = 0, 1

    def write(name, rows):
        text = "\n".join(",".join(str(cell) for cell in row) for row in rows) + "\n"
        packed = gzip.compress(text.encode(), mtime=0) if name.endswith(".gz") else text.encode()
        (folder / name).write_bytes(packed)

    names = ("a", "b", "c", "y")
    animals, words = ("ape", "bee", "cat"), ("no", "yes")
    write("words.csv", [("animal", *names)] + [(animals[i % 3], row[0], abs(row[1]), row[2], words[label])
                                               for i, (row, label) in enumerate(zip(x, y))])
    write("numbers.csv", [names] + [(*row, label) for row, label in zip(x, y)])
    for half in (1, 2):
        rows = list(zip(x, y))[20 * (half - 1):20 * half]
        write(f"half-{half}.csv", [names] + [(*row, label) for row, label in rows])
    write("dates.csv", [("a", "when", "y")] + [(row[0], f"20{18 + i % 3}-0{1 + i % 7}-{10 + i % 19}T{10 + i % 13}:30", label)
                                               for i, (row, label) in enumerate(zip(x, y))])
    write("missing.csv", [names] + [(row[0], "NA" if i % 7 == 0 else row[1], row[2], label)
                                    for i, (row, label) in enumerate(zip(x, y))])
    write("classes.csv", [names] + [(*row, animals[(i + label) % 3]) for i, (row, label) in enumerate(zip(x, y))])
    write("counts.csv", [("a", "time", "count")] + [(row[0], 1 + i % 3, label + i % 4)
                                                    for i, (row, label) in enumerate(zip(x, y))])
    np.save(folder / "long.npy", rng.normal(size=(200000, 4)))
    for part in (1, 2):
        write(f"part-{part}.csv.gz", [names] + [(*row, row[0] / 2 + i % 3) for i, row in enumerate(x)])
    write("rows.svm", [(" ".join([str(2 * label - 1), *(f"{j + 1}:{v}" for j, v in enumerate(row) if v)]),)
                       for row, label in zip(x, y)])
    write("prior.txt", [(v,) for v in (0.5, 1, 2, 1.5)])
    np.save(folder / "numbers.npy", np.column_stack([y, x[:, 1:], x[:, 1] + rng.normal(size=n)]))
    (folder / "images.idx").write_bytes(bytes((0, 0, 8, 3)) + struct.pack(">3I", n, 2, 2)
                                        + rng.integers(0, 255, (n, 4)).astype(np.uint8).tobytes())
    (folder / "labels.idx.gz").write_bytes(gzip.compress(
        bytes((0, 0, 8, 1)) + struct.pack(">I", n) + y.astype(np.uint8).tobytes(), mtime=0))
    write("odd.csv", [names, (1, 2, 3, 0), (1, 2, 0)])
    write("exact.csv", [names] + [(*row, row[0] + 2 * row[1]) for row in x])
    write("many.csv", [("a", "word", "y")] + [(row[0], f"w{i % 30}", i % 3) for i, row in enumerate(x)])
    write("few.csv", [("a", "b", "y"), (0.5, 1, 0.25), (-1.5, 0.5, 1), (2, 1.25, 8.5)])
    write("groups.csv", [("animal", "farm", "a", "b", "time", "count")]
          + [(animals[i % 3], f"farm {i % 5}", row[0], row[1] / 4, 1 + i % 3, label + i % 4) for i, (row, label) in enumerate(zip(x, y))])
    np.save(folder / "matrix.npy", np.diag([40.0, 30, 20, 10]) + 1)
    text = "animal;b;Größe\n" + "".join(f"{'äöü'[i % 3]};{row[0]};{words[label]}\n".replace(".", ",")
                                       for i, (row, label) in enumerate(zip(x, y)))
    (folder / "latin.csv.gz").write_bytes(gzip.compress(text.encode("latin-1"), mtime=0))
    write_arrow(folder, x, y)
    if model:
        (folder / "student_t.so").symlink_to(model)

    work = folder.parent / "work" / "0"
    work.mkdir(parents=True, exist_ok=True)

    def run(words):
        words = words.replace("sample ", "sample --allow-unconverged ")
        return subprocess.run([program, *words.split()], cwd=work, check=True, capture_output=True, text=True,
                              env=dict(os.environ)).stdout
    for words in (
            f"pack {IN}/numbers.csv --out {IN}/packed.sgd",
            f"sample logistic --data {IN}/packed.sgd --sampler sgfs-f --batch 8 {SHORT} --out {IN}/fit.run",
            f"sample logistic --data {IN}/words.csv --target y --categorical auto --sampler nuts {SHORT} "
            f"--out {IN}/words.run",
            f"sample logistic --data {IN}/numbers.csv --sampler sgfs-cv --batch 8 {SHORT} --out {IN}/cv.run",
            f"sample logistic --data {IN}/packed.sgd --sampler sgld --batch 8 {SHORT} --validate {IN}/packed.sgd "
            f"--out {IN}/curve.run",
            f"sample linear --data {IN}/missing.csv --na mean --sampler laplace {SHORT} --out {IN}/missing.run",
            f"sample logistic --data {IN}/words.csv --formula y~b+(1|animal) {SHORT} --out {IN}/groups.run",
            f"sample poisson --data {IN}/groups.csv --formula count~a+(1+a|animal)+(1|farm) {SHORT} --out {IN}/farms.run",
            f"sample logistic --data {IN}/words.csv --target y --categorical auto --split 0.6,0.2,0.2 --sampler laplace {SHORT} "
            f"--out {IN}/split.run",
            f"sample logistic --data {IN}/words.csv --formula y~poly(a,2)*animal+animal:C(b)+C(c) --sampler laplace {SHORT} "
            f"--out {IN}/formula.run",
            f"sample logistic --data {IN}/dates.csv --target y --date when --sampler laplace {SHORT} --out {IN}/dates.run",
            f"optimize logistic --data {IN}/packed.sgd --out {IN}/mode.json",
            f"optimize linear --data {IN}/numbers.npy --out {IN}/linear.json"):
        run(words)
    make_sketches(run, folder)
    for name, ending in (("fit", "run"), ("whole", "sketch")):
        whole = bytearray((folder / f"{name}.{ending}").read_bytes())
        whole[-400] ^= 1
        (folder / f"damaged.{ending}").write_bytes(whole)
