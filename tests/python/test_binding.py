# SPDX-License-Identifier: MIT
"""The declarations follow the header, options the library's table, errors its sentences."""
import concurrent.futures
import ctypes
import gc
import logging
import os
import pty
import signal
import subprocess
import sys
import threading
import time
import warnings
import weakref

import numpy as np
import pytest
from conftest import SOURCE


def rows(n=200):
    rng = np.random.default_rng(9)
    x = rng.normal(size=(n, 2))
    return x, x[:, 0] + rng.normal(size=n)


def test_idle_threads_wait_as_the_library_says(sgfs):
    """The package sets it before there is a library to ask."""
    from sgfs import _library
    bare = {k: v for k, v in os.environ.items() if k not in ("GOMP_SPINCOUNT", "OMP_WAIT_POLICY")}
    bare["PYTHONPATH"] = str(SOURCE / "python")
    say = "import os, sgfs; print(os.environ['GOMP_SPINCOUNT'])"
    told = subprocess.run([sys.executable, "-c", say], env=bare, capture_output=True, text=True, check=True).stdout
    assert told.strip() == dict(_library.listed("environment"))["GOMP_SPINCOUNT"]


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


def test_a_guessed_target_is_warned_of_unless_quiet(sgfs, people):
    table = {name: people[0][name] for name in ("age", "bought")}
    options = {"draws": 400, "seed": 1}
    with pytest.warns(sgfs.SgfsWarning, match=r'The target is "bought", .*\(target= names'):
        sgfs.sample("logistic", table, **options)
    for more in ({"quiet": True}, {"target": "bought"}):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            sgfs.sample("logistic", table, **options, **more)
        assert not [w for w in caught if "The target" in str(w.message)]


def test_a_misspelt_argument_is_answered_too(sgfs, people):
    people = people[0]
    with pytest.raises(sgfs.UsageError, match="no option quite. Did you mean quiet"):
        sgfs.sample("logistic", people, target="bought", quite=True)
    fit = sgfs.sample("logistic", people, target="bought", draws=20, ess=1, seed=1, quiet=True)
    with pytest.raises(sgfs.UsageError, match="no option quantile. Did you mean quantiles"):
        fit.predict(people, quantile=[0.1])
    with pytest.raises(sgfs.UsageError, match=r"no option zzz. help\(sgfs.Fit.predict\)"):
        fit.predict(people, zzz=1)


def test_a_model_is_looked_for_before_rows_are_read(sgfs):
    """Whose columns of dates would be refused first."""
    rows = {"when": ["2024-01-01", "2024-01-02"], "y": [0, 1]}
    with pytest.raises(sgfs.UsageError, match=r'Did you mean "logistic"\? sgfs.models\(\) shows all'):
        sgfs.sample("logistc", rows, target="y")


def test_sentences_name_keyword_arguments(sgfs):
    from sgfs._errors import in_python

    assert in_python("say --na drop, or --na mean.") == 'say na="drop", or na="mean".'
    assert in_python("(--target names another)") == "(target= names another)"
    assert in_python("--prior-precision 2 or --standardize") == "prior_precision=2 or standardize=True"
    assert in_python("leave it out with --drop paid,day.") == 'leave it out with drop="paid,day".'
    assert in_python("--date makes months of --date 'the day', or --drop leaves it out") \
        == 'date= makes months of date="the day", or drop= leaves it out'
    assert in_python("With these options they can be: --categorical auto --date 'a b' (--date makes months; or --na mean)") \
        == 'With these options they can be: categorical="auto" date="a b" (date= makes months; or na="mean")'
    assert in_python("/tmp/--na/x, --frobnicate 3 and --na-x") == "/tmp/--na/x, --frobnicate 3 and --na-x"
    with pytest.raises(sgfs.DataError, match='na="drop"') as caught:
        sgfs.sample("linear", {"x": [1.0, None, 2.0, 4.0], "y": [1.0, 2.0, 3.0, 5.0]}, target="y")
    assert "--" not in str(caught.value)


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


LONG = """
import threading, os, signal, sys, time, warnings
import numpy as np
import sgfs
warnings.simplefilter("ignore")
times, later = int(sys.argv[2]), float(sys.argv[3])
def press():
    time.sleep(float(sys.argv[1]))
    for _ in range(times):
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(later)
rng = np.random.default_rng(1)
x = rng.normal(size=(2000, 20)); y = x[:, 0] + rng.normal(size=2000)
def report(what, fraction, detail):
    if what == "sampling" and not begun.is_set():
        begun.set()
        thread.start()
        if times > 1:
            time.sleep(60)
begun, thread = threading.Event(), threading.Thread(target=press)
more = {"progress": report}
if sys.argv[4] == "bar":
    thread.start()
    more = {}
try:
    fit = sgfs.sample("linear", x, y, sampler="sgld", draws=3000000, thin=1, ess=1, warmup=100, **more)
    print(fit.report_json["state"], fit.draws.shape[1] > 0)
except KeyboardInterrupt:
    print("interrupted")
print(signal.getsignal(signal.SIGINT) is signal.default_int_handler)
"""


def pressed(after, times=1, how="function", later=0.5, **streams):
    environment = {**os.environ, "PYTHONPATH": str(SOURCE / "python")}
    streams = streams or {"stderr": subprocess.PIPE}
    done = subprocess.run([sys.executable, "-c", LONG, str(after), str(times), str(later), how],
                          stdout=subprocess.PIPE, text=True, env=environment, timeout=300, **streams)
    return done.stdout.split("\n")[:2], done.stderr or ""


@pytest.mark.parametrize("after", [0, 0.13, 0.31, 0.7])
def test_ctrl_c_while_c_is_at_work(after, sgfs):
    """Python's handler would raise in the first line of a callback, where nothing catches it."""
    said, errors = pressed(after)
    assert said == ["stopped early True", "True"], errors
    assert "ignored" not in errors


def test_ctrl_c_on_a_terminal(sgfs):
    ours, theirs = pty.openpty()
    reader = threading.Thread(target=lambda: drained(ours), daemon=True)
    reader.start()
    try:
        assert pressed(1, how="bar", stderr=theirs)[0] == ["stopped early True", "True"]
    finally:
        os.close(theirs)


def drained(terminal):
    try:
        while os.read(terminal, 4096):
            pass
    except OSError:  # the other end is closed
        os.close(terminal)


def test_a_second_ctrl_c_raises_at_once(sgfs):
    begin = time.monotonic()
    said, errors = pressed(0.2, times=2)
    assert said == ["interrupted", "True"], errors
    assert time.monotonic() - begin < 30  # the progress function sleeps for 60 s


def test_ctrl_c_in_a_thread_is_left_to_the_main_one(sgfs):
    from sgfs import _interrupt

    usual = signal.getsignal(signal.SIGINT)

    def work():
        with _interrupt.guarded() as guard:
            return signal.getsignal(signal.SIGINT) is usual, guard.count

    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        assert pool.submit(work).result() == (True, 0)


def test_a_handler_of_somebody_else_has_its_turn(sgfs):
    from sgfs import _interrupt

    seen = []
    usual = signal.signal(signal.SIGINT, lambda number, frame: seen.append(number))
    try:
        with _interrupt.guarded():
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(0)
            assert not seen
        assert seen == [signal.SIGINT]
    finally:
        signal.signal(signal.SIGINT, usual)


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
