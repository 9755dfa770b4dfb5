#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes examples/first_fit.ipynb and executes it, so that its outputs are those of this library.

    python examples/make_notebook.py [OUT]

The cells are below, in the order in which they are read. The test in tests/python executes them in
the same way, and wants no errors and the effects that the rows were made with.
"""
import os
import sys
from pathlib import Path

import nbformat
from nbclient import NotebookClient

HERE = Path(__file__).resolve().parent

CELLS = [
    ("markdown", """# A first fit

Who buys? From a table with numbers and words to effects with their uncertainty, and to predictions.
The rows are made up here, so that we know what should come out: each ten years of age add 0.3 to
the log odds, and a visitor from Oslo has 0.4 more than others."""),
    ("code", """import numpy as np
import pandas as pd
import sgfs

rng = np.random.default_rng(3)
n = 20_000
people = pd.DataFrame({"age": rng.uniform(18, 78, n),
                       "city": rng.choice(["Kiel", "Lyon", "Oslo"], n, p=[0.5, 0.3, 0.2]),
                       "visits": rng.poisson(7, n)})
log_odds = 0.03 * (people.age - 48) + 0.4 * (people.city == "Oslo") - 0.1 * people.visits + 0.5
people["bought"] = np.where(rng.random(n) < 1 / (1 + np.exp(-log_odds)), "yes", "no")
people.to_csv("people.csv", index=False)
people.head(3)"""),
    ("markdown", """The rows may be a file, a pattern of files, a DataFrame, or arrays. Columns of
words become a column of 0 and 1 for each word but the first, which the others are compared with."""),
    ("code", """fit = sgfs.sample("logistic", people, target="bought", seed=7, progress=False)
fit"""),
    ("markdown", """The second line says whether to trust the draws. The table of effects:"""),
    ("code", """fit.summary()[["mean", "sd", "q5", "q95", "ess_bulk", "r_hat"]].round(3)"""),
    ("code", """fit.plot("forest", names=["city=Lyon", "city=Oslo", "age", "visits"])"""),
    ("markdown", """A prediction is an average over the draws. The interval beside it says how sure
the data make us of the probability."""),
    ("code", """new = pd.DataFrame({"age": [25.0, 65.0], "city": ["Oslo", "Kiel"],
                    "visits": [3, 12]})
new.assign(p=fit.predict(new)[:, 1].round(3),
           low=fit.predict(new, kind="interval")[:, 1, 0].round(3),
           high=fit.predict(new, kind="interval")[:, 1, 2].round(3))"""),
    ("markdown", """Draws of any quantity are arithmetic on `fit[...]`: the odds of Oslo against
those of Kiel, all else equal."""),
    ("code", """ratio = np.exp(fit["city=Oslo"])
np.quantile(ratio, [0.05, 0.5, 0.95]).round(2)"""),
    ("markdown", "The same as an estimator of scikit-learn, in a pipeline:"),
    ("code", """from sklearn.compose import make_column_transformer
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sgfs.sklearn import BayesianLogisticRegression

columns = make_column_transformer((OneHotEncoder(sparse_output=False, drop="first"), ["city"]),
                                  remainder="passthrough", verbose_feature_names_out=False)
pipe = make_pipeline(columns.set_output(transform="pandas"),
                     BayesianLogisticRegression(random_state=7))
scores = cross_val_score(pipe, people[["age", "city", "visits"]], people.bought, cv=3,
                         scoring="neg_log_loss")
bool((scores > -0.68).all())"""),
    ("code", """fit.save("people.run", overwrite=True)      # sgfs.open("people.run"), or: sgfs summary people.run
sgfs.open("people.run").verdict == fit.verdict"""),
]


def notebook():
    """The cells, not executed."""
    make = {"markdown": nbformat.v4.new_markdown_cell, "code": nbformat.v4.new_code_cell}
    cells = [make[kind](text, id=f"cell-{number}") for number, (kind, text) in enumerate(CELLS)]
    return nbformat.v4.new_notebook(cells=cells, metadata={"kernelspec": {
        "name": "python3", "display_name": "Python 3", "language": "python"}})


def execute(book, folder):
    """Every cell, in a folder for the files they write."""
    package = str(HERE.parent / "python")
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [package, os.environ.get("PYTHONPATH")]))
    NotebookClient(book, timeout=300, resources={"metadata": {"path": str(folder)}}).execute()
    for cell in book.cells:  # times would change the file with every run
        cell.metadata.pop("execution", None)
    return book


def main():
    import tempfile

    out = Path(sys.argv[1]) if len(sys.argv) > 1 else HERE / "first_fit.ipynb"
    with tempfile.TemporaryDirectory() as folder:
        nbformat.write(execute(notebook(), folder), out)


if __name__ == "__main__":
    main()
