# SPDX-License-Identifier: MIT
"""A third of the zoo, the fast ones: the shortest command on real data gives the posterior that an
independent sampler found, or refuses rightly. The whole zoo is in tests/long, its table `make zoo`."""
import os

import pytest

import zoo
from sets import ZOO

PROGRAM = os.environ.get("SGFS")


@pytest.fixture(scope="module")
def explicit(tmp_path_factory):
    if not PROGRAM:
        pytest.skip("SGFS (the program) is not set")
    return not zoo.has_default_prior(PROGRAM, tmp_path_factory.mktemp("zoo"))


@pytest.mark.parametrize("entry", [e for e in ZOO if e.quick], ids=lambda e: e.name)
def test_set(entry, explicit):
    verdict = zoo.judge(PROGRAM, entry, explicit)
    if verdict.skipped:
        pytest.skip(verdict.skipped)
    assert not verdict.wrong


def test_names_and_references():
    """Every set has its reference, long enough; at least a third are quick."""
    names = [e.name for e in ZOO if not e.refused]
    assert len(set(names)) == len(names) >= 30
    assert sum(e.quick for e in ZOO if not e.refused) >= len(names) / 3
    for name in names:
        told = zoo.reference_of(name)
        assert told["r_hat_max"] < 1.01 and told["ess_min"] >= 2000 and told["divergences"] == 0, name
        assert len(told["names"]) == len(told["mean"]) == len(told["sd"]) == told["parameters"]


@pytest.mark.parametrize("change, said", [
    ({}, ""), ({"mean": 1.29}, ""), ({"mean": 1.31}, "mean of a off by 0.155 sd"), ({"mean": float("nan")}, "mean"),
    ({"sd": 2.23}, ""), ({"sd": 2.26}, "sd of a off by 13 %"), ({"sd": 1.74}, "sd of a off by 13 %"),
    ({"ess_bulk": 399}, "ESS 399"), ({"ess_bulk": None}, "ESS 0"), ({"name": "b"}, "other parameters"),
])
def test_what_is_wrong_is_seen(change, said):
    param = {"name": "a", "mean": 1.0, "sd": 2.0, "ess_bulk": 400.0, "r_hat": 1.0, **change}
    other = {"name": "c", "mean": 3.0, "sd": 1.0, "ess_bulk": 4000.0, "r_hat": 1.0}
    verdict = zoo.Verdict("made up")
    zoo.compare(verdict, [param, other], {"names": ["a", "c"], "mean": [1.0, 3.0], "sd": [2.0, 1.0]})
    assert said in verdict.wrong and bool(said) == bool(verdict.wrong)


@pytest.mark.parametrize("names", [["intercept", "city=Kiel", "city=Ulm"],
                                   ["b: intercept", "b: city=Kiel", "b: city=Ulm", "c: city=Kiel", "c: city=Ulm"]])
def test_the_level_without_a_parameter_is_the_reference(names):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"city": ["Kiel", "Bonn", "Ulm"], "age": [1, 2, 3]})
    assert zoo.same_levels(frame, names) == ("--reference-level", "city=Bonn")
