# SPDX-License-Identifier: MIT
"""--device cuda and auto where there is no GPU, and on a pretended one (tests/cuda/pretended), whose plug-in lies beside a
copy of the program: each sentence and exit code of docs/gpu.md, draws that are those of blas up to rounding, and runs
that lose their GPU."""
import json
import os
import pathlib
import re
import shutil
import subprocess

import numpy as np
import pytest

from cli_program import PROGRAM

BUILD = pathlib.Path(os.environ.get("SGFS_BUILD", pathlib.Path(PROGRAM or "/").parent))
PRETENDED = BUILD / "tests" / "pretended" / "libsgfs_cuda.so"
pretended = pytest.mark.skipif(not PRETENDED.exists(), reason="no compiler of C++: there is no pretended GPU")
SAMPLE = ("sample", "logistic", "--data", "d.csv", "--sampler", "sgfs-f", "--batch", "100", "--chains", "2", "--warmup",
          "100", "--draws", "100", "--thin", "1", "--seed", "3")


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """A folder with a table; plain: the program alone; gpu: beside the pretended plug-in."""
    folder = tmp_path_factory.mktemp("gpu")
    make = np.random.default_rng(17)
    x = make.standard_normal((400, 3))
    y = make.uniform(size=400) < 1 / (1 + np.exp(-x @ [1, -0.5, 0.2]))
    np.savetxt(folder / "d.csv", np.column_stack([x, y]), delimiter=",", header="a,b,c,y", comments="", fmt="%.6f")
    for place in ("plain", "gpu"):
        (folder / place).mkdir()
        shutil.copy(PROGRAM, folder / place / "sgfs")
    if PRETENDED.exists():
        shutil.copy(PRETENDED, folder / "gpu")
    return folder


def run(site, place, *words, **environment):
    return subprocess.run([site / place / "sgfs", *map(str, words)], cwd=site, capture_output=True, text=True, timeout=120,
                          env={**os.environ, **environment})


def draws(site, name):
    done = run(site, "plain", "export", name, name + ".csv", "--overwrite")
    assert done.returncode == 0, done.stderr
    return np.genfromtxt(site / (name + ".csv"), delimiter=",", skip_header=1)


def test_without_the_plug_in(site):
    done = run(site, "plain", *SAMPLE, "--device", "cuda")
    assert done.returncode == 2 and "--device cuda needs libsgfs_cuda.so" in done.stderr and "make cuda" in done.stderr
    done = run(site, "plain", *SAMPLE, "--device", "auto", "--out", "auto.run")
    assert done.returncode == 0 and "--device auto: the processor" in done.stderr


def test_words_that_are_no_device(site):
    for word in ("gpu", "cuda:", "cuda:x", "blas:1"):
        done = run(site, "plain", *SAMPLE, "--device", word)
        assert done.returncode == 2 and f'not "{word}"' in done.stderr, done.stderr


def test_a_plug_in_of_another_kind(site):
    (site / "odd").mkdir()
    shutil.copy(PROGRAM, site / "odd" / "sgfs")
    (site / "odd" / "libsgfs_cuda.so").write_bytes(b"no library")
    done = run(site, "odd", *SAMPLE, "--device", "cuda")
    assert done.returncode == 3 and "libsgfs_cuda.so" in done.stderr, done.stderr


@pretended
def test_a_factor_is_made_anew_there(site):
    """Where a processor would update the factor by the rows of the batch: D from 400 on, and four times n."""
    make = np.random.default_rng(5)
    np.save(site / "wide.npy", np.column_stack([make.standard_normal((500, 400)), make.uniform(size=500) < 0.5]))
    for place, device, updated in (("plain", "blas", True), ("gpu", "cuda", False)):
        done = run(site, place, "sample", "logistic", "--data", "wide.npy", "--sampler", "sgfs-f", "--batch", 100,
                   "--device", device, "--chains", 1, "--warmup", 2, "--draws", 2, "--out", f"wide-{device}.run",
                   "--allow-unconverged", "--quiet")
        assert done.returncode == 0, done.stderr
        title = json.loads(run(site, "plain", "summary", f"wide-{device}.run", "--json").stdout)["title"]
        assert ("updated by cholesky" in title) == updated, title


@pretended
def test_without_a_gpu(site):
    done = run(site, "gpu", *SAMPLE, "--device", "cuda", SGFS_PRETENDED_CARDS="0")
    assert done.returncode == 2 and "no CUDA-capable device is detected" in done.stderr, done.stderr
    done = run(site, "gpu", *SAMPLE, "--device", "cuda:2", SGFS_PRETENDED_CARDS="2")
    assert done.returncode == 2 and "There is no GPU 2: this machine has 2" in done.stderr, done.stderr
    done = run(site, "gpu", *SAMPLE, "--device", "cuda", SGFS_PRETENDED_SHARED="101376")  # of a GeForce
    assert done.returncode == 2 and "share 99 kB of memory, and 144 are needed" in done.stderr, done.stderr


@pretended
@pytest.mark.parametrize("sampler", ["sgfs-f", "sgld"])
def test_draws_are_those_of_the_processor(site, sampler):
    words = [sampler if w == "sgfs-f" else w for w in SAMPLE] + (["--epsilon", "1e-4"] if sampler == "sgld" else [])
    for name, device, place in (("a.run", "blas", "plain"), ("b.run", "cuda", "gpu"), ("c.run", "cuda:0", "gpu")):
        done = run(site, place, *words, "--device", device, "--out", name, "--overwrite")
        assert done.returncode in (0, 7), done.stderr
    here, there, again = draws(site, "a.run"), draws(site, "b.run"), draws(site, "c.run")
    assert here.shape == there.shape and np.nanmax(abs(here - there) / (1 + abs(here))) < 1e-9
    assert np.array_equal(there, again, equal_nan=True)


@pretended
def test_a_run_goes_on_where_it_stopped(site):
    done = run(site, "gpu", *SAMPLE, "--device", "cuda", "--out", "long.run")
    assert done.returncode in (0, 7), done.stderr
    half = [w if w != "100" or SAMPLE[i - 1] != "--draws" else "40" for i, w in enumerate(SAMPLE)]
    done = run(site, "gpu", *half, "--device", "cuda", "--out", "half.run")
    assert done.returncode in (0, 7), done.stderr
    done = run(site, "gpu", "sample", "--resume", "half.run", "--draws", "100")
    assert done.returncode in (0, 7), done.stderr
    assert np.array_equal(draws(site, "long.run"), draws(site, "half.run"), equal_nan=True)


@pretended
def test_too_little_memory(site):
    done = run(site, "gpu", *SAMPLE, "--device", "cuda", SGFS_PRETENDED_BYTES="20000")
    assert done.returncode == 2 and "bytes" in done.stderr and "of its 20000 are free" in done.stderr, done.stderr


PAIRS = ("sample", "logistic", "--data", "d.csv", "--sampler", "exact-pairs", "--chains", "2", "--warmup", "100", "--draws",
         "20000", "--thin", "1", "--seed", "3", "--device", "cuda", "--out", "lost.run", "--overwrite")


@pretended
@pytest.mark.parametrize("after", range(110, 290, 40))  # while the GPU makes pairs of later iterations
def test_a_gpu_that_is_lost_while_it_makes_pairs(site, after):
    done = run(site, "gpu", *PAIRS, SGFS_PRETENDED_LOSS=str(after))
    assert done.returncode == 5 and "The work on the device cuda cannot go on: GPU 0 (pretended GPU): " in done.stderr, done.stderr
    assert "sgfs sample --resume lost.run" in done.stderr
    kept = draws(site, "lost.run")
    assert 200 <= len(kept) < 40000 and np.isfinite(kept).all(), done.stderr


LONG = ["20" if w == "--warmup" else "4000" if w == "--draws" else v for w, v in zip(("", *SAMPLE), SAMPLE)]


@pretended
@pytest.mark.parametrize("words, after", [
    *(([*SAMPLE, "--fisher-fade"], after) for after in range(3000, 3024, 2)),  # wherever in an iteration that is
    *((LONG, after) for after in range(80, 86, 2))])  # that the GPU makes many of at once
def test_a_gpu_that_is_lost(site, words, after):
    (site / "lost.run").unlink(missing_ok=True)
    done = run(site, "gpu", *words, "--device", "cuda", "--out", "lost.run", SGFS_PRETENDED_LOSS=str(after))
    assert done.returncode == 5 and "The work on the device cuda cannot go on: GPU 0 (pretended GPU): " in done.stderr, done.stderr
    assert "sgfs sample --resume lost.run" in done.stderr
    kept = draws(site, "lost.run")
    assert 2 <= len(kept) < (200 if words != LONG else 8000) and np.isfinite(kept[:, -1]).all(), done.stderr


@pretended
def test_what_a_gpu_does_nothing_for(site):
    (site / "d.svm").write_text("".join(f"{i % 2} 1:{i % 7} 2:{i % 5}\n" for i in range(200)), encoding="utf-8")
    done = run(site, "gpu", "sample", "logistic", "--data", "d.svm", *SAMPLE[4:], "--device", "cuda", "--out", "s.run")
    assert done.returncode in (0, 7) and "--device cuda can do nothing for sparse rows" in done.stderr, done.stderr
    words = ["--data", "d.csv", "--chains", "1", "--warmup", "20", "--draws", "20", "--device", "cuda", "--out",
             "n.run", "--overwrite"]
    done = run(site, "gpu", "sample", "mlp", "--output", "logistic", "--sampler", "nuts", *words)
    assert done.returncode in (0, 7) and "--device cuda can do nothing for it" in done.stderr, done.stderr
    for model in ("logistic", "softmax"):
        done = run(site, "gpu", "sample", model, "--sampler", "nuts", *words)
        assert done.returncode in (0, 7) and "--device cuda" not in done.stderr, done.stderr
    done = run(site, "gpu", "sample", "logistic", "--sampler", "exact-rows", *words)
    assert done.returncode in (0, 7) and "--device cuda makes the passes over all rows" in done.stderr, done.stderr


@pretended
def test_auto_takes_it_where_it_pays(site):
    make = np.random.default_rng(5)
    x = make.standard_normal((700, 220)).astype(np.float32)
    y = (make.uniform(size=700) < 0.5).astype(np.float32)
    np.save(site / "wide.npy", np.column_stack([x, y]))
    words = ("sample", "logistic", "--data", "wide.npy", "--sampler", "sgfs-f", "--chains", "1", "--warmup", "2",
             "--draws", "2", "--fisher-fill", "0.5", "--fisher-ridge", "0.1", "--device", "auto", "--out", "w.run",
             "--overwrite")
    done = run(site, "gpu", *words)
    assert "--device auto: the GPU, pretended GPU" in done.stderr, done.stderr
    done = run(site, "gpu", *words, SGFS_PRETENDED_BYTES="1000000")
    assert "--device auto: the processor, as the GPU has" in done.stderr, done.stderr
    done = run(site, "gpu", *words, SGFS_PRETENDED_CARDS="0")
    assert "--device auto: the processor." in done.stderr and done.returncode in (0, 7), done.stderr


TIGHT = {"SGFS_PRETENDED_BYTES": "800000", "OPENBLAS_NUM_THREADS": "1"}  # rows of wide.sgd and long.npy are 730,000
PASSES = ("--features", "x1,x2,x3,x59,x60", "--seed", "3", "--chains", "1", "--overwrite")


@pytest.fixture(scope="module")
def large(site):
    """1,500 rows of 60 columns and a target: in memory, and in a packed file of some hundred chunks."""
    make = np.random.default_rng(23)
    x = make.standard_normal((1500, 60))
    y = make.uniform(size=1500) < 1 / (1 + np.exp(-x[:, :3] @ [1, -0.5, 0.2]))
    np.save(site / "long.npy", np.column_stack([x, y]))
    done = run(site, "plain", "pack", "long.npy", "--out", "long.sgd")
    assert done.returncode == 0, done.stderr
    return site


def passes(site, place, name, *words, **environment):
    done = run(site, place, "sample", "logistic", *words, *PASSES, "--out", name, **environment)
    assert done.returncode in (0, 7), done.stderr
    return done.stderr, draws(site, name)


@pretended
@pytest.mark.parametrize("data, sampler", [("long.npy", ("laplace", "--draws", "50")), ("long.sgd", ("laplace", "--draws", "50")),
                                           ("long.sgd", ("hmc", "--leapfrog", "3", "--warmup", "3", "--draws", "3"))])
def test_rows_that_have_no_room(large, data, sampler):
    words = ["--data", data, "--sampler", *sampler]
    _, here = passes(large, "plain", "h.run", *words)
    said, there = passes(large, "gpu", "t.run", *words, "--device", "cuda", **TIGHT)
    assert "lie on the device cuda; each pass over all rows copies the others there" in said
    assert here.shape == there.shape and np.nanmax(abs(here - there) / (1 + abs(here))) < 1e-7
    _, again = passes(large, "gpu", "t.run", *words, "--device", "cuda", **TIGHT)
    assert np.array_equal(there, again, equal_nan=True)


@pretended
@pytest.mark.parametrize("sampler, room", [(("sgfs-f",), "4000000000"), (("sgld", "--epsilon", "1e-4"), "4000000000"),
                                           (("sgld", "--epsilon", "1e-4"), TIGHT["SGFS_PRETENDED_BYTES"])])
def test_minibatches_of_a_packed_file(large, sampler, room):
    """All rows are there, or the processor gathers."""
    words = ["--data", "long.sgd", "--sampler", *sampler, "--batch", "100", "--warmup", "60", "--draws", "60", "--thin", "1"]
    _, here = passes(large, "plain", "h.run", *words)
    said, there = passes(large, "gpu", "t.run", *words, "--device", "cuda", SGFS_PRETENDED_BYTES=room)
    assert ("lie on the device cuda" in said) == (room != "4000000000")
    assert here.shape == there.shape and np.nanmax(abs(here - there) / (1 + abs(here))) < 1e-7


@pretended
@pytest.mark.parametrize("at", [0.005, 0.5])  # of the file: what comes in each pass; what is copied once
@pytest.mark.parametrize("room", ["4000000000", "800000"])
def test_a_damaged_page(large, at, room):
    data = bytearray((large / "long.sgd").read_bytes())
    data[int(at * 1500 * 61 * 8) + 4096] ^= 1
    (large / "bad.sgd").write_bytes(data)
    words = ("sample", "logistic", "--data", "bad.sgd", "--sampler", "laplace", *PASSES, "--out", "bad.run")
    here = run(large, "plain", *words)
    there = run(large, "gpu", *words, "--device", "cuda", **dict(TIGHT, SGFS_PRETENDED_BYTES=room))
    sentence = re.search(r"bad\.sgd: is damaged: the checksum of rows \d+ to \d+ is wrong\..*", here.stderr).group()
    assert here.returncode == there.returncode == 3 and sentence in there.stderr, there.stderr


@pretended
def test_a_gpu_that_is_lost_while_rows_come(large):
    (large / "gone.run").unlink(missing_ok=True)
    words = ("sample", "logistic", "--data", "long.sgd", "--sampler", "hmc", "--leapfrog", "2", "--warmup", "2", "--draws", "90", "--thin", "1",
             *PASSES, "--out", "gone.run", "--device", "cuda")
    done = run(large, "gpu", *words, **TIGHT, SGFS_PRETENDED_LOSS="6000")
    assert done.returncode == 5 and "The work on the device cuda cannot go on: GPU 0 (pretended GPU): " in done.stderr, done.stderr
    assert "sgfs sample --resume gone.run" in done.stderr
    assert 1 <= len(draws(large, "gone.run")) < 90


@pretended
def test_predictions_are_those_of_the_processor(site):
    """With a line that lacks a value and one that lacks its target, on one thread and on three."""
    lines = (site / "d.csv").read_text(encoding="utf-8").splitlines()[:28]
    lines[3], lines[9] = ",".join(["", *lines[3].split(",")[1:]]), ",".join([*lines[9].split(",")[:3], ""])
    (site / "new.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    for model in ("logistic", "softmax"):
        done = run(site, "gpu", "sample", model, "--data", "d.csv", "--draws", "40", "--warmup", "40", "--chains", "2",
                   "--out", "fit.run", "--overwrite")
        assert done.returncode in (0, 7), done.stderr
        said = {}
        for name, words in (("blas", ()), ("cuda", ("--threads", "1")), ("cuda", ("--threads", "3"))):
            done = run(site, "gpu", "predict", "fit.run", "--data", "new.csv", "--na", "drop", "--device", name, *words,
                       "--out", "p.csv", "--overwrite")
            assert done.returncode == 0, done.stderr
            before, said[name] = said.get(name), (site / "p.csv").read_text(encoding="utf-8")
            assert before is None or before == said[name]
        here, there = (np.genfromtxt(text.splitlines(), delimiter=",", skip_header=1) for text in said.values())
        assert here.shape == there.shape and np.isnan(here[2, 1:]).all()
        assert np.nanmax(abs(here - there) / (1e-3 + abs(here))) < 1e-10
        assert (np.isnan(here) == np.isnan(there)).all()


@pretended
def test_predictions_without_the_gpu(site):
    words = ("predict", "fit.run", "--data", "new.csv", "--na", "drop", "--out", "p.csv", "--overwrite", "--device")
    done = run(site, "gpu", *words, "auto")  # a short file
    assert done.returncode == 0 and "--device auto: the GPU" not in done.stderr, done.stderr
    done = run(site, "gpu", *words, "cuda", SGFS_PRETENDED_BYTES="100000")  # too little memory: the processor's
    assert done.returncode == 0, done.stderr
    done = run(site, "gpu", *words, "cuda", SGFS_PRETENDED_CARDS="0")
    assert done.returncode == 2 and "no CUDA-capable device is detected" in done.stderr, done.stderr
    done = run(site, "gpu", *words, "cuda", SGFS_PRETENDED_LOSS="5")
    assert done.returncode == 5 and "The work on the device cuda cannot go on" in done.stderr, done.stderr
