# SPDX-License-Identifier: MIT
"""Tables of other libraries, written as text that the library reads back to the same bits.

Every float is written with the fewest digits that give it back, a missing value is an empty cell,
and a truth value is 1 or 0. Rows of a stream are written batch after batch, so that memory does not
grow with them. No library is imported that the caller has not imported before, but for pyarrow,
which reads what only offers the Arrow stream interface (`__arrow_c_stream__`: DuckDB and others).
"""

from __future__ import annotations

import csv
import io
import sys
from typing import Any, BinaryIO, Mapping

import numpy as np

from ._errors import DataError, UsageError


def _from(library: str, table: Any) -> bool:
    """Is this an object of that library? It was imported then."""
    return library in sys.modules and type(table).__module__.split(".")[0] == library


def is_table(data: Any) -> bool:
    return (isinstance(data, Mapping) or hasattr(data, "__arrow_c_stream__")
            or any(_from(library, data) for library in ("pandas", "polars", "pyarrow", "duckdb"))
            or getattr(getattr(data, "dtype", None), "names", None) is not None)


def write_columns(columns: Mapping[str, Any], stream: BinaryIO) -> None:
    """Columns as arrays of NumPy, or whatever becomes one."""
    lists = []
    for name, values in columns.items():
        array = np.asarray(values)
        if array.ndim != 1:
            raise DataError(f"Column {name} has {array.ndim} dimensions, and a column has one.")
        if array.dtype.kind == "b":
            array = array.astype(np.int8)
        if array.dtype.kind == "f":
            array = array.astype(np.float64)
        if array.dtype.kind not in "iufOUT":
            raise DataError(f"Column {name} holds {array.dtype}: neither numbers nor words.")
        lists.append([None if _is_missing(value) else value for value in array.tolist()])
    if len({len(values) for values in lists}) > 1:
        raise DataError("The columns differ in length.")
    text = io.TextIOWrapper(stream, encoding="utf-8", newline="", write_through=True)
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(map(str, columns))
    writer.writerows(zip(*lists))
    text.flush()
    text.detach()


def _is_missing(value: Any) -> bool:
    return value is None or value != value


def _write_pandas(table: Any, more: Mapping[str, Any], stream: BinaryIO) -> None:
    if more:
        table = table.assign(**{name: np.asarray(values) for name, values in more.items()})
    truths = {name: "Int8" for name, kind in table.dtypes.items() if str(kind) in
              ("bool", "boolean", "bool[pyarrow]")}
    if truths:
        table = table.astype(truths)
    _refuse(table, {name: str(kind) for name, kind in table.dtypes.items()})
    table.to_csv(stream, index=False)


def _write_polars(table: Any, more: Mapping[str, Any], stream: BinaryIO) -> None:
    import polars as pl

    if more:
        table = table.with_columns(**{name: pl.Series(np.asarray(v)) for name, v in more.items()})
    lazy = table.lazy()
    schema = lazy.collect_schema()
    _refuse(table, {name: str(kind) for name, kind in schema.items()})
    lazy = lazy.with_columns([pl.col(name).cast(pl.Int8) for name, kind in schema.items()
                              if kind == pl.Boolean])
    if isinstance(table, pl.LazyFrame):
        lazy.sink_csv(stream.name)
    else:
        lazy.collect().write_csv(stream)


def _write_arrow(table: Any, more: Mapping[str, Any], stream: BinaryIO) -> None:
    try:
        import pyarrow as pa  # type: ignore[import-untyped,unused-ignore]
        import pyarrow.csv  # type: ignore[import-untyped,unused-ignore]
    except ImportError:
        raise UsageError(f"pyarrow is needed to read the rows of {type(table).__module__}: "
                         "pip install pyarrow") from None
    if more:
        table = pa.table(table) if not isinstance(table, pa.Table) else table
        for name, values in more.items():
            table = table.append_column(name, pa.array(np.asarray(values)))
    if hasattr(table, "scanner"):  # a dataset
        table = table.scanner().to_reader()
    if not isinstance(table, pa.RecordBatchReader):
        table = pa.RecordBatchReader.from_stream(table)
    _refuse(table, {field.name: str(field.type) for field in table.schema})

    def plain(kind: Any) -> Any:
        if pa.types.is_dictionary(kind):
            return plain(kind.value_type)
        if pa.types.is_boolean(kind):
            return pa.int8()
        return pa.float64() if pa.types.is_decimal(kind) else kind

    schema = pa.schema([(field.name, plain(field.type)) for field in table.schema])
    with pa.csv.CSVWriter(stream, schema) as writer:
        for batch in table:
            writer.write_table(pa.Table.from_batches([batch]).cast(schema))


_STRANGE = ("date", "time", "duration", "period", "list", "struct", "complex", "binary", "array",
            "object[", "map<", "interval")


def _refuse(table: Any, kinds: Mapping[str, str]) -> None:
    """Types that are neither numbers nor words are refused with what to do."""
    for name, kind in kinds.items():
        if any(word in kind.lower() for word in _STRANGE):
            raise DataError(f"Column {name} holds {kind}: neither numbers nor words. Leave it out, "
                            "or put a number in its place (days since a date, say).")


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
