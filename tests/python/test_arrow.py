# SPDX-License-Identifier: MIT
"""Files of Arrow, as pyarrow and polars write them, give what a CSV file of the same rows gives."""
import datetime
import json
import os
import subprocess

import pytest

pa = pytest.importorskip("pyarrow")
pytest.importorskip("pyarrow.ipc")

ROWS = 60
COLUMNS = {
    "small": pa.array([k % 7 - 3 for k in range(ROWS)], pa.int8()),
    "count": pa.array([k * k % 50 for k in range(ROWS)], pa.uint32()),
    "real": pa.array([k / 3 if k % 11 else None for k in range(ROWS)], pa.float64()),
    "single": pa.array([k / 4 for k in range(ROWS)], pa.float32()),
    "truth": pa.array([k % 3 == 0 for k in range(ROWS)]),
    "word": pa.array([["ash", "oak", "a rather long word", None][k % 4] for k in range(ROWS)]),
    "y": pa.array([k % 5 + k / 10 for k in range(ROWS)]),
}


@pytest.fixture
def optimise(program, tmp_path):
    """The mode, which depends on every number of the table."""

    def run(path, *words):
        text = program(tmp_path, "optimize", "linear", "--data", path, "--target", "y",
                       "--categorical", "auto", "--na", "mean", "--prior-precision", 1, "--json",
                       "--quiet", *words)
        found = json.loads(text)
        return found["names"], found["mean"]

    return run


@pytest.fixture
def csv(tmp_path):
    path = tmp_path / "rows.csv"
    names = list(COLUMNS)
    cells = [[("" if v is None else str(int(v)) if isinstance(v, bool) else str(v))
              for v in column.to_pylist()] for column in COLUMNS.values()]
    path.write_text("\n".join([",".join(names), *map(",".join, zip(*cells))]) + "\n")
    return path


def write(path, table, file=False, rows=17):
    writer = (pa.ipc.new_file if file else pa.ipc.new_stream)(str(path), table.schema)
    with writer:
        writer.write_table(table, max_chunksize=rows)
    return path


def test_streams_and_files(optimise, csv, tmp_path):
    table = pa.table(COLUMNS)
    expected = optimise(csv)
    assert "word=oak" in expected[0]
    assert optimise(write(tmp_path / "a", table)) == expected
    assert optimise(write(tmp_path / "b", table, file=True)) == expected
    assert optimise(write(tmp_path / "c", table, rows=1000)) == expected


@pytest.mark.parametrize("kind", ["large_string", "string_view"])
def test_kinds_of_text(optimise, csv, tmp_path, kind):
    if not hasattr(pa, kind):
        pytest.skip(f"this pyarrow has no {kind}")
    columns = dict(COLUMNS, word=COLUMNS["word"].cast(getattr(pa, kind)()))
    assert optimise(write(tmp_path / "a", pa.table(columns))) == optimise(csv)


def test_words_by_dictionary_in_any_order(optimise, csv, tmp_path):
    words = COLUMNS["word"].to_pylist()
    known = ["never", "a rather long word", "oak", "ash"]
    codes = pa.array([None if w is None else known.index(w) for w in words], pa.int16())
    columns = dict(COLUMNS, word=pa.DictionaryArray.from_arrays(codes, pa.array(known)))
    assert optimise(write(tmp_path / "a", pa.table(columns))) == optimise(csv)


def test_a_dictionary_that_is_replaced(optimise, csv, tmp_path):
    batches = [batch.set_column(5, "word", batch["word"].dictionary_encode())
               for batch in pa.table(COLUMNS).to_batches(max_chunksize=10)]
    with pa.ipc.new_stream(str(tmp_path / "a"), batches[0].schema) as writer:
        for batch in batches:
            writer.write_batch(batch)
    assert optimise(tmp_path / "a") == optimise(csv)


def test_text_that_looks_like_numbers_is_words(optimise, tmp_path):
    columns = dict(COLUMNS, word=pa.array([str(k % 3) for k in range(ROWS)]))
    names, _ = optimise(write(tmp_path / "a", pa.table(columns)))
    assert "word=1" in names and "word=2" in names and "word" not in names


def test_polars(optimise, csv, tmp_path):
    polars = pytest.importorskip("polars")
    table = polars.from_arrow(pa.table(COLUMNS))
    table.write_ipc_stream(tmp_path / "a", compression="uncompressed")
    assert optimise(tmp_path / "a") == optimise(csv)
    table.with_columns(polars.col("word").cast(polars.Categorical)).write_ipc_stream(
        tmp_path / "b", compression="uncompressed")
    assert optimise(tmp_path / "b") == optimise(csv)


@pytest.mark.parametrize("column, says", [
    (pa.array([0] * ROWS, pa.date32()),
     '"extra" holds dates; "word" holds words. With these options they can be: --categorical auto --date extra'),
    (pa.array([[1]] * ROWS),
     '"extra" holds lists; "word" holds words. With these options they can be: --categorical auto --drop extra'),
])
def test_other_types_are_refused_unless_dropped(optimise, csv, tmp_path, column, says):
    path = write(tmp_path / "a", pa.table({"extra": column, **COLUMNS}))
    done = subprocess.run([os.environ["SGFS"], "optimize", "linear", "--data", path],
                          capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 3 and says in done.stderr
    assert optimise(path, "--drop", "extra") == optimise(csv)


def test_dates_of_every_type_are_those_of_a_text(optimise, tmp_path):
    """Days, parts of a second and texts: before 1970, too, and at the edge of an hour."""
    at = [datetime.datetime(1966, 11, 3, 23) + datetime.timedelta(hours=1777 * i) for i in range(ROWS)]
    path = tmp_path / "text.csv"
    names = list(COLUMNS)
    cells = [[str(t) for t in at]] + [["" if v is None else str(int(v)) if isinstance(v, bool) else str(v)
                                       for v in column.to_pylist()] for column in COLUMNS.values()]
    path.write_text("\n".join([",".join(["when", *names]), *map(",".join, zip(*cells))]) + "\n")
    expected = optimise(path, "--date", "when")
    assert "hour(when)=3" in expected[0]
    texts = pa.array(cells[0])
    units = [pa.array(at, pa.timestamp(unit)) for unit in ("s", "ms", "us", "ns")]
    for column in (texts, texts.dictionary_encode(), *units, pa.array(at, pa.timestamp("us", "UTC"))):
        table = pa.table({"when": column, **COLUMNS})
        assert optimise(write(tmp_path / "a", table), "--date", "when") == expected, column.type
    days = [optimise(write(tmp_path / "a", pa.table({"when": pa.array([t.date() for t in at], kind), **COLUMNS})),
                     "--date", "when") for kind in (pa.date32(), pa.date64())]
    assert days[0] == days[1] and "month(when)=1" in days[0][0] and "hour(when)=3" not in days[0][0]


def test_compressed_batches_are_refused(program, tmp_path):
    feather = pytest.importorskip("pyarrow.feather")
    feather.write_feather(pa.table({"x": list(range(5000)), "y": list(range(5000))}),
                          str(tmp_path / "a"), compression="lz4")
    done = subprocess.run([os.environ["SGFS"], "optimize", "linear", "--data", "a"],
                          capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 3 and "compressed" in done.stderr
