# SPDX-License-Identifier: MIT
"""Models in shared objects: `sgfs sample ./mymodel.so`. The example of docs/extending.md end to end
on data with outliers, files that are no models, and models that fail half way.

Estimates are compared with the truth at 5 posterior standard deviations: one false alarm in 1.7
million for each number, with a fixed seed."""
import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

BUILD, SOURCE = os.environ.get("SGFS_BUILD"), os.environ.get("SGFS_SOURCE")
COMPILER = shutil.which(os.environ.get("CC", "cc"))
TRUTH = {"intercept": 0.7, "a": -1.2, "b": 0.4}
NUMERIC, DATA, USAGE = 4, 3, 2

needs_compiler = pytest.mark.skipif(COMPILER is None, reason="no C compiler")


def example(name="student_t.so"):
    return Path(BUILD) / "examples" / name


def outliers(folder, rows=3000):
    """y = 0.7 - 1.2 a + 0.4 b + 0.3 t4, and one row in ten from somewhere else."""
    rng = np.random.default_rng(417)
    x = rng.normal(size=(rows, 2))
    y = TRUTH["intercept"] + x @ [TRUTH["a"], TRUTH["b"]] + 0.3 * rng.standard_t(4, rows)
    bad = rng.random(rows) < 0.1
    y[bad] = 20 * x[bad, 0] + 5 * rng.normal(size=bad.sum())
    np.savetxt(folder / "rows.csv", np.column_stack([x, y]), delimiter=",", header="a,b,y",
               comments="")


def summary(program, run):
    said = json.loads(program.ok("summary", run, "--json").stdout)
    return said, {row["name"]: row for row in said["params"]}


def compile_model(folder, name, body, table=".dim = dim, .scores = scores"):
    """A shared object in the test's folder from the text of a few callbacks."""
    text = f"""#include <math.h>
#include <stdlib.h>
#include "sgfs.h"
static int64_t dim(int64_t cols, void *user) {{ (void)user; return cols; }}
{body}
const sgfs_user_model sgfs_user_model_v1 = {{.size = sizeof(sgfs_user_model), {table}}};
"""
    (folder / f"{name}.c").write_text(text, encoding="utf-8")
    subprocess.run([COMPILER, "-std=c11", "-shared", "-fPIC", "-I", f"{SOURCE}/include", f"{name}.c",
                    "-o", f"{name}.so", "-lm"], cwd=folder, check=True)


# A Gaussian regression with sigma 1 whose call number FAIL_AT does what AT_LAST says.
GAUSSIAN = """
#include <stdatomic.h>
static atomic_int calls;
static int scores(const double *theta, const sgfs_rows *r, double *loglik, double *score,
                  void *user) {
    (void)user;
    for (int64_t i = 0; i < r->n; i++) {
        double off = r->y[i];
        for (int64_t j = 0; j < r->cols; j++) off -= r->x[i * r->cols + j] * theta[j];
        if (loglik) loglik[i] = -0.5 * off * off;
        for (int64_t j = 0; score && j < r->cols; j++)
            score[i * r->cols + j] = off * r->x[i * r->cols + j];
    }
    if (atomic_fetch_add(&calls, 1) >= FAIL_AT) { AT_LAST; }
    return 0;
}
static const char *message(int code, void *user) {
    (void)user;
    return code == 7 ? "the tank is empty" : NULL;
}
"""


def gaussian(at_last, fail_at=600):
    return f"#define FAIL_AT {fail_at}\n#define AT_LAST {at_last}" + GAUSSIAN


# ---- end to end ----------------------------------------------------------------------------------

@pytest.fixture(scope="module")
def robust(shared):
    outliers(shared.folder)
    shutil.copy(example(), shared.folder)
    shared.ok("sample", "./student_t.so", "--data", "rows.csv", "--seed", 7, "-q")
    return shared


def test_outliers_move_linear_but_not_the_example(robust):
    said, rows = summary(robust, "student_t.run")
    assert list(rows) == ["intercept", "a", "b", "log_sigma"]
    for name, truth in TRUTH.items():
        assert abs(rows[name]["mean"] - truth) < 5 * rows[name]["sd"], name
    assert said["title"].startswith("./student_t.so of y (rows.csv), 3000 rows, 4 parameters")
    robust.ok("sample", "linear", "--data", "rows.csv", "-q")
    linear = summary(robust, "linear.run")[1]["a"]
    assert abs(linear["mean"] - TRUTH["a"]) > 10 * linear["sd"]


def test_the_same_seed_gives_the_same_draws(robust):
    robust.ok("sample", "student_t.so", "--data", "rows.csv", "--seed", 7, "-q", "--threads", 1,
              "--out", "again.run")
    assert np.array_equal(robust.draws("student_t.run"), robust.draws("again.run"))


def test_the_run_file_says_which_file_it_was(robust):
    first = (robust.folder / "student_t.run").read_bytes()[:20000]
    assert b'"model":"./student_t.so"' in first.replace(b'": "', b'":"')


def test_optimize_and_tune_take_it(robust):
    done = robust.ok("optimize", "./student_t.so", "--data", "rows.csv")
    assert "Prior: N(0, 1) for every parameter" in done.stderr
    mode = done.stdout
    precise = robust.ok("optimize", "./student_t.so", "--data", "rows.csv", "--prior-precision", "2").stderr
    assert "Prior:" not in precise
    a = float(re.search(r"^a +(\S+)", mode, re.MULTILINE)[1])
    assert abs(a - TRUTH["a"]) < 0.05
    robust.ok("tune", "./student_t.so", "--data", "rows.csv", "--grid", "alpha=0,1", "--draws", 200,
              "--warmup", 200, "--folds", 2, "-q")
    assert (robust.folder / "student_t-tuned.json").is_file()


def test_standardised_columns_are_spoken_of(robust):
    done = robust.ok("sample", "./student_t.so", "--data", "rows.csv", "--standardize", "--out",
                     "standard.run", "--draws", 500)
    assert "sees the standardised columns, and its parameters are reported for them" in done.stderr


def test_callbacks_program_prints_the_truth():
    done = subprocess.run([example("student_t_callbacks")], capture_output=True, text=True,
                          check=True)
    rows = [line.split() for line in done.stdout.splitlines()]
    for (name, mean, _, sd), truth in zip(rows, (0.7, -1.2)):
        assert abs(float(mean) - truth) < 5 * float(sd), name
    assert len(rows) == 3


def test_list_and_help_tell_of_it(robust):
    assert "./FILE.so" in robust.ok("list", "models").stdout
    assert "./mymodel.so" in robust.ok("help", "sample").stdout


# ---- what is no model ----------------------------------------------------------------------------

def refused(sgfs, model, code, sentence, *words):
    done = sgfs("sample", model, "--data", "rows.csv", "--out", "fit.run", *words)
    assert done.returncode == code, done.stderr
    assert re.search(sentence, done.stderr), done.stderr
    assert done.stdout == "" and not (sgfs.folder / "fit.run").exists()


@pytest.mark.parametrize("model, sentence", [
    ("./none.so", r"\./none\.so: cannot be opened: No such file"),
    ("none.so", r"none\.so: cannot be opened: No such file"),
    ("./rows.csv", r"\./rows\.csv: is not a shared object that can be loaded here"),
    ("text.so", r"text\.so: is not a shared object that can be loaded here"),
    ("./", r"\./: is not a file, but a directory"),
])
def test_files_that_are_no_models(sgfs, model, sentence):
    outliers(sgfs.folder, 50)
    (sgfs.folder / "text.so").write_text("a model, honestly\n" * 40, encoding="utf-8")
    refused(sgfs, model, DATA, sentence)


def test_a_missing_model_is_noticed_before_the_data_are(sgfs):
    done = sgfs("sample", "./none.so", "--data", "none.csv")
    assert done.returncode == DATA and "none.so" in done.stderr


@needs_compiler
@pytest.mark.parametrize("table, body, sentence", [
    ("", "", r"no `dim`; `dim` and `scores` are needed"),
    (".dim = dim", "", r"no `scores`"),
    (".dim = none, .scores = scores", "static int64_t none(int64_t c, void *u) "
     "{ (void)u; return c - 3; }", r"`dim` of model \./bad\.so says 0 parameters for rows of 3 col"),
    (".dim = dim, .scores = scores, .size = 24", "", r"bad\.so: `size` of the .* is 24"),
    (".dim = dim, .scores = scores, .size = 4096", "", r"use the newer sgfs it was built for"),
    (".dim = dim, .scores = elsewhere", "int elsewhere(const double *theta, const sgfs_rows *r, "
     "double *loglik, double *score, void *user);", r"undefined symbol: elsewhere"),
])
def test_tables_that_are_no_models(sgfs, table, body, sentence):
    outliers(sgfs.folder, 50)
    compile_model(sgfs.folder, "bad", gaussian("") + body, table)
    refused(sgfs, "./bad.so", DATA, sentence)


@needs_compiler
def test_a_library_without_a_model(sgfs):
    outliers(sgfs.folder, 50)
    (sgfs.folder / "plain.c").write_text("int answer(void) { return 42; }\n", encoding="utf-8")
    subprocess.run([COMPILER, "-shared", "-fPIC", "plain.c", "-o", "plain.so"], cwd=sgfs.folder,
                   check=True)
    refused(sgfs, "plain.so", DATA, r"plain\.so: exports no `sgfs_user_model_v1`")


def test_a_target_of_texts_is_refused(sgfs):
    (sgfs.folder / "rows.csv").write_text("a,y\n" + "1,low\n2,high\n" * 20, encoding="utf-8")
    shutil.copy(example(), sgfs.folder)
    refused(sgfs, "./student_t.so", DATA, r'the target "y" is text, and model \./student_t\.so')


def test_what_it_has_no_use_for_is_refused(robust):
    done = robust("simulate", "./student_t.so", "--out", "made.csv")
    assert done.returncode == USAGE and "built-in models only" in done.stderr
    done = robust("sample", "./student_t.so", "--data", "rows.csv", "--sigma", "2", "--out", "x.run")
    assert done.returncode == USAGE and "--sigma has no meaning for model" in done.stderr


# ---- models that fail half way -------------------------------------------------------------------

@needs_compiler
@pytest.mark.parametrize("at_last, code, sentence", [
    ("return 7", DATA, r"`scores` of model \./bad\.so returned error 7 \(the tank is empty\)\. "
     r"Draws before it are kept\.$"),
    ("if (score) score[r->cols + 1] = NAN", NUMERIC,
     r'the score of "theta\[2\]" \(= \S+\) for row 2 of 12 \(y = \S+\) is nan\. Draws before'),
    ("if (loglik) loglik[3] = INFINITY", NUMERIC, r"the log density of row 4 of 12 .* is inf\."),
])
def test_a_model_that_fails_keeps_its_draws(sgfs, at_last, code, sentence):
    outliers(sgfs.folder, 50)
    compile_model(sgfs.folder, "bad", gaussian(at_last),
                  ".dim = dim, .scores = scores, .message = message")
    done = sgfs("sample", "./bad.so", "--data", "rows.csv", "--out", "fit.run", "--sampler", "sgld",
                "--epsilon", "1e-4", "--warmup", 100, "--draws", 1000, "--chains", 1)
    assert done.returncode == code, done.stderr
    assert re.search(sentence, done.stderr.strip()), done.stderr
    said, rows = summary(sgfs, "fit.run")
    assert said["draws"] == 500 and len(rows) == 3
    assert said["state"].startswith("failed: Chain 1 stopped at iteration 601")


@needs_compiler
def test_held_out_rows_that_cannot_be_scored(sgfs):
    outliers(sgfs.folder, 60)
    compile_model(sgfs.folder, "bad", gaussian("if (loglik && !score) return 3", 0))
    done = sgfs("tune", "./bad.so", "--data", "rows.csv", "--grid", "alpha=1", "--draws", 50,
                "--warmup", 50, "--folds", 2)
    assert done.returncode == DATA
    assert "Held-out rows cannot be scored: `scores` of model ./bad.so returned error 3." \
        in done.stderr


# ---- what users read -----------------------------------------------------------------------------

@pytest.mark.parametrize("name", ["student_t.c", "student_t_callbacks.c"])
def test_the_page_shows_the_example_as_it_is(name):
    page = (Path(SOURCE) / "docs" / "extending.md").read_text(encoding="utf-8")
    text = (Path(SOURCE) / "examples" / name).read_text(encoding="utf-8")
    assert f"```c\n{text}```" in page
    assert text.count("\n") < 80


@pytest.mark.skipif(shutil.which("c++") is None, reason="no C++ compiler")
def test_cplusplus_can_define_the_table(sgfs):
    (sgfs.folder / "model.cc").write_text("""#include "sgfs.h"
static int64_t dim(int64_t cols, void *) { return cols; }
static int scores(const double *, const sgfs_rows *, double *, double *, void *) { return 1; }
static sgfs_user_model table() {
    sgfs_user_model t = {};
    t.size = sizeof t;
    t.dim = dim;
    t.scores = scores;
    return t;
}
const sgfs_user_model sgfs_user_model_v1 = table();
""", encoding="utf-8")
    subprocess.run(["c++", "-std=c++11", "-Wall", "-Wextra", "-Werror", "-fvisibility=hidden",
                    "-shared", "-fPIC", "-I", f"{SOURCE}/include", "model.cc", "-o", "model.so"],
                   cwd=sgfs.folder, check=True)
    outliers(sgfs.folder, 50)
    done = sgfs("optimize", "./model.so", "--data", "rows.csv")
    assert done.returncode == DATA and "returned error 1" in done.stderr
