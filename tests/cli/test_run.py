# SPDX-License-Identifier: MIT
"""Whole runs of the program: the same bits again, the user's scale, stopping and being killed, full
disks, other locales, terminals and pipes, JSON, help pages."""
import json
import os
import pty
import random
import re
import resource
import shutil
import signal
import subprocess
import time

import numpy as np
import pytest

from cli_program import PROGRAM, SHORT, lines, quarters, write

STOPPED, IO = 75, 5


@pytest.fixture(scope="module")
def site(shared):
    """The program with good.csv, a finished fit.run, and data a run can be long on."""
    write(shared.folder / "good.csv", lines(*quarters()))
    shared.sample("logistic", "good.csv")
    shared.ok("simulate", "logistic", "--rows", "2000", "--dim", "5", "--out", "long.npy")
    return shared


# ---- the same bits -------------------------------------------------------------------------------

def test_same_seed_same_bits(site):
    four = ("--chains", "4", "--seed", "717")
    once = site.sample("logistic", "good.csv", *four)
    assert (site.sample("logistic", "good.csv", *four) == once).all()
    assert (site.sample("logistic", "good.csv", *four, "--threads", "2") == once).all()
    assert (site.sample("logistic", "good.csv", *four, "--threads", "4") == once).all()


def test_a_chain_knows_nothing_of_the_others(site):
    """But for those of exact-hmc, which move together."""
    two, four = (site.sample("logistic", "good.csv", "--sampler", "exact-pairs", "--chains", n, "--seed", "717")
                 for n in (2, 4))
    assert (two == four[:2]).all()


def test_other_seed_other_chain_other_draws(site):
    one, two = (site.sample("logistic", "good.csv", "--seed", s) for s in (1, 2))
    assert not (one == two).any()
    assert not (one[0] == one[1]).any()
    big = site.sample("logistic", "good.csv", "--seed", 2**53 + 1)
    assert not (big == site.sample("logistic", "good.csv", "--seed", 2**53)).any()


@pytest.mark.parametrize("warmup, draws, thin, chains", [(0, 1, 1, 1), (50, 100, 1, 3), (10, 100, 7, 2), (0, 64, 64, 2)])
def test_shapes(site, warmup, draws, thin, chains):
    got = site.sample("logistic", "good.csv", "--warmup", warmup, "--draws", draws, "--thin", thin, "--chains", chains)
    assert got.shape == (chains, draws // thin, 3)
    every = site.sample("logistic", "good.csv", "--warmup", warmup, "--draws", draws, "--chains", chains)
    assert (got == every[:, thin - 1::thin]).all(), "thinning leaves draws out and changes none"


# ---- the user's scale ----------------------------------------------------------------------------

def parameter(summary, name):
    return next(row for row in summary["params"] if row["name"] == name)


def summary_of(sgfs, run="fit.run"):
    return json.loads(sgfs.ok("summary", run, "--json").stdout)


def test_standardized_linear_reports_house_prices(sgfs):
    """Area, rooms and year against a price: columns and target on scales the prior knows nothing of.
    Standardised, the prior (lambda = 1 against N = 800 rows) is negligible, so the posterior is that
    of least squares. Error: five Monte Carlo errors and the prior's pull of about one row in 800."""
    rng = np.random.default_rng(2385)
    n = 800
    area, rooms, year = rng.normal(140, 45, n), rng.integers(1, 8, n), rng.integers(1900, 2021, n)
    price = 30000 + 2100 * area + 9000 * rooms + 350 * (year - 1950) + rng.normal(0, 40000, n)
    write(sgfs.folder / "house.csv", lines(np.column_stack([area, rooms, year]), price, ("area", "rooms", "year", "price")))
    sgfs.ok("sample", "linear", "--data", "house.csv", "--target", "price", "--standardize", "--alpha", "2",
            "--batch", "100", "--warmup", "2000", "--draws", "8000", "--chains", "4", "--out", "fit.run", "-q")
    A = np.column_stack([np.ones(n), area, rooms, year])
    beta, ss = np.linalg.lstsq(A, price, rcond=None)[:2]
    sigma2 = ss[0] / (n - 4)
    sd = np.sqrt(sigma2 * np.diag(np.linalg.inv(A.T @ A)))
    s = summary_of(sgfs)
    for j, name in enumerate(["intercept", "area", "rooms", "year"]):
        got = parameter(s, name)
        pull = abs(beta[j]) / n if j > 0 else 0.05 * sd[0] + np.sum(np.abs(beta[1:] * A[:, 1:].mean(0))) / n
        assert abs(got["mean"] - beta[j]) < 5 * got["mcse"] + pull, name
        assert got["mcse"] < 0.1 * sd[j], "or the check above says nothing"
        assert abs(got["sd"] / sd[j] - 1) < 0.2, name
    got = parameter(s, "log_sigma")
    assert abs(got["mean"] - np.log(sigma2) / 2) < 5 * got["mcse"] + 0.01
    assert abs(got["sd"] * np.sqrt(2 * n) - 1) < 0.2


def logistic_mode(A, y):
    beta = np.zeros(A.shape[1])
    for _ in range(30):
        p = 1 / (1 + np.exp(-A @ beta))
        H = A.T @ (A * (p * (1 - p))[:, None])
        beta += np.linalg.solve(H, A.T @ (y - p))
    return beta, np.linalg.inv(H)


def test_standardized_logistic_on_wild_scales(sgfs):
    rng = np.random.default_rng(99)
    n = 2000
    x = np.column_stack([rng.normal(5e4, 2e4, n), rng.normal(1e-3, 2e-4, n)])
    y = (rng.random(n) < 1 / (1 + np.exp(-(x[:, 0] - 5e4) / 2e4 + (x[:, 1] - 1e-3) / 2e-4))).astype(int)
    write(sgfs.folder / "wild.csv", lines(x, y))
    sgfs.ok("sample", "logistic", "--data", "wild.csv", "--standardize", "--alpha", "2", "--batch", "200",
            "--warmup", "2000", "--draws", "8000", "--chains", "4", "--out", "fit.run", "-q")
    mode, cov = logistic_mode(np.column_stack([np.ones(n), x]), y)
    s = summary_of(sgfs)
    for j, name in enumerate(["intercept", "a", "b"]):
        got, sd = parameter(s, name), np.sqrt(cov[j, j])
        assert abs(got["mean"] - mode[j]) < 5 * got["mcse"] + 0.1 * sd, name  # 0.1: prior, and mode for mean
        assert got["mcse"] < 0.1 * sd
        assert abs(got["sd"] / sd - 1) < 0.2, name


# ---- stopping ------------------------------------------------------------------------------------

LONG = ("--alpha", "1", "--batch", "100", "--warmup", "200", "--draws", "100000000", "--thin", "50",
        "--chains", "2", "--threads", "1")


def start_long(site, *words, out="long.run", **options):
    (site.folder / out).unlink(missing_ok=True)  # or one could wait for the last run's file
    return site.start("sample", "logistic", "--data", "long.npy", *LONG, "--out", out, "--overwrite", *words, **options)


def wait_for_size(path, size, seconds=20):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if path.exists() and path.stat().st_size > size:
            return
        time.sleep(0.01)
    pytest.fail(f"{path} did not grow to {size} bytes")


def check_whole_draws(site, reference, run="long.run"):
    """Every draw in the file is the one an undisturbed run makes."""
    draws = site.draws(run)
    assert draws.shape[0] == 2 and draws.shape[1] > 0
    shared = min(draws.shape[1], reference.shape[1])
    assert (draws[:, :shared] == reference[:, :shared]).all()
    return draws


@pytest.fixture(scope="module")
def reference(site):
    return site.sample("logistic", "long.npy", *LONG, "--draws", "20000", out="reference.run")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_asked_to_stop(site, reference, number):
    process = start_long(site)
    wait_for_size(site.folder / "long.run", 40000)
    process.send_signal(number)
    out, err = process.communicate(timeout=10)
    assert process.returncode == STOPPED
    assert re.search(r"Stopped early at iteration \d+ of 100000200; every draw so far is kept\. .*long\.run", err)
    assert out == ""
    draws = check_whole_draws(site, reference)
    shown = site.ok("summary", "long.run").stdout
    assert "state: stopped early" in shown and f"2 chains x {draws.shape[1]} kept draws" in shown
    iteration = int(re.search(r"at iteration (\d+)", err)[1])
    assert draws.shape[1] <= (iteration - 200) // 50, "no more draws than iterations"
    assert not list(site.folder.glob("*.tmp*"))


def test_stopped_before_the_first_draw(site):
    done = site("sample", "logistic", "--data", "good.csv", "--warmup", "100000000", "--max-time", "0.2",
                "--out", "early.run", "--overwrite")
    assert done.returncode == STOPPED and "before the first draw" in done.stderr
    done = site("summary", "early.run")
    assert done.returncode == 3 and "(stopped early) has no draws" in done.stderr


def test_max_time(site, reference):
    begin = time.monotonic()
    process = start_long(site, "--max-time", "0.5", "--quiet")
    out, err = process.communicate(timeout=20)
    assert 0.4 < time.monotonic() - begin < 10
    assert process.returncode == STOPPED and err.count("\n") == 1 and out == ""
    check_whole_draws(site, reference)
    assert summary_of(site, "long.run")["state"] == "stopped early"
    said = "long.run is not complete (stopped early)"
    done = site("compare", "reference.run", "--reference", "long.run")
    assert done.returncode == 0 and "warning: the reference " + said in done.stderr
    done = site("compare", "long.run", "--reference", "reference.run")
    assert done.returncode == 0 and "warning: the run " + said in done.stderr and "the reference reference.run is not" not in done.stderr


def test_killed_at_any_moment(site, reference):
    """kill -9 ten times: what is left is whole draws, and summary shows them."""
    moments = random.Random(385)
    path = site.folder / "killed.run"
    for k in range(10):
        path.unlink(missing_ok=True)
        process = start_long(site, out="killed.run", stderr=subprocess.DEVNULL)
        wait_for_size(path, 12000)
        time.sleep(moments.uniform(0, 0.3))
        process.kill()
        process.communicate()
        assert process.returncode == -signal.SIGKILL
        draws = check_whole_draws(site, reference, "killed.run")
        shown = site.ok("summary", "killed.run").stdout
        assert "state: unfinished" in shown and f"2 chains x {draws.shape[1]} kept draws" in shown
    done = site("sample", "logistic", "--data", "good.csv", *SHORT, "--out", "killed.run")
    assert done.returncode == 2 and "--overwrite" in done.stderr
    site.ok("sample", "logistic", "--data", "good.csv", *SHORT, "--out", "killed.run", "--overwrite")


def test_two_writers_of_one_run(site):
    process = start_long(site, out="busy.run", stderr=subprocess.DEVNULL)
    wait_for_size(site.folder / "busy.run", 12000)
    done = site("sample", "logistic", "--data", "good.csv", *SHORT, "--out", "busy.run", "--overwrite")
    process.kill()
    process.communicate()
    assert done.returncode == IO and "busy.run: another process is writing" in done.stderr
    assert not list(site.folder.glob("busy.run.tmp*"))


def limit_files(size):
    def limit():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))
    return limit


def test_disk_full(site, reference):
    process = start_long(site, preexec_fn=limit_files(40000))
    out, err = process.communicate(timeout=20)
    assert process.returncode == IO and out == ""
    kept = int(re.search(r"long\.run: cannot write: File too large; .* keeps (\d+) draws", err)[1])
    draws = check_whole_draws(site, reference)
    assert 2 * draws.shape[1] <= kept <= 40000 / draws[0, 0].nbytes, "one chain may be ahead"
    assert "state: unfinished" in site.ok("summary", "long.run").stdout


def test_disk_full_from_the_start(site):
    names = set(os.listdir(site.folder))
    done = site("sample", "logistic", "--data", "good.csv", *SHORT, "--out", "head.run", preexec_fn=limit_files(100))
    assert done.returncode == IO and "head.run: cannot write there: File too large" in done.stderr
    assert set(os.listdir(site.folder)) == names


@pytest.mark.parametrize("suffix", ["npy", "csv", "stan.csv", "nc"])
def test_disk_full_in_an_export(site, suffix):
    """No export, no temporary file, and the run as it was."""
    before, names = (site.folder / "fit.run").read_bytes(), set(os.listdir(site.folder))
    done = site("export", "fit.run", f"full.{suffix}", preexec_fn=limit_files(2000))
    assert done.returncode == IO, done.stderr
    assert re.search(rf"full(_\d)?\.{re.escape(suffix)}: ", done.stderr) and done.stdout == ""
    assert set(os.listdir(site.folder)) == names
    assert (site.folder / "fit.run").read_bytes() == before


# ---- locale --------------------------------------------------------------------------------------

@pytest.fixture(scope="module")
def german(tmp_path_factory):
    """The environment of a machine that writes 1,5."""
    folder = tmp_path_factory.mktemp("locale")
    if shutil.which("localedef") is None:
        pytest.skip("no localedef: the German locale cannot be built")
    made = subprocess.run(["localedef", "-i", "de_DE", "-f", "UTF-8", folder / "de_DE.UTF-8"], capture_output=True)
    if not (folder / "de_DE.UTF-8" / "LC_NUMERIC").exists():
        pytest.skip("localedef has no sources for de_DE: " + made.stderr.decode()[-100:])
    (folder / "lsan").write_text("leak:__argz_add_sep\n")  # glibc's newlocale does not free LOCPATH's parts
    return {**os.environ, "LOCPATH": str(folder), "LC_ALL": "de_DE.UTF-8", "LANG": "de_DE.UTF-8", "LANGUAGE": "de",
            "LSAN_OPTIONS": f"suppressions={folder / 'lsan'}:print_suppressions=0"}


def test_the_german_locale_is_real(german):
    """In it C's printf and awk do write commas: the next test is not empty."""
    shown = subprocess.run(["/usr/bin/printf", "%.1f", "1,5"], env=german, capture_output=True, text=True).stdout
    assert shown == "1,5"


def test_german_locale(sgfs, german):
    write(sgfs.folder / "good.csv", lines(*quarters()))
    sgfs.ok("simulate", "linear", "--rows", "50", "--dim", "2", "--noise", "0.5", "--out", "s.csv", "--truth", "t.json")
    words = ("sample", "logistic", "--data", "good.csv", *SHORT, "--alpha", "1.5", "--prior-precision", "0.25")
    sgfs.ok(*words, "--out", "plain.run", "-q")
    plain = sgfs.draws("plain.run")
    sgfs.ok(*words, "--out", "fit.run", env=german)
    assert (sgfs.draws("fit.run") == plain).all()
    for words in (("summary", "fit.run"), ("compare", "fit.run", "--reference", "plain.run")):
        shown = sgfs.ok(*words, env=german).stdout
        assert re.search(r"\d\.\d", shown) and not re.search(r"\d,\d", shown)
        a, b = (json.loads(sgfs.ok(*words, "--json", env=env).stdout) for env in (german, None))
        assert "seconds" in a or a == b
    sgfs.ok("simulate", "linear", "--rows", "50", "--dim", "2", "--noise", "0.5", "--out", "s2.csv", "--truth", "t2.json", env=german)
    for name, again in (("s.csv", "s2.csv"), ("t.json", "t2.json")):
        assert (sgfs.folder / name).read_bytes() == (sgfs.folder / again).read_bytes()
    for suffix in ("csv", "stan.csv", "nc"):
        sgfs.ok("export", "fit.run", f"de.{suffix}", env=german)
    table = np.genfromtxt(sgfs.folder / "de.csv", delimiter=",", skip_header=1)
    assert (table[:, 3:].reshape(plain.shape) == plain).all()


# ---- what goes where -----------------------------------------------------------------------------

@pytest.mark.parametrize("words", [("summary", "fit.run"), ("help", "sample"), ("list",), ("summary", "fit.run", "--json")])
def test_reader_gone_early(site, words):
    done = subprocess.run(f'"$P" {" ".join(words)} | head -1; echo ${{PIPESTATUS[0]}} >&2', shell=True, executable="/bin/bash",
                          cwd=site.folder, env={**os.environ, "P": PROGRAM}, capture_output=True, text=True)
    assert done.stdout.count("\n") == 1
    assert done.stderr == "0\n"


def test_reader_gone_before_the_results(site):
    """The run is long enough for the pipe to be closed before anything is printed."""
    read, end = os.pipe()
    os.close(read)
    done = site("sample", "logistic", "--data", "good.csv", *SHORT, "--out", "gone.run", "-q", "--json", stdout=end)
    os.close(end)
    assert done.returncode == 0 and done.stderr == ""
    assert site.draws("gone.run").shape == (2, 80, 3)


def test_quiet(site):
    done = site.ok("sample", "logistic", "--data", "good.csv", *SHORT, "--out", "q.run", "--overwrite", "--quiet")
    assert done.stdout == "" and all(line.startswith("warning: ") for line in done.stderr.splitlines())
    assert "ESS is under 400" in done.stderr  # too short a run: quiet or not, that has to be said
    assert site.ok("export", "q.run", "q.npy", "--overwrite", "-q").stderr == ""
    assert site.ok("simulate", "linear", "--rows", "20", "--dim", "1", "--out", "q.csv", "--quiet").stderr == ""
    loud = site.ok("sample", "logistic", "--data", "good.csv", *SHORT, "--out", "q.run", "--overwrite")
    assert "60 rows, 3 parameters" in loud.stderr and "parameter " in loud.stdout


def test_messages_and_results_do_not_mix(site):
    done = site.ok("sample", "logistic", "--data", "good.csv", *SHORT, "--out", "m.run", "--overwrite", "--json")
    assert json.loads(done.stdout)["state"] == "complete"
    assert "60 rows" in done.stderr


JSON = {
    "sample": ("sample", "logistic", "--data", "good.csv", *SHORT, "--out", "json.run", "--overwrite"),
    "summary": ("summary", "fit.run"), "compare": ("compare", "fit.run", "--reference", "fit.run"),
    "compare with JSON": ("compare", "truth.run", "--reference", "truth.json"),
    "export": ("export", "fit.run", "json.npy", "--overwrite"), "list": ("list",), "list one": ("list", "models"),
    "simulate": ("simulate", "logistic", "--rows", "30", "--dim", "2", "--out", "json.csv", "--overwrite"),
}
HOLDS = {"sample": ["params", "warnings"], "summary": ["params", "chains", "draws", "state"], "compare": ["E1", "E2", "trR"],
         "compare with JSON": ["E1"], "export": ["chains", "draws", "dim"], "list": ["models", "samplers", "exports"],
         "list one": ["models"], "simulate": ["rows", "features"]}


@pytest.mark.parametrize("what", JSON)
def test_json(site, what):
    if what == "compare with JSON":
        site.ok("simulate", "linear", "--rows", "300", "--dim", "2", "--out", "t.npy", "--truth", "truth.json", "--overwrite")
        site.sample("linear", "t.npy", out="truth.run")
    for words in ((*JSON[what], "--json"), (JSON[what][0], "--json", *JSON[what][1:], "--quiet")):
        got = json.loads(site.ok(*words).stdout)
        assert set(HOLDS[what]) <= set(got)


def test_json_numbers_are_the_draws(site):
    draws = site.draws("fit.run")
    s = summary_of(site)
    assert (s["chains"], s["draws"], s["dim"]) == draws.shape
    for j, row in enumerate(s["params"]):
        np.testing.assert_allclose(row["q50"], np.median(draws[:, :, j]), rtol=1e-9)
        np.testing.assert_allclose(row["mean"], draws[:, :, j].mean(), rtol=1e-9)


# ---- help ----------------------------------------------------------------------------------------

COMMANDS = ["sample", "tune", "summary", "compare", "audit", "export", "simulate", "list"]


@pytest.mark.parametrize("command", COMMANDS)
def test_help_starts_with_examples(site, command):
    page = site.ok("help", command).stdout
    assert re.match(rf"sgfs {command}: [^\n]+\n\nExamples:\n  sgfs {command}[ \n]", page)
    assert page.index("Examples:") < page.index("\nUsage:") < page.index("\n  --json")
    assert site.ok(command, "--help").stdout == page == site.ok(command, "-h").stdout
    assert max(map(len, page.splitlines())) < 100


def test_overview_and_version(site):
    page = site.ok("help").stdout
    assert all(re.search(rf"^  {c} ", page, re.M) for c in COMMANDS)
    assert re.fullmatch(r"sgfs \d+\.\d+\.\d+\n", site.ok("--version").stdout)


def flags_of(page):
    return re.findall(r"^  --(\S+) {0,1}(\S*)", page, re.M)


@pytest.mark.parametrize("command", COMMANDS)
def test_every_flag_in_the_help_is_known(site, command):
    """Give each flag what its page says it takes, without the words the command needs: whatever the
    complaint is, it is not about the flag."""
    flags = flags_of(site.ok("help", command, "--help-all").stdout)
    assert len(flags) >= 2
    for flag, value in flags:
        given = {"": [], "K": ["12"], "X": ["1"], "TEXT": [","], "FILE": ["absent"], "RUN": ["absent"]}.get(value, [value.split("|")[-1]])
        leaks = {"env": {**os.environ, "ASAN_OPTIONS": "detect_leaks=0"}} if flag == "mpi" else {}  # of MPI's own
        done = site(command, f"--{flag}", *given, **leaks)
        assert done.returncode in (0, 2) or (flag, done.returncode) in (("config", IO), ("sketch", IO)), (flag, done.stderr)
        assert not re.search(r"no flag|takes|needs a value|is one of", done.stderr), done.stderr


def test_defaults_in_the_help_are_accepted(site):
    page = re.sub(r"\n {20,}", " ", site.ok("help", "sample", "--help-all").stdout)  # a flag's text in one line
    for flag, default in re.findall(r"^  --(\S+) .*\[(\S+)\]$", page, re.M):
        done = site("sample", "logistic", f"--{flag}", default)
        assert "Where are the rows?" in done.stderr, (flag, done.stderr)


# ---- progress ------------------------------------------------------------------------------------

def test_progress_without_a_terminal_is_plain_lines(site):
    done = site("sample", "logistic", "--data", "long.npy", *LONG, "--out", "p.run", "--max-time", "3.2")
    assert done.returncode == STOPPED and "\r" not in done.stderr
    rows = [r for r in done.stderr.splitlines() if "to go" in r]
    assert 1 <= len(rows) <= 3
    assert re.fullmatch(r"(warm-up |sampling) +\d+ %  \d+/200000400 iterations, \S+/s.*, .+ to go", rows[0])


def test_progress_on_a_terminal_is_one_line(site):
    """A pseudo-terminal for stderr: one line, drawn over itself, that ends before the next message."""
    ours, theirs = pty.openpty()
    process = start_long(site, "--max-time", "0.8", out="tty.run", stderr=theirs, env={**os.environ, "TERM": "xterm"})
    os.close(theirs)
    shown = b""
    while True:
        try:
            piece = os.read(ours, 65536)
        except OSError:  # the other side is closed
            break
        if not piece:
            break
        shown += piece
    os.close(ours)
    process.communicate(timeout=20)
    assert process.returncode == STOPPED
    rows = shown.decode().split("\n")
    line = next(r for r in rows if "to go" in r)
    assert line.count("\rsampling") >= 2 and "iterations" in line and "%" in line
    after = shown.decode()[shown.decode().rindex("to go"):]
    assert re.search(r"\r\x1b\[K(.|\n)*sgfs sample: Stopped early", after), "the message takes the place of the line"


def test_dumb_terminal_gets_plain_lines(site):
    ours, theirs = pty.openpty()
    process = start_long(site, "--max-time", "0.3", out="tty.run", stderr=theirs, env={**os.environ, "TERM": "dumb"})
    os.close(theirs)
    process.wait(timeout=20)
    shown = os.read(ours, 65536)
    os.close(ours)
    process.stdout.close()
    assert b"\rsampling" not in shown


def test_compare_sees_one_wrong_spread(sgfs):
    """One standard deviation off by 3.5 %, another by as much the other way, with 16,000 draws: neither trR nor E2 sees
    it (their limits are checked here), the verdict does."""
    rng = np.random.default_rng(3)
    x = rng.normal(size=(300, 3))
    y = x @ [1, -1, 0.5] + rng.normal(size=300)
    np.savetxt(sgfs.folder / "d.csv", np.column_stack([x, y]), delimiter=",", header="a,b,c,y", comments="")
    sgfs.ok("sample", "linear", "--data", "d.csv", "--sigma", "1", "--sampler", "laplace", "--draws", "4000",
            "--out", "fit.run", "-q")
    X = np.column_stack([np.ones(300), x])
    cov = np.linalg.inv(X.T @ X + np.eye(4))
    right = {"names": ["intercept", "a", "b", "c"], "mean": (cov @ X.T @ y).tolist(), "cov": cov.tolist()}
    (sgfs.folder / "right.json").write_text(json.dumps(right))
    assert "agrees with the reference" in sgfs.ok("compare", "fit.run", "--reference", "right.json").stdout
    scale = np.diag([1, 1.035, 1 / 1.035, 1])
    (sgfs.folder / "wrong.json").write_text(json.dumps({**right, "cov": (scale @ cov @ scale).tolist()}))
    shown = sgfs.ok("compare", "fit.run", "--reference", "wrong.json").stdout
    got = json.loads(sgfs.ok("compare", "fit.run", "--reference", "wrong.json", "--json").stdout)
    assert abs(got["trR"] - 1) < 4 * got["trR_noise"] + 0.01 and got["E2"] < 2 * got["E2_noise"] + 0.03, got
    assert max(abs(p["z_sd"]) for p in got["params"]) > 4.5
    assert "differs from the reference" in shown and "z of sd" in shown


def test_no_scheme_hides_variance(site):
    """There is none that goes through the rows in order, and the paper's own settings say what they give up."""
    done = site("sample", "logistic", "--data", "good.csv", "--sampler", "sgfs-f", "--batch-scheme", "epoch")
    assert done.returncode == 2 and "auto|with|without|chunks" in done.stderr
    done = site("sample", "logistic", "--data", "good.csv", "--sampler", "sgfs-f", "--preset", "paper", *SHORT,
                "--out", "paper.run", "--overwrite")
    assert done.returncode == 0 and "as in the paper: approximate" in done.stdout + done.stderr, done.stderr


def test_a_mean_far_from_zero_has_the_digits_that_tell_its_quantiles_apart(sgfs):
    rng = np.random.default_rng(3)
    x = rng.normal(size=100)
    np.savetxt(sgfs.folder / "far.csv", np.column_stack([x, 1e6 + x + rng.normal(size=100)]), delimiter=",", comments="", header="x,y", fmt="%.17g")
    done = sgfs.ok("sample", "linear", "--data", "far.csv", "--target", "y", "--prior", "auto", "--wide", "--out", "far.run")
    table = done.stdout[done.stdout.index("parameter "):].split("\n\n")[0].splitlines()
    mean, sd, _, low, middle, high = map(float, table[1].split()[1:7])
    assert abs(mean - 1e6) < 1 and 0.05 < sd < 0.2
    assert abs((high - low) / (3.29 * sd) - 1) < 0.2 and low < middle < high, table[1]
    assert len({len(line) for line in table}) == 1 and len(table[2].split()[1]) <= len("-0.1234"), table
