# SPDX-License-Identifier: MIT
"""Heard at once, whatever the program is doing: requests to stop, the limit of time, and the question how far it is.

A model whose every call takes two seconds makes each phase as long as one likes: opening, the search for a mode,
trajectories of a billion steps. A second is promised; four are allowed here, for machines that have other work."""
import os
import shutil
import signal
import subprocess
import sys
import time

import pytest

from cli_program import PROGRAM, SHORT, lines, quarters, write
from resumed import END, STATE, blocks

STOPPED, AT_ONCE = 75, 130
PROMPT = 4
STOPS = [signal.SIGINT, signal.SIGTERM, signal.SIGHUP]
SLOW = """#include <time.h>
#include "sgfs.h"
static int64_t dim(int64_t cols, void *user) { (void)user; return cols; }
static int scores(const double *theta, const sgfs_rows *rows, double *loglik, double *score, void *user) {
    (void)user;
    struct timespec nap = {2, 0};
    nanosleep(&nap, 0);
    for (int64_t i = 0; i < rows->n; i++) {
        const double *x = rows->x + i * rows->cols;
        double r = rows->y[i];
        for (int64_t j = 0; j < rows->cols; j++) r -= theta[j] * x[j];
        if (loglik) loglik[i] = -0.5 * r * r;
        for (int64_t j = 0; score && j < rows->cols; j++) score[i * rows->cols + j] = r * x[j];
    }
    return 0;
}
const sgfs_user_model sgfs_user_model_v1 = {.size = sizeof(sgfs_user_model), .dim = dim, .scores = scores};
"""


@pytest.fixture(scope="module")
def site(shared):
    x, y = quarters()
    write(shared.folder / "good.csv", lines(x, y))
    (shared.folder / "slow.c").write_text(SLOW)
    compiler = shutil.which(os.environ.get("CC", "cc"))
    if compiler is None:
        pytest.skip("no C compiler")
    subprocess.run([compiler, "-std=gnu11", "-shared", "-fPIC", "-I", f"{os.environ['SGFS_SOURCE']}/include", "slow.c",
                    "-o", "slow.so"], cwd=shared.folder, check=True)
    shared.ok("sample", "logistic", "--data", "good.csv", *SHORT, "--out", "fit.run", "-q")
    return shared


def out_of(site, name="out.run"):
    (site.folder / name).unlink(missing_ok=True)
    return ("--out", name)


# What takes for ever, and where: opening, a mode, a trajectory, lock-step, jobs.
FAST = ("sample", "logistic", "--data", "good.csv")
MODEL = ("sample", "./slow.so", "--data", "good.csv")
PHASES = {
    "reading": ("sample", "logistic", "--data", "-"),
    "mode": (*MODEL, "--sampler", "exact-pairs"),
    "choosing": MODEL,
    "leapfrog": (*FAST, "--sampler", "hmc", "--leapfrog", "1000000000"),
    "iteration": (*MODEL, "--sampler", "nuts", "--chains", "16"),
    "minibatches": (*MODEL, "--sampler", "sgfs-d", "--chains", "16"),
    "many chains": (*FAST, "--sampler", "sgfs-d", "--chains", "65536"),
    "optimize": ("optimize", "./slow.so", "--data", "good.csv"),
    "check-grad": ("check-grad", "./slow.so", "--data", "good.csv"),
    "tune": ("tune", "./slow.so", "--data", "good.csv", "--sampler", "sgld"),
    "pack": ("pack", "-", "--out", "packed.sgd"),
    "simulate": ("simulate", "linear", "--rows", "1000000000", "--dim", "3", "--out", "rows.sgd"),
    "predict": ("predict", "fit.run", "--data", "-"),
    "sketch": ("sketch", "logistic", "--data", "-", "--out", "packed.sgd"),
}


def begin(site, phase, *words, seconds=0.7):
    process = site.start(*PHASES[phase], *(out_of(site) if PHASES[phase][0] == "sample" else ()), *words,
                         stdin=subprocess.PIPE)
    time.sleep(seconds)
    assert process.poll() is None, process.communicate()
    return process


def end_of(process):
    """Without touching its standard input, which stays open and empty."""
    start = time.monotonic()
    code = process.wait(timeout=60)
    seconds = time.monotonic() - start
    said = process.stderr.read()
    process.stdin.close(), process.stdout.close(), process.stderr.close()
    return code, seconds, said


@pytest.mark.parametrize("phase", PHASES)
def test_a_request_to_stop_is_heard_in_every_phase(site, phase):
    process = begin(site, phase)
    process.send_signal(STOPS[len(phase) % 3])
    code, seconds, said = end_of(process)
    assert code == STOPPED and seconds < PROMPT, said
    assert "Stopped" in said.splitlines()[-1]
    assert not [p.name for p in site.folder.iterdir() if "tmp" in p.name or p.suffix == ".sgd"]


def test_a_trajectory_without_end_is_given_up_and_the_run_can_go_on(site):
    process = begin(site, "leapfrog", "--max-time", "1.5", seconds=0)
    code, seconds, said = end_of(process)
    assert code == STOPPED and seconds < 1.5 + PROMPT
    assert "Stopped early at iteration 0 of" in said and "sgfs sample --resume out.run" in said.splitlines()[-1], said
    kinds = [block[0] for block in blocks(site.folder / "out.run")[1]]
    assert END in kinds and STATE not in kinds  # the middle of an iteration is no state


def test_a_run_that_is_stopped_while_it_is_taken_up_can_still_be_taken_up(site):
    (site.folder / "again.run").write_bytes((site.folder / "fit.run").read_bytes())
    process = site.start("sample", "--resume", "again.run", "--draws", "100000", "--data", "-", stdin=subprocess.PIPE)
    time.sleep(0.7)
    process.send_signal(signal.SIGTERM)
    code, _, said = end_of(process)
    assert code == STOPPED and "sgfs sample --resume again.run --data -" in said.splitlines()[-1], said
    assert (site.folder / "again.run").read_bytes() == (site.folder / "fit.run").read_bytes()


@pytest.mark.parametrize("phase", [p for p in PHASES if PHASES[p][0] == "sample"])
def test_the_limit_of_time_is_heard_in_every_phase(site, phase):
    process = begin(site, phase, "--max-time", "1.5", seconds=0)
    code, seconds, said = end_of(process)
    assert code == STOPPED and 1.4 < seconds < 1.5 + PROMPT, said
    assert "Stopped" in said.splitlines()[-1]


def test_a_second_request_leaves_at_once(site):
    process = begin(site, "iteration")
    process.send_signal(signal.SIGINT)
    time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    code, seconds, _ = end_of(process)
    assert code == AT_ONCE and seconds < 0.5 * PROMPT


def long_run(site, *words, **options):
    return site.start(*FAST, "--sampler", "sgld", "--epsilon", "1e-4", "--draws", "1000000000", "--thin", "1000",
                      *out_of(site), *words, **options)


def test_hanging_up_is_a_request_to_stop_and_keeps_the_draws(site):
    process = long_run(site, "-q")
    time.sleep(1)
    process.send_signal(signal.SIGHUP)
    _, said = process.communicate(timeout=20)
    assert process.returncode == STOPPED and "every draw so far is kept" in said
    assert "state: stopped early" in site.ok("summary", "out.run").stdout


def test_nohup_stays_ignored(site):
    process = long_run(site, "-q", "--max-time", "2", preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN))
    time.sleep(0.5)
    start = time.monotonic()
    process.send_signal(signal.SIGHUP)
    process.communicate(timeout=20)
    assert process.returncode == STOPPED and time.monotonic() - start > 1


@pytest.mark.parametrize("words", [(), ("--quiet",)])
def test_a_question_is_answered_and_changes_nothing(site, words):
    process = long_run(site, *words, "--max-time", "2")
    time.sleep(1)
    process.send_signal(signal.SIGUSR1)
    _, said = process.communicate(timeout=20)
    assert process.returncode == STOPPED
    assert [l for l in said.splitlines() if l.startswith("sgfs sample: ") and "iterations" in l and "to go" in l], said


def test_a_question_during_the_opening_is_answered(site):
    process = begin(site, "reading")
    process.send_signal(signal.SIGUSR1)
    time.sleep(0.3)
    assert process.poll() is None
    process.send_signal(signal.SIGTERM)
    code, _, said = end_of(process)
    assert code == STOPPED and "sgfs sample: opening" in said


def test_results_are_shown_although_nobody_listens_to_alarms(site):
    """A parent that ignores SIGALRM and blocks it does not take the limit away."""
    script = (f"import os, signal; signal.signal(signal.SIGALRM, signal.SIG_IGN);"
              f"signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGALRM]);"
              f"os.execv({PROGRAM!r}, ['sgfs', 'sample', 'logistic', '--data', '-', '--max-time', '1', '--out', 'a.run'])")
    with subprocess.Popen([sys.executable, "-c", script], cwd=site.folder, stdin=subprocess.PIPE) as process:
        assert process.wait(timeout=20) == STOPPED
