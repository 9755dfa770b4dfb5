# SPDX-License-Identifier: MIT
"""Options of the command line as keyword arguments: `--prior-precision 2` is prior_precision=2.

Nothing is written down here: names, types, choices and help come from the library's own table.
"""

from __future__ import annotations

import ctypes
import difflib
import functools
import os
from dataclasses import dataclass
from typing import Any, Iterable, Mapping

from . import _c
from ._errors import UsageError, printable
from ._library import Config, lib

SAMPLE = ("run", "data", "prior", "fisher", "model", "sampler")


@dataclass(frozen=True)
class Option:
    """One row of the table of options."""

    key: str
    name: str  # of the keyword argument
    type: str
    default: str
    choices: tuple[str, ...]
    help: str
    stage: str
    kind: str


@functools.lru_cache(maxsize=None)
def table() -> tuple[Option, ...]:
    """Every option there is."""
    rows: list[Option] = []
    info = _c.sgfs_option_info()
    while lib.sgfs_option_at(len(rows), ctypes.byref(info)):
        rows.append(Option(key=info.key.decode(), name=info.flag.decode().replace("-", "_"),
                           type=info.type.decode(), default=info.value.decode(),
                           choices=tuple(filter(None, info.choices.decode().split("|"))),
                           help=info.help.decode(), stage=info.stage.decode(),
                           kind=info.kind.decode()))
    return tuple(rows)


@functools.lru_cache(maxsize=None)
def of(stages: tuple[str, ...]) -> Mapping[str, Option]:
    """The options of these stages by name. A name that several kinds share is one option."""
    found: dict[str, Option] = {}
    for option in table():
        if option.stage in stages:
            found.setdefault(option.name, option)
    return found


def text_of(value: Any) -> str:
    """A value as the library reads it: True is "true", a list of columns is "a,b"."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return value
    if isinstance(value, os.PathLike):
        return str(os.fspath(value))
    if isinstance(value, Iterable):
        return ",".join(map(text_of, value))
    if hasattr(value, "item"):  # a number of NumPy
        return text_of(value.item())
    return repr(value)


def unknown(name: str, known: Iterable[str], where: str = "sgfs.sample") -> UsageError:
    """known: options, and the arguments of the function `where` itself."""
    near = difflib.get_close_matches(name, list(known), 1, 0.5)
    hint = f" Did you mean {near[0]}?" if near else f" help({where}) lists them."
    return UsageError(printable(f"There is no option {name}.{hint}"))


def apply(config: Config, stages: tuple[str, ...], given: Mapping[str, Any],
          arguments: tuple[str, ...] = ()) -> None:
    """Sets the options that were given, in their order; None is left out. arguments: what else the
    caller could have been given."""
    known = of(stages)
    for name, value in given.items():
        if name not in known:
            raise unknown(name, [*arguments, *known])
        if value is not None:
            config.set(known[name].key, text_of(value))


def document(stages: tuple[str, ...]) -> str:
    """The options as the end of a docstring."""
    import textwrap

    lines = []
    for name, option in of(stages).items():
        choices = f" ({', '.join(option.choices)})" if option.choices else ""
        default = f", default {option.default}" if option.default else ""
        lines.append(f"{name} : {option.type}{choices}{default}")
        lines.append(textwrap.fill(option.help, 90, initial_indent="    ",
                                   subsequent_indent="    "))
    return "\n".join(lines)
