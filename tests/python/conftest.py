# SPDX-License-Identifier: MIT
"""The package of python/ with the library of this build, and small data to sample."""
import os
import pathlib
import re
import subprocess
import sys

import pytest

SOURCE = pathlib.Path(os.environ.get("SGFS_SOURCE") or pathlib.Path(__file__).parents[2])
BUILD = pathlib.Path(os.environ.get("SGFS_BUILD") or SOURCE / "build")
sys.path.insert(0, str(SOURCE / "python"))
os.environ.setdefault("SGFS_LIBRARY", str(BUILD / "libsgfs.so"))
CACHE = BUILD / "CMakeCache.txt"
if CACHE.exists() and re.search(r"^SGFS_SANITIZE:\w+=\S", CACHE.read_text(), re.M):
    sys.modules["sgfs"] = None  # a sanitized library ends the Python that loads it: the import fails instead


@pytest.fixture(scope="session")
def sgfs():
    """The package; skipped where the library cannot be loaded into Python (sanitizers)."""
    pytest.importorskip("numpy")
    try:
        import sgfs
    except ImportError as error:
        pytest.skip(f"the package cannot be loaded: {error}")
    return sgfs


@pytest.fixture(scope="session")
def program():
    """Runs the command line, in a folder."""
    name = os.environ.get("SGFS")
    if not name:
        pytest.skip("SGFS (the program) is not set")

    def run(folder, *words):
        done = subprocess.run([name, *map(str, words)], cwd=folder, capture_output=True, text=True)
        assert done.returncode in (0, 7), done.stderr
        return done.stdout

    return run


@pytest.fixture(scope="session")
def people(tmp_path_factory):
    """A table with numbers and words as columns of lists, and the same as a CSV file."""
    import numpy as np

    rng = np.random.default_rng(3)
    rows = 800
    city = np.array(["Kiel", "Lyon", "Oslo", "São Paulo"])[rng.integers(0, 4, rows)]
    age = rng.uniform(18, 78, rows)
    visits = rng.poisson(7, rows)
    eta = 0.03 * (age - 48) + 0.4 * (city == "Oslo") - 0.1 * visits + 0.5
    bought = np.where(rng.random(rows) < 1 / (1 + np.exp(-eta)), "yes", "no")
    columns = {"age": age, "city": city, "visits": visits, "bought": bought}
    path = tmp_path_factory.mktemp("people") / "people.csv"
    lines = [",".join(columns)]
    lines += [",".join(repr(v) if isinstance(v, float) else str(v) for v in row)
              for row in zip(*(column.tolist() for column in columns.values()))]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return columns, path
