# SPDX-License-Identifier: MIT
"""Memory of the Python package: an array of 2 GB is sampled with less than 100 MB on top, and five
million rows stream from Parquet into a packed file with a fraction of their size. Needs 4 GB of
memory and of disk."""
import os
import pathlib
import subprocess
import sys

import numpy as np
import pytest

SOURCE = pathlib.Path(os.environ.get("SGFS_SOURCE") or pathlib.Path(__file__).parents[2])
BUILD = pathlib.Path(os.environ.get("SGFS_BUILD") or SOURCE / "build")

HEAD = """
import os, sys, threading, time
import numpy as np
import sgfs

def used():
    return int(open("/proc/self/statm").read().split()[1]) * os.sysconf("SC_PAGE_SIZE")

class Peak:
    '''The most memory that was used inside of it, beyond what was used before.'''
    def __enter__(self):
        self.before = self.most = used()
        self.over = False
        self.thread = threading.Thread(target=self.look)
        self.thread.start()
        return self
    def look(self):
        while not self.over:
            self.most = max(self.most, used())
            time.sleep(0.005)
    def __exit__(self, *_):
        self.over = True
        self.thread.join()
        print(self.most - self.before)
"""

ARRAY = HEAD + """
rows, cols = 4_190_000, 60  # as many rows as just get entries of their own from exact-rows
x = np.empty((rows, cols))
rng = np.random.default_rng(1)
rng.standard_normal(out=x)
y = (x[:, 0] + rng.logistic(size=rows) > 0).astype(float)
sgfs.sample("linear", x[:1000], x[:1000, 1] + y[:1000], draws=10, ess=1)  # libraries and their threads
with Peak():
    fit = sgfs.sample(sys.argv[1], x, y, sampler=sys.argv[2], draws=100, chains=2, ess=1, progress=False)
assert fit.draws.shape[1] >= 100
"""

TABLE = HEAD + """
import polars, pyarrow.dataset
name, out = sys.argv[1:3]
if name == "dataset":
    rows = pyarrow.dataset.dataset("rows.parquet")
elif name == "polars":
    rows = polars.scan_parquet("rows.parquet")
else:
    import duckdb
    duckdb.sql("set memory_limit = '300MB'; set threads = 2; set enable_progress_bar = false")
    rows = duckdb.sql("select * from 'rows.parquet'")
with Peak():
    packed = sgfs.pack(rows, out, target="y", memory="64M", progress=False)
assert packed["rows"] == 5_000_000
with Peak():
    fit = sgfs.sample("linear", out, draws=100, chains=2, ess=1, warmup=200, sampler="sgfs-cv")
"""


def peaks(code, *words, folder):
    environment = {**os.environ, "PYTHONPATH": str(SOURCE / "python"), "POLARS_MAX_THREADS": "2",
                   "SGFS_LIBRARY": str(BUILD / "libsgfs.so"), "TMPDIR": str(folder)}
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", code, *words], cwd=folder, env=environment,
                          stdout=subprocess.PIPE, text=True, check=True)
    print(words, done.stdout.split())
    return [int(line) for line in done.stdout.split()]


@pytest.mark.parametrize("model, sampler", [("linear", "auto"), ("logistic", "sgfs-cv"),
                                            ("logistic", "auto")])
def test_an_array_is_not_copied(tmp_path, model, sampler):
    assert peaks(ARRAY, model, sampler, folder=tmp_path)[0] < 100e6


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """800 MB of numbers, and words."""
    pa, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    folder = tmp_path_factory.mktemp("parquet")
    rng = np.random.default_rng(2)
    writer = None
    for _ in range(50):
        x = rng.normal(size=(100_000, 20))
        columns = {f"c{j}": x[:, j] for j in range(20)}
        columns["city"] = np.array(["Kiel", "Lyon", "Oslo"])[rng.integers(0, 3, 100_000)]
        columns["y"] = x[:, 0] + rng.normal(size=100_000)
        table = pa.table({name: pa.array(column) for name, column in columns.items()})
        writer = writer or parquet.ParquetWriter(str(folder / "rows.parquet"), table.schema)
        writer.write_table(table)
    writer.close()
    return folder


@pytest.mark.parametrize("library", ["dataset", "polars", "duckdb"])
def test_a_table_streams(folder, library):
    pytest.importorskip("polars" if library == "dataset" else library)
    packing, sampling = peaks(TABLE, library, f"{library}.sgd", folder=folder)
    (folder / f"{library}.sgd").unlink()
    assert packing < 400e6, "of 840 MB"
    assert sampling < 840e6 * 1.3
