# SPDX-License-Identifier: MIT
"""What libraries read from the environment while they are loaded. On a processor that OpenBLAS does not know it falls back to kernels of 2004: the program begins once more and asks for
better ones. The processor is played by a library in front of OpenBLAS, which says so unless it is told otherwise. Idle threads of OpenMP sleep soon."""
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


# ---- how threads wait ------------------------------------------------------------------------------

LOOK = r"""
#include <stdio.h>
#include <stdlib.h>
__attribute__((constructor)) static void look_once(void) {
    const char *spins = getenv("GOMP_SPINCOUNT");
    FILE *f = fopen("seen", "a");
    if (f == NULL) return;
    fprintf(f, "%s\n", spins != NULL ? spins : "-");
    fclose(f);
}
"""


@pytest.fixture
def seen(sgfs):
    """What the variable was each time that the program began."""
    if SANITIZED or shutil.which("cc") is None or not os.path.exists("/proc/self/exe"):
        pytest.skip("needs a compiler, and a program that libraries can be put in front of")
    (sgfs.folder / "look.c").write_text(LOOK)
    subprocess.run(["cc", "-shared", "-fPIC", "-o", "look.so", "look.c"], cwd=sgfs.folder, check=True)
    write(sgfs.folder / "a.csv", lines(*quarters()))
    calm = {k: v for k, v in os.environ.items() if not k.startswith(("OMP_", "GOMP_", "LD_PRELOAD"))}

    def begun(*words, **told):
        (sgfs.folder / "seen").unlink(missing_ok=True)
        sgfs.ok(*words, "--overwrite", env={**calm, **told, "LD_PRELOAD": str(sgfs.folder / "look.so")})
        return (sgfs.folder / "seen").read_text().split()
    return begun


def test_threads_that_wait_sleep_soon(seen):
    assert seen(*SAMPLE) == ["-", "2000"]


def test_a_user_who_says_how_threads_wait_is_heard(seen):
    assert seen(*SAMPLE, OMP_WAIT_POLICY="active") == ["-"]
    assert seen(*SAMPLE, GOMP_SPINCOUNT="77") == ["77"]
