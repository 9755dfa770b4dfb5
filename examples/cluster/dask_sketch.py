# SPDX-License-Identifier: MIT
"""Draws from rows in many files, by Dask (steps.py has the steps):

    python dask_sketch.py fit.run part-*.csv -- logistic --target y --draws 2000

Workers need the program (SGFS names it) and see the same folder. A Client() of your own cluster works as well."""
import subprocess

from distributed import Client, LocalCluster
from steps import draw, words


def main():
    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster, Client(cluster) as client:
        draw(lambda commands: client.gather(client.map(subprocess.check_call, commands, pure=False)), *words())


if __name__ == "__main__":
    main()
