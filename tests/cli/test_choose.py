# SPDX-License-Identifier: MIT
"""The sampler where none is named: what is chosen for which data and options, what is said of it, what
happens where it turns out to be of no use, and draws until there are enough effective ones."""
import json
import random
import struct

import numpy as np
import pytest

from cli_program import SANITIZED, Sgfs

slow = pytest.mark.skipif(SANITIZED, reason="networks take minutes under a sanitizer")

USAGE, NUMERIC, STOPPED = 2, 4, 75
LONGEST = 16  # times the planned draws, at most


def save(path, x, y):
    names = [f"x{j + 1}" for j in range(x.shape[1])] + ["y"]
    np.savetxt(path, np.column_stack([x, y]), delimiter=",", header=",".join(names), comments="", fmt="%.17g")


@pytest.fixture(name="site", scope="module")
def folder_with_data(tmp_path_factory):
    """small: exact draws ask few rows. even: they would ask all, and so for wide, with few
    rows. apart: the first column separates the labels. counts: a Poisson target. line: a normal one."""
    site = Sgfs(tmp_path_factory.mktemp("choose"))
    rng = np.random.default_rng(2385)

    def labels(eta):
        return (rng.random(len(eta)) < 1 / (1 + np.exp(-eta))).astype(int)

    x = rng.standard_normal((2000, 3))
    save(site.folder / "small.csv", x, labels(x @ [1, -0.5, 0.2]))
    save(site.folder / "line.csv", x, x @ [1, -0.5, 0.2] + rng.standard_normal(2000))
    save(site.folder / "counts.csv", x, rng.poisson(np.exp(0.5 + 0.3 * x[:, 0])))
    save(site.folder / "three.csv", x, rng.integers(0, 3, 2000))
    x = rng.standard_normal((600, 60))
    save(site.folder / "wide.csv", x, labels(x[:, 0]))
    x = rng.standard_normal((3000, 60))
    save(site.folder / "even.csv", x, labels(0.3 * x[:, 0]))
    x = rng.standard_normal((400, 2))
    save(site.folder / "apart.csv", x, (x[:, 0] > 0).astype(int))
    return site


def header(site, run="a.run"):
    raw = (site.folder / run).read_bytes()
    return json.loads(raw[16:16 + struct.unpack("<I", raw[12:16])[0]])


def sample(site, data, *words, model="logistic", out="a.run"):
    return site("sample", model, "--data", data, "--out", out, "--overwrite", "--verbose", *words)


SHORT = ("--draws", "60", "--warmup", "40", "--threads", "1")


def chosen(site, data, *words, model="logistic"):
    """The sampler, and the sentence: the same in the notes, the run file and what is printed of it."""
    done = sample(site, data, *SHORT, *words, model=model)
    assert done.returncode == 0, done.stderr
    told = header(site)
    assert told["chosen"] in done.stderr.splitlines()
    assert told["chosen"] in done.stdout.splitlines()
    assert told["config"]["sampler.kind"] == told["sampler"]
    return told["sampler"], told["chosen"]


# ---- by the data and the model -------------------------------------------------------------------

def test_exact_where_few_rows_are_asked(site):
    sampler, why = chosen(site, "small.csv")
    assert sampler == "exact-rows" and "a draw of 2,000; no bias)." in why
    assert json.loads(site.ok("summary", "a.run", "--json").stdout)["chosen"] == why


def test_a_model_in_closed_form_asks_no_rows(site):
    words = ("--sigma", "1", "--prior", "student-t")
    sampler, why = chosen(site, "line.csv", *words, model="linear")
    assert sampler == "exact-rows" and why == "Sampler exact-rows (no rows a draw of 2,000; no bias)."


def test_a_closed_form_is_no_reason_to_leave_out_a_tail(site):
    """Eight rows leave log sigma a long tail to the right, in which a chain of whole proposals stays: by 32,000
    iterations of exact-rows its sd came out 12 % too small."""
    x = np.random.default_rng(3).standard_normal((8, 2))
    save(site.folder / "eight.csv", x, x[:, 0] + 0.1 * x[:, 1] ** 2)
    sampler, why = chosen(site, "eight.csv", "--prior", "student-t", model="linear")
    assert sampler == "exact-hmc" and "heavier tails" in why


@pytest.mark.parametrize("model, data", [("poisson", "counts.csv"), ("softmax", "three.csv"), ("linear", "line.csv")])
def test_every_regression_has_an_exact_sampler(site, model, data):
    assert chosen(site, data, model=model)[0].startswith("exact-")


def test_all_rows_where_a_draw_would_ask_most_of_them(site):
    sampler, why = chosen(site, "even.csv")
    assert sampler == "exact-pairs" and why.startswith("Sampler exact-pairs (all 3,000 rows"), why


def test_a_tail_that_few_proposals_reach_is_seen(site):
    """One row 100 sd out: its coefficient has a tail that only the prior ends. Independent proposals, most of which are
    accepted, would leave it out: an sd 12 % too small. At 400 effective draws or more in each run the ratio of the two
    sds has an error of at most 0.05; it is about 0.03 here."""
    rng = np.random.default_rng(1)
    x = rng.standard_normal((400, 3))
    x[0, 0] = 100
    save(site.folder / "tail.csv", x, (rng.random(400) < 1 / (1 + np.exp(-x[:, 1]))).astype(int))
    plain = Sgfs(site.folder, prior=None)
    sd = []
    for words in ((), ("--sampler", "nuts", "--draws", "4000")):
        done = sample(plain, "tail.csv", *words, "--threads", "1")
        assert done.returncode == 0, done.stderr
        sd.append(site.draws("a.run")[..., 1].std())
        if not words:
            told = header(site)
            assert told["sampler"] == "exact-hmc" and "heavier tails" in told["chosen"]
    assert sd[0] / sd[1] == pytest.approx(1, abs=0.09)
    done = sample(plain, "tail.csv", "--sampler", "exact-pairs", "--threads", "1")
    assert "tails that exact-pairs may not have reached" in done.stdout.splitlines()[0], done.stdout


def test_chains_in_lock_step_where_a_tail_is_between_parameters(site):
    """Three classes that four columns together separate, as in the iris data: along no coefficient is the density far
    above the Gaussian, and most proposals are accepted, but an effective draw would take 25 of them."""
    rng = np.random.default_rng(2)
    label = np.repeat([0, 1, 2], 50)
    x = np.outer(np.array([0, 5, 7.4])[label], [0.5, -0.4, 1, 0.9])
    x += rng.standard_normal((150, 1)) + 0.6 * rng.standard_normal((150, 4))
    save(site.folder / "between.csv", x, label)
    plain = Sgfs(site.folder, prior=None)
    done = sample(plain, "between.csv", "--threads", "1", model="softmax")
    assert done.returncode == 0 and done.stdout.startswith("Trust: "), done.stdout + done.stderr
    assert "warning" not in done.stdout, done.stdout
    told = header(site)
    assert told["sampler"] == "exact-hmc" and "heavier tails" in told["chosen"]
    assert told["draws"] <= 300, "it need not be doubled"


def test_a_centre_beside_the_hill_is_none(site):
    """No events and a wide prior: half of the proposals expect e^100 of them, and the mean of their gradients points to
    -1e29, where all weights are rounded to the same. By integration the mean is -81.0 and the sd 59.9."""
    save(site.folder / "none.csv", np.zeros((4, 1)), np.zeros(4))
    plain = Sgfs(site.folder, prior=None)
    assert sample(plain, "none.csv", "--prior-precision", "1e-4", model="poisson").returncode == 0
    assert header(site)["sampler"] == "exact-hmc"
    draws = site.draws("a.run")[..., 0]
    assert abs(draws.mean() + 81) < 9 and draws.std() == pytest.approx(59.9, abs=8)
    done = sample(plain, "none.csv", "--prior-precision", "1e-4", "--sampler", "exact-pairs", model="poisson")
    assert done.returncode == 0 and not done.stdout.startswith("Trust:"), done.stdout + done.stderr


def test_few_events_have_heavy_tails(site):
    """Four of 3,000 rows: a run of pairs has sds that are 1 to 2 % small, and a long one may stay far out."""
    normal = random.Random(11).gauss
    rows = [f"{normal(0, 1):.3f},{normal(0, 1):.3f},{int(i < 4)}" for i in range(3000)]
    (site.folder / "few.csv").write_text("x,z,y\n" + "\n".join(rows) + "\n")
    done = sample(Sgfs(site.folder, prior=None), "few.csv", "--draws", "20", "--warmup", "20", "--allow-unconverged")
    assert done.returncode == 0 and header(site)["sampler"] == "exact-hmc", done.stderr


def test_a_tail_in_one_of_many_rows_is_seen(site):
    """Of 30,000 rows a draw would ask few, and the pilot of 20,000 may not have the one that matters."""
    rng = np.random.default_rng(3)
    x = rng.standard_normal((30000, 3))
    y = (rng.random(30000) < 1 / (1 + np.exp(-x[:, 1]))).astype(int)
    plain = Sgfs(site.folder, prior=None)
    for far in (1, 1000):
        x[17, 0] = far
        y[17] = 1
        save(site.folder / "many.csv", x, y)
        done = sample(plain, "many.csv", "--draws", "20", "--warmup", "20", "--allow-unconverged")
        told = header(site)
        assert done.returncode == 0 and told["sampler"] == ("exact-rows" if far == 1 else "exact-hmc"), told["chosen"]
        assert ("heavier tails" in told["chosen"]) == (far > 1), told["chosen"]


def test_thousands_of_parameters_keep_a_regression_exact(site):
    """More parameters than control variates have a matrix for, and ten minutes of exact draws: they are made all the
    same, and the line says how long they take. A diagonal of SGFS would not come there in hours."""
    rng = np.random.default_rng(4)
    at = np.sort(rng.integers(1, 4101, (62000, 2)), axis=1)
    (site.folder / "levels.svm").write_text("".join(f"{t % 2} {a}:1 {b + 1}:1\n" for t, (a, b) in enumerate(at)) + "0 4101:1\n")
    done = sample(site, "levels.svm", "--dry-run", "--threads", "2")
    assert done.returncode == 0, done.stderr
    assert "Sampler exact-hmc (all 62,001 rows; no bias). 400 effective draws may take about 11 minutes; --max-time" in done.stderr
    done = sample(site, "levels.svm", "--dry-run", "--batch", "500")  # who wants minibatches gets them
    assert "Sampler sgfs-d" in done.stderr, done.stderr


@pytest.mark.parametrize("data", ["small.csv", "wide.csv"])
def test_exact_draws_can_be_asked_for(site, data):
    """The way is the one that would have been chosen."""
    assert chosen(site, data, "--sampler", "exact") == chosen(site, data)


@slow
def test_a_network_on_a_small_table_is_drawn_exactly(site):
    for words in ((), ("--sampler", "exact")):
        sampler, why = chosen(site, "apart.csv", "--hidden", "2", *words, model="mlp")
        assert sampler == "nuts" and "exact around the modes that its chains find" in why and "no bias" not in why
    assert chosen(site, "apart.csv", "--hidden", "2", "--sampler", "exact", model="mlp")[0] in ("nuts", "exact-hmc")


def test_few_rows_are_always_drawn_exactly(site):
    """The forecast's tau is made for many rows: of 30 it says that next to nothing would be accepted."""
    rng = np.random.default_rng(5)
    x = np.column_stack([rng.standard_normal(30), (np.arange(30) == 7) * 1.0])
    save(site.folder / "few.csv", x, rng.poisson(0.1 * np.exp(x[:, 0])))
    assert chosen(site, "few.csv", "--prior-precision", "0.001", model="poisson")[0].startswith("exact-")


def test_a_wide_posterior_has_not_run_away(site):
    """A column far from 0 and no prior: the intercept's sd is half a million, and that is right."""
    rng = np.random.default_rng(6)
    x = 2e6 + rng.standard_normal((60, 1))
    save(site.folder / "far.csv", x, (rng.random(60) < 0.4).astype(int))
    done = sample(site, "far.csv", "--prior", "flat", "--sampler", "exact-rows", *SHORT)
    assert done.returncode == 0, done.stderr
    assert site.draws("a.run")[..., 0].std() > 2e5


def test_planned_draws_know_the_step(site):
    """100 autocorrelation times in each chain, where the step is found while opening."""
    rng = np.random.default_rng(7)
    x = rng.standard_normal((20000, 2)) + 2 * rng.standard_normal((20000, 1))  # a diagonal is little of their matrix
    save(site.folder / "alike.csv", x, (rng.random(20000) < 1 / (1 + np.exp(-x[:, 0]))).astype(int))
    done = sample(site, "alike.csv", "--sampler", "sgfs-cv", "--fisher", "diag", "--ess", "0", "--threads", "1")
    assert done.returncode == 0, done.stderr
    told = header(site)
    tau = told["sampler_info"]["tau_predicted"]
    assert tau > 15 and told["draws"] == pytest.approx(100 * tau, abs=1)


def test_without_an_anchor_regressions_and_small_networks_are_drawn_exactly(site):
    sampler, why = chosen(site, "small.csv", "--prior", "laplace")
    assert sampler == "exact-pairs" and why.endswith("no bias).")
    sampler, why = chosen(site, "apart.csv", "--hidden", "2", model="mlp")
    assert sampler == "nuts" and why.startswith("Sampler nuts (all 400 rows; exact around the modes"), why


def test_a_larger_network_is_drawn_by_scoring(site):
    """Where 200 iterations of short trajectories would take more than two minutes."""
    sample(site, "small.csv", "--hidden", "1500", "--max-time", "2", "--climb", "0", model="mlp", out="cut.run")
    told = header(site, "cut.run")
    assert told["sampler"] == "sgfs-d"
    assert told["chosen"].startswith("Sampler sgfs-d, which is approximate: 400 exact effective draws would take ")


@slow
def test_a_network_fits_into_half_a_minute(site):
    """The trajectories are cut before the lengths are; what the user gives stays."""
    told = []
    for words in (("--hidden", "2"), ("--hidden", "100"), ("--hidden", "100", "--warmup", "7", "--draws", "9")):
        sample(site, "small.csv", "--max-time", "2", *words, model="mlp", out="cut.run")
        told.append(header(site, "cut.run"))
        assert told[-1]["sampler"] == "nuts"
    assert [int(t["config"]["sampler.max_depth"]) for t in told][:2] == [6, 5]
    assert told[0]["warmup"] == 300 and told[0]["draws"] == 250
    assert told[1]["warmup"] == told[1]["draws"] == 100
    assert told[2]["warmup"] == 7 and told[2]["draws"] == 9
    assert all(t["config"]["run.climb"] == "100" for t in told)


def test_an_option_of_scoring_chooses_scoring_for_a_network(site):
    words = ("--hidden", "2", "--alpha", "2", "--climb", "0", *SHORT)
    sample(site, "small.csv", *words, model="mlp")
    automatic = site.draws("a.run")
    sample(site, "small.csv", *words, "--sampler", "sgfs-f", model="mlp")
    assert np.array_equal(automatic, site.draws("a.run"))


# ---- by the options ------------------------------------------------------------------------------

OPTIONS = [
    (("--batch", "500"), "sgfs-cv", "because exact-pairs does not read --batch."),
    (("--batch-scheme", "with"), "sgfs-cv", "because exact-pairs does not read --batch-scheme."),
    (("--step", "0.5"), "sgfs-cv", "because exact-pairs does not read --step."),
    (("--alpha", "2"), "sgfs-f", "because sgfs-cv does not read --alpha."),
    (("--epsilon", "0.5"), "sgfs-f", "because sgfs-cv does not read --epsilon."),
    (("--preset", "paper"), "sgfs-f", "because sgfs-cv does not read --preset."),
    (("--alpha", "2", "--batch", "300"), "sgfs-f", "--alpha."),
    (("--init", "1"), "nuts", "no bias)."),
    (("--fisher-ridge", "0.1"), "sgfs-cv", "because exact-pairs does not read --fisher-ridge."),
    (("--rho", "0.5"), "exact-rows", "rows a draw of 2,000; no bias)."),
    (("--anchor-tolerance", "0.001"), "exact-rows", "no bias)."),
]


@pytest.mark.parametrize("words, sampler, why", OPTIONS, ids=[" ".join(row[0]) for row in OPTIONS])
def test_options_restrict_the_choice(site, words, sampler, why):
    said = chosen(site, "small.csv", *words)
    assert said[0] == sampler and why.replace("rows", "row") in said[1].replace("rows", "row")


def test_an_option_can_make_the_second_best_the_only_one(site):
    """By what it costs it would be another, which does not read --rho."""
    assert chosen(site, "wide.csv", "--rho", "0.9")[0] == "exact-rows"


@pytest.mark.parametrize("words, sentence", [
    (("--leapfrog", "5"), "--leapfrog is read by sampler hmc only, which is not chosen by itself"),
    (("--alpha", "1", "--rho", "0.3"), "--rho has no meaning for model logistic with sampler sgfs-f; it is read by "
                                       "sampler exact-rows"),
    (("--batch", "2001"), "--batch 2001 is more than the 2000 rows"),
    (("--step", "1.99"), "--step 1.99 leaves no room"),
    (("--sampler", "automatic"), 'There is no sampler "automatic"'),
    (("--ess", "300", "--anneal", "late"), "--ess cannot lengthen"),
])
def test_refused(site, words, sentence):
    done = sample(site, "small.csv", *words)
    assert done.returncode == USAGE and sentence in done.stderr, done.stderr


def test_auto_can_be_said(site):
    assert chosen(site, "small.csv", "--sampler", "auto")[0] == "exact-rows"


# ---- of no use -----------------------------------------------------------------------------------

@pytest.mark.parametrize("more", [(), ("--rho", "0.5")])
def test_without_mode_and_prior_there_is_nothing_to_draw_from(site, more):
    done = sample(site, "apart.csv", "--prior-precision", "0", *more, *SHORT)
    assert done.returncode == 4 and "There is nothing to draw from. The mode does not exist" in done.stderr
    done = sample(site, "apart.csv", "--prior-precision", "0", "--sampler", "sgfs-f", *SHORT)
    assert done.returncode == 0  # whoever insists


# A narrow Student-t prior and three rows far from it: two modes, and no anchor.
TWO_MODES = ("--no-intercept", "--sigma", "0.86", "--prior", "student-t", "--prior-df", "4", "--prior-precision", "1e6")


@pytest.fixture
def two(site):
    (site.folder / "two.csv").write_text("x,y\n1,3.66\n1,3.60\n1,3.72\n")
    return "two.csv"


def test_chains_begin_at_both_of_two_modes(site, two):
    """By integration the wide one near 3.3 has 2 % of the posterior, and the sd is 300 times what is seen from the
    narrow one alone, around which all chains agreed once."""
    done = sample(site, two, *TWO_MODES, model="linear")
    assert done.stdout.startswith("Do not trust"), done.stdout
    told = header(site)
    assert told["sampler"] == "nuts" and told["chosen"].endswith("Chains begin at one and the other by turns.")
    means = site.draws("a.run").mean(axis=(1, 2))
    assert np.all(np.abs(means[::2]) < 0.1) and np.all(means[1::2] > 2)


def test_two_modes_that_chains_go_between_are_no_reason_for_mistrust(site):
    """A Cauchy prior of scale 0.05 on ten coefficients, of which two are not 0."""
    rng = np.random.default_rng(3)
    x = rng.standard_normal((40, 10))
    save(site.folder / "mild.csv", x, 0.4 * x[:, 0] + 0.3 * x[:, 1] + rng.standard_normal(40))
    words = ("--prior", "student-t", "--prior-df", "1", "--prior-precision", "400")
    done = sample(site, "mild.csv", *words, model="linear")
    assert done.returncode == 0 and done.stdout.startswith("Trust"), done.stdout
    assert "more than one mode" in header(site)["chosen"]


def test_an_option_of_the_sampler_given_up_is_forgotten(site, two):
    done = sample(site, two, *TWO_MODES, "--rho", "0.5", *SHORT, model="linear")
    assert done.returncode == 0, done.stderr
    assert "The run began anew with sampler nuts, because there is no anchor." in done.stderr
    assert "The posterior has more than one mode" in done.stderr and "It does not read --rho." in done.stderr
    told = header(site)
    assert told["sampler"] == "nuts" and told["config"]["sampler.rho"] == "auto"
    assert told["sampler_info"]["fallbacks"] == 1 and "more than one mode" in " ".join(told["cautions"])
    assert "1 sampler given up while opening" in done.stdout


def test_a_sampler_that_was_named_is_not_replaced_when_it_fails(site):
    for sampler in "exact-rows", "sgfs-cv":
        done = sample(site, "apart.csv", "--prior-precision", "0", "--sampler", sampler)
        assert done.returncode == NUMERIC and "The mode does not exist" in done.stderr


# ---- enough effective draws ----------------------------------------------------------------------

def lengths(site):
    told = json.loads(site.ok("summary", "a.run", "--json").stdout)
    least = min(min(p["ess_bulk"], p["ess_tail"]) for p in told["params"])
    return told["draws_planned"], told["draws_made"], told["draws"], least


def test_draws_until_there_are_enough(site):
    """rho = 0.95 has an autocorrelation time of 39: 4 x 1000 draws are about 100 effective ones."""
    done = sample(site, "small.csv", "--rho", "0.95")
    planned, made, kept, ess = lengths(site)
    assert planned == 1000 and made in (4000, 8000) and kept == made and ess >= 400
    assert "going on to 2000." in done.stderr and f"lengthened from 1000 to {made} draws" in done.stdout
    assert f"warm-up + {made} draws)" in site.ok("summary", "a.run").stdout  # the title, too
    assert header(site)["draws"] == 1000 and header(site)["config"]["run.ess"] == "400"
    assert f"num_samples = {made}" in exported(site, "a.stan.csv")
    assert site.draws("a.run").shape == (4, made, 4)


def exported(site, name):
    site.ok("export", "a.run", name, "--overwrite")
    first = sorted(site.folder.glob(name.replace(".stan", "*.stan")))[0]
    return first.read_text()


def test_enough_is_enough(site):
    sample(site, "small.csv")
    assert lengths(site)[:2] == (1000, 1000)


def test_a_number_of_draws_is_kept_to(site):
    sample(site, "small.csv", "--rho", "0.95", "--draws", "1000")
    assert lengths(site)[:2] == (1000, 1000) and header(site)["config"]["run.ess"] == "0"


def test_ess_can_be_asked_for(site):
    """With thinning, twice the iterations are twice the kept draws."""
    sample(site, "small.csv", "--alpha", "1", "--draws", "500", "--thin", "5", "--ess", "250")
    planned, made, kept, ess = lengths(site)
    assert planned == 500 and made > 500 and kept * 5 == made and ess >= 250


def test_there_is_an_end_to_it(site):
    done = sample(site, "small.csv", "--rho", "0.999", "--draws", "100")
    assert done.returncode == 0
    done = sample(site, "small.csv", "--rho", "0.999", "--draws", "100", "--ess", "400")
    planned, made, _, ess = lengths(site)
    assert made == LONGEST * planned and ess < 400
    assert f"{LONGEST} times what was planned: the run ends here." in done.stderr
    assert f"The smallest effective sample size is {ess:.0f} of 400, and the largest R-hat" in done.stderr


def test_chains_that_do_not_agree_go_on(site):
    """64 chains have 800 effective draws after 500 each, and an R-hat of 1.07: each has 13."""
    done = sample(site, "small.csv", "--rho", "0.95", "--chains", "64", "--draws", "500", "--ess", "400", "--threads", "2")
    told = json.loads(site.ok("summary", "a.run", "--json").stdout)
    assert max(p["r_hat"] for p in told["params"]) <= 1.05
    assert "of 400, R-hat is 1.0" in done.stderr, done.stderr


def test_time_ends_it_too(site):
    """Within the planned draws, a later length, or (exit code 0) just where one ends; never at the longest."""
    done = sample(site, "small.csv", "--rho", "0.9999", "--draws", "400000", "--ess", "1e9", "--max-time", "1")
    assert done.returncode in (0, STOPPED) and "times what was planned" not in done.stderr
    says_stopped = "Stopped early" in done.stderr or "before it was known whether" in done.stderr
    assert says_stopped == (done.returncode == STOPPED)


def test_no_schedule_is_lengthened(site):
    sample(site, "small.csv", "--anneal", "late", "--alpha", "0", "--anneal-alpha", "1", "--warmup", "100")
    assert header(site)["config"]["run.ess"] == "0"


# ---- the same again ------------------------------------------------------------------------------

@pytest.mark.parametrize("words", [("--rho", "0.95"), ("--alpha", "1", "--draws", "300", "--ess", "250"), ()],
                         ids=["lengthened", "sgfs", "plain"])
def test_the_recorded_config_gives_the_same_bits(site, words):
    assert sample(site, "small.csv", *words, "--threads", "1").returncode == 0
    first, told = site.draws("a.run"), header(site)
    (site.folder / "again.json").write_text(json.dumps(told))
    done = sample(site, "small.csv", "--config", "again.json", "--threads", "2", out="b.run")
    assert done.returncode == 0, done.stderr
    assert np.array_equal(first, site.draws("b.run"))
    assert header(site, "b.run")["chosen"] == told["chosen"]  # nobody has named it


def test_the_config_of_a_run_that_began_anew_gives_the_same_bits(site, two):
    words = (*TWO_MODES, "--rho", "0.5", "--warmup", "100", "--draws", "200", "--chains", "2")
    assert sample(site, two, *words, model="linear").returncode == 0
    first = site.draws("a.run")
    assert header(site)["sampler_info"]["fallbacks"] == 1
    (site.folder / "again.json").write_text(json.dumps(header(site)))
    assert sample(site, two, "--config", "again.json", out="b.run", model="linear").returncode == 0
    assert np.array_equal(first, site.draws("b.run"))


# ---- the other commands --------------------------------------------------------------------------

def test_tune_tries_alpha_where_no_sampler_is_named(site):
    words = ("--data", "small.csv", "--draws", "100", "--warmup", "100", "--chains", "2", "--folds", "2")
    done = site.ok("tune", "logistic", *words, "--out", "best.json", "--overwrite")
    assert "trying --grid alpha=0,1,2,4" in done.stderr
    assert json.loads((site.folder / "best.json").read_text())["sampler.kind"] == "sgfs-f"
    site.ok("tune", "logistic", *words, "--grid", "batch=100,200", "--out", "best.json", "--overwrite")
    assert json.loads((site.folder / "best.json").read_text())["sampler.kind"] == "sgfs-cv"


def test_other_commands_do_not_mind(site):
    site.ok("optimize", "logistic", "--data", "small.csv")
    site.ok("check-grad", "logistic", "--data", "small.csv")
    assert sample(site, "small.csv", *SHORT, "--validate", "small.csv").returncode == 0
    site.ok("predict", "a.run", "--data", "small.csv", "--out", "p.csv", "--overwrite")


def test_counts_too_large_to_be_added_up(site):
    """Sums of 10^16 are known to a few nats: what is decided by differences, row by row, has the Gaussian at the mode."""
    rng = np.random.default_rng(5)
    x = rng.normal(size=(100, 2))
    save(site.folder / "large.csv", x, rng.poisson(1e14 * np.exp(0.1 * x[:, 0])))
    done = site("sample", "poisson", "--data", "large.csv", "--out", "large.run", "--overwrite", "--max-time", "20", "--json", "--prior", "auto")
    assert done.returncode == 0 and json.loads(done.stdout)["trust"], done.stderr
    assert header(site, "large.run")["sampler"] == "exact-rows"
    design, y = np.column_stack([np.ones(100), x]), np.loadtxt(site.folder / "large.csv", delimiter=",", skiprows=1)[:, 2]
    beta = np.array([np.log(y.mean()), 0, 0])
    for _ in range(20):
        mu = np.exp(design @ beta)
        A = design.T @ (design * mu[:, None])
        beta += np.linalg.solve(A, design.T @ (y - mu))
    for p, m, sd in zip(json.loads(done.stdout)["params"], beta, np.sqrt(np.diag(np.linalg.inv(A)))):
        assert abs(p["mean"] - m) < 0.1 * sd and abs(p["sd"] / sd - 1) < 0.06, (p, m, sd)
