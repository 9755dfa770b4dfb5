# SPDX-License-Identifier: MIT
"""Predictions of new rows. The library writes them as a table, which is read back here to the same
bits; every number in it comes from C."""

from __future__ import annotations

import contextlib
import csv
import ctypes
import os
import tempfile
from typing import TYPE_CHECKING, Any, Sequence

import numpy as np

from . import _inputs, _options
from ._errors import DataError, SgfsWarning, UsageError
from ._jobs import run_job
from ._library import Config, listed, warn
from ._model import Model
from ._progress import Progress

if TYPE_CHECKING:
    from ._fit import Fit

KINDS = ("mean", "interval", "draws", "label", "scores")
# Keyword arguments that go by other names than the options of "predict": those of `sgfs predict`.
BORROWED = {name: key for name, key in (
    ("target", "data.target"), ("delimiter", "data.delimiter"), ("header", "data.header"),
    ("seed", "run.seed"), ("threads", "run.threads"), ("device", "run.device"),
    ("labels", "data.labels"),
    ("zero_based", "data.zero_based"), ("part", "data.part"), ("limit", "data.limit"),
    ("new_words", "data.new_words"), ("na", "data.na"), ("interval", "summary.interval"))}
DEFAULT = (0.05, 0.5, 0.95)


def _config(options: dict[str, Any]) -> Config:
    config = Config()
    own = _options.of(("predict",))
    for name, value in options.items():
        if name not in own and name not in BORROWED:
            raise _options.unknown(name, ["kind", "quantiles", "exposure", *own, *BORROWED], "sgfs.Fit.predict")
        if value is not None:
            config.set(BORROWED.get(name) or own[name].key, _options.text_of(value))
    return config


def _by_place(fit: Fit, cols: int) -> list[str] | None:
    """The names of an array's columns where the fit's had some: the fit's, in its order."""
    said = fit.header["data"]
    first = (said.get("recipe") or [{"op": "columns"}])[0]
    if not said.get("named") or first["op"] != "columns":
        return None
    names: list[str] = first.get("names") or [column["name"] for column in said["features"]]
    some = ", ".join(names[:5]) + (", ..." if len(names) > 5 else "")
    if len(names) != cols:
        raise DataError(f"The array has no names and {cols} column{'s' * (cols != 1)}; the fit has "
                        f"{len(names)}, with names: {some}. Hand over these in this order, or a "
                        "table with their names.")
    warn(f"The array's columns have no names; they are taken in the order of the fit's: {some}.",
         SgfsWarning)
    return names


def predict(fit: Fit, data: Any, kind: str, quantiles: Sequence[float], progress: Progress,
            options: dict[str, Any]) -> Any:
    if kind not in KINDS:
        raise UsageError(f"kind is one of {', '.join(KINDS)}, not {kind!r}.")
    levels = np.asarray(quantiles, dtype=float)
    if kind == "interval" and not ((levels >= 0) & (levels <= 1)).all():
        raise UsageError("quantiles lie between 0 and 1.")
    share = options.get("interval")
    if share is not None and tuple(quantiles) == DEFAULT:
        levels = np.array([(1 - float(share)) / 2, 0.5, (1 + float(share)) / 2])
    low = min(0.5, *levels, *(1 - levels))
    low = low if low < 0.5 else DEFAULT[0]
    columns = np.array([low, 0.5, 1 - low])  # of the file that the program writes
    apart = np.abs(levels[:, None] - columns)
    others = bool((apart.min(axis=1) > 1e-12).any()) or low == 0
    draws = kind == "draws" or (kind == "interval" and others)
    if kind == "interval" and not draws:
        options["interval"] = round(1 - 2 * low, 12)
    key = options.pop("key", None)
    exposure = options.pop("exposure", None)
    source = _inputs.source_of(data, beside={"exposure": exposure},
                                by_place=lambda cols: _by_place(fit, cols))
    if isinstance(source, _inputs.Arrays) and kind != "scores":
        options.setdefault("target", "none")
    model = options.pop("model", None)
    name = fit.header["model"]
    if model is None and name not in dict(listed("models")):
        if fit._origin is None:
            raise UsageError(f"The run was made with the model {name}, which is none of the "
                             "library's: hand it over, as model=.")
        model = fit._origin.model
    if not isinstance(model, Model):
        options["model"] = model  # a shared object, or None
    keys = None
    if key is not None and isinstance(source, _inputs.Files) and kind not in ("draws", "scores"):
        options["key"] = key
    elif key is not None and isinstance(source, _inputs.Table):
        keys = np.asarray(data[key])
    elif key is not None:
        raise UsageError("key names a column of a table, or of a file whose draws are not asked for.")
    config = _config(options)
    quick = _inputs.quick_folder() if _inputs.is_small(source) and not draws else None
    with source.file() as name, tempfile.TemporaryDirectory(prefix="sgfs-", dir=quick) as folder:
        out = os.path.join(folder, "draws.npy" if draws else "predictions.csv")
        wanted = os.fsencode(out) if kind != "scores" else None
        lent = model.lent() if isinstance(model, Model) else contextlib.nullcontext()
        with lent as calls:
            result = run_job("sgfs_predict_open", fit._handle, calls and ctypes.byref(calls),
                             os.fsencode(name), wanted, config=config, progress=progress,
                             keep=(calls,))
        new = result.get("rows_with_new_words", 0)
        if new:
            warn(f"{new} of {result['rows']} rows hold words that the run has not seen.", SgfsWarning)
        new = result.get("rows_with_new_groups", 0)
        if new:
            warn(f"{new} of {result['rows']} rows are in groups that the run has not seen.", SgfsWarning)
        if kind == "scores":
            return result
        if draws:
            said = np.load(out)
            said = said[:, 0] if said.shape[1] == 1 else said
            if kind == "interval":
                said = np.moveaxis(np.quantile(said, levels, axis=-1), 0, -1)
        else:
            keys, said = _read(out, kind, apart.argmin(axis=1), keys)
        return said if key is None else (keys, said)


def _read(path: str, kind: str, chosen: Any, keys: Any) -> tuple[Any, Any]:
    """The keys (those given, or the first column where it is one) and what was asked for."""
    with open(path, newline="", encoding="utf-8") as stream:
        rows = csv.reader(stream)
        head = next(rows)
        start = 0 if head[0] in ("prediction", "mean") else 1
        lines = list(rows)
    if start:
        keys = np.array([line[0] for line in lines], dtype=object)
    if kind == "label":
        if head[start] != "prediction":
            raise UsageError("The target is a number: it has no labels.")
        return keys, np.array([line[start] for line in lines], dtype=object)
    labels = [name[2:-1] for name in head if name.startswith("p[")]
    first = start + (1 if labels else 0)
    width = 4 * max(1, len(labels))
    table = np.array([[float(cell) if cell else np.nan for cell in line[first:first + width]]
                      for line in lines])
    table = table.reshape(len(table), -1, 4)
    said = table[:, :, 0] if kind == "mean" else table[:, :, 1 + chosen]
    return keys, said if labels else said[:, 0]
