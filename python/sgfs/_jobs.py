# SPDX-License-Identifier: MIT
"""Jobs: a summary, predictions, an audit. Each is opened, run, and read as JSON."""

from __future__ import annotations

import ctypes
import json
from typing import Any

from . import _options
from ._errors import Stopped, tidied
from ._library import Config, Handle, check, lib, opened
from ._progress import Progress, watched


def json_of(job: Handle) -> Any:
    """The result of a job. A number that is not finite is None there."""
    text = lib.sgfs_job_json(job)
    try:
        return json.loads(tidied(ctypes.string_at(text).decode())) if text else {}
    finally:
        lib.sgfs_text_free(text)


def run_job(name: str, *arguments: Any, config: Config, progress: Progress = False,
            append: bool = False, keep: tuple[Any, ...] = ()) -> Any:
    """Opens the job `name`, runs it, and hands back its result. append: also to the run file."""
    try:
        job = opened(name, "sgfs_job_free", *arguments, config, keep=(*arguments, *keep))
        with watched(config, progress) as watch:
            try:
                check("sgfs_job_run", job)
            except Stopped:
                watch.raise_unless_interrupt()
                raise KeyboardInterrupt from None
        if watch.error is not None:
            raise watch.error
        result = json_of(job)
        if append and result.get("needed"):
            check("sgfs_job_save", job, None)
        return result
    finally:
        config.tell()


def config_of(stages: tuple[str, ...], given: dict[str, Any]) -> Config:
    config = Config()
    _options.apply(config, stages, given)
    return config
