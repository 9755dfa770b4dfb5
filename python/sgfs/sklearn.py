# SPDX-License-Identifier: MIT
"""Estimators of scikit-learn over `sgfs.sample`: regressions and networks with their uncertainty.

    from sgfs.sklearn import BayesianLogisticRegression
    model = BayesianLogisticRegression().fit(X, y)
    model.predict_proba(new)          # averaged over the posterior, not at its mode
    model.coef_, model.coef_std_      # posterior means and standard deviations

scikit-learn (1.6 or newer) is imported by this module only. Its checks of rows come from there;
draws, coefficients and predictions come from the C library. A fitted estimator keeps its run and
not its rows, so that pickling it writes the run file's bytes.
"""

from __future__ import annotations

from typing import Any, Iterator

import numpy as np

from ._errors import UsageError
from ._fit import Draws, Fit
from ._sample import sample

try:
    from sklearn.base import (  # type: ignore[import-not-found,import-untyped,unused-ignore]
        BaseEstimator, ClassifierMixin, RegressorMixin)
    from sklearn.metrics import (  # type: ignore[import-not-found,import-untyped,unused-ignore]
        d2_tweedie_score)
    from sklearn.utils import (  # type: ignore[import-not-found,import-untyped,unused-ignore]
        check_random_state)
    from sklearn.utils.multiclass import (  # type: ignore[import-not-found,import-untyped,unused-ignore]
        check_classification_targets)
    from sklearn.utils.validation import (  # type: ignore[import-not-found,import-untyped,unused-ignore]
        _check_sample_weight, check_is_fitted, column_or_1d, validate_data)
except ImportError as error:
    raise ImportError(f"sgfs.sklearn needs scikit-learn 1.6 or newer ({error}): "
                      "pip install -U scikit-learn") from error

__all__ = ["BayesianLinearRegression", "BayesianLogisticRegression", "BayesianMLPClassifier",
           "BayesianMLPRegressor", "BayesianPoissonRegression"]

SPARSE_ROWS = 8192  # of a sparse matrix are filled up together, for predictions

PARAMETERS = """
    Parameters
    ----------
    prior : "auto" (made for the columns), "gaussian", "laplace", "student-t" or "flat"
    prior_precision : 1/scale^2 of the prior of every parameter, or None: as the prior has it
    fit_intercept : is there an intercept?
    standardize : sample on standardised columns (and target); coefficients stay on your scale
    sampler : "auto" or one of `sgfs.samplers()`
    draws, warmup, chains : None: as many draws as the effective sample size asks for
    random_state : a number is the library's seed; None is its default seed, the same each time
    n_jobs : threads; None: all cores. The numbers do not depend on it
    options : any other options of `sgfs.sample`, as a dict

    Attributes
    ----------
    posterior_ : the `sgfs.Fit`: summary, verdict, audit, export
    draws_ : chains x draws x parameters
    n_features_in_, feature_names_in_ : as in scikit-learn"""
LINEAR = """
    coef_, intercept_ : posterior means
    coef_std_, intercept_std_ : posterior standard deviations"""


class _Posterior(BaseEstimator):  # type: ignore[misc,unused-ignore]
    """What all have in common: rows are checked, sampled, and predicted from."""

    posterior_: Fit

    def __init__(self, *, prior: str = "auto", prior_precision: Any = None,
                 fit_intercept: bool = True, standardize: bool = False, sampler: str = "auto",
                 draws: int | None = None, warmup: int | None = None, chains: int = 4,
                 random_state: Any = None, n_jobs: int | None = None,
                 options: dict[str, Any] | None = None) -> None:
        self.prior = prior
        self.prior_precision = prior_precision
        self.fit_intercept = fit_intercept
        self.standardize = standardize
        self.sampler = sampler
        self.draws = draws
        self.warmup = warmup
        self.chains = chains
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.options = options

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def _rows(self, X: Any, **more: Any) -> Any:
        return validate_data(self, X, accept_sparse="csr", dtype=(np.float64, np.float32), **more)

    def _names(self) -> list[str] | None:
        """The columns' names, with single spaces inside and none around them, as in any table."""
        names = getattr(self, "feature_names_in_", None)
        return None if names is None else [" ".join(name.split()) for name in names]

    def _options(self) -> dict[str, Any]:
        """The options of `sgfs.sample` that the parameters stand for."""
        seed, jobs = self.random_state, self.n_jobs
        if seed is not None and not isinstance(seed, (int, np.integer)):
            seed = check_random_state(seed).randint(2**31 - 1)
        own = {"prior": self.prior, "prior_precision": self.prior_precision,
               "intercept": self.fit_intercept, "standardize": self.standardize,
               "sampler": self.sampler, "draws": self.draws, "warmup": self.warmup,
               "chains": self.chains, "seed": seed, "threads": None if jobs == -1 else jobs}
        given = dict(self.options or {})
        twice = sorted(own.keys() & given.keys())
        if twice:
            raise UsageError(f"options: {twice[0]} is a parameter of {type(self).__name__}; "
                             "random_state is seed, n_jobs threads, fit_intercept intercept.")
        return {"progress": False, **own, **given}

    def _sample(self, model: str, X: Any, y: Any, sample_weight: Any, **options: Any) -> Any:
        if sample_weight is not None:
            options["weights"] = _check_sample_weight(sample_weight, X, dtype=np.float64,
                                                      ensure_non_negative=True)
        self.posterior_ = sample(model, X, y, names=self._names(), **options, **self._options())
        self.posterior_._origin = None  # the rows are the caller's
        return self

    def _predicted(self, X: Any, **how: Any) -> Any:
        """Predictions of the run for rows of any kind."""
        check_is_fitted(self)
        X = self._rows(X, reset=False)
        names = self._names()
        if names is not None:
            how.update(target="none", header="yes", delimiter=",")
        found = []
        for some in _dense(X):
            rows = some if names is None else dict(zip(names, some.T))
            found.append(self.posterior_.predict(rows, progress=False, **how))
        return found[0] if len(found) == 1 else np.concatenate(found)

    @property
    def draws_(self) -> Draws:
        check_is_fitted(self)
        return self.posterior_.draws

    def predict_interval(self, X: Any, level: float = 0.9, **beside: Any) -> Any:
        """The central interval that has this probability: rows x 2 for a new target that is a
        number; rows x classes x 2 for the probability of each class, given the data. Beside the
        rows of a Poisson regression there may be their exposure."""
        if not 0 < level < 1:
            raise UsageError(f"level lies between 0 and 1, and is {level}.")
        low = round((1 - level) / 2, 12)
        return self._predicted(X, kind="interval", quantiles=(low, round(1 - low, 12)),
                               **beside)


def _dense(X: Any) -> Iterator[Any]:
    """The rows; of a sparse matrix some at a time, filled up."""
    if not hasattr(X, "tocsr"):
        yield X
        return
    for first in range(0, X.shape[0], SPARSE_ROWS):
        yield X[first:first + SPARSE_ROWS].toarray()


class _Classifier(ClassifierMixin, _Posterior):  # type: ignore[misc,unused-ignore]
    classes_: Any

    def _encoded(self, X: Any, y: Any) -> tuple[Any, Any]:
        """Rows, and the number of each target's class."""
        X, y = self._rows(X, y=y, ensure_min_samples=2)
        check_classification_targets(y)
        self.classes_, codes = np.unique(column_or_1d(y, warn=True), return_inverse=True)
        if len(self.classes_) < 2:
            raise ValueError(f"{type(self).__name__} needs two classes or more, and the target has "
                             f"one class: {self.classes_[0]!r}.")
        return X, codes.astype(np.float64)

    def predict_proba(self, X: Any) -> Any:
        """The probability of each class, averaged over the draws: rows x classes."""
        return self._predicted(X)

    def predict_log_proba(self, X: Any) -> Any:
        return np.log(self.predict_proba(X))

    def predict(self, X: Any) -> Any:
        """The most probable class of each row."""
        most = np.argmax(self.predict_proba(X), axis=1)
        return self.classes_[most]


class _Regressor(RegressorMixin, _Posterior):  # type: ignore[misc,unused-ignore]

    def _numbers(self, X: Any, y: Any) -> tuple[Any, Any]:
        X, y = self._rows(X, y=y, y_numeric=True, ensure_min_samples=2)
        return X, column_or_1d(y, warn=True).astype(np.float64)

    def predict(self, X: Any) -> Any:
        """The mean of each row's target, averaged over the draws."""
        return self._predicted(X)


class _Linear(_Posterior):
    """Coefficients of columns, read from the run's summary."""

    coef_: Any
    coef_std_: Any
    intercept_: Any
    intercept_std_: Any

    def _sample(self, model: str, X: Any, y: Any, sample_weight: Any, **options: Any) -> Any:
        super()._sample(model, X, y, sample_weight, **options)
        beta = self.posterior_.header["blocks"][0]
        rows = self.posterior_.report_json["params"][:beta["rows"] * beta["cols"]]
        for field, ending in (("mean", ""), ("sd", "_std")):
            table = np.array([row[field] for row in rows], dtype=np.float64)
            table = table.reshape(beta["rows"], beta["cols"])
            first = table[:, 0] if self.fit_intercept else np.zeros(len(table))
            setattr(self, f"coef{ending}_", table[:, 1:] if self.fit_intercept else table)
            setattr(self, f"intercept{ending}_", first)
        return self

    def _one_target(self) -> Any:
        """One row of coefficients has the shape that scikit-learn gives to a number's."""
        for ending in ("_", "_std_"):
            setattr(self, f"coef{ending}", getattr(self, f"coef{ending}")[0])
            setattr(self, f"intercept{ending}", float(getattr(self, f"intercept{ending}")[0]))
        return self


class BayesianLogisticRegression(_Classifier, _Linear):
    __doc__ = f"""Logistic regression; of more than two classes the softmax.

    >>> import numpy as np
    >>> from sgfs.sklearn import BayesianLogisticRegression
    >>> rng = np.random.default_rng(1)
    >>> X = rng.normal(size=(2000, 2))
    >>> y = np.where(X @ [1.0, -2.0] + rng.logistic(size=2000) > 0, "yes", "no")
    >>> model = BayesianLogisticRegression(random_state=3).fit(X, y)
    >>> model.coef_.round(), model.classes_.tolist()
    (array([[ 1., -2.]]), ['no', 'yes'])
    >>> model.predict([[1.0, -1.0]]).tolist(), bool(model.predict_proba([[1.0, -1.0]])[0, 1] > 0.9)
    (['yes'], True)

    coef_ has one row of two classes, as in scikit-learn. Of more it has a row for each class: the
    difference to the first class, whose own row is 0, because only differences have an answer.
    {PARAMETERS}{LINEAR}
    classes_ : the target's classes, in the order of predict_proba
    """

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> BayesianLogisticRegression:
        """Samples. A row of weight w is w copies of that row."""
        X, codes = self._encoded(X, y)
        several = len(self.classes_) > 2
        self._sample("softmax" if several else "logistic", X, codes, sample_weight)
        if several:
            for name in ("coef_", "coef_std_", "intercept_", "intercept_std_"):
                table = getattr(self, name)
                setattr(self, name, np.concatenate([np.zeros_like(table[:1]), table]))
        return self


class BayesianLinearRegression(_Regressor, _Linear):
    __doc__ = f"""Linear regression with Gaussian noise of unknown size.

    >>> import numpy as np
    >>> from sgfs.sklearn import BayesianLinearRegression
    >>> rng = np.random.default_rng(1)
    >>> X = rng.normal(size=(500, 2))
    >>> y = 3 + X @ [1.0, -2.0] + 0.5 * rng.normal(size=500)
    >>> model = BayesianLinearRegression(random_state=3).fit(X, y)
    >>> model.coef_.round(1).tolist(), round(model.intercept_, 1)
    ([1.0, -2.0], 3.0)
    >>> low, high = model.predict_interval(X, level=0.8).T
    >>> bool(0.75 < np.mean((low < y) & (y < high)) < 0.85)
    True
    {PARAMETERS}{LINEAR}
    """

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> BayesianLinearRegression:
        """Samples. A row of weight w is w copies of that row."""
        self._sample("linear", *self._numbers(X, y), sample_weight)
        self._one_target()
        return self


class BayesianPoissonRegression(_Regressor, _Linear):
    __doc__ = f"""Counts 0, 1, 2, ... with log mean linear in the columns.

    >>> import numpy as np
    >>> from sgfs.sklearn import BayesianPoissonRegression
    >>> rng = np.random.default_rng(1)
    >>> X, years = rng.normal(size=(2000, 1)), rng.uniform(1, 5, size=2000)
    >>> claims = rng.poisson(years * np.exp(-1 + 0.5 * X[:, 0]))
    >>> model = BayesianPoissonRegression(random_state=3).fit(X, claims, exposure=years)
    >>> model.coef_.round(1).tolist(), round(model.intercept_, 1)
    ([0.5], -1.0)
    >>> model.predict([[0.0]], exposure=[20.0]).round(-1).tolist()
    [10.0]

    With an exposure (time, size, population) the mean is a rate times exposure, and predictions
    need the exposure of their rows. `score` is the share of deviance explained, as that of
    scikit-learn's PoissonRegressor.
    {PARAMETERS}{LINEAR}
    """

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.positive_only = True
        return tags

    def fit(self, X: Any, y: Any, sample_weight: Any = None,
            exposure: Any = None) -> BayesianPoissonRegression:
        """Samples. A row of weight w is w copies of that row."""
        self._sample("poisson", *self._numbers(X, y), sample_weight, exposure=exposure)
        self._has_exposure = exposure is not None
        self._one_target()
        return self

    def _predicted(self, X: Any, exposure: Any = None, **how: Any) -> Any:
        if exposure is None:
            if getattr(self, "_has_exposure", False):
                raise UsageError("The model was fitted with an exposure: pass that of these rows, as "
                                 "exposure=, to score, predict and predict_interval.")
            return super()._predicted(X, **how)
        if hasattr(X, "tocsr"):
            X = X.toarray()
        return super()._predicted(X, exposure=np.asarray(exposure, dtype=np.float64), **how)

    def predict(self, X: Any, exposure: Any = None) -> Any:
        """The mean of each row's count, averaged over the draws."""
        return self._predicted(X, exposure)

    def score(self, X: Any, y: Any, sample_weight: Any = None, exposure: Any = None) -> float:
        """The share of the deviance that the predictions explain (D^2)."""
        return float(d2_tweedie_score(y, self.predict(X, exposure), sample_weight=sample_weight,
                                      power=1))


class _Network(_Posterior):
    """A network of hidden layers; its single weights mean nothing, and have no attributes."""

    def __init__(self, hidden_layer_sizes: Any = (30,), *, activation: str = "logistic",
                 prior: str = "auto", prior_precision: Any = None, fit_intercept: bool = True,
                 standardize: bool = False, sampler: str = "auto", draws: int | None = None,
                 warmup: int | None = None, chains: int = 4, random_state: Any = None,
                 n_jobs: int | None = None, options: dict[str, Any] | None = None) -> None:
        super().__init__(prior=prior, prior_precision=prior_precision, fit_intercept=fit_intercept,
                         standardize=standardize, sampler=sampler, draws=draws, warmup=warmup,
                         chains=chains, random_state=random_state, n_jobs=n_jobs, options=options)
        self.hidden_layer_sizes = hidden_layer_sizes
        self.activation = activation

    def _options(self) -> dict[str, Any]:
        sizes = self.hidden_layer_sizes
        hidden = "none" if not isinstance(sizes, (int, str, np.integer)) and not len(sizes) else sizes
        return {"hidden": hidden, "activation": self.activation, **super()._options()}


class BayesianMLPClassifier(_Classifier, _Network):
    __doc__ = f"""A network whose last layer is a softmax over the classes.

    hidden_layer_sizes are the units of each hidden layer, and activation is "logistic", "tanh" or
    "relu". Networks have many modes: chains draw around those they find, and predictions averaged
    over the draws are what can be trusted (docs/models.md).
    {PARAMETERS}
    classes_ : the target's classes, in the order of predict_proba
    """

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> BayesianMLPClassifier:
        """Samples. A row of weight w is w copies of that row."""
        X, codes = self._encoded(X, y)
        self._sample("mlp", X, codes, sample_weight, output="softmax")
        return self


class BayesianMLPRegressor(_Regressor, _Network):
    __doc__ = f"""A network with one output, the mean of a Gaussian with noise of unknown size.

    hidden_layer_sizes are the units of each hidden layer, and activation is "logistic", "tanh" or
    "relu". Networks have many modes: chains draw around those they find, and predictions averaged
    over the draws are what can be trusted (docs/models.md).
    {PARAMETERS}
    """

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> BayesianMLPRegressor:
        """Samples. A row of weight w is w copies of that row."""
        self._sample("mlp", *self._numbers(X, y), sample_weight, output="gaussian")
        return self
