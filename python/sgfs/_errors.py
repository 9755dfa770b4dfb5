# SPDX-License-Identifier: MIT
"""What can go wrong: an exception for each sort of error that the library tells apart.

The text of an exception is the sentence of the C library: what went wrong, where, what to do.
"""

from __future__ import annotations

import re
from typing import Any

from . import _c


class SgfsError(Exception):
    """An error of the library. `code` is its status, as in sgfs.h."""

    code = _c.SGFS_EINTERNAL
    #: What was drawn before the error, where a run had begun: a `Fit`, or None.
    fit: Any = None


class UsageError(SgfsError, ValueError):
    """An option or argument that is unknown, out of range, or fits nothing in the run."""

    code = _c.SGFS_EUSAGE


class DataError(SgfsError, ValueError):
    """The data or the model cannot be used."""

    code = _c.SGFS_EDATA


class NumericalError(SgfsError, ArithmeticError):
    """A chain left the numbers: it diverged, or a matrix was not positive definite."""

    code = _c.SGFS_ENUMERIC


class FileError(SgfsError, OSError):
    """Reading or writing failed."""

    code = _c.SGFS_EIO


class RunFileError(FileError):
    """Not a run file, or a damaged one."""

    code = _c.SGFS_ERUNFILE


class OutOfMemory(SgfsError, MemoryError):
    """Memory ran out."""

    code = _c.SGFS_ENOMEM


class Stopped(SgfsError):
    """Stopped early on request."""

    code = _c.SGFS_ESTOPPED


class SgfsWarning(UserWarning):
    """A warning of the library."""


class TrustWarning(SgfsWarning):
    """The draws are not to be trusted; the sentence says why."""


_BY_CODE = {kind.code: kind for kind in (UsageError, DataError, NumericalError, FileError,
                                         RunFileError, OutOfMemory, Stopped)}


_SPOOL = re.compile(r"[^\s()\"']*/sgfs-\w+/table")


def tidied(text: str) -> str:
    """A sentence of the library, in which the spool of a table is called "table"."""
    return _SPOOL.sub("table", text) if "/sgfs-" in text else text


_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f]")


def printable(text: str) -> str:
    """A sentence as a terminal may have it: names that it quotes may hold control characters."""
    return _CONTROL.sub("?", text)


_LIST = re.compile(r"`sgfs list (models|samplers)`")
_FLAG = re.compile(r"(?<![\w/-])--([a-z][a-z0-9]*(?:-[a-z0-9]+)*)(?![\w=/-])"
                   r"( '[^']*'| \w(?:[\w.+,=-]*\w)?)?")
# What goes on with the sentence behind an option of text: --date makes ..., but --date when.
_ON = frozenset("""adapts all allows and are as asks behind belongs below chooses contradict counts does
    draws files for fixes given goes has have helps if in is keeps lacks learned leaves made makes may
    means meant must names need needs of on only or out puts reads said say says show shows takes that
    the there to was were when where which will with would""".split())


_GIVEN = re.compile(r"--([a-z0-9-]+) ('[^']*'|[^\s()']+)")


def in_python(text: str) -> str:
    """A sentence about options of the command line, in which they are keyword arguments:
    `--na drop` is na="drop"."""
    text = _LIST.sub(r"sgfs.\1()", text)
    if "--" not in text:
        return text
    from ._options import table

    def keyword(match: re.Match[str]) -> str:
        name, word = match[1].replace("-", "_"), match[2] or ""
        option = next((option for option in table() if option.name == name), None)
        if option is None:
            return match[0]
        if option.type == "flag":
            return f"{name}=True{word}"
        if word[1:] in option.choices:
            return f'{name}="{word[1:]}"'
        value = word[1:].strip("'")
        if re.fullmatch(r"\d[\d.e+-]*", value):
            return f"{name}={value}"
        text_of_its_own = option.type == "text" and value and value not in _ON
        return f'{name}="{value}"' if text_of_its_own else f"{name}={word}"

    said, listed, rest = text.partition(" can be: ")  # behind that: flags, each with its value
    flags = re.match(rf"(?:{_GIVEN.pattern} ?)*", rest)
    options = _GIVEN.sub(lambda m: f'{m[1].replace("-", "_")}="{m[2].strip(chr(39))}"',
                         flags[0] if flags else "")
    return _FLAG.sub(keyword, said) + listed + options + _FLAG.sub(keyword, rest[flags.end() if flags else 0:])


def error_of(err: _c.sgfs_err) -> SgfsError:
    """The exception for what a call has said."""
    error = _BY_CODE.get(err.code, SgfsError)(in_python(tidied(err.text.decode("utf-8", "replace"))))
    error.code = err.code
    return error
