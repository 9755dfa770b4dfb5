# SPDX-License-Identifier: MIT
"""bench/bench.py works: tiny workloads without peers are measured, every target has a row and a right verdict, and what
cannot run is a row that says so. No time is judged here."""
import json
import os
import pathlib
import shutil
import subprocess
import sys

import pytest

ROOT = pathlib.Path(os.environ.get("SGFS_SOURCE", pathlib.Path(__file__).resolve().parents[2]))
PROGRAM = os.environ.get("SGFS") or str(ROOT / "build" / "sgfs")
sys.path.insert(0, str(ROOT / "bench"))
from measure import Bench, Failed, run
from scaling import exponent
from targets import TARGETS, judge, table


def bench(folder, *words):
    done = subprocess.run([sys.executable, ROOT / "bench" / "bench.py", "--program", PROGRAM, "--json", folder / "b.json", *words],
                          capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout, json.loads((folder / "b.json").read_text())


def test_tiny_workloads_without_peers(tmp_path):
    said, out = bench(tmp_path, "--quick", "--only", "passes", "few-rows", "codes", "prediction")
    found = [m for part in out["parts"].values() for m in part["found"]]
    assert not [m for m in found if "failed" in m.get("note", "")], found
    what = {m["what"]: m for m in found}
    assert {"f32: gradient", "exact-rows, a draw", "passes", "minibatches", "exact draws", "prediction", "memory", "predict"} <= set(what)
    assert all(m["value"] > 0 for m in found) and what["memory"]["ratio"] > 0
    assert what["proposal, 4 rows and exps"]["ratio"] == 1  # a floor from a C program
    assert len(out["targets"]) == len(TARGETS) and all(t["name"] in said for t in out["targets"])
    assert {t["verdict"] for t in out["targets"]} == {"not measured"}  # tiny sizes meet no target
    assert out["machine"]["cores"] >= 1 and out["load"] >= 0 and "bench.py" in out["command"]


def test_a_second_part_keeps_the_first(tmp_path):
    bench(tmp_path, "--quick", "--only", "chains")
    _, out = bench(tmp_path, "--quick", "--only", "few-rows")
    assert set(out["parts"]) == {"chains", "few-rows"}


def measured(target, number):
    return [{"workload": target.workload, "what": target.what, "value": number, "unit": "us", "ratio": number}]


@pytest.mark.parametrize("target", TARGETS, ids=lambda t: t.name)
def test_verdicts(target):
    good, bad = (1.01, 0.5) if target.least else (0.99, 2)
    verdict = {r["name"]: r["verdict"] for r in judge(measured(target, good * target.bound))}
    assert verdict[target.name] == "PASS" and set(verdict.values()) == {"PASS", "not measured"}
    rows = judge(measured(target, bad * target.bound))
    assert {r["verdict"] for r in rows if r["name"] == target.name} == {f"short: {bad:.2f} times the bound"}
    assert table(rows).count("\n") == len(TARGETS) + 1


def test_names_of_targets_differ():
    assert len({t.name for t in TARGETS}) == len(TARGETS)


def test_a_peer_that_fails_is_a_row(tmp_path):
    b = Bench(PROGRAM, tmp_path, peers=True)
    b.peer("nowhere.py", "w")
    assert b.found[0]["value"] is None and "failed" in b.found[0]["note"] and b.found[0]["what"] == "nowhere"


def test_time_and_memory_of_a_process(tmp_path):
    done = run([sys.executable, "-c", "x = bytearray(b'a') * 200_000_000; print(sum(range(10**6))); raise SystemExit(3)"], tmp_path)
    assert done["code"] == 3 and done["out"] == "499999500000\n" and 0 < done["cpu"] and 200e6 < done["peak"] < 300e6
    with pytest.raises(subprocess.TimeoutExpired):
        run([sys.executable, "-c", "import time; time.sleep(60)"], tmp_path, limit=1)


# ---- the page

def some_numbers():
    """As bench.py writes them."""
    few = next(t for t in TARGETS if t.field == "value")
    found = measured(few, 0.5 * few.bound) + [{"workload": "w", "what": "a peer", "value": None, "unit": "", "who": "peer",
                                               "note": "failed: | no\nmore"}]
    points = [{"x": x, "seconds": 3e-6 * x**1.5, "peak": 2e7 + x, "told": 2.1e7} for x in (10, 20, 40, 80, 160)]
    return {"machine": {k: "m" for k in ("processor", "cores", "system", "compiler", "program", "python")}, "versions": {"numpy": "2"},
            "targets": judge(found), "parts": {"few-rows": {"found": found, "seconds": 61, "load": 3.1}},
            "scaling": {"batch": {"sgld": points}}}


@pytest.mark.skipif(shutil.which("gnuplot") is None, reason="pictures need gnuplot")
def test_the_page_is_made_of_the_numbers(tmp_path):
    (tmp_path / "b.json").write_text(json.dumps(some_numbers()))
    bench(tmp_path, "--docs", "--out", str(tmp_path))
    page = (tmp_path / "performance.md").read_text()
    assert "| PASS |" in page and "n^1.50" in page and "busy" in page and "| *a peer* | - |  | failed: / no |" in page
    assert "<svg" in (tmp_path / "performance" / "scaling-batch.svg").read_text()
    numbers = json.loads((tmp_path / "performance" / "bench.json").read_text())
    assert numbers["targets"] == some_numbers()["targets"]


@pytest.mark.skipif(shutil.which("gnuplot") is None, reason="pictures need gnuplot")
def test_the_page_in_the_tree_is_that_of_its_numbers(tmp_path):
    """No number of docs/performance.md is typed: made anew from docs/performance/bench.json, the page is the same."""
    (tmp_path / "b.json").write_bytes((ROOT / "docs" / "performance" / "bench.json").read_bytes())
    bench(tmp_path, "--docs", "--out", str(tmp_path))
    assert (tmp_path / "performance.md").read_text() == (ROOT / "docs" / "performance.md").read_text()


def test_exponents():
    points = some_numbers()["scaling"]["batch"]["sgld"]
    assert abs(exponent(points) - 1.5) < 1e-9 and exponent(points[:1]) is None


# ---- groups.py

def test_the_tables_of_groups_are_those_of_their_numbers(tmp_path):
    """No number of docs/groups.md is typed: made anew from docs/groups/groups.json, the page is the same."""
    numbers = ROOT / "docs" / "groups" / "groups.json"
    done = subprocess.run([sys.executable, ROOT / "bench" / "groups.py", "--docs", "--json", numbers, "--out", tmp_path],
                          capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "groups.md").read_text() == (ROOT / "docs" / "groups.md").read_text()


def test_a_package_that_fails_is_a_row(tmp_path):
    import groups
    row = groups.attempt("lme4", 1, lambda: (_ for _ in ()).throw(Failed("no such package")))
    assert row == {"who": "lme4", "note": "failed: no such package"}
    sleeper = [sys.executable, "-c", "import time; time.sleep(60)"]
    assert groups.attempt("numpyro", 7, lambda: run(sleeper, tmp_path, 0.2))["note"] == "stopped after 28 s by the clock"
    assert groups.shown(1234.5678, 56.7) == "1235 +- 57" and groups.shown(0.01234, 0.00123) == "0.0123 +- 0.0012"


def test_bounds_need_the_effective_sample_size_too():
    import groups
    row = {"who": "sgfs", "seconds": 100, "cpu": 190, "peak": 1e9, "ess": 500, "tau": 2, "r_hat": 1, "iterations": 1200,
           "estimates": {}, "grouped": {"groups": 1, "beta": 1, "scales": 0.4}}
    for change, verdict in (({}, "PASS"), ({"seconds": 360}, "short: 2.00 times"), ({"ess": 300}, "short")):
        assert verdict in groups.judge({"simulated-1e6": {"rows": [{**row, **change}], "load": 0}})
