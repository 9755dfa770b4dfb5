# SPDX-License-Identifier: MIT
"""Columns of many words are kept as sparse rows: the answers are those of the same columns of zeros and ones, written out.
The table is just large enough (rows times columns of 0 and 1) for the program to do so; a sixth of it is not."""
import json

import numpy as np
import pytest

from cli_program import Sgfs, write

ROWS, LEVELS = 40000, 60


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """words.csv, and the same as columns of 0 and 1 in a text without words: dense.csv."""
    sgfs = Sgfs(tmp_path_factory.mktemp("words"))
    rng = np.random.default_rng(11)
    x = rng.integers(1, 40, (ROWS, 2)) / 4
    code = rng.integers(0, LEVELS, (ROWS, 2))
    code[:LEVELS] = np.arange(LEVELS)[:, None]
    code[100:1500] = 0  # the most frequent word: it is the reference
    eta = x @ [0.2, -0.1] + 0.3 * np.sin(code).sum(1)
    y = (rng.random(ROWS) < 1 / (1 + np.exp(-eta))).astype(int)
    count, weight, hours = rng.poisson(1.3, ROWS), rng.integers(0, 3, ROWS), rng.integers(1, 9, ROWS) / 2
    extra = ["count,weight,hours,y"] + [f"{a},{b},{c},{'yes' if d else 'no'}" for a, b, c, d in zip(count, weight, hours, y)]
    words = ["a,town,b,shop"] + [f"{p},t{i:02},{q},s{j:02}" for (p, q), (i, j) in zip(x, code)]
    hot = [(code[:, k, None] == np.arange(1, LEVELS)).astype(int).astype(str) for k in range(2)]
    names = [[f"{c}={c[0]}{i:02}" for i in range(1, LEVELS)] for c in ("town", "shop")]
    dense = [",".join(["a", *names[0], "b", *names[1]])]
    dense += [",".join([str(p), *i, str(q), *j]) for (p, q), i, j in zip(x, *hot)]
    for name, table in ("words", words), ("dense", dense):
        write(sgfs.folder / f"{name}.csv", [f"{left},{right}" for left, right in zip(table, extra)])
    return sgfs


def mode(sgfs, model, data, *words):
    if data == "words.csv":
        words = ("--categorical", "town,shop", *words)
    told = json.loads(sgfs.ok("optimize", model, "--data", data, "--json", *words).stdout)
    return {name: (at, told["cov"][j][j] ** 0.5) for j, (name, at) in enumerate(zip(told["names"], told["mean"]))}


CASES = {
    "logistic": ("logistic", "--target", "y", "--drop", "count,weight,hours"),
    "weighted": ("logistic", "--target", "y", "--weights", "weight", "--drop", "count,hours"),
    "counts": ("poisson", "--target", "count", "--exposure", "hours", "--weights", "weight", "--drop", "y"),
    "numbers": ("linear", "--target", "a", "--log1p", "b", "--drop", "count,weight,hours,y"),
    "some": ("logistic", "--target", "y", "--drop", "count,weight,hours,town=t07", "--limit", "38000"),
    "part": ("logistic", "--target", "y", "--drop", "count,weight,hours", "--split", "0.9,0.1"),
}


@pytest.mark.parametrize("case", CASES)
def test_the_mode_is_that_of_zeros_and_ones(site, case):
    """Steps of 1e-8 sd are left: the two searches end that close to each other, up to rounding."""
    words, dense = (mode(site, CASES[case][0], data, *CASES[case][1:]) for data in ("words.csv", "dense.csv"))
    assert words.keys() == dense.keys() and len(words) > 100
    for name, (at, sd) in dense.items():
        assert abs(words[name][0] - at) < 1e-5 * sd, name
        assert words[name][1] == pytest.approx(sd, rel=1e-5), name


def test_numbers_are_centred_beside_words(site):
    """By the default prior: the intercept is meant where numbers have their means and words are the reference."""
    plain = Sgfs(site.folder, prior=None)
    words = mode(plain, "logistic", "words.csv", *CASES["logistic"][1:])
    dense = mode(plain, "logistic", "dense.csv", *CASES["logistic"][1:])
    for name, (at, sd) in dense.items():  # of 40,000 rows the prior of the intercept decides nothing
        assert abs(words[name][0] - at) < 0.02 * sd, name


def test_exact_draws_and_predictions(site):
    """The same draws' means from either table, within Monte Carlo error (4 of its sds at 700 effective draws or more), and
    predictions that follow from the draws."""
    mean = []
    for data, more in ("words.csv", ("--categorical", "town,shop")), ("dense.csv", ()):
        site.ok("sample", "logistic", "--data", data, "--target", "y", "--drop", "count,weight,hours", *more, "--draws", "250",
                "--out", f"{data}.run", "-q")
        draws = site.draws(f"{data}.run")
        mean.append((draws.mean((0, 1)), draws.std((0, 1))))
    (a, sd), (b, _) = mean
    assert np.abs((a - b) / sd).max() < 4 * np.sqrt(2 / 700)
    site.ok("predict", "words.csv.run", "--data", "words.csv", "--limit", "500", "--out", "w.csv", "-q")
    rows = (site.folder / "w.csv").read_text().splitlines()
    words = (site.folder / "words.csv").read_text().splitlines()[1:501]
    head = rows[0].split(",")
    p = np.array([float(r.split(",")[head.index("p[yes]")]) for r in rows[1:]])
    names = json.loads(site.ok("summary", "words.csv.run", "--json").stdout)["params"]
    at = {q["name"]: j for j, q in enumerate(names)}
    theta = site.draws("words.csv.run").reshape(-1, len(names))
    for i in (0, 1, 77, 499):
        x1, town, x2, shop = words[i].split(",")[:4]
        eta = theta[:, at["intercept"]] + float(x1) * theta[:, at["a"]] + float(x2) * theta[:, at["b"]]
        for name in (f"town={town}", f"shop={shop}"):
            eta = eta + (theta[:, at[name]] if name in at else 0)
        assert p[i] == pytest.approx((1 / (1 + np.exp(-eta))).mean(), abs=1e-12)


def test_memory(site):
    """Rows of 120 columns as doubles would be 38 MB; as entries they are about 2."""
    done = site.ok("sample", "logistic", "--data", "words.csv", "--target", "y", "--drop", "count,weight,hours", "--categorical",
                   "town,shop", "--sampler", "sgld", "--dry-run", "--json")
    dense = site.ok("sample", "logistic", "--data", "dense.csv", "--target", "y", "--drop", "count,weight,hours", "--sampler",
                    "sgld", "--dry-run", "--json")
    assert json.loads(done.stdout)["bytes_needed"] + 25e6 < json.loads(dense.stdout)["bytes_needed"]


def test_words_that_look_alike_are_named(sgfs):
    """Blanks at the ends and the case of letters: each is a level, a warning names them, and the table shows the blanks."""
    word = ['Kiel', '"Kiel "', 'kiel', 'Lyon', '" Oslo"']
    write(sgfs.folder / "twins.csv", ["city,x,y", *(f"{word[i % 5]},{i % 7},{i // 3 % 2}" for i in range(70))])
    done = sgfs.ok("sample", "logistic", "--data", "twins.csv", "--categorical", "city", "--reference-level", "city=Lyon",
                   "--draws", "20", "--out", "twins.run")
    assert 'blanks at their ends or the case of letters, and each is a word of its own: "Kiel" and "Kiel " and "kiel". Write' in done.stderr
    shown = {line.split("  ")[0].rstrip() for line in sgfs.ok("summary", "twins.run").stdout.splitlines() if line.startswith("city=")}
    assert shown == {"city=Kiel", "city=Kiel\u2423", "city=kiel", "city=\u2423Oslo"}, shown
    write(sgfs.folder / "plain.csv", ["city,x,y", *(f"{'abc'[i % 3]},{i % 7},{i // 3 % 2}" for i in range(70))])
    assert "letters" not in sgfs.ok("optimize", "logistic", "--data", "plain.csv", "--categorical", "city").stderr
