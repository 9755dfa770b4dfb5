# SPDX-License-Identifier: MIT
"""Several processes that mpirun starts: the bits of one alone, one sentence for all of them, and an end for
all of them when one ends."""
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


def test_a_complete_run_becomes_longer(site, alone):
    for name, ranks in (("long-1.run", 1), ("long-3.run", 3)):
        shutil.copy(alone("exact-hmc"), site.folder / name)
        done = site.together(ranks, "--resume", name, "--draws", 50, "-q")
        assert done.returncode == 0, done.stderr
    assert_same(site.folder / "long-1.run", site.folder / "long-3.run")
