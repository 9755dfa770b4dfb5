# SPDX-License-Identifier: MIT
"""Every fuzz target for a minute (FUZZ_SECONDS), by libFuzzer, with the seeds and whatever earlier minutes found
interesting."""
import os
import shutil
import subprocess
from pathlib import Path

import pytest

SOURCE = Path(os.environ.get("SGFS_SOURCE", "."))
BUILD = Path(os.environ.get("SGFS_BUILD", ".")) / "fuzz-build"
SECONDS = os.environ.get("FUZZ_SECONDS", "60")
TARGETS = sorted(p.stem.removeprefix("fuzz_") for p in (SOURCE / "fuzz").glob("fuzz_*.c"))
pytestmark = pytest.mark.skipif(not (shutil.which("clang") and shutil.which("cmake")), reason="no clang, or no cmake")


def run(*words):
    done = subprocess.run(words, cwd=SOURCE, capture_output=True, text=True)
    assert done.returncode == 0, (done.stdout + done.stderr)[-4000:]
    return done.stdout


@pytest.fixture(scope="module")
def built():
    run("cmake", "--preset", "fuzz", "-B", str(BUILD))
    run("cmake", "--build", str(BUILD), "-j", str(len(os.sched_getaffinity(0))), "--target", "fuzz")
    return BUILD


@pytest.mark.parametrize("target", TARGETS)
def test_a_minute_of_hostile_files(built, target):
    said = run("sh", "fuzz/run.sh", str(built), SECONDS, "1", target)
    assert f"fuzz {target}: " in said and "nothing found" in said
