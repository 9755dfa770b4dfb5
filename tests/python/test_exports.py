# SPDX-License-Identifier: MIT
"""The exports as their real readers see them. The npy export is the yardstick; all others must agree
with it to the last bit. Needs the program make_run (environment SGFS_MAKE_RUN)."""
import glob
import json
import os
import re
import subprocess

import numpy as np
import pytest

MAKE_RUN = os.environ.get("SGFS_MAKE_RUN")
pytestmark = pytest.mark.skipif(not MAKE_RUN, reason="SGFS_MAKE_RUN is not set")
C, T, D = 3, 50, 11
LABELS = ["höhe", "a,b", '"q"', "x4"]
PARAMS = [f"beta[{x}]" for x in LABELS] + ["log_sigma"] + [
    f"W/out[{r},{c}]" for r in (1, 2) for c in (1, 2, 3)]


@pytest.fixture(scope="module", params=["dense_e", "diag_e", "unit_e"])
def run(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp(request.param)
    out = subprocess.run([MAKE_RUN, str(folder), request.param], capture_output=True, text=True)
    assert out.returncode == 0, out.stderr
    assert out.stdout == "" and out.stderr == ""  # the library never prints
    return folder, request.param


@pytest.fixture(scope="module")
def theta(run):
    array = np.load(run[0] / "fit.npy")
    assert array.shape == (C, T, D) and array.dtype == np.float64
    return array


def test_only_the_exports_are_left(run):
    assert sorted(os.listdir(run[0])) == sorted(
        ["fit.run", "fit.nc", "fit.csv", "fit.npy", "fit.curve.csv"] + [f"fit_{c}.stan.csv" for c in (1, 2, 3)])


def test_npy_numbers(theta):
    c, t, i = np.ix_(range(C), range(T), range(D))
    np.testing.assert_allclose(theta, np.sin(2.385 * (t + 1) + 0.717 * i + 1.9 * c) / 3 + i, rtol=1e-12)


def test_npy_header_is_aligned(run):
    with open(run[0] / "fit.npy", "rb") as f:
        head = f.read(10)
    assert (10 + head[8] + 256 * head[9]) % 64 == 0


def test_curve(run):
    pandas = pytest.importorskip("pandas")
    table = pandas.read_csv(run[0] / "fit.curve.csv", float_precision="round_trip")
    names = ["iteration", "seconds", "draws", "error", "log_loss", "error_now", "log_loss_now"]
    assert list(table.columns) == ["chain"] + names
    assert list(table["chain"]) == [c + 1 for c in range(C) for _ in range(T)]
    c, t, k = np.ix_(range(C), range(T), range(len(names)))
    expected = (t + 1) / 3 + (100 * c + k)
    expected[:, 0, 3] = np.nan  # before the first draw nothing is averaged
    np.testing.assert_array_equal(table[names].to_numpy().reshape(C, T, len(names)), expected)


def test_csv(run, theta):
    pandas = pytest.importorskip("pandas")
    table = pandas.read_csv(run[0] / "fit.csv", float_precision="round_trip")
    assert list(table.columns) == [".chain", ".iteration", ".draw"] + PARAMS
    assert list(table[".chain"]) == [c + 1 for c in range(C) for _ in range(T)]
    assert list(table[".iteration"]) == list(range(1, T + 1)) * C
    assert list(table[".draw"]) == list(range(1, C * T + 1))
    np.testing.assert_array_equal(table[PARAMS].to_numpy().reshape(C, T, D), theta)


def check_groups(posterior, stats, theta):
    assert posterior["beta"].dims == ("chain", "draw", "beta_dim_0")
    np.testing.assert_array_equal(posterior["beta"].values, theta[:, :, :4])
    assert [str(x) for x in posterior["beta_dim_0"].values] == LABELS
    assert posterior["log_sigma"].dims == ("chain", "draw")
    np.testing.assert_array_equal(posterior["log_sigma"].values, theta[:, :, 4])
    np.testing.assert_array_equal(posterior["W_out"].values, theta[:, :, 5:].reshape(C, T, 2, 3))
    for group in (posterior, stats):
        assert group["chain"].dtype == np.int64 and list(group["chain"].values) == [0, 1, 2]
        assert list(group["draw"].values) == list(range(T))
        assert group.attrs["inference_library"] == "sgfs"
        assert group.attrs["state"] == "complete"
        assert group.attrs["created_at"] == "2026-11-15T08:00:00+00:00"
        assert group.attrs["tuning_steps"] == 200 and group.attrs["sampling_time"] == 3.5
    assert {"lp", "step_size", "diverging", "grad_norm"} <= set(stats.variables)
    assert stats["diverging"].dtype == bool
    assert stats["diverging"].values.sum() == C * sum(t % 17 == 3 for t in range(T))
    np.testing.assert_array_equal(stats["step_size"].values[:, 0], [0.0371, 0.0371 / 2, 0.0371 / 3])


@pytest.mark.parametrize("engine", ["h5netcdf", "netcdf4"])
def test_arviz_reads_netcdf(run, theta, engine):
    arviz = pytest.importorskip("arviz")
    idata = arviz.from_netcdf(str(run[0] / "fit.nc"), engine=engine)
    check_groups(idata["posterior"], idata["sample_stats"], theta)
    summary = arviz.summary(idata)
    assert len(summary) == D


@pytest.mark.parametrize("engine", ["h5netcdf", "netcdf4"])
def test_xarray_reads_netcdf(run, theta, engine):
    xarray = pytest.importorskip("xarray")
    with xarray.open_datatree(run[0] / "fit.nc", engine=engine) as tree:
        check_groups(tree["posterior"].to_dataset(), tree["sample_stats"].to_dataset(), theta)


def stan_files(run):
    files = sorted(glob.glob(str(run[0] / "fit_*.stan.csv")))
    assert len(files) == C
    return files


def test_arviz_reads_stan_csv(run, theta):
    arviz = pytest.importorskip("arviz")
    if not hasattr(arviz, "from_cmdstan"):
        pytest.skip("ArviZ 1.0 reads no Stan CSV")
    idata = arviz.from_cmdstan(posterior=stan_files(run))
    np.testing.assert_array_equal(idata.posterior["beta"].values, theta[:, :, :4])
    np.testing.assert_array_equal(idata.posterior["log_sigma"].values, theta[:, :, 4])
    np.testing.assert_array_equal(idata.posterior["W_out"].values, theta[:, :, 5:].reshape(C, T, 2, 3))
    assert idata.sample_stats["diverging"].values.sum() == 9
    assert idata.sample_stats["step_size"].values[1, 5] == 0.0371 / 2


def test_cmdstanpy_reads_stan_csv(run, theta):
    cmdstanpy = pytest.importorskip("cmdstanpy")
    fit = cmdstanpy.from_csv(stan_files(run))
    assert fit.chains == C and fit.num_draws_sampling == T
    assert fit.metric_type == run[1]
    flat = theta.reshape(C * T, D)
    np.testing.assert_array_equal(fit.stan_variable("beta"), flat[:, :4])
    np.testing.assert_array_equal(fit.stan_variable("log_sigma"), flat[:, 4])
    np.testing.assert_array_equal(fit.stan_variable("W_out"), flat[:, 5:].reshape(-1, 2, 3))
    np.testing.assert_array_equal(fit.step_size, [0.0371, 0.0371 / 2, 0.0371 / 3])
    shape = {"dense_e": (C, D, D), "diag_e": (C, D), "unit_e": None}[run[1]]
    assert shape is None or fit.inv_metric.shape == shape


def adaptation(path, columns):
    lines = open(path, encoding="utf-8").read().splitlines()
    at = next(i for i, x in enumerate(lines) if "inverse mass matrix" in x)
    rows = []
    for line in lines[at + 1:]:
        if not line.startswith("#"):
            break
        rows.append([float(x) for x in line[2:].split(", ")])
    assert all(len(row) == columns for row in rows)
    return np.array(rows)


def test_stan_csv_metric_follows_the_columns(run, theta):
    path = stan_files(run)[1]
    header = next(x for x in open(path, encoding="utf-8") if x.startswith("lp__")).strip().split(",")
    assert header[6:] == ["beta.1", "beta.2", "beta.3", "beta.4", "log_sigma", "W_out.1.1",
                          "W_out.2.1", "W_out.1.2", "W_out.2.2", "W_out.1.3", "W_out.2.3"]
    order = [0, 1, 2, 3, 4, 5, 8, 6, 9, 7, 10]
    cov = np.cov(theta[1][:, order].T)
    expected = {"dense_e": cov, "diag_e": cov.diagonal()[None], "unit_e": np.ones((1, D))}[run[1]]
    np.testing.assert_allclose(adaptation(path, D), expected, rtol=1e-10, atol=1e-14)


def test_stan_csv_footer_alignment(run):
    lines = open(stan_files(run)[0], encoding="utf-8").read().splitlines()[-5:]
    assert lines == ["# ", "#  Elapsed Time: 0.009 seconds (Warm-up)",
                     "#                1.500 seconds (Sampling)",
                     "#                1.509 seconds (Total)", "# "]
    assert all(re.match(r"[0-9]", line[17]) for line in lines[1:4])


# ---- the same run as nuts would have made it: every statistic that Stan and ArviZ have a name for ----

STEPS, DEPTHS = {1: 1, 2: 3, 3: 7, 6: 63}, [6 if t % 10 == 7 else 1 + t % 3 for t in range(T)]


@pytest.fixture(scope="module")
def nuts(tmp_path_factory):
    folder = tmp_path_factory.mktemp("nuts")
    out = subprocess.run([MAKE_RUN, str(folder), "diag_e", "nuts"], capture_output=True, text=True)
    assert out.returncode == 0 and out.stdout == "" and out.stderr == "", out.stderr
    return folder


def nuts_energy():
    c, t = np.ix_(range(C), range(T))
    return 7.5 + 3 * np.sin(0.3 * t + c) + np.cos(5.1 * t)


def summary_json(path):
    if not os.environ.get("SGFS"):
        pytest.skip("the program was not built")
    out = subprocess.run([os.environ["SGFS"], "summary", str(path), "--json"], capture_output=True, text=True)
    assert out.returncode == 0, out.stderr
    return json.loads(out.stdout)


def check_nuts_stats(stats):
    for name, values in (("tree_depth", DEPTHS), ("n_steps", [STEPS[d] for d in DEPTHS])):
        assert stats[name].dtype == np.int64, name
        np.testing.assert_array_equal(stats[name].values, np.tile(values, (C, 1)))
    assert stats["diverging"].dtype == bool
    np.testing.assert_array_equal(stats["diverging"].values[2], [t % 17 == 3 for t in range(T)])
    np.testing.assert_allclose(stats["acceptance_rate"].values[1], 0.6 + 0.3 * np.sin(np.arange(T)), rtol=1e-14)
    np.testing.assert_allclose(stats["energy"].values, nuts_energy(), rtol=1e-14)
    np.testing.assert_allclose(stats["lp"].values[0], -1234.567 / np.arange(1, T + 1), rtol=1e-14)


@pytest.mark.parametrize("engine", ["h5netcdf", "netcdf4"])
def test_arviz_knows_the_statistics_of_nuts(nuts, engine):
    arviz = pytest.importorskip("arviz")
    check_nuts_stats(arviz.from_netcdf(str(nuts / "fit.nc"), engine=engine)["sample_stats"])


def test_summary_agrees_with_arviz_on_bfmi(nuts):
    arviz = pytest.importorskip("arviz")
    seen = summary_json(nuts / "fit.run")["trajectories"]
    idata = arviz.from_netcdf(str(nuts / "fit.nc"))
    if hasattr(arviz, "from_cmdstan"):  # ArviZ 0.x; later ones return something else
        np.testing.assert_allclose(seen["bfmi"], arviz.bfmi(idata), rtol=1e-12)
    energy = nuts_energy()
    by_hand = (np.diff(energy) ** 2).sum(1) / ((energy - energy.mean(1, keepdims=True)) ** 2).sum(1)
    np.testing.assert_allclose(seen["bfmi"], by_hand, rtol=1e-12)
    assert by_hand.min() < by_hand.max() * 0.999  # three different numbers
    assert seen["divergent"] == 9 and seen["max_depth"] == 6 and seen["at_max_depth"] == 15
    np.testing.assert_allclose(seen["n_steps"], np.mean([STEPS[d] for d in DEPTHS]), rtol=1e-14)
    np.testing.assert_allclose(seen["step_size"], 0.0371 * (1 + 1 / 2 + 1 / 3) / 3, rtol=1e-14)


def test_summary_says_it_in_words(nuts):
    if not os.environ.get("SGFS"):
        pytest.skip("the program was not built")
    out = subprocess.run([os.environ["SGFS"], "summary", str(nuts / "fit.run"), "--verbose"], capture_output=True, text=True)
    lines = out.stdout.splitlines()
    line = next(x for x in lines if "trajectories 9 diverged" in x)
    assert "of 150 kept trajectories" in line and "10 % reached the maximum depth 6" in line
    assert any(x.startswith("E-BFMI") and "thinning makes it look better" in x for x in lines)
    assert any(x.startswith("warning: 9 of 150 draws come from trajectories that diverged") for x in lines)
    assert any("--max-depth 8" in x for x in lines)


def test_no_trajectories_no_words(run):
    if not os.environ.get("SGFS"):
        pytest.skip("the program was not built")
    assert "trajectories" not in summary_json(run[0] / "fit.run")
    out = subprocess.run([os.environ["SGFS"], "summary", str(run[0] / "fit.run"), "--verbose"], capture_output=True, text=True)
    assert "trajectories" not in out.stdout and "E-BFMI" not in out.stdout


def test_stan_csv_of_nuts(nuts):
    lines = open(nuts / "fit_2.stan.csv", encoding="utf-8").read().splitlines()
    config = {x.lstrip("# ") for x in lines if x.startswith("#")}
    assert {"algorithm = hmc", "engine = nuts", "max_depth = 6", "metric = diag_e"} <= config
    header = next(i for i, x in enumerate(lines) if x.startswith("lp__"))
    assert lines[header].split(",")[:8] == ["lp__", "accept_stat__", "stepsize__", "treedepth__", "n_leapfrog__",
                                            "divergent__", "energy__", "beta.1"]
    rows = [x.split(",") for x in lines[header + 1:] if not x.startswith("#")]
    assert [row[3] for row in rows] == [str(d) for d in DEPTHS]  # integers, as Stan writes them
    assert [row[4] for row in rows] == [str(STEPS[d]) for d in DEPTHS]
    assert [row[5] for row in rows] == [str(int(t % 17 == 3)) for t in range(T)]
    np.testing.assert_allclose([float(row[1]) for row in rows], 0.6 + 0.3 * np.sin(np.arange(T)), rtol=1e-14)
    np.testing.assert_allclose([float(row[6]) for row in rows], nuts_energy()[1], rtol=1e-14)


def test_no_energy_column_without_an_energy(run):
    assert not any("energy__" in x for x in open(stan_files(run)[0], encoding="utf-8"))


def test_cmdstanpy_reads_nuts(nuts):
    cmdstanpy = pytest.importorskip("cmdstanpy")
    fit = cmdstanpy.from_csv(sorted(glob.glob(str(nuts / "fit_*.stan.csv"))))
    assert fit.metric_type == "diag_e"
    assert list(fit.divergences) == [3, 3, 3] and list(fit.max_treedepths) == [5, 5, 5]
    variables = fit.method_variables()
    np.testing.assert_array_equal(variables["treedepth__"][:, 0], DEPTHS)
    np.testing.assert_allclose(variables["energy__"].T, nuts_energy(), rtol=1e-14)


def test_arviz_reads_stan_csv_of_nuts(nuts):
    arviz = pytest.importorskip("arviz")
    if not hasattr(arviz, "from_cmdstan"):
        pytest.skip("ArviZ 1.0 reads no Stan CSV")
    idata = arviz.from_cmdstan(posterior=sorted(glob.glob(str(nuts / "fit_*.stan.csv"))))
    check_nuts_stats(idata.sample_stats)
    assert {"energy", "tree_depth", "n_steps", "lp", "acceptance_rate", "step_size"} <= set(idata.sample_stats)
