# SPDX-License-Identifier: MIT
"""sgfs tune and --config: the table, the winner as a config, and one row per mistake."""
import json
import re
import signal
import time

import numpy as np
import pytest

from cli_program import lines, quarters, write

USAGE, DATA, NUMERIC, IO, STOPPED = 2, 3, 4, 5, 75
SGLD = ("--sampler", "sgld", "--warmup", "100", "--draws", "400", "--chains", "2", "--threads", "1")


@pytest.fixture(scope="module")
def site(shared):
    """good.csv (labels 0/1), line.npy (a linear regression) with its truth, and some configs."""
    write(shared.folder / "good.csv", lines(*quarters(200)))
    shared.ok("simulate", "linear", "--rows", "400", "--dim", "2", "--noise", "0.7", "--out", "line.npy",
              "--truth", "truth.json", "-q")
    shared.ok("sample", "linear", "--data", "line.npy", "--out", "other.run", "--draws", "50", "-q")
    for name, text in {
        "typo.json": '{"sampler.epsilonn": 1}',
        "number.json": '{"sampler.epsilon": "big"}',
        "bounds.json": '{"run.chains": 0}',
        "broken.json": '{"run.chains": 2,\n  "run.seed" 3}',
        "list.json": "[1]",
        "mean.json": '{"names": ["intercept", "x1", "x2", "log_sigma"], "mean": [0, 0, 0, 0]}',
        "sgld.json": '{"sampler.kind": "sgld", "sampler.epsilon": 0.002, "run.chains": 2}',
    }.items():
        (shared.folder / name).write_text(text)
    return shared


def tune(sgfs, *words):
    return json.loads(sgfs.ok("tune", *words, "--json", "-q", "--overwrite").stdout)


# ---- the table -----------------------------------------------------------------------------------

def test_the_better_step_wins_and_is_a_config(site):
    done = site.ok("tune", "linear", "--data", "line.npy", *SGLD, "--grid", "epsilon=1e-9,1e-3,30", "--out", "best.json")
    row = {words[0]: words for words in (line[2:].split() for line in done.stdout.splitlines()) if words}
    assert "* epsilon=1e-3 " in done.stdout and row["epsilon=30"][1] == "diverged"
    assert float(row["epsilon=1e-9"][1]) > float(row["epsilon=1e-3"][1])
    assert "best.json" in done.stderr
    config = json.loads((site.folder / "best.json").read_text())
    assert config == {"sampler.kind": "sgld", "sampler.epsilon": "1e-3", "run.warmup": "100",
                      "run.draws": "400", "run.chains": "2", "prior.precision": "1"}
    shown = site.ok("sample", "linear", "--data", "line.npy", "--config", "best.json", "--out", "tuned.run").stdout
    assert "sgld, epsilon 0.001," in shown and "2 chains x (100 warm-up + 400 draws)" in shown


def test_json(site):
    got = tune(site, "logistic", "--data", "good.csv", *SGLD, "--grid", "epsilon=1e-2,1e-3", "--grid", "batch=20,50",
               "--holdout", "0.25")
    assert [row["setting"] for row in got["rows"]][:2] == ["epsilon=1e-2, batch=20", "epsilon=1e-2, batch=50"]
    assert got["by"] == "log-loss" and got["holdout"] == 0.25
    assert got["winner"] in [row["setting"] for row in got["rows"]]
    for row in got["rows"]:
        assert row["state"] == "ok" and 0 < row["log_loss"] < 2 and 0 <= row["error"] <= 1 and row["log_loss_se"] > 0
    assert min(row["gap"] for row in got["rows"]) == 0
    (site.folder / "whole.json").write_text(json.dumps(got))  # the answer is a config, too
    site.ok("sample", "logistic", "--data", "good.csv", "--config", "whole.json", "--out", "w.run", "--overwrite", "-q")


def test_same_seed_same_table(site):
    words = ("logistic", "--data", "good.csv", *SGLD, "--grid", "epsilon=1e-2,1e-3", "--folds", "3")
    def losses(*more): return [row["log_loss"] for row in tune(site, *words, *more)["rows"]]
    assert losses() == losses() == losses("--threads", "2")
    assert losses() != losses("--seed", "9")


def test_by_error(site):
    got = tune(site, "linear", "--data", "line.npy", *SGLD, "--draws", "8000", "--grid", "epsilon=1e-4,1e-3,5e-3",
               "--by", "error", "--reference", "truth.json")
    by_E2 = min(got["rows"], key=lambda row: row["E2"] if row["E2"] is not None else np.inf)
    assert got["winner"] == by_E2["setting"]
    assert all({"E1", "E2", "trR"} <= set(row) for row in got["rows"])


def test_all_diverged(site):
    done = site("tune", "linear", "--data", "line.npy", *SGLD, "--grid", "epsilon=30,300", "--out", "none.json")
    assert done.returncode == NUMERIC
    assert done.stdout.count("diverged") == 2 and "smaller steps" in done.stderr
    assert not (site.folder / "none.json").exists()


def test_no_time_for_a_draw(site):
    done = site("tune", "linear", "--data", "line.npy", *SGLD, "--max-time", "1e-9", "--warmup", "50000", "--out", "none.json")
    assert done.returncode == STOPPED
    assert done.stdout.count("no draws") == 5 and "more time" in done.stderr
    assert not (site.folder / "none.json").exists()


def test_default_grid_is_stated(site):
    done = site.ok("tune", "logistic", "--data", "good.csv", *SGLD, "--overwrite")
    assert re.search(r"No --grid given: trying --grid epsilon=0\.0\d+(,[\d.]+){4}\.", done.stderr)
    assert json.loads((site.folder / "logistic-sgld.json").read_text())["sampler.kind"] == "sgld"
    (site.folder / "logistic-sgld.json").write_text("kept")  # a second search takes the next name
    site.ok("tune", "logistic", "--data", "good.csv", *SGLD, "--grid", "epsilon=0.01,0.02", "--holdout", "0.2")
    assert (site.folder / "logistic-sgld.json").read_text() == "kept"
    assert json.loads((site.folder / "logistic-sgld-2.json").read_text())["sampler.kind"] == "sgld"


def test_interrupt_shows_what_is_done(site):
    with site.start("tune", "linear", "--data", "line.npy", "--sampler", "sgld", "--draws", "200000", "--warmup", "10",
                    "--chains", "2", "--grid", "epsilon=1e-3,1e-4", "--folds", "100", "--out", "never.json") as process:
        time.sleep(4)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    assert process.returncode == STOPPED, err
    assert "epsilon=1e-3" in out and "Stopped early, after" in err
    assert re.search(r"tuning +\d+ %  run \d+ of 200 \(epsilon=1e-\d\), .* to go", err), err
    assert not (site.folder / "never.json").exists()


# ---- --config ------------------------------------------------------------------------------------

def title(sgfs, *words):
    done = sgfs.ok("sample", "linear", "--data", "line.npy", "--draws", "20", "--warmup", "20", *words, "--out", "c.run",
                   "--overwrite", "--json")
    return json.loads(done.stdout)["title"]


def test_flags_override_a_config_wherever_they_stand(site):
    assert "sgld, epsilon 0.002," in title(site, "--config", "sgld.json")
    assert "2 chains" in title(site, "--config=sgld.json")
    before = title(site, "--epsilon", "0.003", "--config", "sgld.json")
    after = title(site, "--config", "sgld.json", "--epsilon", "0.003")
    assert before == after and "sgld, epsilon 0.003," in before


def test_a_config_belongs_to_its_sampler(site):
    """Steps in a file are refused for another sampler, unless a flag replaces them; keys can be looked up."""
    sample = ("sample", "linear", "--data", "line.npy", "--warmup", "60", "--draws", "20", "--out", "other.run", "--overwrite")
    (site.folder / "own.json").write_text('{"sampler.kind": "sgfs-f", "sampler.epsilon": 0.5}')
    for name in ("sgld.json", "own.json"):
        done = site(*sample, "--config", name, "--sampler", "psgld")
        assert done.returncode == USAGE and f'{name} sets "sampler.epsilon" for sampler sg' in done.stderr, done.stderr
    site.ok(*sample, "--config", "sgld.json", "--sampler", "psgld", "--epsilon", "1e-6")
    (site.folder / "kind.json").write_text('{"sampler.kind": "sgld"}')
    site.ok(*sample, "--config", "kind.json", "--sampler", "nuts", "--metric", "diag")
    (site.folder / "flag.json").write_text('{"epsilon": 1}')
    done = site(*sample, "--config", "flag.json")
    assert done.returncode == USAGE and 'did you mean "sampler.epsilon"' in done.stderr
    assert "sampler.epsilon " in site.ok("list", "options").stdout


def test_help_shows_config_where_it_is_taken(site):
    for command in ("sample", "tune", "simulate"):
        assert "--config FILE" in site.ok("help", command).stdout
    assert "--config" not in site.ok("help", "compare").stdout
    assert site("compare", "other.run", "--config", "sgld.json").returncode == USAGE


# ---- mistakes ------------------------------------------------------------------------------------

TUNE = ("tune", "linear", "--data", "line.npy", *SGLD, "--out", "mistake.json")
SAMPLE = ("sample", "linear", "--data", "line.npy")
MISTAKES = [
    ("tune", (), USAGE, "Name one model: sgfs tune MODEL"),
    ("tune", ("linear",), USAGE, "Add --data FILE"),
    ("tune", ("liner", "--data", "line.npy"), USAGE, 'Did you mean "linear"'),
    (TUNE, ("--grid", "epsilom=1"), USAGE, 'no option "epsilom". Did you mean "epsilon"'),
    (TUNE, ("--grid", "epsilon"), USAGE, "write it as OPTION=VALUE,VALUE"),
    (TUNE, ("--grid", "epsilon=1,x"), USAGE, '--epsilon takes a number, not "x"'),
    (TUNE, ("--grid", "alpha=1"), USAGE, "alpha=1: --alpha has no meaning"),
    (TUNE, ("--grid", "standardize=true"), USAGE, "cannot be tuned"),
    (TUNE, ("--grid",), USAGE, "--grid needs a value"),
    (TUNE, ("--folds", "1"), USAGE, "--folds must lie between 2 and 100"),
    (TUNE, ("--holdout", "0.95"), USAGE, "--holdout must lie between"),
    (TUNE, ("--holdout", "0.1", "--folds", "3"), USAGE, "give one of them"),
    (TUNE, ("--by", "luck"), USAGE, "--by is one of log-loss|error"),
    (TUNE, ("--by", "error"), USAGE, "Add --reference"),
    (TUNE, ("--reference", "truth.json"), USAGE, "--by error"),
    (TUNE, ("--by", "error", "--reference", "none.json"), IO, "none.json"),
    (TUNE, ("--by", "error", "--reference", "mean.json"), DATA, "no covariance"),
    (TUNE, ("--out", "line.npy"), USAGE, "is the data"),
    (TUNE, ("--out", "sgld.json"), USAGE, "exists already"),
    (TUNE, ("--out", "."), IO, "is a directory"),
    (TUNE, ("--grdi", "epsilon=1"), USAGE, "Did you mean --grid"),
    (SAMPLE, ("--config", "none.json"), IO, "none.json: cannot open"),
    (SAMPLE, ("--config", "typo.json"), USAGE, 'typo.json: There is no option "sampler.epsilonn". Did you mean "sampler.epsilon"'),
    (SAMPLE, ("--config", "number.json"), USAGE, 'number.json: --epsilon takes a number, not "big"'),
    (SAMPLE, ("--config", "bounds.json"), USAGE, "bounds.json: --chains must lie between"),
    (SAMPLE, ("--config", "broken.json"), DATA, "broken.json:2:"),
    (SAMPLE, ("--config", "list.json"), DATA, "list.json: is not a config"),
    (SAMPLE, ("--config",), USAGE, "--config needs a value"),
    (SAMPLE, ("--config", "sgld.json", "--config", "sgld.json"), USAGE, "One of --config, --resume and --sketch may be given, and once"),
    (SAMPLE, ("--confg", "sgld.json"), USAGE, "Did you mean --config"),
]


@pytest.mark.parametrize("command, words, code, sentence", MISTAKES, ids=[f"{m[2]}-{m[3][:40]}" for m in MISTAKES])
def test_mistakes(site, command, words, code, sentence):
    before = sorted(site.folder.iterdir())
    done = site(*((command,) if isinstance(command, str) else command), *words)
    assert done.returncode == code, done.stderr
    assert sentence in done.stderr
    assert done.stdout == ""
    assert sorted(site.folder.iterdir()) == before


def test_the_winner_keeps_the_order_of_transforms(site):
    site.ok("tune", "logistic", "--data", "good.csv", "--drop", "a", "--standardize", *SGLD, "--grid", "epsilon=1e-3,1e-4",
            "--holdout", "0.2", "--out", "order.json", "-q")
    keys = [k for k in json.loads((site.folder / "order.json").read_text()) if k.startswith("data.")]
    assert keys == ["data.drop", "data.standardize"]
