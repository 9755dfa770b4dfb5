# SPDX-License-Identifier: MIT
"""What every peer needs: its arguments, the rows, the effective sample size, and a line of JSON for each measurement.
Times are processor seconds of this process, which has one thread; compiling is not part of an iteration."""
import argparse
import json
import time

import numpy as np

now = time.process_time


def arguments(description):
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("data")
    parser.add_argument("--batch", type=int, default=500)
    parser.add_argument("--seconds", type=float, default=20, help="about so many for each method")
    parser.add_argument("--model", default="logistic", choices=["logistic", "mlp", "drbm"])
    parser.add_argument("--only-nuts", action="store_true")
    parser.add_argument("--sparse", action="store_true", help="the data are a libsvm file")
    parser.add_argument("--words", action="store_true", help="the data are a CSV file with columns of words")
    return parser.parse_args()


def rows(path):
    """X with a column of ones in front, and the target, which is the last column of a .npy file."""
    table = np.load(path)
    return np.column_stack([np.ones(len(table)), table[:, :-1]]), table[:, -1]


def say(what, value=None, unit="", **more):
    print(json.dumps({"what": what, "value": value, "unit": unit, **more}), flush=True)


def say_draws(name, seconds, draws):
    """Of `draws` (draws x parameters), made in `seconds`."""
    ess = least_ess(draws)
    say(f"{name}, a draw", 1e6 * seconds / len(draws), "us")
    say(f"{name}, an effective draw", 1e6 * seconds / ess, "us", tau=len(draws) / ess,
        **({"note": "of fewer than 50: a guess"} if ess < 50 else {}))


def least_ess(draws):
    """The effective sample size of the slowest parameter, by Geyer's initial monotone sequence."""
    draws = np.asarray(draws, float)
    n = len(draws)
    x = draws - draws.mean(0)
    spectrum = np.fft.rfft(x, 2 * n, axis=0)
    covariance = np.fft.irfft(spectrum * spectrum.conj(), 2 * n, axis=0)[:n] / n
    rho = covariance / np.where(covariance[0] > 0, covariance[0], np.nan)
    pairs = rho[:2 * (n // 2):2] + rho[1:2 * (n // 2):2]
    ess = []
    for j in range(x.shape[1]):
        column = pairs[:, j]
        negative = np.flatnonzero(~(column > 0))
        column = np.minimum.accumulate(column[:negative[0]] if len(negative) else column)
        ess.append(n / max(2 * column.sum() - 1, 1 / np.log10(n + 10)) if len(column) else n)
    return float(np.nanmin(ess))
