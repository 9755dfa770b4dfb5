# SPDX-License-Identifier: MIT
"""sgfs check-grad as a user meets it. That it finds mistakes is shown in tests/unit/test_check_grad.c,
with models that have some; here are right models, what is printed, and what is refused.

numpy computes the gradient of the logistic log posterior by itself, so that the numbers in the table
are more than two of ours that agree."""
import json

import numpy as np
import pytest

from cli_program import lines, quarters, write

USAGE, DATA, NUMERIC = 2, 3, 4


@pytest.fixture(scope="module")
def site(shared):
    write(shared.folder / "good.csv", lines(*quarters(400)))
    x, _ = quarters(400)
    write(shared.folder / "numbers.csv", lines(x, np.round(x[:, 0] * 1.3 - 0.4, 3)))
    return shared


def check(sgfs, *words, model="logistic", data="good.csv"):
    return json.loads(sgfs.ok("check-grad", model, "--data", data, "--json", *words).stdout)


def test_the_start_of_logistic_regression_by_numpy(site):
    """At theta = 0, all of one point: sum of (y - 1/2) x, on the rows as they are."""
    x, y = quarters(400)
    got = check(site, "--points", 1)
    wanted = np.column_stack([np.ones(400), x]).T @ (y - 0.5)
    rows = {r["name"]: r for r in got["parameters"]}
    assert got["passed"] and got["points"] == 1 and got["rows"] == got["rows_in_data"] == 400
    assert [rows[n]["analytic"] for n in ("intercept", "a", "b")] == pytest.approx(wanted, rel=1e-12)
    assert [rows[n]["numeric"] for n in ("intercept", "a", "b")] == pytest.approx(wanted, rel=1e-6)
    assert all(r["point"] == 1 and r["agrees"] and r["block"] == "beta" for r in rows.values())


@pytest.mark.parametrize("words", [(), ("--standardize",), ("--no-intercept",), ("--device", "host"),
                                   ("--init", 3, "--points", 6), ("--prior-precision", 40)])
def test_right_models_pass(site, words):
    for model, data in (("logistic", "good.csv"), ("linear", "numbers.csv")):
        got = check(site, *words, model=model, data=data)
        assert got["passed"] and "every parameter" in got["verdict"]
        assert got["checked"] == got["dim"] == len(got["parameters"])
        for what in ("error", "direction_error", "prior_error", "score_error"):
            assert 0 <= got[what] < 1e-6, what
        errors = [r["error"] for r in got["parameters"]]
        assert errors == sorted(errors, reverse=True) and errors[0] == got["error"]


def test_the_same_seed_gives_the_same_points(site):
    first, again, other = (check(site, "--seed", s)["parameters"] for s in (5, 5, 6))
    assert first == again and first != other


def test_fewer_rows_and_parameters_are_said(site):
    got = check(site, "--rows-checked", 50, "--parameters", 1, "--points", 2)
    assert got["rows"] == 50 and got["rows_in_data"] == 400 and got["checked"] <= 2
    assert f"{got['checked']} of 3 parameters" in got["verdict"] and got["passed"]
    plain = site.ok("check-grad", "logistic", "--data", "good.csv", "--rows-checked", 50).stdout
    assert "50 of 400 rows" in plain


def test_the_table(site):
    done = site.ok("check-grad", "linear", "--data", "numbers.csv")
    head, rest = done.stdout.split("\n\n", 1)
    assert head.startswith("linear, 400 of 400 rows, 4 parameters; 3 points")
    names = [line.split()[0] for line in rest.splitlines()[1:5]]
    assert sorted(names) == ["a", "b", "intercept", "log_sigma"]
    assert rest.rstrip().endswith("single rows, and the prior alone.") and done.stderr == ""


def test_a_density_that_overflows_is_named(site):
    done = site("check-grad", "linear", "--data", "numbers.csv", "--sigma", "1e-200")
    assert done.returncode == NUMERIC
    assert "not finite" in done.stderr and "point" in done.stderr and "row" in done.stderr
    assert "not finite" in done.stdout


@pytest.mark.parametrize("words, code, text", [
    ((), USAGE, "Name one model"),
    (("logistik", "--data", "good.csv"), USAGE, "logistic"),
    (("logistic",), USAGE, "--data"),
    (("logistic", "--data", "good.csv", "--points", "0"), USAGE, "points"),
    (("logistic", "--data", "good.csv", "--tolerance", "-1"), USAGE, "tolerance"),
    (("logistic", "--data", "good.csv", "--seed", "x"), USAGE, "seed"),
    (("logistic", "--data", "good.csv", "--point", "3"), USAGE, "--points"),
    (("logistic", "--data", "good.csv", "--sigma", "2"), USAGE, "--sigma has no meaning"),
    (("logistic", "--data", "numbers.csv"), DATA, "more than two"),
])
def test_refusals(site, words, code, text):
    done = site("check-grad", *words)
    assert done.returncode == code and text in done.stderr and done.stdout == ""


def test_help(site):
    page = site.ok("check-grad", "--help").stdout
    assert "--rows-checked" in page and "--tolerance" in page and "Exit code" in page
    assert "check-grad" in site.ok("help").stdout
