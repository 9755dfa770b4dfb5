# SPDX-License-Identifier: MIT
"""The same rows from CSV, npy, libsvm and IDX: the same draws and the same predictions, bit for bit where
the numbers in memory are the same. Values are quarters, which all of these hold exactly. Sparse rows are
added up in another order than dense ones: those draws agree to rounding, which a chain that contracts
does not blow up (1e-9 against a posterior spread of about 0.3; another minibatch would show at 1e-2)."""
import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
import gzip
import json
import pathlib
import struct

import numpy as np
import pytest

from cli_program import SHORT, lines, quarters, write

X, Y = quarters()
X = np.column_stack([X, np.where(X[:, :1] > 0.5, X[:, 1:], 0)])  # a column with many zeros
WHOLE = (4 * X + 8).astype(int)
SOURCE = pathlib.Path(os.environ.get("SGFS_SOURCE") or pathlib.Path(__file__).parents[2])
DATA = pathlib.Path(os.environ.get("SGFS_DATA") or SOURCE.parent / "shared" / "data")
A9A = DATA / "a9a" / "a9a.gz", DATA / "a9a" / "a9a.t.gz"
CODES = {"u1": 0x08, "i1": 0x09, "i2": 0x0B, "i4": 0x0C, "f4": 0x0D, "f8": 0x0E}


def libsvm(x, y, first=1):
    """Lines of libsvm text; the last column may be missing from all of them."""
    return [" ".join([f"{label:g}", *(f"{j + first}:{v!r}" for j, v in enumerate(row.tolist()) if v != 0)])
            for row, label in zip(x, y)]


def idx(array, kind):
    head = struct.pack(f">HBB{array.ndim}I", 0, CODES[kind], array.ndim, *array.shape)
    return head + array.astype(">" + kind).tobytes()


def put_idx(folder, name, x, y, kind="f8"):
    (folder / f"{name}.idx").write_bytes(idx(x, kind))
    (folder / f"{name}.labels.gz").write_bytes(gzip.compress(idx(np.asarray(y), kind)))


@pytest.fixture(scope="module")
def site(shared):
    folder = shared.folder
    write(folder / "plain.csv", lines(X, Y, names=None))
    write(folder / "whole.csv", lines(WHOLE, Y, names=None))
    np.save(folder / "plain.npy", np.column_stack([X, Y]))
    write(folder / "plain.txt", libsvm(X, Y))
    write(folder / "whole.txt", libsvm(WHOLE, Y))
    (folder / "plain.svm.gz").write_bytes(gzip.compress(("\n".join(libsvm(X, Y)) + "\n").encode()))
    put_idx(folder, "plain", X, Y)
    put_idx(folder, "whole", WHOLE.reshape(-1, 1, 3), Y, "u1")
    shared.plain = shared.sample("logistic", "plain.csv", out="plain.run")
    shared.whole = shared.sample("logistic", "whole.csv", out="whole.run")
    return shared


# ---- draws ---------------------------------------------------------------------------------------

FORMS = {"npy": ["plain.npy"], "libsvm, dense": ["plain.txt", "--dense"],
         "libsvm.gz, dense": ["plain.svm.gz", "--dense"], "IDX": ["plain.idx", "--labels", "plain.labels.gz"]}


@pytest.mark.parametrize("form", FORMS)
def test_draws(site, form):
    assert (site.sample("logistic", *FORMS[form]) == site.plain).all()


def test_draws_of_bytes(site):
    assert (site.sample("logistic", "whole.idx", "--labels", "whole.labels.gz") == site.whole).all()
    assert (site.sample("logistic", "whole.txt", "--dense", "--storage", "f32") == site.whole).all()


@pytest.mark.parametrize("words", [(), ("--sampler", "sgld"), ("--sampler", "sgfs-d", "--batch", "7")])
def test_sparse_rows(site, words):
    dense = site.sample("logistic", "plain.txt", "--dense", *words)
    sparse = site.sample("logistic", "plain.txt", *words)
    assert np.ptp(dense, axis=1).min() > 0.05
    np.testing.assert_allclose(sparse, dense, rtol=0, atol=1e-9)


def test_kinds_that_take_dense_rows_only(site):
    """A model without sparse scores gets the rows with their zeros. What is left is the rounding of the
    columns' means and spreads, with which chains start."""
    words = ["--hidden", "2", "--sampler", "sgfs-f", "--prior-precision", "1"]
    dense = site.sample("mlp", "plain.txt", "--dense", *words)
    np.testing.assert_allclose(site.sample("mlp", "plain.txt", *words), dense, rtol=0, atol=1e-9)


def test_zero_based(site):
    write(site.folder / "zero.txt", libsvm(X, Y, first=0))
    assert (site.sample("logistic", "zero.txt", "--zero-based", "--dense") == site.plain).all()
    done = site("sample", "logistic", "--data", "zero.txt", "--out", "bad.run")
    assert done.returncode == 3 and "--zero-based" in done.stderr


def test_columns(site):
    """A feature that never occurs is there when --columns says so, and its coefficient is the prior's."""
    draws = site.sample("logistic", "plain.txt", "--columns", "5")
    assert draws.shape[-1] == 6
    done = site("sample", "logistic", "--data", "plain.txt", "--columns", "2", "--out", "bad.run")
    assert done.returncode == 3 and "beyond the 2 features" in done.stderr


def test_standardised_sparse_columns_are_scaled_only(site):
    done = site.ok("sample", "logistic", "--data", "plain.txt", "--standardize", *SHORT, "--out", "std.run")
    assert "not centred" in done.stderr


# ---- everything that reads rows ------------------------------------------------------------------

def test_tune_check_grad_optimize(site):
    words = ["--data", "plain.txt", "-q"]
    site.ok("check-grad", "logistic", *words)
    for form in [], ["--dense"]:
        site.ok("tune", "logistic", *words, *form, "--sampler", "sgld", "--grid", "epsilon=1e-2,1e-3",
                "--folds", "2", "--out", "best.json", "--overwrite", "--draws", "50", "--warmup", "20")
        site.ok("optimize", "logistic", *words, *form, "--out", "best.run", "--overwrite")


def test_validate(site):
    curves = []
    for form in (["plain.csv", "--validate", "plain.csv"], ["plain.csv", "--validate", "plain.txt"],
                 ["plain.idx", "--labels", "plain.labels.gz", "--validate", "plain.idx",
                  "--validate-labels", "plain.labels.gz"]):
        site.sample("logistic", *form, out="aside.run")
        site.ok("export", "aside.run", "aside.curve.csv", "--overwrite", "-q")
        text = (site.folder / "aside.curve.csv").read_text().splitlines()
        wanted = [i for i, name in enumerate(text[0].split(",")) if name.startswith(("error", "log_loss"))]
        curves.append([[line.split(",")[i] for i in wanted] for line in text[1:]])
    assert len(curves[0]) > 5 and curves[0] == curves[1] == curves[2]
    done = site("sample", "logistic", "--data", "plain.csv", "--validate", "plain.idx", *SHORT, "--out", "no.run")
    assert done.returncode == 3 and "need it" in done.stderr


# ---- predict -------------------------------------------------------------------------------------

def predict(site, run, *words):
    """The predictions' text, what was measured, and what was said."""
    done = site.ok("predict", run, "--data", *words, "--out", "p.csv", "--overwrite", "--json")
    return (site.folder / "p.csv").read_text(), json.loads(done.stdout), done.stderr


FILES = {"npy": ["plain.npy"], "libsvm": ["plain.txt"], "libsvm.gz": ["plain.svm.gz"],
         "IDX": ["plain.idx", "--labels", "plain.labels.gz"]}


@pytest.mark.parametrize("form", FILES)
def test_predictions(site, form):
    """A run of a file without names predicts the columns of any other by place."""
    wanted, measured, _ = predict(site, "plain.run", "plain.csv")
    got, again, _ = predict(site, "plain.run", *FILES[form], *(["--target", "4"] if form != "npy" else []))
    assert got == wanted
    assert 0.1 < measured["log_loss"] == again["log_loss"]


@pytest.fixture(scope="module")
def sparse_run(site):
    site.sample("logistic", "plain.txt", out="sparse.run")
    return "sparse.run"


def test_the_target_is_found(site, sparse_run):
    for words in (["plain.txt"], ["plain.npy"], ["plain.idx", "--labels", "plain.labels.gz"]):
        text, measured, said = predict(site, sparse_run, *words)
        assert measured["log_loss"] > 0 and measured["rows"] == len(Y) and "ignored" not in said
    site.sample("logistic", "plain.idx", "--labels", "plain.labels.gz", out="idx.run")
    for words in (["plain.txt"], ["plain.npy"], ["plain.idx", "--labels", "plain.labels.gz"]):
        assert predict(site, "idx.run", *words)[1]["log_loss"] > 0


def test_idx_without_labels(site, sparse_run):
    wanted = predict(site, sparse_run, "plain.txt")[0].splitlines()
    text, measured, said = predict(site, sparse_run, "plain.idx")
    assert "log_loss" not in measured and "predictions only" in said
    assert [line.split(",")[:2] for line in text.splitlines()[1:]] == \
           [line.split(",")[:2] for line in wanted[1:]]
    done = site("sample", "logistic", "--data", "plain.idx", "--out", "no.run")
    assert done.returncode == 3 and "--labels" in done.stderr


def test_fewer_and_more_columns(site, sparse_run):
    few = np.column_stack([X[:, :2], np.zeros(len(X))])
    write(site.folder / "few.txt", libsvm(few, Y))  # column 3 never occurs
    np.save(site.folder / "few.npy", np.column_stack([few, Y]))
    assert predict(site, sparse_run, "few.txt")[0] == predict(site, sparse_run, "few.npy")[0]
    more = libsvm(X, Y)
    more[4] += " 7:1 2000000000:3"
    write(site.folder / "more.txt", more)
    text, _, said = predict(site, sparse_run, "more.txt")
    assert text == predict(site, sparse_run, "plain.txt")[0]
    assert "more.txt:5: feature x7 is none of the 3" in said


def test_zero_based_is_the_runs(site):
    write(site.folder / "zero.txt", libsvm(X, Y, first=0))
    site.sample("logistic", "zero.txt", "--zero-based", out="zero.run")
    wanted = predict(site, "zero.run", "plain.npy")[0]
    assert predict(site, "zero.run", "zero.txt")[0] == wanted
    site.sample("logistic", "plain.txt", out="one.run")
    assert predict(site, "one.run", "zero.txt", "--zero-based")[0] == wanted


def test_refusals(site, sparse_run):
    for words, code, part in [
            (["plain.csv", "--labels", "plain.labels.gz"], 2, "--labels is for files of kind idx"),
            (["plain.idx", "--labels", "plain.txt"], 3, "is no IDX file"),
            (["plain.idx", "--labels", "plain.idx"], 3, "one number a row"),
            (["plain.idx", "--labels", "whole.idx"], 3, "one number a row"),
            (["plain.idx", "--labels", "nowhere.gz"], 5, "cannot open"),
            (["plain.labels.gz", "--labels", "plain.idx"], 3, "swapped?")]:
        done = site("predict", sparse_run, "--data", *words)
        assert done.returncode == code and part in done.stderr, (words, done.stderr)


def test_a_label_the_run_has_not_seen(site, sparse_run):
    odd = libsvm(X, Y)
    odd[9] = "5" + odd[9][1:]
    write(site.folder / "odd.txt", odd)
    done = site("predict", sparse_run, "--data", "odd.txt")
    assert done.returncode == 3 and "odd.txt: row 10: the target is \"5\"" in done.stderr


def test_they_are_listed(site):
    listed = json.loads(site.ok("list", "readers", "--json").stdout)["readers"]
    assert {"npy", "idx", "libsvm", "csv"} <= set(listed)


# ---- a9a -----------------------------------------------------------------------------------------

def dense_a9a(path, cols=123):
    rows = gzip.decompress(path.read_bytes()).decode().splitlines()
    x, y = np.zeros((len(rows), cols + 1)), np.empty(len(rows))
    x[:, 0] = 1
    for i, row in enumerate(rows):
        label, *entries = row.split()
        y[i] = label == "+1"
        x[i, [int(e.split(":")[0]) for e in entries]] = 1
    return x, y


@pytest.mark.skipif(not all(f.exists() for f in A9A), reason=f"no a9a in {DATA}: set SGFS_DATA")
def test_a9a(sgfs):
    """The averaged prediction errs as the mode does (Newton's method here, a ridge of 1): both depend on
    the same 124 numbers known to about 1 %, so that labels differ where the probability is within about
    0.005 of 1/2, one row in a hundred, in both directions: 0.3 % is three times what that leaves."""
    sgfs.ok("sample", "logistic", "--data", A9A[0], "--standardize", "--warmup", "1000", "--draws", "2000",
            "--thin", "10", "--chains", "1", "--out", "a9a.run", "-q")
    found = json.loads(sgfs.ok("predict", "a9a.run", "--data", A9A[1], "--json", "-q").stdout)
    x, y = dense_a9a(A9A[0])
    beta = np.zeros(124)
    for _ in range(12):
        p = 1 / (1 + np.exp(-x @ beta))
        beta += np.linalg.solve((x * (p * (1 - p))[:, None]).T @ x + np.eye(124), x.T @ (y - p) - beta)
    x, y = dense_a9a(A9A[1])
    error = ((x @ beta > 0) != (y == 1)).mean()
    print(f"a9a: {found['error']:.4f} sampled, {error:.4f} at the mode")
    assert found["rows"] == 16281 and [l["rows"] for l in found["labels"]] == [12435, 3846]
    assert abs(error - 0.150) < 0.001 and abs(found["error"] - error) < 0.003
