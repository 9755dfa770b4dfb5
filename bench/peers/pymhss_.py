# SPDX-License-Identifier: MIT
"""pymhss, the package of Prado, Nemeth and Sherlock: RWM, Tuna, SMH-1, SMH-2 and MH-SS-1, MH-SS-2 with the settings of its
authors' scripts for d = 10 (vectorised; Tuna's for the nearest N). Effective draws a second of the slowest parameter; the
search of the mode and its covariance, by the package's own function, is counted. It has no prior."""
import contextlib
import io

import numpy as np

from peer import arguments, least_ess, now, rows, say

with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
    import PyMHSS as package

args = arguments(__doc__)
X, y = rows(args.data)
N = len(y)
np.random.seed(1)
TUNA = [(1000, 0.14, 1e-3), (3162, 0.08, 9e-4), (10_000, 0.04, 2e-3), (31_622, 0.025, 1e-3), (100_000, 0.015, 1e-3)]
_, kappa, chi = min(TUNA, key=lambda t: abs(np.log(t[0] / N)))
common = {"model": "logistic", "nburn": 0, "implementation": "vectorised"}
METHODS = {
    "RWM": lambda V, at, k: package.RWM(y, X, V, x0=at, npost=k, kappa=2.4, **common),
    "Tuna": lambda V, at, k: package.MH_SS(y, X, V, x0=at, npost=k, kappa=kappa, chi=chi, control_variates=False,
                                           phi_function="original", taylor_order=0, **common),
    "SMH-1": lambda V, at, k: package.SMH(y, X, V, x0=at, npost=k, kappa=1.4, bound="orig", taylor_order=1, **common),
    "SMH-2": lambda V, at, k: package.SMH(y, X, V, x0=at, npost=k, kappa=2, bound="orig", taylor_order=2, **common),
    "MH-SS-1": lambda V, at, k: package.MH_SS(y, X, V, x0=at, npost=k, kappa=1.5, taylor_order=1, **common),
    "MH-SS-2": lambda V, at, k: package.MH_SS(y, X, V, x0=at, npost=k, kappa=1.5, taylor_order=2, **common)}


def silently(function, *words):
    begin = now()
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        out = function(*words)
    return out, now() - begin


(mode, V), before = silently(package.get_theta_hat_and_var_cov_matrix, "logistic", X, y)
say("pymhss, mode", before, "s")
for name, method in METHODS.items():
    try:
        _, seconds = silently(method, V, mode, 200)
        count = 2 * int(np.clip(args.seconds / 8 / (seconds / 200), 200, 50_000) // 2)
        out, seconds = silently(method, V, mode, count)
        say(f"pymhss {name}: effective draws a second", least_ess(out["parameters"]) / (seconds + before), "/s")
    except Exception as reason:  # whatever the package has to say is the row
        say(f"pymhss {name}", note=f"failed: {type(reason).__name__}: {str(reason)[:100]}")
