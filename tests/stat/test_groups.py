# SPDX-License-Identifier: MIT
"""Sampler groups against closed forms, against an independent NUTS (tests/reference/make_groups.py) and against
itself: truths drawn from the prior must have uniform ranks.

The limit |z| <= 4.5 has a false-alarm rate of 7e-6 for each comparison; seeds are fixed."""
import json
import os
import pathlib
import subprocess

import numpy as np
import pytest

SGFS = os.environ.get("SGFS")
SOURCE = pathlib.Path(os.environ.get("SGFS_SOURCE") or pathlib.Path(__file__).parents[2])
FOLDER = SOURCE / "tests" / "reference"
PROBLEMS = ("linear", "logistic", "crossed", "poisson", "nothing", "single")
CHAINS, DRAWS, BATCHES, Z_MOST = 4, 4000, 25, 4.5
PRIOR = ("--prior-precision", "1", "--group-scale", "1")
# A Student-t of a million degrees of freedom is a Gaussian but for the moves: those of other models.
LINEAR = (), ("--prior", "student-t", "--prior-df", "1e6")
pytestmark = pytest.mark.skipif(not SGFS, reason="SGFS (the program) is not set")


def call(*args):
    allow = ["--allow-unconverged"] if args[0] == "sample" else []
    out = subprocess.run([SGFS, *map(str, args), *allow], capture_output=True, text=True)
    assert out.returncode == 0, out.stderr
    return out.stdout


def sample(folder, model, data, formula, *words, draws=DRAWS, chains=CHAINS):
    """Draws (chains x draws x D), and the summary."""
    run = folder / "fit.run"
    call("sample", model, "--data", data, "--formula", formula, "--draws", draws, "--chains", chains, "--out", run,
         "--overwrite", "--quiet", *words)
    call("export", run, folder / "fit.npy", "--overwrite")
    seen = json.loads(call("summary", run, "--json"))
    moved = [k for k, p in enumerate(seen["params"]) if not p["name"].startswith("icc_")]  # which follows from the others
    seen["params"] = [seen["params"][k] for k in moved]
    return np.load(folder / "fit.npy")[..., moved], seen


def error_of(x):
    """Monte Carlo error of the mean of x (chains x draws), by batch means."""
    means = x.reshape(len(x) * BATCHES, -1).mean(1)
    return means.std(ddof=1) / np.sqrt(len(means))


def worst(draws, mean, sd, mean_error=0.0, sd_error=0.0):
    """The largest |z| of all means and standard deviations."""
    mean_error, sd_error = np.broadcast_to(mean_error, len(mean)), np.broadcast_to(sd_error, len(mean))
    z = []
    for i in range(draws.shape[2]):
        x = draws[..., i]
        z.append((x.mean() - mean[i]) / np.hypot(error_of(x), mean_error[i]))
        own = x.std()
        z.append((own - sd[i]) / np.hypot(error_of((x - x.mean()) ** 2) / (2 * own), sd_error[i]))
    return np.abs(z).max()


# ---- closed form ---------------------------------------------------------------------------------


def write(path, **columns):
    with open(path, "w") as out:
        out.write(",".join(columns) + "\n")
        out.writelines(",".join(map(str, row)) + "\n" for row in zip(*columns.values()))


@pytest.mark.parametrize("prior", LINEAR, ids=("gaussian", "student"))
def test_a_linear_model_has_its_closed_form(tmp_path, prior):
    """Sigma is given, so that everything is Gaussian but the standard deviation of the groups, over which a sum of 801
    terms is left."""
    rng = np.random.default_rng(11)
    g = np.concatenate([np.arange(30), rng.integers(0, 30, 90)])
    x = rng.standard_normal(120).round(3)
    y = (0.3 + 0.8 * x + 0.7 * rng.standard_normal(30)[g] + 0.9 * rng.standard_normal(120)).round(3)
    write(tmp_path / "a.csv", x=x, g=g, y=y)
    X, Z, sds = np.column_stack([np.ones(120), x]), np.eye(30)[g], np.exp(np.linspace(-7, 2, 801))
    log_weight, centre, spread = [], [], []
    for sd in sds:
        W = np.hstack([X, Z])
        A = W.T @ W / 0.81 + np.diag(np.r_[1.0, 1.0, np.full(30, sd**-2)])
        m = np.linalg.solve(A, W.T @ y / 0.81)
        log_weight.append(0.5 * m @ A @ m - 0.5 * np.linalg.slogdet(A)[1] - 29 * np.log(sd) - 0.5 * sd**2)
        centre.append(m[:2])
        spread.append(np.diag(np.linalg.inv(A))[:2])
    w = np.exp(np.array(log_weight) - max(log_weight))
    w /= w.sum()
    point = np.column_stack([centre, sds])
    mean = w @ point
    var = w @ (point - mean) ** 2 + np.append(w @ np.array(spread), 0)
    draws, seen = sample(tmp_path, "linear", tmp_path / "a.csv", "y ~ x + (1 | g)", "--sigma", "0.9", *PRIOR, *prior)
    assert worst(draws, mean, np.sqrt(var)) < Z_MOST
    assert seen["ess_min"] > DRAWS  # proposals are the posterior given the scale


@pytest.mark.parametrize("prior", LINEAR, ids=("gaussian", "student"))
def test_groups_of_one_row_share_their_variance_with_the_noise(tmp_path, prior):
    """The rows know sd^2 + sigma^2 alone, and the priors decide the rest: a ridge that is 3 units of log sigma long. The sum
    over a grid of both has errors of 1e-4 or less."""
    rng = np.random.default_rng(12)
    x = rng.standard_normal(60).round(3)
    y = (0.3 + 0.8 * x + 1.1 * rng.standard_normal(60)).round(3)
    write(tmp_path / "a.csv", x=x, g=np.arange(60), y=y)
    X, log_sd, log_sigma = np.column_stack([np.ones(60), x]), np.linspace(-9, 2, 551)[:, None], np.linspace(-6, 2, 401)[None, :]
    var = np.exp(2 * log_sd) + np.exp(2 * log_sigma)
    XX, Xy = X.T @ X, X.T @ y
    A = XX / var[..., None, None] + np.eye(2)
    m = np.linalg.solve(A, (Xy / var[..., None])[..., None])[..., 0]
    lp = 0.5 * np.einsum("abi,abij,abj->ab", m, A, m) - 0.5 * np.linalg.slogdet(A)[1] - 0.5 * y @ y / var - 30 * np.log(var)
    lp += log_sd - 0.5 * np.exp(2 * log_sd) - 0.5 * log_sigma ** 2
    w = np.exp(lp - lp.max())
    w /= w.sum()
    sd = np.broadcast_to(np.exp(log_sd), w.shape)
    point = [m[..., 0], m[..., 1], np.broadcast_to(log_sigma, w.shape), sd]
    inside = np.linalg.inv(A)
    mean = np.array([(w * v).sum() for v in point])
    more = np.array([(w * inside[..., 0, 0]).sum(), (w * inside[..., 1, 1]).sum(), 0, 0])
    spread = np.sqrt([(w * (v - c) ** 2).sum() for v, c in zip(point, mean)] + more)
    draws, seen = sample(tmp_path, "linear", tmp_path / "a.csv", "y ~ x + (1 | g)", *PRIOR, *prior)
    assert worst(draws, mean, spread) < Z_MOST
    assert seen["ess_min"] > 0.05 * CHAINS * DRAWS  # without the move along the ridge: 0.003


def test_groups_of_one_row_of_a_logistic_model_are_a_ridge(tmp_path):
    """Rows know coefficients/sqrt(1 + 3 sd^2/pi^2) and next to nothing of the scale, so that wide priors make a ridge on
    which coefficients grow tenfold. Its sum goes over coefficients so divided and log sd; the integral of each effect is a
    sum over 241 places. Thirty groups have two rows, for the groups that follow."""
    rng = np.random.default_rng(15)
    g = np.r_[np.arange(370), np.repeat(np.arange(370, 400), 2)]
    x = rng.integers(-1, 2, 400)[g]
    y = (rng.random(430) < 1 / (1 + np.exp(0.5 - 1.2 * x - 1.5 * rng.standard_normal(400)[g]))).astype(int)
    write(tmp_path / "a.csv", x=x, g=g, y=y)
    v = np.linspace(-6, 6, 241)
    weight = np.exp(-0.5 * v**2) / np.exp(-0.5 * v**2).sum()
    a, b, log_sd = np.linspace(-1.2, 0.4, 33), np.linspace(0.2, 1.8, 33), np.linspace(-6, 3.2, 93)
    lp = np.zeros((33, 33, 93))
    for k, sd in enumerate(np.exp(log_sd)):
        R = np.sqrt(1 + 3 * sd**2 / np.pi**2)
        for at in (-1, 0, 1):
            q = 1 / (1 + np.exp(-(R * (a[:, None, None] + b[:, None] * at) + sd * v)))
            ones = np.bincount(g[x == at], y[x == at], 400)
            rows = np.bincount(g[x == at], minlength=400)
            for n, c in {(n, c) for n, c in zip(rows, ones) if n > 0}:
                lp[..., k] += ((rows == n) & (ones == c)).sum() * np.log(q**c * (1 - q) ** (n - c) @ weight)
        lp[..., k] += -0.02 * R**2 * (a[:, None] ** 2 + b**2) + 2 * np.log(R) + log_sd[k] - 0.5 * (sd / 5) ** 2
    w = np.exp(lp - lp.max())
    w /= w.sum()
    R, sd = np.sqrt(1 + 3 * np.exp(2 * log_sd) / np.pi**2), np.broadcast_to(np.exp(log_sd), w.shape)
    point = [a[:, None, None] * R + 0 * w, b[:, None] * R + 0 * w, sd]
    mean = np.array([(w * v).sum() for v in point])
    spread = np.sqrt([(w * (v - c) ** 2).sum() for v, c in zip(point, mean)])
    draws, seen = sample(tmp_path, "logistic", tmp_path / "a.csv", "y ~ x + (1 | g)", "--prior-precision", "0.04",
                         "--group-scale", "5", draws=1500)
    assert worst(draws, mean, spread) < Z_MOST
    assert seen["ess_min"] > 0.05 * CHAINS * 1500  # with these effects following: 0.003


# ---- chains come home ----------------------------------------------------------------------------


def test_groups_that_the_rows_know_to_a_thousandth_are_found(tmp_path):
    """Counts around e^12: a group that begins 30 % off is hundreds of its standard deviations away, where independent
    proposals are never accepted. The standard deviation of 50 known numbers mixes at once."""
    rng = np.random.default_rng(13)
    x, g = rng.standard_normal(400).round(3), rng.integers(0, 50, 400)
    u = 0.5 * rng.standard_normal(50)
    write(tmp_path / "a.csv", x=x, g=g, k=rng.poisson(np.exp(12 + 0.3 * x + u[g])))
    draws, seen = sample(tmp_path, "poisson", tmp_path / "a.csv", "k ~ x + (1 | g)", draws=1000)
    assert seen["ess_min"] > 0.5 * CHAINS * 1000 and max(p["r_hat"] for p in seen["params"]) < 1.01
    sd = draws[..., 2].mean()
    assert abs(sd / u.std(ddof=1) - 1) < 0.05


def test_a_short_warm_up_finds_the_coefficients_of_many_small_groups(tmp_path):
    """With 4,000 groups of five rows the approximation's mean is several posterior standard deviations off."""
    rng = np.random.default_rng(14)
    x, g = rng.standard_normal((20000, 3)).round(3), np.repeat(np.arange(4000), 5)
    eta = -0.5 + x @ [0.8, -0.4, 0.6] + 1.2 * rng.standard_normal(4000)[g]
    y = (rng.random(20000) < 1 / (1 + np.exp(-eta))).astype(int)
    write(tmp_path / "a.csv", a=x[:, 0], b=x[:, 1], c=x[:, 2], g=g, y=y)
    _, seen = sample(tmp_path, "logistic", tmp_path / "a.csv", "y ~ a + b + c + (1 | g)", "--warmup", "60", draws=300)
    ess = {p["name"]: p["ess_bulk"] for p in seen["params"]}
    assert min(ess[name] for name in ("a", "b", "c")) > 0.2 * CHAINS * 300, ess
    assert max(p["r_hat"] for p in seen["params"]) < 1.04


# ---- an independent NUTS -------------------------------------------------------------------------


def compare_effects(run, data, factor, reference):
    """Means within 0.12 sd, standard deviations within 7 %: five errors of some thousand effective draws."""
    column = data.read_text().splitlines()[0].split(",").index(factor)
    levels = sorted({line.split(",")[column] for line in data.read_text().splitlines()[1:]},
                    key=lambda level: int(level.strip("u")))
    shown = json.loads(call("summary", run, "--groups", factor, "--top", "1000", "--json"))["params"]
    ours = {row["name"]: row for row in shown}
    for what, truth in reference.items():
        if what.split("[")[0] != factor:
            continue
        assert len(levels) == len(truth["mean"])
        for level, mean, sd in zip(levels, truth["mean"], truth["sd"]):
            row = ours.pop(f"{level}[{what.split('[')[1]}")
            assert abs(row["mean"] - mean) < 0.12 * sd and abs(row["sd"] / sd - 1) < 0.07, (level, row, mean, sd)
    assert ours == {}


@pytest.mark.parametrize("name", PROBLEMS)
def test_agrees_with_the_reference(tmp_path, capsys, name):
    ref = json.loads((FOLDER / f"groups_{name}.json").read_text())
    draws, seen = sample(tmp_path, ref["model"], FOLDER / f"groups_{name}.csv", ref["formula"], *PRIOR)
    assert [p["name"] for p in seen["params"]] == ref["names"]
    z = worst(draws, ref["mean"], ref["sd"], ref["mcse_mean"], ref["mcse_sd"])
    with capsys.disabled():
        print(f"\n{name:9} |z| <= {z:.2f}, ESS >= {seen['ess_min']:.0f} of {CHAINS * DRAWS}", end="", flush=True)
    assert z < Z_MOST
    for factor in {f.split("[")[0] for f in ref["effects"]}:
        compare_effects(tmp_path / "fit.run", FOLDER / f"groups_{name}.csv", factor, ref["effects"])
    assert ref["ess"] > 4000 and ref["r_hat"] < 1.01


# ---- ranks ---------------------------------------------------------------------------------------


def simulate(rng, model):
    """Truths of the prior, and data: 60 rows in 12 groups."""
    beta, sd, log_sigma = rng.standard_normal(2), abs(rng.standard_normal()), rng.standard_normal()
    g, x = rng.integers(0, 12, 60), rng.standard_normal(60).round(3)
    eta = beta[0] + beta[1] * x + sd * rng.standard_normal(12)[g]
    if model == "linear":
        y = (eta + np.exp(log_sigma) * rng.standard_normal(60)).round(5)
    elif model == "logistic":
        y = (rng.random(60) < 1 / (1 + np.exp(-eta))).astype(int)
    else:
        y = rng.poisson(np.exp(np.minimum(eta, 12)))
    truth = np.append(np.append(beta, log_sigma) if model == "linear" else beta, sd)
    return {"x": x, "g": g, "y": y}, truth


@pytest.mark.parametrize("model", ("linear", "logistic", "poisson"))
def test_truths_have_uniform_ranks(tmp_path, model):
    """Of 31 draws far apart a truth has each rank with the same probability. 48 data sets (ten times as many in the
    longer tier), eight bins: chi-square of 7 degrees of freedom stays below 29 but in 1 of 7,000 cases."""
    rng, ranks = np.random.default_rng(5), []
    repeats = 480 if "SGFS_LONG" in os.environ else 48
    while len(ranks) < repeats:
        columns, truth = simulate(rng, model)
        if model == "logistic" and len(set(columns["y"])) < 2:
            continue  # such data are refused; so rare that ranks do not show it
        write(tmp_path / "s.csv", **columns)
        draws, _ = sample(tmp_path, model, tmp_path / "s.csv", "y ~ x + (1 | g)", "--warmup", "200", "--thin", "10",
                          "--seed", len(ranks) + 1, *PRIOR, draws=310, chains=1)
        ranks.append((draws[0] < truth).sum(0))
    for parameter in np.array(ranks).T:
        seen = np.bincount(parameter // 4, minlength=8)
        assert ((seen - repeats / 8) ** 2).sum() / (repeats / 8) < 29, (model, seen)
