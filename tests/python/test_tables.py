# SPDX-License-Identifier: MIT
"""Tables as they come: types, names and shapes of every sort are taken or refused by name, and the same
rows give the same draws from each library."""
import datetime
import decimal

import numpy as np
import pytest

pandas = pytest.importorskip("pandas")
ROWS = 120


@pytest.fixture(scope="module")
def base():
    rng = np.random.default_rng(1)
    a, b = rng.normal(size=(2, ROWS))
    return pandas.DataFrame({"a": a, "b": b, "y": 1 + a - b + rng.normal(size=ROWS)})


def draws(sgfs, table, y=None, **options):
    options = {"target": "y" if y is None else None, "seed": 3, "draws": 50, "ess": 1, **options}
    return sgfs.sample("linear", table, y, **options)


NUMBERS = {  # one column, in the ways that libraries write the same numbers
    "Int64": lambda k: pandas.array(k, dtype="Int64"),
    "int8": lambda k: k.astype(np.int8),
    "float16": lambda k: k.astype(np.float16),
    "Float32": lambda k: pandas.array(k, dtype="Float32"),
    "decimals": lambda k: [decimal.Decimal(int(v)) for v in k],
    "sparse": lambda k: pandas.arrays.SparseArray(k.astype(float)),
    "arrow": lambda k: pandas.array(k, dtype="int32[pyarrow]"),
    "objects": lambda k: [int(v) for v in k.astype(object)],
}


@pytest.mark.parametrize("kind", NUMBERS)
def test_numbers_of_every_type(sgfs, base, kind):
    if kind == "arrow":
        pytest.importorskip("pyarrow")
    k = np.arange(ROWS) * 7 % 11
    expected = draws(sgfs, base.assign(k=k.astype(float)))
    assert np.array_equal(draws(sgfs, base.assign(k=NUMBERS[kind](k))).draws, expected.draws)


def test_decimals_and_wide_integers_of_other_libraries(sgfs, base):
    pa, pl = pytest.importorskip("pyarrow"), pytest.importorskip("polars")
    duckdb = pytest.importorskip("duckdb")
    k = np.arange(ROWS) * 7 % 11
    expected = draws(sgfs, base.assign(k=k.astype(float))).draws
    exact = [decimal.Decimal(int(v)) for v in k]
    arrow = pa.Table.from_pandas(base)
    frame = pl.from_pandas(base)
    for column in (pa.array(exact, pa.decimal128(10, 2)), pa.array(exact, pa.decimal256(50, 2))):
        assert np.array_equal(draws(sgfs, arrow.append_column("k", column)).draws, expected)
    for column in (pl.Series(exact), pl.Series(k.tolist(), dtype=pl.Int128)):
        some = frame.with_columns(k=column)
        assert np.array_equal(draws(sgfs, some).draws, expected)
        assert np.array_equal(draws(sgfs, some.lazy()).draws, expected)
    rows = base.assign(k=k)
    for kind in ("decimal(10, 3)", "hugeint", "utinyint", "float"):
        some = duckdb.sql(f"select a, b, y, cast(k as {kind}) as k from rows")
        expected = draws(sgfs, base.assign(k=k.astype(float))[["a", "b", "y", "k"]]).draws
        assert np.array_equal(draws(sgfs, some).draws, expected)


def test_lists_of_words_and_numbers_mean_the_same_in_lazy_frames(sgfs, base):
    pl = pytest.importorskip("polars")
    frame = pl.from_pandas(base).with_columns(k=pl.Series([str(i % 3) for i in range(ROWS)]))
    expected = draws(sgfs, frame)
    assert "k=1" in expected.names
    assert np.array_equal(draws(sgfs, frame.lazy()).draws, expected.draws)


NEITHER = {
    "dates": lambda: pandas.date_range("2020-01-01", periods=ROWS),
    "days": lambda: [datetime.date(2020, 1, 1)] * ROWS,
    "durations": lambda: pandas.to_timedelta(np.arange(ROWS), unit="s"),
    "periods": lambda: pandas.period_range("2020-01-01", periods=ROWS, freq="D"),
    "lists": lambda: [[1, 2]] * ROWS,
    "structs": lambda: [{"q": 1}] * ROWS,
    "bytes": lambda: [b"q"] * ROWS,
    "complex": lambda: np.arange(ROWS) + 1j,
    "intervals": lambda: pandas.cut(np.arange(ROWS), 3),
    "nothing": lambda: [None] * ROWS,
}


@pytest.mark.parametrize("kind", NEITHER)
def test_what_is_no_number_is_refused_by_name(sgfs, base, kind):
    pytest.importorskip("pyarrow")
    with pytest.raises(sgfs.DataError, match='odd"? holds'):
        draws(sgfs, base.assign(odd=NEITHER[kind]()))


def test_dates_are_taken_apart(sgfs, base, monkeypatch):
    """Those of pandas, polars and numpy, with pyarrow and without."""
    when = pandas.date_range("2020-01-31 05:00", periods=ROWS, freq="97h")
    with pytest.raises(sgfs.DataError, match='when.*holds dates.* can be: date="when"'):
        draws(sgfs, base.assign(when=when))
    expected = draws(sgfs, base.assign(when=when.strftime("%Y-%m-%dT%H:%M")), date="when", drop="hour(when)")
    assert {"year(when)", "month(when)=4", "weekday(when)=Sat"} <= set(expected.names)
    tables = [base.assign(when=when), {**{c: base[c].to_numpy() for c in base}, "when": when.to_numpy()}]
    if (polars := pytest.importorskip("polars")) is not None:
        tables.append(polars.DataFrame({**{c: base[c].to_numpy() for c in base}, "when": when.to_numpy()}))
    for table in tables:
        fit = draws(sgfs, table, date="when", drop="hour(when)")
        assert set(fit.names) == set(expected.names)
    new = base.assign(when=when)[:5]
    assert np.allclose(expected.predict(new), fit.predict(new), atol=0.3)
    monkeypatch.setattr("sgfs._tables._pyarrow", lambda: None)
    for table in tables[:2]:
        assert set(draws(sgfs, table, date="when", drop="hour(when)").names) == set(expected.names)


def test_amounts_are_numbers(sgfs):
    """In texts of pandas and polars, with codes and without; new rows need not be told."""
    pl = pytest.importorskip("polars")
    rng = np.random.default_rng(5)
    money = np.round(rng.gamma(2, 3000, size=200), 2)
    rows = {"y": rng.integers(0, 2, 200), "paid": money}
    how = {"target": "y", "seed": 3, "quiet": True, "draws": 50, "ess": 1}
    plain = sgfs.sample("logistic", pandas.DataFrame(rows), **how)
    texts = pandas.DataFrame({**rows, "paid": [f"${m:,.2f}" for m in money]})
    with pytest.raises(sgfs.DataError, match='amount="paid" takes the signs away'):
        sgfs.sample("logistic", texts, **how)
    for table in (texts, texts.astype({"paid": "category"}), pl.from_pandas(texts), pl.from_pandas(texts).lazy(), pandas.DataFrame(rows)):
        fit = sgfs.sample("logistic", table, amount="paid", **how)
        assert np.array_equal(fit.draws, plain.draws)
    assert np.array_equal(fit.predict(texts), plain.predict(pandas.DataFrame(rows)))
    wrong = texts.assign(paid=["$12,34"] + list(texts.paid[1:]))
    with pytest.raises(sgfs.DataError, match='row 1, column "paid" holds no amount such as'):
        sgfs.sample("logistic", wrong, amount="paid", **how)


def test_names_of_columns(sgfs, base):
    def names(*of):
        return draws(sgfs, base.set_axis(list(of), axis=1), target="y").names[1:3]

    assert names("größe", "价格", "y") == ("größe", "价格")
    assert names(7, 8, "y") == ("7", "8")
    assert names(("p", "q"), ("p", ""), "y") == ("p_q", "p")
    assert names("", "b,c", "y") == ("x1", "b,c")
    with pytest.raises(sgfs.DataError, match="same name"):
        names("a", "a", "y")
    numbered = base.set_axis([0, 1, 2], axis=1)
    assert draws(sgfs, numbered, target=1).names[1:3] == ("0", "2")


@pytest.mark.parametrize("names, says", [(["a"], "1 names"), (["a", ""], "empty name"),
                                         (["a", "a"], "rename")])
def test_names_of_arrays(sgfs, base, names, says):
    with pytest.raises(sgfs.SgfsError, match=says):
        draws(sgfs, base[["a", "b"]].to_numpy(), base["y"], names=names)


def test_names_are_for_arrays(sgfs, base, tmp_path):
    with pytest.raises(sgfs.UsageError, match="for arrays"):
        draws(sgfs, base, names=["p", "q", "r"])
    with pytest.raises(sgfs.UsageError, match="for arrays"):
        draws(sgfs, tmp_path / "rows.csv", names=["p", "q", "r"])


def test_a_column_is_a_table_of_one(sgfs, base):
    expected = draws(sgfs, base[["a"]], base["y"])
    assert expected.names[1] == "a"
    assert np.array_equal(draws(sgfs, base["a"], base[["y"]]).draws, expected.draws)
    pl, pa = pytest.importorskip("polars"), pytest.importorskip("pyarrow")
    assert np.array_equal(draws(sgfs, pl.Series("a", base["a"]), base["y"]).draws, expected.draws)
    assert np.array_equal(draws(sgfs, pa.array(base["a"]), base["y"]).draws, expected.draws)


def test_a_target_of_another_length_is_refused(sgfs, base):
    pa, pl = pytest.importorskip("pyarrow"), pytest.importorskip("polars")
    y = base.pop("y")
    try:
        for table in (base, pl.from_pandas(base), pl.from_pandas(base).lazy(),
                      pa.Table.from_pandas(base), dict(base), base.to_numpy()):
            with pytest.raises(sgfs.DataError):
                draws(sgfs, table, y[:-1])
    finally:
        base["y"] = y
    with pytest.raises(sgfs.DataError, match="weights: has 5"):
        draws(sgfs, base, weights=np.ones(5))


def test_masked_values_are_missing(sgfs, base):
    x = base[["a", "b"]].to_numpy()
    masked = np.ma.masked_array(x, mask=x > 1)
    missing = np.where(x > 1, np.nan, x)
    with pytest.raises(sgfs.DataError, match='na="drop"'):
        draws(sgfs, masked, base["y"])
    expected = draws(sgfs, missing, base["y"], na="mean")
    assert np.array_equal(draws(sgfs, masked, base["y"], na="mean").draws, expected.draws)
    named = draws(sgfs, {"a": masked[:, 0], "b": masked[:, 1]}, base["y"], na="mean",)
    assert np.array_equal(named.draws, expected.draws)


@pytest.mark.parametrize("rows", [None, 5, {1, 2}, (i for i in "abc"), [{"a": 1}, {"a": 2}],
                                  np.zeros((2, 2, 2)), np.zeros((0, 3)), pandas.DataFrame(),
                                  [[1, 2], [3]], np.ones((ROWS, 1)) + 1j, object()])
def test_what_are_no_rows_is_said(sgfs, rows):
    with pytest.raises(sgfs.DataError):
        sgfs.sample("linear", rows, np.ones(ROWS))
