# SPDX-License-Identifier: MIT
"""Predictions of models with groups, against the same sums made by hand from the run file's own draws of effects."""
import json
import shutil
import struct

import numpy as np
import pytest

from cli_program import Sgfs, write
from resumed import contents

USAGE, DATA, BAD_RUN, STOPPED = 2, 3, 4, 75
LENGTHS = ("--warmup", "80", "--draws", "200", "--chains", "2")
KEPT = struct.pack("<I", 0x80000004)


def kept_effects(path):
    """Chain and draw (K each) and the effects (K x numbers) that a run file keeps (docs/formats.md)."""
    raw = path.read_bytes()
    at = raw.rindex(b"SGNT" + KEPT)
    length = struct.unpack_from("<Q", raw, at + 32)[0]
    payload = raw[at + 44:at + 44 + length]
    count, numbers = struct.unpack_from("<QQ", payload)
    place = np.frombuffer(payload, "<u8", 2 * count, 16).reshape(count, 2).astype(int)
    u = np.frombuffer(payload, "<f4", count * numbers, 16 + 16 * count).reshape(count, numbers)
    return place[:, 0], place[:, 1], u.astype(float)


def inverse_logit(eta):
    return 1 / (1 + np.exp(-eta))


@pytest.fixture(scope="module")
def site(shared):
    rng = np.random.default_rng(11)
    n = 300
    x, size = rng.integers(-8, 9, n) / 4, 1 + rng.integers(0, 8, n) / 4
    user, item = rng.integers(0, 12, n), rng.integers(0, 5, n)
    eta = 0.3 + 0.5 * x + (0.8 * rng.standard_normal(12))[user] + (0.6 * rng.standard_normal(5))[item]
    y = (rng.random(n) < inverse_logit(eta)).astype(int)
    k = rng.poisson(size * np.exp(0.5 * eta))
    z = 100 + 20 * (eta + 0.5 * rng.standard_normal(n))
    shared.x, shared.user, shared.item, shared.size = x, user, item, size
    rows = [f"{x[i]},u{user[i]},{item[i]},{size[i]},{y[i]},{k[i]},{float(z[i])!r}" for i in range(n)]
    write(shared.folder / "a.csv", ["x,user,item,size,y,k,z", *rows])
    new = ["0.5,u3,2,1.5", "-1,nobody,2,1", "2,u0,99,2", "1,nobody,99,1"]
    write(shared.folder / "new.csv", ["x,user,item,size", *new])
    # words by their first appearance, as the run has them
    first = list(dict.fromkeys(user))
    shared.user_code = np.array([first.index(u) for u in user])
    first = list(dict.fromkeys(item))
    shared.item_code = np.array([first.index(i) for i in item])
    return shared


def run(site, model, *words, data="a.csv", out="fit.run"):
    site.ok("sample", model, "--data", data, "--out", out, "--overwrite", "-q", *LENGTHS, *words)
    theta = site.draws(out)
    chain, draw, u = kept_effects(site.folder / out)
    names = [p["name"] for p in json.loads(site.ok("summary", out, "--json").stdout)["params"]]
    return {name: theta[chain, draw, j] for j, name in enumerate(names)}, u


def predicted(site, *words, data="a.csv", out="fit.run"):
    """Draws of every row, rows x draws, and the result as JSON."""
    said = json.loads(site.ok("predict", out, "--data", data, "--out", "p.npy", "--overwrite", "-q", "--json",
                              *words).stdout)
    draws = np.load(site.folder / "p.npy")
    return draws[:, -1], said


def by_hand(site, theta, u, slopes=False):
    """eta of all rows at each kept draw: rows x K."""
    eta = theta["intercept"] + np.outer(site.x, theta["x"])
    q = 2 if slopes else 1
    users = u[:, :12 * q].reshape(len(u), 12, q)
    eta = eta + users[:, site.user_code, 0].T
    if slopes:
        eta += users[:, site.user_code, 1].T * site.x[:, None]
    return eta + u[:, 12 * q:][:, site.item_code].T if u.shape[1] > 12 * q else eta


@pytest.mark.parametrize("words", [(), ("--standardize",)])
def test_probabilities_of_known_groups_are_those_of_their_draws(site, words):
    theta, u = run(site, "logistic", "--formula", "y ~ x + (1 + x|user) + (1|item)", "--keep-groups", "50", *words)
    assert len(u) == 100 and u.shape[1] == 12 * 2 + 5  # twice as many as are wanted, until there is no room
    p, said = predicted(site)
    eta = by_hand(site, theta, u, slopes=True)
    assert np.allclose(p, inverse_logit(eta), rtol=1e-9)
    assert said["draws"] == 100 and said["rows_with_new_groups"] == 0
    site.ok("predict", "fit.run", "--data", "a.csv", "--out", "p.csv", "--overwrite", "-q")
    table = np.genfromtxt(site.folder / "p.csv", delimiter=",", names=True, deletechars="")
    assert np.allclose(table["p[1]"], inverse_logit(eta).mean(1), rtol=1e-9)
    y = np.loadtxt(site.folder / "a.csv", delimiter=",", skiprows=1, usecols=4)
    mean = inverse_logit(eta).mean(1)
    loss = -np.log(np.where(y == 1, mean, 1 - mean)).mean()
    assert np.isclose(said["log_loss"], loss, rtol=1e-9) and said["auc"] > 0.7


@pytest.mark.parametrize("words", [(), ("--standardize",)])
def test_means_of_a_linear_model_are_on_the_users_scale(site, words):
    theta, u = run(site, "linear", "--formula", "z ~ x + (1|user) + (1|item)", *words)
    site.ok("predict", "fit.run", "--data", "a.csv", "--out", "p.csv", "--overwrite", "-q")
    table = np.genfromtxt(site.folder / "p.csv", delimiter=",", names=True)
    assert np.allclose(table["mean"], by_hand(site, theta, u).mean(1), rtol=1e-6)


def test_counts_have_their_exposure(site):
    theta, u = run(site, "poisson", "--formula", "k ~ x + (1|user) + (1|item)", "--exposure", "size")
    site.ok("predict", "fit.run", "--data", "a.csv", "--out", "p.csv", "--overwrite", "-q")
    table = np.genfromtxt(site.folder / "p.csv", delimiter=",", names=True)
    mean = (site.size[:, None] * np.exp(by_hand(site, theta, u))).mean(1)
    assert np.allclose(table["mean"], mean, rtol=1e-9)


def test_nested_groups_are_found_by_both_columns(site):
    theta, u = run(site, "logistic", "--formula", "y ~ x + (1|item:user)")
    p, said = predicted(site)
    # pairs are numbered by item, then by user
    pair = site.item_code * 12 + site.user_code
    code = np.unique(pair, return_inverse=True)[1]
    eta = theta["intercept"] + np.outer(site.x, theta["x"]) + u[:, code].T
    assert np.allclose(p, inverse_logit(eta), rtol=1e-9) and said["rows_with_new_groups"] == 0


def test_groups_of_a_packed_file_are_numbers(site):
    write(site.folder / "codes.csv", ["x,item,y", *(
        ",".join(line.split(",")[j] for j in (0, 2, 4)) for line in
        (site.folder / "a.csv").read_text().splitlines()[1:])])
    site.ok("pack", "codes.csv", "--target", "y", "--out", "codes.sgd", "--overwrite", "-q", "--no-shuffle")
    theta, u = run(site, "logistic", "--formula", "y ~ x + (1|item)", data="codes.sgd")
    eta = theta["intercept"] + np.outer(site.x, theta["x"]) + u[:, site.item].T
    for data in ("codes.sgd", "codes.csv"):
        assert np.allclose(predicted(site, data=data)[0], inverse_logit(eta), rtol=1e-9)
    write(site.folder / "gap.csv", ["x,item", "1,2", "1,"])
    refused = site("predict", "fit.run", "--data", "gap.csv")
    assert refused.returncode == DATA and "gap.csv" in refused.stderr
    site.ok("predict", "fit.run", "--data", "gap.csv", "--na", "drop", "--out", "p.csv", "--overwrite", "-q")
    lines = (site.folder / "p.csv").read_text().splitlines()
    assert lines[1][0] in "01" and set(lines[2]) == {","}


def test_new_groups_are_drawn_set_to_zero_or_refused(site):
    theta, u = run(site, "logistic", "--formula", "y ~ x + (1|user) + (1|item)")
    fixed = [theta["intercept"] + x * theta["x"] for x in (0.5, -1, 2, 1)]
    user, item = list(dict.fromkeys(site.user)), list(dict.fromkeys(site.item))
    of_user, of_item = (lambda g: u[:, user.index(g)]), (lambda g: u[:, 12 + item.index(g)])
    zero, said = predicted(site, "--new-groups", "zero", data="new.csv")
    hand = [fixed[0] + of_user(3) + of_item(2), fixed[1] + of_item(2), fixed[2] + of_user(0), fixed[3]]
    assert np.allclose(zero, inverse_logit(np.array(hand)), rtol=1e-9)
    assert said["rows_with_new_groups"] == 3 and said["new_groups"] == {"user": 2, "item": 2}
    done = site.ok("predict", "fit.run", "--data", "new.csv")
    assert "rows in groups that the run has not seen: 3 of 4" in done.stdout
    assert '"user" 2, "item" 2' in done.stderr and "drawn by how much groups differ" in done.stderr
    refused = site("predict", "fit.run", "--data", "new.csv", "--new-groups", "refuse")
    assert refused.returncode == DATA and 'new.csv:3: group "nobody" of "user"' in refused.stderr
    # drawn: the same group has the same effect, in whatever row, known ones their own
    drawn, _ = predicted(site, data="new.csv")
    logit = np.log(drawn / (1 - drawn))
    assert np.allclose(logit[0], hand[0], rtol=1e-6)
    nobody, item99 = logit[1] - fixed[1] - of_item(2), logit[2] - fixed[2] - of_user(0)
    assert np.allclose(logit[3] - fixed[3], nobody + item99, atol=1e-6)
    other, _ = predicted(site, "--seed", "9", data="new.csv")
    assert not np.allclose(other[1], drawn[1])


def test_effects_of_new_groups_have_the_law_of_the_scales(site):
    theta, u = run(site, "linear", "--formula", "z ~ x + (1 + x|user)", "--draws", "1000", "--keep-groups", "2000")
    assert len(u) == 2000
    write(site.folder / "far.csv", ["x,user", *(f"{x},new{i}" for i in range(40) for x in (0, 2))])
    site.ok("predict", "fit.run", "--data", "far.csv", "--out", "p.npy", "--overwrite", "-q")
    # the draws of the target: its own noise is in them
    noise = np.exp(2 * theta["log_sigma"]).mean()
    y = np.load(site.folder / "p.npy")[:, 0].reshape(40, 2, -1)
    sd0, sd1, cor = theta["sd_user[intercept]"], theta["sd_user[x]"], theta["cor_user[intercept,x]"]
    off = y - (theta["intercept"] + np.array([0, 2])[:, None] * theta["x"])
    var0, var2 = sd0 ** 2, sd0 ** 2 + 4 * sd0 * sd1 * cor + 4 * sd1 ** 2
    both = sd0 ** 2 + 2 * sd0 * sd1 * cor
    # 40 groups x 2000 draws: the error of a mean of squares is 1 % or so (heavier than normal: 2 %)
    assert abs((off[:, 0] ** 2).mean() / (var0.mean() + noise) - 1) < 0.04
    assert abs((off[:, 1] ** 2).mean() / (var2.mean() + noise) - 1) < 0.04
    assert abs((off[:, 0] * off[:, 1]).mean() / both.mean() - 1) < 0.06


def test_rows_kept_aside_are_scored_and_followed(site):
    done = site.ok("sample", "logistic", "--data", "a.csv", "--formula", "y ~ x + (1|user)", *LENGTHS, "--split",
                   "0.7,0.3", "--out", "half.run", "--overwrite")
    said = json.loads(site.ok("predict", "half.run", "--data", "a.csv", "--part", "test", "--json").stdout)
    assert 50 < said["rows"] < 130 and said["auc"] > 0.5
    assert done.returncode == 0
    # --validate: the averages of all draws, at the end, are those of the kept ones where these are all
    rows = (site.folder / "a.csv").read_text().splitlines()
    write(site.folder / "train.csv", rows[:201])
    write(site.folder / "test.csv", [rows[0], *rows[201:]])
    site.ok("sample", "logistic", "--data", "train.csv", "--formula", "y ~ x + (1|user)", *LENGTHS, "--validate", "test.csv",
            "--keep-groups", "400", "--chains", "1", "--out", "val.run", "--overwrite", "-q")
    after = json.loads(site.ok("predict", "val.run", "--data", "test.csv", "--json").stdout)
    curve = json.loads(site.ok("summary", "val.run", "--json").stdout)["validation"]["curve"]
    assert after["draws"] == 200 and after["rows_with_new_groups"] == 0
    assert np.isclose(curve[-1]["log_loss"], after["log_loss"], rtol=1e-6)
    assert np.isclose(curve[-1]["error"], after["error"], rtol=1e-9)


def test_intraclass_correlations_follow_from_the_scales(site):
    def shares(model, formula, *words):
        theta, _ = run(site, model, "--formula", formula, *words)
        return theta, {name[4:]: x for name, x in theta.items() if name.startswith("icc_")}

    both = "x + (1|user) + (1|item)"
    theta, icc = shares("logistic", f"y ~ {both}")
    user, item = theta["sd_user[intercept]"] ** 2, theta["sd_item[intercept]"] ** 2
    assert np.allclose(icc["user"], user / (user + item + np.pi ** 2 / 3), rtol=1e-12)
    assert np.allclose(icc["item"], item / (user + item + np.pi ** 2 / 3), rtol=1e-12)
    for words in ((), ("--standardize",)):
        theta, icc = shares("linear", "z ~ x + (1|user)", *words)
        user = theta["sd_user[intercept]"] ** 2
        assert np.allclose(icc["user"], user / (user + np.exp(2 * theta["log_sigma"])), rtol=1e-9)
        theta, icc = shares("linear", "z ~ x + (1|user)", "--sigma", "10", *words)
        assert np.allclose(icc["user"], 1 / (1 + 100 / theta["sd_user[intercept]"] ** 2), rtol=1e-9)
    assert not shares("poisson", f"k ~ {both}")[1]  # no such share of a count that is the same in every row
    assert not shares("logistic", "y ~ x + (1 + x|user)")[1]  # with a slope it depends on x


def test_the_summary_says_what_was_accepted_and_what_a_draw_costs(site):
    run(site, "logistic", "--formula", "y ~ x + (1|user)")
    said = json.loads(site.ok("summary", "fit.run", "--json").stdout)
    grouped = said["grouped"]
    assert 0.8 < grouped["groups"] <= 1 and 0.2 < grouped["beta"] <= 1 and 0.1 < grouped["scales"] <= 1
    assert np.isclose(grouped["passes"], said["rows_touched"] / 300 / said["ess_min"], rtol=1e-9)
    assert "accepted: " in site.ok("summary", "fit.run").stdout
    site.ok("sample", "logistic", "--data", "a.csv", "--features", "x", "--target", "y", *LENGTHS, "--out", "plain.run",
            "--overwrite", "-q")
    assert "grouped" not in json.loads(site.ok("summary", "plain.run", "--json").stdout)


def test_how_many_draws_are_kept(site):
    words = ("--formula", "y ~ x + (1|user)")
    _, u = run(site, "logistic", *words, "--keep-groups", "10")
    assert u.shape == (12, 12)
    chain, draw, _ = kept_effects(site.folder / "fit.run")  # room for twice five: each time it was full every second went
    assert list(chain) == [0] * 6 + [1] * 6 and list(draw) == [31, 63, 95, 127, 159, 191] * 2
    site.ok("sample", "--resume", "fit.run", "--draws", "500", "-q")
    _, draw, u = kept_effects(site.folder / "fit.run")
    assert list(draw) == [63, 127, 191, 255, 319, 383, 447] * 2
    site.ok("sample", "logistic", "--data", "a.csv", *words, *LENGTHS, "--keep-groups", "10", "--draws", "500", "--out",
            "long.run", "--overwrite", "-q")
    assert contents(site.folder / "long.run")[1:] == contents(site.folder / "fit.run")[1:]  # however long was planned
    # Nor does it matter how much of what was planned was drawn.
    begin = ("sample", "logistic", "--data", "a.csv", *words, *LENGTHS, "--draws", "100000000", "--out", "early.run")
    made = 0
    while made == 0:  # a busy machine may not get as far
        done = site(*begin, "--max-time", "0.5", "-q")
        assert done.returncode == STOPPED, done.stderr
        begin = ("sample", "--resume", "early.run")
        made = site.draws("early.run").shape[1] if "before the first draw" not in done.stderr else 0
    _, draw, _ = kept_effects(site.folder / "early.run")
    assert min(made, 400) <= len(draw) <= 800 and predicted(site, out="early.run")[1]["draws"] == len(draw)
    site.ok("sample", "logistic", "--data", "a.csv", *words, *LENGTHS, "--keep-groups", "0", "--out", "none.run",
            "--overwrite", "-q")
    none = site("predict", "none.run", "--data", "a.csv")
    assert none.returncode == DATA and "--keep-groups 0" in none.stderr
    none = site("sample", "logistic", "--data", "a.csv", "--features", "x", "--target", "y", "--keep-groups", "3",
                "--out", "no.run")
    assert none.returncode == USAGE and "--keep-groups" in none.stderr


def test_two_groups_of_one_name_are_refused(site):
    write(site.folder / "twice.csv", ["x,a,b,y", *(
        f"{k % 5},{('p:q', 'p')[k % 2]},{('r', 'q:r')[k % 2]},{k % 3 % 2}" for k in range(60))])
    site.ok("sample", "logistic", "--data", "twice.csv", "--formula", "y ~ x + (1|a:b)", *LENGTHS, "--out", "twice.run",
            "--overwrite", "-q")
    done = site("predict", "twice.run", "--data", "twice.csv")
    assert done.returncode == DATA and 'are called "p:q:r"' in done.stderr


def test_a_damaged_note_is_no_prediction(site):
    run(site, "logistic", "--formula", "y ~ x + (1|user)", "--keep-groups", "4")
    raw = (site.folder / "fit.run").read_bytes()
    (site.folder / "cut.run").write_bytes(raw[:raw.rindex(b"SGNT" + KEPT) + 100])
    done = site("predict", "cut.run", "--data", "a.csv")
    assert done.returncode == DATA and "kept no draws" in done.stderr
    assert site.ok("summary", "cut.run", "--groups", "user", "--top", "3")


# ---- pictures, and what other commands make of such runs ------------------------------------------


@pytest.mark.skipif(shutil.which("gnuplot") is None, reason="gnuplot is not installed")
def test_pictures_of_groups(site):
    run(site, "logistic", "--formula", "y ~ x + (1 + x|user) + (1|item)")
    shown = site.ok("plot", "fit.run", "groups").stdout
    mean = {row["name"]: row["mean"] for row in json.loads(site.ok(
        "summary", "fit.run", "--groups", "item", "--top", "9", "--json").stdout)["params"]}
    last = shown[shown.index("Groups: item, intercept"):]
    order = [line.split("+|")[0].strip() for line in last.splitlines() if "+|" in line]
    assert [name for name in order if name] == [name.split("[")[0] for name in sorted(mean, key=mean.get, reverse=True)]
    assert [shown.count(f"Groups: user, {what}") for what in ("intercept", "x")] == [1, 1]
    assert "known by its own rows" in (site.ok("plot", "fit.run", "shrinkage", "--out", "s.svg", "--overwrite", "-q"),
                                       (site.folder / "s.svg").read_text())[1]
    site.ok("report", "fit.run", "--out", "page.html", "--overwrite", "-q")
    page = (site.folder / "page.html").read_text()
    assert page.count('class="groups wide"') == page.count('class="shrinkage"') == 3 and 'id="groups"' in page
    assert "12 groups of user, 5 groups of item" in page
    site.ok("sample", "logistic", "--data", "a.csv", "--features", "x", "--target", "y", *LENGTHS, "--out", "plain.run",
            "--overwrite", "-q")
    none = site("plot", "plain.run", "groups")
    assert none.returncode == USAGE and "no effects of groups" in none.stderr
    site.ok("report", "plain.run", "--out", "plain.html", "--overwrite", "-q")
    assert 'id="groups"' not in (site.folder / "plain.html").read_text()


def test_audits_and_comparisons_of_such_runs(site):
    words = ("--formula", "y ~ x + (1|user)", "--draws", "800")
    run(site, "logistic", *words)
    assert "draws from the posterior itself" in site.ok("audit", "fit.run").stdout
    said = json.loads(site.ok("audit", "fit.run", "--against-reference", "--precision", "0.1", "--json").stdout)
    assert said["exact"] and not said["mean_differs"] and not said["sd_differs"]
    site.ok("sample", "logistic", "--data", "a.csv", *LENGTHS, *words, "--seed", "2", "--out", "other.run", "--overwrite", "-q")
    said = json.loads(site.ok("compare", "fit.run", "--reference", "other.run", "--json").stdout)
    assert len(said["params"]) == 4 and all(abs(row["z"]) < 4.5 for row in said["params"])


def test_weights_standardising_and_a_run_taken_up_reach_the_effects(site):
    """A weight of two is a row twice, also in the effects and the predictions."""
    rows = (site.folder / "a.csv").read_text().splitlines()
    write(site.folder / "twice.csv", rows + rows[1:])
    write(site.folder / "weights.csv", [rows[0] + ",w", *(r + ",2" for r in rows[1:])])
    words = ("--formula", "y ~ x + (1|user)", "--draws", "1000")

    def effects(*more, data):
        run(site, "logistic", *words, *more, data=data)
        shown = json.loads(site.ok("summary", "fit.run", "--groups", "user", "--top", "99", "--json").stdout)["params"]
        return {row["name"]: (row["mean"], row["sd"]) for row in shown}, predicted(site)[0].mean(1)

    one, p = effects(data="twice.csv")
    for other, q in (effects("--weights", "w", data="weights.csv"), effects("--standardize", data="twice.csv")):
        for name, (mean, sd) in one.items():
            assert abs(other[name][0] - mean) < 0.25 * sd and abs(other[name][1] / sd - 1) < 0.2, name
        assert abs(p - q).max() < 0.05
    # a run that is taken up keeps the effects of a run of that length
    run(site, "logistic", *words[:2], "--draws", "50", data="a.csv", out="part.run")
    site.ok("sample", "--resume", "part.run", "--draws", "200", "-q")
    run(site, "logistic", *words[:2], "--draws", "200", data="a.csv", out="whole.run")
    assert np.array_equal(kept_effects(site.folder / "part.run")[2], kept_effects(site.folder / "whole.run")[2])
    assert np.array_equal(predicted(site, out="part.run")[0], predicted(site, out="whole.run")[0])
