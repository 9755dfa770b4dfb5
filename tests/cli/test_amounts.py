# SPDX-License-Identifier: MIT
"""Columns of amounts: refused with the way on, and read by --amount as the numbers that they are. New rows of such a
run are read in the same way."""
import json
import shlex

import numpy as np
import pytest

from cli_program import write

ROWS = 300
RNG = np.random.default_rng(31)
MONEY = np.round(np.exp(RNG.normal(8, 1.5, ROWS)), 2) * RNG.choice([1, 1, 1, -1], ROWS)
X = RNG.integers(0, 7, ROWS)
Y = RNG.integers(0, 2, ROWS)
WAYS = {  # of writing the same number
    "plain": lambda m: f"{m:.2f}", "dollar": lambda m: f"${m:,.2f}", "before": lambda m: f"-${-m:,.2f}" if m < 0 else f"${m:,.2f}",
    "accountant": lambda m: f"({-m:,.2f})" if m < 0 else f"{m:,.2f}", "behind": lambda m: f"{m:,.2f} EUR",
    "swiss": lambda m: f"CHF {m:,.2f}".replace(",", "'"), "blanks": lambda m: f"{m:,.2f} \u20ac".replace(",", "\u00a0"),
    "percent": lambda m: f"{m:.2f} %", "pound": lambda m: f" \u00a3{m:.2f} "}


def table(folder, name, way, y=Y):
    write(folder / name, ["paid,x,y", *(f'"{way(m)}",{x},{k}' for m, x, k in zip(MONEY, X, y))])


def mode(sgfs, data, *words):
    told = json.loads(sgfs.ok("optimize", "logistic", "--data", data, "--json", *words).stdout)
    return dict(zip(told["names"], told["mean"]))


@pytest.fixture(scope="module")
def site(shared):
    for name, way in WAYS.items():
        table(shared.folder, f"{name}.csv", way)
    return shared


@pytest.mark.parametrize("way", WAYS)
def test_an_amount_is_its_number(site, way):
    assert mode(site, f"{way}.csv", "--amount", "paid") == mode(site, "plain.csv")


def test_decimal_commas(site):
    """In a file whose numbers have decimal commas a point stands between thousands."""
    def comma(m):
        return f"{m:,.2f}".translate(str.maketrans(",.", ".,"))

    write(site.folder / "comma.csv", ["paid;x;y", *(f"{comma(m)} EUR;{x},5;{k}" for m, x, k in zip(MONEY, X, Y))])
    write(site.folder / "point.csv", ["paid,x,y", *(f"{m:.2f},{x}.5,{k}" for m, x, k in zip(MONEY, X, Y))])
    assert mode(site, "comma.csv", "--amount", "paid") == mode(site, "point.csv")


@pytest.mark.parametrize("cell", ["$12,34", "$1,2345", "1,234,56", "$1 234,567", "12 $ 5", "$", "(12", "$12)", "-$-12", "1.234.567", "many",
                                  "$1,234.5.6", "12 % %", "--5"])
def test_what_can_be_read_in_two_ways_is_none(site, cell):
    write(site.folder / "odd.csv", ["paid,y", *(f'"{cell if i == 7 else "$" + str(i)}",{i % 2}' for i in range(60))])
    done = site("optimize", "logistic", "--data", "odd.csv", "--amount", "paid")
    assert done.returncode == 3 and "odd.csv:9: column 1" in done.stderr and "--amount reads amounts such as $86,974.50" in done.stderr, done.stderr


def test_the_refusal_has_the_command_that_works(site):
    """Amounts are columns to be used, and no columns to be left out."""
    write(site.folder / "all.csv", ["id,paid,rate,town,y", *(
        f'u{i},"${m:,.2f}",{i % 97} %,{"ab"[i % 2]},{k}' for i, (m, k) in enumerate(zip(MONEY, Y)))])
    done = site("optimize", "logistic", "--data", "all.csv")
    assert done.returncode == 3 and '"paid" holds amounts (line 2: "$' in done.stderr, done.stderr
    options = shlex.split(done.stderr.split("With these options they can be: ")[1])
    assert options == ["--categorical", "auto", "--amount", "paid,rate", "--drop", "id"]
    assert set(mode(site, "all.csv", *options)) == {"intercept", "paid", "rate", "town=b"}
    done = site("optimize", "logistic", "--data", "dollar.csv")
    assert done.returncode == 3 and "--amount paid takes the signs away" in done.stderr, done.stderr
    done = site("optimize", "logistic", "--data", "dollar.csv", "--categorical", "auto")
    assert done.returncode == 3 and "different amounts such as" in done.stderr and "--amount paid takes the signs away" in done.stderr, done.stderr


def test_new_rows_are_read_alike(site):
    """predict needs no --amount; numbers without signs are the same rows, and what the run had dropped may hold anything."""
    site.ok("sample", "logistic", "--data", "dollar.csv", "--amount", "paid", "--draws", "200", "--ess", "1", "--out", "a.run", "--overwrite")
    for data in "dollar", "plain", "behind":
        site.ok("predict", "a.run", "--data", f"{data}.csv", "--out", f"{data}.p.csv", "--overwrite")
    written = [(site.folder / f"{data}.p.csv").read_text() for data in ("dollar", "plain", "behind")]
    assert written[0] == written[1] == written[2] and written[0].count("\n") == ROWS + 1
    write(site.folder / "bad.csv", ["paid,x", "$1,2,3"])
    done = site("predict", "a.run", "--data", "bad.csv", "--out", "bad.p.csv")
    assert done.returncode == 3, done.stderr
    assert '"op":"amount"' in (site.folder / "a.run").read_bytes().decode("latin-1").replace(" ", "")


def test_beside_dates_and_words_and_groups(site):
    """In new rows each column is still what it was, whichever comes first in the file."""
    day = [f"2024-{1 + i % 12:02d}-{1 + i % 28:02d}" for i in range(ROWS)]
    town = [("Kiel", "Lyon", "Oslo")[i % 3] for i in range(ROWS)]
    for name, paid in ("texts", [f'"${m:,.2f}"' for m in MONEY]), ("numbers", [f"{m:.2f}" for m in MONEY]):
        write(site.folder / f"{name}.csv", ["id,day,town,paid,x,y", *(
            f"u{i},{day[i]},{town[i]},{paid[i]},{X[i]},{Y[i]}" for i in range(ROWS))])
    options = ("--categorical", "auto", "--date", "day", "--drop", "id", "--draws", "200", "--ess", "1", "-q", "--overwrite")
    for name, more in ("texts", ("--amount", "paid")), ("numbers", ()):
        site.ok("sample", "logistic", "--data", f"{name}.csv", *options, *more, "--validate", f"{name}.csv", "--out", f"{name}.run")
        site.ok("predict", f"{name}.run", "--data", f"{name}.csv", "--out", f"{name}.p.csv", "--overwrite")
    assert (site.folder / "texts.p.csv").read_text() == (site.folder / "numbers.p.csv").read_text()
    formula = ("--formula", "y ~ town * paid", "--amount", "paid", "--draws", "200", "--ess", "1", "-q", "--overwrite")
    site.ok("sample", "logistic", "--data", "texts.csv", *formula, "--out", "formula.run")
    for name in "texts", "numbers":
        site.ok("predict", "formula.run", "--data", f"{name}.csv", "--out", f"formula-{name}.csv", "--overwrite")
    assert (site.folder / "formula-texts.csv").read_text() == (site.folder / "formula-numbers.csv").read_text()
    mixed = ("--formula", "y ~ paid + (1 | town)", "--amount", "paid", "--draws", "100", "--ess", "1", "-q", "--overwrite")
    site.ok("sample", "linear", "--data", "texts.csv", *mixed, "--out", "mixed.run", "--allow-unconverged")
    site.ok("predict", "mixed.run", "--data", "texts.csv", "--out", "mixed.csv", "--overwrite")


def test_packs_of_several_days_are_joined(site):
    """Words of each day differ; amounts mean the same."""
    for k, towns in enumerate((("Kiel", "Lyon"), ("Lyon", "Oslo"))):
        write(site.folder / f"day{k}.csv", ["town,paid,y", *(f'{towns[i // 2 % 2]},"${abs(MONEY[i]):,.2f}",{Y[i]}' for i in range(k, ROWS, 2))])
        site.ok("pack", f"day{k}.csv", "--categorical", "town", "--amount", "paid", "--out", f"day{k}.sgd", "--overwrite")
    assert set(mode(site, "day?.sgd")) == {"intercept", "town=Kiel", "town=Oslo", "paid"}


def test_beside_many_words(site):
    """Enough of them that rows are kept as sparse ones."""
    rng = np.random.default_rng(2)
    rows, money = 20000, rng.integers(1000, 9999, 20000)
    word, y = rng.integers(0, 260, rows), rng.integers(0, 2, rows)
    for name, sign in ("wide", "$"), ("narrow", ""):
        write(site.folder / f"{name}.csv", ["paid,shop,y", *(f"{sign}{m},s{w},{k}" for m, w, k in zip(money, word, y))])
    assert mode(site, "wide.csv", "--amount", "paid", "--categorical", "shop") == mode(site, "narrow.csv", "--categorical", "shop")


def test_missing_packed_and_transformed(site, sgfs):
    lines = (site.folder / "dollar.csv").read_text().splitlines()
    plain = (site.folder / "plain.csv").read_text().splitlines()
    for name, rows in ("holes.csv", lines), ("some.csv", plain):
        write(sgfs.folder / name, [rows[0], *((f',{row.rsplit(",", 2)[1]},{row[-1]}' if i % 5 == 0 else row) for i, row in enumerate(rows[1:]))])
    assert "--na drop" in sgfs("optimize", "logistic", "--data", "holes.csv", "--amount", "paid").stderr
    for na in "drop", "mean":
        assert mode(sgfs, "holes.csv", "--amount", "paid", "--na", na) == mode(sgfs, "some.csv", "--na", na)
    site.ok("pack", "dollar.csv", "--amount", "paid", "--no-shuffle", "--out", "a.sgd", "--overwrite")
    site.ok("pack", "plain.csv", "--no-shuffle", "--out", "b.sgd", "--overwrite")
    assert mode(site, "a.sgd") == mode(site, "b.sgd")
    assert mode(site, "dollar.csv", "--amount", "paid", "--standardize") == mode(site, "plain.csv", "--standardize")
    positive = [line for line in lines if "-" not in line]
    write(site.folder / "positive.csv", positive)
    assert "log1p(paid)" in mode(site, "positive.csv", "--amount", "paid", "--log1p", "paid")


def test_what_it_is_not_for(site):
    np.save(site.folder / "a.npy", np.column_stack([X, Y]).astype(float))
    done = site("optimize", "linear", "--data", "a.npy", "--amount", "1")
    assert done.returncode == 2 and "--amount is for files of kind arrow and csv" in done.stderr, done.stderr
    done = site("optimize", "linear", "--data", "dollar.csv", "--target", "paid", "--amount", "paid")
    assert done.returncode == 2 and "--amount is for features" in done.stderr, done.stderr
    done = site("optimize", "logistic", "--data", "dollar.csv", "--amount", "paid", "--date", "paid")
    assert done.returncode == 2 and "in --amount and in --date" in done.stderr, done.stderr
