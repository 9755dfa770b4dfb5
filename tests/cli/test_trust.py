# SPDX-License-Identifier: MIT
"""The first line of a summary, the command it proposes, and the exit code of `sgfs sample`.

The grades themselves are in unit/test_trust; here the program is asked for runs that end with each of
them: exact draws, far too few of them, chains that hardly move, an approximate sampler."""
import json
import shlex

import numpy as np
import pytest

from cli_program import Sgfs, lines, quarters, write

DOUBT = 7
# chains that begin in different places and stay there
STUCK = ("--sampler", "hmc", "--epsilon", "1e-6", "--warmup", "0", "--init", "3")


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    program = Sgfs(tmp_path_factory.mktemp("trust"), strict=True)
    write(program.folder / "good.csv", lines(*quarters(400)))
    return program


def sample(site, *words):
    return site("sample", "logistic", "--data", "good.csv", "--threads", "1", *words, "--out", "a.run", "--overwrite")


def test_trusted(site):
    done = sample(site)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("Trust: the chains agree, and means are known to ")
    shown = site.ok("summary", "a.run")
    assert shown.stdout.split("\n")[0] == done.stdout.split("\n")[0]
    told = json.loads(site.ok("summary", "a.run", "--json").stdout)
    assert told["trust"] is True and told["verdict"] == done.stdout.split("\n")[0] and "next" not in told


def test_stuck_chains_have_an_exit_code(site):
    done = sample(site, *STUCK, "--draws", "100")
    assert done.returncode == DOUBT and done.stdout.startswith("Do not trust: chain ")
    assert "The draws are in a.run." in done.stderr and "--allow-unconverged" in done.stderr
    assert site.draws("a.run").shape == (4, 100, 3), "they are kept"
    assert json.loads(site.ok("summary", "a.run", "--json").stdout)["trust"] is False
    assert sample(site, *STUCK, "--draws", "100", "--allow-unconverged").returncode == 0
    done = sample(site, *STUCK, "--draws", "100", "--json")
    assert done.returncode == DOUBT and json.loads(done.stdout)["trust"] is False
    done = sample(site, *STUCK, "--draws", "100", "-q")
    assert done.returncode == DOUBT and done.stdout == "" and "warning: Do not trust: chain " in done.stderr


def test_a_short_run_is_what_was_asked_for(site):
    """Too short is a failure where the program chose the length, and none where the user did."""
    done = sample(site, "--draws", "20")
    assert done.returncode == 0 and done.stdout.startswith("Do not trust yet: ")
    slow = ("--sampler", "exact-rows", "--rho", "0.9995")
    assert sample(site, *slow).returncode == DOUBT


@pytest.mark.parametrize("more", [("--draws", "20"), ("--draws", "40", "--thin", "2")])
def test_the_next_command_goes_on_with_the_run(site, more):
    """It keeps the draws there are, and the thinning; a run through a pipe has to have its rows once more."""
    assert sample(site, *more).returncode == 0
    first = site.draws("a.run")
    told = site.ok("summary", "a.run").stdout.split("\n")[1]
    assert told.startswith("What to type next: sgfs sample --resume a.run --draws "), told
    done = site(*shlex.split(told.removeprefix("What to type next: sgfs ")))
    assert done.returncode == 0 and done.stdout.startswith("Trust"), (done.stdout, done.stderr)
    longer = site.draws("a.run")
    thin = int(more[3]) if len(more) > 2 else 1
    assert longer.shape[1] * thin == int(told.split()[-1]) and (longer[:, :20] == first).all()


def test_a_run_whose_steps_follow_its_length_starts_over(site):
    steps = ("--sampler", "sgfs-f", "--anneal", "late", "--alpha", "0", "--anneal-alpha", "1", "--warmup", "200")
    assert sample(site, *steps, "--draws", "100").returncode == 0
    told = json.loads(site.ok("summary", "a.run", "--json").stdout)["next"]
    assert told.startswith("sgfs sample logistic --config RUN --draws "), told
    assert site("sample", "--resume", "a.run", "--draws", "200").returncode == 2


def test_rows_are_named_where_settings_are_in_the_way(site):
    (site.folder / "my rows.csv").write_bytes((site.folder / "good.csv").read_bytes())
    plain = Sgfs(site.folder, prior=None)
    done = plain("sample", "logistic", "--data", "my rows.csv", *STUCK, "--draws", "100", "--out", "a.run", "--overwrite")
    told = done.stdout.split("\n")[1]
    assert told.startswith("What to type next: sgfs sample logistic --data 'my rows.csv' --sampler "), told
    done = plain(*shlex.split(told.removeprefix("What to type next: sgfs ")), "--out", "b.run", "--overwrite")
    assert done.returncode == 0 and done.stdout.startswith("Trust"), done.stderr


def test_an_approximate_sampler_is_to_be_audited(site):
    done = sample(site, "--sampler", "sgfs-cv")
    assert done.returncode == 0 and done.stdout.startswith("Trust, with care: sgfs-cv is approximate")
    (site.folder / "a.run").rename(site.folder / "my run.run")
    told = site.ok("summary", "my run.run").stdout.split("\n")[1]
    assert told == "What to type next: sgfs audit 'my run.run'"
    assert shlex.split(told)[-1] == "my run.run"


def test_what_a_new_user_need_not_know_is_under_verbose(site):
    done = sample(site, "--draws", "200")
    known = ("tau", "ATUC", "ridges", "rows touched", "state: ")
    for word in known:
        assert word not in done.stdout, word
    loud = sample(site, "--draws", "200", "--verbose").stdout
    again = site.ok("summary", "a.run", "--verbose").stdout
    for word in known:
        assert word in loud and word in again, word
    assert site("summary", "a.run", "--verbos").returncode == 2


def test_chains_that_begin_at_one_mode_say_nothing_of_others(site):
    """A network has many modes: exact-hmc is exact around the one it finds, and says so; nuts begins elsewhere."""
    short = ("--hidden", "2", "--warmup", "20", "--draws", "10", "--allow-unconverged")
    for sampler, said in (("exact-hmc", True), ("nuts", False)):
        done = site("sample", "mlp", "--data", "good.csv", "--sampler", sampler, *short, "--out", "net.run", "--overwrite")
        assert done.returncode == 0, done.stderr
        assert ("All chains begin around one mode" in done.stdout) == said, done.stdout


def test_an_interrupted_run_is_gone_on_with(site):
    """What it has not done yet comes before anything that could be done about it."""
    done = sample(site, "--sampler", "sgld", "--draws", "1e9", "--max-time", "1")
    assert done.returncode == 75, done.stderr
    told = json.loads(site.ok("summary", "a.run", "--json").stdout)
    assert told["trust"] or told["next"] == "sgfs sample --resume RUN", told["next"]
    assert told["trust"] or "sgfs sample --resume a.run" in site.ok("summary", "a.run").stdout
    done = sample(site, *STUCK[:4], "--warmup", "50", "--draws", "1e9", "--max-time", "1")
    told = json.loads(site.ok("summary", "a.run", "--json").stdout)
    assert done.returncode == 75 and not told["trust"] and told["next"] == "sgfs sample --resume RUN", (done.stderr, told)


def test_what_is_no_run_cannot_be_gone_on_with(site):
    done = site("sample", "--resume", "good.csv")
    assert done.returncode == 6 and "good.csv: not a run file of sgfs" in done.stderr, done.stderr


# ---- what is said beside the verdict: of the model, not of the draws ------------------------------

def test_counts_that_vary_too_much(site):
    """Negative binomial counts with variance mu + mu^2 against Poisson counts; the verdict is the same."""
    rng = np.random.default_rng(2385)
    x = rng.standard_normal(600)
    mu = np.exp(1 + 0.5 * x)
    for name, y in (("wild", rng.negative_binomial(1, 1 / (1 + mu))), ("tame", rng.poisson(mu))):
        write(site.folder / "counts.csv", ["x,y", *(f"{a:.4f},{b}" for a, b in zip(x, y))])
        done = site.ok("sample", "poisson", "--data", "counts.csv", "--out", "counts.run", "--overwrite")
        assert done.stdout.startswith("Trust: ") and ("times as much as Poisson counts" in done.stderr) == (name == "wild"), done.stderr
        site.ok("report", "counts.run", "--out", "counts.html", "--overwrite")
        told = json.loads(site.ok("summary", "counts.run", "--json").stdout)["warnings"]
        again = site.ok("summary", "counts.run").stdout, "".join(told), (site.folder / "counts.html").read_text()
        for said in again:  # with the run, not only while it was made
            assert ("as much as" in " ".join(said.split())) == (name == "wild"), said


def test_columns_that_separate_labels(site):
    """Every row with oslo = 1 has one label; one row of another label ends that. A number may separate, too."""
    x, y = quarters(400)
    oslo = np.arange(400) % 25 == 3
    said = 'Column "oslo" by itself separates label "1" from the other: the data set no limit'
    for spoiled in (False, True):
        label = np.where(oslo, 1, y)
        label[3] = 0 if spoiled else 1
        write(site.folder / "towns.csv", ["a,oslo,y", *(f"{a},{t:d},{b:g}" for a, t, b in zip(x[:, 0], oslo, label))])
        done = site.ok("sample", "logistic", "--data", "towns.csv", "--out", "towns.run", "--overwrite")
        assert done.stdout.startswith("Trust: ") and (said in done.stderr) is not spoiled, done.stderr
        assert (said in site.ok("summary", "towns.run").stdout) is not spoiled
    write(site.folder / "three.csv", ["a,b,y", *(f"{a},{b},{'low' if b < 0 else 'mid' if a < 0 else 'high'}" for a, b in x)])
    done = site.ok("optimize", "softmax", "--data", "three.csv")
    assert 'Column "b" by itself separates label "low" from the others: ' in done.stderr and "more column" not in done.stderr


RULES = "sample", "--seed", "1", "--out", "hardly.run", "--overwrite"


@pytest.mark.parametrize("rows, model, said", [
    ([f"{i % 7},{i % 5},0" for i in range(200)], "poisson", "every target is 0, so that the data set limits on one side only"),
    (["1,2,1", "-1,.5,0", ".2,-1,1"], "logistic", "the data hardly inform a"),
    ([f"{i % 7 - 3},1,{(i * i) % 11}" for i in range(99)], "linear", "the data hardly inform b, whose standard deviation is "),
    ([f"{i % 7 - 3},{i % 5},{(i * i) % 11}" for i in range(99)], "linear", "")])
@pytest.mark.parametrize("prior", [(), ("--prior-precision", "1")])
def test_what_the_prior_alone_decides_is_named(site, rows, model, said, prior):
    """No events, fewer rows than coefficients, a column that says nothing: right draws, of what the prior says."""
    write(site.folder / "hardly.csv", ["a,b,y", *rows])
    plain = Sgfs(site.folder, prior=None)
    shown = plain.ok(*RULES, model, "--data", "hardly.csv", *prior).stdout
    assert shown.startswith(f"Trust, with care: {said}" if said else "Trust: "), shown


def test_a_run_that_is_not_finished_is_not_trusted_without_reserve(site):
    """In the summary and in the report: killed, or stopped by --max-time."""
    write(site.folder / "long.csv", ["x,y", *(f"{i % 17},{i * i % 3 % 2}" for i in range(3000))])
    done = site("sample", "logistic", "--data", "long.csv", "--sampler", "nuts", "--draws", "1000000", "--max-time", "3",
                "--out", "long.run", "--overwrite")
    assert done.returncode == 75, done.stderr
    shown = site.ok("summary", "long.run").stdout
    assert shown.startswith("Trust, with care: the run is stopped early, after ") or shown.startswith("Do not trust"), shown
    assert "\nWhat to type next: sgfs sample --resume long.run" in shown
    site.ok("report", "long.run", "--out", "long.html", "--overwrite")
    assert "Trust: " not in (site.folder / "long.html").read_text()


def test_coefficients_that_the_prior_decides(site):
    """Two columns that nearly say the same, and a target that depends on their difference: the rows want coefficients of
    75 sd(x), the prior N(0, 2.5/sd(x)) allows some 10. With columns that differ, or a flat prior, nothing is said."""
    rng = np.random.default_rng(5)
    a, z, e = rng.standard_normal((3, 600))
    plain = Sgfs(site.folder, prior=None)
    for model, y in (("logistic", (rng.random(600) < 1 / (1 + np.exp(-1.5 * z))) * 1.0), ("linear", 1.5 * z + 0.2 * rng.standard_normal(600))):
        for near, prior in ((True, "auto"), (True, "flat"), (False, "auto")):
            b = a + 0.02 * z if near else z
            write(site.folder / "near.csv", ["a,b,c,y", *(f"{s:.6f},{t:.6f},{u:.6f},{v:.6f}" for s, t, u, v in zip(a, b, e, y))])
            done = plain.ok("sample", model, "--data", "near.csv", "--prior", prior, "--out", "near.run", "--overwrite")
            said = [w for w in json.loads(plain.ok("summary", "near.run", "--json").stdout)["warnings"] if "prior, not the data, decides" in w]
            assert done.stdout.startswith("Trust: "), done.stdout
            assert bool(said) == (near and prior == "auto") == ("The prior, not the data, decides" in done.stderr), (model, near, prior, said)
            assert not said or '"a"' in said[0] and '"b"' in said[0] and '"c"' not in said[0] and "--drop" in said[0], said
