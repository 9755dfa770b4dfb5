# SPDX-License-Identifier: MIT
"""sgfs predict as a user meets it. What it writes is computed again with numpy from the exported draws."""
import contextlib
import csv
import gzip
import json
import os
import pathlib
import resource
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

from cli_program import PROGRAM, SHORT, lines, quarters, write

USAGE, DATA, IO, RUNFILE, STOPPED = 2, 3, 5, 6, 75
ROWS = 700  # more than one block


def table(path, text=()):
    """A CSV file as a dict of columns; those in text stay texts."""
    names, *rows = [line.split(",") for line in path.read_text().splitlines()]
    columns = zip(*rows)
    return {n: (np.array(c) if n in text else np.array(c, float)) for n, c in zip(names, columns)}


def predict(sgfs, data, *words, run="logistic.run"):
    """The scores (JSON) and the written predictions."""
    done = sgfs.ok("predict", run, "--data", data, "--out", "p.csv", "--overwrite", "--json", *words)
    return json.loads(done.stdout), table(sgfs.folder / "p.csv", ("prediction", "target")), done.stderr


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


@pytest.fixture(scope="module")
def site(shared):
    """Runs of a logistic model (columns a, b; labels no and yes) and a linear one, and new rows."""
    rng = np.random.default_rng(17)
    x, y = quarters(400)
    z = 3 + 2 * x[:, 0] - x[:, 1] + rng.integers(-4, 5, len(x)) / 4
    write(shared.folder / "train.csv", lines(x, np.where(y == 1, "yes", "no")))
    write(shared.folder / "train01.csv", lines(x, y))
    write(shared.folder / "line.csv", lines(x, z))
    shared.logistic = shared.sample("logistic", "train.csv", out="logistic.run").reshape(-1, 3)
    shared.sample("logistic", "train01.csv", out="numbers.run")
    shared.linear = shared.sample("linear", "line.csv", out="linear.run").reshape(-1, 4)
    shared.x, shared.y = quarters(ROWS, seed=99)
    shared.z = 3 + 2 * shared.x[:, 0] - shared.x[:, 1] + rng.integers(-4, 5, ROWS) / 4
    shared.words = np.where(shared.y == 1, "yes", "no")
    write(shared.folder / "test.csv", lines(shared.x, shared.words))
    write(shared.folder / "test01.csv", lines(shared.x, shared.y))
    write(shared.folder / "linetest.csv", lines(shared.x, shared.z))
    return shared


def design(x):
    return np.column_stack([np.ones(len(x)), x])


# ---- the answer ----------------------------------------------------------------------------------

def test_labels_as_numpy_averages_them(site):
    score, p, _ = predict(site, "test.csv")
    each = sigmoid(design(site.x) @ site.logistic.T)  # rows x draws
    mean, q = each.mean(1), np.quantile(each, [0.05, 0.5, 0.95], axis=1)
    assert list(p) == ["prediction", "p[no]", "q5[no]", "q50[no]", "q95[no]", "p[yes]", "q5[yes]",
                       "q50[yes]", "q95[yes]", "target", "log_density"]
    np.testing.assert_allclose(p["p[yes]"], mean, rtol=1e-12)
    np.testing.assert_allclose(p["p[no]"], 1 - mean, rtol=1e-12)
    for k, name in enumerate(("q5", "q50", "q95")):
        np.testing.assert_allclose(p[f"{name}[yes]"], q[k], rtol=1e-12)
    assert (p["prediction"] == np.where(mean > 0.5, "yes", "no")).all()
    assert (p["target"] == site.words).all()
    density = np.where(site.y == 1, mean, 1 - mean)
    np.testing.assert_allclose(p["log_density"], np.log(density), rtol=1e-10)
    wrong = (mean > 0.5) != (site.y == 1)
    assert score["rows"] == ROWS and score["draws"] == len(site.logistic) and score["target"] == "y"
    assert score["log_loss"] == pytest.approx(-np.log(density).mean(), rel=1e-12)
    assert score["log_loss_se"] == pytest.approx(np.log(density).std(ddof=1) / ROWS ** 0.5, rel=1e-9)
    assert score["error"] == pytest.approx(wrong.mean(), rel=1e-12)
    assert score["error_se"] == pytest.approx(wrong.std(ddof=1) / ROWS ** 0.5, rel=1e-9)
    assert score["brier"] == pytest.approx(((mean - site.y) ** 2).mean(), rel=1e-12)
    bins = np.minimum((mean * 10).astype(int), 9)
    for b, got in enumerate(score["bins"]):
        here = bins == b
        assert got["rows"] == here.sum() and score["bins_of"] == "yes"
        if here.any():
            assert got["predicted"] == pytest.approx(mean[here].mean(), rel=1e-12)
            assert got["observed"] == pytest.approx((site.y[here] == 1).mean(), rel=1e-12)
    assert len(score["labels"]) == 2
    for k, (got, p_of) in enumerate(zip(score["labels"], (1 - mean, mean))):
        best = (mean > 0.5) == k
        assert got["label"] == ("no", "yes")[k] and got["rows"] == (site.y == k).sum()
        assert got["predicted"] == best.sum() and got["right"] == (best & (site.y == k)).sum()
        assert got["mean_probability"] == pytest.approx(p_of.mean(), rel=1e-12)


def test_numbers_as_numpy_averages_them(site):
    score, p, _ = predict(site, "linetest.csv", run="linear.run")
    mu, sigma = design(site.x) @ site.linear[:, :3].T, np.exp(site.linear[:, 3])
    density = (np.exp(-0.5 * ((site.z[:, None] - mu) / sigma) ** 2) / sigma / (2 * np.pi) ** 0.5).mean(1)
    gap = site.z - mu.mean(1)
    np.testing.assert_allclose(p["mean"], mu.mean(1), rtol=1e-11, atol=1e-12)
    assert score["log_loss"] == pytest.approx(-np.log(density).mean(), rel=1e-10)
    assert score["rmse"] == pytest.approx((gap ** 2).mean() ** 0.5, rel=1e-10)
    assert score["mae"] == pytest.approx(abs(gap).mean(), rel=1e-10)
    target = p["target"].astype(float)
    inside = (p["q5"] <= target) & (target <= p["q95"])
    assert score["coverage"] == pytest.approx(inside.mean())
    assert score["share_under"]["q50"] == pytest.approx((target < p["q50"]).mean())
    assert sum(score["pit"]) == ROWS
    # the intervals are those of the target, not of its mean: their width is about 2 x 1.645 sigma
    width = (p["q95"] - p["q5"]).mean() / (2 * 1.645 * sigma.mean())
    assert 0.9 < width < 1.1


def test_standardized_runs_predict_raw_columns(site):
    x, y = quarters(400)
    write(site.folder / "wide.csv", lines(1000 + 250 * x, y))
    write(site.folder / "widetest.csv", lines(1000 + 250 * site.x, site.y))
    draws = site.sample("logistic", "wide.csv", "--standardize", out="wide.run").reshape(-1, 3)
    _, p, _ = predict(site, "widetest.csv", run="wide.run")
    np.testing.assert_allclose(p["p[1]"], sigmoid(design(1000 + 250 * site.x) @ draws.T).mean(1),
                               rtol=1e-9)


def test_fewer_draws_and_another_seed(site):
    score, _, err = predict(site, "linetest.csv", "--max-draws", 10, run="linear.run")
    assert score["draws"] == 10 and "90 % interval from 10 predictive draws covers 74 %" in err
    _, one, _ = predict(site, "linetest.csv", run="linear.run")
    _, two, _ = predict(site, "linetest.csv", "--seed", 2, run="linear.run")
    assert (one["mean"] == two["mean"]).all() and (one["q5"] != two["q5"]).all()


def test_threads_write_the_same_bytes(site):
    first = None
    for threads in (1, 3):
        predict(site, "linetest.csv", "--threads", threads, run="linear.run")
        text = (site.folder / "p.csv").read_bytes()
        assert first in (None, text)
        first = text


# ---- files ---------------------------------------------------------------------------------------

def same_as_plain(site, data, *words, run="logistic.run", plain="test.csv"):
    wanted = predict(site, plain, run=run)
    got = predict(site, data, *words, run=run)
    for name, column in got[1].items():
        assert (column == wanted[1][name]).all(), name
    return got


def test_columns_in_another_order_and_others_between(site):
    x = site.x
    write(site.folder / "mixed.csv", ["id,y,b,note,a"] + [
        f"{i},{w},{b!r},\"x, {i}\",{a!r}" for i, (w, (a, b)) in enumerate(zip(site.words, x.tolist()))])
    _, p, err = same_as_plain(site, "mixed.csv")
    assert '2 columns that the run does not know are ignored: "id", "note"' in err
    assert len(p["target"]) == ROWS


def test_gzip_and_other_delimiters(site):
    text = (site.folder / "test.csv").read_bytes()
    (site.folder / "test.csv.gz").write_bytes(gzip.compress(text))
    same_as_plain(site, "test.csv.gz")
    (site.folder / "semi.csv").write_bytes(text.replace(b",", b";"))
    same_as_plain(site, "semi.csv")


def test_without_the_target(site):
    write(site.folder / "new.csv", ["b,a"] + [f"{b!r},{a!r}" for a, b in site.x.tolist()])
    score, p, err = same_as_plain(site, "new.csv")
    assert "target" not in p and "log_loss" not in score and score["target"] is None
    assert 'has no column "y"' in err and "predictions only" in err
    done = site.ok("predict", "logistic.run", "--data", "new.csv")
    assert "log loss" not in done.stdout and f"{ROWS} rows" in done.stdout
    assert "--out FILE writes the predictions" in done.stdout and "IDX" not in done.stderr
    assert "--out FILE writes" not in site.ok("predict", "logistic.run", "--data", "new.csv", "--out", "q.csv").stdout


def test_a_target_of_another_name(site):
    write(site.folder / "other.csv", lines(site.x, site.words, names=("a", "b", "answer")))
    _, p, _ = same_as_plain(site, "other.csv", "--target", "answer")
    assert (p["target"] == site.words).all()
    done = site("predict", "logistic.run", "--data", "other.csv", "--target", "answr")
    assert done.returncode == USAGE and 'did you mean "answer"' in done.stderr


def test_text_labels_in_any_order_of_appearance(site):
    order = np.argsort(site.words)[::-1]  # yes first
    write(site.folder / "sorted.csv", lines(site.x[order], site.words[order]))
    score, p, _ = predict(site, "sorted.csv")
    wanted, q, _ = predict(site, "test.csv")
    assert (p["target"] == site.words[order]).all()
    np.testing.assert_allclose(p["log_density"], q["log_density"][order], rtol=1e-13)
    assert score["error"] == pytest.approx(wanted["error"], rel=1e-13)
    one_label = site.words == "yes"
    write(site.folder / "yes.csv", lines(site.x[one_label], site.words[one_label]))
    assert predict(site, "yes.csv")[0]["labels"][0]["rows"] == 0


def test_number_labels_are_compared_as_numbers(site):
    write(site.folder / "dots.csv", lines(site.x, np.where(site.y == 1, "1.0", "0e0")))
    same_as_plain(site, "dots.csv", run="numbers.run", plain="test01.csv")


def test_files_without_a_header_go_by_place(site):
    x, y = quarters(400)
    write(site.folder / "bare.csv", lines(x, y, names=None))
    site.sample("logistic", "bare.csv", out="bare.run")
    write(site.folder / "baretest.csv", lines(site.x, site.y, names=None))
    score, p, _ = predict(site, "baretest.csv", run="bare.run")
    assert score["target"] == "x3"
    write(site.folder / "barenew.csv", [f"{a!r},{b!r}" for a, b in site.x.tolist()])
    _, new, _ = predict(site, "barenew.csv", run="bare.run")
    assert (new["p[1]"] == p["p[1]"]).all() and "target" not in new
    done = site("predict", "logistic.run", "--data", "baretest.csv")
    assert done.returncode == DATA
    assert 'columns without names' in done.stderr and '"a", "b"' in done.stderr


def test_npy(site):
    x, y = quarters(400)
    np.save(site.folder / "train.npy", np.column_stack([x, y]))
    site.sample("logistic", "train.npy", out="npy.run")
    np.save(site.folder / "test.npy", np.column_stack([site.x, site.y]).astype(np.float32))
    np.save(site.folder / "new.npy", site.x)
    score, p, _ = predict(site, "test.npy", run="npy.run")
    assert score["target"] == "y" and (p["target"].astype(float) == site.y).all()
    _, new, _ = predict(site, "new.npy", run="npy.run")
    assert (new["p[1]"] == p["p[1]"]).all() and "target" not in new
    broken = site.x.copy()
    broken[600, 1] = np.nan
    np.save(site.folder / "nan.npy", broken)
    done = site("predict", "npy.run", "--data", "nan.npy")
    assert done.returncode == DATA and "row 601" in done.stderr


# ---- what cannot be ------------------------------------------------------------------------------

def refused(site, data, code, *words, run="logistic.run"):
    done = site("predict", run, "--data", data, *words)
    assert done.returncode == code, done.stderr
    assert done.stderr.count("\n") == 1
    return done.stderr


def test_missing_columns_are_named(site):
    write(site.folder / "lacks.csv", lines(site.x, site.words, names=("A1", "bb", "y")))
    text = refused(site, "lacks.csv", DATA)
    assert 'lacks 2 columns that the run was made with: "a", "b"' in text
    write(site.folder / "twice.csv", lines(site.x, site.words, names=("a", "a", "y")))
    assert 'two columns are called "a"' in refused(site, "twice.csv", DATA)


def test_near_names_are_shown(site):
    x, y = quarters(200)
    write(site.folder / "long.csv", lines(x, y, names=("temperature", "pressure", "y")))
    site.sample("logistic", "long.csv", out="long.run")
    write(site.folder / "near.csv", lines(site.x, site.y, names=("temprature", "pressure", "y")))
    assert 'lacks 1 column that the run was made with: "temperature" (did you mean "temprature"?)' in \
        refused(site, "near.csv", DATA, run="long.run")


def test_unseen_labels_are_named(site):
    words = site.words.copy().astype("<U5")
    words[620] = "maybe"
    write(site.folder / "maybe.csv", lines(site.x, words))
    text = refused(site, "maybe.csv", DATA, "--out", "unseen.csv")
    assert 'maybe.csv:622: the target is "maybe"' in text and '"no", "yes"' in text
    assert not list(site.folder.glob("unseen.csv*"))
    write(site.folder / "two.csv", lines(site.x, np.where(site.y == 1, 2, 0)))
    assert 'the target is "2"' in refused(site, "two.csv", DATA, run="numbers.run")
    assert 'test.csv:2: the target holds "no", and in the run it held numbers only' in \
        refused(site, "test.csv", DATA, run="numbers.run")


def test_npy_cannot_hold_the_target_of_text_labels(site):
    x, y = quarters(400)
    write(site.folder / "words.csv", lines(x, np.where(y == 1, "yes", "no"), names=None))
    site.sample("logistic", "words.csv", out="words.run")
    np.save(site.folder / "codes.npy", np.column_stack([site.x, site.y]))
    text = refused(site, "codes.npy", DATA, "--out", "codes.csv", run="words.run")
    assert 'codes.npy: holds numbers only, and the run\'s target is text ("no", ...)' in text
    assert not list(site.folder.glob("codes.csv*"))
    np.save(site.folder / "columns.npy", site.x)
    _, p, _ = predict(site, "columns.npy", run="words.run")
    assert "p[yes]" in p and "target" not in p and len(p["p[yes]"]) == ROWS


def test_missing_and_odd_cells(site):
    rows = lines(site.x, site.words)
    gaps = rows.copy()
    for i in (3, 5, 650):
        gaps[i] = ",".join(["", *gaps[i].split(",")[1:]])
    write(site.folder / "gaps.csv", gaps)
    text = refused(site, "gaps.csv", DATA)
    assert "gaps.csv:4" in text and "3 such cells" in text and "lines 4, 6, 651" in text
    write(site.folder / "text.csv", rows[:50] + ["big,1,yes"] + rows[50:])
    assert 'text.csv:51: column 1 ("a") holds "big"' in refused(site, "text.csv", DATA)
    write(site.folder / "ragged.csv", rows + ["1,2"])
    assert f"ragged.csv:{ROWS + 2}" in refused(site, "ragged.csv", DATA)
    write(site.folder / "empty.csv", rows[:1])
    refused(site, "empty.csv", DATA)
    refused(site, "nothere.csv", IO)


def test_output_files(site):
    (site.folder / "there.csv").write_text("mine\n")
    assert "--overwrite" in refused(site, "test.csv", USAGE, "--out", "there.csv")
    assert (site.folder / "there.csv").read_text() == "mine\n"
    refused(site, "test.csv", USAGE, "--out", "test.csv", "--overwrite")
    refused(site, "test.csv", USAGE, "--out", "logistic.run", "--overwrite")
    refused(site, "test.csv", IO, "--out", "no/such/folder.csv")
    site.ok("predict", "logistic.run", "--data", "test.csv", "--out", "there.csv", "--overwrite", "-q")
    assert (site.folder / "there.csv").read_text().startswith("prediction,p[no]")


def test_runs_that_cannot_be_used(site):
    refused(site, "test.csv", RUNFILE, run="test.csv")
    done = site("predict", "logistic.run")
    assert done.returncode == USAGE and "--data" in done.stderr


def test_awkward_labels_survive_the_file(site):
    x, y = quarters(400)
    write(site.folder / "odd.csv", lines(x, np.where(y == 1, '"a, b"', '"say ""x"""')))
    site.sample("logistic", "odd.csv", out="odd.run")
    site.ok("predict", "odd.run", "--data", "odd.csv", "--out", "oddp.csv", "-q")
    with open(site.folder / "oddp.csv", newline="", encoding="utf-8") as f:
        rows = list(csv.DictReader(f))
    assert {r["target"] for r in rows} == {"a, b", 'say "x"'}
    assert 'p[say "x"]' in rows[0] and "q95[a, b]" in rows[0] and len(rows) == 400


# ---- size and signals ----------------------------------------------------------------------------

def test_the_table_on_the_screen(site):
    out = site.ok("predict", "logistic.run", "--data", "test.csv").stdout
    for word in ("error rate", "log loss", "Brier score", 'predicted probability of "yes"'):
        assert word in out
    out = site.ok("predict", "linear.run", "--data", "linetest.csv").stdout
    for word in ("rmse", "90 % interval", "tenths"):
        assert word in out
    assert "sgfs predict fit.run --data test.csv" in site.ok("help", "predict").stdout


def peak(site, data):
    """Peak memory of a prediction in MiB, from a child of a child: ru_maxrss is the largest child's."""
    code = ("import resource, subprocess, sys; subprocess.run(sys.argv[1:], check=True);"
            "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)")
    done = subprocess.run([sys.executable, "-c", code, PROGRAM, "predict", "numbers.run", "--data", data,
                           "--max-draws", "3", "--threads", "2", "-q"], cwd=site.folder,
                          capture_output=True, text=True, check=True)
    return int(done.stdout.splitlines()[-1]) / 1024


def test_memory_does_not_grow_with_the_file(site):
    """10^6 rows as a table would take 24 MB, 19 MB more than 2 10^5; a tenth of that is allowed."""
    block = "".join(f"{a!r},{b!r},{c}\n" for (a, b), c in zip(site.x.tolist(), site.y))
    for name, rows in (("some.csv", 2 * 10**5), ("many.csv", 10**6)):
        with open(site.folder / name, "w", encoding="utf-8") as f:
            f.write("a,b,y\n")
            for _ in range(rows // ROWS):
                f.write(block)
    some, many = peak(site, "some.csv"), peak(site, "many.csv")
    assert many < some + 1.9 and many < 100, (some, many)
    (site.folder / "some.csv").unlink()
    (site.folder / "many.csv").unlink()


def writes(process, folder):
    """Has the process a file open there that has no name yet, or one for the time being?"""
    for link in pathlib.Path(f"/proc/{process.pid}/fd").iterdir():
        with contextlib.suppress(FileNotFoundError):  # closed meanwhile
            name = os.readlink(link)
            if name.startswith(str(folder)) and (name.endswith(" (deleted)") or ".tmp." in name):
                return True
    return False


def test_an_interrupt_leaves_no_file(site):
    block = "".join(f"{a!r},{b!r}\n" for a, b in site.x.tolist())
    with open(site.folder / "slow.csv", "w", encoding="utf-8") as f:
        f.write("a,b\n" + 2000 * block)
    process = site.start("predict", "linear.run", "--data", "slow.csv", "--out", "slow.out", "-q")
    for _ in range(500):
        if writes(process, site.folder) or process.poll() is not None:
            break
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode == STOPPED and "nothing was written" in err
    assert not list(site.folder.glob("slow.out*"))
    (site.folder / "slow.csv").unlink()


def test_all_new_words_are_in_one_sentence(sgfs):
    """Two columns with words that the run has not seen; what --new-words zero does is said with the word it stands for."""
    rows = [f"{'abcbb'[i % 5]},{'uv'[i % 2]},{i % 7},{(i // 3) % 2}" for i in range(42)]  # b is the most frequent
    write(sgfs.folder / "old.csv", ["city,shop,x,y", *rows])
    sgfs.ok("sample", "logistic", "--data", "old.csv", "--categorical", "auto", "--draws", "20", "--out", "old.run")
    write(sgfs.folder / "new.csv", ["city,shop,x", "a,u,1", "oslo,v,2", "rome,k9,3", "oslo,k9,4"])
    done = sgfs("predict", "old.run", "--data", "new.csv")
    said = 'new.csv:3: column "city" holds "oslo" and 1 more new word, column "shop" holds "k9" (line 4), which the run has not seen.'
    assert done.returncode == 3 and said in done.stderr, done.stderr
    assert 'counts as the one that others are compared with ("b") in that column' in done.stderr
    write(sgfs.folder / "less.csv", ["shop,size,town", "u,1,a", "k9,2,b", "k7,2,b"])  # and columns that are not there
    done = sgfs("predict", "old.run", "--data", "less.csv")
    said = 'less.csv: lacks 2 columns that the run was made with: "city", "x"; and column "shop" holds "k9" and 1 more new word, which the run has not seen'
    assert done.returncode == 3 and said in done.stderr and done.stderr.count("\n") == 1, done.stderr
    done = sgfs("predict", "old.run", "--data", "less.csv", "--new-words", "zero")
    assert done.returncode == 3 and 'with: "city", "x".' in done.stderr and "k9" not in done.stderr, done.stderr
    write(sgfs.folder / "same.csv", ["city,shop,x", "a,u,1", "b,v,2", "b,u,3", "b,u,4"])
    for name, words in (("new", ("--new-words", "zero")), ("same", ())):
        sgfs.ok("predict", "old.run", "--data", f"{name}.csv", "--out", f"p-{name}.csv", *words)
    assert (sgfs.folder / "p-new.csv").read_bytes() == (sgfs.folder / "p-same.csv").read_bytes()


def test_what_new_rows_hold_besides_is_counted_and_named(sgfs):
    """Words the run has not seen, by column and line; columns that the run left out itself are no news; rows that lack
    a value are not counted among those predicted."""
    rows = [f"{i % 7 / 4},{'uv'[i % 2]},{'pqr'[i % 3]},{i},{i % 5 / 4}" for i in range(60)]
    write(sgfs.folder / "old.csv", ["a,v,w,id,y", *rows])
    sgfs.ok("sample", "linear", "--data", "old.csv", "--categorical", "auto", "--drop", "id", *SHORT, "--out", "fit.run")
    assert "does not know" not in sgfs.ok("predict", "fit.run", "--data", "old.csv").stderr
    new = [*rows]
    new[4], new[9], new[11] = "1,x,p,4,1", "1,u,z,9,1", "1,x,z,11,1"
    write(sgfs.folder / "new.csv", ["a,v,w,id,y", *new])
    done = sgfs("predict", "fit.run", "--data", "new.csv")
    assert done.returncode == 3 and "new.csv:6" in done.stderr and '"w" holds "z" (line 11)' in done.stderr, done.stderr
    done = sgfs.ok("predict", "fit.run", "--data", "new.csv", "--new-words", "zero", "--json")
    told = json.loads(done.stdout)
    assert told["rows_with_new_words"] == 3 and told["new_words"] == {"v": 2, "w": 2}
    assert '3 of 60 rows hold words that the run has not seen' in done.stderr and '"v" 2, "w" 2' in done.stderr
    told = json.loads(sgfs.ok("predict", "fit.run", "--data", "old.csv", "--json").stdout)
    assert told["rows_with_new_words"] == 0 and told["new_words"] == {}
    new[20] = ",u,p,20,1"
    write(sgfs.folder / "holes.csv", ["a,v,w,id,y", *new])
    shown = sgfs.ok("predict", "fit.run", "--data", "holes.csv", "--na", "drop", "--new-words", "zero").stdout
    assert "linear, 59 of 60 rows of holes.csv" in shown, shown
    words = ("predict", "fit.run", "--data", "holes.csv", "--na", "drop", "--new-words", "zero")
    assert "1 of 60 rows lack a value and have no prediction.\n" in sgfs.ok(*words).stderr  # there are no lines
    assert "no prediction: their lines are empty.\n" in sgfs.ok(*words, "--out", "p.csv").stderr
    write(sgfs.folder / "many.csv", ["a,v,w,id,y", *new * 100])

    def full():  # a file that cannot grow is a full disk
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))

    done = sgfs("predict", "fit.run", "--data", "many.csv", "--na", "drop", "--new-words", "zero", "--out", "full.csv",
                preexec_fn=full, restore_signals=False)
    assert done.returncode == IO and "of 0 rows" not in done.stderr and done.stderr.count("\n") <= 2, done.stderr


# ---- what goes with a prediction

def test_a_key_goes_with_its_row(site):
    """Texts as they stand in the file, with commas and quotes, also where rows are left out, from two files."""
    keys = [f'c {i}, "{i % 7}"' for i in range(ROWS)]
    quoted = ['"' + key.replace('"', '""') + '"' for key in keys]
    rows = [f"{q},{a},{b}" for q, (a, b) in zip(quoted, site.x)]
    write(site.folder / "keyed.csv", ["name,a,b", *rows[:400]])
    write(site.folder / "keyed2.csv", ["b,name,a", *(f"{b},{q},{a}" for q, (a, b) in
                                                   zip(quoted[400:], site.x[400:]))])
    site.ok("predict", "linear.run", "--data", "keyed.csv", "keyed2.csv", "--key", "name", "--out", "k.csv",
            "--overwrite", "--limit", "690")
    with open(site.folder / "k.csv", newline="") as stream:
        read = list(csv.DictReader(stream))
    assert list(read[0]) == ["name", "mean", "q5", "q50", "q95"]
    assert [row["name"] for row in read] == keys[:690]
    predict(site, "linetest.csv", run="linear.run")
    plain = table(site.folder / "p.csv")
    assert [float(row["mean"]) for row in read] == list(plain["mean"][:690])
    words = ("predict", "linear.run", "--data", "keyed.csv", "--key")
    for code, more, says in ((DATA, ("nam", "--out", "n.csv"), 'no column "nam" (--key); the nearest name is "name"'),
                             (USAGE, ("name",), "--out FILE"), (USAGE, ("name", "--out", "k.npy"), "--out FILE")):
        done = site(*words, *more)
        assert done.returncode == code and says in done.stderr


def test_intervals_of_any_share(site):
    """The ends are quantiles of the same draws, and so is what they cover."""
    site.ok("predict", "linear.run", "--data", "linetest.csv", "--out", "draws.npy", "--overwrite")
    draws = np.load(site.folder / "draws.npy")[:, 0]
    score, p, _ = predict(site, "linetest.csv", "--interval", "0.5", run="linear.run")
    assert list(p)[:4] == ["mean", "q25", "q50", "q75"]
    low, high = np.quantile(draws, [0.25, 0.75], axis=1)
    assert np.allclose(p["q25"], low, rtol=1e-12) and np.allclose(p["q75"], high, rtol=1e-12)
    assert score["interval"] == 0.5 and list(score["share_under"]) == ["q25", "q50", "q75"]
    assert score["coverage"] == pytest.approx(((low <= site.z) & (site.z <= high)).mean())
    assert "50 % interval" in site.ok("predict", "linear.run", "--data", "linetest.csv", "--interval", "0.5").stdout


def test_the_baseline_is_a_constant(site):
    score, p, _ = predict(site, "linetest.csv", run="linear.run")
    assert score["baseline"]["rmse"] == pytest.approx(site.z.std())
    assert score["baseline"]["r2"] == pytest.approx(1 - ((site.z - p["mean"]) ** 2).mean() / site.z.var())
    score, p, _ = predict(site, "test.csv")
    share = site.y.mean()
    assert score["baseline"]["error"] == pytest.approx(min(share, 1 - share))
    assert score["baseline"]["log_loss"] == pytest.approx(-share * np.log(share) - (1 - share) * np.log(1 - share))
    assert score["baseline"]["brier"] == pytest.approx(share * (1 - share))


def test_tenths_have_equal_shares_of_the_rows(site):
    score, p, _ = predict(site, "test.csv")
    tenths, q = score["tenths"], p["p[yes]"]
    assert sum(t["rows"] for t in tenths) == ROWS and tenths[0]["from"] == 0 and tenths[-1]["to"] == 1
    assert max(t["rows"] for t in tenths) < 2 * ROWS / 10
    for t in tenths:
        inside = (t["from"] <= q) & (q < t["to"])
        assert t["rows"] == inside.sum()
        assert t["predicted"] == pytest.approx(q[inside].mean())
        assert t["observed"] == pytest.approx(site.y[inside].mean())
