# SPDX-License-Identifier: MIT
"""sgfs audit: what is left between a sampler and the posterior, in the report, in the run file and in
one row per mistake.

Biases are known here: a linear regression with known sigma is Gaussian (none), and the posterior of
two parameters is integrated on a grid. Seeds are fixed. Bounds of 4 standard errors for a number
have a false-alarm rate of 6e-5 each; the verdict's own is 1 in 100 audits by construction."""
import fcntl
import json
import os
import re
import shutil
import signal
import time

import numpy as np
import pytest

from cli_program import SANITIZED, lines, quarters, write

USAGE, DATA, IO, RUNFILE, STOPPED = 2, 3, 5, 6, 75
RARE = ("--sampler", "sgfs-cv", "--step", "1", "--batch", "60", "--prior-precision", "0.2")
QUICK, FINE = (), ("--precision", "0.01")  # the default, 0.03


def rare_events():
    """100 rows, 6 of them positive: skewed, and the step h = 1 sees only half of it."""
    rng = np.random.default_rng(3)
    x = np.round(rng.normal(size=100) * 4) / 4
    return x, (rng.random(100) < 1 / (1 + np.exp(3 - 1.2 * x))).astype(int)


def grid_truth(precision):
    """Means and sds of intercept and slope by integration."""
    x, y = rare_events()
    b0, b1 = np.meshgrid(np.linspace(-8, 1, 700), np.linspace(-3, 6, 700), indexing="ij")
    lp = -precision * (b0 ** 2 + b1 ** 2) / 2
    for xi, yi in zip(x, y):
        lp += yi * (b0 + b1 * xi) - np.logaddexp(0, b0 + b1 * xi)
    w = np.exp(lp - lp.max())
    w /= w.sum()
    mean = [(w * b).sum() for b in (b0, b1)]
    return np.array(mean), np.array([np.sqrt((w * (b - m) ** 2).sum()) for b, m in zip((b0, b1), mean)])


@pytest.fixture(scope="module")
def site(shared):
    x, y = rare_events()
    write(shared.folder / "rare.csv", lines(x[:, None], y, names=("x", "y")))
    write(shared.folder / "good.csv", lines(*quarters(300)))
    shared.ok("simulate", "linear", "--rows", "500", "--dim", "3", "--noise", "0.7", "--out", "line.npy", "-q")
    shared.ok("sample", "logistic", "--data", "rare.csv", *RARE, "--draws", "30000", "--out", "rare.run", "-q")
    shared.ok("sample", "linear", "--data", "line.npy", "--sigma", "0.7", "--sampler", "sgfs-cv", "--draws", "200",
              "--out", "line.run", "-q")
    shared.ok("sample", "logistic", "--data", "good.csv", "--sampler", "sgfs-cv", "--draws", "200", "--out", "good.run", "-q")
    return shared


def audit(sgfs, run, *words):
    return json.loads(sgfs.ok("audit", run, "--json", "-q", "--threads", "1", *words).stdout)


def biases(report, column):
    """Of every parameter: mean, its error, sd, its error."""
    return np.array([list(p["change"][column].values()) for p in report["params"]])


# ---- what it finds -------------------------------------------------------------------------------

def test_a_gaussian_posterior_has_no_bias(site):
    got = audit(site, "line.run", "--no-store", *FINE)
    assert got["exact"] and not got["mean_differs"] and not got["sd_differs"]
    assert got["columns"] == ["h/2", "h/4", "exact"] and got["precision"] == 0.01
    x = biases(got, "exact")
    assert np.all(np.abs(x[:, 0]) < 4 * x[:, 1]) and np.all(np.abs(x[:, 2]) < 4 * x[:, 3])
    assert np.all(x[:, 1] < 0.012) and np.all(x[:, 1] > 0.006)  # the error asked for: 0.01
    assert np.all(np.abs(x[:, 3] - 0.01 / np.sqrt(2)) < 0.002)  # 1/sqrt(2 ESS) of a normal's sd
    assert re.match(r"No bias found: not distinguishable from 0 at 0\.0\d+ sd\. ", got["verdict"])


@pytest.mark.parametrize("words, column", [((), "exact"), (("--no-exact",), "h -> 0")])
def test_the_bias_is_what_it_is(site, words, column):
    """Against the grid: what the audit calls the bias of h = 1 is the difference of a long chain at
    h = 1 from the truth; its reference, exact or extrapolated, is the truth."""
    mean, sd = grid_truth(0.2)
    run = json.loads(site.ok("summary", "rare.run", "--json").stdout)["params"]
    known = np.array([[(p["mean"] - m) / s, 1 / np.sqrt(p["ess_bulk"]), np.log(p["sd"] / s)]
                      for p, m, s in zip(run, mean, sd)])
    assert known[0, 0] < -0.02 and np.all(known[:, 2] > 0.03)  # visible: more than 5 errors
    got = audit(site, "rare.run", "--no-store", *FINE, *words)
    x = biases(got, column)
    assert np.all(np.abs(x[:, 0] - known[:, 0]) < 4 * np.hypot(x[:, 1], known[:, 1]))
    assert np.all(np.abs(x[:, 2] - known[:, 2]) < 4 * np.hypot(x[:, 3], 0.01))
    reference = np.array([[p["mean"], p["sd"]] for p in got["params"]])
    assert np.all(np.abs(reference[:, 0] - mean) / sd < 4 * x[:, 1])
    assert np.all(np.abs(np.log(reference[:, 1] / sd)) < 4 * x[:, 3])
    assert got["exact"] == (not words)
    if not words:
        assert got["sd_differs"] and got["verdict"].startswith("Biased: ")


@pytest.mark.parametrize("words", [
    ("--sampler", "sgld", "--epsilon", "0.03", "--draws", "20000"),
    ("--sampler", "sgfs-d", "--alpha", "0", "--draws", "20000"),
])
def test_a_run_gone_wrong_is_flagged(sgfs, words):
    """Columns that are almost the same: SGFS-d's diagonal and SGLD's steps are wrong for them."""
    x, y = quarters(400)
    x[:, 1] = x[:, 0] + x[:, 1] / 8
    write(sgfs.folder / "twins.csv", lines(x, y))
    sgfs.ok("sample", "logistic", "--data", "twins.csv", "--batch", "20", *words, "--out", "bad.run", "-q")
    got = audit(sgfs, "bad.run", *QUICK)
    assert got["audited"] == "draws" and got["columns"] == ["exact"] and got["step"] is None
    assert got["sd_differs"] and got["verdict"].startswith("Biased: ")
    summary = sgfs.ok("summary", "bad.run").stdout
    assert "\nAudit: means off by at most " in summary and "chance" not in summary.split("\nAudit: ")[1].split("\n")[0]


def test_laplace_is_told_from_exact(site):
    site.ok("sample", "logistic", "--data", "rare.csv", "--prior-precision", "0.2", "--sampler", "laplace", "--draws",
            "20000", "--out", "laplace.run", "--overwrite", "-q")
    got = audit(site, "laplace.run")
    mode_is_off = biases(got, "exact")[0]
    assert got["mean_differs"] and abs(mode_is_off[0]) > 0.1


def test_exact_samplers_have_nothing_to_measure(site):
    site.ok("sample", "logistic", "--data", "good.csv", "--sampler", "nuts", "--draws", "500", "--out", "nuts.run",
            "--overwrite", "-q")
    before = (site.folder / "nuts.run").read_bytes()
    done = site.ok("audit", "nuts.run")
    assert done.stdout.startswith("Nothing to measure: nuts draws from the posterior itself")
    assert (site.folder / "nuts.run").read_bytes() == before
    assert audit(site, "nuts.run")["needed"] is False
    got = audit(site, "nuts.run", "--against-reference", *QUICK)
    assert got["needed"] and not got["mean_differs"] and not got["sd_differs"]


def test_same_seed_same_numbers_whatever_the_threads(site):
    one, two = (json.loads(site.ok("audit", "good.run", *QUICK, "--json", "--no-store", "--threads", t).stdout)
                for t in ("1", "2"))
    other = audit(site, "good.run", *QUICK, "--no-store", "--seed", "2")
    assert one["params"] == two["params"] != other["params"]


def test_precision_and_chains(site):
    coarse = biases(audit(site, "good.run", *QUICK, "--no-store", "--chains", "2"), "exact")
    assert np.all(coarse[:, 1] > 0.015) and np.all(coarse[:, 1] < 0.04)


# ---- kept in the run file ------------------------------------------------------------------------

def test_the_summary_quotes_the_last_audit(site):
    shutil.copy(site.folder / "good.run", site.folder / "kept.run")
    draws, size = site.draws("kept.run"), (site.folder / "kept.run").stat().st_size
    assert "Audit:" not in site.ok("summary", "kept.run").stdout
    assert "audit" not in json.loads(site.ok("summary", "kept.run", "--json").stdout)
    audit(site, "kept.run", *QUICK)
    first = (site.folder / "kept.run").stat().st_size
    got = audit(site, "kept.run", *QUICK, "--seed", "7")
    assert size < first < (site.folder / "kept.run").stat().st_size
    page = site.ok("summary", "kept.run").stdout
    quoted = re.findall(r"^Audit: (means off by at most \S+ \+- \S+ sd \(\w+\), sds by \S+ \+- \S+ % \(\w+\).*"
                        r"; against exact draws)\.$", page, re.M)
    assert quoted == [got["brief"]] and "state: " not in page
    inner = json.loads(site.ok("summary", "kept.run", "--json").stdout)["audit"]
    assert inner["brief"] == got["brief"] and inner["exact"] and not inner["differs"]
    assert inner["mean"] == {"name": got["largest_mean"]["name"], "bias": got["largest_mean"]["mean"],
                             "error": got["largest_mean"]["mean_error"]}
    assert np.array_equal(site.draws("kept.run"), draws)
    for name in ("kept.csv", "kept.nc", "kept.stan.csv"):
        site.ok("export", "kept.run", name, "--overwrite", "-q")
    again = site.ok("audit", "kept.run", *QUICK).stdout
    assert "sgfs-cv with step h = 1 against exact draws" in again


def test_a_run_cut_anywhere_in_the_note_keeps_its_draws(site):
    shutil.copy(site.folder / "good.run", site.folder / "cut.run")
    whole = (site.folder / "cut.run").stat().st_size
    audit(site, "cut.run", *QUICK)
    data = (site.folder / "cut.run").read_bytes()
    for size in [whole, whole + 1, whole + 43, whole + 44, whole + 100, len(data) - 1]:
        (site.folder / "torn.run").write_bytes(data[:size])
        page = site.ok("summary", "torn.run").stdout
        assert "state: " not in page and "Audit:" not in page
    audit(site, "torn.run", *QUICK)  # the torn note gives way to the new one
    assert "\nAudit: " in site.ok("summary", "torn.run").stdout


@pytest.mark.parametrize("how", ["mode", "lock", "flag"])
def test_a_file_that_is_not_to_be_written(site, how):
    path = site.folder / f"{how}.run"
    shutil.copy(site.folder / "good.run", path)
    before = path.read_bytes()
    if how == "mode":
        path.chmod(0o444)
    with open(path, "rb") as held:
        if how == "lock":
            fcntl.flock(held, fcntl.LOCK_EX)
        done = site.ok("audit", path.name, *QUICK, *(["--no-store"] if how == "flag" else []))
    assert ("warning: the result is not kept in the run file. " in done.stderr) == (how != "flag")
    assert "confidence" in done.stdout and path.read_bytes() == before


# ---- the data again ------------------------------------------------------------------------------

def test_moved_data(sgfs):
    write(sgfs.folder / "rows.csv", lines(*quarters(300)))
    sgfs.ok("sample", "logistic", "--data", "rows.csv", "--standardize", "--sampler", "sgfs-cv", "--draws", "200",
            "--out", "fit.run", "-q")
    os.mkdir(sgfs.folder / "away")
    os.rename(sgfs.folder / "rows.csv", sgfs.folder / "away/rows.csv")
    lost = sgfs("audit", "fit.run")
    assert lost.returncode == IO and "rows.csv: cannot open" in lost.stderr and "add --data FILE" in lost.stderr
    got = audit(sgfs, "fit.run", "--data", "away/rows.csv", *QUICK)
    assert got["needed"]


@pytest.mark.parametrize("change, sentence", [
    (lambda x, y: (x[:-1], y[:-1]), "there are 299, and there were 300"),
    (lambda x, y: (x + np.eye(300, 2) / 4, y), 'the mean of "a" is'),
    (lambda x, y: (x[:, ::-1], y), '"a"'),
    (lambda x, y: (x, np.r_[1 - y[0], y[1:]]), 'the mean of "y" is'),
])
def test_other_rows_are_refused(site, change, sentence):
    write(site.folder / "other.csv", lines(*change(*quarters(300))))
    done = site("audit", "good.run", "--data", "other.csv")
    assert done.returncode == DATA and sentence in done.stderr
    assert "not the rows the run was made with" in done.stderr and "sample again" in done.stderr


def test_transforms_in_the_order_they_were_given(sgfs):
    """--project before --drop is another model than the other way round; the header knows it."""
    x, y = quarters(300)
    write(sgfs.folder / "t.csv", lines(np.c_[x, x ** 2, np.abs(x)], y, names=list("abcdefy")))
    for k, order in enumerate([("--drop", "2", "--project", "3"), ("--project", "3", "--drop", "2")]):
        sgfs.ok("sample", "logistic", "--data", "t.csv", *order, "--sampler", "sgfs-cv",
                "--draws", "200", "--out", f"{k}.run", "-q")
        assert audit(sgfs, f"{k}.run", *QUICK)["needed"]


def test_what_it_will_cost_is_said_first(site):
    """Time and passes, once; and by default it is no longer than a few runs."""
    done = site.ok("audit", "good.run", "--no-store")
    told = re.findall(r"The audit will take about (\S+) s and (\S+) passes over the rows", done.stderr)
    report = audit(site, "good.run", "--no-store")
    assert len(told) == 1 and float(told[0][1]) >= 1, done.stderr
    passes = report["rows_touched"] / 300  # the file's rows
    assert report["precision"] == 0.03
    assert passes / 4 < float(told[0][1]) < 4 * passes
    assert report["rows_touched"] < audit(site, "good.run", "--no-store", "--precision", "0.01")["rows_touched"] / 2


def test_a_model_of_ones_own(site):
    """It is loaded where it is named, and compared with exact draws that need no anchor."""
    model = os.path.join(os.environ["SGFS_BUILD"], "examples", "student_t.so")
    site.ok("sample", model, "--data", "line.npy", "--sampler", "sgfs-f", "--draws", "4000", "--out", "own.run", "-q",
            "--overwrite", "--allow-unconverged")
    done = site("audit", "own.run")
    assert done.returncode == USAGE and "add --model FILE" in done.stderr
    shutil.copy(model, site.folder / "moved.so")
    report = audit(site, "own.run", "--model", "./moved.so")
    assert report["needed"] and report["columns"] == ["exact"] and len(report["params"]) == 5
    done = site("audit", "good.run", "--model", model)
    assert done.returncode == USAGE and "built-in model logistic" in done.stderr


# ---- one row per mistake -------------------------------------------------------------------------

def test_a_model_without_an_anchor(site):
    site.ok("sample", "mlp", "--data", "good.csv", "--sampler", "sgfs-d", "--hidden", "2", "--draws", "50", "--out",
            "net.run", "--overwrite", "-q")
    done = site("audit", "net.run")
    assert done.returncode == USAGE
    assert "has no anchor" in done.stderr and "sgfs compare RUN --reference NUTS_RUN" in done.stderr


def test_rows_that_came_through_a_pipe(site):
    text = (site.folder / "good.csv").read_text()
    with site.start("sample", "logistic", "--data", "-", "--sampler", "sgfs-cv", "--draws", "50", "--out", "pipe.run", "-q",
                    stdin=-1) as process:
        process.communicate(text, timeout=60)
    done = site("audit", "pipe.run")
    assert done.returncode == USAGE and "standard input" in done.stderr and "--data FILE" in done.stderr
    assert audit(site, "pipe.run", "--data", "good.csv", *QUICK)["needed"]


@pytest.mark.parametrize("words, code, sentence", [
    ((), USAGE, "Name one run file: sgfs audit fit.run"),
    (("absent.run",), IO, "absent.run: cannot open"),
    (("good.csv",), RUNFILE, "not a run file of sgfs"),
    (("good.run", "--precision", "0"), USAGE, "precision"),
    (("good.run", "--seed", "x"), USAGE, "seed"),
])
def test_mistakes(site, words, code, sentence):
    done = site("audit", *words)
    assert done.returncode == code and sentence in done.stderr and done.stdout == ""


def test_damage_is_refused_as_elsewhere(site):
    data = bytearray((site.folder / "good.run").read_bytes())
    data[len(data) // 2] ^= 1
    (site.folder / "damaged.run").write_bytes(data)
    done = site("audit", "damaged.run")
    assert done.returncode == RUNFILE and "damaged at byte" in done.stderr


def test_interrupted(site):
    before = (site.folder / "good.run").read_bytes()
    with site.start("audit", "good.run", "--precision", "0.0003", "-q") as process:
        time.sleep(0.5)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    assert process.returncode == STOPPED and out == "" and "Stopped early" in err
    assert (site.folder / "good.run").read_bytes() == before


def test_max_time(site):
    start = time.monotonic()
    got = audit(site, "good.run", "--precision", "0.0005", "--max-time", "1", "--no-store")
    assert time.monotonic() - start < 10 and got["reached"] > 0.0005


@pytest.mark.parametrize("words", [(), ("--no-exact",)])
def test_too_short_to_say(site, words):
    """2,000 rows of 61 columns take longer to open than the time there is: no verdict, nothing stored."""
    if not (site.folder / "wide.run").exists():
        site.ok("simulate", "logistic", "--rows", "2000", "--dim", "60", "--out", "wide.npy", "-q")
        site.ok("sample", "logistic", "--data", "wide.npy", "--sampler", "sgfs-cv", "--draws", "20", "--out", "wide.run", "-q")
    before = (site.folder / "wide.run").read_bytes()
    done = site("audit", "wide.run", "--max-time", "0.01", *words)
    assert done.returncode == STOPPED and done.stdout == ""
    assert "Too short to say: not 200 effective draws at h = " in done.stderr and "Use a longer --max-time" in done.stderr
    assert (site.folder / "wide.run").read_bytes() == before


def test_exact_draws_have_their_share_of_the_time(site):
    """Exact draws of 201 parameters from 20,000 rows warm up for 15 s of one core. They are given up, warm-up or not,
    and the extrapolation has the rest. (Six seconds over: opening the data, anchors, a loaded machine.)"""
    site.ok("simulate", "logistic", "--rows", "20000", "--dim", "200", "--out", "slow.npy", "-q")
    site.ok("sample", "logistic", "--data", "slow.npy", "--sampler", "sgfs-cv", "--draws", "20", "--out", "slow.run", "-q")
    start = time.monotonic()
    done = site("audit", "slow.run", "--max-time", "2", "--json", "-q", "--threads", "1")
    assert time.monotonic() - start < (24 if SANITIZED else 8)
    if done.returncode == STOPPED:
        assert "Too short to say" in done.stderr
        return
    got = json.loads(done.stdout)
    assert not got["exact"] and "in their part of --max-time" in got["not_exact"] and not got["verdict"].startswith("Biased")


def test_help(site):
    page = site.ok("help", "audit").stdout
    assert page == site.ok("audit", "--help").stdout and max(map(len, page.splitlines())) < 120
    assert page.index("Examples:\n  sgfs audit fit.run\n") < page.index("Exit code 0") < page.index("\nUsage:")
    assert re.search(r"^  audit +how far", site.ok("help").stdout, re.M)


def test_transforms_before_standardize_come_in_their_order_again(site):
    """The run's rows are made again as they were: --standardize came last, and log1p saw counts."""
    x, y = rare_events()
    write(site.folder / "counts.csv", lines(np.column_stack([np.arange(100), np.abs(x)]), y, names=("id", "x", "y")))
    site.ok("sample", "logistic", "--data", "counts.csv", "--drop", "id", "--log1p", "x", "--standardize", "--sampler",
            "sgfs-cv", "--draws", "200", "--out", "counts.run", "-q")
    assert audit(site, "counts.run", "--precision", "0.2")["verdict"]
