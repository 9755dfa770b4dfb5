# SPDX-License-Identifier: MIT
"""--config RUN: a run is repeated from what it recorded, bit for bit, and changed by flags."""
import json
import struct

import numpy as np
import pytest

from cli_program import SHORT, lines, quarters, write

USAGE, IO, RUNFILE = 2, 5, 6


@pytest.fixture(scope="module")
def site(shared):
    x, y = quarters(300)
    write(shared.folder / "rows.csv", lines(x, y, names=("a", "b", "y")))
    write(shared.folder / "other.csv", lines(2 * x[:200], y[:200], names=("a", "b", "y")))
    (shared.folder / "two.csv").write_text("x,y\n1,3.66\n1,3.60\n1,3.72\n")
    return shared


def header(sgfs, run):
    """The JSON text of the file's head (docs/formats.md)."""
    content = (sgfs.folder / run).read_bytes()
    return json.loads(content[16:16 + struct.unpack_from("<I", content, 12)[0]])


def sample(sgfs, *words, model="logistic", out="b.run"):
    return sgfs("sample", model, *words, "--out", out, "--overwrite", "-q")


def first(sgfs, *words, model="logistic", out="a.run"):
    done = sample(sgfs, "--data", "rows.csv", *words, model=model, out=out)
    assert done.returncode == 0, done.stderr
    return sgfs.draws(out)


def again(sgfs, *words, model="logistic", of="a.run"):
    done = sample(sgfs, "--config", of, *words, model=model)
    assert done.returncode == 0, done.stderr
    return sgfs.draws("b.run")


# ---- the same bits -------------------------------------------------------------------------------

RUNS = {
    "auto": ("logistic", ()),
    "exact": ("logistic", ("--sampler", "exact-rows")),
    "exact-lengthened": ("logistic", ("--sampler", "exact-rows", "--rho", "0.95", "--draws", "200", "--ess", "600")),
    "sgfs-cv": ("logistic", ("--sampler", "sgfs-cv")),
    "sgfs-cv-step": ("logistic", ("--sampler", "sgfs-cv", "--step", "0.3", *SHORT)),
    "sgfs-f": ("logistic", ("--sampler", "sgfs-f", "--warmup", "200")),
    "sgfs-paper": ("logistic", ("--sampler", "sgfs-f", "--preset", "paper", "--fisher-every", "1", *SHORT)),
    "nuts": ("logistic", ("--sampler", "nuts", *SHORT)),
    "network": ("mlp", ("--hidden", "3", *SHORT)),
    "priors": ("logistic", ("--prior", "student-t", "--prior-precision", "1,intercept=0.1", *SHORT)),
    "two modes": ("linear", ("--data", "two.csv", "--no-intercept", "--sigma", "0.86", "--prior", "student-t", "--prior-df", "4",
                             "--prior-precision", "1e6", *SHORT)),  # begins anew
}


@pytest.mark.parametrize("name", RUNS)
def test_a_run_repeats_itself(site, name):
    model, words = RUNS[name]
    data = () if "--data" in words else ("--data", "rows.csv")
    done = sample(site, *data, *words, "--seed", "5", model=model, out="a.run")
    assert done.returncode == 0, done.stderr
    before = site.draws("a.run")
    assert np.array_equal(before, again(site, model=model))
    a, b = header(site, "a.run"), header(site, "b.run")
    for member in ("created_at", "sampler_info"):  # these have times
        a.pop(member), b.pop(member)
    assert a == b
    assert not np.array_equal(before, again(site, "--seed", "6", model=model))


def test_transforms_keep_their_order(site):
    """The first 100 rows, split, are others than the first 100 of a part: the order is recorded, and kept."""
    limit, split = ("--limit", "100"), ("--split", "0.6,0.4")
    draws = []
    for words in (limit + split, split + limit):
        draws.append(first(site, *words, *SHORT))
        assert next(iter(header(site, "a.run")["given"])) == "data." + words[0][2:]
        assert np.array_equal(draws[-1], again(site))
    assert not np.array_equal(*draws)


# ---- what is recorded ----------------------------------------------------------------------------

def test_only_what_was_given_is_recorded_as_given(site):
    first(site, "--sampler", "sgfs-cv", "--step", "0.3", "--draws", "100", "--prior-precision", "2", "--standardize")
    told = header(site, "a.run")
    assert told["given"] == {"data.standardize": "true", "sampler.kind": "sgfs-cv", "sampler.step": "0.3",
                             "run.draws": "100", "prior.precision": "2"}
    assert told["config"]["fisher.update"] == "refactor"  # chosen: recorded, not given


# ---- changed by flags ----------------------------------------------------------------------------

@pytest.mark.parametrize("words", [(), ("--thin", "80", "--draws", "4000"), ("--ess", "5000", "--draws", "100")],
                         ids=["auto", "thin", "ess"])
def test_draws_replace_thinning_and_ess(site, words):
    first(site, "--sampler", "sgfs-cv", *words)
    assert again(site, "--draws", "50").shape[1] == 50
    assert again(site, "--draws", "50", "--thin", "5").shape[1] == 10
    assert again(site, "--thin", "5", "--draws", "50", "--ess", "0").shape[1] == 10


def test_a_config_by_hand_keeps_its_thinning(site):
    (site.folder / "hand.json").write_text('{"run.thin": 10, "run.draws": 400}')
    done = sample(site, "--data", "rows.csv", "--config", "hand.json", "--draws", "50")
    assert done.returncode == 0 and site.draws("b.run").shape[1] == 5


def test_flags_override_a_run(site):
    first(site, "--sampler", "sgfs-cv", *SHORT)
    again(site, "--data", "other.csv", "--target", "y", "--features", "a", "--chains", "3")
    told = header(site, "b.run")
    assert told["data"]["path"] == "other.csv" and told["chains"] == 3 and told["params"] == ["intercept", "a"]
    assert told["sampler"] == "sgfs-cv" and told["warmup"] == 60
    for sampler in ("nuts", "exact-rows", "sgfs-f", "sgld"):  # nothing of sgfs-cv was asked for but its name
        again(site, "--sampler", sampler)
        assert header(site, "b.run")["sampler"] == sampler


def test_what_was_typed_for_another_sampler_is_refused(site):
    first(site, "--sampler", "sgfs-cv", "--step", "0.3", *SHORT)
    done = sample(site, "--config", "a.run", "--sampler", "nuts")
    assert done.returncode == USAGE and 'a.run sets "sampler.step" for sampler sgfs-cv' in done.stderr
    assert "Leave out --sampler, or --config" in done.stderr
    done = sample(site, "--config", "a.run", "--fisher-update", "refactor")
    assert done.returncode == USAGE and "--fisher-update has no meaning for --sampler sgfs-cv" in done.stderr


def test_other_commands_take_a_run(site):
    first(site, *SHORT, "--prior-precision", "3")
    def mode(*words): return json.loads(site.ok("optimize", "logistic", *words, "--json").stdout)["mean"]
    assert mode("--config", "a.run") == mode("--data", "rows.csv", "--prior-precision", "3") != mode("--data", "rows.csv")
    site.ok("tune", "logistic", "--config", "a.run", "--folds", "2", "--grid", "batch=20,50", "--out", "t.json", "--overwrite")
    assert json.loads((site.folder / "t.json").read_text())["prior.precision"] == "3"


# ---- where the rows are --------------------------------------------------------------------------

def test_several_files(site):
    done = sample(site, "--data", "rows.csv", "other.csv", *SHORT, out="a.run")
    assert done.returncode == 0, done.stderr
    assert np.array_equal(site.draws("a.run"), again(site))


def test_rows_that_are_not_there(site):
    text = (site.folder / "rows.csv").read_text()
    with open(site.folder / "rows.csv", encoding="utf-8") as rows:
        done = site("sample", "logistic", "--data", "-", *SHORT, "--out", "a.run", "--overwrite", "-q", stdin=rows)
    assert done.returncode == 0, done.stderr
    done = sample(site, "--config", "a.run")
    assert done.returncode == USAGE and "a.run did not come from a file. Add --data FILE" in done.stderr
    assert np.array_equal(site.draws("a.run"), again(site, "--data", "rows.csv"))
    (site.folder / "gone.csv").write_text(text)
    assert sample(site, "--data", "gone.csv", *SHORT, out="a.run").returncode == 0
    (site.folder / "gone.csv").unlink()
    done = sample(site, "--config", "a.run")
    assert done.returncode == IO and "gone.csv: cannot open" in done.stderr and "add --data FILE" in done.stderr


# ---- damaged files -------------------------------------------------------------------------------

def test_damage_has_the_run_files_exit_code(site):
    first(site, *SHORT)
    content = (site.folder / "a.run").read_bytes()
    for damaged in (content[:40], content[:8], content[:8] + b"\x07" + content[9:], content[:60] + b"?" + content[61:]):
        (site.folder / "bad.run").write_bytes(damaged)
        done = sample(site, "--config", "bad.run", "--data", "rows.csv")
        assert done.returncode == RUNFILE and "bad.run: " in done.stderr, done.stderr
    (site.folder / "bad.run").write_bytes(content[:-30])  # only the end is lost: the head is whole
    assert sample(site, "--config", "bad.run").returncode == 0
