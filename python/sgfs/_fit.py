# SPDX-License-Identifier: MIT
"""A fit: the draws of a run, what they say, and whether to trust them.

A fit is a run file and what is read from it. Without a name of its own the file lies in a folder
for temporary files, and goes when the fit goes; `save` keeps a copy.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import html
import math
import os
import shutil
import tempfile
import weakref
from pathlib import Path
from typing import TYPE_CHECKING, Any, Iterator, Mapping, Sequence, Union

import numpy as np

from . import _effects, _inputs, _predict
from ._errors import UsageError, printable
from ._header import header_of
from ._jobs import config_of, run_job
from ._options import text_of
from ._library import Handle, check, lib, opened
from ._progress import Progress

if TYPE_CHECKING:
    import pandas

PathLike = Union[str, "os.PathLike[str]"]
SHOWN = ("mean", "sd", "q5", "q50", "q95", "ess_bulk", "r_hat")
SUMMARY_COLUMNS = (*SHOWN, "mcse", "ess_tail", "sd_curvature", "tau")


class Draws(np.ndarray):
    """An array of chains x draws x parameters that knows its parameters' names:
    draws["age"] is chains x draws."""

    names: tuple[str, ...]

    def __array_finalize__(self, other: Any) -> None:
        self.names = getattr(other, "names", ())

    def __getitem__(self, key: Any) -> Any:
        if not isinstance(key, str):
            found = super().__getitem__(key)
            return found.view(np.ndarray) if isinstance(found, Draws) else found
        if key not in self.names:
            import difflib

            near = difflib.get_close_matches(key, self.names, 1, 0.4)
            raise KeyError(f"{key!r} is no parameter" + (f"; did you mean {near[0]!r}?" if near
                                                         else f" of {', '.join(self.names[:9])}"))
        return self.view(np.ndarray)[..., self.names.index(key)]


def _remove(folder: str, owner: int) -> None:
    """A child of a fork has the same object; the file goes with its maker's."""
    if os.getpid() == owner:
        shutil.rmtree(folder, ignore_errors=True)


class RunFile:
    """The file of a run. A temporary one is removed with the last who holds it."""

    def __init__(self, path: PathLike | None) -> None:
        if path is not None:
            self.path = os.fspath(path)
            return
        folder = tempfile.mkdtemp(prefix="sgfs-", dir=_inputs.quick_folder())
        self.path = os.path.join(folder, "fit.run")
        weakref.finalize(self, _remove, folder, os.getpid())


def _numbers_of(row: Mapping[str, Any]) -> dict[str, float]:
    """A row of the summary by column. An interval that was asked for stands where quantiles do."""
    ratio, ends = row.get("ratio"), row.get("interval")
    first = SHOWN[:2] if ends is not None else SHOWN[:5]
    found = {column: row.get(column) for column in first}
    if ends is not None:
        found.update(low=ends["low"], high=ends["high"])
    if ratio is not None:
        name = ratio["name"].replace(" ", "_")
        found.update({name: ratio["centre"], f"{name}_low": ratio["low"],
                      f"{name}_high": ratio["high"]})
    found.update((column, row.get(column)) for column in SUMMARY_COLUMNS[5:])
    return {column: math.nan if value is None else value for column, value in found.items()}


class Fit:
    """What a run has found. Made by `sgfs.sample` and `sgfs.open`."""

    def __init__(self, run: RunFile | PathLike, origin: Any = None) -> None:
        self._run = run if isinstance(run, RunFile) else RunFile(run)
        self._origin = origin
        self._handle: Handle = opened("sgfs_draws_open", "sgfs_draws_free",
                                      os.fsencode(self._run.path))
        shape = lib.sgfs_draws_size(self._handle)
        self._shape = (shape.chains, shape.draws, shape.dim)
        #: Names of the parameters.
        self.names: tuple[str, ...] = tuple(
            lib.sgfs_draws_param(self._handle, i).decode() for i in range(shape.dim))

    @functools.cached_property
    def header(self) -> dict[str, Any]:
        """What the run file says about the run: all options, columns, transforms, labels."""
        return header_of(self._run.path)

    # ---- draws ----

    @functools.cached_property
    def draws(self) -> Draws:
        """Every kept draw: chains x draws x parameters; draws["age"] by name."""
        chains, draws, dim = self._shape
        out = np.empty((chains, draws, dim))
        for c in range(chains):
            pointer = lib.sgfs_draws_chain(self._handle, c)
            if draws * dim > 0:
                out[c] = np.ctypeslib.as_array(pointer, (draws, dim))
        named = out.view(Draws)
        named.names = self.names
        named.flags.writeable = False
        return named

    @functools.cached_property
    def effects(self) -> dict[str, _effects.Effects]:
        """Of a model with groups, by factor: what the groups are called, means and standard
        deviations of their effects, and the draws of them that the run keeps."""
        return _effects.effects_of(self._run.path, self._shape[0])

    def __getitem__(self, name: str) -> Any:
        return self.draws[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.names)

    def __len__(self) -> int:
        return len(self.names)

    # ---- what they say ----

    @functools.cached_property
    def report_json(self) -> Mapping[str, Any]:
        """All that a summary has: diagnostics, costs, warnings, parameters."""
        result: Mapping[str, Any] = run_job("sgfs_summary_open", self._handle,
                                            config=config_of((), {}))
        return result

    def summary(self, **options: Any) -> pandas.DataFrame:
        """Mean, spread, quantiles and diagnostics of each parameter, as a DataFrame of pandas.
        `summary_dict` is the same without pandas.

        The options are those of `sgfs summary`: interval=0.95 (or "hdi", or (0.95, "hdi")) has the
        columns low and high in place of the quantiles, odds=True the odds or rate ratio and its
        interval; params="city*" shows these rows only, and sort="effect", "name" or "r_hat" orders
        them."""
        import pandas

        return pandas.DataFrame.from_dict(self.summary_dict(**options), orient="index")

    def summary_dict(self, **options: Any) -> dict[str, dict[str, float]]:
        """The summary by name of the parameter."""
        report = self.report_json
        if options:
            report = run_job("sgfs_summary_open", self._handle,
                             config=config_of(("summary",), options))
        return {row["name"]: _numbers_of(row) for row in report["params"]}

    @property
    def trust(self) -> bool:
        """Did every check pass that decides whether the draws can be used?"""
        return bool(self.report_json["trust"])

    @property
    def verdict(self) -> str:
        """One sentence, which begins with "Trust" or "Do not trust"."""
        return printable(self.report_json["verdict"])

    @property
    def warnings(self) -> list[str]:
        """What a reader of the numbers should know."""
        return [printable(text) for text in self.report_json["warnings"]]

    def compare(self, other: Fit | PathLike, **options: Any) -> dict[str, Any]:
        """How far the draws are from a reference: another fit, a run file, or moments as JSON."""
        path = other._run.path if isinstance(other, Fit) else os.fspath(other)
        config = config_of(("run",), options)
        result: dict[str, Any] = run_job("sgfs_compare_open", self._handle, os.fsencode(path),
                                         config=config)
        return result

    def audit(self, data: Any = None, y: Any = None, *, progress: Progress = None,
              **options: Any) -> dict[str, Any]:
        """Measures what is left between an approximate sampler and the posterior. The rows are
        those of the run, from where they were; `data` where they have moved."""
        from ._sample import audit

        return audit(self, data, y, progress, options)

    # ---- predictions ----

    def predict(self, data: Any, *, kind: str = "mean",
                quantiles: Sequence[float] = (0.05, 0.5, 0.95), progress: Progress = None,
                **options: Any) -> Any:
        """What the draws say of new rows, averaged over draws.

        kind="mean" is the mean of the target, or an array of rows x labels with the probability of
        each; "interval" has the quantiles beside it, of the target itself (of a probability: over
        draws), rows x quantiles or rows x labels x quantiles; "draws" has every predictive draw,
        rows x draws or rows x labels x draws; "label" is the most probable label of each row;
        "scores" says how good the predictions are, where the rows have the target. The options are
        those of `sgfs predict`: interval=0.95 chooses the quantiles, new_words="zero" takes words
        that the run has not seen, and warns of them, and key="id", a column of a table or a CSV
        file, makes the answer a pair (keys, predictions), row by row.
        """
        return _predict.predict(self, data, kind, quantiles, progress, options)

    @functools.cached_property
    def labels(self) -> tuple[str, ...]:
        """The target's labels, in the order of predicted probabilities; () of a number."""
        return tuple(map(str, (self.header.get("model_info") or {}).get("labels") or ()))

    # ---- files ----

    def save(self, path: PathLike, *, overwrite: bool = False) -> None:
        """A copy of the run file, for `sgfs.open`, other programs and later."""
        target = Path(path)
        if target.exists() and not overwrite:
            raise UsageError(f"{target}: exists already; overwrite=True replaces it.")
        beside = target.with_name(target.name + ".part")
        shutil.copyfile(self._run.path, beside)
        os.replace(beside, target)

    def export(self, path: PathLike, *, overwrite: bool = False) -> None:
        """The draws in another format, which follows from the name: .nc, .csv, .stan.csv, .npy."""
        check("sgfs_draws_export", self._handle, os.fsencode(path), overwrite)

    def to_arviz(self) -> Any:
        """The draws for ArviZ: an InferenceData of 0.x, or a DataTree of 1.x. Parameters go by
        their names; a matrix of a network is one variable. The draws of the effects of groups that
        the run keeps are in the group `group_effects`."""
        import arviz  # type: ignore[import-untyped,unused-ignore]

        posterior = {}
        at = 0
        for block in self.header["blocks"]:
            rows, cols = block["rows"], block["cols"]
            some = self.draws.view(np.ndarray)[:, :, at:at + rows * cols]
            if rows > 1 and cols > 1:
                posterior[block["name"]] = some.reshape(*some.shape[:2], rows, cols)
            else:
                for j in range(rows * cols):
                    posterior[self.names[at + j]] = some[:, :, j]
            at += rows * cols
        kept = any(len(of.at) for of in self.effects.values())
        if int(arviz.__version__.split(".")[0]) >= 1:
            tree = arviz.from_dict({"posterior": posterior})
            if kept:
                import xarray

                tree["group_effects"] = xarray.DataTree(_effects.dataset_of(self.effects))
            return tree
        data = arviz.from_dict(posterior=posterior)
        if kept:
            data.add_groups({"group_effects": _effects.dataset_of(self.effects)}, warn_on_custom_groups=False)
        return data

    def plot(self, kind: str = "density", names: str | Sequence[str] | None = None) -> Any:
        """A figure of matplotlib: the draws of each chain as a "trace", a "density" of bars or
        their "rank"s among all, or a "forest" of intervals; of the first parameters, or of those
        that are named. A notebook shows it; `savefig` writes it to a file."""
        from . import _plot

        return _plot.plot(self, kind, names)

    def report(self, path: PathLike, *others: Fit, test_data: Any = None,
               params: str | Sequence[str] | None = None, interval: str | float | None = None,
               overwrite: bool = False, progress: Progress = None, **options: Any) -> None:
        """A page for a browser that needs no other file, as `sgfs report` writes it: the verdict, the
        parameters with pictures (`params` names them), and predictions of `test_data`, rows that were
        kept aside. Other fits stand beside this one. The options are those of `sgfs report`."""
        config = config_of(("report",), options)
        for key, value in (("summary.params", params), ("summary.interval", interval)):
            if value is not None:
                config.set(key, text_of(value))
        config.set("output.overwrite", "true" if overwrite else "false")
        runs = (ctypes.c_void_p * (1 + len(others)))(
            *(fit._handle.pointer for fit in (self, *others)))
        with contextlib.ExitStack() as stack:
            if test_data is not None:
                source = _inputs.source_of(test_data)
                config.set("report.data", stack.enter_context(source.file()))
            run_job("sgfs_report_open", runs, len(runs), None, os.fsencode(path), config=config,
                    progress=progress, keep=others)

    def __getstate__(self) -> dict[str, Any]:
        return {"run": Path(self._run.path).read_bytes()}

    def __setstate__(self, state: dict[str, Any]) -> None:
        run = RunFile(None)
        Path(run.path).write_bytes(state["run"])
        self.__init__(run)  # type: ignore[misc]

    # ---- shown ----

    def __repr__(self) -> str:
        return f"{printable(self.report_json['title'])}\n{self.verdict}"

    def _repr_html_(self) -> str:
        rows = list(self.summary_dict().items())
        head = "".join(f"<th>{name}</th>" for name in ("", *SHOWN))
        body = "".join(
            f"<tr><th style='text-align:left'>{html.escape(printable(name))}</th>" +
            "".join(f"<td>{row[column]:.4g}</td>" for column in SHOWN) + "</tr>"
            for name, row in rows[:30])
        more = f"<p>... and {len(rows) - 30} more parameters</p>" if len(rows) > 30 else ""
        colour = "#1a7f37" if self.trust else "#cf222e"
        return (f"<p>{html.escape(printable(self.report_json['title']))}<br>"
                f"<b style='color:{colour}'>{html.escape(self.verdict)}</b></p>"
                f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{more}")


def open_fit(path: PathLike) -> Fit:
    """A run that is there: `sgfs.open("fit.run")`."""
    return Fit(path)


