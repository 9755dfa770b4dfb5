# SPDX-License-Identifier: MIT
"""--start FILE: chains, climbs and metrics begin at a given point, on the scale that results have; and
--warmup-fisher-every, which changes the way from there.

A chain of SGLD with steps of 1e-60 does not move: its only draw is where it began."""
import json
import struct

import numpy as np
import pytest

from cli_program import SHORT, lines, quarters, write

USAGE, DATA, IO = 2, 3, 5
STILL = ("--sampler", "sgld", "--epsilon", "1e-60", "--warmup", "0", "--draws", "1", "--chains", "3")
# One parameter, two modes: at 0 a prior of scale 0.001 with heavy tails, and near the rows' mean of 3.66, where
# (3.66 - m) 3/0.86^2 = 5/m says what the tail makes of it; curvature there 3/0.86^2 - 5/m^2.
TWO = ("--data", "two.csv", "--no-intercept", "--sigma", "0.86", "--prior", "student-t", "--prior-df", "4",
       "--prior-precision", "1e6")
HIGH = (3.66 + np.sqrt(3.66 ** 2 - 4 * 5 * 0.86 ** 2 / 3)) / 2


@pytest.fixture(scope="module")
def site(shared):
    x, y = quarters(300)
    rng = np.random.default_rng(8)
    write(shared.folder / "rows.csv", lines(x * [1, 40] + [90, 3], y))
    write(shared.folder / "three.csv", lines(x * [1, 40] + [90, 3], rng.choice(["one", "two", "three"], 300)))
    write(shared.folder / "numbers.csv", lines(x * [1, 40] + [90, 3], 200 + 30 * rng.normal(size=300)))
    write(shared.folder / "counts.csv", lines(x * [1, 40] + [90, 3], rng.poisson(3, 300)))
    write(shared.folder / "two.csv", ["x,y", "1,3.66", "1,3.60", "1,3.72"])
    return shared


def header(sgfs, run):
    """The JSON text of the file's head (docs/formats.md)."""
    content = (sgfs.folder / run).read_bytes()
    return json.loads(content[16:16 + struct.unpack_from("<I", content, 12)[0]])


def sample(sgfs, model, data, *words, out="fit.run"):
    """The draws, chains x draws x D."""
    sgfs.ok("sample", model, "--data", data, "--out", out, "--overwrite", "-q", *words)
    return sgfs.draws(out)


def put(sgfs, name, names, numbers, key="mean"):
    (sgfs.folder / name).write_text(json.dumps({"names": list(names), key: list(map(float, numbers))}))
    return name


def refused(sgfs, *words, code, model="logistic", data="rows.csv"):
    done = sgfs("sample", model, "--data", data, "--out", "no.run", *words)
    assert done.returncode == code, done.stderr
    assert not (sgfs.folder / "no.run").exists()
    return done.stderr


# ---- the point -----------------------------------------------------------------------------------

MODELS = {
    "logistic": ("logistic", "rows.csv"),
    "softmax": ("softmax", "three.csv"),
    "linear": ("linear", "numbers.csv"),
    "poisson": ("poisson", "counts.csv"),
    "network of labels": ("mlp", "three.csv", "--hidden", "3,2"),
    "network of numbers": ("mlp", "numbers.csv", "--hidden", "3", "--output", "gaussian"),
    "network without layers": ("mlp", "numbers.csv", "--hidden", "none", "--output", "gaussian"),
    "drbm": ("drbm", "three.csv", "--hidden", "2"),
}


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("scale", [(), ("--standardize",), ("--standardize", "--no-intercept")],
                         ids=["plain", "standardised", "no-intercept"])
def test_chains_begin_there_exactly(site, name, scale):
    model, data, *words = MODELS[name]
    sample(site, model, data, *words, *scale, *STILL)  # for the names
    names = header(site, "fit.run")["params"]
    point = 0.3 * np.random.default_rng(5).normal(size=len(names))
    shuffled = np.random.default_rng(6).permutation(len(names))
    start = put(site, "start.json", np.array(names)[shuffled], point[shuffled])
    got = sample(site, model, data, *words, *scale, *STILL, "--start", start)
    # an intercept is the sum of itself and slopes x means of about 90, back and forth
    assert np.allclose(got, point, rtol=0, atol=1e-12 * 90) and got.shape[0] == 3
    told = header(site, "fit.run")
    assert told["given"]["run.start"] == start and told["config"]["run.init"] == "0"


def test_numbers_without_names(site):
    point = [0.25, -0.5, 0.125]
    np.save(site.folder / "point.npy", point)
    (site.folder / "row.txt").write_text("# a, b\n0.25, -0.5 0.125\n")
    (site.folder / "column.txt").write_text("0.25\n-0.5\n0.125\n")
    for name in ("point.npy", "row.txt", "column.txt"):
        got = sample(site, "logistic", "rows.csv", "--standardize", *STILL, "--start", name)
        assert np.allclose(got, point, rtol=0, atol=1e-12)


def test_a_truth_without_moments(site):
    start = put(site, "truth.json", ["intercept", "b", "a"], [1, 2, 3], key="theta")
    assert np.allclose(sample(site, "logistic", "rows.csv", *STILL, "--start", start), [1, 3, 2])


def test_a_run_goes_on_where_it_ended(site):
    """At the last draw of the first chain, on another scale than that run had."""
    before = sample(site, "logistic", "rows.csv", "--standardize", "--sampler", "sgfs-f", *SHORT, out="a.run")
    assert not np.array_equal(before[0, -1], before[1, -1])
    got = sample(site, "logistic", "rows.csv", *STILL, "--start", "a.run")
    assert np.allclose(got, before[0, -1], rtol=1e-12)


def test_init_is_a_radius_around_it(site):
    start = put(site, "zero.json", ["intercept", "a", "b"], [50, 60, 70])
    words = ("--standardize", *STILL[:-1], "200", "--start", start)
    assert np.ptp(sample(site, "logistic", "rows.csv", *words), axis=0).max() < 1e-10
    spread = sample(site, "logistic", "rows.csv", *words, "--init", "0.2")[:, 0, 1:] - [60, 70]
    x = quarters(300)[0] * [1, 40]
    spread *= x.std(axis=0, ddof=1)  # standardised columns: spread 1
    assert np.all(np.abs(spread) < 0.2 + 1e-9) and np.all(np.abs(spread).max(axis=0) > 0.19)
    assert np.all(np.abs(spread.mean(axis=0)) < 4 * 0.2 / np.sqrt(3 * 200))


# ---- modes and metrics ---------------------------------------------------------------------------

def test_optimize_climbs_from_there(site):
    found = []
    for name, at in (("low.txt", 0.01), ("high.txt", 3.5)):
        (site.folder / name).write_text(f"{at}\n")
        out = site.ok("optimize", "linear", *TWO, "--start", name, "--json").stdout
        found.append(json.loads(out)["mean"][0])
    assert abs(found[0]) < 0.01 and abs(found[1] - HIGH) < 1e-5


def test_optimize_from_its_own_mode_stays(site):
    site.ok("optimize", "drbm", "--data", "three.csv", "--hidden", "2", "--standardize", "--out", "mode.json",
            "--overwrite", "-q")
    told = json.loads((site.folder / "mode.json").read_text())
    again = json.loads(site.ok("optimize", "drbm", "--data", "three.csv", "--hidden", "2", "--standardize",
                               "--start", "mode.json", "--json").stdout)
    sd = np.sqrt(np.diag(told["cov"]))
    assert again["iterations"] < told["iterations"] and again["iterations"] <= 2
    assert np.all(np.abs(np.subtract(again["mean"], told["mean"])) < 1e-4 * sd)


@pytest.mark.parametrize("at, sd", [(0.0, 0.001 * np.sqrt(2)), (3.5, 1 / np.sqrt(3 / 0.86 ** 2 - 5 / HIGH ** 2))])
def test_the_metric_is_that_of_the_mode_nearby(site, at, sd):
    """A fixed step of 0.7 posterior sd by the metric: with the other mode's, a chain would not move, or not
    be accepted. Heavy tails make the narrow mode wider than its curvature says: by at most half here."""
    (site.folder / "at.txt").write_text(f"{at}\n")
    draws = sample(site, "linear", *TWO[1:], "--sampler", "hmc", "--metric", "fisher", "--leapfrog", "3", "--epsilon",
                   "0.7", "--warmup", "0", "--draws", "500", "--chains", "4", "--start", "at.txt")
    assert np.all(np.abs(draws.mean(axis=(1, 2)) - (HIGH if at > 0 else 0)) < 0.25 * sd)
    assert 0.6 * sd < draws.std() < 1.5 * sd


def test_a_run_with_a_start_repeats_itself(site):
    start = put(site, "again.json", ["a", "b", "intercept"], [0.1, 0.2, 0.3])
    words = ("--sampler", "sgfs-f", *SHORT, "--start", start)
    before = sample(site, "logistic", "rows.csv", *words, out="a.run")
    site.ok("sample", "logistic", "--config", "a.run", "--out", "b.run", "--overwrite", "-q")
    assert np.array_equal(before, site.draws("b.run"))
    put(site, "again.json", ["a", "b", "intercept"], [0.1, 0.2, 0.4])
    site.ok("sample", "logistic", "--config", "a.run", "--out", "b.run", "--overwrite", "-q")
    assert not np.array_equal(before, site.draws("b.run"))


# ---- what is refused -----------------------------------------------------------------------------

def test_the_search_for_an_anchor_begins_there(site):
    """Another start is no reason for another sampler: it shortens the way to the mode, and draws differ by rounding."""
    words = ("logistic", "--data", "rows.csv", "--draws", "60", "--chains", "2", "--overwrite", "--out")
    site.ok("sample", *words, "cold.run")
    site.ok("sample", *words, "warm.run", "--start", "cold.run")
    told = [json.loads(site.ok("summary", run, "--json").stdout)["sampler"] for run in ("cold.run", "warm.run")]
    assert told[0] == told[1] and told[0].startswith("exact")
    mode = json.loads(site.ok("optimize", "logistic", "--data", "rows.csv", "--json").stdout)
    put(site, "mode.json", mode["names"], mode["mean"])
    passes = []
    for more in ((), ("--start", "mode.json")):
        done = site.ok("sample", *words, "cv.run", "--sampler", "sgfs-cv", "--verbose", *more)
        passes.append(int(done.stderr.split("Anchor found in ")[1].split()[0]))
    assert passes[1] < passes[0]


@pytest.mark.parametrize("sampler", ["laplace"])
def test_samplers_that_begin_elsewhere(site, sampler):
    start = put(site, "p.json", ["intercept", "a", "b"], [0, 0, 0])
    said = refused(site, "--sampler", sampler, "--start", start, code=USAGE)
    assert "--start has no meaning for" in said and sampler in said


def test_another_models_point(site):
    start = put(site, "p.json", ["intercept", "a", "c"], [0, 0, 0])
    said = refused(site, "--sampler", "sgfs-f", "--start", start, code=DATA)
    assert 'the starting point lacks "b"; the model lacks "c"' in said


@pytest.mark.parametrize("text, code, says", [
    ("1 2", DATA, "has 1 x 2 numbers; the model has 3 parameters"),
    ("1 2 nan", DATA, "not finite"),
    ("1 2 x", DATA, 'there is no number at "x"'),
    ("", DATA, "0 x 0"),
    ('{"names": ["intercept", "a", "b"]}', DATA, 'needs "mean"'),
    ('{"mean": [1, 2, 3]}', DATA, 'needs "names"'),
    ('{"names": ["intercept", "a", "b"], "mean": [1, 2]}', DATA, '"mean" must be an array of 3'),
    ('{"names": ["intercept", "a", "b"], "mean": [1, 2, null]}', DATA, '"mean"[2] is not a finite number'),
    ('{"names": ["intercept", "a", "a"], "mean": [1, 2, 3]}', DATA, 'the parameter "a" is there twice'),
])
def test_files_that_are_no_point(site, text, code, says):
    (site.folder / "bad").write_text(text)
    said = refused(site, "--sampler", "sgfs-f", "--start", "bad", code=code)
    assert says in said and "bad" in said
    done = site("optimize", "logistic", "--data", "rows.csv", "--start", "bad")
    assert done.returncode == code and says in done.stderr


def test_no_such_file(site):
    assert "none.json: cannot open" in refused(site, "--sampler", "nuts", "--start", "none.json", code=IO)


# ---- seldom updates in warm-up -------------------------------------------------------------------

@pytest.mark.parametrize("model, data, words", [
    ("logistic", "rows.csv", ("--sampler", "sgfs-f")),
    ("logistic", "rows.csv", ("--sampler", "sgfs-cv")),
    ("logistic", "rows.csv", ("--sampler", "sgfs-cv", "--anchor", "off", "--curvature", "scores")),
    ("mlp", "rows.csv", ("--sampler", "sgfs-d", "--hidden", "2")),
], ids=["sgfs", "anchored", "plain", "network"])
def test_every_sampler_with_a_matrix_reads_it(site, model, data, words):
    words = (*words, "--standardize", *SHORT)
    before = sample(site, model, data, *words)
    assert np.array_equal(before, sample(site, model, data, *words, "--warmup-fisher-every", "1"))
    assert not np.array_equal(before, sample(site, model, data, *words, "--warmup-fisher-every", "9"))
    assert "--warmup-fisher-every" in refused(site, "--sampler", "nuts", "--warmup-fisher-every", "9", code=USAGE)
