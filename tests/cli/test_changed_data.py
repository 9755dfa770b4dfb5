# SPDX-License-Identifier: MIT
"""Data that change: under a run, which ends it, and between a run and those who open its data again."""
import os
import shutil
import time

import numpy as np
import pytest

from cli_program import lines, quarters, write

DATA, IO, COMPLETE = 3, 5, "complete"
FOREVER = ("--sampler", "sgfs-f", "--batch", "20", "--warmup", "100", "--draws", "1000000000", "--thin", "1000000",
           "--chains", "2", "--threads", "1", "--out", "fit.run", "-q")


@pytest.fixture
def site(sgfs):
    x, y = quarters(400)
    write(sgfs.folder / "rows.csv", lines(x, y))
    np.save(sgfs.folder / "rows.npy", np.column_stack([x, y]))
    sgfs.ok("pack", "rows.csv", "--target", "y", "--out", "rows.sgd", "-q")
    return sgfs


def other(folder, name):
    """The same file with two targets exchanged: rows, means and spreads stay."""
    x, y = quarters(400)
    i, j = np.flatnonzero(y == 0)[0], np.flatnonzero(y == 1)[0]
    y[i], y[j] = 1, 0
    if name == "rows.csv":
        write(folder / "other.csv", lines(x, y))
    else:
        np.save(folder / "other.npy", np.column_stack([x, y]))
    return folder / ("other" + name[-4:])


def under_way(sgfs, data):
    process = sgfs.start("sample", "logistic", "--data", data, *FOREVER)
    while not (sgfs.folder / "fit.run").exists():
        assert process.poll() is None, process.communicate()[1]
        time.sleep(0.01)
    return process


@pytest.mark.parametrize("how", ["written again", "replaced"])
@pytest.mark.parametrize("name", ["rows.csv", "rows.npy"])
def test_a_file_that_changes_under_a_run_ends_it(site, name, how):
    process = under_way(site, name)
    new = other(site.folder, name)
    if how == "replaced":
        os.replace(new, site.folder / name)
    else:
        with open(site.folder / name, "r+b") as f:
            f.write(new.read_bytes())
    _, err = process.communicate(timeout=20)
    assert process.returncode == IO, err
    assert name in err and "changed" in err
    assert COMPLETE not in site("summary", "fit.run").stdout


def test_a_run_whose_data_changed_goes_on_when_they_are_back(site):
    """What was drawn since the last look is not kept: no draw is of two posteriors."""
    words = ("sample", "logistic", "--data", "rows.npy", "--sampler", "sgfs-f", "--batch", "20", "--warmup", "100",
             "--draws", "1000000", "--thin", "50", "--chains", "2", "--threads", "1", "-q", "--checkpoint", "0.1", "--out")
    site.ok(*words, "whole.run")
    good = (site.folder / "rows.npy").read_bytes()
    changed = other(site.folder, "rows.npy").read_bytes()
    process = site.start(*words, "fit.run")
    while not (site.folder / "fit.run").exists():
        time.sleep(0.01)
    time.sleep(0.3)
    with open(site.folder / "rows.npy", "r+b") as f:
        f.write(changed)
    _, err = process.communicate(timeout=60)
    assert process.returncode == IO, err
    assert "To go on, when the data are as they were: sgfs sample --resume fit.run" in err
    assert site("sample", "--resume", "fit.run").returncode == 6  # they are still the others
    (site.folder / "rows.npy").write_bytes(good)
    site.ok("sample", "--resume", "fit.run", "-q")
    assert (site.draws("fit.run") == site.draws("whole.run")).all()


def test_a_packed_file_that_changes_under_a_run_ends_it(site):
    process = under_way(site, "rows.sgd")
    site.ok("pack", other(site.folder, "rows.csv").name, "--target", "y", "--out", "other.sgd", "-q")
    with open(site.folder / "rows.sgd", "r+b") as f:
        f.write((site.folder / "other.sgd").read_bytes())
    _, err = process.communicate(timeout=20)
    assert process.returncode == IO, err
    assert "rows.sgd" in err and "changed" in err


@pytest.mark.parametrize("name", ["rows.csv", "rows.npy", "rows.sgd"])
def test_a_file_that_is_touched_or_removed_changes_nothing(site, name):
    words = ("sample", "logistic", "--data", name, *FOREVER[:-1], "-q", "--max-time", "2.5", "--draws", "1000000000")
    process = site.start(*words)
    time.sleep(0.7)
    os.utime(site.folder / name)
    time.sleep(0.7)
    os.rename(site.folder / name, site.folder / "away")
    _, err = process.communicate(timeout=20)
    assert process.returncode == 75, err


@pytest.mark.parametrize("name", ["rows.csv", "rows.npy"])
def test_audit_compares_the_rows(site, name):
    site.sample("logistic", name, "--sampler", "sgfs-f")
    assert site("audit", "fit.run", "-q").returncode != DATA
    shutil.copy(other(site.folder, name), site.folder / name)
    done = site("audit", "fit.run", "-q")
    assert done.returncode == DATA and "checksum" in done.stderr, done.stderr


def test_a_part_is_of_the_rows_that_the_run_had(site):
    site.sample("logistic", "rows.csv", "--split", "0.5,0.25,0.25")
    site.ok("predict", "fit.run", "--data", "rows.csv", "--part", "test", "-q")
    new = other(site.folder, "rows.csv")
    done = site("predict", "fit.run", "--data", new.name, "--part", "test", "-q")
    assert done.returncode == DATA and "--part" in done.stderr, done.stderr
    site.ok("predict", "fit.run", "--data", new.name, "-q")  # new rows are what predict is for


@pytest.mark.parametrize("sampler, option", [("sgld", "--precondition-file"), ("gauss", "--gauss-mean"),
                                             ("sgfs-f", "--b-file")])
def test_a_run_does_not_go_on_with_another_matrix(site, sampler, option):
    """Every file that an option names is a part of the run."""
    numbers = site.folder / "numbers.txt"
    numbers.write_text("0.5\n" * 3)
    site.ok("sample", "logistic", "--data", "rows.csv", "--sampler", sampler, option, "numbers.txt", "--warmup", "100",
         "--draws", "200", "--out", "fit.run", "-q")
    numbers.write_text("0.5\n" * 2 + "0.6\n")
    result = site("sample", "--resume", "fit.run", "--draws", "400")
    assert result.returncode != 0 and "has changed since" in result.stderr, result.stderr
