# SPDX-License-Identifier: MIT
"""Networks on real data sets: the shortest command against scikit-learn on the same rows.

`make networks` runs this file. Of each set of `SETS` seven rows of ten are learned from and the others
predicted, by `sgfs sample mlp` and `sgfs predict` with no option of model, prior or sampler, and by
scikit-learn's MLPClassifier and LogisticRegression (multinomial) with their defaults on standardised
columns. The log loss of the program must not exceed the better one's by more than two standard errors of
the difference, row by row; or the program must say "Do not trust" and end with exit code 7.

The columns are in their own units (`raw`), or those of numbers are standardised by hand (`standard`).
`judge(...)` is what the tests call (test_networks.py here, all sets in tests/long)."""
import argparse
import csv
import json
import math
import os
import pathlib
import sys
import tempfile
import warnings
from dataclasses import dataclass

import numpy as np

import zoo
from sets import ZOO

NAMES = ("iris", "wine", "penguins", "glass", "oils", "birthwt", "breast_cancer", "anes96", "titanic", "oj", "weather",
         "attrition", "beps", "digits", "cells", "hmda")
QUICK = ("iris", "birthwt", "penguins")  # in `make test`
SETS = [next(entry for entry in ZOO if entry.name == name) for name in NAMES]
UNTRUSTED = 7  # exit code
MOST_ERRORS = 2  # standard errors of the difference
SECONDS = 600


@dataclass
class Outcome:
    """How a set came out; `wrong` says in words what is wrong, `skipped` why it was not run."""
    name: str
    rows: int = 0
    seconds: float = 0.0
    sampler: str = ""
    loss: float = math.nan
    mlp: float = math.nan
    regression: float = math.nan
    error: float = math.nan  # standard error of the difference to the better one
    untrusted: str = ""
    wrong: str = ""
    skipped: str = ""


def split_of(rows, seed=19):
    """Row numbers to learn from, and to be judged by."""
    order = np.random.default_rng(seed).permutation(rows)
    return np.sort(order[: rows * 7 // 10]), np.sort(order[rows * 7 // 10:])


def name_of(label):
    """As the program calls it: a whole number has no point."""
    return label[:-2] if label.endswith(".0") else label


def losses(probability, labels, truth):
    """-log p of each row's own label."""
    place = {label: k for k, label in enumerate(labels)}
    p = np.array([row[place[label]] if label in place else 0.0 for row, label in zip(probability, truth)])
    return -np.log(np.maximum(p, 1e-300))


def others(entry, frame, learn, test):
    """Losses of scikit-learn's two, row by row."""
    from reference import columns_of
    from sklearn.linear_model import LogisticRegression
    from sklearn.neural_network import MLPClassifier
    from sklearn.preprocessing import StandardScaler

    x = np.column_stack(columns_of(frame, entry)[1]).astype(float)
    y = np.array([str(label) for label in frame[entry.target]])
    scale = StandardScaler().fit(x[learn])
    found = []
    for way in (MLPClassifier(max_iter=1000, random_state=0), LogisticRegression(max_iter=5000)):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            way.fit(scale.transform(x[learn]), y[learn])
        found.append(losses(way.predict_proba(scale.transform(x[test])), way.classes_, y[test]))
    return found


def standardised(frame, entry, learn):
    """Columns of numbers with mean 0 and standard deviation 1 on the rows learned from."""
    from pandas.api.types import is_numeric_dtype

    frame = frame.copy()
    for name in frame.columns:
        if name == entry.target or not is_numeric_dtype(frame[name]) or frame[name].nunique() < 3:
            continue
        sd = frame[name].iloc[learn].std()
        frame[name] = (frame[name] - frame[name].iloc[learn].mean()) / (sd if sd > 0 else 1)
    return frame


def predicted(path, truth):
    """Losses of the program's predictions, row by row."""
    with open(path, newline="") as file:
        rows = list(csv.DictReader(file))
    labels = [name[2:-1] for name in rows[0] if name.startswith("p[")]
    probability = [[float(row[f"p[{label}]"]) for label in labels] for row in rows]
    return losses(probability, [name_of(label) for label in labels], [name_of(label) for label in truth])


def compare(out, own, mlp, regression):
    """Fill in the losses, given row by row, and what is wrong with them."""
    out.loss, out.mlp, out.regression = own.mean(), mlp.mean(), regression.mean()
    gap = own - (mlp if out.mlp < out.regression else regression)
    out.error = gap.std(ddof=1) / math.sqrt(len(gap))
    if not gap.mean() <= MOST_ERRORS * out.error and not out.untrusted:
        out.wrong = f"worse by {gap.mean():.3f}, {gap.mean() / out.error:.1f} standard errors"


def judge(program, entry, model="mlp", units="raw", words=(), seconds=SECONDS, split=19):
    """Run one set, and say how it came out."""
    from reference import csv_of

    out = Outcome(entry.name)
    frame = zoo.load(entry)
    if isinstance(frame, str):
        out.skipped = frame
        return out
    learn, test = split_of(len(frame), split)
    out.rows = len(learn)
    mlp, regression = others(entry, frame, learn, test)
    if units == "standard":
        frame = standardised(frame, entry, learn)
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        (folder / "learn.csv").write_bytes(csv_of(frame.iloc[learn]))
        (folder / "test.csv").write_bytes(csv_of(frame.iloc[test]))
        code, told, said, out.seconds = zoo.run(
            program, ("sample", model, "--data", "learn.csv", "--target", entry.target, *entry.words, *words, "--json",
                      "--threads", "1", "--out", "net.run"), folder, seconds)
        if code not in (0, UNTRUSTED):
            out.wrong = f"no answer in {seconds} s" if code is None else f"exit code {code}: {said.strip()[-200:]}"
            return out
        summary = json.loads(told)
        out.sampler = summary["title"].split("parameters: ")[-1].split(",")[0]
        if code == UNTRUSTED:
            out.untrusted = summary["verdict"]
        code, told, said, _ = zoo.run(program, ("predict", "net.run", "--data", "test.csv", "--out", "p.csv", "--new-words",
                                                "zero", "--json"), folder, seconds)
        if code != 0:
            out.wrong = f"predict: exit code {code}: {said.strip()[-200:]}"
            return out
        own = predicted(folder / "p.csv", [str(label) for label in frame[entry.target].iloc[test]])
    compare(out, own, mlp, regression)
    return out


HEAD = ("| set | rows | columns | sampler | seconds | log loss | MLPClassifier | regression | 2 s.e. | verdict |\n"
        "|---|---|---|---|---|---|---|---|---|---|")


def line(out, units):
    verdict = out.skipped or out.wrong or ("does not trust itself" if out.untrusted else "no worse")
    return (f"| {out.name} | {out.rows} | {units} | {out.sampler} | {out.seconds:.1f} | {out.loss:.3f} | {out.mlp:.3f} | "
            f"{out.regression:.3f} | {MOST_ERRORS * out.error:.3f} | {verdict} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("names", nargs="*", help="sets (default: all)")
    parser.add_argument("--program", default=os.environ.get("SGFS", "build/sgfs"))
    parser.add_argument("--model", default="mlp", choices=("mlp", "drbm"))
    parser.add_argument("--units", default="raw,standard", help="raw, standard or both")
    parser.add_argument("--split", type=int, default=19, help="seed of the rows that are held out")
    parser.add_argument("--words", default="", help="more words for the program, in one text")
    args = parser.parse_args()
    program = str(pathlib.Path(args.program).resolve())
    print(HEAD)
    outcomes = []
    for entry in SETS:
        for units in args.units.split(","):
            if not args.names or entry.name in args.names:
                outcomes.append(judge(program, entry, args.model, units, args.words.split(), split=args.split))
                print(line(outcomes[-1], units), flush=True)
    wrong = sum(bool(out.wrong) for out in outcomes)
    print(f"\n{len(outcomes) - wrong} of {len(outcomes)} are no worse or say so, {wrong} are wrong.")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
