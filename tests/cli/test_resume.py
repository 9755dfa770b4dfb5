# SPDX-License-Identifier: MIT
"""sgfs sample --resume: a run that was killed, stopped, out of time or out of disk goes on to exactly the draws it
would have made; what may change, and what is refused by name. tests/long/test_resume.py kills five hundred."""
import json
import resource
import shlex
import signal
import subprocess
import time
import zlib

import numpy as np
import pytest

from cli_program import PROGRAM, SHORT, Sgfs, lines, quarters, write
from resumed import CASES, STATE, Killer, assert_same, blocks, contents, make_data, words_of

USAGE, IO, RUNFILE, STOPPED = 2, 5, 6, 75
LONG = ("sample", "logistic", "--data", "rows.csv", "--target", "y", "--sampler", "sgfs-f", "--batch", "30",
        "--warmup", "300", "--draws", "160000", "--thin", "16", "--chains", "3", "-q")


@pytest.fixture(scope="module")
def killer(shared):
    return Killer(shared, 385)


@pytest.mark.parametrize("name", CASES)
def test_killed_at_any_moment(killer, name):
    for _ in range(2):
        killer.ordeal(name)


def test_every_sampler_was_killed():
    out = subprocess.run([PROGRAM, "list", "samplers"], capture_output=True, text=True).stdout
    names = [line.split()[0] for line in out.splitlines() if line.startswith("  ")]
    assert len(names) > 10 and set(names) <= set(CASES)


# ---- every way to end early ----------------------------------------------------------------------

@pytest.fixture(scope="module")
def site(shared, killer):
    """A run that nobody disturbed, and one that was stopped in time."""
    shared.ok(*LONG, "--out", "whole.run")
    assert shared(*LONG, "--max-time", "0.1", "--out", "part.run").returncode == STOPPED
    return shared


def fresh(site, name="part.run"):
    (site.folder / "fit.run").write_bytes((site.folder / name).read_bytes())
    return site.folder / "fit.run"


def test_out_of_time_says_what_to_paste(site):
    name = "a run's file.run"
    done = site(*LONG, "--max-time", "0.1", "--out", name, "--overwrite")
    assert done.returncode == STOPPED
    command = done.stderr.split("To go on: ")[1].strip()
    assert shlex.split(command) == ["sgfs", "sample", "--resume", name], command
    done = subprocess.run(["sh", "-c", f'sgfs() {{ "{PROGRAM}" "$@" --allow-unconverged; }}; {command}'],
                          cwd=site.folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert_same(site.folder / "whole.run", site.folder / name)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_asked_to_stop(site, number):
    path = site.folder / "fit.run"
    path.unlink(missing_ok=True)
    process = site.start(*LONG, "--out", "fit.run")
    while not path.exists():
        time.sleep(0.01)
    time.sleep(0.1)
    process.send_signal(number)
    _, err = process.communicate(timeout=20)
    assert process.returncode == STOPPED and "sgfs sample --resume fit.run" in err, err
    site.ok("sample", "--resume", "fit.run", "-q", "--threads", "2")
    assert_same(site.folder / "whole.run", path)


def test_asked_to_stop_in_the_middle_of_a_long_iteration(site):
    """It is given up; the run goes on from the state before it, to the same bits."""
    words = ("sample", "logistic", "--data", "rows.csv", "--target", "y", "--sampler", "hmc", "--leapfrog", "100000",
             "--warmup", "1", "--draws", "2", "--chains", "1", "--checkpoint", "0", "-q")
    begin = time.monotonic()
    site.ok(*words, "--out", "slow.ref", "--overwrite")
    took = time.monotonic() - begin
    process = site.start(*words, "--out", "slow.run", "--overwrite")
    time.sleep(0.5 * took)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=20)
    assert process.returncode == STOPPED, err
    assert "Stopped early at iteration" in err and "--resume slow.run" in err, err
    site.ok("sample", "--resume", "slow.run", "-q")
    assert_same(site.folder / "slow.ref", site.folder / "slow.run")


def test_out_of_disk(site):
    def full():
        resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, 200_000))
    done = site(*LONG, "--checkpoint", "0", "--out", "fit.run", "--overwrite", preexec_fn=full)
    assert done.returncode == IO and "--resume fit.run" in done.stderr, done.stderr
    site.ok("sample", "--resume", "fit.run", "-q")
    assert_same(site.folder / "whole.run", site.folder / "fit.run")


def test_no_room_for_a_file_in_order(site):
    """The run is complete, and as good: the order of its blocks is another one."""
    size = (site.folder / "whole.run").stat().st_size
    path = fresh(site)
    def full():
        resource.setrlimit(resource.RLIMIT_FSIZE, (size - 60_000, size - 60_000))
    done = site("sample", "--resume", "fit.run", preexec_fn=full)
    assert done.returncode == IO
    done = site("sample", "--resume", "fit.run", "-q")
    assert done.returncode == 0
    assert_same(site.folder / "whole.run", path)


def test_a_run_that_is_being_written_is_left_alone(site):
    process = site.start(*LONG, "--draws", "1000000000", "--thin", "100000", "--out", "busy.run")
    while not (site.folder / "busy.run").exists():
        time.sleep(0.01)
    done = site("sample", "--resume", "busy.run")
    process.kill()
    process.communicate()
    assert done.returncode == IO and "another process" in done.stderr


# ---- what may change -----------------------------------------------------------------------------

def test_the_same_words_again(site):
    path = fresh(site)
    site.ok(*LONG, "--resume", "fit.run", "--out", "fit.run")
    assert_same(site.folder / "whole.run", path)


def test_nothing_left_to_do(site):
    path = fresh(site, "whole.run")
    before = path.read_bytes()
    done = site.ok("sample", "--resume", "fit.run")
    assert "is complete" in done.stderr and path.read_bytes() == before


def test_more_draws(site):
    longer = tuple("240000" if w == "160000" else w for w in LONG)
    site.ok(*longer, "--out", "longer.run", "--overwrite")
    for name in ("whole.run", "part.run"):
        path = fresh(site, name)
        site.ok("sample", "--resume", "fit.run", "--draws", "240000", "-q")
        assert_same(site.folder / "longer.run", path)


def test_more_draws_killed_meanwhile(site, killer):
    path = fresh(site, "whole.run")
    longer = tuple("240000" if w == "160000" else w for w in LONG)
    site.ok(*longer, "--out", "longer.run", "--overwrite")
    killer.killed("sample", "--resume", "fit.run", "--draws", "240000", "--checkpoint", "0", after=0.4)
    known = blocks(path)[0]["draws"] == 60000  # else it was killed while it opened
    site.ok("sample", "--resume", "fit.run", "-q", *(() if known else ("--draws", "240000")))
    assert_same(site.folder / "longer.run", path)


def test_draws_that_were_mistyped_can_be_lowered_again(site):
    """... as long as there are not so many: then it is the run that was meant."""
    path = fresh(site)
    done = site("sample", "--resume", "fit.run", "--draws", "30000000", "--max-time", "0.02", "-q")
    assert done.returncode == STOPPED, done.stderr
    assert blocks(path)[0]["draws"] == 30000000
    site.ok("sample", "--resume", "fit.run", "--draws", "160000", "-q")
    assert_same(site.folder / "whole.run", path)
    path = fresh(site, "whole.run")
    done = site("sample", "--resume", "fit.run", "--draws", "159984")
    assert done.returncode == USAGE and "--draws 160000, of which there may not be fewer" in done.stderr
    assert path.read_bytes() == (site.folder / "whole.run").read_bytes()


def test_a_higher_ess(site):
    words = ("sample", "logistic", "--data", "rows.csv", "--target", "y", "--sampler", "sgfs-f", "-q")
    site.ok(*words, "--ess", "2000", "--out", "high.run", "--overwrite")
    site.ok(*words, "--ess", "100", "--out", "fit.run", "--overwrite")
    site.ok("sample", "--resume", "fit.run", "--ess", "2000", "-q")
    assert_same(site.folder / "high.run", site.folder / "fit.run")
    done = site("sample", "--resume", "fit.run", "--ess", "100")
    assert done.returncode == USAGE and "--ess" in done.stderr


@pytest.mark.parametrize("words", [("--seed", "2"), ("--batch", "60"), ("--sampler", "sgfs-d"), ("--warmup", "100"),
                                   ("--chains", "4"), ("--thin", "2"), ("--alpha", "3"), ("--prior-precision", "2"),
                                   ("--features", "a,b"), ("--standardize",), ("--init", "1")])
def test_other_options_are_refused_by_name(site, words):
    path = fresh(site)
    before = path.read_bytes()
    done = site("sample", "--resume", "fit.run", *words)
    assert done.returncode == USAGE and words[0] in done.stderr, done.stderr
    assert path.read_bytes() == before


def test_all_other_options_are_named(site):
    fresh(site)
    done = site("sample", "--resume", "fit.run", "--seed", "2", "--warmup", "100", "--init", "1")
    assert all(flag in done.stderr for flag in ("--seed", "--warmup", "--init"))


def test_other_refusals(site):
    fresh(site)
    for words, code, part in ((("softmax",), USAGE, "logistic"), (("--out", "other.run"), USAGE, "--out"),
                              (("--overwrite",), USAGE, "--overwrite"), (("--config", "part.run"), USAGE, "once")):
        done = site("sample", "--resume", "fit.run", *words)
        assert done.returncode == code and part in done.stderr, done.stderr
    assert site("sample", "--resume", "rows.csv").returncode in (USAGE, RUNFILE, 3)
    assert site("sample", "--resume", "nowhere.run").returncode == USAGE
    write(site.folder / "options.json", ['{"run.seed": 3}'])
    assert site("sample", "--resume", "options.json").returncode == RUNFILE


# ---- other data, other states --------------------------------------------------------------------

def test_other_data(site):
    path, rows = fresh(site), site.folder / "rows.csv"
    before, text = path.read_bytes(), rows.read_text()
    try:
        changed = text.splitlines()
        i = next(k for k, line in enumerate(changed) if line.endswith(",0"))
        j = next(k for k, line in enumerate(changed) if line.endswith(",1"))
        changed[i], changed[j] = changed[i][:-1] + "1", changed[j][:-1] + "0"
        write(rows, changed)
        done = site("sample", "--resume", "fit.run")
        assert done.returncode == RUNFILE and "rows.csv" in done.stderr, done.stderr
        assert "as soon as they are back" in done.stderr
        assert path.read_bytes() == before
    finally:
        rows.write_text(text)
    (site.folder / "moved.csv").write_text(text)
    site.ok("sample", "--resume", "fit.run", "--data", "moved.csv", "-q")
    assert contents(path)[1:] == contents(site.folder / "whole.run")[1:]


def places(path):
    """Where the states are: (offset of the block, bytes of its payload)."""
    raw, at, found = path.read_bytes(), 0, []
    header, all_blocks = blocks(path)
    at = 16 + int.from_bytes(raw[12:16], "little") + 4
    for kind, _, _, _, payload in all_blocks:
        if kind == STATE:
            found.append((at, len(payload)))
        at += 44 + len(payload) + 4
    return found


def test_a_damaged_state_is_passed_over(site):
    """The file was stopped in order, so that it has at least one state; with one torn, the other one serves."""
    site(*LONG, "--max-time", "0.2", "--checkpoint", "0.02", "--out", "two.run", "--overwrite")
    two = places(site.folder / "two.run")
    assert len(two) == 2
    for which in ((0,), (1,), (0, 1)):
        path = fresh(site, "two.run")
        raw = bytearray(path.read_bytes())
        for k in which:
            raw[two[k][0] + 44 + 200] ^= 8
        path.write_bytes(raw)
        assert "damaged" not in site("summary", "fit.run").stderr
        done = site("sample", "--resume", "fit.run")
        if len(which) == 2:
            assert done.returncode == RUNFILE and "damaged" in done.stderr, done.stderr
            continue
        assert done.returncode == 0, done.stderr
        assert "was not whole" in done.stderr
        assert_same(site.folder / "whole.run", path)


def test_a_file_that_is_cut_anywhere(site):
    """A torn tail is what a kill leaves: the run goes on from the last state before it, or begins; only what has been
    on the disk for long, and is gone, is refused."""
    raw = (site.folder / "part.run").read_bytes()
    head = 16 + int.from_bytes(raw[12:16], "little") + 4
    path, same = site.folder / "fit.run", 0
    for length in np.linspace(head, len(raw), 6).astype(int):
        path.write_bytes(raw[:length])
        done = site("sample", "--resume", "fit.run", "-q")
        assert done.returncode == 0 or (done.returncode == RUNFILE and "damaged" in done.stderr), done.stderr
        if done.returncode == 0:
            same += 1
            assert_same(site.folder / "whole.run", path)
    assert same >= 2


def with_header(path, change):
    """The run file with another header, as another program might have written it."""
    raw = path.read_bytes()
    length = int.from_bytes(raw[12:16], "little")
    header = json.loads(raw[16:16 + length])
    header["title"] = ""  # it makes room: states know where they are
    change(header)
    head = raw[:16] + json.dumps(header, separators=(",", ":")).encode().ljust(length)
    assert len(head) == 16 + length
    path.write_bytes(head + zlib.crc32(head).to_bytes(4, "little") + raw[16 + length + 4:])


@pytest.mark.parametrize("key, other", [("blas", "OtherBLAS 1.2"), ("blas_core", "Elsewhere")])
def test_another_blas_is_told_and_the_run_goes_on(site, key, other):
    """On this machine, with the same bits after all."""
    path = fresh(site)
    with_header(path, lambda h: h["machine"].update({key: other}))
    done = site.ok("sample", "--resume", "fit.run")
    assert other in done.stderr and "will not be those of one run in every bit" in done.stderr
    assert contents(path)[1:] == contents(site.folder / "whole.run")[1:]


@pytest.mark.parametrize("change, said", [
    (lambda h: h.update(arithmetic=0), "saved no state. Sample anew."),
    (lambda h: h.update(arithmetic=99, sgfs_version="7.8"), "take up the run with sgfs 7.8."),
    (lambda h: h.update(arithmetic=99), "take up the run where it was made."),
    (lambda h: (h["sampler_info"].update(extra=1), h.update(sgfs_version="7.8")), "take up the run with sgfs 7.8."),
    (lambda h: (h["given"].update({"run.unheard": "1"}), h.update(sgfs_version="7.8")), "was made by sgfs 7.8"),
    (lambda h: (h["config"].update({"run.init": "3"}), h.update(sgfs_version="7.8")), "another default in sgfs 7.8")])
def test_a_run_of_another_program(site, change, said):
    path = fresh(site)
    with_header(path, change)
    before = path.read_bytes()
    done = site("sample", "--resume", "fit.run")
    assert done.returncode in (RUNFILE, USAGE) and said in done.stderr, done.stderr
    assert path.read_bytes() == before
