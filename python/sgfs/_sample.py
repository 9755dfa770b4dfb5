# SPDX-License-Identifier: MIT
"""sgfs.sample: from rows and the name of a model to a fit."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Union


from . import _inputs, _options
from ._errors import SgfsError, Stopped, TrustWarning, UsageError, tidied
from ._fit import Fit, PathLike, RunFile
from ._interrupt import Guard, guarded
from ._jobs import run_job
from ._library import Config, Handle, check, lib, listed, opened, warn
from ._model import Model
from ._progress import Progress, watched

if TYPE_CHECKING:
    from ._inputs import Source


@dataclass
class Origin:
    """Where the draws of a fit came from, for whoever needs the rows again."""

    model: Union[str, Model]
    source: Source
    options: dict[str, Any]  # but for arrays, which are the source's

    def config(self, source: Source) -> Config:
        """The options, for these rows."""
        config = Config()
        _options.apply(config, _options.SAMPLE, {**source.options, **self.options},
                       ("out", "progress", "quiet", "names"))
        return config


def open_model(model: str | Model | PathLike, data: Handle, config: Config) -> Handle:
    if isinstance(model, Model):
        return model.open(data, config)
    return opened("sgfs_model_open", "sgfs_model_free", os.fsencode(model), data, config,
                  keep=(data,))


def check_model(model: Any) -> None:
    """Is there such a model? Rows that take minutes to read come later."""
    name = None if isinstance(model, Model) else os.fspath(model)
    if name is not None and "/" not in name and not name.endswith(".so") \
            and name not in dict(listed("models")):
        opened("sgfs_model_open", "sgfs_model_free", os.fsencode(name), None, Config())


def prepare(model: Any, data: Any, y: Any, options: dict[str, Any]) -> tuple[Origin, Config]:
    """The rows and all options, without any work on them."""
    check_model(model)
    options = dict(options)
    beside = {name: options.pop(name) for name in ("weights", "exposure")
              if options.get(name) is not None and not isinstance(options[name], (str, int))}
    names = options.pop("names", None)
    source = _inputs.source_of(data, y, beside, None if names is None else list(map(str, names)))
    if options.get("target") is not None and "target" in source.options:
        raise UsageError("The target is given twice: as y, and as a name.")
    if options.get("target") is not None and isinstance(source, (_inputs.Arrays, _inputs.OnGpu)):
        raise UsageError("target names a column of a table or a file; the target of an array is "
                         "given as y.")
    origin = Origin(model if isinstance(model, Model) else os.fspath(model), source, options)
    return origin, origin.config(source)


def sample(model: str | Model | PathLike, data: Any, y: Any = None, *,
           out: PathLike | None = None, progress: Progress = None, quiet: bool = False,
           **options: Any) -> Fit:
    """Draws from the posterior of a model given data.

    >>> import numpy as np, sgfs
    >>> rng = np.random.default_rng(1)
    >>> X = rng.normal(size=(1000, 2))
    >>> y = 1.5 + X @ [2.0, -1.0] + rng.normal(size=1000)
    >>> fit = sgfs.sample("linear", X, y, seed=7)
    >>> fit.trust
    True
    >>> [round(float(m), 1) for m in fit.draws.mean(axis=(0, 1))[:3]]
    [1.5, 2.0, -1.0]

    Parameters
    ----------
    model : the name of a model (`sgfs.models()`), a shared object (.so), or an `sgfs.Model`
    data : rows. An array of NumPy or a sparse matrix of SciPy holds the features, and y the target;
        float64 in C order is not copied, and must not change while the fit is in use. Arrays of
        torch, CuPy or JAX on a GPU stay there. A table
        (pandas, polars, Arrow, DuckDB, a dict of columns) has the target as one of its columns, or
        in y; columns of words become 0 and 1 for each word. A string, a path or a list of them
        names files, also by a pattern ("part-*.csv").
    y : the target, where it is not a column of data
    out : the run file to write; without it the draws are kept in a temporary one (`Fit.save`)
    progress : True, False, a function of (what, fraction, detail), or None: where somebody looks
    quiet : no progress unless that is asked for, and no notes, but warnings

    All other arguments are the options of `sgfs sample`, with their names. weights and exposure
    are the name of a column, or an array; names are those of an array's columns. Ctrl-C stops the
    run, and what was drawn until then is returned.
    """
    if options.get("dry_run"):
        raise UsageError("dry_run: sgfs.rehearse says what a run would do and need.")
    origin, config = prepare(model, data, y, options)
    config.quiet = quiet
    progress = False if quiet and progress is None else progress
    run_file = RunFile(out)
    try:
        bound = open_model(model, origin.source.open(config), config)
        run = opened("sgfs_run_open", "sgfs_run_free", bound, config, keep=(bound,))
        check("sgfs_run_attach", run, os.fsencode(run_file.path))
        with guarded() as guard:
            return _walk(run, config, run_file, origin, progress, guard)
    finally:
        config.tell()


def _walk(run: Handle, config: Config, run_file: RunFile, origin: Origin, progress: Progress,
          guard: Guard) -> Fit:
    """Runs to the end, closes the file whatever happened, and hands over what there is."""
    error: SgfsError | None = None
    with watched(config, progress) as watch:
        try:
            check("sgfs_run_all", run)
        except SgfsError as failed:
            error = failed
    try:
        check("sgfs_run_close", run)
    except SgfsError as failed:
        error = error if error is not None and not isinstance(error, Stopped) else failed
    run.close()
    try:
        fit: Fit | None = Fit(run_file, origin)
    except SgfsError:
        fit = None
    if fit is not None and fit._shape[1] == 0:
        fit = None
    raised = origin.model.take_error() if isinstance(origin.model, Model) else None
    if isinstance(raised, KeyboardInterrupt):  # Ctrl-C met a function of the model
        watch.error, error = raised, Stopped("The run was stopped.")
    elif raised is not None:
        error = error or SgfsError(str(raised))
        error.fit = fit
        raise error from raised
    watch.raise_unless_interrupt()
    if error is not None and not (isinstance(error, Stopped) and fit is not None):
        if watch.error is not None:
            raise KeyboardInterrupt from None
        error.fit = fit
        raise error
    assert fit is not None
    guard.answered = 1  # by the draws there are; a second Ctrl-C wants none
    if error is not None:
        warn(str(error), TrustWarning)
    elif not fit.trust:
        warn(fit.verdict, TrustWarning)
    return fit


sample.__doc__ = (sample.__doc__ or "") + "\n    Options\n    -------\n" + "\n".join(
    "    " + line for line in _options.document(_options.SAMPLE).splitlines())


def rehearse(model: str | Model | PathLike, data: Any, y: Any = None,
             **options: Any) -> dict[str, Any]:
    """What `sample` would do, and the memory and time it would take (`--dry-run`)."""
    origin, config = prepare(model, data, y, {**options, "dry_run": True})
    last: list[dict[str, Any]] = []
    try:
        bound = open_model(model, origin.source.open(config), config)
        run = opened("sgfs_run_open", "sgfs_run_free", bound, config, keep=(bound,))
        with watched(config, False, last):
            check("sgfs_run_all", run)
        report = last[0] if last else {}
        return {"run": tidied(lib.sgfs_run_describe(run).decode()),
                **{name: report.get(name) for name in ("bytes_needed", "bytes_available", "total",
                                                       "iterations_per_s", "seconds", "eta")}}
    finally:
        config.tell()


def audit(fit: Fit, data: Any, y: Any, progress: Progress, options: dict[str, Any]
          ) -> dict[str, Any]:
    config = Config()
    own = dict(_options.of(("audit",)))
    own.update((name, _options.of(("run",))[name]) for name in ("seed", "chains", "threads",
                                                                "max_time"))
    for name, value in options.items():
        if name not in own:
            raise _options.unknown(name, own)
        config.set(own[name].key, _options.text_of(value))
    path, origin = os.fsencode(fit._run.path), fit._origin
    source = origin.source if origin is not None else None
    if data is not None:
        source = _inputs.source_of(data, y)
    bound: Handle | None = None
    file: bytes | None = None
    if source is not None and origin is not None and (
            isinstance(origin.model, Model) or not isinstance(source, _inputs.Files)):
        opening = origin.config(source)
        bound = open_model(origin.model, source.open(opening), opening)
    elif isinstance(source, _inputs.Files):
        file = os.fsencode(source.name)
    elif source is not None:
        raise UsageError("A run that was opened from its file is audited with the file of its "
                         "rows, or with none, where the rows are where they were.")
    return dict(run_job("sgfs_audit_open", path, bound, file, config=config, progress=progress,
                        append=True))


def simulate(model: str, out: PathLike, truth: PathLike | None = None,
             **options: Any) -> dict[str, Any]:
    """Writes rows drawn from a model, with a known truth, to a .npy, .csv or .sgd file."""
    config = Config()
    _options.apply(config, ("simulate", "run"), options)
    return dict(run_job("sgfs_simulate_open", model.encode(), os.fsencode(out),
                        os.fsencode(truth) if truth is not None else None, config=config))


def pack(data: Any, out: PathLike, y: Any = None, *, progress: Progress = None,
         **options: Any) -> dict[str, Any]:
    """Rows of any kind in one packed file (.sgd), shuffled, for `sample` to read without loading
    them. Memory does not grow with the rows of a stream or a file."""
    source = _inputs.source_of(data, y)
    config = Config()
    given = source.options if isinstance(source, _inputs.Table) else {}
    _options.apply(config, ("pack", "data", "run"), {**given, **options})
    with source.file() as name:
        return dict(run_job("sgfs_pack_open", os.fsencode(name), os.fsencode(out), config=config,
                            progress=progress))


def optimize(model: str | Model | PathLike, data: Any, y: Any = None, *,
             progress: Progress = None, **options: Any) -> dict[str, Any]:
    """Where the posterior density is highest, and the Gaussian with its curvature there."""
    own = _options.of(("optimize",))
    mine = {name: options.pop(name) for name in list(options) if name in own}
    origin, config = prepare(model, data, y, options)
    _options.apply(config, ("optimize",), mine)
    bound = open_model(model, origin.source.open(config), config)
    return dict(run_job("sgfs_optimize_open", bound, config=config, progress=progress))


