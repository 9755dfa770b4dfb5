# SPDX-License-Identifier: MIT
"""MB of a CSV file of numbers that pandas (C reader) and polars read in a second, one thread, best of three."""
import os

os.environ.setdefault("POLARS_MAX_THREADS", "1")
import pandas
import polars

from peer import arguments, now, say

args = arguments(__doc__)
megabytes = os.path.getsize(args.data) / 1e6
for name, read in (("pandas", lambda: pandas.read_csv(args.data, header=None, engine="c")),
                   ("polars", lambda: polars.read_csv(args.data, has_header=False))):
    best = float("inf")
    for _ in range(3):
        begin = now()
        read()
        best = min(best, now() - begin)
    say(f"{name}, 1 thread, CPU time", megabytes / best, "MB/s")
