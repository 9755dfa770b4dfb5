# SPDX-License-Identifier: MIT
"""The same rows from every format give the same draws, bit for bit: the values are quarters and small
integers, which all formats hold exactly. The yardstick is a plain CSV file with a header."""
import gzip
import json
import re

import numpy as np
import pytest

from cli_program import SHORT, lines, quarters, write

X, Y = quarters()
WHOLE = np.column_stack([4 * X, Y]).astype(int)  # the same rows in whole numbers


@pytest.fixture(scope="module")
def site(shared):
    """The program, with the yardstick's draws."""
    write(shared.folder / "plain.csv", lines(X, Y))
    write(shared.folder / "whole.csv", lines(WHOLE[:, :2], Y))
    shared.plain = shared.sample("logistic", "plain.csv")
    shared.whole = shared.sample("logistic", "whole.csv")
    return shared


def test_the_yardstick_is_one(site):
    assert site.plain.shape == (2, 80, 3)
    assert np.isfinite(site.plain).all() and np.ptp(site.plain, axis=1).min() > 0.1
    assert not (site.plain == site.whole).any()


# ---- CSV -----------------------------------------------------------------------------------------

def text(delimiter=",", **options):
    return "\n".join(lines(X, Y, delimiter=delimiter, **options)) + "\n"


QUOTED = "\n".join(",".join(f'"{cell}"' for cell in line.split(",")) for line in lines(X, Y))
FORMS = {
    "semicolon": text(";"), "tab": text("\t"), "bar": text("|"), "blanks": text("  "),
    "quoted": QUOTED, "no header": text(names=None), "no last newline": text().rstrip("\n"),
    "CRLF": text().replace("\n", "\r\n"), "BOM": "\ufeff" + text(),
    "BOM, quotes, CRLF": "\ufeff" + QUOTED.replace("\n", "\r\n"),
    "blanks around": text().replace(",", " , "), "blank lines": text().replace("\n", "\n\n"),
    "exponents": text().replace("1.25", "125e-2").replace("2.0", ".2E1").replace(",0.5", ",+0.5"),
    "more digits": text().replace("0.25", "0.250000000000000000000000"),
}


@pytest.mark.parametrize("form", FORMS)
def test_csv(site, form):
    (site.folder / "form.csv").write_bytes(FORMS[form].encode())
    assert (site.sample("logistic", "form.csv") == site.plain).all()


@pytest.mark.parametrize("members", [1, 3])
def test_gz(site, members):
    whole = text().encode()
    pieces = np.array_split(np.frombuffer(whole, np.uint8), members)
    (site.folder / "form.csv.gz").write_bytes(b"".join(gzip.compress(p.tobytes()) for p in pieces))
    assert (site.sample("logistic", "form.csv.gz") == site.plain).all()


def test_gz_is_known_by_its_bytes(site):
    (site.folder / "form.txt").write_bytes(gzip.compress(text().encode()))
    assert (site.sample("logistic", "form.txt") == site.plain).all()


def test_names_come_from_the_header(site):
    odd = ["höhe (m)", '"a ""b"""', "y"]
    write(site.folder / "names.csv", [",".join(odd)] + lines(X, Y, None))
    assert (site.sample("logistic", "names.csv") == site.plain).all()
    shown = site.ok("summary", "fit.run").stdout
    assert re.search(r"^höhe \(m\) ", shown, re.M) and re.search(r'^a "b" ', shown, re.M)


# ---- npy -----------------------------------------------------------------------------------------

@pytest.mark.parametrize("order", "CF")
@pytest.mark.parametrize("dtype", ["f8", "f4", "i1", "i2", "i4", "i8", "u1"])
def test_npy(site, dtype, order):
    exact = dtype[0] == "f"
    rows = np.column_stack([X, Y]) if exact else WHOLE
    if dtype[0] == "u":
        rows = abs(rows)
    np.save(site.folder / "a.npy", np.array(rows, "<" + dtype, order=order))
    want = site.plain if exact else site.whole
    if dtype[0] == "u":
        write(site.folder / "abs.csv", lines(rows[:, :2], Y))
        want = site.sample("logistic", "abs.csv")
    assert (site.sample("logistic", "a.npy") == want).all()


@pytest.mark.parametrize("version", [(1, 0), (2, 0), (3, 0)])
def test_npy_versions(site, version):
    with open(site.folder / "a.npy", "wb") as f:
        np.lib.format.write_array(f, np.column_stack([X, Y]), version=version)
    assert (site.sample("logistic", "a.npy") == site.plain).all()


# ---- single precision ----------------------------------------------------------------------------

def test_f32_storage_is_exact_on_quarters(site):
    assert (site.sample("logistic", "plain.csv", "--storage", "f32") == site.plain).all()


def test_f32_storage_is_close_on_any_numbers(site):
    rng = np.random.default_rng(717)
    write(site.folder / "real.csv", lines(X + rng.normal(size=X.shape), Y))
    double = site.sample("logistic", "real.csv")
    single = site.sample("logistic", "real.csv", "--storage", "f32")
    assert np.abs(single - double).max() < 1e-5
    assert not (single == double).all()


# ---- which column is what ------------------------------------------------------------------------

@pytest.mark.parametrize("place", [0, 1])
@pytest.mark.parametrize("by", ["name", "number"])
def test_target_in_another_column(site, place, by):
    table = np.insert(X, place, Y, axis=1)
    names = np.insert(np.array(["a", "b"]), place, "y")
    write(site.folder / "moved.csv", [",".join(names)] + [",".join(map(repr, map(float, row))) for row in table])
    np.save(site.folder / "moved.npy", table)
    asked = "y" if by == "name" else place + 1
    assert (site.sample("logistic", "moved.csv", "--target", asked) == site.plain).all()
    if by == "number":
        assert (site.sample("logistic", "moved.npy", "--target", asked) == site.plain).all()


@pytest.mark.parametrize("features, columns", [
    ("b", [3]), ("a,b", [0, 3]), ("1,4", [0, 3]), ("1-3", [0, 1, 2]), ("c, d", [1, 2]), ("2-3,4", [1, 2, 3]),
    ("4,1", [0, 3]), ("2-2", [1]),  # columns stay in file order
])
def test_features(site, features, columns):
    rng = np.random.default_rng(19)
    table = rng.integers(-8, 9, (60, 4)) / 4
    names = ["a", "c", "d", "b"]
    write(site.folder / "wide.csv", lines(table, Y, (*names, "y")))
    write(site.folder / "narrow.csv", lines(table[:, columns], Y, (*(names[j] for j in columns), "y")))
    np.save(site.folder / "wide.npy", np.column_stack([table, Y]))
    want = site.sample("logistic", "narrow.csv")
    assert (site.sample("logistic", "wide.csv", "--features", features) == want).all()
    if not re.search("[a-d]", features):
        assert (site.sample("logistic", "wide.npy", "--features", features) == want).all()


def test_columns_nobody_asked_for_may_hold_anything(site):
    rows = [f"{a!r},{word},{b!r},{y}" for (a, b), y, word in
            zip(X.tolist(), Y, ["x", "", "NA", '"1,2"'] * 15)]
    write(site.folder / "notes.csv", ["a,note,b,y"] + rows)
    assert (site.sample("logistic", "notes.csv", "--features", "a,b") == site.plain).all()


def test_no_intercept_and_columns_of_ones(site):
    write(site.folder / "ones.csv", lines(np.column_stack([np.ones(60), X]), Y, ("intercept", "a", "b", "y")))
    assert (site.sample("logistic", "ones.csv", "--no-intercept") == site.plain).all()


# ---- labels --------------------------------------------------------------------------------------

@pytest.mark.parametrize("zero, one", [("-1", "1"), ("1", "2"), ("no", "yes"), ("0.0", "1.0"), ("cat", "cat 2")])
def test_labels(site, zero, one):
    write(site.folder / "labels.csv", lines(X, [one if v else zero for v in Y]))
    done = site.ok("sample", "logistic", "--data", "labels.csv", *SHORT, "--out", "labels.run", "--overwrite")
    assert (site.draws("labels.run") == site.plain).all()
    if zero != "0.0":  # 0/1 needs no words
        assert f'Target "y": {zero} counts as 0, {one} as 1.' in done.stderr
        assert f'"{one}"'.encode() in (site.folder / "labels.run").read_bytes()  # stored as well
    else:
        assert "counts as" not in done.stderr


# ---- numbers as they are written elsewhere

def test_decimal_commas_are_read_where_commas_separate_nothing(sgfs):
    """As R's read.csv2: the same draws as from the file with points. A point in such a file is refused."""
    rng = np.random.default_rng(12)
    rows = [[f"{v:.2f}" for v in rng.standard_normal(3)] + [str(i % 5)] for i in range(60)]
    text = {"comma": "\n".join(";".join(r).replace(".", ",") for r in rows), "point": "\n".join(";".join(r) for r in rows)}
    means = {}
    for name, body in text.items():
        (sgfs.folder / f"{name}.csv").write_text("a;b;y;n\n" + body + "\n")
        done = sgfs.ok("optimize", "linear", "--data", f"{name}.csv", "--target", "y", "--json")
        assert ("decimal commas" in done.stderr) == (name == "comma")
        means[name] = json.loads(done.stdout)["mean"]
    assert means["comma"] == means["point"]
    for bad in ("1.500", "1.500,25"):  # far behind the rows by which the file is judged
        (sgfs.folder / "bad.csv").write_text("a;b;y;n\n" + (text["comma"] + "\n") * 300 + f"{bad};0,5;1,5;2\n")
        done = sgfs("optimize", "linear", "--data", "bad.csv", "--target", "y")
        assert done.returncode == 3 and bad in done.stderr, done.stderr


@pytest.mark.parametrize("cells, delimiter", [(("1,234", "2,345"), ";"), (('"1,5"', '"2,5"'), ","), (("1,5", "2.5"), ";")])
def test_commas_that_may_mean_something_else_are_refused(sgfs, cells, delimiter):
    """Thousands, a file whose commas separate cells, a file with points and commas: nobody is told to drop the column."""
    rows = [delimiter.join([cells[i % 2], str(i % 7), str(i % 3)]) for i in range(30)]
    (sgfs.folder / "odd.csv").write_text(delimiter.join("aby") + "\n" + "\n".join(rows) + "\n")
    done = sgfs("optimize", "linear", "--data", "odd.csv")
    assert done.returncode == 3 and "decimal point" in done.stderr and "--drop" not in done.stderr, done.stderr
