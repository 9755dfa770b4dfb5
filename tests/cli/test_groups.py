# SPDX-License-Identifier: MIT
"""Groups of rows as a user meets them: --formula and --effects, what is refused, threads, weights and --resume."""
import json

import numpy as np
import pytest

from cli_program import Sgfs, write
from resumed import END, blocks

USAGE, DATA = 2, 3
EFFECTS = 0x80000003
LENGTHS = ("--warmup", "80", "--draws", "120", "--chains", "2")


@pytest.fixture(scope="module")
def site(shared):
    rng = np.random.default_rng(3)
    n = 400
    x, z = rng.integers(-8, 9, n) / 4, rng.integers(0, 5, n) / 4
    user, item = rng.integers(0, 40, n), rng.integers(0, 9, n)
    eta = 0.3 + 0.5 * x + rng.standard_normal(40)[user] + 0.6 * rng.standard_normal(9)[item]
    y = (rng.random(n) < 1 / (1 + np.exp(-eta))).astype(int)
    shared.user, shared.y, shared.x = user, y, x
    rows = [f"{a},{b},u{u},{i},{'hot' if b > 0.5 else 'cold'},{int(v)}" for a, b, u, i, v in zip(x, z, user, item, y)]
    write(shared.folder / "a.csv", ["x,z,user,item,tap,y", *rows])
    write(shared.folder / "codes.csv", ["x,z,user,item,y",
                                        *(f"{a},{b},{u},{i},{v}" for a, b, u, i, v in zip(x, z, user, item, y))])
    return shared


def run(site, *words, data="a.csv", out="fit.run"):
    site.ok("sample", "logistic", "--data", data, "--out", out, "--overwrite", "-q", *LENGTHS, *words)
    return site.draws(out)


def names(site, out="fit.run"):
    return [p["name"] for p in json.loads(site.ok("summary", out, "--json").stdout)["params"]]


def test_a_formula_says_what_options_say(site):
    one = run(site, "--formula", "y ~ x + log1p(z) + (1 | user)")
    two = run(site, "--target", "y", "--features", "x,z", "--log1p", "z", "--effects", "(1 | user)")
    assert np.array_equal(one, two)
    assert names(site) == ["intercept", "x", "log1p(z)", "sd_user[intercept]", "icc_user"]


def test_groups_of_many_columns_stay_apart(sgfs):
    """10,000^3 x 20,000 combinations are more than a double counts; those that occur are 20,000, each with its name."""
    n = 20_000
    rows = [f"{k % 7},{k // 2},{k // 2},{k // 2},{k},{k % 3 % 2}" for k in range(n)]
    write(sgfs.folder / "d.csv", ["x,a,b,c,d,y", *rows])
    sgfs.ok("sample", "logistic", "--data", "d.csv", "--formula", "y ~ x + (1 | a:b:c:d)", "--warmup", "2", "--draws", "4",
            "--chains", "1", "--keep-groups", "0", "--out", "fit.run", "-q")
    header, found = blocks(sgfs.folder / "fit.run")
    assert header["model_info"]["groups"][0]["levels"] == n
    levels = json.loads(next(payload for kind, *_, payload in found if kind == EFFECTS))["terms"][0]["levels"]
    assert levels == [f"{k // 2}:{k // 2}:{k // 2}:{k}" for k in range(n)]


@pytest.mark.parametrize("formula,expected", [
    ("y ~ 1 + (1|user)", ["intercept", "sd_user[intercept]"]),
    ("y ~ 0 + x + (1|user)", ["x", "sd_user[intercept]"]),
    ("y ~ x - 1 + (1|user)", ["x", "sd_user[intercept]"]),
    ("y ~ . - z - tap - item + (1|user)", ["intercept", "x", "sd_user[intercept]"]),
    ("y ~ . - user - z - tap - item + (1|user)", ["intercept", "x", "sd_user[intercept]"]),
    ("y ~ `x` + tap + (1|user)", ["intercept", "x", "tap=hot", "sd_user[intercept]"]),
    ("y ~ x + C(tap) + (0 + x|user)", ["intercept", "x", "tap=hot", "sd_user[x]"]),
    ("y ~ x + (x|user)", ["intercept", "x", "sd_user[intercept]", "sd_user[x]", "cor_user[intercept,x]"]),
    ("y ~ x + (1+x||user) + (1|item)", ["intercept", "x", "sd_user[intercept]", "sd_user[x]", "sd_item[intercept]"]),
    ("y ~ x + (1|item) + (1|item:user)", ["intercept", "x", "sd_item[intercept]", "sd_item:user[intercept]"]),
])
def test_formulas_make_these_parameters(site, formula, expected):
    run(site, "--formula", formula)
    assert sorted(name for name in names(site) if not name.startswith("icc_")) == sorted(expected)


@pytest.mark.parametrize("formula,place,why", [
    ("y ~ x + (1 | user", 17, "closing bracket"), ("y ~ x + (0 | user)", 9, "nothing varies"),
    ("y ~ x + (1 | item:user/tap:x)", 26, "stands in front"), ("y ~ x:(1 | user)", 5, "on their own"),
    ("y ~ x + ((1 | user) | item)", 9, "on their own"), ("y ~ x + (. | user)", 9, "one by one"),
    ("y ~ x - (1 | user)", 8, "on their own"), ("y ~ x + (1 | user | item)", 18, "closing bracket"),
])
def test_groups_that_are_not_understood_are_refused_with_their_place(site, formula, place, why):
    done = site("sample", "logistic", "--data", "a.csv", "--formula", formula, "--out", "no.run")
    assert done.returncode == USAGE and why in done.stderr, done.stderr
    assert done.stderr.endswith(f"\n    {formula}\n    {' ' * place}^\n"), done.stderr


@pytest.mark.parametrize("words,why", [
    (("--formula", "y ~ x + (1|user)", "--target", "x"), "say the same thing"),
    (("--formula", "y ~ x + (1|usr)"), 'did you mean "user"'),
    (("--formula", "y ~ x + (z|user)"), "which is no feature"),
    (("--formula", "y ~ x + (1|user) + (0+x|user)"), "put them into one"),
    (("--formula", "y ~ x + (1|user)", "--sampler", "nuts"), "sampler groups alone"),
    (("--formula", "y ~ x", "--sampler", "groups"), "name them with --effects"),
    (("--formula", "y ~ x + (1|y)"), "cannot group rows"),
    (("--formula", "y ~ x + (1|user)", "--init", "1"), "--init has no meaning"),
    (("--formula", "y ~ x", "--sampler", "nuts", "--group-scale", "2"), "--group-scale has no meaning"),
])
def test_what_cannot_be_is_refused(site, words, why):
    done = site("sample", "logistic", "--data", "a.csv", "--out", "no.run", *words)
    assert done.returncode in (USAGE, DATA) and why in done.stderr, done.stderr


@pytest.mark.parametrize("command", [("optimize",), ("tune", "--grid", "group-scale=1,2"), ("check-grad",)])
def test_other_commands_refuse_groups(site, command):
    done = site(*command, "logistic", "--data", "a.csv", "--formula", "y ~ x + (1|user)")
    assert done.returncode == USAGE and "sampler groups alone" in done.stderr, done.stderr


def test_other_models_refuse_groups(site):
    done = site("sample", "softmax", "--data", "a.csv", "--formula", "y ~ x + (1|user)", "--out", "no.run")
    assert done.returncode == USAGE and "linear, logistic and poisson" in done.stderr


def test_packing_refuses_groups_and_packed_codes_are_the_same_groups(site):
    refused = site("pack", "a.csv", "--effects", "(1|user)", "--out", "no.sgd")
    assert refused.returncode == USAGE and "pack the columns as they are" in refused.stderr
    site.ok("pack", "codes.csv", "--out", "codes.sgd", "--overwrite", "-q", "--no-shuffle")
    one = run(site, "--formula", "y ~ x + (1|user)", data="codes.csv")
    two = run(site, "--formula", "y ~ x + (1|user)", data="codes.sgd")
    # words are ordered by first appearance, numbers by size: groups have other random numbers
    assert np.allclose(one.mean((0, 1)), two.mean((0, 1)), atol=0.25)


def test_a_file_that_has_an_end_has_the_effects(site):
    """A run that is killed between the two would be complete, and never get them."""
    run(site, "--formula", "y ~ x + (1|user)")
    kinds = [block[0] for block in blocks(site.folder / "fit.run")[1]]
    assert kinds.count(EFFECTS) == 1 and kinds[-1] == END


def test_the_largest_effects_of_a_factor_are_shown(site):
    run(site, "--formula", "y ~ x + (1 + x|user) + (1|item)")
    every = json.loads(site.ok("summary", "fit.run", "--groups", "user", "--top", "100", "--json").stdout)["params"]
    assert len(every) == 80 and {row["name"] for row in every} == {f"u{k}[{w}]" for k in range(40)
                                                                   for w in ("intercept", "x")}
    size = [abs(row["mean"]) for row in every]
    assert size == sorted(size, reverse=True) and all(row["sd"] > 0 for row in every)
    share = np.array([site.y[site.user == k].mean() for k in range(40)])
    effect = {row["name"]: row["mean"] for row in every}
    assert np.corrcoef(share, [effect[f"u{k}[intercept]"] for k in range(40)])[0, 1] > 0.8
    five = json.loads(site.ok("summary", "fit.run", "--groups", "user", "--top", "5", "--json").stdout)["params"]
    assert five == every[:5]
    wrong = site("summary", "fit.run", "--groups", "usr")
    assert wrong.returncode == USAGE and 'those of "user", "item"' in wrong.stderr
    site.ok("sample", "logistic", "--data", "a.csv", "--features", "x", "--target", "y", *LENGTHS, "--out", "plain.run",
            "--overwrite", "-q")
    none = site("summary", "plain.run", "--groups", "user")
    assert none.returncode == USAGE and "no effects of groups" in none.stderr


def test_threads_change_no_bit(site):
    formula = ("--formula", "y ~ x + (x|user) + (1|item)")
    assert np.array_equal(run(site, *formula, "--threads", "1"), run(site, *formula, "--threads", "4"))
    assert np.array_equal(run(site, *formula, "--chains", "1", "--threads", "1"),
                          run(site, *formula, "--chains", "1", "--threads", "3"))


def test_a_run_is_taken_up_bit_for_bit(site):
    formula = ("--formula", "y ~ x + (x|user) + (1|item)")
    whole = run(site, *formula, out="whole.run")
    site.ok("sample", "logistic", "--data", "a.csv", *formula, *LENGTHS[:2], "--draws", "50", "--chains", "2", "--out",
            "part.run", "--overwrite", "-q")
    site.ok("sample", "--resume", "part.run", "--draws", "120", "-q")
    assert np.array_equal(site.draws("part.run"), whole)
    show = [site.ok("summary", r, "--groups", "user", "--json").stdout for r in ("part.run", "whole.run")]
    assert json.loads(show[0])["params"] == json.loads(show[1])["params"]


@pytest.mark.parametrize("model,formula", [("logistic", "y ~ x + (1|row)"), ("logistic", "y ~ x + (1|row) + (1|item)"),
                                           ("linear", "x ~ z + (1 + z|user) + (1|item)")])
def test_moves_of_a_model_of_its_own_have_the_same_bits(site, model, formula):
    """Groups of one row, and linear models: with any number of threads, and taken up."""
    rows = (site.folder / "codes.csv").read_text().splitlines()
    write(site.folder / "rows.csv", [f"{rows[0]},row", *(f"{r},{k // 2 if k < 60 else k}" for k, r in enumerate(rows[1:]))])
    common = ("sample", model, "--data", "rows.csv", "--formula", formula, "--warmup", "30", "--chains", "2", "--overwrite", "-q")
    site.ok(*common, "--draws", "40", "--threads", "1", "--out", "one.run")
    site.ok(*common, "--draws", "40", "--threads", "4", "--out", "four.run")
    site.ok(*common, "--draws", "15", "--out", "part.run")
    site.ok("sample", "--resume", "part.run", "--draws", "40", "-q")
    assert np.array_equal(site.draws("one.run"), site.draws("four.run"))
    assert np.array_equal(site.draws("one.run"), site.draws("part.run"))


def test_a_weight_of_two_is_a_row_twice(site):
    rows = (site.folder / "codes.csv").read_text().splitlines()
    write(site.folder / "twice.csv", rows + rows[1:])
    write(site.folder / "weights.csv", [rows[0] + ",w", *(r + ",2" for r in rows[1:])])
    words = ("--formula", "y ~ x + (1|user)", "--draws", "1500")
    one, two = run(site, *words, data="twice.csv"), run(site, *words, "--weights", "w", data="weights.csv")
    sd = one.std((0, 1))
    assert (abs(one.mean((0, 1)) - two.mean((0, 1))) < 0.2 * sd).all()
    assert (abs(two.std((0, 1)) / sd - 1) < 0.15).all()


def test_standardising_changes_nothing_but_the_chain(site):
    words = ("--formula", "y ~ x + z + (1 + z||user)", "--draws", "1500")
    one, two = run(site, *words), run(site, *words, "--standardize")
    assert (abs(one.mean((0, 1)) - two.mean((0, 1))) < 0.25 * one.std((0, 1))).all()


def test_a_row_kept_aside_has_no_say_in_the_groups(site):
    site.ok("sample", "logistic", "--data", "a.csv", "--formula", "y ~ x + (1|user)", "--split", "0.5,0.5", *LENGTHS,
            "--out", "half.run", "--overwrite", "-q")
    assert site.draws("half.run").shape == (2, 120, 4)


def test_a_group_without_an_end_is_no_number(site):
    write(site.folder / "huge.csv", ["x,g,y", *(f"{k % 3},{1e17 + 16 * k:.0f},{k % 2}" for k in range(20))])
    site.ok("pack", "huge.csv", "--out", "huge.sgd", "--overwrite", "-q")
    done = site("sample", "logistic", "--data", "huge.sgd", "--formula", "y ~ x + (1|g)", "--out", "no.run")
    assert done.returncode == DATA and "too large to tell neighbours apart" in done.stderr
