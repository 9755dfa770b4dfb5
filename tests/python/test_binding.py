# SPDX-License-Identifier: MIT
"""The declarations follow the header, options the library's table, errors its sentences."""
import concurrent.futures
import ctypes
import gc
import logging
import os
import subprocess
import sys
import weakref

import numpy as np
import pytest
from conftest import SOURCE


def rows(n=200):
    rng = np.random.default_rng(9)
    x = rng.normal(size=(n, 2))
    return x, x[:, 0] + rng.normal(size=n)


def test_every_struct_and_constant_is_compared_with_the_library(sgfs, monkeypatch):
    from sgfs import _c, _library

    names = {name for name, _ in _library.listed("layout")}
    assert names == set(_c.STRUCTS) | set(_c.CONSTANTS)
    monkeypatch.setitem(_c.STRUCTS, "sgfs_arrays", ctypes.c_int)
    with pytest.raises(ImportError, match="sgfs_arrays"):
        _library._compare_layout()


def test_options_come_from_the_table(sgfs):
    assert "prior_precision : text" in sgfs.sample.__doc__
    x, y = rows()
    fit = sgfs.sample("linear", x, y, chains=2, draws=100, ess=1, prior="laplace", seed=11)
    assert fit.draws.shape[:2] == (2, 100)
    assert fit.header["given"]["prior.kind"] == "laplace"


@pytest.mark.parametrize("wrong, near", [("chain", "chains"), ("prior_precison", "prior_precision")])
def test_a_misspelt_option_is_answered_with_the_nearest(sgfs, wrong, near):
    with pytest.raises(sgfs.UsageError, match=f"Did you mean {near}"):
        sgfs.sample("linear", *rows(), **{wrong: 2})


def test_errors_have_the_sentence_and_a_kind(sgfs, tmp_path):
    with pytest.raises(sgfs.UsageError, match="between"):
        sgfs.sample("linear", *rows(), chains=0)
    with pytest.raises(sgfs.FileError) as caught:
        sgfs.sample("linear", tmp_path / "none.csv")
    assert isinstance(caught.value, OSError) and caught.value.code == -5
    x, y = rows()
    x[3, 1] = np.inf
    with pytest.raises(sgfs.DataError, match="row 4"):
        sgfs.sample("linear", x, y)
    with pytest.raises(sgfs.UsageError, match="logistic"):
        sgfs.sample("logistik", *rows())
    with pytest.raises(sgfs.DataError, match="shape"):
        sgfs.sample("linear", x, y[:-1])


def test_notes_are_logged_and_warnings_warned(sgfs, caplog):
    x, y = rows()
    x = np.column_stack([x, np.ones(len(x))])
    with caplog.at_level(logging.INFO, "sgfs"), pytest.warns(sgfs.SgfsWarning, match="constant"):
        sgfs.sample("linear", x, y)


def test_progress_is_told_to_a_function(sgfs):
    seen = []
    sgfs.sample("linear", *rows(), sampler="nuts", draws=3000, ess=1,
                progress=lambda what, fraction, detail: seen.append((what, fraction)))
    assert seen and all(0 <= fraction <= 1 for _, fraction in seen)


def test_an_error_in_the_progress_function_ends_the_run(sgfs):
    def fail(what, fraction, detail):
        raise RuntimeError("no terminal")

    with pytest.raises(RuntimeError, match="no terminal"):
        sgfs.sample("linear", *rows(), sampler="nuts", draws=3000, ess=1, progress=fail)


INTERRUPT = """
import os, signal, sys, threading
import numpy as np
import sgfs
rng = np.random.default_rng(1)
x = rng.normal(size=(2000, 20)); y = x[:, 0] + rng.normal(size=2000)
def report(what, fraction, detail):
    if what == "sampling":
        os.kill(os.getpid(), signal.SIGINT)
import warnings; warnings.simplefilter("ignore")
fit = sgfs.sample("linear", x, y, sampler="sgld", draws=2000000, thin=1, ess=1, warmup=100, progress=report)
print(fit.report_json["state"], fit.draws.shape[1] > 0)
"""


def test_ctrl_c_returns_what_there_is(sgfs):
    environment = {**os.environ, "PYTHONPATH": str(SOURCE / "python")}
    done = subprocess.run([sys.executable, "-c", INTERRUPT], capture_output=True, text=True,
                          env=environment, timeout=300)
    assert done.stdout.strip() == "stopped early True", done.stderr


def test_threads_and_children_draw_the_same_numbers(sgfs):
    x, y = rows()
    seeds = (1, 2, 3)
    expected = [sgfs.sample("linear", x, y, seed=seed, sampler="nuts").draws for seed in seeds]

    def draw(seed):
        return sgfs.sample("linear", x, y, seed=seed, sampler="nuts").draws

    with concurrent.futures.ThreadPoolExecutor(3) as pool:
        assert all(map(np.array_equal, pool.map(draw, seeds), expected))
    fit = sgfs.sample("linear", x, y)
    child = os.fork()
    if child == 0:
        same = np.array_equal(draw(1), expected[0])
        del fit
        gc.collect()
        weakref.finalize._exitfunc()  # as at the end of a program
        os._exit(0 if same else 1)
    assert os.waitpid(child, 0)[1] == 0
    assert os.path.exists(fit._run.path), "the child took the parent's file with it"


def test_examples_in_docstrings(sgfs):
    import doctest

    from sgfs import _model, _sample

    for module in (_sample, _model):
        failed, tried = doctest.testmod(module)
        assert tried > 0 and failed == 0


CLIENT = """
import numpy as np
import sgfs

fit: sgfs.Fit = sgfs.sample("linear", np.ones((3, 1)), np.ones(3), chains=2)
trust: bool = fit.trust
table = fit.summary()
text: str = fit.verdict
names: tuple[str, ...] = fit.names
again = sgfs.open("fit.run")
"""


def test_types(sgfs, tmp_path):
    pytest.importorskip("mypy")
    (tmp_path / "client.py").write_text(CLIENT)
    environment = {**os.environ, "MYPYPATH": str(SOURCE / "python")}
    for what in ([str(tmp_path / "client.py")], ["-p", "sgfs"]):
        done = subprocess.run([sys.executable, "-m", "mypy", "--strict", "--cache-dir",
                               str(tmp_path / "cache"), *what], capture_output=True, text=True,
                              env=environment, cwd=tmp_path)
        assert done.returncode == 0, done.stdout
