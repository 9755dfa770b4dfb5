# SPDX-License-Identifier: MIT
"""docs/tutorial.md: every command of it runs, in order, and its table is the one that comes out; the README's commands,
table and picture are those of the page. The table of customers is made by awk, whose random numbers differ from one awk
to another: ratios agree within what two tables may differ."""
import csv
import math
import os
import pathlib
import re
import shutil
import subprocess

import pytest

from cli_program import PROGRAM

DOCS = pathlib.Path(__file__).parents[2] / "docs"
PAGE, README = DOCS / "tutorial.md", DOCS.parent / "README.md"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = tmp_path_factory.mktemp("tutorial")
    environment = {**os.environ, "PATH": f"{pathlib.Path(PROGRAM).resolve().parent}:{os.environ['PATH']}"}
    commands = re.findall(r"```sh\n(.*?)```", PAGE.read_text(), re.S)
    assert len(commands) >= 6
    if shutil.which("gnuplot") is None:
        commands = [c for c in commands if "sgfs plot" not in c]
    done = subprocess.run(["sh", "-e"], input="\n".join(commands), cwd=made, env=environment, capture_output=True,
                          text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    (made / "all.txt").write_text(done.stdout)
    return made


def ratios(text):
    """Name: ratio, its ends, and the sd of its logarithm."""
    table = text[text.index("parameter     odds ratio"):].split("\n\n")[0].split("```")[0].splitlines()[1:]
    return {row.split()[0]: [float(row.split()[k]) for k in (1, 2, 3, 5)] for row in table if row}


def test_the_table_is_that_of_the_page(folder):
    page, got = ratios(PAGE.read_text()), ratios((folder / "all.txt").read_text())
    assert page.keys() == got.keys()
    for name, (ratio, low, high, sd) in page.items():
        assert abs(math.log(got[name][0] / ratio)) < 6 * sd, name
        assert got[name][1] < got[name][0] < got[name][2] and low < ratio < high
        assert abs(got[name][3] / sd - 1) < 0.1


def test_every_word_of_the_refusal_is_said(folder):
    done = subprocess.run([PROGRAM, "sample", "logistic", "--data", "customers.csv", "--target", "bought"], cwd=folder,
                          capture_output=True, text=True, check=False)
    said = re.search(r"\$ sgfs sample logistic --data customers.csv --target bought\n(.*?)```", PAGE.read_text(), re.S)[1]
    # the first customer's city and plan are awk's own
    a, b = (re.sub(r'line 2: "\w+"', "line 2", " ".join(text.split())) for text in (done.stderr, said))
    assert done.returncode == 3 and a == b


def test_what_it_leaves_behind(folder):
    with open(folder / "predictions.csv", encoding="utf-8") as f:
        first = next(csv.DictReader(f))
    assert abs(float(first["p[yes]"]) - 0.30) < 0.04
    if shutil.which("gnuplot") is not None:
        assert "<svg" in (folder / "effects.svg").read_text() and (folder / "customers.html").stat().st_size > 10000
    text = (folder / "all.txt").read_text()
    assert text.startswith("Trust: ") and abs(float(re.search(r"error rate +(\S+)", text)[1]) - 0.284) < 0.03


def commands(text):
    """Commands of the program in a page, each as its words."""
    return [" ".join(c.replace("\\\n", " ").split()) for c in re.findall(r"^(?:\$ )?(sgfs (?:[^\n]|(?<=\\)\n)*)", text, re.M)]


def test_the_readme_shows_the_same():
    page, readme = PAGE.read_text(), README.read_text()
    shown = [c for c in commands(readme) if not c.startswith("sgfs help")]
    assert len(shown) >= 5 and set(shown) <= set(commands(page))
    assert ratios(readme) == ratios(page)


def test_the_picture_of_the_readme_is_that_of_the_page(folder):
    if shutil.which("gnuplot") is None:
        pytest.skip("gnuplot is not installed")

    def labels(path):  # without those of the axis
        return [label for label in re.findall(r">([^<>]+)</text>", path.read_text()) if re.search("[a-z]", label)]
    shown = labels(DOCS / "effects.svg")
    assert "docs/effects.svg" in README.read_text()
    assert len(shown) > 7 and shown == labels(folder / "effects.svg")
