# SPDX-License-Identifier: MIT
"""The shared library: found, loaded, compared with the declarations, and called.

It is looked for where SGFS_LIBRARY says, then in this package (a wheel has it there), then in the
build folder of a source tree, then where the system looks. ctypes gives the interpreter lock back
while C works, so that other Python threads go on.
"""

from __future__ import annotations

import ctypes
import logging
import os
import sys
import warnings
import weakref
from pathlib import Path
from typing import Any, Iterator

from . import _c
from ._errors import SgfsError, SgfsWarning, error_of, in_python, printable, tidied
from ._interrupt import guarded

log = logging.getLogger("sgfs")
HERE = Path(__file__).resolve().parent


def _candidates() -> Iterator[str]:
    named = os.environ.get("SGFS_LIBRARY")
    if named:
        yield named
        return
    for folder in (HERE / "lib", HERE.parents[1] / "build"):
        yield from sorted(map(str, folder.glob("libsgfs*.so")))[:1]
    yield "libsgfs.so.0"


def _load() -> ctypes.CDLL:
    # How long a thread spins that waits for others is read while the library is loaded: its own rule
    # (sgfs_list, "environment") keeps the processor from the thread that is waited for.
    if "OMP_WAIT_POLICY" not in os.environ:
        os.environ.setdefault("GOMP_SPINCOUNT", "2000")
    tried = []
    for path in _candidates():
        try:
            return ctypes.CDLL(path)
        except OSError as error:
            tried.append(str(error))
    raise ImportError("The library of sgfs was not found: " + "; ".join(tried) +
                      ". SGFS_LIBRARY may name it.")


def _declare(library: ctypes.CDLL) -> None:
    for name, (result, arguments) in _c.FUNCTIONS.items():
        function = getattr(library, name)
        function.restype, function.argtypes = result, arguments


def listed(stage: str) -> list[tuple[str, str]]:
    """The rows of a table of the library, name and help: "models", "samplers", ..."""
    rows: list[tuple[str, str]] = []
    name, text = ctypes.c_char_p(), ctypes.c_char_p()
    while lib.sgfs_list(stage.encode(), len(rows), ctypes.byref(name), ctypes.byref(text)):
        rows.append(((name.value or b"").decode(), (text.value or b"").decode()))
    return rows


def _compare_layout() -> None:
    """Are structs and constants in C what `_c.py` says?"""
    ours = {name: ctypes.sizeof(kind) for name, kind in _c.STRUCTS.items()}
    ours.update(_c.CONSTANTS)
    theirs = {name: int(text) for name, text in listed("layout")}
    different = sorted(name for name in ours.keys() | theirs.keys()
                       if ours.get(name) != theirs.get(name))
    if different:
        raise ImportError(f"The library is version {version()}, and its {', '.join(different[:4])} "
                          "are not what this package was made for: install both together.")


def version() -> str:
    """The version of the C library."""
    return str(lib.sgfs_version().decode())


lib = _load()
_declare(lib)
_compare_layout()
for _name, _value in listed("environment"):
    if _name == "OPENBLAS_CORETYPE" and _name not in os.environ:
        warnings.warn(f"OpenBLAS does not know this processor and would be slow: set {_name}="
                      f"{_value} before Python starts.", SgfsWarning, stacklevel=2)


class Handle:
    """A pointer that the library gave out, freed when nobody holds it any more.

    `keep` are things that it borrows, arrays for instance: they live as long as it does.
    """

    def __init__(self, pointer: int, free: str, *keep: Any) -> None:
        self.pointer = pointer
        self.keep = keep
        self.close = weakref.finalize(self, getattr(lib, free), pointer)

    @property
    def _as_parameter_(self) -> ctypes.c_void_p:
        return ctypes.c_void_p(self.pointer)


def opened(name: str, free: str, *arguments: Any, keep: tuple[Any, ...] = ()) -> Handle:
    """What the function `name` opens; its error as an exception."""
    err = _c.sgfs_err()
    stops = [given.stop for given in arguments if isinstance(given, Config)]
    with guarded(stops[0] if stops else None):
        pointer = getattr(lib, name)(*arguments, ctypes.byref(err))
        if not pointer:
            raise error_of(err)
        return Handle(pointer, free, *keep)


def check(name: str, *arguments: Any) -> None:
    """Calls a function that answers with a status."""
    err = _c.sgfs_err()
    with guarded():
        status = getattr(lib, name)(*arguments, ctypes.byref(err))
    if status != _c.SGFS_OK:
        raise error_of(err)


class Config:
    """Options by key, and the messages of every call that uses them.

    Messages may come from any thread: they are kept, and handed on by `tell` in the caller's.
    """

    def __init__(self) -> None:
        messages: list[tuple[int, str]] = []

        def take(level: int, text: bytes, _user: Any) -> None:
            messages.append((level, printable(tidied(text.decode("utf-8", "replace")))))

        self.messages = messages
        self.quiet = False  # without notes
        self._take = _c.sgfs_message_fn(take)
        pointer = lib.sgfs_config_new()
        if not pointer:
            raise SgfsError("out of memory")
        self.handle = Handle(pointer, "sgfs_config_free", self._take)
        lib.sgfs_config_on_message(self.handle, self._take, None)

    @property
    def _as_parameter_(self) -> ctypes.c_void_p:
        return self.handle._as_parameter_

    def set(self, key: str, value: str) -> None:
        check("sgfs_config_set", self, key.encode(), value.encode("utf-8", "surrogateescape"))

    def load(self, path: str) -> None:
        check("sgfs_config_load", self, os.fsencode(path))

    def stop(self) -> None:
        """Ends the work with it soon."""
        lib.sgfs_config_stop(self)

    def get(self, key: str) -> str | None:
        value = lib.sgfs_config_get(self, key.encode())
        return None if value is None else str(value.decode("utf-8", "surrogateescape"))

    def tell(self) -> None:
        """Notes go to the logger "sgfs", warnings to `warnings`; a target that nobody named is
        warned of, since few look at the logger."""
        while self.messages:
            level, text = self.messages.pop(0)
            if level == _c.SGFS_WARNING:
                warn(text, SgfsWarning)
            elif not self.quiet:
                if text.startswith("The target is "):
                    warn(text, SgfsWarning)
                else:
                    log.info(in_python(text))


def warn(text: str, kind: type[Warning]) -> None:
    """A warning that points to the line outside of this package."""
    level, frame = 1, sys._getframe(0)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith("sgfs"):
        frame, level = frame.f_back, level + 1
    warnings.warn(in_python(text), kind, stacklevel=level)

