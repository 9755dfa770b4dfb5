# SPDX-License-Identifier: MIT
"""Where output goes: never into an input of the same command, and never under a descriptor that somebody closed."""
import os
import shutil

import numpy as np
import pytest

from cli_program import SHORT, lines, quarters, write

USAGE, IO = 2, 5


@pytest.fixture(scope="module")
def site(shared):
    x, y = quarters()
    for name in ("good.csv", "part-1.csv", "part-2.csv", "aside.csv"):
        write(shared.folder / name, lines(x, y))
    write(shared.folder / "precisions.txt", ["1", "1", "1"])
    write(shared.folder / "b.txt", ["1", "1", "1"])
    write(shared.folder / "start.txt", ["0", "0", "0"])
    (shared.folder / "options.json").write_text('{"run.seed": 4}\n')
    shared.ok("sample", "logistic", "--data", "good.csv", *SHORT, "--out", "fit.run", "-q")
    shared.ok("sample", "logistic", "--data", "good.csv", *SHORT, "--out", "fit_1.stan.csv", "-q")
    shared.ok("optimize", "logistic", "--data", "good.csv", "--out", "mode.json", "-q")
    shared.ok("sketch", "logistic", "--data", "good.csv", "--columns-only", "--out", "columns", "-q")
    shared.ok("sketch", "--merge", "columns", "--out", "place", "-q")
    shared.ok("sketch", "--at", "place", "--data", "good.csv", "--out", "pass", "-q")
    shared.ok("sketch", "logistic", "--data", "good.csv", "--out", "all.sketch", "-q")
    return shared


SAMPLE = ("sample", "logistic", "--data", "good.csv", *SHORT, "--out")
INPUTS = [
    ("good.csv", (*SAMPLE, "good.csv")),
    ("part-2.csv", ("sample", "logistic", "--data", "part-*.csv", *SHORT, "--out", "./part-2.csv")),
    ("part-2.csv", ("sample", "logistic", "--data", "part-1.csv", "part-2.csv", *SHORT, "--out", "../{}/part-2.csv")),
    ("aside.csv", (*SAMPLE, "aside.csv", "--validate", "aside.csv")),
    ("part-1.csv", (*SAMPLE, "part-1.csv", "--validate", "part-?.csv")),
    ("precisions.txt", (*SAMPLE, "precisions.txt", "--prior-file", "precisions.txt")),
    ("start.txt", (*SAMPLE, "start.txt", "--start", "start.txt")),
    ("mode.json", (*SAMPLE, "mode.json", "--start", "mode.json")),
    ("b.txt", (*SAMPLE, "b.txt", "--sampler", "sgfs-f", "--b-file", "b.txt")),
    ("options.json", (*SAMPLE, "options.json", "--config", "options.json")),
    ("fit.run", ("sample", "logistic", "--config", "fit.run", "--out", "fit.run")),
    ("good.csv", ("sample", "logistic", "--config", "fit.run", "--out", "good.csv")),
    ("good.csv", ("optimize", "logistic", "--data", "good.csv", "--out", "good.csv")),
    ("start.txt", ("optimize", "logistic", "--data", "good.csv", "--start", "start.txt", "--out", "start.txt")),
    ("mode.json", ("tune", "logistic", "--data", "good.csv", "--sampler", "sgld", "--by", "error", "--reference",
                   "mode.json", "--out", "mode.json", *SHORT)),
    ("good.csv", ("pack", "part-1.csv", "good.csv", "--out", "good.csv")),
    ("good.csv", ("predict", "fit.run", "--data", "good.csv", "--out", "good.csv")),
    ("fit.run", ("predict", "fit.run", "--data", "good.csv", "--out", "fit.run")),
    ("fit_1.stan.csv", ("export", "fit_1.stan.csv", "fit.stan.csv")),
    ("good.csv", ("sketch", "logistic", "--data", "good.csv", "--out", "good.csv")),
    ("part-2.csv", ("sketch", "logistic", "--data", "part-?.csv", "--out", "part-2.csv")),
    ("place", ("sketch", "--at", "place", "--data", "good.csv", "--out", "place")),
    ("pass", ("sketch", "--at", "place", "--merge", "pass", "--out", "pass")),
    ("columns", ("sketch", "--merge", "columns", "--out", "columns")),
    ("all.sketch", ("sample", "--sketch", "all.sketch", "--out", "all.sketch")),
    ("options.json", ("simulate", "linear", "--rows", "20", "--out", "new.csv", "--truth", "options.json",
                      "--config", "options.json")),
]


@pytest.mark.parametrize("link", ["", "symbolic", "hard"])
@pytest.mark.parametrize("name, words", INPUTS, ids=[f"{w[0]}-{n}-{i}" for i, (n, w) in enumerate(INPUTS)])
def test_overwrite_never_replaces_an_input(site, name, words, link):
    """The same under another name, which is a link: the output is what the command is told to write, last named."""
    file = site.folder / name
    before, words = file.read_bytes(), [w.format(site.folder.name) for w in words]
    if link:
        other = site.folder / f"link{file.suffix}"
        other.unlink(missing_ok=True)
        other.symlink_to(file) if link == "symbolic" else os.link(file, other)
        if words[0] == "export":
            pytest.skip("the names of several files follow from one")
        words[max(i for i, w in enumerate(words) if w in ("--out", "--truth")) + 1] = other.name
    done = site(*words, "--overwrite")
    assert done.returncode == USAGE, done.stderr
    assert "another name" in done.stderr and len(done.stderr.splitlines()) == 1
    assert file.read_bytes() == before
    assert not (site.folder / "new.csv").exists()


def test_the_shared_object_of_a_model_is_an_input(site):
    model = os.path.join(os.environ["SGFS_BUILD"], "examples", "student_t.so")
    shutil.copy(model, site.folder / "copy.so")
    done = site("sample", "./copy.so", "--data", "good.csv", *SHORT, "--out", "copy.so", "--overwrite")
    assert done.returncode == USAGE and "another name" in done.stderr
    assert (site.folder / "copy.so").read_bytes() == open(model, "rb").read()


def test_a_model_may_share_its_name_with_the_output(site):
    for _ in range(2):
        site.ok("sample", "logistic", "--data", "good.csv", *SHORT, "--out", "logistic", "--overwrite", "-q")


@pytest.mark.parametrize("closed", [(2,), (1,), (0,), (0, 1), (1, 2), (0, 1, 2)])
def test_a_closed_descriptor_is_not_the_run_file(site, closed):
    """What is said and shown is lost, and nothing else: before, messages went into the run file's header."""
    def close():
        for fd in closed:
            os.close(fd)
    name = "closed%s.run" % "".join(map(str, closed))
    done = site(*SAMPLE, name, preexec_fn=close, stdin=None, stdout=None, stderr=None)
    assert done.returncode == (IO if 1 in closed else 0)  # results that nobody can read are a failure
    if closed == (2,):
        first = site.draws(name)
        assert np.array_equal(first, site.draws("fit.run"))
    site.ok("summary", name)
    data = site("summary", "-", preexec_fn=close, stdin=None, stdout=None, stderr=None)
    assert data.returncode != 0


def test_rows_from_a_closed_standard_input_are_refused(site):
    done = site("sample", "logistic", "--data", "-", *SHORT, "--out", "none.run", stdin=None,
                preexec_fn=lambda: os.close(0))
    assert done.returncode == IO and "standard input" in done.stderr
    assert not (site.folder / "none.run").exists()
