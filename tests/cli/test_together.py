# SPDX-License-Identifier: MIT
"""Things that work alone, together: weights and chosen rows, labels that look like numbers, words that
come late, damaged rows wherever rows are read."""
import json

import numpy as np
import pytest

USAGE, DATA = 2, 3


def mode(sgfs, *words):
    """The mode that optimize finds, and the curvature there."""
    told = json.loads(sgfs.ok("optimize", *words, "--json").stdout)
    return told["names"], told["mean"], told["cov"]


def table(path, names, columns):
    rows = zip(*columns)
    path.write_text("\n".join([",".join(names), *(",".join(map(str, r)) for r in rows)]) + "\n")


@pytest.fixture
def counted(sgfs):
    """300 rows with weights and exposures, and the ones whose count is below 3 in a file of their own."""
    rng = np.random.default_rng(5)
    a, w, e = rng.integers(0, 7, 300) / 4, rng.integers(1, 4, 300), rng.integers(1, 5, 300) / 2
    y = rng.poisson(e * np.exp(0.3 * a - 0.4))
    table(sgfs.folder / "all.csv", "awey", (a, w, e, y))
    few = y < 3
    assert 50 < few.sum() < 290
    table(sgfs.folder / "few.csv", "awey", (a[few], w[few], e[few], y[few]))
    return ",".join(map(str, sorted(set(y[few]))))


@pytest.mark.parametrize("extra", [("--weights", "w", "--features", "a"),
                                   ("--exposure", "e", "--features", "a"),
                                   ("--weights", "w", "--exposure", "e"),
                                   ("--weights", "w", "--drop", "e", "--standardize")])
def test_weights_and_exposure_belong_to_the_rows_that_stay(sgfs, counted, extra):
    assert mode(sgfs, "poisson", "--data", "all.csv", *extra, "--keep-classes", counted) == \
        mode(sgfs, "poisson", "--data", "few.csv", *extra)


def test_the_first_rows_of_many_with_weights(sgfs):
    rows = range(3000)
    columns = ([r % 7 for r in rows], [1 + r % 3 for r in rows], [r % 5 for r in rows])
    table(sgfs.folder / "all.csv", "awy", columns)
    table(sgfs.folder / "few.csv", "awy", [c[:60] for c in columns])
    words = ("linear", "--sigma", "1", "--weights", "w")
    assert mode(sgfs, *words, "--data", "all.csv", "--limit", "60") == \
        mode(sgfs, *words, "--data", "few.csv")


def test_labels_that_look_like_numbers_among_words(sgfs):
    rng = np.random.default_rng(2)
    table(sgfs.folder / "k.csv", "xy", (rng.integers(0, 9, 90), ["7", "9", "other"] * 30))
    sgfs.sample("logistic", "k.csv", "--keep-classes", "7,9")
    done = sgfs.ok("predict", "fit.run", "--data", "k.csv", "--json")
    assert json.loads(done.stdout)["rows"] == 60
    assert "30 rows of other classes" in done.stderr


@pytest.mark.parametrize("order", ["raw packed", "packed raw", "raw packed more"])
def test_packed_rows_that_are_transformed_and_raw_ones_are_predicted_together(sgfs, order):
    """Each file has done to it what is still to be done: rows come in the order of the files."""
    rng = np.random.default_rng(7)
    paths = {"raw": "raw.csv", "packed": "packed.sgd", "more": "more.csv"}
    for name, rows in ("packed", 300), ("raw", 90), ("more", 50):
        colours = rng.choice(["red", "green", "blue"], rows)
        numbers = rng.normal(size=rows).round(4)
        classes = rng.choice(["no", "yes"], rows)
        table(sgfs.folder / f"{name}.csv", ["colour", "a", "y"], (colours, numbers, classes))
    sgfs.ok("pack", "packed.csv", "--categorical", "auto", "--standardize", "--out", "packed.sgd")
    sgfs.sample("logistic", "packed.sgd")
    chosen = [paths[name] for name in order.split()]

    def predict(*files):
        sgfs.ok("predict", "fit.run", "--data", *files, "--out", "p.csv", "--overwrite")
        lines = (sgfs.folder / "p.csv").read_text().splitlines()
        rows = [dict(zip(lines[0].split(","), line.split(","))) for line in lines[1:]]
        return [(row["prediction"], row["target"]) for row in rows], \
            np.array([[float(row[name]) for name in ("p[no]", "q5[no]")] for row in rows])

    words, numbers = predict(*chosen)
    alone = [predict(name) for name in chosen]
    assert words == [pair for pairs, _ in alone for pair in pairs]
    np.testing.assert_allclose(numbers, np.concatenate([n for _, n in alone]), rtol=1e-12)


def test_labels_of_images_on_both_sides_of_packed_ones(sgfs):
    rng = np.random.default_rng(8)
    for name, rows in ("a", 60), ("b", 40):
        sizes = b"".join(int(n).to_bytes(4, "big") for n in (rows, 3, 2))
        (sgfs.folder / f"{name}.idx").write_bytes(b"\0\0\x08\x03" + sizes + rng.bytes(6 * rows))
        labels = rng.integers(0, 2, rows, dtype=np.uint8).tobytes()
        (sgfs.folder / f"{name}.lab").write_bytes(b"\0\0\x08\x01" + sizes[:4] + labels)
    sgfs.ok("pack", "a.idx", "--labels", "a.lab", "--standardize", "--out", "a.sgd")
    sgfs.sample("logistic", "a.sgd")
    files = ("predict", "fit.run", "--data", "a.idx", "a.sgd", "b.idx", "--json", "--labels")
    together = json.loads(sgfs.ok(*files, "?.lab").stdout)
    assert together["rows"] == 160
    done = sgfs(*files, "a.lab")
    assert done.returncode == USAGE and "names 1 file (a.lab), and there are 2" in done.stderr


def test_transforms_need_names_that_differ(sgfs):
    (sgfs.folder / "dup.csv").write_text("a,a,y\n1,2,0\n2,1,1\n3,5,0\n1,1,1\n")
    done = sgfs("sample", "logistic", "--data", "dup.csv", "--project", "2")
    assert done.returncode == DATA and 'two columns are called "a"' in done.stderr


def test_words_are_counted_over_all_files(sgfs):
    for k in range(2):
        words = [f"w{70000 * k + i}" for i in range(70000)]
        table(sgfs.folder / f"{k}.csv", "cxy", (words, range(70000), [0, 1] * 35000))
    done = sgfs("optimize", "logistic", "--data", "0.csv", "1.csv", "--categorical", "c", "--coding",
                "integer")
    assert done.returncode == DATA and 'column "c"' in done.stderr and "100000" in done.stderr


def test_words_that_come_late_in_a_column_that_is_packed(sgfs):
    rows = 500_000  # more than one block of text
    first = [*(str(i % 5) for i in range(rows - 1)), "yes"]
    table(sgfs.folder / "late.csv", "cxy",
          (first, [i % 977 / 8 for i in range(rows)], [i % 2 for i in range(rows)]))
    told = json.loads(sgfs.ok("pack", "late.csv", "--categorical", "auto", "--out", "late.sgd",
                              "--json").stdout)
    assert told["rows"] == rows and told["columns"] == 7  # 5 of 6 words, x, y


def test_the_name_says_what_is_written(sgfs):
    (sgfs.folder / "d.csv").write_text("x,y\n1,0\n2,1\n")
    done = sgfs("pack", "d.csv", "--out", "d.npy")
    assert done.returncode == USAGE and ".sgd" in done.stderr
    assert not (sgfs.folder / "d.npy").exists()


@pytest.fixture
def damaged(sgfs):
    """A good packed file, a run from it, and a copy with one byte changed in its rows."""
    rng = np.random.default_rng(3)
    table(sgfs.folder / "d.csv", "xzy", (rng.random(400), rng.random(400), [0, 1] * 200))
    sgfs.ok("pack", "d.csv", "--out", "good.sgd")
    sgfs.sample("logistic", "good.sgd")
    rows = bytearray((sgfs.folder / "good.sgd").read_bytes())
    rows[4096 + 3] ^= 1
    (sgfs.folder / "bad.sgd").write_bytes(rows)
    return sgfs


@pytest.mark.parametrize("words", [
    ("predict", "fit.run", "--data", "bad.sgd"),
    ("sample", "logistic", "--data", "good.sgd", "--validate", "bad.sgd"),
    ("sample", "logistic", "--data", "bad.sgd", "--limit", "300", "--standardize"),
    ("sample", "linear", "--data", "bad.sgd", "--weights", "z"),
    ("optimize", "logistic", "--data", "bad.sgd"),
    ("optimize", "logistic", "--data", "bad.sgd", "--project", "2"),
    ("optimize", "logistic", "--data", "bad.sgd", "--keep-classes", "0,1"),
])
def test_damaged_rows_are_told_wherever_they_are_read(damaged, words):
    done = damaged(*words)
    assert done.returncode == DATA, (done.returncode, done.stderr)
    assert "bad.sgd: is damaged: the checksum" in done.stderr
    assert done.stderr.rstrip().endswith("fetch another copy.")
    assert done.stderr.count("bad.sgd: ") == 1


@pytest.mark.parametrize("odd", [-1e6, 17.5])
def test_one_target_that_is_no_count_among_many_rows(sgfs, odd):
    """More rows than are looked at while opening: whoever draws the row says so."""
    rng = np.random.default_rng(8)
    rows = 1_200_000
    y = rng.integers(0, 5000, rows).astype(float)
    y[rows // 2] = odd
    np.save(sgfs.folder / "y.npy", np.column_stack([rng.integers(0, 9, rows), y]))
    sgfs.ok("pack", "y.npy", "--out", "y.sgd", "--shuffle-seed", "4")
    done = sgfs("optimize", "poisson", "--data", "y.sgd")
    assert done.returncode == DATA and "needs counts" in done.stderr, done.stderr
