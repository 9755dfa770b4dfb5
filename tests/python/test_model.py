# SPDX-License-Identifier: MIT
"""Models written in Python: the same numbers as in C, and errors with their traceback."""
import math

import numpy as np
import pytest
from conftest import BUILD


def rows():
    rng = np.random.default_rng(2)
    x = rng.normal(size=(300, 2))
    return x, (rng.random(300) < 1 / (1 + np.exp(-x[:, 0]))).astype(float)


def logp(theta, x, y):
    eta = x @ theta
    return y * eta - np.logaddexp(0, eta)


def grad(theta, x, y):
    return (y - 1 / (1 + np.exp(-x @ theta)))[:, None] * x


def test_logistic_regression_in_python(sgfs):
    own = sgfs.Model(logp, grad, dim=lambda cols: cols, names=lambda columns: columns,
                     predict=lambda theta, x: 1 / (1 + np.exp(-x @ theta)))
    options = {"sampler": "nuts", "draws": 500, "seed": 3, "prior_precision": 1,
               "standardize": False}
    mine, built_in = (sgfs.sample(m, *rows(), **options) for m in (own, "logistic"))
    assert mine.names == built_in.names
    assert np.allclose(mine.draws.mean((0, 1)), built_in.draws.mean((0, 1)), atol=0.05)
    assert np.allclose(mine.draws.std((0, 1)), built_in.draws.std((0, 1)), rtol=0.15)


def test_an_exception_has_its_traceback_and_keeps_the_draws(sgfs):
    calls = []

    def failing(theta, x, y):
        calls.append(1)
        if len(calls) > 4000:
            raise ZeroDivisionError("the first bad row")
        return grad(theta, x, y)

    own = sgfs.Model(logp, failing, dim=3)
    with pytest.raises(sgfs.DataError, match="the first bad row") as caught:
        sgfs.sample(own, *rows(), sampler="sgld", draws=100000, ess=1, thin=1, epsilon=1e-4)
    assert isinstance(caught.value.__cause__, ZeroDivisionError)
    assert caught.value.fit is not None and caught.value.fit.draws.shape[1] > 0


def test_predictions(sgfs, tmp_path):
    """Those of the callbacks are those of the built-in model for the same draws."""
    def chance(theta, x):
        return 1 / (1 + np.exp(-x @ theta))

    own = sgfs.Model(logp, grad, dim=lambda cols: cols, predict=chance,
                     draw=lambda theta, x, normal, uniform: uniform < chance(theta, x))
    fit = sgfs.sample(own, *rows(), sampler="nuts", draws=200, ess=1, seed=3)
    new = rows()[0][:7]
    ones = np.column_stack([np.ones(7), new])
    expected = (1 / (1 + np.exp(-np.einsum("cdj,ij->cdi", fit.draws, ones)))).mean((0, 1))
    assert np.allclose(fit.predict(new), expected, rtol=1e-12)
    assert set(np.unique(fit.predict(new, kind="draws"))) == {0, 1}
    fit.save(tmp_path / "own.run")
    opened = sgfs.open(tmp_path / "own.run")
    with pytest.raises(sgfs.UsageError, match="model="):
        opened.predict(new)
    assert np.array_equal(opened.predict(new, model=own), fit.predict(new))
    own.predict = lambda theta, x: 1 / 0
    with pytest.raises(sgfs.NumericalError, match="not a number") as caught:
        fit.predict(new)
    assert isinstance(caught.value.__cause__, ZeroDivisionError)
    other = sgfs.Model(logp, grad, dim=3, name="other", predict=chance)
    with pytest.raises(sgfs.UsageError, match="not with other"):
        fit.predict(new, model=other)


def test_a_compiled_file(sgfs):
    library = BUILD / "examples" / "student_t.so"
    if not library.exists():
        pytest.skip("the example is not built")
    x, _ = rows()
    y = x @ [1.0, -2.0] + np.random.default_rng(3).standard_t(4, len(x))
    fit = sgfs.sample(library, x, y, sampler="nuts", draws=200, ess=1, seed=3)
    assert np.abs(fit.predict(x) - x @ [1.0, -2.0]).max() < 1
    assert np.array_equal(fit.predict(x[:3], model=library), fit.predict(x[:3]))


def test_ctrl_c_in_a_function_returns_what_there_is(sgfs):
    calls = []

    def interrupted(theta, x, y):
        calls.append(1)
        if len(calls) == 4000:
            raise KeyboardInterrupt  # as Python's handler does it
        return grad(theta, x, y)

    own = sgfs.Model(logp, interrupted, dim=3)
    options = {"sampler": "sgld", "draws": 100000, "ess": 1, "thin": 1, "epsilon": 1e-4}
    with pytest.warns(sgfs.TrustWarning, match="stopped"):
        fit = sgfs.sample(own, *rows(), **options)
    assert 0 < fit.draws.shape[1] < 25000
    calls[:] = [1] * 3999
    with pytest.raises(KeyboardInterrupt):  # before the first draw
        sgfs.sample(own, *rows(), **options)


def test_names_are_counted_before_the_run(sgfs):
    own = sgfs.Model(logp, grad, dim=3, names=["a"])
    with pytest.raises(sgfs.UsageError, match="1 names, and the model 3"):
        sgfs.sample(own, *rows())


def test_a_wrong_shape_is_said(sgfs):
    own = sgfs.Model(lambda theta, x, y: np.zeros(3), grad, dim=3)
    with pytest.raises(sgfs.SgfsError, match="shape"):
        sgfs.sample(own, *rows(), sampler="nuts", draws=100)


def test_nan_ends_the_run(sgfs):
    own = sgfs.Model(logp, lambda theta, x, y: grad(theta, x, y) * math.nan, dim=3)
    with pytest.raises(sgfs.NumericalError):
        sgfs.sample(own, *rows(), sampler="sgld", epsilon=1e-4, draws=100, ess=1)


def test_numba(sgfs):
    numba = pytest.importorskip("numba")
    compiled = sgfs.Model(numba.njit(logp_loop), numba.njit(grad_loop), dim=lambda cols: cols)
    plain = sgfs.Model(logp_loop, grad_loop, dim=lambda cols: cols)
    options = {"sampler": "nuts", "draws": 50, "warmup": 50, "ess": 1, "seed": 3, "chains": 2,
               "prior_precision": 1}
    fits = [sgfs.sample(model, *rows(), **options) for model in (compiled, plain)]
    assert np.allclose(fits[0].draws[:, 0], fits[1].draws[:, 0], rtol=1e-6)
    wrong = sgfs.Model(numba.njit(logp_loop), numba.njit(lambda theta, x, y: x[:, :1] * 1.0), dim=3)
    with pytest.raises(sgfs.DataError, match="wrong shape"):
        sgfs.sample(wrong, *rows(), **options)


def logp_loop(theta, x, y):
    out = np.empty(len(y))
    for i in range(len(y)):
        eta = 0.0
        for j in range(len(theta)):
            eta += x[i, j] * theta[j]
        out[i] = y[i] * eta - math.log1p(math.exp(eta))
    return out


def grad_loop(theta, x, y):
    out = np.empty(x.shape)
    for i in range(len(y)):
        eta = 0.0
        for j in range(len(theta)):
            eta += x[i, j] * theta[j]
        for j in range(len(theta)):
            out[i, j] = (y[i] - 1 / (1 + math.exp(-eta))) * x[i, j]
    return out
