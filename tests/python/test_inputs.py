# SPDX-License-Identifier: MIT
"""Rows of every kind give the draws of the command line, bit for bit."""
import numpy as np
import pytest


@pytest.fixture(scope="module")
def reference(sgfs, program, people, tmp_path_factory):
    folder = tmp_path_factory.mktemp("reference")
    program(folder, "sample", "logistic", "--data", people[1], "--target", "bought",
            "--categorical", "auto", "--seed", 5, "--out", "fit.run", "--quiet")
    return sgfs.open(folder / "fit.run")


def check(sgfs, reference, data, y=None, **options):
    options.setdefault("target", None if y is not None else "bought")
    fit = sgfs.sample("logistic", data, y, seed=5, **options)
    assert fit.names == reference.names
    assert np.array_equal(fit.draws, reference.draws)
    return fit


def test_names_of_parameters(reference):
    assert "city=Kiel" in reference.names and "age" in reference.names


def test_files(sgfs, reference, people):
    check(sgfs, reference, people[1], categorical="auto")
    check(sgfs, reference, str(people[1].parent / "peop*.csv"), categorical="auto")


def test_columns(sgfs, reference, people):
    columns = dict(people[0])
    check(sgfs, reference, columns)
    target = columns.pop("bought")
    check(sgfs, reference, columns, target)


def test_pandas(sgfs, reference, people):
    pandas = pytest.importorskip("pandas")
    table = pandas.DataFrame(people[0])
    check(sgfs, reference, table)
    table["city"] = table["city"].astype("category")
    check(sgfs, reference, table)
    check(sgfs, reference, table.drop(columns="bought"), table["bought"])


def test_polars(sgfs, reference, people):
    polars = pytest.importorskip("polars")
    table = polars.DataFrame(people[0])
    check(sgfs, reference, table)
    check(sgfs, reference, table.with_columns(polars.col("city").cast(polars.Categorical)))
    check(sgfs, reference, table.lazy())


def test_arrow(sgfs, reference, people):
    pa = pytest.importorskip("pyarrow")
    table = pa.table({name: list(column) for name, column in people[0].items()})
    check(sgfs, reference, table)
    check(sgfs, reference, table.set_column(1, "city", table["city"].dictionary_encode()))
    check(sgfs, reference, pa.RecordBatchReader.from_batches(table.schema, table.to_batches(50)))
    check(sgfs, reference, table.to_batches()[0])


def test_what_is_said_of_a_table_names_no_temporary_file(sgfs, people):
    fit = sgfs.sample("logistic", dict(people[0]), target="bought")
    assert "(table)" in fit.report_json["title"]
    with pytest.raises(sgfs.UsageError, match="^table: .*did you mean \"bought\""):
        sgfs.sample("logistic", dict(people[0]), target="bougth")


def test_parquet_by_dataset(sgfs, reference, people, tmp_path):
    pa = pytest.importorskip("pyarrow")
    dataset = pytest.importorskip("pyarrow.dataset")
    parquet = pytest.importorskip("pyarrow.parquet")
    table = pa.table({name: list(column) for name, column in people[0].items()})
    parquet.write_table(table, tmp_path / "rows.parquet")
    check(sgfs, reference, dataset.dataset(tmp_path / "rows.parquet"))
    packed = sgfs.pack(dataset.dataset(tmp_path / "rows.parquet"), tmp_path / "rows.sgd",
                       target="bought")
    assert packed["rows"] == len(people[0]["age"])


def test_duckdb(sgfs, reference, people):
    duckdb = pytest.importorskip("duckdb")
    pytest.importorskip("pyarrow")
    check(sgfs, reference, duckdb.read_csv(str(people[1])))


def test_arrays(sgfs, program, tmp_path):
    rng = np.random.default_rng(4)
    x = rng.normal(size=(600, 3))
    y = (rng.random(600) < 0.4).astype(float)
    np.save(tmp_path / "rows.npy", np.column_stack([x, y]))
    program(tmp_path, "sample", "logistic", "--data", "rows.npy", "--seed", 2, "--out", "fit.run",
            "--quiet")
    expected = sgfs.open(tmp_path / "fit.run").draws
    rows = np.column_stack([x, y])
    for some in (x, np.asfortranarray(x), rows[:, :3], x.tolist()):
        assert np.array_equal(sgfs.sample("logistic", some, y, seed=2).draws, expected)
    for target in (y.astype(int), y.astype(bool), y.reshape(-1, 1), y.tolist()):
        assert np.array_equal(sgfs.sample("logistic", x, target, seed=2).draws, expected)
    fit = sgfs.sample("logistic", x, y, seed=2, names=["a", "b", "c"])
    assert fit.names == ("intercept", "a", "b", "c")
    assert np.array_equal(fit.draws, expected)


def test_float64_arrays_are_not_copied(sgfs):
    from sgfs import _inputs, _library

    x = np.random.default_rng(5).normal(size=(100, 8))
    for some in (x, x[:, 2:5], x[::2]):
        source = _inputs.Arrays(some, some[:, 0].copy(), {}, None)
        assert np.shares_memory(source.x, x)
        assert source.open(_library.Config()).pointer


def test_sparse(sgfs):
    sparse = pytest.importorskip("scipy.sparse")
    rng = np.random.default_rng(6)
    dense = rng.normal(size=(300, 5)) * (rng.random((300, 5)) < 0.3)
    y = dense @ [1, 0, -1, 2, 0] + rng.normal(size=300)
    fits = [sgfs.sample("linear", make(dense), y, seed=1).draws
            for make in (sparse.csr_matrix, sparse.csc_array, sparse.coo_matrix)]
    assert np.array_equal(fits[0], fits[1]) and np.array_equal(fits[0], fits[2])


def test_weights_and_exposure(sgfs, program, tmp_path):
    rng = np.random.default_rng(7)
    x = rng.normal(size=(400, 2))
    exposure, weights = rng.uniform(1, 5, 400), rng.integers(1, 4, 400).astype(float)
    y = rng.poisson(exposure * np.exp(0.3 * x[:, 0])).astype(float)
    lines = ["x1,x2,w,e,y"] + [",".join(map(repr, map(float, row))) for row in
                               np.column_stack([x, weights, exposure, y])]
    (tmp_path / "rows.csv").write_text("\n".join(lines) + "\n")
    program(tmp_path, "sample", "poisson", "--data", "rows.csv", "--weights", "w", "--exposure",
            "e", "--seed", 2, "--out", "fit.run", "--quiet")
    expected = sgfs.open(tmp_path / "fit.run").draws
    fit = sgfs.sample("poisson", x, y, weights=weights, exposure=exposure, seed=2)
    assert np.array_equal(fit.draws, expected)
    table = {"x1": x[:, 0], "x2": x[:, 1]}
    fit = sgfs.sample("poisson", table, y, weights=weights, exposure=exposure, seed=2)
    assert np.array_equal(fit.draws, expected)


def test_missing_values(sgfs, program, tmp_path):
    pandas = pytest.importorskip("pandas")
    rng = np.random.default_rng(8)
    table = pandas.DataFrame(rng.normal(size=(200, 2)), columns=["a", "b"])
    table["y"] = table["a"] + rng.normal(size=200)
    table.loc[[3, 7], "b"] = np.nan
    table.to_csv(tmp_path / "rows.csv", index=False)
    program(tmp_path, "sample", "linear", "--data", "rows.csv", "--na", "mean", "--out", "fit.run",
            "--quiet")
    fit = sgfs.sample("linear", table, target="y", na="mean")
    assert np.array_equal(fit.draws, sgfs.open(tmp_path / "fit.run").draws)
    with pytest.raises(sgfs.DataError):
        sgfs.sample("linear", table, target="y")


def test_what_is_neither_number_nor_word_is_refused_by_name(sgfs):
    pandas = pytest.importorskip("pandas")
    table = pandas.DataFrame({"when": pandas.date_range("2026-01-01", periods=50), "y": range(50)})
    with pytest.raises(sgfs.DataError, match="when"):
        sgfs.sample("linear", table, target="y")
