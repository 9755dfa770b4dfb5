# SPDX-License-Identifier: MIT
"""Sketches: draws without the data, from one file or from the parts of several machines. Draws of marked rows have the
posterior's law (tests/stat/test_exact.c); here, that a sketch says the same posterior as the rows, however they are cut,
and that its files are refused where they do not belong together."""
import json
import zlib

import numpy as np
import pytest

from cli_program import Sgfs, write

USAGE, DATA, DAMAGED = 2, 3, 6
CUTS = (0, 700, 900, 2100, 3000)
MOVES = ("--chains", "4", "--warmup", "300", "--draws", "4000")


def make_rows(kind, seed=5):
    """3,000 rows: three columns of unlike scale, a weight, an exposure."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(3000, 3)) * (1, 10, 0.1) + (0, 5, 0)
    eta = 0.5 + x @ (0.8, -0.1, 3)
    if kind == "poisson":
        y = rng.poisson(np.exp(0.3 * eta))
    elif kind == "softmax":
        y = np.array(["blue", "green", "red"])[(rng.normal(size=3000) + eta > 0.5).astype(int) + (rng.random(3000) < 0.3)]
    else:
        y = np.where(rng.random(3000) < 1 / (1 + np.exp(-eta)), "yes", "no")
    return x, y, rng.integers(0, 4, 3000) / 2, rng.integers(1, 5, 3000)


def save(folder, name, rows, start, end):
    x, y, w, t = (column[start:end] for column in rows)
    write(folder / name, ["a,b,c,w,t,y"] + [",".join([*map(repr, map(float, r)), str(v), str(u), str(k)])
                                            for r, v, u, k in zip(x, w, t, y)])


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    program = Sgfs(tmp_path_factory.mktemp("sketch"), prior=None)
    for kind in ("logistic", "softmax", "poisson"):
        rows = make_rows(kind)
        save(program.folder, f"{kind}.csv", rows, 0, 3000)
        for k in range(4):
            save(program.folder, f"{kind}-{k}.csv", rows, CUTS[k], CUTS[k + 1])
    return program


def in_steps(site, model, stem, *words, parts=4, moves=MOVES):
    """All steps, as a scheduler would take them; how many passes it took. The marks are STEM.marks-*."""
    def each(step, *more):
        for k in range(parts):
            site.ok("sketch", *more, "--data", f"{model}-{k}.csv", "--out", f"{stem}.{step}-{k}", "-q")

    def merge(step, place, *more):
        names = [f"{stem}.{step}-{k}" for k in range(parts)]
        return json.loads(site.ok("sketch", "--merge", *names, "--out", place, "--json", *more).stdout)

    for k in range(parts):
        site.ok("sketch", model, *words, *moves, "--columns-only", "--data", f"{model}-{k}.csv",
                "--out", f"{stem}.columns-{k}", "-q")
    info = merge("columns", f"{stem}.place-0")
    for r in range(12):
        if info["done"]:
            each("marks", "--at", f"{stem}.place-{r}")
            return r
        each(f"pass-{r}", "--at", f"{stem}.place-{r}")
        info = merge(f"pass-{r}", f"{stem}.place-{r + 1}", "--at", f"{stem}.place-{r}")
    raise AssertionError("the search does not end")


def assert_same_law(site, run, other):
    """Means and spreads of two runs of independent chains agree within 5 Monte Carlo errors, of at least 2,000
    effective draws each."""
    a, b = (site.draws(name).reshape(-1, site.draws(name).shape[-1]) for name in (run, other))
    assert (np.abs(a.mean(0) - b.mean(0)) < 5 * b.std(0) * np.sqrt(2 / 2000)).all()
    assert (np.abs(a.std(0) / b.std(0) - 1) < 5 / np.sqrt(2000)).all()


@pytest.mark.parametrize("model, words", [
    ("logistic", ()), ("logistic", ("--weights", "w")), ("logistic", ("--prior", "student-t")),
    ("softmax", ("--standardize",)), ("poisson", ("--exposure", "t"))])
def test_parts_and_the_whole_say_the_same_posterior(site, model, words):
    words = ("--target", "y", "--features", "a,b,c", *words)
    stem = "-".join([model, *words]).replace(",", "").replace("-", "")
    passes = in_steps(site, model, stem, *words)
    assert 3 <= passes <= 8
    site.ok("sketch", model, "--data", f"{model}.csv", *words, *MOVES, "--out", f"{stem}.whole", "-q")
    site.ok("sample", "--sketch", f"{stem}.marks-*", "--seed", "2", "--out", "parts.run", "--overwrite", "-q")
    site.ok("sample", "--sketch", f"{stem}.whole", "--seed", "3", "--out", "whole.run", "--overwrite", "-q")
    site.ok("sample", model, "--data", f"{model}.csv", *words, *MOVES, "--seed", "4", "--sampler", "exact-rows",
            "--out", "rows.run", "--overwrite", "-q")
    assert_same_law(site, "parts.run", "rows.run")
    assert_same_law(site, "whole.run", "rows.run")


@pytest.fixture(scope="module")
def parts(site):
    in_steps(site, "logistic", "s", "--target", "y", "--features", "a,b,c")
    return site


def test_a_step_done_again_changes_nothing(parts):
    before = {p.name: (p.stat().st_mtime_ns, p.read_bytes()) for p in parts.folder.glob("s.*")}
    in_steps(parts, "logistic", "s", "--target", "y", "--features", "a,b,c")
    assert {p.name: (p.stat().st_mtime_ns, p.read_bytes()) for p in parts.folder.glob("s.*")} == before


def test_any_number_of_threads_gives_the_same_sketch(parts):
    for threads in ("1", "3"):
        parts.ok("sketch", "logistic", "--data", "logistic.csv", "--features", "a,b", "--threads", threads,
                 "--out", f"t{threads}.sketch", "-q")
    assert (parts.folder / "t1.sketch").read_bytes() == (parts.folder / "t3.sketch").read_bytes()


def test_marks_merged_are_one_sketch_with_the_same_draws(parts):
    parts.ok("sketch", "--merge", "s.marks-*", "--out", "s.merged", "-q")
    parts.ok("sample", "--sketch", "s.marks-*", "--out", "a.run", "--overwrite", "-q")
    parts.ok("sample", "--sketch", "s.merged", "--out", "b.run", "--overwrite", "-q")
    assert (parts.draws("a.run") == parts.draws("b.run")).all()


def test_predictions_and_resuming_need_no_more_than_a_run(parts):
    parts.ok("sample", "--sketch", "s.marks-*", "--draws", "500", "--out", "r.run", "--overwrite", "-q")
    first = parts.draws("r.run")
    done = parts("sample", "--resume", "r.run", "--draws", "900", "-q")
    assert done.returncode == 0, done.stderr
    assert (parts.draws("r.run")[:, :500] == first).all() and parts.draws("r.run").shape[1] == 900
    parts.ok("predict", "r.run", "--data", "logistic-1.csv", "--out", "p.csv", "--overwrite", "-q")


@pytest.mark.parametrize("files, code, says", [
    (("s.marks-0", "s.marks-1", "s.marks-3"), USAGE, ["logistic-2.csv", "missing"]),
    (("s.marks-0", "s.marks-1", "s.copy", "s.marks-2", "s.marks-3"), USAGE, ["s.marks-1", "s.copy", "twice"]),
    (("s.marks-0", "s.marks-1", "s.marks-2", "t.marks-3"), USAGE, ["t.marks-3", "another sketch"]),
    (("s.columns-0",), USAGE, ["s.columns-0", "columns"]),
    (("s.cut",), DAMAGED, ["s.cut", "damaged"]),
    (("s.bit",), DAMAGED, ["s.bit", "damaged"])])
def test_files_that_do_not_belong_together_are_named(parts, files, code, says):
    folder = parts.folder
    whole = (folder / "s.marks-1").read_bytes()
    (folder / "s.copy").write_bytes(whole)
    (folder / "s.cut").write_bytes(whole[:-9])
    (folder / "s.bit").write_bytes(whole[:len(whole) // 2] + b"~" + whole[len(whole) // 2 + 1:])
    if not (folder / "t.marks-3").exists():
        in_steps(parts, "logistic", "t", "--target", "y", "--features", "a,b,c", "--intercept")
    done = parts("sample", "--sketch", "\n".join(files), "--out", "x.run")
    assert done.returncode == code, done.stderr
    assert all(word in " ".join(done.stderr.split()) for word in says), done.stderr
    assert not (folder / "x.run").exists()


def refused(site, words, code, *says):
    done = site(*words)
    assert done.returncode == code, done.stderr
    assert all(word in " ".join(done.stderr.split()) for word in says), done.stderr


def test_rows_of_another_place_are_refused(parts):
    sketch = ("sketch", "--at", "s.place-0")
    refused(parts, (*sketch, "--data", "poisson-0.csv", "--out", "x"), DATA, "poisson-0.csv", "not the rows")
    refused(parts, (*sketch, "--merge", "s.pass-1-*", "--out", "x"), USAGE, "s.pass-1-0", "s.place-0")
    refused(parts, ("sketch", "--merge", "s.pass-0-*", "--out", "x"), USAGE, "--at")
    refused(parts, ("sketch", "--merge", "s.columns-0", "s.columns-0.again", "--out", "x"), 5)
    refused(parts, (*sketch, "logistic", "--data", "logistic-0.csv", "--out", "x"), USAGE, "leave out")
    refused(parts, ("sketch", "logistic", "--data", "logistic-0.csv", "--out", "s.pass-0-1"), USAGE, "exists")


def test_what_a_sketch_cannot_do_is_said(parts):
    refused(parts, ("sample", "logistic", "--data", "s.merged", "--sampler", "nuts"), USAGE, "exact-rows")
    refused(parts, ("sample", "poisson", "--data", "s.merged"), USAGE, "for model logistic")
    refused(parts, ("sample", "--sketch", "s.marks-*", "--draws", "5000"), USAGE, "4300 iterations")
    refused(parts, ("sample", "--sketch", "s.marks-*", "--ess", "500"), USAGE, "--ess")
    refused(parts, ("optimize", "logistic", "--data", "s.merged"), USAGE, "rows are elsewhere")
    refused(parts, ("check-grad", "logistic", "--data", "s.merged"), USAGE, "sketch")
    refused(parts, ("sketch", "logistic", "--data", "logistic-0.csv", "--columns-only", "--limit", "9", "--out", "x"),
            USAGE, "--limit")
    refused(parts, ("sketch", "linear", "--data", "logistic-0.csv", "--out", "x", "--target", "a", "--drop", "y"), USAGE,
            "no sketch")


def test_a_sketch_names_no_other_file(site):
    """It is drawn from where there is none, and may come from anybody."""
    write(site.folder / "prior.txt", ["1", "1", "1", "1"])
    done = site("sketch", "logistic", "--data", "logistic.csv", "--features", "a,b,c", "--prior-file", "prior.txt",
                "--out", "no.sketch")
    assert done.returncode == USAGE and "--prior-precision" in done.stderr and not (site.folder / "no.sketch").exists()
    site.ok("sketch", "logistic", "--data", "logistic.csv", "--features", "a,b,c", "--prior-precision", "a=2",
            "--draws", "200", "--out", "good.sketch", "-q")
    raw = (site.folder / "good.sketch").read_bytes()
    for key, value in (("prior.file", "prior.txt"), ("run.validate", "logistic.csv"), ("output.overwrite", "true")):
        length = int.from_bytes(raw[12:16], "little")
        head = json.loads(raw[16:16 + length])
        head["given"][key] = value
        text = json.dumps(head).encode()
        forged = raw[:12] + len(text).to_bytes(4, "little") + text + raw[16 + length:-4]
        (site.folder / "forged.sketch").write_bytes(forged + zlib.crc32(forged).to_bytes(4, "little"))
        done = site("sample", "--sketch", "forged.sketch", "--out", "x.run")
        assert done.returncode == DAMAGED and "damaged" in done.stderr, done.stderr


def test_marks_that_cannot_fit_are_refused_with_the_bytes(site):
    """10^11 moves: before, memory was taken until the system ended somebody's process."""
    done = site("sketch", "logistic", "--data", "logistic.csv", "--features", "a,b,c", "--draws", "10000000000",
                "--threads", "1", "--out", "no.sketch")
    assert done.returncode == 1 and "moves need " in done.stderr and "--draws" in done.stderr, done.stderr
    assert not (site.folder / "no.sketch").exists()
