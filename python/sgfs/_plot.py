# SPDX-License-Identifier: MIT
"""Pictures of draws, by matplotlib. They show draws as they are, in lines, bars and intervals;
what needs more than that is for ArviZ (`Fit.to_arviz`)."""

from __future__ import annotations

import difflib
import io
from typing import TYPE_CHECKING, Any, Callable, Sequence

import numpy as np

from ._errors import UsageError

if TYPE_CHECKING:
    from ._fit import Fit

MOST = 12  # parameters in one picture, unless they are named


def _trace(axes: Any, chains: Any) -> None:
    for chain in chains:
        axes.plot(chain, linewidth=0.5, alpha=0.8)
    axes.set_xlabel("draw")


def _density(axes: Any, chains: Any) -> None:
    """A bar has the share of draws in it: nothing is smoothed."""
    edges = np.histogram_bin_edges(chains, bins=min(60, max(10, round(chains.size ** 0.4))))
    for chain in chains:
        axes.hist(chain, bins=edges, density=True, histtype="step")
    axes.set_yticks([])


def _rank(axes: Any, chains: Any) -> None:
    """How the ranks of each chain's draws among all are spread: evenly, where chains agree."""
    ranks = np.empty(chains.size)
    ranks[np.argsort(chains, axis=None, kind="stable")] = np.arange(chains.size)
    bins = 20
    for chain in ranks.reshape(chains.shape):
        counts, edges = np.histogram(chain, bins=bins, range=(0, chains.size))
        axes.stairs(counts, edges)
    axes.axhline(chains.shape[1] / bins, color="black", linewidth=0.5, linestyle=":")
    axes.set_xlabel("rank")
    axes.set_ylim(bottom=0)


KINDS: dict[str, Callable[[Any, Any], None]] = {"trace": _trace, "density": _density,
                                                "rank": _rank}


def _forest(fit: Fit, names: Sequence[str], axes: Any) -> None:
    """Mean and the interval from the 5 to the 95 % quantile of each parameter, by the summary."""
    table = fit.summary_dict()
    at = np.arange(len(names))[::-1]
    axes.hlines(at, [table[name]["q5"] for name in names], [table[name]["q95"] for name in names])
    axes.plot([table[name]["mean"] for name in names], at, "o")
    axes.axvline(0, color="black", linewidth=0.5, linestyle=":")
    axes.set_yticks(at, names)
    axes.set_xlabel("mean, 5 % and 95 %")


def plot(fit: Fit, kind: str, names: str | Sequence[str] | None) -> Any:
    if kind != "forest" and kind not in KINDS:
        raise UsageError(f"kind is one of {', '.join(KINDS)}, forest, not {kind!r}.")
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise UsageError("Pictures need matplotlib: pip install matplotlib") from None

    class Picture(Figure):
        """A figure that notebooks show, without pyplot, which would keep it for ever."""

        def _repr_png_(self) -> bytes:
            stream = io.BytesIO()
            self.savefig(stream, format="png")
            return stream.getvalue()

    names = [names] if isinstance(names, str) else names
    for name in names or ():
        if name not in fit.names:
            near = difflib.get_close_matches(name, fit.names, 1, 0.4)
            raise UsageError(f"There is no parameter {name!r}."
                             + (f" Did you mean {near[0]!r}?" if near else ""))
    shown = list(names or fit.names[:MOST])
    left = 0 if names else len(fit.names) - len(shown)
    trust = "" if fit.trust else "Do not trust these draws yet. "
    title = trust + (f"{left} more parameters are not shown; names= chooses." if left else "")
    figure = Picture(layout="constrained")
    if kind == "forest":
        figure.set_size_inches(6, 1 + 0.3 * len(shown))
        _forest(fit, shown, figure.subplots())
    else:
        columns = min(3, len(shown))
        rows = -(-len(shown) // columns)
        figure.set_size_inches(3.2 * columns, 2.2 * rows)
        grid = figure.subplots(rows, columns, squeeze=False).ravel()
        for axes in grid[len(shown):]:
            axes.remove()
        for axes, name in zip(grid, shown):
            KINDS[kind](axes, np.asarray(fit[name]))
            axes.set_title(name, fontsize="medium")
    if title:
        figure.suptitle(title, fontsize="medium", color="#cf222e" if trust else "black")
    return figure
