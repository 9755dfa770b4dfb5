# SPDX-License-Identifier: MIT
"""Estimators for scikit-learn: their numbers are those of a run, and they work where scikit-learn's
own do."""
import copy
import doctest
import pickle

import numpy as np
import pytest

pytest.importorskip("sklearn", minversion="1.6")
estimators = pytest.importorskip("sgfs.sklearn", exc_type=ImportError)

from sklearn.base import clone  # noqa: E402
from sklearn.compose import make_column_transformer  # noqa: E402
from sklearn.exceptions import NotFittedError  # noqa: E402
from sklearn.model_selection import GridSearchCV, cross_val_score  # noqa: E402
from sklearn.pipeline import make_pipeline  # noqa: E402
from sklearn.preprocessing import OneHotEncoder, StandardScaler  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(5)
    X = rng.normal(size=(400, 3)) * [1, 10, 0.1]
    eta = 0.3 + X @ [1.3, -0.1, 4]
    return {"X": X, "number": eta + rng.normal(size=400),
            "two": np.where(eta + rng.logistic(size=400) > 0, "won", "lost"),
            "three": np.digitize(eta + rng.logistic(size=400), [-1, 1]) * 10,
            "count": rng.poisson(np.exp(eta / 3))}


def test_numbers_are_those_of_a_run(sgfs, rows):
    model = estimators.BayesianLinearRegression(random_state=9).fit(rows["X"], rows["number"])
    fit = sgfs.sample("linear", rows["X"], rows["number"], seed=9)
    assert np.array_equal(model.draws_, fit.draws)
    table = fit.summary_dict()
    assert model.coef_.tolist() == [table[f"x{j}"]["mean"] for j in (1, 2, 3)]
    assert model.coef_std_.tolist() == [table[f"x{j}"]["sd"] for j in (1, 2, 3)]
    assert (model.intercept_, model.intercept_std_) == (table["intercept"]["mean"],
                                                        table["intercept"]["sd"])
    assert np.array_equal(model.predict(rows["X"]), fit.predict(rows["X"]))
    assert np.array_equal(model.predict_interval(rows["X"]),
                          fit.predict(rows["X"], kind="interval", quantiles=(0.05, 0.95)))


def test_two_classes(rows):
    model = estimators.BayesianLogisticRegression().fit(rows["X"], rows["two"])
    assert model.classes_.tolist() == ["lost", "won"]
    assert model.coef_.shape == model.coef_std_.shape == (1, 3) and model.intercept_.shape == (1,)
    proba = model.predict_proba(rows["X"])
    assert proba.shape == (400, 2) and np.allclose(proba.sum(axis=1), 1, atol=1e-12)
    assert np.array_equal(model.predict(rows["X"]) == "won", proba[:, 1] > 0.5)
    near = 1 / (1 + np.exp(-(rows["X"] @ model.coef_[0] + model.intercept_[0])))
    assert np.abs(near - proba[:, 1]).max() < 0.02
    low, high = np.moveaxis(model.predict_interval(rows["X"], level=0.9), -1, 0)
    assert low.shape == (400, 2) and ((low < proba) & (proba < high)).all()
    assert 0.6 < model.score(rows["X"], rows["two"]) < 1


def test_more_classes_are_a_softmax(rows):
    model = estimators.BayesianLogisticRegression().fit(rows["X"], rows["three"])
    assert model.classes_.tolist() == [0, 10, 20] and model.coef_.shape == (3, 3)
    assert (model.coef_[0] == 0).all() and model.intercept_[0] == 0
    eta = np.exp(rows["X"] @ model.coef_.T + model.intercept_)
    near = eta / eta.sum(axis=1, keepdims=True)
    assert np.abs(near - model.predict_proba(rows["X"])).max() < 0.05


def test_no_intercept(rows):
    model = estimators.BayesianLinearRegression(fit_intercept=False).fit(rows["X"], rows["number"])
    assert model.coef_.shape == (3,) and model.intercept_ == 0 and model.draws_.shape[2] == 4


def test_counts_with_exposure(sgfs, rows):
    pandas = pytest.importorskip("pandas")
    years = np.random.default_rng(1).uniform(1, 3, 400)
    frame = pandas.DataFrame(rows["X"], columns=["a", "b", "c"])
    for X in (rows["X"], frame):
        model = estimators.BayesianPoissonRegression().fit(X, rows["count"], exposure=years)
        once = model.predict(X, exposure=np.ones(400))
        assert np.allclose(model.predict(X, exposure=years), once * years, rtol=1e-10)
        assert 0 < model.score(X, rows["count"], exposure=years) < 1
        with pytest.raises(sgfs.UsageError, match="exposure=, to score"):
            model.score(X, rows["count"])
        assert model.predict_interval(X[:5], exposure=years[:5]).shape == (5, 2)
        assert model.coef_.shape == (3,)
    with pytest.raises(sgfs.SgfsError, match="exposure"):
        model.predict(frame)


@pytest.mark.parametrize("kind, target", [("BayesianLogisticRegression", "two"),
                                          ("BayesianLogisticRegression", "three"),
                                          ("BayesianPoissonRegression", "count"),
                                          ("BayesianLinearRegression", "number")])
def test_weights_are_copies(rows, kind, target):
    """The prior is named, because that made for the columns counts rows and not copies."""
    weights = np.random.default_rng(2).integers(0, 3, 400)
    make = getattr(estimators, kind)
    options = dict(prior="gaussian", prior_precision=0.5, draws=4000)
    one = make(random_state=1, **options).fit(rows["X"], rows[target], sample_weight=weights)
    other = make(random_state=2, **options).fit(rows["X"].repeat(weights, 0),
                                                rows[target].repeat(weights))
    a, b = (m.posterior_.summary_dict() for m in (one, other))
    far = [abs(a[n]["mean"] - b[n]["mean"]) / np.hypot(a[n]["mcse"], b[n]["mcse"]) for n in a]
    assert max(far) < 4
    whole = make(random_state=1, **options).fit(rows["X"], rows[target])
    assert not np.allclose(whole.coef_, one.coef_, rtol=1e-3)


def test_pickled_cloned_and_copied(rows):
    model = estimators.BayesianLogisticRegression(random_state=4).fit(rows["X"], rows["two"])
    expected = model.predict_proba(rows["X"])
    for other in (pickle.loads(pickle.dumps(model)), copy.deepcopy(model)):
        assert np.array_equal(other.predict_proba(rows["X"]), expected)
        assert np.array_equal(other.draws_, model.draws_)
    fresh = clone(model)
    with pytest.raises(NotFittedError):
        fresh.predict(rows["X"])
    with pytest.raises(NotFittedError):
        fresh.draws_
    assert np.array_equal(fresh.fit(rows["X"], rows["two"]).coef_, model.coef_)


def test_named_columns_and_pipelines(sgfs, people):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(people[0])
    X, y = frame[["age", "city", "visits"]], frame["bought"]
    coded = make_column_transformer((OneHotEncoder(sparse_output=False, drop="first"), ["city"]),
                                    (StandardScaler(), ["age", "visits"]),
                                    verbose_feature_names_out=False)
    pipe = make_pipeline(coded, estimators.BayesianLogisticRegression())
    pipe.set_output(transform="pandas").fit(X, y)
    model = pipe[-1]
    assert list(model.feature_names_in_) == ["city_Lyon", "city_Oslo", "city_São Paulo", "age",
                                             "visits"]
    assert model.posterior_.names == ("intercept", *model.feature_names_in_)
    assert model.coef_[0, 3] == model.posterior_.summary_dict()["age"]["mean"]
    proba = pipe.predict_proba(X)
    plain = make_pipeline(coded.set_output(transform="default"),
                          estimators.BayesianLogisticRegression()).fit(X, y)
    assert np.array_equal(plain.predict_proba(X), proba)
    assert not hasattr(plain[-1], "feature_names_in_")
    assert len(cross_val_score(pipe, X, y, cv=3)) == 3


@pytest.mark.parametrize("names", [["0", "1", "2"], ["a,b", 'c "d"', "e;f"], ["y", " x ", "N\nA"]])
def test_any_names(rows, names):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(rows["X"], columns=names)
    model = estimators.BayesianLinearRegression().fit(frame, rows["number"])
    plain = estimators.BayesianLinearRegression().fit(rows["X"], rows["number"])
    assert np.array_equal(model.predict(frame), plain.predict(rows["X"]))


def test_search(rows):
    search = GridSearchCV(estimators.BayesianLogisticRegression(prior="gaussian"),
                          {"prior_precision": [1e-2, 1e6]}, cv=3, scoring="neg_log_loss")
    assert search.fit(rows["X"], rows["two"]).best_params_ == {"prior_precision": 1e-2}


def test_sparse_rows(rows, monkeypatch):
    scipy_sparse = pytest.importorskip("scipy.sparse")
    monkeypatch.setattr(estimators, "SPARSE_ROWS", 150)
    X = np.where(np.abs(rows["X"]) > 0.5, rows["X"], 0)
    dense = estimators.BayesianLinearRegression().fit(X, rows["number"])
    sparse = estimators.BayesianLinearRegression().fit(scipy_sparse.csc_array(X), rows["number"])
    assert np.allclose(sparse.predict(scipy_sparse.csr_matrix(X)), dense.predict(X), atol=0.05)
    assert np.array_equal(dense.predict(scipy_sparse.csr_matrix(X)), dense.predict(X))


def test_networks(rows):
    size = dict(draws=60, warmup=100, chains=2, activation="tanh", random_state=1)
    model = estimators.BayesianMLPClassifier((4,), **size).fit(rows["X"], rows["three"])
    assert model.posterior_.header["model"] == "mlp"
    assert model.predict_proba(rows["X"]).shape == (400, 3)
    assert model.score(rows["X"], rows["three"]) > 0.5
    line = estimators.BayesianMLPRegressor((), **size).fit(rows["X"], rows["number"])
    assert line.draws_.shape[2] == 3 + 1 + 1
    assert line.score(rows["X"], rows["number"]) > 0.5


def test_mistakes_are_answered(sgfs, rows):
    with pytest.raises(sgfs.UsageError, match="ess"):
        estimators.BayesianLinearRegression(options={"es": 100}).fit(rows["X"], rows["number"])
    with pytest.raises(sgfs.UsageError, match="random_state is seed"):
        estimators.BayesianLinearRegression(options={"seed": 1}).fit(rows["X"], rows["number"])
    with pytest.raises(sgfs.DataError, match="counts"):
        estimators.BayesianPoissonRegression().fit(rows["X"], rows["number"])
    with pytest.raises(sgfs.DataError, match="no noise to estimate"):
        estimators.BayesianLinearRegression().fit(rows["X"], rows["X"][:, 0])
    model = estimators.BayesianLinearRegression(options={"ess": 100}).fit(rows["X"], rows["number"])
    with pytest.raises(sgfs.UsageError, match="level"):
        model.predict_interval(rows["X"], level=90)


def test_examples_in_docstrings():
    failed, tried = doctest.testmod(estimators)
    assert tried > 0 and failed == 0
