# SPDX-License-Identifier: MIT
# mypy: disallow-untyped-decorators=False
"""Functions compiled by numba as the callbacks of a model: no interpreter, no lock, all threads."""

from __future__ import annotations

import importlib
from typing import Any, Callable


def is_compiled(function: Any) -> bool:
    """Was it made by numba.njit?"""
    return type(function).__module__.startswith("numba.") and hasattr(function, "py_func")


def scores(logp: Any, grad: Any, dim: int | Callable[[int], int]) -> Any:
    """A C function with the signature of `scores` in sgfs.h, from two njit functions. It answers
    2 where an array has the wrong shape."""
    numba: Any = importlib.import_module("numba")  # its types say nothing of compiled code
    intrinsic: Any = importlib.import_module("numba.extending").intrinsic
    carray, types = numba.carray, numba.types

    @intrinsic
    def doubles_at(_context: Any, address: Any) -> Any:
        def make(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            kind = context.get_value_type(signature.return_type)
            return builder.inttoptr(arguments[0], kind)

        return types.CPointer(types.float64)(types.intp), make

    @intrinsic
    def words_at(_context: Any, address: Any) -> Any:
        def make(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            kind = context.get_value_type(signature.return_type)
            return builder.inttoptr(arguments[0], kind)

        return types.CPointer(types.intp)(types.intp), make

    fixed = -1 if callable(dim) else int(dim)
    by_columns = dim if callable(dim) else (lambda cols: cols)
    if not is_compiled(by_columns):
        by_columns = numba.njit(by_columns)
    signature = types.int32(types.intp, types.intp, types.intp, types.intp, types.intp)

    @numba.cfunc(signature)
    def call(theta: Any, rows: Any, loglik: Any, score: Any, _user: Any) -> Any:
        head = carray(words_at(rows), 4)
        n, cols = head[0], head[1]
        x = carray(doubles_at(head[2]), (n, cols))
        y = carray(doubles_at(head[3]), (n,))
        parameters = fixed if fixed >= 0 else by_columns(cols)
        at = carray(doubles_at(theta), (parameters,))
        if loglik != 0:
            found = logp(at, x, y)
            if found.size != n:
                return 2
            carray(doubles_at(loglik), (n,))[:] = found
        if score != 0:
            slopes = grad(at, x, y)
            if slopes.shape != (n, parameters):
                return 2
            carray(doubles_at(score), (n, parameters))[:, :] = slopes
        return 0

    return call
