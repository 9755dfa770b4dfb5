# SPDX-License-Identifier: MIT
"""Summaries as people report them: odds ratios, intervals, some parameters in some order, CSV; runs side by side."""
import csv
import io
import json

import numpy as np
import pytest

from cli_program import SHORT, write

EXACT = ("--sampler", "exact", "--draws", "400", "--warmup", "40", "--chains", "2", "--threads", "1")


@pytest.fixture(scope="module")
def site(shared):
    rng = np.random.default_rng(5)
    city = rng.choice(["Kiel", "Bremen", "Lyon", "10", "9"], 600, p=[0.2, 0.4, 0.2, 0.1, 0.1])
    age = rng.integers(18, 80, 600)
    y = rng.random(600) < 1 / (1 + np.exp(-(0.04 * (age - 50) + 0.8 * (city == "Lyon"))))
    rows = [f"{a},{c},{int(k)}" for a, c, k in zip(age, city, y)]
    (shared.folder / "people.csv").write_text("\n".join(["age,city,bought", *rows]) + "\n")
    shared.ok("sample", "logistic", "--data", "people.csv", "--categorical", "city", *EXACT, "--out", "fit.run")
    return shared


def values(site):
    """Draws by name, all chains in one."""
    names = [p["name"] for p in json.loads(site.ok("summary", "fit.run", "--json").stdout)["params"]]
    draws = site.draws("fit.run")
    return dict(zip(names, draws.reshape(-1, draws.shape[-1]).T))


def rows_of(site, *words):
    return {p["name"]: p for p in json.loads(site.ok("summary", "fit.run", "--json", *words).stdout)["params"]}


def test_intervals_are_quantiles_and_the_shortest(site):
    draws, rows = values(site), rows_of(site, "--interval", "0.8")
    for name, x in draws.items():
        got = [rows[name]["interval"][k] for k in ("low", "centre", "high")]
        np.testing.assert_allclose(got, np.quantile(x, [0.1, 0.5, 0.9]), rtol=1e-12)
    short = rows_of(site, "--interval", "0.8,hdi")
    for name, x in draws.items():
        x, step = np.sort(x), int(np.floor(0.8 * len(x)))
        at = np.argmin(x[step:] - x[:-step])
        np.testing.assert_allclose([short[name]["interval"][k] for k in ("low", "high")], [x[at], x[at + step]])


def test_odds_are_exp_of_the_draws(site):
    draws, rows = values(site), rows_of(site, "--odds", "--interval", "0.95")
    for name, x in draws.items():
        ratio = rows[name]["ratio"]
        assert ratio["name"] == "odds ratio"
        np.testing.assert_allclose([ratio["low"], ratio["high"]], np.exp(np.quantile(x, [0.025, 0.975])), rtol=1e-12)
    page = site.ok("summary", "fit.run", "--odds").stdout
    assert "odds ratio" in page and max(map(len, page.split("\n\n")[2].splitlines())) <= 80


def test_what_a_word_is_compared_with_is_said(site):
    """In the table, in JSON and on the page; of softmax the label, too. Not of a column that is not in the model."""
    said = "city is compared with Bremen."
    assert json.loads(site.ok("summary", "fit.run", "--json").stdout)["compared"] == said
    assert f"\n{said}\n" in site.ok("summary", "fit.run").stdout
    site.ok("report", "fit.run", "--out", "compared.html")
    assert said in (site.folder / "compared.html").read_text()
    site.ok("sample", "softmax", "--data", "people.csv", "--target", "city", *EXACT, "--out", "kinds.run")
    assert "\ncity is compared with 10.\n" in (shown := site.ok("summary", "kinds.run").stdout) and "\n10: " not in shown
    site.ok("sample", "logistic", "--data", "people.csv", "--drop", "city", *EXACT, "--out", "plain.run")
    assert "compared" not in site.ok("summary", "plain.run", "--json").stdout


def test_a_ratio_next_to_one_keeps_the_digits_that_tell_it_from_one(site):
    """The table's numbers are those of JSON, and its interval does not look as if it held 1."""
    rng = np.random.default_rng(6)
    income = rng.normal(40000, 20000, 3000).round()
    y = rng.random(3000) < 1 / (1 + np.exp(-(income - 40000) / 1e5))
    (site.folder / "rich.csv").write_text("\n".join(["income,y", *(f"{a:.0f},{int(b)}" for a, b in zip(income, y))]) + "\n")
    site.ok("sample", "logistic", "--data", "rich.csv", *EXACT, "--out", "rich.run")
    page = site.ok("summary", "rich.run", "--odds", "--interval", "0.95").stdout
    told = json.loads(site.ok("summary", "rich.run", "--odds", "--interval", "0.95", "--json").stdout)["params"][1]["ratio"]
    shown = [float(x) for x in next(line for line in page.splitlines() if line.startswith("income ")).split()[1:4]]
    assert 1 < shown[1] < shown[0] < shown[2] < 1.0001
    np.testing.assert_allclose(np.subtract(shown, 1), [told[k] - 1 for k in ("centre", "low", "high")], rtol=0.02)
    more = np.exp(10000 * np.log(told["centre"])) if told["centre"] > 1.00001 else np.exp(100000 * np.log(told["centre"]))
    units = "10000" if told["centre"] > 1.00001 else "100000"
    assert f"income: one unit more hardly shows; the odds ratio of {units} units more is {more:.4g}." in " ".join(page.split())
    site.ok("report", "rich.run", "--out", "rich.html")
    html = (site.folder / "rich.html").read_text()
    assert f"<td>{shown[0]:.10g}" in html
    assert f"income: one unit more hardly shows; the odds ratio of {units} units more is " in html
    assert f"<figcaption><b>Effects; of {units} units of income: " in html or "<svg" not in html  # without gnuplot


def test_some_rows_in_some_order(site):
    names = list(rows_of(site))
    # the most frequent word is the reference; the others are sorted, numbers by value
    assert names == ["intercept", "age", "city=9", "city=10", "city=Kiel", "city=Lyon"]
    assert list(rows_of(site, "--params", "city*,age")) == names[1:]
    assert list(rows_of(site, "--params", "*=K*")) == ["city=Kiel"]
    effects = [abs(p["mean"]) for p in rows_of(site, "--sort", "effect").values()]
    assert effects == sorted(effects, reverse=True)
    assert list(rows_of(site, "--sort", "name")) == sorted(names)
    worst = [p["r_hat"] for p in rows_of(site, "--sort", "r_hat").values()]
    assert worst == sorted(worst, reverse=True)
    done = site("summary", "fit.run", "--params", "town*")
    assert done.returncode == 2 and 'no parameter is called "town*"' in done.stderr


def test_csv_has_every_number(site):
    table = list(csv.DictReader(io.StringIO(site.ok("summary", "fit.run", "--csv", "--odds").stdout)))
    rows = rows_of(site, "--odds")
    assert [r["parameter"] for r in table] == list(rows)
    for r in table:
        assert float(r["odds ratio"]) == pytest.approx(rows[r["parameter"]]["ratio"]["centre"], rel=1e-9)
        assert float(r["sd"]) == pytest.approx(rows[r["parameter"]]["sd"], rel=1e-9)


@pytest.mark.parametrize("interval", ["2", "0", "hd", "0.9;hdi"])
def test_what_is_no_interval(site, interval):
    done = site("summary", "fit.run", "--interval", interval)
    assert done.returncode == 2 and "is no interval" in done.stderr


def test_odds_of_a_model_that_has_none(site):
    site.ok("sample", "linear", "--data", "people.csv", "--categorical", "city", *SHORT, "--out", "line.run")
    done = site("summary", "line.run", "--odds")
    assert "summary.odds" not in done.stderr
    assert done.returncode == 2 and "neither" in done.stderr


def test_runs_side_by_side(site):
    site.ok("sample", "logistic", "--data", "people.csv", "--categorical", "city", "--sampler", "nuts", *SHORT, "--out",
            "nuts.run")
    page = site.ok("compare", "fit.run", "nuts.run").stdout
    lines = page.splitlines()
    assert lines[0].split() == ["run", "sampler", "ess", "seconds", "ess/s", "max|z|", "trR"]
    assert lines[2].startswith("nuts.run") and " nuts " in lines[2] and max(map(len, lines)) <= 80
    got = json.loads(site.ok("compare", "fit.run", "nuts.run", "--json").stdout)["runs"]
    alone = json.loads(site.ok("compare", "nuts.run", "--reference", "fit.run", "--json").stdout)
    assert got[0]["largest_z"] is None and got[1]["trR"] == pytest.approx(alone["trR"], rel=1e-9)
    assert got[1]["largest_z"] == pytest.approx(max(abs(p["z"]) for p in alone["params"]), rel=1e-9)
    summary = json.loads(site.ok("summary", "nuts.run", "--json").stdout)
    assert got[1]["ess_per_s"] == pytest.approx(summary["ess_per_s"], rel=1e-9)


def test_the_reference_is_the_word_that_is_asked_for(site):
    words = ("sample", "logistic", "--data", "people.csv", "--categorical", "city", *EXACT, "--overwrite", "--out", "r.run")
    done = site.ok(*words, "--reference-level", "city=Lyon")
    assert '"Lyon" is the reference' in done.stderr and "city=Lyon" not in done.stdout
    other = {p["name"]: p["mean"] for p in json.loads(site.ok("summary", "r.run", "--json").stdout)["params"]}
    mean = {k: p["mean"] for k, p in rows_of(site).items()}
    # the difference between two words is the same against any reference
    assert other["city=Kiel"] - other["city=9"] == pytest.approx(mean["city=Kiel"] - mean["city=9"], abs=0.1)
    # new rows are predicted with the words' own columns
    a, b = (site.ok("predict", run, "--data", "people.csv", "--json").stdout for run in ("fit.run", "r.run"))
    assert json.loads(a)["log_loss"] == pytest.approx(json.loads(b)["log_loss"], abs=2e-3)
    done = site(*words, "--reference-level", "city=Rome")
    assert done.returncode == 2 and 'has no word "Rome"' in done.stderr


def test_the_order_of_flags_does_not_change_units(site):
    table = []
    for words in (("--log1p", "age", "--standardize"), ("--standardize", "--log1p", "age")):
        site.ok("sample", "logistic", "--data", "people.csv", "--drop", "city", *words, *EXACT, "--overwrite", "--out", "u.run")
        table.append(site.ok("summary", "u.run", "--csv").stdout)
    assert table[0] == table[1] and '"log1p(age)"' in table[0]


def test_shortened_names_stay_different(sgfs):
    """80 columns, names longer than the room, of which some differ in the middle only: no two look the same."""
    stage = ["1_Considerable_deterioration", "2_Moderate_deterioration", "3_Some_deterioration", "4_None", "5_Other_deterioration"]
    head = ["radiologic_assessment_at_six_months", "radiologic_assessment_at_two_months"]
    rows = [f"{stage[i % 5]},{stage[i * i % 5]},{i % 7 % 2}" for i in range(210)]
    write(sgfs.folder / "stage.csv", [",".join([*head, "y"]), *rows])
    sgfs.ok("sample", "logistic", "--data", "stage.csv", "--categorical", "auto", *SHORT, "--out", "stage.run")
    names = [p["name"] for p in json.loads(sgfs.ok("summary", "stage.run", "--json").stdout)["params"]]
    for words in (), ("--odds",):
        said = sgfs.ok("summary", "stage.run", *words).stdout
        shown = [line.split()[0] for line in said.splitlines() if line.startswith("radio") and line[-1].isdigit()]
        assert len(shown) == len(set(shown)) == len(names) - 1 and any("..." in name for name in shown), shown
        assert "(names are shortened: sgfs summary stage.run --wide shows them whole)" in said
        said = sgfs.ok("summary", "stage.run", "--wide", *words).stdout
        assert all(f"\n{name} " in said for name in names) and "shortened" not in said


def test_of_many_parameters_the_largest_effects_are_shown(sgfs):
    """Behind a run only some rows have room: not the first, but those that matter; a summary has all, in their order."""
    rng = np.random.default_rng(8)
    x = rng.integers(-4, 5, (300, 40)) / 4
    y = 3 * x[:, 39] + rng.integers(-4, 5, 300) / 4
    write(sgfs.folder / "wide.csv", [",".join([*(f"c{j}" for j in range(40)), "y"]), *(",".join(map(str, [*a, b])) for a, b in zip(x, y))])
    said = sgfs.ok("sample", "linear", "--data", "wide.csv", *SHORT, "--out", "wide.run").stdout
    shown = [line.split()[0] for line in said.splitlines() if line.startswith(("c", "intercept", "log_sigma")) and line[-1].isdigit()]
    assert len(shown) == 30 and {"c39", "log_sigma"} == set(shown[:2]), shown
    assert "... and 12 more, nearer to 0 in their own sd (sgfs summary wide.run shows all)" in said
    said = sgfs.ok("summary", "wide.run").stdout
    assert said.index("\nc0 ") < said.index("\nc39 ")


def test_an_interval_in_per_cent_is_told_as_a_share(site):
    for share in "95", "95%":
        done = site("summary", "fit.run", "--interval", share)
        assert done.returncode == 2 and f'--interval: "{share}" is no interval' in done.stderr and "(95 % is 0.95)" in done.stderr


def test_of_runs_side_by_side_the_one_without_draws_is_named(site):
    whole = (site.folder / "fit.run").read_bytes()
    start = whole.index(b"{")
    _, length = json.JSONDecoder().raw_decode(whole[start:].decode("latin-1"))
    (site.folder / "empty.run").write_bytes(whole[:start + length + 4])  # the header and its checksum
    done = site("compare", "fit.run", "empty.run")
    assert done.returncode == 3 and "empty.run: The run (unfinished) has no draws" in done.stderr, done.stderr


def test_a_note_has_the_prior_of_spreads_between_groups(sgfs):
    write(sgfs.folder / "shops.csv", ["shop,x,y", *(f"s{i % 9},{i % 7},{(i * i) % 11 / 4}" for i in range(90))])
    words = ("sample", "linear", "--data", "shops.csv", "--target", "y", "--effects", "(1 | shop)", "--dry-run")
    assert "between groups: half-normal of scale 2.5 sd(y), of a slope over sd(x) (" in sgfs.ok(*words).stderr
    assert "between groups: half-t with 3 degrees of freedom of scale 2 (" in sgfs.ok(*words, "--group-prior", "half-t", "--group-scale", "2").stderr
