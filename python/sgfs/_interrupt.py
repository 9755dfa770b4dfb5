# SPDX-License-Identifier: MIT
"""Ctrl-C while C is at work.

Python's own handler raises KeyboardInterrupt wherever Python code runs next. While C works that is
the first line of some callback, outside of anything that could catch it, and ctypes drops it. So in
the main thread another handler stands in for it meanwhile, which only asks the work to stop.
"""

from __future__ import annotations

import contextlib
import signal
import threading
from typing import Any, Callable, Iterator, Optional

Stop = Optional[Callable[[], None]]


class Guard:
    """How often Ctrl-C was pressed, and what is done about it."""

    count = 0
    answered = 0  # so many have had their answer, and raise nothing at the end
    inside = False  # a function of the user runs, and what it raises is caught
    stop: Stop = None

    def take(self, _number: int, _frame: Any) -> None:
        self.count += 1
        if self.stop is not None:
            self.stop()
        if self.count > 1 and self.inside:
            raise KeyboardInterrupt


_active: Guard | None = None  # of the main thread


def _in_main_thread() -> bool:
    return threading.get_ident() == threading.main_thread().ident


@contextlib.contextmanager
def guarded(stop: Stop = None) -> Iterator[Guard]:
    """Ctrl-C calls `stop`, and raises KeyboardInterrupt at the end of the outermost of these, unless
    it was answered. In other threads, and where Ctrl-C is ignored, nothing is changed."""
    global _active
    main = _in_main_thread()
    if main and _active is not None:
        guard, before = _active, (_active.stop, _active.inside)
        guard.stop, guard.inside = stop or guard.stop, False
        try:
            if stop is not None and guard.count > guard.answered:
                stop()
            yield guard
        finally:
            guard.stop, guard.inside = before
        return
    guard = Guard()
    guard.stop = stop
    usual = signal.getsignal(signal.SIGINT) if main else None
    if not callable(usual):
        yield guard
        return
    try:
        _active = guard
        signal.signal(signal.SIGINT, guard.take)
        yield guard
    finally:
        _active = None
        signal.signal(signal.SIGINT, usual)
        if guard.count and usual is not signal.default_int_handler:
            usual(signal.SIGINT, None)  # somebody else's has its turn now
        elif guard.count > guard.answered:
            raise KeyboardInterrupt


def call(work: Callable[[], None]) -> None:
    """Runs a function of the user in a callback that catches whatever it raises: a second Ctrl-C
    ends it at once."""
    guard = _active if _in_main_thread() else None
    if guard is None:
        work()
        return
    try:
        guard.inside = True
        work()
    finally:
        guard.inside = False
