# SPDX-License-Identifier: MIT
"""softmax and poisson as a user meets them: labels of any kind, names of parameters in every output, data
simulated from each model and compared with their truth, and what is said where something is wrong."""
import csv
import json

import numpy as np
import pytest

from cli_program import SHORT, lines, quarters, write

USAGE, DATA, NUMERIC = 2, 3, 4
WORDS = {0: "yes", 1: "no"}


@pytest.fixture(scope="module")
def site(shared):
    x, y = quarters(300)
    write(shared.folder / "two.csv", lines(x, y))
    write(shared.folder / "signs.csv", lines(x, 2 * y - 1))
    write(shared.folder / "words.csv", lines(x, [WORDS[v] for v in y]))
    rng = np.random.default_rng(717)
    three = np.where(rng.random(300) < 0.3, 2, y)
    write(shared.folder / "three.csv", lines(x, three))
    write(shared.folder / "far.csv", lines(x, np.array([-7.5, 1e6, 300])[three]))
    write(shared.folder / "trees.csv", lines(x, np.array(["oak", "ash", "\"fir, old\""])[three]))
    write(shared.folder / "counts.csv", lines(x, rng.poisson(np.exp(0.4 + 0.5 * x[:, 0]))))
    return shared


def optimize(sgfs, model, data, *words):
    return json.loads(sgfs.ok("optimize", model, "--data", data, "--json", *words).stdout)


# ---- labels --------------------------------------------------------------------------------------

def test_two_labels_of_any_kind_and_a_reference(site):
    """The labels are in the order of numbers or of the alphabet ("no" before "yes"); the posterior is that
    of logistic regression, with the sign of the label that is not the reference."""
    truth = np.array(optimize(site, "logistic", "two.csv")["mean"])
    for data, reference, sign, other in (("two.csv", "0", 1, "1"), ("two.csv", "1", -1, "0"), ("signs.csv", "-1", 1, "1"),
                                         ("words.csv", "yes", 1, "no"), ("words.csv", "no", -1, "yes")):
        got = optimize(site, "softmax", data, "--reference-class", reference)
        assert got["names"] == [f"{other}: intercept", f"{other}: a", f"{other}: b"]
        np.testing.assert_allclose(sign * np.array(got["mean"]), truth, rtol=0, atol=1e-9)


def test_two_classes_treated_alike_have_half_the_precision(site):
    truth = optimize(site, "logistic", "words.csv", "--prior-precision", "0.5")
    got = optimize(site, "softmax", "words.csv", "--prior-precision", "1", "--reference-class", "none")
    mean, cov = np.array(got["mean"]), np.array(got["cov"])
    assert got["names"][:3] == ["no: intercept", "no: a", "no: b"]
    # logistic takes "yes", the second of the alphabet, as 1
    np.testing.assert_allclose(mean[3:] - mean[:3], truth["mean"], atol=1e-7)
    both = np.hstack([-np.eye(3), np.eye(3)])
    np.testing.assert_allclose(both @ cov @ both.T, truth["cov"], rtol=1e-6)


def test_three_labels_of_any_kind(site):
    alike = ("--reference-class", "none")
    plain = optimize(site, "softmax", "three.csv", *alike)
    assert plain["names"] == [f"{k}: {c}" for k in "012" for c in ("intercept", "a", "b")]
    far = optimize(site, "softmax", "far.csv", *alike)
    assert far["names"][::3] == ["-7.5: intercept", "300: intercept", "1000000: intercept"]
    trees = optimize(site, "softmax", "trees.csv", *alike)
    assert trees["names"][::3] == ["ash: intercept", "fir, old: intercept", "oak: intercept"]
    mean = np.array(plain["mean"]).reshape(3, 3)
    np.testing.assert_allclose(np.array(far["mean"]).reshape(3, 3)[[0, 2, 1]], mean, atol=1e-9)
    np.testing.assert_allclose(np.array(trees["mean"]).reshape(3, 3)[[2, 0, 1]], mean, atol=1e-9)


def test_names_survive_every_output(site):
    """Colons, commas and blanks in the names of parameters."""
    names = [f"{k}: {c}" for k in ("ash", "fir, old", "oak") for c in ("intercept", "a", "b")]
    draws = site.sample("softmax", "trees.csv", "--reference-class", "none", out="trees.run")
    assert draws.shape == (2, 80, 9)
    shown = json.loads(site.ok("summary", "trees.run", "--json").stdout)
    assert [r["name"] for r in shown["params"]] == names
    site.ok("export", "trees.run", "trees_out.csv", "--overwrite", "-q")
    with open(site.folder / "trees_out.csv", newline="") as f:
        table = list(csv.reader(f))
    assert table[0][-9:] == names
    np.testing.assert_allclose(np.array(table[1:], float)[:, -9:].reshape(2, 80, 9), draws, rtol=1e-12)
    site.ok("export", "trees.run", "trees.stan.csv", "--overwrite", "-q")
    head = [line for line in (site.folder / "trees_1.stan.csv").read_text().splitlines() if line[0] != "#"][0]
    # a matrix of Stan's: down the columns first
    assert head.split(",")[-9:] == [f"beta.{r}.{c}" for c in (1, 2, 3) for r in (1, 2, 3)]
    site.ok("export", "trees.run", "trees.nc", "--overwrite", "-q")
    done = site("compare", "trees.run", "--reference", "trees.run")
    assert done.returncode in (0, 1) and "fir, old: a" in done.stdout, done.stderr


def test_standardized_draws_are_for_the_columns_as_they_are(site):
    """A mode with hardly any prior is the same whichever scale it is found on."""
    for model, data, words in (("softmax", "three.csv", ("--reference-class", "1")), ("poisson", "counts.csv", ())):
        plain = optimize(site, model, data, "--prior-precision", "1e-8", *words)
        other = optimize(site, model, data, "--prior-precision", "1e-8", "--standardize", *words)
        np.testing.assert_allclose(other["mean"], plain["mean"], atol=1e-6)


# ---- simulated data ------------------------------------------------------------------------------

@pytest.mark.parametrize("model,words", [("softmax", ("--classes", "4")), ("softmax", ("--classes", "3", "--reference-class", "2")),
                                         ("poisson", ())])
def test_simulated_data_agree_with_their_truth(site, model, words):
    site.ok("simulate", model, "--rows", "4000", "--dim", "3", *words, "--out", "s.npy", "--truth", "t.json",
            "--overwrite", "-q")
    truth = json.loads((site.folder / "t.json").read_text())
    reference = ("--reference-class", "2") if "--reference-class" in words else ()
    site.ok("sample", model, "--data", "s.npy", *reference, "--threads", "1", "--out", "s.run", "--overwrite", "-q")
    shown = site.ok("compare", "s.run", "--reference", "t.json").stdout
    assert "agrees with the reference" in shown
    assert len(truth["theta"]) == len(truth["mean"]) == {"poisson": 4}.get(model, 12 if not reference else 8)
    gap = (np.array(truth["theta"]) - truth["mean"]) / np.sqrt(np.diag(truth["cov"]))
    assert np.abs(gap).max() < 4.5  # what made the data is where the posterior is
    labels = np.unique(np.load(site.folder / "s.npy")[:, -1])
    if model == "softmax":
        assert labels.tolist() == list(range(int(words[1])))


def test_logistic_has_two_classes_however_many_are_asked_for(site):
    site.ok("simulate", "logistic", "--rows", "200", "--dim", "2", "--classes", "5", "--out", "l.npy", "--overwrite", "-q")
    assert np.unique(np.load(site.folder / "l.npy")[:, -1]).tolist() == [0, 1]


def test_a_truth_without_moments_is_refused_with_a_sentence(site):
    site.sample("poisson", "counts.csv", out="c.run")
    (site.folder / "theta.json").write_text(json.dumps({"names": ["intercept", "a", "b"], "theta": [0, 1, 2]}))
    done = site("compare", "c.run", "--reference", "theta.json")
    assert done.returncode == DATA and "many modes" in done.stderr and "another run" in done.stderr


# ---- what is said --------------------------------------------------------------------------------

BAD = {
    "negative": (["a,y", "0.5,1", "0.25,-2", "1,0"], "poisson", DATA, ["row 2", "\"y\"", "is -2", "counts"]),
    "fraction": (["a,y", "0.5,1", "0.25,2", "1,0.5"], "poisson", DATA, ["row 3", "is 0.5", "--exposure"]),
    "text": (["a,y", "0.5,one", "0.25,two", "1,one"], "poisson", DATA, ["bad.csv:2", "text", "\"one\"", "counts"]),
    "one class": (["a,y", "0.5,7", "0.25,7", "1,7"], "softmax", DATA, ["every row", "is 7", "two classes"]),
    "three for logistic": (["a,y", "0.5,1", "0.25,2", "1,3"], "logistic", DATA, ["more than two", "softmax takes more"]),
}


@pytest.mark.parametrize("case", BAD)
def test_targets_that_do_not_fit(site, case):
    text, model, code, words = BAD[case]
    write(site.folder / "bad.csv", text)
    done = site("optimize", model, "--data", "bad.csv")
    assert done.returncode == code
    for word in words:
        assert word in done.stderr, done.stderr


def test_too_many_labels(site):
    write(site.folder / "many.csv", ["a,y", *(f"{i % 7},{i}" for i in range(1500))])
    done = site("optimize", "softmax", "--data", "many.csv")
    assert done.returncode == DATA and "more than 1000 values" in done.stderr and "--target" in done.stderr


def test_reference_mistakes(site):
    done = site("optimize", "softmax", "--data", "words.csv", "--reference-class", "maybe")
    assert done.returncode == USAGE and "--reference-class maybe" in done.stderr and 'it has "no", "yes"' in done.stderr
    assert "did you mean" not in done.stderr
    done = site("optimize", "softmax", "--data", "words.csv", "--reference-class", "yess")
    assert done.returncode == USAGE and 'did you mean "yes"?' in done.stderr
    done = site("optimize", "logistic", "--data", "two.csv", "--reference-class", "1")
    assert done.returncode == USAGE and "no meaning for model logistic" in done.stderr
    done = site("simulate", "poisson", "--reference-class", "1", "--out", "x.npy")
    assert done.returncode == USAGE and "no meaning for model poisson" in done.stderr
    assert not (site.folder / "x.npy").exists()


def test_a_flat_prior_is_warned_of_unless_there_is_a_reference(site):
    done = site("sample", "softmax", "--data", "three.csv", "--prior-precision", "0", "--reference-class", "none", *SHORT,
                "--out", "flat.run", "--overwrite")
    assert "one number added" in done.stderr and "--reference-class 0" in done.stderr
    done = site("optimize", "softmax", "--data", "three.csv", "--prior", "flat", "--reference-class", "none")
    assert done.returncode == NUMERIC and "one number added" in done.stderr and "singular" in done.stderr
    done = site.ok("optimize", "softmax", "--data", "three.csv", "--prior", "flat")  # the first label is the reference
    assert "one number added" not in done.stderr


def test_classes_that_no_row_has(site):
    done = site("simulate", "softmax", "--rows", "6", "--dim", "1", "--classes", "40", "--out", "few.npy", "--truth", "few.json",
                "--overwrite")
    assert done.returncode == DATA and "of 40 classes appear in 6 rows" in done.stderr


def test_a_name_that_would_appear_twice(site):
    """"a: b" and "c", or "a" and "b: c"? Refused, not guessed."""
    write(site.folder / "twice.csv", ["c,b: c,y", "1,0.5,a: b", "2,0.25,a", "0.3,1,a", "0.2,4,a: b"])
    done = site("optimize", "softmax", "--data", "twice.csv", "--reference-class", "none")
    assert done.returncode == DATA and "a: b: c" in done.stderr and "rename" in done.stderr


def test_held_out_rows_know_their_label_by_its_text(site):
    """"zeta" comes first in the file and last in the alphabet: held-out rows, and the rows a first look at the
    data takes, have labels by text, not by the order they happen to appear in."""
    rng = np.random.default_rng(9)
    x = np.round(rng.normal(size=600), 3)
    label = np.array(["alpha", "mu", "zeta"])[np.clip(np.round(x + 1 + 0.1 * rng.normal(size=600)), 0, 2).astype(int)]
    order = np.argsort(label)[::-1]
    write(site.folder / "greek.csv", ["x,y"] + [f"{x[i]},{label[i]}" for i in order])
    done = site.ok("tune", "softmax", "--data", "greek.csv", "--grid", "alpha=1", "--draws", "400", "--warmup", "200",
                   "--folds", "2", "--prior-precision", "0.1", "--json", "-q")
    assert json.loads(done.stdout)["rows"][0]["error"] < 0.25


def test_predictions_refuse_what_a_model_does_not_allow(site):
    site.sample("poisson", "counts.csv", out="c.run")
    for bad in ("-3", "2.5", "-3000000000"):
        write(site.folder / "bad.csv", ["a,b,y", "0.5,0.25,2", f"0.25,0.5,{bad}"])
        done = site("predict", "c.run", "--data", "bad.csv")
        assert done.returncode == DATA and "bad.csv:3" in done.stderr and "poisson does not allow" in done.stderr
        assert site("predict", "c.run", "--data", "bad.csv", "--target", "none").returncode == 0
    write(site.folder / "bare.csv", ["0.5,0.25,2", "0.25,0.5,1"])
    done = site("predict", "c.run", "--data", "bare.csv")
    assert done.returncode == DATA and "without names" in done.stderr
    done = site("predict", "c.run", "--data", "counts.csv", "--out", "/dev/null", "--overwrite")
    assert done.returncode == 5 and "no plain file" in done.stderr
