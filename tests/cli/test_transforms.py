# SPDX-License-Identifier: MIT
"""Transforms of the columns and the choice of rows: each is done once more here, in plain Python, and the program is
given the result as a file of its own. What it then makes of both must be the same: bit for bit where the arithmetic is
exact, to rounding elsewhere. Random numbers are computed from the definition of Philox4x32-10 (Salmon et al. 2011)."""
import gzip
import json
import math
import os
import pathlib
import re
import struct
import subprocess

import numpy as np
import pytest

from cli_program import SHORT, write

SOURCE = pathlib.Path(os.environ.get("SGFS_SOURCE") or pathlib.Path(__file__).parents[2])
DATA = pathlib.Path(os.environ.get("SGFS_DATA") or SOURCE.parent / "shared" / "data")
SPLIT, PROJECT = 30, 31  # purposes of streams
N = 240


# ---- random numbers from their definition ----------------------------------------------------------------------------

def philox(counter, key):
    """Ten rounds on arrays of four 32-bit counters."""
    c = [np.asarray(v, dtype=np.uint64) for v in np.broadcast_arrays(*counter)]
    k0, k1, low = np.uint64(key[0]), np.uint64(key[1]), np.uint64(0xFFFFFFFF)
    for _ in range(10):
        a, b = c[0] * np.uint64(0xD2511F53), c[2] * np.uint64(0xCD9E8D57)
        c = [(b >> np.uint64(32)) ^ c[1] ^ k0, b & low, (a >> np.uint64(32)) ^ c[3] ^ k1, a & low]
        k0, k1 = (k0 + np.uint64(0x9E3779B9)) & low, (k1 + np.uint64(0xBB67AE85)) & low
    return c


def uniforms(seed, iteration, position, purpose):
    r = philox((position, iteration, 0, purpose << 24), (seed & 0xFFFFFFFF, seed >> 32))
    first, second = (r[1] << np.uint64(32)) | r[0], (r[3] << np.uint64(32)) | r[2]
    return [((w >> np.uint64(11)).astype(float) + 0.5) * 2.0**-53 for w in (first, second)]


def parts(rows, shares, seed=1):
    """0, 1, ... for rows of each share."""
    u = uniforms(seed, np.arange(rows), 0, SPLIT)[0]
    return np.searchsorted(np.cumsum(shares), u, side="right")


def projection(inputs, K, seed=1):
    position = np.arange((K + 1) // 2)
    u, v = uniforms(seed, np.arange(inputs)[:, None], position[None, :], PROJECT)
    radius, angle = np.sqrt(-2 * np.log(u)), 2 * np.pi * v
    return np.stack([radius * np.cos(angle), radius * np.sin(angle)], 2).reshape(inputs, -1)[:, :K] / math.sqrt(inputs)


# ---- data ------------------------------------------------------------------------------------------------------------

WORDS = ("tcp", "udp", "icmp")


def rows(count=N, seed=385):
    """a and c in quarters, b not negative, a word, a label of three."""
    rng = np.random.default_rng(seed)
    x = rng.integers(-8, 9, (count, 3)) / 4
    x[:, 1] = rng.integers(0, 60, count) / 4
    word = rng.choice(WORDS, count)
    y = np.where(rng.random(count) < 1 / (1 + np.exp(-x[:, 0])), 7, 9)
    y[rng.random(count) < 0.2] = 4
    return x, word, y


def csv(path, columns, names):
    write(path, [",".join(names)] + [",".join(v if isinstance(v, str) else repr(v) for v in row)
                                     for row in zip(*(np.asarray(c).tolist() for c in columns))])


@pytest.fixture(scope="module")
def site(shared):
    x, word, y = rows()
    csv(shared.folder / "raw.csv", [x[:, 0], x[:, 1], word, x[:, 2], y], ("a", "b", "w", "c", "y"))
    csv(shared.folder / "numbers.csv", [*x.T, y], ("a", "b", "c", "y"))
    csv(shared.folder / "two.csv", [*x[y != 4].T, y[y != 4]], ("a", "b", "c", "y"))
    np.save(shared.folder / "two.npy", np.column_stack([x[y != 4], y[y != 4]]))
    return shared


def two():
    x, _, y = rows()
    return x[y != 4], y[y != 4]


def draws_of(site, columns, names, *words, model="logistic"):
    """Draws from columns that were transformed here."""
    csv(site.folder / "own.csv", columns, names)
    return site.sample(model, "own.csv", *words, out="own.run")


def header(site, run="fit.run"):
    raw = (site.folder / run).read_bytes()
    return json.loads(raw[16:16 + struct.unpack("<I", raw[12:16])[0]])


def mode(site, data, *words, model="logistic"):
    return np.array(json.loads(site.ok("optimize", model, "--data", data, "--json", "-q", *words).stdout)["mean"])


def refused(site, code, *words, model="logistic", data="two.csv"):
    done = site("sample", model, "--data", data, *SHORT, "--out", "no.run", "--overwrite", "-q", *words)
    assert done.returncode == code, done.stderr
    assert not (site.folder / "no.run").exists()
    return done.stderr


# ---- columns ---------------------------------------------------------------------------------------------------------

def test_log1p_and_drop(site):
    x, y = two()
    got = site.sample("logistic", "two.csv", "--log1p", "b", "--drop", "c")
    own = draws_of(site, [x[:, 0], [math.log1p(v) for v in x[:, 1]], y], ("a", "b", "y"))
    assert np.array_equal(got, own)
    assert header(site)["params"] == ["intercept", "a", "log1p(b)"]
    assert np.array_equal(site.sample("logistic", "two.npy", "--drop", "3", "--log1p", "2"), own)
    assert np.array_equal(site.sample("logistic", "two.csv", "--drop", "2-3"),
                          draws_of(site, [x[:, 0], y], ("a", "y")))


def test_dropped_columns_may_hold_anything(site):
    x, word, y = rows()
    keep = y != 4
    csv(site.folder / "ids.csv", [x[keep, 0], word[keep], x[keep, 1], y[keep]], ("a", "id", "b", "y"))
    got = site.sample("logistic", "ids.csv", "--drop", "id")
    assert np.array_equal(got, draws_of(site, [x[keep, 0], x[keep, 1], y[keep]], ("a", "b", "y")))
    assert np.array_equal(site.sample("logistic", "ids.csv", "--drop", "2"), got)


def most_frequent(word):
    return max(sorted(set(word)), key=list(word).count)


def onehot(word, reference, learned=None):
    """In alphabetical order; the most frequent word of the rows that are learned from is the reference."""
    left_out = most_frequent(word if learned is None else learned) if reference else None
    return [(f"w={s}", (word == s).astype(float)) for s in sorted(WORDS) if s != left_out]


@pytest.mark.parametrize("intercept", ["--intercept", "--no-intercept"])
def test_words_to_columns(site, intercept):
    x, word, y = rows()
    columns = [("a", x[:, 0]), ("b", x[:, 1]), *onehot(word, intercept == "--intercept"), ("c", x[:, 2]), ("y", y)]
    got = site.sample("softmax", "raw.csv", "--categorical", "w", intercept)
    own = draws_of(site, [c for _, c in columns], [n for n, _ in columns], intercept, model="softmax")
    assert np.array_equal(got, own)
    assert header(site)["params"] == header(site, "own.run")["params"]


def test_words_to_numbers(site):
    x, word, y = rows()
    words = sorted(set(word))
    number = np.array([words.index(w) for w in word], dtype=float)
    got = site.sample("softmax", "raw.csv", "--categorical", "auto", "--coding", "integer")
    assert np.array_equal(got, draws_of(site, [x[:, 0], x[:, 1], number, x[:, 2], y], ("a", "b", "w", "c", "y"),
                                        model="softmax"))
    assert header(site)["data"]["recipe"][1]["columns"] == [{"name": "w", "words": words}]


def test_words_are_numbered_as_they_are_sorted(sgfs):
    """Not as they are met; numbers by their value."""
    for met, place in (("cab", "201"), (("10", "9", "x"), "102")):
        text = "".join(f"{w},{(k * k) % 5}\n" for k, w in enumerate([*met] * 9))
        (sgfs.folder / "words.csv").write_text("w,y\n" + text)
        (sgfs.folder / "codes.csv").write_text("w,y\n" + "".join(
            f"{place[[*met].index(line.split(',')[0])]},{line.split(',')[1]}\n" for line in text.splitlines()))
        words, codes = (sgfs.ok("optimize", "linear", "--data", f"{name}.csv", *more, "--json").stdout
                        for name, more in (("words", ("--categorical", "w", "--coding", "integer")), ("codes", ())))
        assert json.loads(words)["mean"] == pytest.approx(json.loads(codes)["mean"], rel=1e-9)


def test_words_and_operations_by_the_name_of_their_column(site):
    """--drop w means all columns of w, --drop w=udp one of them; numbers count the file's columns."""
    x, word, y = rows()
    assert np.array_equal(site.sample("softmax", "raw.csv", "--categorical", "w", "--drop", "w"),
                          site.sample("softmax", "numbers.csv"))
    one = [n for n, _ in onehot(word, True)][-1]
    columns = [("a", x[:, 0]), *[c for c in onehot(word, True) if c[0] != one], ("c", x[:, 2]), ("y", y)]
    got = site.sample("softmax", "raw.csv", "--categorical", "3", "--drop", f"{one},2")
    assert np.array_equal(got, draws_of(site, [c for _, c in columns], [n for n, _ in columns], model="softmax"))


def same_mode(site, a, columns, names, *words):
    """Modes agree to rounding: the sums were done in another order."""
    csv(site.folder / "own.csv", columns, names)
    assert np.allclose(a, mode(site, "own.csv", *words), rtol=1e-9, atol=1e-11)


def test_projection(site):
    x, y = two()
    for seed in (1, 2**40 + 5):
        p = x @ projection(3, 2, seed)
        got = mode(site, "two.csv", "--project", "2", "--project-seed", seed)
        same_mode(site, got, [*p.T, y], ("p1", "p2", "y"))


def standardized(x, of=None):
    """As --standardize does it: columns of zeros and ones are centred only."""
    of = x if of is None else of
    return (x - of.mean(0)) / np.where(np.isin(of, (0, 1)).all(0), 1, of.std(0, ddof=1))


def test_order_of_columns(site):
    """--log1p, --standardize and --project do not commute: each order is that of the command line."""
    x, y = two()
    R, l = projection(3, 2), x.copy()
    l[:, 1] = np.log1p(l[:, 1])
    got = mode(site, "two.csv", "--standardize", "--project", "2")
    same_mode(site, got, [*(standardized(x) @ R).T, y], ("p1", "p2", "y"))
    got = mode(site, "two.csv", "--project", "2", "--standardize")
    same_mode(site, got, [*(x @ R).T, y], ("p1", "p2", "y"), "--standardize")
    got = mode(site, "two.csv", "--log1p", "b", "--standardize", "--project", "2")
    same_mode(site, got, [*(standardized(l) @ R).T, y], ("p1", "p2", "y"))
    got = mode(site, "two.csv", "--project", "2", "--drop", "1")
    same_mode(site, got, [(x @ R)[:, 1], y], ("p2", "y"))


def test_weights_in_the_middle(site):
    """A row of weight 2 counts as two rows do in means and spreads; a row of weight 0 is not there."""
    x, y = two()
    w = np.arange(len(y)) % 3
    csv(site.folder / "w.csv", [*x.T, w, y], ("a", "b", "c", "w", "y"))
    got = mode(site, "w.csv", "--weights", "w", "--standardize", "--project", "2")
    W, mean = w.sum(), (w @ x) / w.sum()
    sd = np.sqrt(w @ (x - mean) ** 2 / W * (np.sum(w > 0) / (np.sum(w > 0) - 1)))
    p = (x - mean) / sd @ projection(3, 2)
    same_mode(site, got, [*p.T, w, y], ("p1", "p2", "w", "y"), "--weights", "w")


def test_constant_columns_are_only_centred(site):
    x, y = two()
    csv(site.folder / "const.csv", [x[:, 0], np.full(len(y), 2.385), y], ("a", "k", "y"))
    got = mode(site, "const.csv", "--standardize", "--project", "2")
    s = np.column_stack([standardized(x[:, 0]), np.zeros(len(y))])
    same_mode(site, got, [*(s @ projection(2, 2)).T, y], ("p1", "p2", "y"))


# ---- rows ------------------------------------------------------------------------------------------------------------

def test_order_of_rows(site):
    x, _, y = rows()
    keep = np.flatnonzero(y != 4)
    for words, chosen in ((("--keep-classes", "7,9", "--limit", "60"), keep[:60]),
                          (("--limit", "60", "--keep-classes", "7,9"), keep[keep < 60])):
        got = site.sample("logistic", "numbers.csv", *words)
        assert header(site)["rows"] == len(chosen)
        assert np.array_equal(got, draws_of(site, [*x[chosen].T, y[chosen]], ("a", "b", "c", "y")))


def test_classes_by_text(site):
    x, _, y = rows()
    names = np.array([f"n{v}" for v in y])
    csv(site.folder / "text.csv", [*x.T, names], ("a", "b", "c", "y"))
    got = site.sample("logistic", "text.csv", "--keep-classes", "n7, n9")
    keep = y != 4
    assert np.array_equal(got, draws_of(site, [*x[keep].T, names[keep]], ("a", "b", "c", "y")))
    text = refused(site, 3, "--keep-classes", "n7,n8", data="text.csv")
    assert '"n8"' in text and "n9" in text and "n4" in text


@pytest.mark.parametrize("shares, names", [((0.5, 0.3, 0.2), ("train", "validation", "test")),
                                           ((0.75, 0.25), ("train", "test")), ((0.5, 0.25), ("train", "test"))])
def test_parts(site, shares, names):
    """The rows of each part are those of the definition: disjoint, together all of them, whatever the format."""
    x, y = two()
    part = parts(len(y), shares, 7)
    split = ("--split", ",".join(map(str, shares)), "--split-seed", "7")
    for k, name in enumerate(names):
        own = draws_of(site, [*x[part == k].T, y[part == k]], ("a", "b", "c", "y"))
        for data in ("two.csv", "two.npy"):
            assert np.array_equal(site.sample("logistic", data, *split, "--part", name), own)
    own = draws_of(site, [*x[part < len(shares)].T, y[part < len(shares)]], ("a", "b", "c", "y"))
    assert np.array_equal(site.sample("logistic", "two.csv", *split, "--part", "all"), own)


def test_shares_are_probabilities():
    """Sizes within 5 standard deviations of the binomial: a false alarm in 10^6 (and the seeds are fixed)."""
    n, shares = 200000, np.array([0.9, 0.05, 0.05])
    for seed in (1, 2, 3):
        counts = np.bincount(parts(n, shares, seed), minlength=3)
        assert counts.sum() == n
        assert np.all(np.abs(counts - n * shares) < 5 * np.sqrt(n * shares * (1 - shares)))


def test_a_row_keeps_its_part(site):
    """Rows are counted before any is left out."""
    x, _, y = rows()
    part, keep = parts(N, (0.6, 0.4)), y != 4
    own = None
    for words in (("--split", "0.6,0.4", "--keep-classes", "7,9"), ("--keep-classes", "7,9", "--split", "0.6,0.4")):
        got = site.sample("logistic", "numbers.csv", *words, "--part", "test")
        chosen = keep & (part == 1)
        own = draws_of(site, [*x[chosen].T, y[chosen]], ("a", "b", "c", "y")) if own is None else own
        assert np.array_equal(got, own)


def test_statistics_of_the_training_part(site):
    """Whichever part is read, a column is standardised as in training."""
    x, y = two()
    part = parts(len(y), (0.6, 0.4))
    train = x[part == 0]
    for name in ("train", "test", "all"):
        site.sample("logistic", "two.csv", "--standardize", "--split", "0.6,0.4", "--part", name)
        told = header(site)["data"]["features"]
        assert np.allclose([c["shift"] for c in told], train.mean(0), rtol=1e-12, atol=1e-14)
        assert np.allclose([c["scale"] for c in told], 1 / train.std(0, ddof=1), rtol=1e-12)
        got = mode(site, "two.csv", "--standardize", "--project", "2", "--split", "0.6,0.4", "--part", name)
        chosen = np.full(len(y), True) if name == "all" else part == ("train", "test").index(name)
        p = standardized(x[chosen], train) @ projection(3, 2)
        same_mode(site, got, [*p.T, y[chosen]], ("p1", "p2", "y"))


def test_a_last_standardize_is_undone_in_the_draws(site):
    """Row operations behind it change nothing: draws are on the scale of the columns."""
    x, _, y = rows()
    chosen = np.flatnonzero(y != 4)[:100]
    csv(site.folder / "own.csv", [*x[chosen].T, y[chosen]], ("a", "b", "c", "y"))
    own = site.sample("logistic", "own.csv", "--standardize", out="own.run")
    for words in (("--standardize", "--keep-classes", "7,9", "--limit", "100"),
                  ("--keep-classes", "7,9", "--limit", "100", "--standardize")):
        assert np.array_equal(site.sample("logistic", "numbers.csv", *words), own)


# ---- storage ---------------------------------------------------------------------------------------------------------

def svm(path, x, y):
    write(path, [f"{label} " + " ".join(f"{j + 1}:{v!r}" for j, v in enumerate(row) if v != 0)
                 for row, label in zip(x.tolist(), y.tolist())])


def test_sparse_rows(site):
    """libsvm rows, which stay sparse where they can, give what the same rows give with their zeros."""
    x, y = two()
    x = np.where(np.abs(x) < 1, 0, x)
    svm(site.folder / "x.svm", x, y)
    np.save(site.folder / "x.npy", np.column_stack([x, y]))
    for words in (("--drop", "x3"), ("--log1p", "2"), ("--log1p", "2", "--drop", "1", "--limit", "90"),
                  ("--log1p", "2", "--standardize", "--no-intercept", "--drop", "3", "--split", "0.7,0.3"),
                  ("--project", "2"), ("--standardize", "--project", "2")):
        a, b = mode(site, "x.svm", *words), mode(site, "x.npy", *words)
        assert np.allclose(a, b, rtol=1e-9, atol=1e-12), words
    own = mode(site, "x.svm", "--standardize", "--drop", "3", "--no-intercept")
    same_mode(site, own, [*x[:, :2].T, y], ("a", "b", "y"), "--no-intercept", "--standardize")


def test_single_precision(site):
    x, y = two()
    got = site.sample("logistic", "two.csv", "--log1p", "b", "--storage", "f32")
    own = [np.float32(math.log1p(v)).item() for v in x[:, 1]]
    assert np.array_equal(got, draws_of(site, [x[:, 0], own, x[:, 2], y], ("a", "b", "c", "y")))


def test_more_than_memory_is_refused_at_once(site):
    """A mapped array of zeros that would be twice the machine's memory as doubles; the file has a hole for them."""
    count = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 8
    with open(site.folder / "huge.npy", "wb") as f:
        np.lib.format.write_array_header_1_0(f, {"descr": "|u1", "fortran_order": False, "shape": (count, 2)})
        f.truncate(f.tell() + 2 * count)
    command = f"{os.environ['SGFS']} sample logistic --data huge.npy --log1p 1 --out no.run -q; echo $?; cat /proc/$$/io"
    done = subprocess.run(["bash", "-c", command], cwd=site.folder, capture_output=True, text=True)
    (site.folder / "huge.npy").unlink()
    assert done.stdout.startswith("1\n") and "sgfs pack" in done.stderr
    read = re.search(r"rchar: (\d+)", done.stdout)  # of the program, too; Linux has it
    assert read is None or int(read[1]) < 1e8  # not all of it for a checksum


def test_exposure_passes_by(site):
    x, y = two()
    t, count = 1 + np.arange(len(y)) % 4, y - 7
    csv(site.folder / "t.csv", [x[:, 0], t, x[:, 1], count], ("a", "t", "b", "y"))
    got = site.sample("poisson", "t.csv", "--exposure", "t", "--log1p", "b", "--limit", "80")
    own = draws_of(site, [x[:80, 0], t[:80], [math.log1p(v) for v in x[:80, 1]], count[:80]], ("a", "t", "b", "y"),
                   "--exposure", "t", model="poisson")
    assert np.array_equal(got, own)


# ---- new rows --------------------------------------------------------------------------------------------------------

ALL = ("--categorical", "w", "--keep-classes", "7,9", "--split", "0.7,0.3", "--log1p", "b", "--drop", "c",
       "--standardize")


def predict(site, run, data, *words):
    site.ok("predict", run, "--data", data, "--out", "p.csv", "--overwrite", "-q", *words)
    return np.genfromtxt(site.folder / "p.csv", delimiter=",", skip_header=1, usecols=(-4, -3, -2, -1))


def transformed(count, seed, names=None):
    """New rows as they are, and as ALL makes them of the run's own rows (but for standardising)."""
    x, word, y = rows(count, seed)
    words = onehot(word, True, learned_words())
    columns = [x[:, 0], [math.log1p(v) for v in x[:, 1]], *[c for _, c in words]]
    return (x, word, y), columns, ("a", "b", *[n for n, _ in words], "y")


def learned_words():
    """Those of the training part of the classes that are kept."""
    _, word, y = rows()
    return word[(parts(N, (0.7, 0.3)) == 0) & (y != 4)]


@pytest.mark.parametrize("last", ["--standardize", "--project"])
@pytest.mark.parametrize("model", ["logistic", "mlp"])
def test_new_rows_are_transformed(site, last, model):
    """predict from the file as it is says what predict says of rows that were transformed here."""
    short = ("--warmup", "2", "--draws", "5") if model == "mlp" else ()  # a network's path doubles rounding errors
    words = ALL if last == "--standardize" else (*ALL, "--project", "3")
    site.sample(model, "raw.csv", *words, *short, out="raw.run")
    (x, word, y), columns, names = transformed(150, 4)
    csv(site.folder / "new.csv", [word, x[:, 1], y, x[:, 0]], ("w", "b", "y", "a"))  # another order, and no c
    csv(site.folder / "newrows.csv", [x[:, 0], x[:, 1], word, x[:, 2]], ("a", "b", "w", "c"))
    _, own, _ = transformed(N, 385)
    _, _, y0 = rows()
    train = (parts(N, (0.7, 0.3)) == 0) & (y0 != 4)
    old = np.column_stack(own)[train]
    if last == "--project":
        new = standardized(np.column_stack(columns), old) @ projection(4, 3)
        old = standardized(old) @ projection(4, 3)
        names, more = ("p1", "p2", "p3", "y"), ()
    else:
        new, more = np.column_stack(columns), ("--standardize",)
    csv(site.folder / "own.csv", [*old.T, y0[train]], names)
    site.sample(model, "own.csv", *more, *short, out="own.run")
    keep = y != 4
    csv(site.folder / "own_new.csv", [*new[keep].T, y[keep]], names)
    assert np.allclose(predict(site, "raw.run", "new.csv"), predict(site, "own.run", "own_new.csv"), atol=1e-7)
    csv(site.folder / "own_new.csv", [*new.T], names[:-1])  # without a target no class can be left out
    assert np.allclose(predict(site, "raw.run", "newrows.csv"), predict(site, "own.run", "own_new.csv"), atol=1e-7)


def test_rows_of_a_part(site):
    site.sample("logistic", "raw.csv", *ALL, out="raw.run")
    x, word, y = rows()
    part, keep = parts(N, (0.7, 0.3)), y != 4
    for k, name in enumerate(("train", "test")):
        chosen = keep & (part == k)
        csv(site.folder / "part.csv", [x[chosen, 0], x[chosen, 1], word[chosen], y[chosen]], ("a", "b", "w", "y"))
        assert np.array_equal(predict(site, "raw.run", "raw.csv", "--part", name), predict(site, "raw.run", "part.csv"))
    assert len(predict(site, "raw.run", "raw.csv")) == keep.sum()
    first = predict(site, "raw.run", "raw.csv", "--limit", "17", "--part", "test")
    assert np.allclose(first, predict(site, "raw.run", "part.csv")[:17], rtol=1e-12)  # a shorter block
    done = site("predict", "raw.run", "--data", "raw.csv", "--part", "validation")
    assert done.returncode == 2 and "two parts" in done.stderr


def test_new_words(site):
    site.sample("logistic", "raw.csv", *ALL, out="raw.run")
    (x, word, y), _, _ = transformed(6, 4)
    y[:] = 7
    reference = most_frequent(learned_words())
    csv(site.folder / "old.csv", [x[:, 0], x[:, 1], [reference] * 6, y], ("a", "b", "w", "y"))
    strange = np.array([reference] * 6, dtype=object)
    strange[3] = "sctp"
    csv(site.folder / "strange.csv", [x[:, 0], x[:, 1], strange, y], ("a", "b", "w", "y"))
    done = site("predict", "raw.run", "--data", "strange.csv", "-q")
    assert done.returncode == 3 and all(s in done.stderr for s in ("strange.csv:5", '"sctp"', '"w"', "--new-words"))
    zero = predict(site, "raw.run", "strange.csv", "--new-words", "zero")
    assert np.array_equal(zero, predict(site, "raw.run", "old.csv"))  # all 0 is the reference
    site.sample("logistic", "raw.csv", *ALL, "--coding", "integer", out="int.run")
    done = site("predict", "int.run", "--data", "strange.csv", "--new-words", "zero", "-q")
    assert done.returncode == 2 and "--coding integer" in done.stderr


def test_validation_rows_are_transformed(site):
    """The curve of --validate ends at what predict says of the same rows."""
    (x, word, y), _, _ = transformed(150, 4)
    csv(site.folder / "new.csv", [x[:, 0], x[:, 1], word, x[:, 2], y], ("a", "b", "w", "c", "y"))
    site.ok("sample", "logistic", "--data", "raw.csv", *ALL, *SHORT, "--chains", "1", "--validate", "new.csv", "--out",
            "v.run", "--overwrite", "-q", "--limit", "140")
    site.ok("export", "v.run", "v.curve.csv", "--overwrite", "-q")
    last = (site.folder / "v.curve.csv").read_text().strip().split("\n")
    error = float(last[-1].split(",")[last[0].split(",").index("error")])
    told = json.loads(site.ok("predict", "v.run", "--data", "new.csv", "--json", "-q").stdout)
    assert told["rows"] == (y != 4).sum()
    assert math.isclose(told["error"], error, abs_tol=1e-12)


def test_bad_cells_of_new_rows_are_named(site):
    site.sample("logistic", "two.csv", "--log1p", "b", out="log.run")
    csv(site.folder / "bad.csv", [[1.0, 2.0], [0.5, -1.0], [0.0, 0.0]], ("a", "b", "c"))
    done = site("predict", "log.run", "--data", "bad.csv", "-q")
    assert done.returncode == 3 and "bad.csv:3" in done.stderr and '"b"' in done.stderr


# ---- what the user is told -------------------------------------------------------------------------------------------

@pytest.mark.parametrize("words, code, parts_of_it", [
    (("--log1p", "a"), 3, ("two.csv", '"a"', "-1", "row")),
    (("--drop", "q"), 2, ('"q"',)),
    (("--drop", "y"), 2, ("is the target",)),
    (("--drop", "aa"), 2, ("did you mean",)),
    (("--drop", "a", "--log1p", "a"), 2, ("left out",)),
    (("--drop", "1-3", "--no-intercept"), 3, ("no feature columns",)),
    (("--keep-classes", "7,8"), 3, ('"8"', "7", "9")),
    (("--keep-classes", "7,"), 2, ("empty",)),
    (("--split", "0.9,0.2"), 2, ("1.1",)),
    (("--split", "1"), 2, ("two shares",)),
    (("--split", "0.5,0,0.5"), 2, ("above 0",)),
    (("--split", "0.5,0.5", "--part", "validation"), 2, ("three shares",)),
    (("--part", "test"), 2, ("--split",)),
    (("--drop", "a", "--drop", "b"), 2, ("once",)),
    (("--features", "a,b", "--drop", "1"), 2, ("by name",)),
])
def test_sentences(site, words, code, parts_of_it):
    text = refused(site, code, *words)
    assert all(p in text for p in parts_of_it), text


def test_categorical_needs_text(site):
    assert "CSV" in refused(site, 2, "--categorical", "1", data="two.npy")


def test_numbers_of_words_and_columns_agree_with_their_verbs(site):
    (site.folder / "few.csv").write_text("x,w,v,y\n" + "".join(f"{i % 7},{'ab'[i % 2]},{'cde'[i % 3]},{i % 5 > 1:d}\n"
                                                           for i in range(40)))
    done = site.ok("optimize", "logistic", "--data", "few.csv", "--target", "y", "--categorical", "w,v")
    assert 'Column "w": 2 words become 1 column of 0 and 1 ("a" is the reference: 0).' in done.stderr
    assert 'Column "v": 3 words become 2 columns of 0 and 1 ("c" is the reference: 0 in all of them).' in done.stderr


def test_the_run_says_what_was_done(site):
    done = site.ok("sample", "logistic", "--data", "raw.csv", *ALL, *SHORT, "--out", "fit.run", "--overwrite")
    assert "keep-classes 7,9; split 0.7,0.3: train; log1p b; drop c" in done.stderr + done.stdout
    assert "is the reference" in done.stderr
    told = header(site)["data"]["recipe"]
    assert [o["op"] for o in told] == ["columns", "categorical", "keep-classes", "split", "log1p", "drop"]
    assert told[0] == {"op": "columns", "named": True, "names": ["a", "b", "w", "c"]}
    assert told[3] == {"op": "split", "shares": [0.7, 0.3], "seed": 1, "part": "train"}


# ---- real data -------------------------------------------------------------------------------------------------------

MNIST = [DATA / "mnist" / f for f in ("train-images-idx3-ubyte.gz", "train-labels-idx1-ubyte.gz")]
KDD = DATA / "kdd99" / "kddcup.data_10_percent.gz"


@pytest.mark.skipif(not all(f.exists() for f in MNIST), reason=f"no MNIST in {DATA}: set SGFS_DATA")
def test_mnist_seven_against_nine(site):
    """Section 5.1 of the paper from the files as they are distributed."""
    images, labels = (gzip.decompress(f.read_bytes()) for f in MNIST)
    x = np.frombuffer(images, np.uint8, offset=16).reshape(-1, 784).astype(float)
    y = np.frombuffer(labels, np.uint8, offset=8)
    files = ("--labels", MNIST[1], "--keep-classes", "7,9", "--project", "50")
    keep = np.flatnonzero((y == 7) | (y == 9))
    assert len(keep) == 12214
    site.ok("sample", "logistic", "--data", MNIST[0], *files, *SHORT, "--out", "m.run", "--overwrite", "-q")
    assert (header(site, "m.run")["rows"], header(site, "m.run")["dim"]) == (12214, 51)
    got = mode(site, MNIST[0], *files, "--limit", "2000", "--standardize")
    p = x[keep[:2000]] @ projection(784, 50)
    np.save(site.folder / "m.npy", np.column_stack([p, y[keep[:2000]]]))
    assert np.allclose(got, mode(site, "m.npy", "--standardize"), rtol=1e-8, atol=1e-10)


@pytest.mark.skipif(not KDD.exists(), reason=f"no KDD 99 in {DATA}: set SGFS_DATA")
def test_kdd_as_in_the_paper(site):
    """494,021 rows, 40 features (words as numbers, the constant 20th column left out), 23 classes."""
    site.ok("sample", "softmax", "--data", KDD, "--header", "no", "--categorical", "2,3,4", "--coding", "integer",
            "--drop", "20", "--standardize", "--sampler", "sgld", "--epsilon", "1e-6", "--warmup", "2", "--draws", "2",
            "--chains", "1", "--batch", "100", "--out", "k.run", "--overwrite", "-q")
    told = header(site, "k.run")
    assert (told["rows"], len(told["data"]["features"])) == (494021, 40)
    assert len(told["model_info"]["labels"]) == 23
    assert [len(c["words"]) for c in told["data"]["recipe"][1]["columns"]] == [3, 66, 11]
