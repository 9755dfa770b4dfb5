# SPDX-License-Identifier: MIT
"""Rows, whatever they are in: arrays, sparse matrices, tables of several libraries, files.

    arrays of numbers       borrowed by the library as they lie in memory (sgfs_data_wrap), in that
                            of a GPU, too (_dlpack.py)
    tables with named,      written to a spool: a file without a name, which the library reads as
    typed columns           it reads any other, with the same columns, words and recipes
    names of files          handed on

`source_of` makes a `Source` of whatever a caller has. A source opens as data for a run, and lends
itself as a file, which is what predictions want.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import tempfile
from typing import Any, Callable, Iterator, Mapping, Protocol

import numpy as np

from . import _c, _dlpack, _tables
from ._errors import DataError, UsageError
from ._library import Config, Handle, opened


SMALL_CELLS = 1 << 16
FIELDS: dict[str, Any] = {field[0]: field[1] for field in _c.sgfs_arrays._fields_}


class Source(Protocol):
    """Rows that can be opened."""

    #: Options that go with this kind of rows, where the caller has not set them.
    options: dict[str, Any]

    def open(self, config: Config) -> Handle:
        """Data for a run."""
        ...

    def file(self) -> contextlib.AbstractContextManager[str]:
        """The name of a file with the same rows."""
        ...


class Files:
    """Files by name: one, several, or a pattern."""

    def __init__(self, names: list[str]) -> None:
        self.name = "\n".join(names)
        self.options: dict[str, Any] = {}

    def open(self, config: Config) -> Handle:
        return opened("sgfs_data_open", "sgfs_data_free", os.fsencode(self.name), config)

    @contextlib.contextmanager
    def file(self) -> Iterator[str]:
        yield self.name


class Arrays:
    """Features and target as arrays of numbers, without a copy where they are float64 in C order."""

    def __init__(self, x: Any, y: Any, beside: Mapping[str, Any], names: list[str] | None) -> None:
        self.options: dict[str, Any] = {}
        self.names = names
        self.sparse = hasattr(x, "tocsr")
        self.x = self._sparse(x) if self.sparse else self._dense(x)
        rows, cols = self.x.shape
        if names is not None and len(names) != cols:
            raise UsageError(f"names has {len(names)} names, and the array {cols} columns.")
        if rows == 0:
            raise DataError("The array has no rows.")
        self.y = None if y is None else _numbers("y", y, rows)
        self.beside = {name: _numbers(name, value, rows) for name, value in beside.items()}

    @staticmethod
    def _dense(rows: Any) -> Any:
        x: Any = _tables.unmasked(rows)
        if x.ndim == 1:
            x = x.reshape(-1, 1)
        if x.ndim != 2:
            raise DataError(f"The rows must be an array of two dimensions, and this has {x.ndim}.")
        if x.dtype not in (np.float64, np.float32):
            x = _as_float("the rows", x)
        apart = x.strides[0] // x.itemsize if x.shape[0] > 1 else x.shape[1]
        along = x.shape[1] < 2 or x.strides[1] == x.itemsize
        whole = x.shape[0] < 2 or (x.strides[0] % x.itemsize == 0 and apart >= x.shape[1])
        return x if along and whole and x.dtype.isnative else np.ascontiguousarray(x)

    @staticmethod
    def _sparse(x: Any) -> Any:
        x = x.tocsr()
        if not x.has_sorted_indices or not x.has_canonical_format:
            x = x.copy()
            x.sum_duplicates()
        return x

    def open(self, config: Config) -> Handle:
        x = self.x
        arrays = _c.sgfs_arrays(size=ctypes.sizeof(_c.sgfs_arrays), rows=x.shape[0],
                                cols=x.shape[1])
        keep: list[Any] = [x, self.y, *self.beside.values()]
        if self.sparse:
            for field, value, dtype in (("csr_start", x.indptr, np.int64),
                                        ("csr_col", x.indices, np.int32),
                                        ("csr_value", x.data, np.float64)):
                array = np.ascontiguousarray(value, dtype=dtype)
                keep.append(array)
                _point(arrays, field, array)
        else:
            _point_rows(arrays, x)
        if self.y is not None:
            _point(arrays, "y", self.y)
        for name, value in self.beside.items():
            _point(arrays, name, value)
        _name(arrays, self.names, keep)
        return opened("sgfs_data_wrap", "sgfs_data_free", ctypes.byref(arrays), config,
                      keep=(keep, arrays))

    @contextlib.contextmanager
    def file(self) -> Iterator[str]:
        if self.sparse:
            raise UsageError("Sparse rows can be sampled; for predictions hand over X.toarray(), "
                             "some rows at a time, or a libsvm file.")
        with spool(is_small(self)) as (stream, name):
            if self.names is None and not self.beside:
                np.save(stream, self.x)
            else:
                names = self.names or [f"x{j + 1}" for j in range(self.x.shape[1])]
                columns = dict(zip(names, self.x.T))
                _tables.write_columns({**columns, **self.beside}, stream)
            stream.flush()
            yield name


class OnGpu:
    """Features, or what goes with them, as arrays in the memory of a GPU, where rows stay."""

    def __init__(self, x: Any, y: Any, beside: Mapping[str, Any], names: list[str] | None) -> None:
        self.options: dict[str, Any] = {}
        self.names = names
        self.arrays = {name: value for name, value in (("x", x), ("y", y), *beside.items()) if value is not None}
        gpus = {gpu for gpu in map(_dlpack.gpu_of, self.arrays.values()) if gpu is not None}
        if len(gpus) > 1:
            raise UsageError("The arrays lie on the GPUs " + " and ".join(map(str, sorted(gpus))) +
                             ": move them to one.")
        if _holds_words(None if _dlpack.gpu_of(y) is not None else y):
            raise UsageError("Labels that are words are for rows in the host's memory: number them, "
                             "as in (y == \"yes\").astype(float).")
        self.gpu = gpus.pop()

    def open(self, config: Config) -> Handle:
        arrays = _c.sgfs_arrays(size=ctypes.sizeof(_c.sgfs_arrays), device=f"cuda:{self.gpu}".encode())
        keep: list[Any] = []
        for name, value in self.arrays.items():
            if _dlpack.gpu_of(value) is not None:
                keep.append(self._lend(arrays, name, value))
            elif name == "x":
                keep.append(_point_rows(arrays, Arrays._dense(_array(value))))
            else:
                keep.append(_numbers(name, value, arrays.rows))
                _point(arrays, name, keep[-1])
        _name(arrays, self.names, keep)
        return opened("sgfs_data_wrap", "sgfs_data_free", ctypes.byref(arrays), config,
                      keep=(keep, arrays))

    def _lend(self, arrays: Any, name: str, value: Any) -> _dlpack.Lent:
        lent = _dlpack.Lent("the rows" if name == "x" else name, value)
        shape = lent.shape
        if name == "x":
            if len(shape) not in (1, 2):
                raise DataError(f"The rows must be an array of two dimensions, and this has {len(shape)}.")
            arrays.rows, arrays.cols = shape[0], shape[1] if len(shape) > 1 else 1
            if self.names is not None and len(self.names) != arrays.cols:
                raise UsageError(f"names has {len(self.names)} names, and the array {arrays.cols} columns.")
            if arrays.rows == 0:
                raise DataError("The array has no rows.")
        elif shape not in ((arrays.rows,), (arrays.rows, 1)):
            raise DataError(f"{name}: has the shape {shape}, and there are {arrays.rows} rows.")
        setattr(arrays, f"device_{name}",
                _c.sgfs_device_array(cells=lent.address, type=lent.type.encode(), stride=lent.stride))
        return lent

    @contextlib.contextmanager
    def file(self) -> Iterator[str]:
        raise UsageError("Predictions are the processor's: hand over the rows as an array of NumPy "
                         "(X.cpu().numpy() of torch, X.get() of CuPy, numpy.asarray(X) of JAX).")
        yield ""


class Table:
    """Columns with names and types: a table of pandas, polars, Arrow or DuckDB, or a dict."""

    def __init__(self, table: Any, y: Any, beside: Mapping[str, Any],
                 names: list[str] | None = None) -> None:
        if names is not None:
            raise UsageError("names are for arrays; the columns of a table have names.")
        self.table = table
        self.options: dict[str, Any] = {"categorical": "auto"}
        more: dict[str, Any] = {}
        if y is not None:
            columns: Any = getattr(y, "columns", [])  # of a table of one column
            name = columns[0] if len(columns) == 1 else getattr(y, "name", None)
            name = name if isinstance(name, str) and name else "y"
            more[name] = y
            self.options["target"] = name
        for name, value in beside.items():
            more[name] = value
            self.options[name] = name
        self.more = more

    def open(self, config: Config) -> Handle:
        with self.file() as name:
            return Files([name]).open(config)

    @contextlib.contextmanager
    def file(self) -> Iterator[str]:
        with spool() as (stream, name):
            _tables.write(self.table, self.more, stream)
            stream.flush()
            yield name


def quick_folder() -> str | None:
    """In memory, where there is room and nobody has said otherwise by TMPDIR: what is temporary
    need not wait for a disk."""
    try:
        room = os.statvfs("/dev/shm")
    except OSError:
        return None
    plenty = room.f_bavail * room.f_frsize > 1 << 30 and os.access("/dev/shm", os.W_OK)
    return "/dev/shm" if plenty and "TMPDIR" not in os.environ else None


def is_small(source: Source) -> bool:
    """So few numbers that a copy of them in memory is no matter."""
    return isinstance(source, Arrays) and not source.sparse and source.x.size <= SMALL_CELLS


@contextlib.contextmanager
def spool(small: bool = False) -> Iterator[tuple[Any, str]]:
    """A file that is gone when nobody reads it any more, and how to open it. In sentences it is
    called "table" (_errors.py)."""
    with tempfile.TemporaryDirectory(prefix="sgfs-",
                                     dir=quick_folder() if small else None) as folder:
        with open(os.path.join(folder, "table"), "w+b") as stream:
            yield stream, stream.name


def _point(arrays: Any, field: str, array: Any) -> None:
    setattr(arrays, field, ctypes.cast(array.ctypes.data, FIELDS[field]))


def _point_rows(arrays: Any, x: Any) -> Any:
    arrays.rows, arrays.cols = x.shape
    _point(arrays, "x" if x.dtype == np.float64 else "x32", x)
    arrays.row_stride = x.strides[0] // x.itemsize if x.shape[0] > 1 else 0
    return x


def _name(arrays: Any, names: list[str] | None, keep: list[Any]) -> None:
    if names is not None:
        texts = [name.encode() for name in names]
        keep.append(texts)
        arrays.names = (ctypes.c_char_p * len(texts))(*texts)


def _as_float(what: str, array: Any) -> Any:
    try:
        if array.dtype.kind in "cMm":
            raise TypeError
        return np.ascontiguousarray(array, dtype=np.float64)
    except (TypeError, ValueError):
        raise DataError(f"{what}: an array of {array.dtype} holds something that is no number; a "
                        "table with named columns (pandas, polars, a dict) may have words."
                        ) from None


def _numbers(what: str, values: Any, rows: int) -> Any:
    array = _tables.unmasked(values)
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.shape != (rows,):
        raise DataError(f"{what}: has the shape {array.shape}, and there are {rows} rows.")
    if array.dtype == np.float64 and array.flags.c_contiguous and array.dtype.isnative:
        return array
    return _as_float(what, array)


def _holds_words(values: Any) -> bool:
    return values is not None and np.asarray(values).dtype.kind in "OUST"


def source_of(data: Any, y: Any = None, beside: Mapping[str, Any] | None = None,
              names: list[str] | None = None,
              by_place: Callable[[int], list[str] | None] | None = None) -> Source:
    """Rows of any kind. beside: weights and exposure, where these are arrays. by_place: what the
    columns of an array without names are called, if anything."""
    beside = {name: value for name, value in (beside or {}).items() if value is not None}
    if isinstance(data, (str, os.PathLike)):
        data = [data]
    if isinstance(data, (list, tuple)) and data and all(
            isinstance(item, (str, os.PathLike)) for item in data):
        if y is not None or beside:
            raise UsageError("Rows in files have their target, weights and exposure there: name "
                             "the columns (target=\"price\").")
        if names is not None:
            raise UsageError("names are for arrays; files have their columns' names.")
        return Files([os.fspath(item) for item in data])
    if any(_dlpack.gpu_of(value) is not None for value in (data, y, *beside.values())):
        if _dlpack.gpu_of(data) is None and (_tables.is_table(data) or hasattr(data, "tocsr")):
            raise UsageError("A target on a GPU goes with rows in an array: with a table in the host's "
                             "memory, or sparse rows, hand over y.cpu() of torch, y.get() of CuPy.")
        return OnGpu(data, y, beside, names)
    data = _tables.of_one_column(data)
    if _tables.is_table(data):
        return Table(data, y, beside, names)
    if hasattr(data, "tocsr"):
        return Arrays(data, y, beside, names)
    x = data if isinstance(data, np.ma.MaskedArray) else _array(data)
    if by_place is not None and x.ndim in (1, 2):
        names = by_place(x.shape[1] if x.ndim == 2 else 1)
    if _holds_words(y) or x.dtype.kind in "OUST":
        if x.ndim != 2:
            raise DataError(f"The rows must be an array of two dimensions, and this has {x.ndim}.")
        made = names or [f"x{j + 1}" for j in range(x.shape[1])]
        return Table(dict(zip(made, x.T)), y, beside)
    return Arrays(x, y, beside, names)


def _array(data: Any) -> Any:
    """What NumPy makes of rows that are in no table."""
    try:
        x = np.asarray(data)
    except ValueError as error:
        raise DataError(f"The rows are no array: {error}.") from None
    whole = (hasattr(data, "__len__") or hasattr(data, "__array__")) and not isinstance(data, (set, frozenset, bytes))
    if not whole or (x.ndim == 1 and x.dtype.kind == "O" and len(x) and not np.isscalar(x[0])):
        of = f" of {type(x[0]).__name__}" if whole else ""
        raise DataError(
            f"A {type(data).__name__}{of} is not taken as rows: hand over an array, a table (pandas, "
            "polars, Arrow, a DuckDB relation, a dict of columns) or the name of a file.")
    return x
