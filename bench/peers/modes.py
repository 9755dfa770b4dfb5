# SPDX-License-Identifier: MIT
"""Time to the mode of logistic regression with prior N(0, 1): scikit-learn (two solvers), statsmodels (no prior) and glum.
Reading is not counted; making 0 and 1 of words is."""
import numpy as np

from peer import arguments, now, say

args = arguments(__doc__)


def read():
    """X without the column of ones, and the labels."""
    if args.sparse:
        from sklearn.datasets import load_svmlight_file
        X, y = load_svmlight_file(args.data)
        return X.tocsr(), (y > 0).astype(float)
    if args.words:
        import pandas
        table = pandas.read_csv(args.data)
        return table.iloc[:, :-1], table.iloc[:, -1].to_numpy(float)
    table = np.load(args.data)
    return np.ascontiguousarray(table[:, :-1]), table[:, -1]


def attempt(name, fit):
    """The best of three, or of one that takes long."""
    best = np.inf
    try:
        for _ in range(3):
            begin = now()
            fit()
            best = min(best, now() - begin)
            if best > args.seconds / 6:
                break
        say(name, best, "s")
    except Exception as reason:  # whatever a package has to say is the row
        say(name, note=f"failed: {type(reason).__name__}: {str(reason)[:100]}")


def sklearn(solver):
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline

    def fit():
        model = LogisticRegression(C=1.0, solver=solver, max_iter=1000, tol=1e-6)
        if args.words:
            from sklearn.compose import make_column_selector, make_column_transformer
            from sklearn.preprocessing import OneHotEncoder
            hot = make_column_transformer((OneHotEncoder(drop="first"), make_column_selector(dtype_exclude=np.number)),
                                          remainder="passthrough")
            model = make_pipeline(hot, model)
        model.fit(X, y)
    return fit


def statsmodels():
    import statsmodels.api as sm
    sm.Logit(y, sm.add_constant(X)).fit(disp=0)


def glum():
    from glum import GeneralizedLinearRegressor
    table = X
    if args.words:
        table = X.astype({c: "category" for c in X.columns if X[c].dtype.kind not in "fi"})
    GeneralizedLinearRegressor(family="binomial", alpha=1 / len(y), l1_ratio=0, gradient_tol=1e-6, drop_first=True).fit(table, y)


X, y = read()
attempt("scikit-learn lbfgs, mode", sklearn("lbfgs"))
attempt("scikit-learn newton-cholesky, mode", sklearn("newton-cholesky"))
if not (args.sparse or args.words):
    attempt("statsmodels Logit, mode", statsmodels)
attempt("glum, mode", glum)
