# SPDX-License-Identifier: MIT
"""Pictures of a fit show its numbers."""
import numpy as np
import pytest


@pytest.fixture(scope="module")
def fit(sgfs, people):
    pytest.importorskip("matplotlib")
    return sgfs.sample("logistic", dict(people[0]), target="bought", seed=5)


def test_forest_has_the_numbers_of_the_summary(fit):
    axes, = fit.plot("forest").axes
    table = fit.summary_dict()
    assert [label.get_text() for label in axes.get_yticklabels()] == list(fit.names)
    assert axes.lines[0].get_xdata().tolist() == [row["mean"] for row in table.values()]
    low = [segment[0][0] for segment in axes.collections[0].get_segments()]
    assert low == [row["q5"] for row in table.values()]


def test_trace_has_every_draw(fit):
    axes, = fit.plot("trace", names="age").axes
    assert axes.get_title() == "age"
    assert np.array_equal([line.get_ydata() for line in axes.lines], fit["age"])


def test_density_and_ranks_count_every_draw(fit):
    chains, draws, _ = fit.draws.shape
    figure = fit.plot("rank", names=["age", "visits"])
    assert len(figure.axes) == 2
    for patch in figure.axes[0].patches:
        assert patch.get_data().values.sum() == draws
    assert len(figure.axes[0].patches) == chains
    assert len(fit.plot().axes) == len(fit.names)


def test_files_and_mistakes(sgfs, fit, tmp_path):
    fit.plot("density").savefig(tmp_path / "draws.png", dpi=40)
    assert (tmp_path / "draws.png").stat().st_size > 1000
    assert fit.plot("forest")._repr_png_()[1:4] == b"PNG"
    with pytest.raises(sgfs.UsageError, match="trace"):
        fit.plot("pie")
    with pytest.raises(sgfs.UsageError, match="'age'"):
        fit.plot("trace", names=["aeg"])


def test_a_picture_says_what_it_leaves_out_and_whether_to_trust(sgfs):
    pytest.importorskip("matplotlib")
    x = np.random.default_rng(1).normal(size=(300, 20))
    with pytest.warns(sgfs.TrustWarning):
        fit = sgfs.sample("linear", x, x[:, 0] + x[:, 1] ** 2, sampler="sgld", draws=20, ess=1,
                          thin=1, warmup=5, epsilon=1e-9)
    figure = fit.plot("trace")
    assert len(figure.axes) == 12
    assert "not trust" in figure.get_suptitle() and "10 more" in figure.get_suptitle()
