# SPDX-License-Identifier: MIT
"""Tests a wheel as a user meets it: a fresh environment, no compiler and no BLAS of the system.

    python3 python/check_wheel.py build-wheel/wheelhouse/sgfs-*.whl
"""

import os
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

MOST_BYTES = 25 << 20

INSIDE = r"""
import re, shutil, subprocess, sys, tempfile
from pathlib import Path
import numpy as np
import sgfs

assert [name for name in ("cc", "gcc", "clang", "cmake", "ld") if shutil.which(name)] == []
rng = np.random.default_rng(1)
x = rng.normal(size=(5000, 4))
y = (rng.random(5000) < 1 / (1 + np.exp(-x[:, 0]))).astype(float)
fit = sgfs.sample("logistic", x, y, seed=3)
assert fit.trust, fit.verdict
assert fit.predict(x[:5]).shape == (5, 2)

# What is loaded is the package's own, Python's own, or the C library.
system = r"/(ld-linux-x86-64|libc|libm|libmvec|libpthread|libdl|librt|libz|libutil)[.-]"
loaded = {line.split()[-1] for line in open("/proc/self/maps") if ".so" in line}
strange = [path for path in loaded if not path.startswith((sys.prefix, sys.base_prefix))
           and not re.search(system, path)]
strange = [path for path in strange if "/python3" not in path and "/lib-dynload/" not in path]
assert not [p for p in strange if re.search("blas|gomp|lapack|jansson|netcdf", p)], strange
print("loaded:", *sorted(Path(p).name for p in loaded if "sgfs" in p))

# The program that the wheel has installed draws the same numbers.
with tempfile.TemporaryDirectory() as folder:
    np.save(folder + "/rows.npy", np.column_stack([x, y]))
    program = str(Path(sys.executable).parent / "sgfs")
    subprocess.run([program, "sample", "logistic", "--data", "rows.npy", "--seed", "3", "--out",
                    "fit.run", "--quiet"], cwd=folder, check=True, stdout=subprocess.DEVNULL)
    assert np.array_equal(sgfs.open(folder + "/fit.run").draws, fit.draws)
    try:
        fit.export(folder + "/fit.nc")
    except sgfs.UsageError as error:
        assert "netCDF" in str(error)
    else:
        raise AssertionError("netCDF in the wheel")
print("the wheel works: sgfs", sgfs.__version__)
"""


def main(wheel):
    assert wheel.stat().st_size < MOST_BYTES, f"{wheel.stat().st_size} bytes"
    assert "-py3-none-manylinux" in wheel.name, wheel.name
    with tempfile.TemporaryDirectory() as folder:
        venv.create(folder, with_pip=True)
        python = Path(folder) / "bin" / "python"
        subprocess.run([python, "-m", "pip", "install", "-q", "--disable-pip-version-check",
                        wheel], check=True)
        bare = {"PATH": str(python.parent), "HOME": folder, "LANG": "C.UTF-8"}
        bare.update((k, v) for k, v in os.environ.items() if k == "TMPDIR")
        subprocess.run([python, "-c", INSIDE], env=bare, cwd=folder, check=True)


if __name__ == "__main__":
    for name in sys.argv[1:]:
        main(Path(name).resolve())
