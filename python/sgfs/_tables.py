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

from ._errors import DataError, UsageError

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


def _write_batches(schema: Any, batches: Iterator[Any], stream: BinaryIO) -> None:
    with _pyarrow().ipc.new_stream(stream, schema) as writer:
        for batch in batches:
            for start in range(0, batch.num_rows, BATCH_ROWS):
                writer.write_batch(batch.slice(start, BATCH_ROWS))


# ---- columns and pandas ----


def write_columns(columns: Mapping[str, Any], stream: BinaryIO) -> None:
    """Columns as arrays of NumPy, or whatever becomes one."""
    arrays = {}
    for name, values in columns.items():
        array = arrays[str(name)] = np.asarray(values)
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
        except (pa.ArrowInvalid, pa.ArrowTypeError):  # objects of several sorts: their texts
            pass
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


def _plain(array: Any) -> Any:
    return array.tolist() if array.dtype.kind in "UT" else array


def _write_pandas(table: Any, more: Mapping[str, Any], stream: BinaryIO) -> None:
    if more:
        table = table.assign(**{name: np.asarray(values) for name, values in more.items()})
    table = table.rename(columns=str)
    if not table.columns.is_unique:
        raise DataError("Two columns of the table have the same name.")
    pa = _pyarrow()
    if pa is not None:
        try:
            schema = pa.Schema.from_pandas(table, preserve_index=False).remove_metadata()
            batches = (pa.RecordBatch.from_pandas(table.iloc[start:start + BATCH_ROWS], schema,
                                                  preserve_index=False)
                       for start in range(0, len(table), BATCH_ROWS))
            _write_batches(schema, batches, stream)
            return
        except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError):
            stream.seek(0)  # objects of several sorts: their texts
            stream.truncate()
    strange = [(name, kind) for name, kind in table.dtypes.items()
               if any(word in str(kind) for word in ("date", "time", "period", "interval",
                                                     "complex"))]
    if strange:
        raise DataError(f"Column {strange[0][0]} holds {strange[0][1]}, neither numbers nor words: "
                        "leave it out, or put a number in its place.")
    truths = {name: "Int8" for name, kind in table.dtypes.items()
              if str(kind) in ("bool", "boolean")}
    table.astype(truths).to_csv(stream, index=False)


# ---- polars and Arrow ----


def _write_polars(table: Any, more: Mapping[str, Any], stream: BinaryIO) -> None:
    pl = importlib.import_module("polars")
    if more:
        table = table.with_columns(**{name: pl.Series(np.asarray(v)) for name, v in more.items()})
    if not isinstance(table, pl.LazyFrame):
        table.write_ipc_stream(stream, compression="uncompressed")
        return
    schema = table.collect_schema()
    for name, kind in schema.items():
        if kind.is_temporal() or kind.is_nested():
            raise DataError(f"Column {name} holds {kind}, neither numbers nor words: leave it out, "
                            "or put a number in its place.")
    truths = [pl.col(name).cast(pl.Int8) for name, kind in schema.items() if kind == pl.Boolean]
    table.with_columns(truths).sink_csv(stream.name)


def _write_arrow(table: Any, more: Mapping[str, Any], stream: BinaryIO) -> None:
    pa = _pyarrow()
    if pa is None:
        raise UsageError(f"pyarrow is needed to read the rows of {type(table).__module__}: "
                         "pip install pyarrow")
    if more:
        table = table if isinstance(table, pa.Table) else pa.table(table)
        for name, values in more.items():
            table = table.append_column(name, pa.array(_plain(np.asarray(values))))
    if hasattr(table, "scanner"):  # a dataset, of which few batches wait in memory
        table = table.scanner(batch_size=BATCH_ROWS, batch_readahead=2,
                              fragment_readahead=1).to_reader()
    if isinstance(table, pa.RecordBatch):
        table = pa.Table.from_batches([table])
    if not isinstance(table, pa.RecordBatchReader):
        table = pa.RecordBatchReader.from_stream(table)
    decimals = [(field.name, pa.float64() if pa.types.is_decimal(field.type) else field.type)
                for field in table.schema]
    schema = pa.schema(decimals)
    cast = schema.types != table.schema.types
    _write_batches(schema, (batch.cast(schema) if cast else batch for batch in table), stream)


def write(table: Any, more: Mapping[str, Any], stream: BinaryIO) -> None:
    """The table, and the columns beside it, to a file."""
    names = getattr(getattr(table, "dtype", None), "names", None)
    if names is not None:
        table = {name: table[name] for name in names}
    if isinstance(table, Mapping):
        write_columns({**table, **more}, stream)
    elif _from("pandas", table):
        _write_pandas(table, more, stream)
    elif _from("polars", table):
        _write_polars(table, more, stream)
    else:
        _write_arrow(table, more, stream)
