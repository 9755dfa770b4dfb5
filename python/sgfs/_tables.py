# SPDX-License-Identifier: MIT
"""Tables of other libraries, written to a file that the library reads.

The file is a stream of Arrow, batch after batch, with types, missing values and words as they are:
polars writes it itself, pyarrow writes all else (pandas, DuckDB, and whatever has the stream
interface `__arrow_c_stream__`). Where pyarrow is not installed, tables of pandas and columns of
NumPy are written as CSV, every float with the fewest digits that give it back. No library is
imported that the caller has not imported before, but for pyarrow.
"""

from __future__ import annotations

import csv
import importlib
import io
import sys
from typing import Any, BinaryIO, Iterator, Mapping

import numpy as np

from ._errors import DataError, SgfsError, UsageError

BATCH_ROWS = 1 << 16


def _from(library: str, table: Any) -> bool:
    """Is this an object of that library? It was imported then."""
    return library in sys.modules and type(table).__module__.split(".")[0].lstrip("_") == library


def _pyarrow() -> Any:
    """pyarrow, or None where it is not installed."""
    try:
        importlib.import_module("pyarrow.ipc")
        return importlib.import_module("pyarrow")
    except ImportError:
        return None


def is_table(data: Any) -> bool:
    return (isinstance(data, Mapping) or hasattr(data, "__arrow_c_stream__")
            or any(_from(library, data) for library in ("pandas", "polars", "pyarrow", "duckdb"))
            or getattr(getattr(data, "dtype", None), "names", None) is not None)


def of_one_column(data: Any) -> Any:
    """A column by itself (a Series, an array of Arrow) as a table of one; all else as it is."""
    kind = type(data).__name__
    if kind == "Series" and (_from("pandas", data) or _from("polars", data)):
        return data.to_frame(data.name or "x1")
    if kind.endswith("Array") and _from("pyarrow", data):
        return {"x1": data}
    return data


def _number_type(field: Any) -> Any:
    """The type a column is written with: double for numbers that the library does not read."""
    types = _pyarrow().types
    if str(getattr(field.type, "extension_name", "")).startswith("pandas."):
        raise DataError(f"Column {field.name} holds {field.type.extension_name[7:]}s, neither "
                        "numbers nor words: leave it out, or put a number in its place.")
    odd = types.is_decimal(field.type) or types.is_float16(field.type)
    return _pyarrow().float64() if odd else field.type


def _write_batches(schema: Any, batches: Iterator[Any], stream: BinaryIO) -> None:
    pa = _pyarrow()
    if not len(schema):
        raise DataError("The table has no columns.")
    written = pa.schema([(field.name, _number_type(field)) for field in schema])
    cast = written.types != schema.types
    with pa.ipc.new_stream(stream, written) as writer:
        for batch in batches:
            for start in range(0, batch.num_rows, BATCH_ROWS):
                some = batch.slice(start, BATCH_ROWS)
                writer.write_batch(some.cast(written) if cast else some)


# ---- columns and pandas ----


def write_columns(columns: Mapping[str, Any], stream: BinaryIO) -> None:
    """Columns as arrays of NumPy, or whatever becomes one."""
    arrays = {}
    for name, values in columns.items():
        array = arrays[str(name)] = _column_values(values)
        if array.ndim != 1:
            raise DataError(f"Column {name} has {array.ndim} dimensions, and a column has one.")
        if array.dtype.kind not in "biufOUT":
            raise DataError(f"Column {name} holds {array.dtype}: neither numbers nor words.")
    if len({len(array) for array in arrays.values()}) > 1:
        raise DataError("The columns differ in length.")
    pa = _pyarrow()
    if pa is not None:
        try:
            batch = pa.record_batch([pa.array(_plain(array), from_pandas=True)
                                     for array in arrays.values()], names=list(arrays))
        except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError):
            pass  # objects of several sorts, or integers of any length: their texts
        else:
            _write_batches(batch.schema, iter([batch]), stream)
            return
    lists = [[None if value is None or value != value else value for value in
              (array.astype(np.int8) if array.dtype.kind == "b" else
               array.astype(np.float64) if array.dtype.kind == "f" else array).tolist()]
             for array in arrays.values()]
    text = io.TextIOWrapper(stream, encoding="utf-8", newline="", write_through=True)
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(arrays)
    writer.writerows(zip(*lists))
    text.flush()
    text.detach()


def unmasked(values: Any) -> Any:
    """An array of NumPy in which masked values are missing ones."""
    if isinstance(values, np.ma.MaskedArray) and np.ma.is_masked(values):
        return np.ma.filled(values.astype(np.float64), np.nan)
    return np.asarray(values)


def _column_values(values: Any) -> Any:
    """The values of a column, which may be a table of one."""
    array = unmasked(values)
    if array.dtype.kind == "M":  # dates, as ISO 8601 writes them
        texts = np.datetime_as_string(array)
        array = np.where(texts == "NaT", "", texts)
    return array[:, 0] if array.ndim == 2 and array.shape[1] == 1 else array


def _plain(array: Any) -> Any:
    return array.tolist() if array.dtype.kind in "UT" else array


def _column_name(name: Any) -> str:
    """The names of several levels are joined."""
    return "_".join(filter(None, map(str, name))) if isinstance(name, tuple) else str(name)


def _write_pandas(table: Any, more: Mapping[str, Any], stream: BinaryIO) -> None:
    if more:
        table = table.assign(**more)
    table = table.set_axis([_column_name(name) for name in table.columns], axis=1)
    if not table.columns.is_unique:
        raise DataError("Two columns of the table have the same name.")
    full = {name: kind.subtype for name, kind in table.dtypes.items()
            if str(kind).startswith("Sparse[")}
    pa = _pyarrow()
    if pa is not None:
        try:
            whole = table.astype(full) if full else table
            schema = pa.Schema.from_pandas(whole, preserve_index=False).remove_metadata()
            batches = (pa.RecordBatch.from_pandas(whole.iloc[start:start + BATCH_ROWS], schema,
                                                  preserve_index=False)
                       for start in range(0, len(whole), BATCH_ROWS))
            _write_batches(schema, batches, stream)
            return
        except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError, OverflowError):
            stream.seek(0)  # objects of several sorts, integers of any length: their texts
            stream.truncate()
    strange = [(name, kind) for name, kind in table.dtypes.items()
               if any(word in str(kind) for word in ("timedelta", "period", "interval", "complex"))]
    if strange:
        raise DataError(f"Column {strange[0][0]} holds {strange[0][1]}, neither numbers nor words: "
                        "leave it out, or put a number in its place.")
    truths = {name: "Int8" for name, kind in table.dtypes.items()
              if str(kind) in ("bool", "boolean")}
    table.astype(truths).to_csv(stream, index=False)


# ---- polars and Arrow ----


def _write_polars(table: Any, more: Mapping[str, Any], stream: BinaryIO) -> None:
    """Few batches of a lazy frame are in memory at once (polars 1.34 or newer, with pyarrow)."""
    pl = importlib.import_module("polars")
    if more:
        table = table.with_columns(**{name: pl.Series(_plain(array))
                                      for name, array in more.items()})
    table = table.with_columns(
        pl.col(name).cast(pl.Float64) for name, kind in table.collect_schema().items()
        if str(kind).startswith(("Decimal", "Float16", "Int128", "UInt128")))
    if not isinstance(table, pl.LazyFrame):
        table.write_ipc_stream(stream, compression="uncompressed")
    elif _pyarrow() is not None and hasattr(table, "collect_batches"):
        schema = pl.DataFrame(schema=table.collect_schema()).to_arrow().schema
        frames = table.collect_batches(chunk_size=BATCH_ROWS)
        _write_batches(schema, (batch for frame in frames for batch in
                                frame.to_arrow().to_batches()), stream)
    else:
        table.collect().write_ipc_stream(stream, compression="uncompressed")


def _write_arrow(table: Any, more: Mapping[str, Any], stream: BinaryIO) -> None:
    pa = _pyarrow()
    if pa is None:
        raise UsageError(f"pyarrow is needed to read the rows of {type(table).__module__}: "
                         "pip install pyarrow")
    if more:
        table = table if isinstance(table, pa.Table) else pa.table(table)
        for name, values in more.items():
            table = table.append_column(name, pa.array(_plain(values)))
    if hasattr(table, "scanner"):  # a dataset, of which few batches wait in memory
        datasets = importlib.import_module("pyarrow.dataset")
        how = {}
        if "Parquet" in type(getattr(table, "format", None)).__name__:  # else it keeps whole files
            how["fragment_scan_options"] = datasets.ParquetFragmentScanOptions(
                pre_buffer=False)
        table = table.scanner(batch_size=BATCH_ROWS, batch_readahead=2, fragment_readahead=1,
                              **how).to_reader()
    if isinstance(table, pa.RecordBatch):
        table = pa.Table.from_batches([table])
    if not isinstance(table, pa.RecordBatchReader):
        if not hasattr(table, "__arrow_c_stream__"):
            raise UsageError(f"A {type(table).__name__} has no rows to stream; of DuckDB hand over "
                             "a relation, as connection.sql(...) gives it.")
        table = pa.RecordBatchReader.from_stream(table)
    _write_batches(table.schema, iter(table), stream)


def _check_lengths(table: Any, more: Mapping[str, Any]) -> None:
    for name, array in more.items():
        if array.ndim != 1:
            raise DataError(f"{name}: has the shape {array.shape}, and one number for each row is "
                            "needed.")
        if not isinstance(table, Mapping) and hasattr(table, "__len__") and len(table) != len(array):
            raise DataError(f"{name}: has {len(array)} values, and the table {len(table)} rows.")


def write(table: Any, more: Mapping[str, Any], stream: BinaryIO) -> None:
    """The table, and the columns beside it, to a file."""
    more = {name: _column_values(values) for name, values in more.items()}
    names = getattr(getattr(table, "dtype", None), "names", None)
    if names is not None:
        table = {name: table[name] for name in names}
    _check_lengths(table, more)
    try:
        if isinstance(table, Mapping):
            write_columns({**table, **more}, stream)
        elif _from("pandas", table):
            _write_pandas(table, more, stream)
        elif _from("polars", table):
            _write_polars(table, more, stream)
        else:
            _write_arrow(table, more, stream)
    except (SgfsError, OSError, MemoryError):
        raise
    except Exception as error:  # of whatever library the table is from
        raise DataError(f"The table cannot be read: {type(error).__name__}: {error}") from error
