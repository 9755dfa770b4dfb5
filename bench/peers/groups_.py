# SPDX-License-Identifier: MIT
"""statsmodels, GPBoost, NumPyro and bambi on one table of groups.py:  groups_.py PACKAGE DATA SPECIFICATION

The specification is a file of JSON: model, target, failures (of counts, or null), features, and terms, each with a factor and
slopes. One line of JSON is printed: estimates by the names that sgfs gives them, with standard errors or posterior standard
deviations where the package has them, and the seconds of the fit without reading and, for NumPyro, with compiling."""
import json
import pathlib
import sys
import time
from importlib import metadata

import numpy as np


def read(path, spec):
    """Columns by name. A .npy file has those names that sgfs gives them."""
    if path.suffix == ".npy":
        table = np.load(path, mmap_mode="r")
        names = [*(f"x{j + 1}" for j in range(table.shape[1] - 1)), "y"]
        columns = {name: np.asarray(table[:, j]) for j, name in enumerate(names)}
    else:
        import csv
        with open(path) as file:
            head, *rows = csv.reader(file)
        columns = dict(zip(head, map(np.array, zip(*rows))))
    groups = {t["factor"]: np.unique(columns[t["factor"]], return_inverse=True)[1] for t in spec["terms"]}
    numbers = {name: np.array(columns[name], float) for name in
               {*spec["features"], spec["target"], *filter(None, [spec["failures"]])}}
    return numbers, groups


def single_rows(numbers, groups, spec):
    """Counts as rows of 0 and 1, for packages without a binomial likelihood."""
    if not spec["failures"]:
        return numbers, groups
    yes, no = (numbers[spec[k]].astype(int) for k in ("target", "failures"))
    index = np.repeat(np.arange(len(yes)), yes + no)
    y = np.concatenate([np.r_[np.ones(a), np.zeros(b)] for a, b in zip(yes, no)])
    return {**{k: v[index] for k, v in numbers.items()}, spec["target"]: y}, {k: v[index] for k, v in groups.items()}


def design(numbers, spec):
    return np.column_stack([np.ones(len(numbers[spec["target"]])), *(numbers[f] for f in spec["features"])])


def with_names(names, values, errors=None):
    return {n: [float(v), float(e) if e is not None and np.isfinite(e) else None]
            for n, v, e in zip(names, values, errors if errors is not None else [None] * len(names))}


# ---- the packages: estimates and a remark

def statsmodels(numbers, groups, spec):
    from statsmodels.genmod.bayes_mixed_glm import BinomialBayesMixedGLM, PoissonBayesMixedGLM
    from statsmodels.regression.mixed_linear_model import MixedLM

    numbers, groups = single_rows(numbers, groups, spec)
    X, y, names = design(numbers, spec), numbers[spec["target"]], ["intercept", *spec["features"]]
    terms = spec["terms"]
    if spec["model"] != "linear":
        from scipy.sparse import csr_matrix, hstack
        blocks = [csr_matrix((np.ones(len(y)), (np.arange(len(y)), groups[t["factor"]]))) for t in terms]
        ident = np.repeat(np.arange(len(terms)), [b.shape[1] for b in blocks])
        kind = BinomialBayesMixedGLM if spec["model"] == "logistic" else PoissonBayesMixedGLM
        fit = kind(y, X, hstack(blocks).tocsr(), ident, vcp_p=1, fe_p=10).fit_vb()
        scales = with_names([f"sd_{t['factor']}[intercept]" for t in terms], np.exp(fit.vcp_mean))
        return {**with_names(names, fit.fe_mean, fit.fe_sd), **scales}, "variational Bayes, priors N(0, 10), N(0, 1) of log sd"
    if len(terms) == 1:
        slopes = terms[0]["slopes"]
        Z = np.column_stack([np.ones(len(y)), *(numbers[s] for s in slopes)])
        fit = MixedLM(y, X, groups[terms[0]["factor"]], Z).fit()
        C, factor = np.asarray(fit.cov_re), terms[0]["factor"]
        sd = np.sqrt(np.diag(C))
        found = with_names([f"sd_{factor}[{e}]" for e in ["intercept", *slopes]], sd)
        if slopes:
            found[f"cor_{factor}[intercept,{slopes[0]}]"] = [float(C[0, 1] / sd[0] / sd[1]), None]
    else:  # crossed groups are variance components of one group, which holds every row
        from scipy.sparse import csr_matrix
        from statsmodels.regression.mixed_linear_model import VCSpec
        one = [csr_matrix((np.ones(len(y)), (np.arange(len(y)), groups[t["factor"]]))) for t in terms]
        labels = [[[str(k) for k in range(z.shape[1])]] for z in one]
        vc = VCSpec([t["factor"] for t in terms], labels, [[z] for z in one])
        fit = MixedLM(y, X, np.zeros(len(y)), exog_vc=vc).fit()
        found = with_names([f"sd_{t['factor']}[intercept]" for t in terms], np.sqrt(fit.vcomp))
    k = len(names)
    return {**with_names(names, fit.fe_params, np.asarray(fit.bse)[:k]), **found, "sigma": [float(np.sqrt(fit.scale)), None]}, "REML"


def gpboost(numbers, groups, spec):
    import gpboost as gpb

    numbers, groups = single_rows(numbers, groups, spec)
    X, y, names = design(numbers, spec), numbers[spec["target"]], ["intercept", *spec["features"]]
    factors = [t["factor"] for t in spec["terms"]]
    slopes = [(numbers[s], 1 + factors.index(t["factor"]), t["factor"], s) for t in spec["terms"] for s in t["slopes"]]
    more = {"group_rand_coef_data": np.column_stack([s[0] for s in slopes]),
            "ind_effect_group_rand_coef": [s[1] for s in slopes]} if slopes else {}
    likelihood = {"linear": "gaussian", "logistic": "bernoulli_logit", "poisson": "poisson"}[spec["model"]]
    fit = gpb.GPModel(group_data=np.column_stack([groups[f] for f in factors]), likelihood=likelihood, **more)
    fit.fit(y=y, X=X)
    beta = np.asarray(fit.get_coef(std_err=True, format_pandas=False))
    cov = np.asarray(fit.get_cov_pars(format_pandas=False))
    variance = np.sqrt(np.ravel(cov[0] if cov.ndim > 1 else cov))
    scales = [f"sd_{f}[intercept]" for f in factors] + [f"sd_{s[2]}[{s[3]}]" for s in slopes]
    found = dict(zip((["sigma"] if spec["model"] == "linear" else []) + scales, [[float(v), None] for v in variance]))
    return {**with_names(names, *beta[:2]), **found}, "slopes independent" if slopes else ""


def numpyro(numbers, groups, spec):
    """The priors of sgfs (docs/models.md, docs/groups.md); effects as scaled standard normals."""
    import jax
    import numpyro
    numpyro.enable_x64()
    import jax.numpy as jnp
    import numpyro.distributions as dist
    from numpyro.diagnostics import effective_sample_size, gelman_rubin
    from numpyro.infer import MCMC, NUTS

    X, y = design(numbers, spec), numbers[spec["target"]]
    total = y + numbers[spec["failures"]] if spec["failures"] else np.ones(len(y))
    middle, spread = np.average(X[:, 1:], 0, total), np.sqrt(np.cov(X[:, 1:].T, fweights=total.astype(int)).reshape(X.shape[1] - 1, -1)
                                                            .diagonal()) if X.shape[1] > 1 else np.ones(0)
    binary = np.all((X[:, 1:] == 0) | (X[:, 1:] == 1), 0)
    unit, centre = (y.std(ddof=1), y.mean()) if spec["model"] == "linear" else (1.0, 0.0)
    sd_beta = 2.5 * unit / np.where(binary, 1, spread)
    of_slope = dict(zip(spec["features"], sd_beta))
    Xc, group = jnp.asarray(X[:, 1:] - middle), {k: jnp.asarray(v) for k, v in groups.items()}

    def model():
        at_means = numpyro.sample("at_means", dist.Normal(centre, 2.5 * unit))
        beta = numpyro.sample("beta", dist.Normal(0, jnp.asarray(sd_beta)).to_event(1))
        numpyro.deterministic("intercept", at_means - jnp.asarray(middle) @ beta)
        eta = at_means + Xc @ beta
        for t in spec["terms"]:
            f, q = t["factor"], 1 + len(t["slopes"])
            scale = jnp.asarray([2.5 * unit, *(of_slope[s] for s in t["slopes"])])
            sd = numpyro.sample(f"sd_{f}", dist.HalfNormal(scale).to_event(1))
            raw = numpyro.sample(f"raw_{f}", dist.Normal(0, 1).expand([int(groups[f].max()) + 1, q]).to_event(2))
            L = jnp.eye(q)
            if q > 1:
                L = numpyro.sample(f"L_{f}", dist.LKJCholesky(q, 1.0))
                numpyro.deterministic(f"cor_{f}", L[1, 0])
            u = raw @ (sd[:, None] * L).T
            eta = eta + u[group[f], 0]
            for j, s in enumerate(t["slopes"]):
                eta = eta + u[group[f], j + 1] * jnp.asarray(numbers[s])
        if spec["model"] == "linear":
            sigma = numpyro.sample("log_sigma", dist.Normal(np.log(unit), 3))
            numpyro.deterministic("sigma", jnp.exp(sigma))
            numpyro.sample("y", dist.Normal(eta, jnp.exp(sigma)), obs=y)
        elif spec["model"] == "logistic":
            numpyro.sample("y", dist.Binomial(total.astype(int), logits=eta), obs=y.astype(int))
        else:
            numpyro.sample("y", dist.Poisson(jnp.exp(eta)), obs=y)

    kept = ["intercept", "beta", *(["sigma"] if spec["model"] == "linear" else [])]
    kept += [n for t in spec["terms"] for n in [f"sd_{t['factor']}", *([f"cor_{t['factor']}"] if t["slopes"] else [])]]
    mcmc = MCMC(NUTS(model, target_accept_prob=0.9), num_warmup=500, num_samples=500, num_chains=2, progress_bar=False)
    mcmc.run(jax.random.key(1))
    draws = {k: np.asarray(v) for k, v in mcmc.get_samples(group_by_chain=True).items() if k in kept}
    ess = min(float(np.min(effective_sample_size(v))) for v in draws.values())
    r_hat = max(float(np.max(gelman_rubin(v))) for v in draws.values())
    flat = {"intercept": draws["intercept"], **{f: draws["beta"][..., j] for j, f in enumerate(spec["features"])}}
    for t in spec["terms"]:
        f = t["factor"]
        for j, s in enumerate(["intercept", *t["slopes"]]):
            flat[f"sd_{f}[{s}]"] = draws[f"sd_{f}"][..., j]
        if t["slopes"]:
            flat[f"cor_{f}[intercept,{t['slopes'][0]}]"] = draws[f"cor_{f}"]
    if "sigma" in draws:
        flat["sigma"] = draws["sigma"]
    return {k: [float(v.mean()), float(v.std())] for k, v in flat.items()}, f"2 x (500 + 500): ESS {ess:.0f}, R-hat {r_hat:.2f}"


def bambi(numbers, groups, spec):
    """Its own priors; slopes and intercepts of a group are independent. NUTS is NumPyro's, which is the fastest it has."""
    import arviz
    import bambi as bmb
    import pandas

    y = numbers[spec["target"]]
    table = pandas.DataFrame({**{f: numbers[f] for f in spec["features"]}, **{k: [f"g{c}" for c in v] for k, v in groups.items()}, "y": y})
    left = "p(y, total)" if spec["failures"] else "y"
    if spec["failures"]:
        table["total"] = y + numbers[spec["failures"]]
    terms = [f"({' + '.join(['1', *t['slopes']])} | {t['factor']})" for t in spec["terms"]]
    family = {"linear": "gaussian", "logistic": "binomial" if spec["failures"] else "bernoulli", "poisson": "poisson"}[spec["model"]]
    model = bmb.Model(f"{left} ~ {' + '.join(['1', *spec['features'], *terms])}", table, family=family)
    fit = model.fit(draws=500, tune=500, chains=2, random_seed=1, inference_method="numpyro", progressbar=False)
    ours = {"Intercept": "intercept", **{f: f for f in spec["features"]}, **({"sigma": "sigma"} if spec["model"] == "linear" else {})}
    for t in spec["terms"]:
        f = t["factor"]
        ours.update({f"1|{f}_sigma": f"sd_{f}[intercept]", **{f"{s}|{f}_sigma": f"sd_{f}[{s}]" for s in t["slopes"]}})
    kept = fit.posterior[list(ours)]
    ess, r_hat = (function(kept).to_array() for function in (arviz.ess, arviz.rhat))
    found = {ours[k]: [float(kept[k].mean()), float(kept[k].std())] for k in ours}
    more = ", slopes independent" if any(t["slopes"] for t in spec["terms"]) else ""
    return found, f"its own priors{more}; 2 x (500 + 500): ESS {float(ess.min()):.0f}, R-hat {float(r_hat.max()):.2f}"


def main():
    package, data, spec = sys.argv[1], pathlib.Path(sys.argv[2]), json.loads(pathlib.Path(sys.argv[3]).read_text())
    numbers, groups = read(data, spec)
    __import__(package)
    begin, cpu = time.monotonic(), time.process_time()
    found, note = {"statsmodels": statsmodels, "gpboost": gpboost, "numpyro": numpyro, "bambi": bambi}[package](numbers, groups, spec)
    print(json.dumps({"seconds": time.monotonic() - begin, "cpu": time.process_time() - cpu, "estimates": found, "note": note,
                      "version": metadata.version(package)}), flush=True)


if __name__ == "__main__":
    main()
