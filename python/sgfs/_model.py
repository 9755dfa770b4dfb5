# SPDX-License-Identifier: MIT
"""A model of your own: the log density of each row's target and its gradient, as functions of
NumPy over a batch of rows, or compiled ones (numba cfuncs)."""

from __future__ import annotations

import contextlib
import ctypes
import threading
from typing import Any, Callable, Iterator, Sequence

import numpy as np

from . import _c, _interrupt, _numba
from ._errors import UsageError
from ._library import Config, Handle, opened

Array = Any
FIELDS: dict[str, Any] = {field[0]: field[1] for field in _c.sgfs_user_model._fields_}


class Model:
    """A model from two functions of (theta, X, y), for a batch of n rows:

    logp(theta, X, y)   n log densities of the targets
    grad(theta, X, y)   n x D, their gradients by theta

    X has the columns of the data, with a column of ones in front unless intercept=False. `dim` is
    the number of parameters D, or a function of the number of columns of X.

    >>> import numpy as np, sgfs
    >>> nu = 4.0
    >>> def logp(theta, X, y):
    ...     r = y - X @ theta
    ...     return -(nu + 1) / 2 * np.log1p(r**2 / nu)
    >>> def grad(theta, X, y):
    ...     r = y - X @ theta
    ...     return ((nu + 1) * r / (nu + r**2))[:, None] * X
    >>> student = sgfs.Model(logp, grad, dim=lambda columns: columns)
    >>> rng = np.random.default_rng(1)
    >>> X = rng.normal(size=(500, 1))
    >>> y = 1 + 2 * X[:, 0] + rng.standard_t(nu, size=500)
    >>> fit = sgfs.sample(student, X, y, sampler="nuts", draws=500, seed=2)
    >>> [round(float(m)) for m in fit.draws.mean(axis=(0, 1))]
    [1, 2]

    The functions are called by several threads, one at a time (they hold the interpreter lock).
    An exception in one of them ends the run; it is the cause of the exception that `sample` raises,
    and `error.fit` has the draws made before.

    names are those of the parameters, or a function of the columns' names. log_prior(theta) gives
    the log density of the prior and its gradient; predict(theta, X) the mean of each target;
    draw(theta, X, normal, uniform) targets drawn from the model, made of these random numbers;
    start(X, y) a sensible theta.

    A numba cfunc with the signature of `scores` in sgfs.h may stand for logp, and grad is left out
    then: it is called without the interpreter, by all threads at once.
    """

    def __init__(self, logp: Callable[..., Array] | Any, grad: Callable[..., Array] | None = None,
                 *, dim: int | Callable[[int], int], name: str = "python",
                 names: Sequence[str] | Callable[[list[str]], Sequence[str]] | None = None,
                 log_prior: Callable[[Array], tuple[float, Array]] | None = None,
                 predict: Callable[[Array, Array], Array] | None = None,
                 draw: Callable[..., Array] | None = None,
                 start: Callable[[Array, Array], Array] | None = None) -> None:
        if grad is None and not hasattr(logp, "address"):
            raise UsageError("sgfs.Model needs logp and grad, or one numba cfunc for both.")
        self.logp, self.grad, self.dim, self.name, self.names = logp, grad, dim, name, names
        self.log_prior, self.predict, self.draw, self.start = log_prior, predict, draw, start
        self._compiled: Any = None
        self._dims: dict[int, int] = {}  # by the number of columns
        self._error: BaseException | None = None
        self._lock = threading.Lock()

    def take_error(self) -> BaseException | None:
        """The exception that ended the last run, once."""
        error, self._error = self._error, None
        return error

    def _safely(self, work: Callable[[], Any]) -> int:
        try:
            _interrupt.call(work)
            return 0
        except BaseException as error:
            with self._lock:
                self._error = self._error or error
            return 1

    def _dim_of(self, cols: int) -> int:
        if cols not in self._dims:
            self._dims[cols] = int(self.dim(cols) if callable(self.dim) else self.dim)
        return self._dims[cols]

    # ---- callbacks ----

    def _dim(self, cols: int, _user: Any) -> int:
        self._safely(lambda: self._dim_of(cols))
        return self._dims.get(cols, -1)

    def _scores(self, theta: Any, rows: Any, loglik: Any, score: Any, user: Any) -> int:
        def work() -> None:
            x, y = _rows(rows)
            dim = self._dim_of(x.shape[1])
            at = _view(theta, (dim,))
            if loglik:
                _view(loglik, (len(x),))[:] = _shaped("logp", self.logp(at, x, y), (len(x),))
            if score:
                assert self.grad is not None
                shape = (len(x), dim)
                _view(score, shape)[:] = _shaped("grad", self.grad(at, x, y), shape)

        return self._safely(work)

    def _param_name(self, j: int, cols: int, column: Any, out: int, room: int, _user: Any) -> None:
        def work() -> None:
            names = self.names
            if callable(names):
                names = names([column[i].decode() for i in range(cols)])
            assert names is not None
            if len(names) != self._dim_of(cols):
                raise UsageError(f"names has {len(names)} names, and the model "
                                 f"{self._dim_of(cols)} parameters.")
            text = str(names[j]).encode()[:room - 1] + b"\0"
            ctypes.memmove(out, text, len(text))

        self._safely(work)

    def _log_prior(self, theta: Any, dim: int, lp: Any, grad: Any, _user: Any) -> int:
        def work() -> None:
            assert self.log_prior is not None
            value, slope = self.log_prior(_view(theta, (dim,)))
            if lp:
                lp[0] = float(value)
            if grad:
                _view(grad, (dim,))[:] = _shaped("the gradient of log_prior", slope, (dim,))

        return self._safely(work)

    def _predict(self, theta: Any, rows: Any, mean: Any, _user: Any) -> int:
        def work() -> None:
            assert self.predict is not None
            x, _ = _rows(rows)
            found = self.predict(_view(theta, (self._dim_of(x.shape[1]),)), x)
            _view(mean, (len(x),))[:] = _shaped("predict", found, (len(x),))

        return self._safely(work)

    def _draw(self, theta: Any, rows: Any, normal: Any, uniform: Any, y: Any, _user: Any) -> int:
        def work() -> None:
            assert self.draw is not None
            x, _ = _rows(rows)
            n = (len(x),)
            made = self.draw(_view(theta, (self._dim_of(x.shape[1]),)), x, _view(normal, n), _view(uniform, n))
            _view(y, n)[:] = _shaped("draw", made, n)

        return self._safely(work)

    def _start(self, rows: Any, dim: int, theta: Any, _spread: Any, _user: Any) -> int:
        def work() -> None:
            assert self.start is not None
            _view(theta, (dim,))[:] = _shaped("start", self.start(*_rows(rows)), (dim,))

        return self._safely(work)

    def _message(self, code: int, _user: Any) -> Any:
        error, text = self._error, ""
        if error is not None:
            text = f"{type(error).__name__}: {error}"
        elif code == 2:
            text = "an array of logp or grad has the wrong shape"
        self._text = ctypes.create_string_buffer(text.encode())  # lives as long as the model
        return ctypes.addressof(self._text)

    def _callbacks(self) -> Any:
        """The table of functions that the library calls. It has to live as long as it is used."""
        self._error = None
        table = _c.sgfs_user_model(size=ctypes.sizeof(_c.sgfs_user_model),
                                   name=self.name.encode())
        table.dim = FIELDS["dim"](self._dim)
        if _numba.is_compiled(self.logp) and _numba.is_compiled(self.grad):
            if self._compiled is None:
                self._compiled = _numba.scores(self.logp, self.grad, self.dim)
        elif hasattr(self.logp, "address"):
            self._compiled = self.logp
        if self._compiled is not None:
            table.scores = ctypes.cast(self._compiled.address, FIELDS["scores"])
        else:
            table.scores = FIELDS["scores"](self._scores)
        table.message = FIELDS["message"](self._message)
        for field in ("log_prior", "predict", "draw", "start"):
            given = getattr(self, field)
            if given is None:
                continue
            address = getattr(given, "address", None)
            kind = FIELDS[field]
            setattr(table, field, ctypes.cast(address, kind) if address is not None
                    else kind(getattr(self, "_" + field)))
        if self.names is not None:
            table.param_name = FIELDS["param_name"](self._param_name)
        return table

    @contextlib.contextmanager
    def lent(self) -> Iterator[Any]:
        """The table of functions for one call; what they raise in it is raised at its end."""
        table = self._callbacks()
        try:
            yield table
        except Exception as error:
            raised = self.take_error()
            if raised is not None:
                raise error from raised
            raise
        raised = self.take_error()
        if raised is not None:
            raise raised

    def open(self, data: Handle, config: Config) -> Handle:
        """The model bound to data."""
        with self.lent() as table:
            return opened("sgfs_model_user", "sgfs_model_free", ctypes.byref(table), data,
                          config, keep=(data, table, self))


def _view(pointer: Any, shape: tuple[int, ...]) -> Array:
    return np.ctypeslib.as_array(pointer, shape)


def _rows(rows: Any) -> tuple[Array, Array]:
    batch = rows.contents
    x = _view(batch.x, (batch.n, batch.cols))
    return x, _view(batch.y, (batch.n,)) if batch.y else None


def _shaped(what: str, found: Any, shape: tuple[int, ...]) -> Array:
    found = np.asarray(found, dtype=float)
    if found.shape != shape:
        raise UsageError(f"{what} has given an array of the shape {found.shape}, and not {shape}.")
    return found
