# SPDX-License-Identifier: MIT
"""Draws from rows in many files, by Spark (steps.py has the steps):

    spark-submit --py-files steps.py spark_sketch.py fit.run part-*.csv -- logistic --target y --draws 2000
    python spark_sketch.py ...                   # local mode, unless SPARK_MASTER names a cluster

Executors need the program (SGFS names it) and see the same folder. A step is a task for each part; Spark may run one
twice, or again on another machine, which changes nothing."""
import os
import subprocess

from pyspark.sql import SparkSession
from steps import draw, words


def main():
    builder = SparkSession.builder.appName("sgfs sketch").config("spark.ui.enabled", "false")
    spark = builder.master(os.environ.get("SPARK_MASTER", "local[2]")).getOrCreate()

    def each(commands):
        spark.sparkContext.parallelize(commands, len(commands)).foreach(subprocess.check_call)

    try:
        draw(each, *words())
    finally:
        spark.stop()


if __name__ == "__main__":
    main()
