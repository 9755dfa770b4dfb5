# SPDX-License-Identifier: MIT
"""How far a run or a job is, on a terminal or in a notebook; and Ctrl-C while C is at work.

The library reports a few times a second, in the thread that called it. The handler of Ctrl-C runs at
that moment (_interrupt.py): the run is asked to stop, and ends after the iteration at hand.
"""

from __future__ import annotations

import contextlib
import importlib.util
import sys
from typing import Any, Callable, Iterator, Protocol, Union

from . import _c, _interrupt
from ._library import Config, lib


class Bar(Protocol):
    def show(self, what: str, fraction: float, detail: str) -> None: ...

    def close(self) -> None: ...


Progress = Union[bool, None, Callable[[str, float, str], None]]


class _Tqdm:
    def __init__(self) -> None:
        from tqdm.auto import tqdm  # type: ignore[import-untyped,unused-ignore]

        self.bar = tqdm(total=100, leave=False, bar_format="{desc} {percentage:3.0f}%|{bar}| "
                                                           "{elapsed}{postfix}")

    def show(self, what: str, fraction: float, detail: str) -> None:
        self.bar.set_description_str(what, refresh=False)
        self.bar.set_postfix_str(detail, refresh=False)
        self.bar.n = 100 * fraction
        self.bar.refresh()

    def close(self) -> None:
        self.bar.close()


class _Line:
    """A line on the terminal that is written over."""

    width = 30

    def __init__(self) -> None:
        self.shown = 0

    def show(self, what: str, fraction: float, detail: str) -> None:
        done = int(self.width * min(1.0, fraction))
        line = f"{what} {'#' * done}{'.' * (self.width - done)} {100 * fraction:3.0f}% {detail}"
        sys.stderr.write("\r" + line.ljust(self.shown))
        sys.stderr.flush()
        self.shown = len(line)

    def close(self) -> None:
        if self.shown:
            sys.stderr.write("\r" + " " * self.shown + "\r")
            sys.stderr.flush()


class _Call:
    def __init__(self, function: Callable[[str, float, str], None]) -> None:
        self.show = function

    def close(self) -> None:
        pass


def _in_notebook() -> bool:
    shell = sys.modules.get("IPython")
    here = shell.get_ipython() if shell is not None else None
    return here is not None and "ZMQ" in type(here).__name__


def bar_for(progress: Progress) -> Bar | None:
    """None: a bar where somebody is looking, on a terminal or in a notebook."""
    if callable(progress):
        return _Call(progress)
    if progress is None:
        progress = _in_notebook() or sys.stderr is not None and sys.stderr.isatty()
    if not progress:
        return None
    return _Tqdm() if importlib.util.find_spec("tqdm") is not None else _Line()


class Watch:
    """What happened while C was at work: an exception of a callback."""

    error: BaseException | None = None

    def raise_unless_interrupt(self) -> None:
        if self.error is not None and not isinstance(self.error, KeyboardInterrupt):
            raise self.error


@contextlib.contextmanager
def watched(config: Config, progress: Progress,
            keep: list[Any] | None = None) -> Iterator[Watch]:
    """Shows the progress of the work with a config, and stops it on Ctrl-C or where showing fails.

    keep: gets a copy of what the last report said."""
    watch = Watch()
    bar: list[Bar | None] = []

    def report(pointer: Any, _user: Any) -> None:
        try:
            if watch.error is not None:
                return
            now = pointer.contents
            if keep is not None:
                keep[:] = [{name: getattr(now, name) for name, _ in now._fields_}]
            if not bar:
                bar.append(bar_for(progress))
            shown = bar[0]
            if shown is not None:
                _interrupt.call(lambda: shown.show((now.what or b"").decode(), now.fraction,
                                                   (now.detail or b"").decode()))
        except BaseException as error:  # also KeyboardInterrupt: C must not be jumped over
            watch.error = error
            config.stop()

    callback = _c.sgfs_progress_fn(report)
    lib.sgfs_config_on_progress(config, callback, None)
    try:
        with _interrupt.guarded(config.stop):
            yield watch
    finally:
        lib.sgfs_config_on_progress(config, _c.sgfs_progress_fn(), None)
        if bar and bar[0] is not None:
            bar[0].close()
