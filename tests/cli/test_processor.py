# SPDX-License-Identifier: MIT
"""On a processor that OpenBLAS does not know it falls back to kernels of 2004: the program begins once more and asks for
better ones. The processor is played by a library in front of OpenBLAS, which says so unless it is told otherwise."""
import os
import shutil
import subprocess

import pytest

from cli_program import SANITIZED, lines, quarters, write
from test_choose import header

SHIM = r"""
#include <stdlib.h>
static char *core = "Prescott";
__attribute__((constructor)) static void look_once(void) {
    char *told = getenv("OPENBLAS_CORETYPE");
    if (told != NULL) core = told;
}
char *openblas_get_corename(void) { return core; }
"""
NEW = any(" avx2 " in line for line in open("/proc/cpuinfo")) if os.path.exists("/proc/cpuinfo") else False


@pytest.fixture
def unknown(sgfs):
    """The environment of such a machine."""
    if SANITIZED or not NEW or shutil.which("cc") is None:
        pytest.skip("needs AVX2, a compiler, and a program that libraries can be put in front of")
    (sgfs.folder / "shim.c").write_text(SHIM)
    subprocess.run(["cc", "-shared", "-fPIC", "-o", "shim.so", "shim.c"], cwd=sgfs.folder, check=True)
    write(sgfs.folder / "a.csv", lines(*quarters()))
    env = {k: v for k, v in os.environ.items() if not k.startswith(("OPENBLAS_", "SGFS_BLAS"))}
    return {**env, "LD_PRELOAD": str(sgfs.folder / "shim.so")}


SAMPLE = ("sample", "logistic", "--data", "a.csv", "--out", "a.run", "--draws", "20", "--warmup", "20")


def test_better_kernels_are_asked_for(sgfs, unknown):
    done = sgfs.ok(*SAMPLE, env=unknown)
    machine = header(sgfs)["machine"]
    assert machine["blas_core"] in ("Haswell", "SkylakeX") and machine["blas_core_in_place_of"] == "Prescott"
    assert "older than this processor" not in done.stderr


def test_a_user_who_says_which_gets_it(sgfs, unknown):
    done = sgfs.ok(*SAMPLE, env={**unknown, "OPENBLAS_CORETYPE": "Prescott"})
    machine = header(sgfs)["machine"]
    assert machine["blas_core"] == "Prescott" and "blas_core_in_place_of" not in machine
    assert "older than this processor" not in done.stderr
