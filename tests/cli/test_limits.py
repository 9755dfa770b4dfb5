# SPDX-License-Identifier: MIT
"""What there is not enough of: memory for the arithmetic, memory for rows, and somebody at the other end of a pipe.
Each is refused with a sentence, before it is tried; none of them hangs."""
import gzip
import os
import re
import resource
import subprocess
from pathlib import Path

import numpy as np
import pytest

from cli_program import SHORT, lines, quarters, write

MEMORY, DATA, IO = 1, 3, 5
CACHE = (Path(os.environ["SGFS_BUILD"]) / "CMakeCache.txt").read_text()
sanitized = pytest.mark.skipif(bool(re.search(r"^SGFS_SANITIZE:\w+=.", CACHE, re.M)),
                               reason="sanitizers take all address space there is")


@pytest.fixture(scope="module")
def site(shared):
    x, y = quarters()
    write(shared.folder / "good.csv", lines(x, y))
    shared.ok("sample", "logistic", "--data", "good.csv", *SHORT, "--out", "fit.run", "-q")
    os.mkfifo(shared.folder / "pipe")
    return shared


# ---- address space -------------------------------------------------------------------------------

@sanitized
@pytest.mark.parametrize("megabytes", [130, 140, 160, 200, 250, 300, 350, 450])
def test_little_address_space_is_refused_with_the_bytes_and_hangs_nothing(site, megabytes):
    """OpenBLAS tries for ever to get 128 MB for each thread, also while the process ends."""
    limit = megabytes << 20
    done = site("sample", "logistic", "--data", "good.csv", *SHORT, "--sampler", "sgfs-f", "--out", "few.run",
                "--overwrite", "-q", preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit)))
    if "error while loading shared libraries" in done.stderr:
        pytest.skip("the loader itself needs more")
    assert done.returncode in (0, MEMORY), done.stderr
    if done.returncode == MEMORY:
        assert re.search(r"OpenBLAS needs \d{8,} bytes|Out of memory", done.stderr)


@sanitized
@pytest.mark.parametrize("megabytes", [130, 200, 250, 300, 400])
def test_an_export_in_little_address_space_is_refused_and_hangs_nothing(site, megabytes):
    """netCDF makes its file in a child process, and a fork waits for OpenBLAS's threads."""
    limit = megabytes << 20
    done = site("export", "fit.run", "fit.nc", "--overwrite", "-q",
                preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit)))
    if "error while loading shared libraries" in done.stderr:
        pytest.skip("the loader itself needs more")
    assert done.returncode in (0, MEMORY), done.stderr
    assert done.returncode == 0 or "memory" in done.stderr


@sanitized
@pytest.mark.parametrize("words", [("--sampler", "nuts", "--metric", "dense"), ("--sampler", "sgfs-f")])
def test_a_matrix_that_cannot_fit_is_refused_with_both_numbers(site, words):
    limit = 3 << 30
    site.ok("simulate", "logistic", "--rows", "20", "--dim", "30000", "--out", "wide.npy", "--overwrite", "-q")
    done = site("sample", "logistic", "--data", "wide.npy", *words, "--out", "wide.run", "-q",
                preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit)))
    assert done.returncode == MEMORY
    numbers = [float(x) for x in re.findall(r"([\d.]+) GB", done.stderr)]
    assert len(numbers) == 2 and numbers[0] > 7 and 2 < numbers[1] < 3.3, done.stderr


# ---- rows ----------------------------------------------------------------------------------------

@sanitized
@pytest.mark.parametrize("name, row", [("long.csv", "0,0,0\n"), ("long.svm", "0 1:1 2:1\n")])
def test_rows_that_find_no_room_are_refused_with_both_numbers(site, name, row):
    """Less than there is memory for, by their number alone; but the array cannot double any more."""
    (site.folder / name).write_text(row * 6000000)
    limit = 420 << 20
    done = site("sample", "logistic", "--data", name, "--max-bytes", "1e12", "--out", "long.run", "-q",
                preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit)))
    (site.folder / name).unlink()
    assert done.returncode == MEMORY
    need, there = (float(x) for x in re.findall(r"([\d.]+) MB", done.stderr))
    assert 140 < need < 250 and there == 440 and "sgfs pack" in done.stderr, done.stderr


@pytest.fixture(scope="module")
def bomb(site):
    """1.6 million rows in a few kB."""
    with gzip.open(site.folder / "bomb.csv.gz", "wb") as f:
        f.write(b"a,b,y\n" + b"0,0,0\n" * 1600000 + b"1,1,1\n")
    with gzip.open(site.folder / "bomb.svm.gz", "wb") as f:
        f.write(b"0 1:1 2:1\n" * 1600000 + b"1 1:2\n")
    assert (site.folder / "bomb.csv.gz").stat().st_size < 100000
    return site


@pytest.mark.parametrize("words", [("--data", "bomb.csv.gz"), ("--data", "bomb.svm.gz"),
                                   ("--data", "good.csv", "--validate", "bomb.csv.gz")])
def test_a_file_that_expands_beyond_the_limit_is_refused(bomb, words):
    done = bomb("sample", "logistic", *words, "--max-bytes", "2e6", *SHORT, "--sampler", "sgld", "--out", "bomb.run")
    assert done.returncode == DATA, done.stderr
    assert re.search(r"bomb\.\w+\.gz: its rows take more than 2000000 bytes of memory \(--max-bytes", done.stderr)
    assert not (bomb.folder / "bomb.run").exists()


def test_the_limit_is_one_of_memory_and_not_of_the_file(bomb):
    """Mapped and packed files take none, and rows that fit are read whatever the file's size."""
    x, y = quarters()
    np.save(bomb.folder / "rows.npy", np.column_stack([x, y]))
    bomb.ok("sample", "logistic", "--data", "rows.npy", "--max-bytes", "10", *SHORT, "--out", "npy.run", "-q")
    size = 60 * 3 * 8
    bomb.ok("sample", "logistic", "--data", "good.csv", "--max-bytes", size, *SHORT, "--out", "fits.run", "-q")
    assert bomb("sample", "logistic", "--data", "good.csv", "--max-bytes", size - 1, *SHORT, "--out", "n.run"
                ).returncode == DATA
    bomb.ok("pack", "bomb.csv.gz", "--memory", "8M", "--out", "bomb.sgd", "-q")


# ---- pipes ---------------------------------------------------------------------------------------

SAMPLE = ("sample", "logistic", "--data", "good.csv", *SHORT, "--out", "none.run")
NOBODY = [(*SAMPLE, "--config", "pipe"), (*SAMPLE, "--prior-file", "pipe"), (*SAMPLE, "--start", "pipe"),
          (*SAMPLE, "--sampler", "sgfs-f", "--b-file", "pipe"), (*SAMPLE, "--validate", "pipe"),
          ("sample", "logistic", "--data", "pipe", "--out", "none.run"), ("compare", "fit.run", "--reference", "pipe"),
          ("predict", "fit.run", "--data", "pipe"), ("pack", "pipe", "--out", "none.sgd"), ("pack", "--check", "pipe"),
          ("summary", "pipe"), ("audit", "pipe"), ("export", "pipe", "none.npy")]


def test_a_pipe_that_nobody_writes_to_is_refused(site):
    """All at once: each of them waits a few seconds for somebody."""
    for words, process in [(words, site.start(*words)) for words in NOBODY]:
        _, said = process.communicate(timeout=60)
        assert process.returncode in (DATA, IO, 6), (words, said)
        assert re.search(r"pipe: is (a pipe, and nobody writes|no plain file|not a regular file)|nor a plain file", said)


def test_a_writer_that_takes_its_time_is_waited_for(site):
    command = f"{os.environ['SGFS']} sample logistic --data <(sleep 6; cat good.csv) --config <(sleep 6; " \
              "echo '{\"run.draws\": 20, \"run.warmup\": 20, \"sampler.kind\": \"sgld\"}') --out slow.run -q " \
              "--allow-unconverged"
    done = subprocess.run(["bash", "-c", command], cwd=site.folder, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert site.draws("slow.run").shape[1] == 20
