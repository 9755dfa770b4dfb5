# SPDX-License-Identifier: MIT
"""Several processes that mpirun starts: the bits of one alone, one sentence for all of them, and an end for
all of them when one ends."""
import gzip
import os
import pathlib
import random
import shutil
import signal
import subprocess
import time

import numpy as np
import pytest

from cli_program import PROGRAM, Sgfs
from resumed import assert_same

LONG = os.environ.get("SGFS_LONG")
LAUNCHER = shutil.which("mpirun")
PLUGIN = pathlib.Path(PROGRAM or "/").parent / "libsgfs_mpi.so"
pytestmark = [pytest.mark.skipif(LAUNCHER is None, reason="there is no mpirun: make mpi installs it"),
              pytest.mark.skipif(not PLUGIN.exists(), reason="this build has no plug-in for MPI")]
# More processes than cores, and threads that do not turn round while they wait for one; no network, and it may be root who
# tests. Unknown to another MPI than Open MPI.
QUIET = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "OMPI_MCA_rmaps_base_oversubscribe": "1",
         "OMPI_MCA_mpi_yield_when_idle": "1", "OMPI_MCA_btl": "self,vader", "OMPI_MCA_btl_vader_single_copy_mechanism": "none",
         "OMPI_MCA_plm_rsh_agent": "", "OMPI_MCA_hwloc_base_binding_policy": "none",
         "OMP_WAIT_POLICY": "passive", "ASAN_OPTIONS": "detect_leaks=0"}  # of MPI's own


class Ranks(Sgfs):
    """The program in several processes, in one folder."""

    def launch(self, ranks, *words, **options):
        """In a session of its own: what is left of it can be ended."""
        command = options.pop("command", ("sample", "--allow-unconverged"))
        words = [*command, *map(str, words), "--mpi"]
        options = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True,
                   "env": {**os.environ, **QUIET}, "start_new_session": True, "program": [PROGRAM], **options}
        program = options.pop("program")
        return subprocess.Popen([LAUNCHER, "-q", "-n", str(ranks), *program, *words], cwd=self.folder, **options)

    def end_of(self, process):
        try:
            out, err = process.communicate(timeout=100)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            raise
        return subprocess.CompletedProcess(process.args, process.returncode, out, err)

    def together(self, ranks, *words, **options):
        return self.end_of(self.launch(ranks, *words, **options))

    def ranks_of(self, process, ranks):
        """Process numbers by rank, once all of them are there and the run has begun."""
        out = self.folder / "fit.run"
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline and process.poll() is None:
            found = {}
            for child in pathlib.Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split():
                environment = pathlib.Path(f"/proc/{child}/environ").read_bytes().split(b"\0")
                found.update({int(v.split(b"=")[1]): int(child) for v in environment
                              if v.startswith(b"OMPI_COMM_WORLD_RANK=")})
            if len(found) == ranks and out.exists():
                return found
            time.sleep(0.02)
        pytest.fail(f"the ranks did not begin: {self.end_of(process).stderr}")


def gone(numbers):
    """Are these processes over?"""
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        if not any(os.path.exists(f"/proc/{n}") for n in numbers):
            return True
        time.sleep(0.05)
    return False


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """Rows for a logistic regression; 5,000 of them are five blocks, so that a seventh rank has none."""
    site = Ranks(tmp_path_factory.mktemp("mpi"), prior=None)
    site.ok("simulate", "logistic", "--rows", 5000, "--seed", 4, "--out", "a.npy")
    site.ok("simulate", "linear", "--rows", 5000, "--seed", 4, "--out", "l.npy")
    return site


# ---- the same bits --------------------------------------------------------------------------------

LENGTHS = ("--warmup", 20, "--draws", 30, "--seed", 3)
SAMPLERS = ["exact", "exact-rows", "exact-pairs", "exact-hmc", "nuts", "hmc", "sgfs-cv", "exact-linear"]


def words_of(sampler):
    model, data = ("linear", "l.npy") if sampler == "exact-linear" else ("logistic", "a.npy")
    return (model, "--data", data, "--sampler", sampler, *LENGTHS)


@pytest.fixture(scope="module")
def alone(site):
    """The run of one process, by sampler."""
    made = {}

    def run(sampler):
        if sampler not in made:
            made[sampler] = site.folder / f"{sampler}.one"
            site.ok("sample", *words_of(sampler), "--threads", 1, "--out", made[sampler], "-q")
        return made[sampler]
    return run


EACH = [(s, 2 + k % 3) for k, s in enumerate(SAMPLERS)]
ALL = [(s, n) for s in SAMPLERS for n in (1, 2, 3, 4, 7)]


@pytest.mark.parametrize("sampler, ranks", ALL if LONG else EACH + [("nuts", 1), ("nuts", 7), ("exact-pairs", 7)])
def test_several_have_the_bits_of_one(site, alone, sampler, ranks):
    """Everything in the run file but times and the words of the command, whatever the threads are."""
    threads = () if ranks == 2 else ("--threads", 1 + ranks % 2)
    done = site.together(ranks, *words_of(sampler), *threads, "--out", "many.run", "--overwrite", "--verbose")
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("parameter ") == 1 and done.stderr.count("-> many.run") == 1  # one of them speaks
    assert done.stderr.count(f"Rank 0 of {ranks} has sent ") == (ranks > 1), done.stderr
    assert_same(alone(sampler), site.folder / "many.run")


def test_one_process_without_a_launcher(site, alone):
    site.ok("sample", *words_of("nuts"), "--mpi", "--out", "self.run", "-q", env={**os.environ, **QUIET})
    assert_same(alone("nuts"), site.folder / "self.run")


def test_minibatches_of_rows_that_are_dealt(site):
    """Each rank reads its own rows of a batch; of files that are not packed it cannot."""
    site.ok("pack", "a.npy", "--out", "a.sgd")
    words = ("logistic", "--data", "a.sgd", "--sampler", "sgfs-f", *LENGTHS, "--out")
    site.ok("sample", *words, "alone.run", "-q")
    done = site.together(3, *words, "dealt.run", "--deal", "on")
    assert done.returncode == 0 and "Each of 3 processes reads its own rows" in done.stderr, done.stderr
    assert (site.draws("alone.run") == site.draws("dealt.run")).all()
    done = site.together(3, *words_of("sgfs-f"), "--deal", "on", "--out", "none.run")
    assert done.returncode == 2 and "from packed files" in done.stderr, done.stderr


@pytest.mark.parametrize("out", ["p.csv", "p.npy"])
def test_predictions_have_the_bytes_of_one(site, alone, out):
    """Lines and tables, but for the seconds."""
    words = (alone("nuts"), "--data", "a.npy", "--max-draws", 40, "--json", "--overwrite", "--out")
    one = site.ok("predict", *words, "one-" + out)
    many = site.together(3, *words, out, command=("predict",), text=True)
    assert many.returncode == 0, many.stderr
    assert (site.folder / out).read_bytes() == (site.folder / ("one-" + out)).read_bytes()
    plain = [[line for line in text.splitlines() if "seconds" not in line] for text in (one.stdout, many.stdout)]
    assert len(plain[0]) > 20 and plain[0] == plain[1]
    many = site.together(3, *words, "none/" + out, command=("predict",))
    assert many.returncode == 5 and many.stderr.count("cannot write there") == 1, many.stderr


def test_an_old_copy_of_new_rows_or_of_the_run_is_refused(site, alone):
    """One cell among 5,000 rows, or one draw, on one machine: before, lines of both copies were mixed, and nobody said so."""
    old = site.folder / "stale"
    old.mkdir(exist_ok=True)
    rows = np.load(site.folder / "a.npy")
    np.save(site.folder / "new.npy", rows)
    script = '[ "$OMPI_COMM_WORLD_RANK" = 1 ] && cd stale; exec "$0" "$@"'
    words = ("--data", "new.npy", "--max-draws", 10, "--out", site.folder / "mixed.csv", "--overwrite")

    def predict():
        return site.together(3, "the.run", *words, command=("predict",), program=["sh", "-c", script, PROGRAM])

    for folder in (site.folder, old):
        shutil.copy(alone("nuts"), folder / "the.run")
        np.save(folder / "new.npy", rows)
    assert predict().returncode == 0
    rows[4321, 0] += 1e-9
    np.save(old / "new.npy", rows)
    done = predict()
    assert done.returncode == 3 and "new.npy: rank 1 of 3 has read other rows than rank 0" in done.stderr, done.stderr
    shutil.copy(site.folder / "new.npy", old / "new.npy")
    shutil.copy(alone("hmc"), old / "the.run")
    done = predict()
    assert done.returncode == 3 and "rank 1 of 3 has read other draws than rank 0" in done.stderr, done.stderr


# ---- packing --------------------------------------------------------------------------------------

def split_rows(site, folder, words=False):
    """The rows of a.npy in four files of text of unlike lengths, two of them gzipped."""
    rows = np.load(site.folder / "a.npy")
    (site.folder / folder).mkdir(exist_ok=True)
    for k, (start, end) in enumerate(((0, 2600), (2600, 2700), (2700, 4000), (4000, 5000))):
        lines = [",".join([*(repr(float(v)) for v in row), "red blue green".split()[i % 2 + k % 2]][:None if words else -1])
                 for i, row in enumerate(rows[start:end])]
        names = ",".join([*(f"x{j}" for j in range(rows.shape[1] - 1)), "y", *["colour"][:words]])
        text = "\n".join([names, *lines]) + "\n"
        name = site.folder / folder / f"part-{k}.csv"
        if k % 2:
            with gzip.open(f"{name}.gz", "wt") as file:
                file.write(text)
        else:
            name.write_text(text)


def test_text_is_packed_by_ranks_side_by_side(site):
    """Each file by one of them, with the bytes that it has when packed alone, whoever packs it; then the files are one
    data set, also where their words differ."""
    split_rows(site, "text", words=True)
    for ranks in (1, 3):
        done = site.together(ranks, "text/part-*", "--target", "y", "--categorical", "colour", "--each", "--out",
                             f"packed-{ranks}", command=("pack",))
        assert done.returncode == 0, done.stderr
        assert done.stderr.count("5000 rows") == 1, done.stderr
    names = sorted(p.name for p in (site.folder / "packed-3").iterdir())
    assert names == [f"part-{k}.sgd" for k in range(4)]
    for k, name in enumerate(names):
        file = f"text/part-{k}.csv" + (".gz" if k % 2 else "")
        site.ok("pack", file, "--target", "y", "--categorical", "colour", "--out", "one.sgd", "--overwrite", "-q")
        whole = (site.folder / "one.sgd").read_bytes()
        assert all((site.folder / f"packed-{ranks}" / name).read_bytes() == whole for ranks in (1, 3))
    words = ("logistic", "--sampler", "exact-hmc", *LENGTHS, "--out")
    site.ok("sample", *words, "packed-1.run", "--data", "packed-1/*.sgd", "-q")
    done = site.together(2, *words, "packed-3.run", "--data", "packed-3/*.sgd", "-q")
    assert done.returncode == 0, done.stderr
    assert (site.draws("packed-1.run") == site.draws("packed-3.run")).all()


def test_files_are_dealt_by_their_size(site):
    """The longest to the one rank, which is told by where it is, and the three others, shorter together, to the other one."""
    split_rows(site, "sizes")
    (site.folder / "elsewhere").mkdir()
    script = '[ "$OMPI_COMM_WORLD_RANK" = 1 ] && cd elsewhere; exec "$0" "$@"'
    done = site.together(2, site.folder / "sizes" / "part-*", "--each", "--out", "dealt", command=("pack",),
                         program=["sh", "-c", script, PROGRAM])
    assert done.returncode == 0, done.stderr
    packed = [sorted(p.name for p in (site.folder / folder / "dealt").iterdir()) for folder in (".", "elsewhere")]
    assert packed == [["part-0.sgd"], ["part-1.sgd", "part-2.sgd", "part-3.sgd"]]


def test_what_cannot_be_packed_side_by_side_is_said(site):
    split_rows(site, "more")
    for says, words in (("--each", ("more/part-*", "--out", "all.sgd")),
                        ("is no folder", ("more/part-*", "--each", "--out", "a.npy")),
                        ("would both become", ("text/part-0.csv", "more/part-0.csv", "--each", "--out", "there"))):
        done = site.together(2, *words, command=("pack",))
        assert done.returncode == 2 and done.stderr.count(says) == 1, done.stderr
    bad = site.folder / "more" / "part-2.csv"
    bad.write_text(bad.read_text() + "1,2,no number\n")
    done = site.together(2, "more/part-*", "--target", "y", "--each", "--out", "there", command=("pack",))
    assert done.returncode == 3 and "part-2.csv" in done.stderr.splitlines()[-1], done.stderr
    assert not (site.folder / "there" / "part-2.sgd").exists()
    site.ok("pack", "more/part-0.csv", "--each", "--out", "there", "--overwrite", "-q")
    done = site("pack", "there/part-0.sgd", "--each", "--out", "there", "--overwrite")
    assert done.returncode == 2 and "an input of the same command" in done.stderr, done.stderr


# ---- mistakes -------------------------------------------------------------------------------------

def test_a_mistake_of_all_is_told_once(site):
    for code, words in ((5, ("logistic", "--data", "none.npy")), (2, ("logistic", "--dota", "a.npy"))):
        done = site.together(3, *words)
        assert done.returncode == code and done.stderr.count(words[-1 if code == 5 else 1]) == 1, done.stderr


@pytest.mark.parametrize("rank", [0, 2])
def test_a_mistake_of_one_ends_all_with_its_rank(site, rank):
    """A rank in a folder without the data: the others have begun to sample when they hear of it."""
    script = f'[ "$OMPI_COMM_WORLD_RANK" = {rank} ] && cd /; exec "$0" "$@"'
    begin = time.monotonic()
    done = site.together(3, *words_of("nuts"), "--out", site.folder / "fit.run", "--overwrite", "-q",
                         program=["sh", "-c", script, PROGRAM])
    where = "On rank 2 of 3: " if rank == 2 else ""
    assert done.returncode == 5, done.stderr
    assert done.stderr.splitlines()[-1:] == [f"sgfs sample: {where}a.npy: cannot open it: No such file or directory."]
    assert time.monotonic() - begin < 60


@pytest.mark.parametrize("packed", [False, True])
def test_an_old_copy_of_the_data_on_one_machine_is_refused(site, packed):
    """Three labels among 100,000 differ, in rows that only the last rank reads: before, draws came from rows of both copies,
    and nobody said so."""
    names = ["b.npy", "b.sgd"][:1 + packed]
    (site.folder / "old").mkdir(exist_ok=True)
    site.ok("simulate", "logistic", "--rows", 100_000, "--dim", 2, "--seed", 4, "--out", "b.npy", "--overwrite")
    rows = np.load(site.folder / "b.npy")
    rows[90_000:90_003, -1] = 1 - rows[90_000:90_003, -1]
    np.save(site.folder / "old" / "b.npy", rows)
    if packed:
        for folder in (".", "old"):
            site.ok("pack", f"{folder}/b.npy", "--out", f"{folder}/b.sgd", "--overwrite")
    script = '[ "$OMPI_COMM_WORLD_RANK" = 2 ] && cd old; exec "$0" "$@"'
    done = site.together(3, "logistic", "--data", names[-1], "--prior-precision", 1, "--sampler", "exact-hmc", *LENGTHS,
                         "--out", site.folder / "mixed.run", program=["sh", "-c", script, PROGRAM])
    assert done.returncode == 3, done.stderr
    assert done.stderr.splitlines()[-1].startswith(f"sgfs sample: {names[-1]}: rank 2 of 3 has opened another file"), done.stderr
    assert not (site.folder / "mixed.run").exists()


def test_rows_from_a_pipe_are_refused(site):
    done = site.together(2, "logistic", "--data", "-")
    assert done.returncode == 2 and "Standard input reaches one process only" in done.stderr


def test_only_a_run_has_several_processes(site):
    done = site("tune", "logistic", "--data", "a.npy", "--mpi", env={**os.environ, **QUIET})
    assert done.returncode == 2 and "--mpi is for sgfs sample" in done.stderr


def test_without_the_plugin_it_is_said_what_makes_it(site, tmp_path):
    """The current folder is not searched, even where a plug-in lies there."""
    (tmp_path / "bin").mkdir()
    shutil.copy(PROGRAM, tmp_path / "bin" / "sgfs")
    shutil.copy(PLUGIN, site.folder / PLUGIN.name)
    words = [tmp_path / "bin" / "sgfs", "sample", "logistic", "--data", "a.npy", "--mpi"]
    done = subprocess.run(words, cwd=site.folder, capture_output=True, text=True,
                          env={**os.environ, **QUIET, "LD_LIBRARY_PATH": str(PLUGIN.parent)})
    assert done.returncode == 2 and "make mpi" in done.stderr, done.stderr
    (tmp_path / "bin" / PLUGIN.name).write_bytes(b"no library")
    done = subprocess.run(words, cwd=site.folder, capture_output=True, text=True, env={**os.environ, **QUIET})
    assert done.returncode == 3 and PLUGIN.name in done.stderr


# ---- an end before the end ------------------------------------------------------------------------

ENDLESS = ("logistic", "--data", "a.npy", "--sampler", "nuts", "--warmup", 20, "--draws", 1000000, "--seed", 3,
           "--threads", 1, "--checkpoint", 0.1, "--out", "fit.run", "--overwrite")


@pytest.mark.parametrize("number, rank", [(signal.SIGTERM, 1), (signal.SIGINT, 0), (signal.SIGINT, None)])
def test_asked_to_stop(site, number, rank):
    """One rank, or mpirun, as Ctrl-C does; it asks all of them, and has an exit code of its own then."""
    (site.folder / "fit.run").unlink(missing_ok=True)
    process = site.launch(3, *ENDLESS)
    ranks = site.ranks_of(process, 3)
    time.sleep(0.5)
    os.kill(ranks[rank] if rank is not None else process.pid, number)
    done = site.end_of(process)
    assert done.returncode == (75 if rank is not None else 1), done.stderr
    assert done.stderr.count("sgfs sample: Stopped early") == 1, done.stderr
    assert "To go on: mpirun -n 3 sgfs sample --resume fit.run --mpi" in done.stderr
    assert gone(ranks.values())
    shown = site("summary", "fit.run", "--json")
    assert '"state": "stopped early"' in shown.stdout or "(stopped early)" in shown.stderr, shown


@pytest.mark.parametrize("time_of_kill", range(20 if LONG else 3))
def test_killed_at_any_moment(site, alone, time_of_kill):
    """The others end within seconds, and the run goes on with another number of ranks, to the same file."""
    chance = random.Random(811 + time_of_kill)
    words = (*words_of("nuts")[:-len(LENGTHS)], "--warmup", 10, "--draws", 40, "--seed", 3)
    whole, run = site.folder / "whole.run", site.folder / "fit.run"
    if not whole.exists():
        site.ok("sample", *words, "--threads", 1, "--out", whole, "-q")
    run.unlink(missing_ok=True)
    process = site.launch(3, *words, "--threads", 1, "--checkpoint", 0, "--out", run, "-q")
    ranks = site.ranks_of(process, 3)
    time.sleep(chance.uniform(0, 1))
    try:
        os.kill(ranks[chance.randrange(3)], signal.SIGKILL)
    except ProcessLookupError:
        pass  # it was complete before
    site.end_of(process)
    assert gone(ranks.values())
    assert site("summary", run).returncode != 6  # it can be read
    others = chance.choice([1, 2, 4])
    done = site.together(others, "--resume", run, "-q")
    assert done.returncode == 0, done.stderr
    assert_same(whole, run)


@pytest.mark.parametrize("rank", [2, 0])
def test_a_rank_that_is_stopped_is_named(site, rank):
    """SIGSTOP, as a machine that is gone without a word: all others wait, and rank 1 speaks where rank 0 is the one. Woken, the
    run goes on to its end, with the draws of one that nobody stopped."""
    words = ("logistic", "--data", "a.npy", "--sampler", "nuts", "--chains", 1, "--warmup", 20, "--draws", 150, "--seed", 3,
             "--threads", 1, "--overwrite", "-q", "--out")
    whole, run, log = site.folder / "awake.run", site.folder / "fit.run", site.folder / "stopped.log"
    if not whole.exists():
        site.ok("sample", *words, whole)
    run.unlink(missing_ok=True)
    with open(log, "w") as stderr:
        process = site.launch(3, *words, run, stderr=stderr)
        ranks = site.ranks_of(process, 3)
        os.kill(ranks[rank], signal.SIGSTOP)
        begin, said = time.monotonic(), ""
        while "does not answer" not in said and time.monotonic() < begin + 30 and process.poll() is None:
            time.sleep(0.1)
            said = log.read_text()
        os.kill(ranks[rank], signal.SIGCONT)
        done = site.end_of(process)
    assert f"Rank {rank} of 3 does not answer" in said, said
    assert done.returncode == 0 and log.read_text().count("All processes answer again") == 1, log.read_text()
    assert (site.draws("awake.run") == site.draws("fit.run")).all()


def test_ctrl_c_ends_a_run_that_waits_for_a_stopped_rank(site):
    (site.folder / "fit.run").unlink(missing_ok=True)
    process = site.launch(3, *ENDLESS)
    ranks = site.ranks_of(process, 3)
    os.kill(ranks[1], signal.SIGSTOP)
    time.sleep(0.5)
    os.kill(process.pid, signal.SIGINT)
    site.end_of(process)
    assert gone(ranks.values())
    assert site("summary", "fit.run").returncode != 6  # it can be read


def test_a_complete_run_becomes_longer(site, alone):
    for name, ranks in (("long-1.run", 1), ("long-3.run", 3)):
        shutil.copy(alone("exact-hmc"), site.folder / name)
        done = site.together(ranks, "--resume", name, "--draws", 50, "-q")
        assert done.returncode == 0, done.stderr
    assert_same(site.folder / "long-1.run", site.folder / "long-3.run")
