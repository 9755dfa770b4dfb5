# SPDX-License-Identifier: MIT
"""sgfs: draws from Bayesian posteriors while touching only a minibatch of rows per draw.

    fit = sgfs.sample("logistic", df, target="converted")
    fit.summary()

Every number comes from the C library of the same name; see docs/python.md.
"""

from __future__ import annotations

from ._errors import (DataError, FileError, NumericalError, OutOfMemory, RunFileError, SgfsError,
                      SgfsWarning, Stopped, TrustWarning, UsageError)
from ._fit import Draws, Fit, open_fit
from ._library import listed, version
from ._model import Model
from ._sample import optimize, pack, rehearse, sample, simulate

open = open_fit
__version__ = version()


def models() -> dict[str, str]:
    """The models there are, with what they are for."""
    return dict(listed("models"))


def samplers() -> dict[str, str]:
    """The samplers there are."""
    return dict(listed("samplers"))


__all__ = ["DataError", "Draws", "FileError", "Fit", "Model", "NumericalError", "OutOfMemory",
           "RunFileError", "SgfsError", "SgfsWarning", "Stopped", "TrustWarning", "UsageError",
           "models", "open", "optimize", "pack", "rehearse", "sample", "samplers", "simulate"]
