# SPDX-License-Identifier: MIT
"""examples/cluster: what schedulers run, run for real on a few files. The draws agree with those of the rows. Spark and Slurm,
which take a minute or two to get going, run in the longer tier (SGFS_LONG)."""
import os
import shutil
import socket
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from cli_program import PROGRAM, Sgfs

CLUSTER = Path(__file__).resolve().parents[2] / "examples" / "cluster"


@pytest.fixture
def rows(tmp_path):
    """Four files of one table, and draws from all of it."""
    site = Sgfs(tmp_path, prior=None)
    site.ok("simulate", "logistic", "--rows", "4000", "--dim", "3", "--seed", "2", "--out", "all.csv", "-q")
    head, *lines = (tmp_path / "all.csv").read_text().splitlines()
    for k in range(4):
        (tmp_path / f"part-{k}.csv").write_text("\n".join([head, *lines[k::4]]) + "\n")
    site.ok("sample", "logistic", "--data", "all.csv", "--sampler", "exact-rows", "--draws", "2000", "--out", "rows.run",
            "-q")
    return site


def assert_agree(site):
    a, b = (site.draws(run).reshape(-1, 4) for run in ("fit.run", "rows.run"))
    # 8,000 draws each, of which at least 2,000 are worth independent ones: 5 Monte Carlo errors
    assert (np.abs(a.mean(0) - b.mean(0)) < 5 * b.std(0) * np.sqrt(2 / 2000)).all()
    assert (np.abs(a.std(0) / b.std(0) - 1) < 5 / np.sqrt(2000)).all()


def run(site, *words):
    done = subprocess.run(words, cwd=site.folder, env={**os.environ, "SGFS": PROGRAM, "MAKEFLAGS": ""},
                          capture_output=True, text=True, timeout=900)
    assert done.returncode == 0, done.stderr
    return done


def test_make(rows):
    words = ("make", "-j2", "-s", "-f", CLUSTER / "Makefile", "ROWS=part-*.csv", "FIRST=logistic --draws 2000")
    run(rows, *words)
    assert_agree(rows)
    # what was lost is made again, and nothing else
    (rows.folder / "part-2.csv.marks").unlink()
    (rows.folder / "fit.run").unlink()
    before = (rows.folder / "part-1.csv.marks").stat().st_mtime_ns
    run(rows, *words)
    assert (rows.folder / "part-1.csv.marks").stat().st_mtime_ns == before
    assert_agree(rows)


longer = pytest.mark.skipif("SGFS_LONG" not in os.environ, reason="in the longer tier")
FILES = [f"part-{k}.csv" for k in range(4)]


def test_dask(rows):
    pytest.importorskip("distributed")
    run(rows, sys.executable, CLUSTER / "dask_sketch.py", "fit.run", *FILES, "--", "logistic", "--draws", "2000")
    assert_agree(rows)


@longer
@pytest.mark.skipif(shutil.which("java") is None, reason="Spark needs a Java runtime (Debian: default-jre-headless)")
def test_spark(rows):
    pytest.importorskip("pyspark")
    run(rows, sys.executable, CLUSTER / "spark_sketch.py", "fit.run", *FILES, "--", "logistic", "--draws", "2000")
    assert_agree(rows)


SLURM_CONF = """ClusterName=test
SlurmctldHost={host}(127.0.0.1)
NodeName={host} NodeAddr=127.0.0.1 CPUs=2 State=UNKNOWN
PartitionName=all Nodes={host} Default=YES MaxTime=INFINITE State=UP OverSubscribe=FORCE:4
SlurmctldPort=26817
SlurmdPort=26818
AuthType=auth/none
CredType=cred/none
SlurmUser=root
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/ctld.pid
SlurmdPidFile={folder}/d.pid
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
MailProg=/bin/true
ReturnToService=2
"""


@pytest.fixture
def slurm(tmp_path_factory, monkeypatch):
    """A cluster of this machine alone, which trusts everybody on it."""
    if shutil.which("slurmctld") is None or os.geteuid() != 0:
        pytest.skip("Slurm needs its daemons (Debian: slurm-wlm), and root to start them")
    folder = tmp_path_factory.mktemp("slurm")
    (folder / "state").mkdir()
    (folder / "spool").mkdir()
    conf = folder / "slurm.conf"
    conf.write_text(SLURM_CONF.format(host=socket.gethostname().split(".")[0], folder=folder))
    monkeypatch.setenv("SLURM_CONF", str(conf))
    daemons = []
    for name in ("slurmctld", "slurmd"):
        with open(folder / f"{name}.log", "w") as log:
            daemons.append(subprocess.Popen([name, "-D", "-f", conf], stdout=log, stderr=log))
    try:
        until = time.monotonic() + 60
        while "idle" not in subprocess.run(["sinfo", "-h"], capture_output=True, text=True, check=False).stdout:
            if time.monotonic() > until:
                pytest.skip("Slurm does not start here: " + (folder / "slurmd.log").read_text()[-500:])
            time.sleep(0.5)
        yield folder
    finally:
        for daemon in daemons:
            daemon.terminate()
            daemon.wait()


@longer
def test_slurm(rows, slurm):
    words = (CLUSTER / "slurm_sketch.sh", "fit.run", "part-?.csv", "logistic", "--draws", "2000")
    run(rows, *words)
    assert_agree(rows)
    # what was lost is made again, and nothing else
    (rows.folder / "fit.run.marks-2").unlink()
    (rows.folder / "fit.run").unlink()
    before = (rows.folder / "fit.run.marks-1").stat().st_mtime_ns
    run(rows, *words)
    assert (rows.folder / "fit.run.marks-1").stat().st_mtime_ns == before
    assert_agree(rows)
