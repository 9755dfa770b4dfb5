# SPDX-License-Identifier: MIT
"""Effects of groups in Python: read from the run file, handed to ArviZ, used for predictions."""
import numpy as np
import pytest

FORMULA = "y ~ x + (1 + x | shop) + (1 | day)"


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(8)
    x, shop, day = rng.normal(size=300), rng.integers(0, 7, 300), rng.integers(1, 6, 300)
    y = 3 + x * (1 + 0.3 * rng.normal(size=7)[shop]) + rng.normal(size=7)[shop] + 0.5 * rng.normal(size=300)
    return {"x": x, "shop": np.array([f"s{k}" for k in shop]), "day": day, "y": y}


@pytest.fixture(scope="module")
def fit(sgfs, table):
    return sgfs.sample("linear", table, formula=FORMULA, draws=200, warmup=100, chains=2, keep_groups=40, seed=3,
                       standardize=True)


def test_effects_are_there_by_factor(fit):
    shop, day = fit.effects["shop"], fit.effects["day"]
    assert sorted(shop.groups) == [f"s{k}" for k in range(7)] and shop.effects == ("intercept", "x")
    assert sorted(map(float, day.groups)) == [1, 2, 3, 4, 5] and day.effects == ("intercept",)
    assert shop.draws.shape == (2, 25, 7, 2) and day.draws.shape == (2, 25, 5, 1) and list(shop.at[:2]) == [7, 15]
    assert shop.rows.sum() == 300 and shop.mean.shape == shop.sd.shape == (7, 2)
    assert (abs(shop.draws.mean((0, 1)) - shop.mean) < shop.sd).all()
    table = fit.summary_dict(groups="shop", top=3)
    assert len(table) == 3
    for name, row in table.items():
        group, effect = name[:-1].split("[")
        at = shop.groups.index(group), shop.effects.index(effect)
        assert np.isclose(row["mean"], shop.mean[at], rtol=1e-9) and np.isclose(row["sd"], shop.sd[at], rtol=1e-9)


def test_predictions_by_hand(fit, table):
    shop, day, at = fit.effects["shop"], fit.effects["day"], fit.effects["shop"].at
    draws = {name: fit[name][:, at].reshape(-1) for name in fit.names}
    u = shop.draws.reshape(50, 7, 2)[:, [shop.groups.index(s) for s in table["shop"]]]
    place = {float(name): k for k, name in enumerate(day.groups)}
    v = day.draws.reshape(50, 5)[:, [place[float(d)] for d in table["day"]]]
    x = np.asarray(table["x"])
    eta = draws["intercept"][:, None] + np.outer(draws["x"], x) + u[..., 0] + u[..., 1] * x + v
    assert np.allclose(fit.predict(table), eta.mean(0), rtol=1e-6)


def test_new_groups(sgfs, fit, table):
    new = {name: value[:2].copy() for name, value in table.items() if name != "y"}
    new["shop"] = np.array(["nowhere", new["shop"][1]])
    with pytest.warns(sgfs.SgfsWarning, match="1 of 2 rows are in groups"):
        zero = fit.predict(new, new_groups="zero", kind="draws")
    with pytest.warns(sgfs.SgfsWarning, match="1 of 2 rows"):
        drawn = fit.predict(new, kind="draws")
    assert np.array_equal(zero[1], drawn[1]) and drawn[0].std() > 1.2 * zero[0].std()
    with pytest.raises(sgfs.DataError, match='group "nowhere" of "shop"'):
        fit.predict(new, new_groups="refuse")


def test_arviz_sees_the_same_in_memory_and_in_netcdf(fit, tmp_path):
    arviz = pytest.importorskip("arviz")
    said = fit.to_arviz()["group_effects"]
    assert said["effects_shop"].dims == ("chain", "draw", "shop", "shop_effect")
    assert said["effects_day"].dims == ("chain", "draw", "day")
    assert np.array_equal(said["effects_shop"].values, fit.effects["shop"].draws)
    one = said["effects_shop"].sel(shop="s3", shop_effect="x").values
    assert np.array_equal(one, fit.effects["shop"].draws[:, :, fit.effects["shop"].groups.index("s3"), 1])
    fit.export(tmp_path / "fit.nc")
    file = arviz.from_netcdf(tmp_path / "fit.nc")["group_effects"]
    for name in ("effects_shop", "effects_day"):
        assert np.array_equal(file[name].values, said[name].values) and file[name].dims == said[name].dims
    for name in ("draw", "shop", "shop_effect", "day"):
        assert list(map(str, file[name].values)) == list(map(str, said[name].values))


def test_a_fit_without_groups_has_none(sgfs, table):
    plain = sgfs.sample("linear", {"x": table["x"], "y": table["y"]}, target="y", draws=100, warmup=50, chains=2)
    assert plain.effects == {}
