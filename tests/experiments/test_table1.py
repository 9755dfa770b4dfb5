# SPDX-License-Identifier: MIT
"""What experiments/table1.py makes of the rows that are predicted wrong: rates, standard errors, comparisons, verdicts."""
import copy
import os
import pathlib
import sys

import numpy as np
import pytest

SOURCE = pathlib.Path(os.environ.get("SGFS_SOURCE") or pathlib.Path(__file__).parents[2])
sys.path.insert(0, str(SOURCE / "experiments"))
import paper  # noqa: E402, F401  (tells where the modules are)
import table1  # noqa: E402

COUNTS = {"smurf": 280790, "nmap": 231, "back": 2203}  # of the 10 % file
ROWS = {"smurf": 500, "nmap": 40, "back": 60}


def run(name, method, value, wrong, every=None):
    return {"name": name, "method": method, "value": value, "every": every, "kind": "", "failed": "", "tested": True,
            "iterations": 100,
            "test": {"wrong": wrong, "labels": ROWS, "error": len(wrong) / 600}}


def found(wrong):
    """One run of each method, with the paper's setting, that is picked as well."""
    runs = {m: run(m, m, table1.GRID[m][0], wrong.get(m, []), 10 if m == "sgfs-f" else None) for m in table1.GRID}
    return {"source": "tenth", "counts": COUNTS, "rows": {"test": 600}, "iterations": 100, "runs": runs, "picked": {m: m for m in runs}}


def test_labels_of_the_whole_file():
    """Rate and standard error against sums over all rows, one by one."""
    f = found({"sgd": [[1, "smurf"], [501, "nmap"], [502, "nmap"], [541, "back"], [542, "back"]]})
    whole = {**COUNTS, "smurf": 2807886, "nmap": 2316}
    weight = np.repeat([whole[k] / COUNTS[k] for k in ROWS], list(ROWS.values()))
    wrong = np.zeros(600)
    wrong[[0, 500, 501, 540, 541]] = 1  # one of smurf, two of nmap, two of back
    rate = np.average(wrong, weights=weight)
    share, se = table1.whole_file(f, f["runs"]["sgd"])
    assert share == pytest.approx(rate) and se == pytest.approx(np.sqrt(np.sum((weight * (wrong - rate)) ** 2)) / weight.sum())
    assert share < 5 / 600 * 0.9  # rare labels weigh less there


@pytest.mark.parametrize("alone, verdict", [((0, 6), "confirmed"), ((6, 0), "the other way round"), ((0, 5), table1.UNDECIDED)])
def test_comparison(alone, verdict):
    """Only rows that one of the two gets right count: 2/2^6 is below 0.05, 2/2^5 is not."""
    shared = [[i, "back"] for i in range(100, 120)]
    f = found({"sgfs-d": shared + [[i, "smurf"] for i in range(alone[0])],
               "sgd": shared + [[i, "smurf"] for i in range(50, 50 + alone[1])]})
    first, second, p = table1.apart(f["runs"]["sgfs-d"], f["runs"]["sgd"])
    assert (first, second) == alone and p == pytest.approx(2 / 2 ** max(alone))
    assert table1.judge(f, "sgfs-d", "sgd", True)[1] == verdict


def test_picked_by_validation():
    a, b, c = ({**run(n, "sgld", v, []), "log_loss": x} for n, v, x in (("a", 0.1, 0.02), ("b", 1, 0.01), ("c", 10, 0.001)))
    assert table1.pick([a, b, {**c, "kind": "log1p"}], "sgld") is b
    assert table1.pick([a, b, {**c, "failed": "diverged"}], "sgld") is b


def test_diverged_is_said():
    f = copy.deepcopy(found({}))
    f["picked"]["sgld"] = "other"
    f["runs"]["other"] = run("other", "sgld", 1, [[1, "smurf"]])
    f["runs"]["sgld"]["failed"] = "diverged"
    lines = {line[0]: line for line in table1.claims(f)}
    line = next(v for k, v in lines.items() if k.startswith("SGLD (6.6e-04) has fewer"))
    assert "its settings: diverged" in line[1] and "not judged: diverged" in line[2]
    assert all(cell for line in lines.values() for cell in line)


def test_stopped_early_is_not_judged():
    """A run of a tenth of the other's iterations loses nothing by its errors; one of a quarter may."""
    f = found({"sgfs-f": [[i, "smurf"] for i in range(20)]})
    assert table1.judge(f, "sgfs-f", "sgd", True)[1] == "the other way round"
    f["runs"]["sgfs-f"]["iterations"] = 25
    assert table1.judge(f, "sgfs-f", "sgd", True)[1] == "the other way round" and "too early" not in table1.level(f, "sgfs-f")[2]
    f["runs"]["sgfs-f"]["iterations"] = 10
    assert table1.judge(f, "sgfs-f", "sgd", True)[1] == "not judged: SGFS-f was stopped far too early"
    assert "too early" in table1.level(f, "sgfs-f")[2]
