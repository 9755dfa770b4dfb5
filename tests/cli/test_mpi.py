# SPDX-License-Identifier: MIT
"""Several processes that mpirun starts: the bits of one alone, one sentence for all of them, and an end for
all of them when one ends."""
import os
import pathlib
import shutil
import subprocess

import pytest

from cli_program import PROGRAM, Sgfs

LAUNCHER = shutil.which("mpirun")
PLUGIN = pathlib.Path(PROGRAM or "/").parent / "libsgfs_mpi.so"
pytestmark = [pytest.mark.skipif(LAUNCHER is None, reason="there is no mpirun: make mpi installs it"),
              pytest.mark.skipif(not PLUGIN.exists(), reason="this build has no plug-in for MPI")]
# More processes than cores, no network, and it may be root who tests. Unknown to another MPI than Open MPI.
QUIET = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "OMPI_MCA_rmaps_base_oversubscribe": "1",
         "OMPI_MCA_mpi_yield_when_idle": "1", "OMPI_MCA_btl": "self,vader", "OMPI_MCA_btl_vader_single_copy_mechanism": "none",
         "OMPI_MCA_plm_rsh_agent": "", "OMPI_MCA_hwloc_base_binding_policy": "none"}


class Ranks(Sgfs):
    """The program in several processes, in one folder."""

    def launch(self, ranks, *words, **options):
        words = ["sample", "--allow-unconverged", *map(str, words), "--mpi"]
        options = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True,
                   "env": {**os.environ, **QUIET}, **options}
        return subprocess.Popen([LAUNCHER, "-q", "-n", str(ranks), PROGRAM, *words], cwd=self.folder, **options)

    def together(self, ranks, *words, **options):
        with self.launch(ranks, *words, **options) as process:
            out, err = process.communicate(timeout=120)
        return subprocess.CompletedProcess(process.args, process.returncode, out, err)


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """Rows for a logistic regression; 5,000 of them are five blocks, so that a seventh rank has none."""
    site = Ranks(tmp_path_factory.mktemp("mpi"))
    site.ok("simulate", "logistic", "--rows", 5000, "--seed", 4, "--out", "a.npy")
    return site


@pytest.mark.parametrize("ranks, sampler", [(3, "nuts"), (2, "exact-rows")])
def test_several_have_the_bits_of_one(site, ranks, sampler):
    words = ["logistic", "--data", "a.npy", "--sampler", sampler, "--warmup", 30, "--draws", 40, "--seed", 3,
             "--threads", 1, "--overwrite", "--out"]
    site.ok("sample", "--prior-precision", 1, *words, "one.run")
    done = site.together(ranks, "--prior-precision", 1, *words, "many.run")
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("parameter ") == 1  # one of them speaks
    assert (site.draws("one.run") == site.draws("many.run")).all()


def test_a_mistake_is_told_once(site):
    done = site.together(3, "logistic", "--data", "none.npy")
    assert done.returncode == 5 and done.stderr.count("none.npy") == 1, done.stderr
    done = site.together(3, "logistic", "--dota", "a.npy")
    assert done.returncode == 2 and done.stderr.count("--dota") == 1, done.stderr
