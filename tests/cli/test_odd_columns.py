# SPDX-License-Identifier: MIT
"""Columns that are no columns for a regression, and rows that decide one alone: identifiers, dates and amounts that
--categorical auto would turn into hundreds of columns, and values hundreds of standard deviations out."""
import json

import numpy as np
import pytest

from cli_program import write

RNG = np.random.default_rng(17)
ROWS = 60
OPTIMIZE = ("optimize", "logistic", "--data")


def table(sgfs, name, column, values):
    x = RNG.standard_normal(len(values))
    write(sgfs.folder / name, [f"{column},x,y", *(f'"{v}",{a:.3f},{i % 2}' for i, (v, a) in enumerate(zip(values, x)))])


ODD = {
    "id": ([f"u{i:04d}" for i in range(ROWS)], "60 different words in 60 rows", "looks like an identifier", "--drop"),
    "nearly": ([f"name {i // 2 if i < 24 else i}" for i in range(ROWS)], "48 different words in 60 rows", "identifier"),
    "day": ([f"2024-{1 + i // 28:02d}-{1 + i % 28:02d}" for i in range(ROWS)], "60 different dates such as", "2024-01-01", "--date day"),
    "seen": ([f"{1 + i % 12}/{1 + i % 28}/24 08:15" for i in range(ROWS)], "looks like a date"),
    "paid": ([f"${1000 + 37 * i:,}" for i in range(ROWS)], "60 different amounts such as", '"$1,000"', "--amount paid takes the signs away"),
    "share": ([f"{i}.5 %" for i in range(ROWS)], "60 different amounts such as", "--amount share takes"),
    "cost": ([f"\u20ac {i}.50" for i in range(ROWS)], "60 different amounts such as", "--amount cost takes"),
    "both": ([f"{i},5 {i}%" for i in range(ROWS)], "number with signs in it", "write 8.7", "--drop"),
}


@pytest.mark.parametrize("name", ODD)
def test_auto_says_what_a_column_looks_like(sgfs, name):
    values, *said = ODD[name]
    table(sgfs, "odd.csv", name, values)
    done = sgfs(*OPTIMIZE, "odd.csv", "--categorical", "auto")
    assert done.returncode == 3 and done.stderr.count("\n") == 1
    assert all(s in done.stderr for s in (f'"{name}"', "odd.csv", *said)), done.stderr
    sgfs.ok(*OPTIMIZE, "odd.csv", "--categorical", "auto", "--drop", name)
    done = sgfs.ok(*OPTIMIZE, "odd.csv", "--categorical", name)  # whoever names it means it
    assert "become" in done.stderr


def test_a_word_among_numbers_is_no_level(sgfs):
    """One typing error would make a column of every number."""
    table(sgfs, "typo.csv", "age", [20 + i % 40 if i != 7 else "abc" for i in range(ROWS)])
    done = sgfs(*OPTIMIZE, "typo.csv", "--categorical", "auto")
    for said in '"age" holds 40 different numbers and among them one word ("abc")', "write NA there and see --na", "--categorical":
        assert done.returncode == 3 and said in done.stderr and "--drop" not in done.stderr, done.stderr
    assert "41 words become 40 columns" in sgfs.ok(*OPTIMIZE, "typo.csv", "--categorical", "age").stderr
    write(sgfs.folder / "typo.csv", ["age,town,y", *(f"{20 + i % 40 if i != 7 else 'abc'},{'ab'[i % 2]},{i % 2}" for i in range(ROWS))])
    said = sgfs(*OPTIMIZE, "typo.csv").stderr
    assert "Write NA for words among numbers and see --na. With these options the others can be: --categorical auto\n" in said, said


@pytest.mark.parametrize("values", [
    [f"city {i % 25}" for i in range(ROWS)],  # many, but not one for each row
    [f"2024-0{1 + i % 5}-01" for i in range(ROWS)],  # five dates are levels
    [f"size {i % 7}-{i % 3}" for i in range(ROWS)], [f"A{i % 20}" for i in range(ROWS)], [f"{i % 12}a" for i in range(ROWS)]])
def test_words_are_taken(sgfs, values):
    table(sgfs, "fine.csv", "w", values)
    assert "become" in sgfs.ok(*OPTIMIZE, "fine.csv", "--categorical", "auto").stderr


def test_auto_names_all_such_columns_at_once(sgfs):
    rows = [f"u{i:04d},2024-{1 + i // 28:02d}-{1 + i % 28:02d},{'red' if i % 3 else 'blue'},{i % 7},{i % 2}" for i in range(ROWS)]
    write(sgfs.folder / "both.csv", ["id,day,colour,x,y", *rows])
    done = sgfs(*OPTIMIZE, "both.csv", "--categorical", "auto")
    assert done.returncode == 3 and '"id"' in done.stderr and '"day"' in done.stderr and "--drop id;" in done.stderr and "--date day" in done.stderr, done.stderr
    assert '"colour"' not in done.stderr
    sgfs.ok(*OPTIMIZE, "both.csv", "--categorical", "auto", "--drop", "id", "--date", "day")


def test_auto_refuses_thousands_of_words(sgfs):
    """1,100 words in 4,000 rows are no identifier, but more than anybody would want who has not said so."""
    table(sgfs, "many.csv", "street", [f"street {i % 1100}" for i in range(4000)])
    done = sgfs(*OPTIMIZE, "many.csv", "--categorical", "auto")
    assert done.returncode == 3 and "1100 different words" in done.stderr and "--drop" in done.stderr, done.stderr
    assert "1099 columns" in sgfs.ok(*OPTIMIZE, "many.csv", "--categorical", "street").stderr


def test_without_categorical_the_first_such_cell_says_so(sgfs):
    for value, said in (("$86,974", "write 86974"), ("2024-03-17", "--date c makes"), ("17.3.24", "looks like a date"), ("blue", "name it in --categorical")):
        table(sgfs, "cell.csv", "c", [value] * 5)
        done = sgfs(*OPTIMIZE, "cell.csv")
        assert done.returncode == 3 and said in done.stderr, done.stderr


def test_a_row_far_out_is_named(sgfs):
    """One of 2,000 rows makes nearly all of the column's spread."""
    x = RNG.standard_normal((2000, 2))
    x[7, 1] = 4321.5
    y = (RNG.random(2000) < 0.5).astype(int)
    np.save(sgfs.folder / "far.npy", np.column_stack([x, y]))
    z = (x[7, 1] - x[:, 1].mean()) / x[:, 1].std(ddof=1)
    done = sgfs.ok(*OPTIMIZE, "far.npy")
    assert f'"x2" has a value {z:.3g} sd from its mean' in done.stderr and "4321.5" in done.stderr, done.stderr
    sgfs.ok("sample", "logistic", "--data", "far.npy", "--draws", "200", "--out", "far.run", "-q")
    assert "sd from its mean" in sgfs.ok("summary", "far.run").stdout


def test_others_are_not(sgfs):
    """Ordinary numbers, heavy tails, a rare column of zeros and ones."""
    x = np.column_stack([RNG.standard_normal(3000), np.exp(RNG.standard_normal(3000)), np.arange(3000) == 5])
    np.save(sgfs.folder / "near.npy", np.column_stack([x, RNG.random(3000) < 0.5]))
    assert "from its mean" not in sgfs.ok(*OPTIMIZE, "near.npy").stderr


# ---- row numbers ---------------------------------------------------------------------------------

def numbered(sgfs, name, head, numbers):
    x = np.random.default_rng(3).standard_normal((len(numbers), 2))
    write(sgfs.folder / name, [f"{head},a,b,y", *(f"{v},{p:.3f},{q:.3f},{i % 2}" for i, (v, (p, q)) in enumerate(zip(numbers, x)))])


@pytest.mark.parametrize("head", ["", '""', "Unnamed: 0"])
@pytest.mark.parametrize("numbers", [range(ROWS), range(1, ROWS + 1), RNG.permutation(500)[:ROWS]])
def test_row_numbers_of_pandas_and_r_are_left_out(sgfs, head, numbers):
    """The same as without the column, also in predictions, of files that have it and that have not."""
    numbered(sgfs, "with.csv", head, numbers)
    lines = (sgfs.folder / "with.csv").read_text().splitlines()
    write(sgfs.folder / "without.csv", [line.split(",", 1)[1] for line in lines])
    done = sgfs.ok(*OPTIMIZE, "with.csv", "--json")
    assert "numbers the rows: it is left out" in done.stderr
    assert json.loads(done.stdout)["mean"] == json.loads(sgfs.ok(*OPTIMIZE, "without.csv", "--json").stdout)["mean"]
    sgfs.ok("sample", "logistic", "--data", "with.csv", "--draws", "20", "--out", "fit.run", "--overwrite")
    for name in ("with.csv", "without.csv"):
        sgfs.ok("predict", "fit.run", "--data", name, "--out", f"p-{name}", "--overwrite")
    assert (sgfs.folder / "p-with.csv").read_bytes() == (sgfs.folder / "p-without.csv").read_bytes()


def test_whoever_names_row_numbers_means_them(sgfs):
    numbered(sgfs, "with.csv", "", range(ROWS))
    for words, parameters in ((("--features", "x1,a"), 3), (("--drop", "x1"), 3), (("--drop", "1"), 3), (("--drop", "b"), 2),
                              (("--categorical", "x1"), 2 + ROWS)):
        done = sgfs.ok(*OPTIMIZE, "with.csv", "--json", *words)
        assert len(json.loads(done.stdout)["mean"]) == parameters, words
    done = sgfs(*OPTIMIZE, "with.csv", "--drop", "3")
    assert done.returncode == 2 and "ask by name" in done.stderr, "numbers would count another column"


@pytest.mark.parametrize("head, numbers", [("", [0.5 + i for i in range(ROWS)]), ("", [i // 2 for i in range(ROWS)]),
                                           ("", [-i for i in range(ROWS)]), ("x1", range(1960, 1960 + ROWS))])
def test_other_columns_stay(sgfs, head, numbers):
    numbered(sgfs, "other.csv", head, numbers)
    done = sgfs.ok(*OPTIMIZE, "other.csv", "--json")
    assert len(json.loads(done.stdout)["mean"]) == 4 and "numbers the rows" not in done.stderr


def test_a_column_with_a_name_that_numbers_the_rows_is_named(sgfs):
    for numbers in (range(ROWS), range(1, ROWS + 1), RNG.permutation(ROWS)):
        numbered(sgfs, "named.csv", "id", numbers)
        assert 'Column "id" numbers the rows, from' in sgfs.ok(*OPTIMIZE, "named.csv").stderr
    numbered(sgfs, "named.csv", "id", range(2, 2 * ROWS + 2, 2))
    assert "numbers the rows" not in sgfs.ok(*OPTIMIZE, "named.csv").stderr


def test_numbers_that_only_name_something_are_noticed(sgfs):
    """Consecutive numbers in any order, and dates written as numbers; years, and other whole numbers, are neither."""
    rng = np.random.default_rng(2)
    order = rng.permutation(ROWS)
    days = [20240100 + 100 * (i // 28) + 1 + i % 28 for i in range(ROWS)]

    def said(head, columns):
        write(sgfs.folder / "ids.csv", [head + ",x,y", *(",".join(map(str, [*r, rng.random(), i % 2])) for i, r in enumerate(zip(*columns)))])
        return sgfs.ok(*OPTIMIZE, "ids.csv").stderr

    assert 'Column "customer" numbers the rows, from 48200 to 48259' in said("customer", [48200 + order])
    assert "--drop customer,seat" in said("customer,seat", [48200 + order, 7 + order[::-1]])
    assert "--drop day" in said("day", [rng.permutation(days)])
    assert "--drop" not in said("year,count", [1960 + order, rng.integers(0, 10 ** 6, ROWS)])


def test_a_guessed_target_is_named_where_it_leads_nowhere(sgfs):
    """Whether the model or the reader stumbles; not where the target was named."""
    guess = '"fare" was taken as the target because it is the last column; --target NAME takes another'
    rows = ["1,male,3,7.5", "0,female,4,8.25", "1,male,5,9", "0,male,5,19"]
    write(sgfs.folder / "ship.csv", ["survived,sex,age,fare", *rows])
    for words in ((), ("--categorical", "auto")):
        done = sgfs("sample", "logistic", "--data", "ship.csv", *words)
        assert done.returncode == 3 and guess in done.stderr, done.stderr
        done = sgfs("sample", "logistic", "--data", "ship.csv", "--target", "fare", *words)
        assert done.returncode == 3 and "was taken as" not in done.stderr, done.stderr
    write(sgfs.folder / "gap.csv", ["survived,sex,age,fare", "1,male,3,", *rows])
    for words in ((), ("--categorical", "auto")):
        done = sgfs("sample", "linear", "--data", "gap.csv", *words)
        assert done.returncode == 3 and guess in done.stderr and "--na drop" in done.stderr, done.stderr
