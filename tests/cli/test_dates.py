# SPDX-License-Identifier: MIT
"""Columns of dates: refused with the way on, and taken apart by --date into year, month, weekday and hour, as
Python's datetime takes them apart. What a run made of them is made of new rows, too."""
import datetime
import json

import numpy as np
import pytest

from cli_program import write

ROWS = 400
RNG = np.random.default_rng(23)
TIMES = [datetime.datetime(2019, 11, 5, 3, 30) + datetime.timedelta(hours=int(h)) for h in RNG.integers(0, 3 * 365 * 24, ROWS)]
Y = RNG.integers(0, 2, ROWS)
WAYS = {  # of writing the same instant
    "T": lambda t: t.strftime("%Y-%m-%dT%H:%M"), "blank": lambda t: t.strftime("%Y-%m-%d %H:%M:%S"),
    "zone": lambda t: t.strftime("%Y-%m-%dT%H:%M:%S.250+02:00"), "Z": lambda t: t.strftime("%Y-%m-%dT%H:%M:%SZ"),
    "slashes": lambda t: t.strftime('"%Y/%m/%d %H:%M"'), "compact": lambda t: t.strftime("%Y%m%dT%H:%M"),
}
PARTS = {"year": lambda t: t.year, "month": lambda t: t.month, "weekday": lambda t: t.isoweekday(), "hour": lambda t: t.hour}


def table(folder, name, when, times=TIMES, y=Y):
    write(folder / name, ["x,when,y", *(f"{i % 7},{when(t)},{k}" for i, (t, k) in enumerate(zip(times, y)))])


def mode(sgfs, data, *words):
    told = json.loads(sgfs.ok("optimize", "logistic", "--data", data, "--json", *words).stdout)
    return dict(zip(told["names"], told["mean"]))


@pytest.fixture(scope="module")
def site(shared):
    for name, when in WAYS.items():
        table(shared.folder, f"{name}.csv", when)
    names = [f"{part}(when)" for part in PARTS]
    write(shared.folder / "parts.csv", [",".join(["x", *names, "y"]), *(
        ",".join(map(str, [i % 7, *(f(t) for f in PARTS.values()), k])) for i, (t, k) in enumerate(zip(TIMES, Y)))])
    return shared


@pytest.mark.parametrize("way", WAYS)
def test_the_parts_of_a_date_are_those_of_a_calendar(site, way):
    """As numbers they give the posterior of columns of numbers, written out; as zeros and ones that of words."""
    for coding in "integer", "onehot":
        options = ("--coding", coding, "--drop", "x")
        ours = mode(site, f"{way}.csv", "--date", "when", *options)
        words = ("--categorical", "month(when),weekday(when),hour(when)") if coding == "onehot" else ()
        theirs = mode(site, "parts.csv", *words, *options)
        day = "Mon Tue Wed Thu Fri Sat Sun".split()
        theirs = {n if not n.startswith("weekday") or "=" not in n else f"weekday(when)={day[int(n[-1]) - 1]}": v
                  for n, v in theirs.items()}
        assert ours == pytest.approx(theirs, rel=1e-9, abs=1e-9)
    assert len(ours) == 2 + 11 + 6 + 23


def test_a_day_has_no_hours_and_one_year_no_year(sgfs):
    table(sgfs.folder, "day.csv", lambda t: t.replace(year=2021, day=min(t.day, 28)).strftime("%Y-%m-%d"))
    names = set(mode(sgfs, "day.csv", "--date", "when", "--coding", "integer"))
    assert names == {"intercept", "x", "month(when)", "weekday(when)"}


def test_the_refusal_has_the_command_that_works(site, sgfs):
    """Dates beside words, beside what numbers the rows, beside an empty column: one sentence, one command."""
    rows = [f"u{i},{t:%Y-%m-%d},{'red' if i % 3 else 'blue'},,5,{i % 5},{k}" for i, (t, k) in enumerate(zip(TIMES, Y))]
    write(sgfs.folder / "all.csv", ["id,when,colour,void,same,x,y", *rows])
    done = sgfs("optimize", "logistic", "--data", "all.csv")
    assert done.returncode == 3 and '"when" holds dates (line 2: "' in done.stderr, done.stderr
    options = done.stderr.split("With these options they can be: ")[1].split()
    assert options == ["--categorical", "auto", "--date", "when", "--drop", "id,void"]
    done = sgfs.ok("optimize", "logistic", "--data", "all.csv", *options)
    assert 'Column "same" is constant' in done.stderr and "--drop same" in done.stderr
    done = sgfs("optimize", "logistic", "--data", "all.csv", "--categorical", "auto", "--drop", "id,void")
    assert done.returncode == 3 and "--date when makes year, month, weekday and hour of it" in done.stderr, done.stderr
    done = site("optimize", "logistic", "--data", "T.csv")
    assert done.returncode == 3 and "--date when makes year" in done.stderr and "--drop when" in done.stderr, done.stderr


@pytest.mark.parametrize("cell", ["17.3.2024", "03/04/2024", "2024-02-30", "2024-13-01", "2024-01-01T25:00", "soon", "2024-1-1"])
def test_what_is_no_such_date_is_refused(sgfs, cell):
    write(sgfs.folder / "odd.csv", ["when,y", "2024-01-31,1", "2024-02-29 23:59:59,0", f"{cell},1", "2025-01-01,0"])
    done = sgfs("optimize", "logistic", "--data", "odd.csv", "--date", "when")
    assert done.returncode == 3 and f'odd.csv:4: column 1 ("when") holds "{cell}"' in done.stderr, done.stderr


def test_new_rows_are_taken_apart_alike(site):
    """predict needs no --date. A month that no row had is refused, or taken as the one that others are compared with."""
    site.ok("sample", "logistic", "--data", "T.csv", "--date", "when", "--drop", "hour(when)", "--draws", "100", "--ess", "1",
            "--seed", "1", "--out", "d.run", "--overwrite")
    for way in WAYS:
        site.ok("predict", "d.run", "--data", f"{way}.csv", "--out", f"{way}.out.csv", "--overwrite")
        assert (site.folder / f"{way}.out.csv").read_bytes() == (site.folder / "T.out.csv").read_bytes()
    some = [(t, k) for t, k in zip(TIMES, Y) if t.month != 8]
    table(site.folder, "some.csv", WAYS["T"], *zip(*some))
    site.ok("sample", "logistic", "--data", "some.csv", "--date", "when", "--draws", "100", "--ess", "1", "--out", "some.run",
            "--overwrite")
    done = site("predict", "some.run", "--data", "T.csv")
    assert done.returncode == 3 and "T.csv:" in done.stderr and "whose month (8) none of the run's rows had" in done.stderr
    site.ok("predict", "some.run", "--data", "T.csv", "--new-words", "zero")


def test_missing_dates(sgfs):
    times = [t.strftime("%Y-%m-%d") for t in TIMES]
    write(sgfs.folder / "holes.csv", ["x,when,y", *(f"{i % 7},{'' if i % 9 == 1 else t},{k}" for i, (t, k) in enumerate(zip(times, Y)))])
    assert "--na drop" in sgfs("optimize", "logistic", "--data", "holes.csv", "--date", "when").stderr
    kept = [(t, k, i % 7) for i, (t, k) in enumerate(zip(times, Y)) if i % 9 != 1]
    write(sgfs.folder / "whole.csv", ["x,when,y", *(f"{x},{t},{k}" for t, k, x in kept)])
    assert mode(sgfs, "holes.csv", "--date", "when", "--na", "drop") == pytest.approx(mode(sgfs, "whole.csv", "--date", "when"))
    assert "year(when)=NA" in mode(sgfs, "holes.csv", "--date", "when", "--na", "mean")


def test_dates_are_packed_and_stand_beside_many_words(site):
    """A packed file has the columns; and a table of many words, which becomes sparse, has them, too."""
    site.ok("pack", "T.csv", "--date", "when", "--no-shuffle", "--out", "t.sgd", "--overwrite")
    assert mode(site, "t.sgd") == pytest.approx(mode(site, "T.csv", "--date", "when"), rel=1e-6, abs=1e-8)
    site.ok("sample", "logistic", "--data", "t.sgd", "--draws", "50", "--ess", "1", "--out", "t.run", "--overwrite")
    site.ok("predict", "t.run", "--data", "Z.csv")
    rng = np.random.default_rng(5)
    rows, town = 60000, rng.integers(0, 90, 60000)
    y = rng.integers(0, 2, rows)
    day = [f"20{18 + k % 5}-0{1 + k % 3}-1{k % 7}" for k in rng.integers(0, 10**6, rows)]
    write(site.folder / "wide.csv", ["town,when,y", *(f"t{a:02},{b},{c}" for a, b, c in zip(town, day, y))])
    words = ("wide.csv", "--categorical", "town", "--date", "when")
    sparse = mode(site, *words)
    site.ok("pack", *words, "--out", "wide.sgd", "--overwrite")
    dense = mode(site, "wide.sgd")
    assert sparse == pytest.approx(dense, rel=1e-5, abs=1e-6)


def test_where_there_can_be_no_dates(site):
    np.save(site.folder / "a.npy", np.arange(30.0).reshape(10, 3))
    done = site("optimize", "linear", "--data", "a.npy", "--date", "1")
    assert done.returncode == 2 and "--date is for files of kind arrow and csv" in done.stderr
    done = site("optimize", "logistic", "--data", "T.csv", "--target", "when", "--date", "when")
    assert done.returncode == 2 and "--date is for features" in done.stderr
