# SPDX-License-Identifier: MIT
"""Means and standard deviations of the zoo's posteriors, by a sampler that shares no code with sgfs.

NumPyro's NUTS in double precision, 4 chains of 2,500 draws after 1,000 of warm-up (large sets: 1,500
after 600); one JSON file a set in references/. Needs requirements.txt, and numpyro besides:

    python3 -m venv /tmp/zoo && /tmp/zoo/bin/pip install -r tests/zoo/requirements.txt numpyro
    /tmp/zoo/bin/python tests/zoo/reference.py longley iris     # some sets; without a name all

In two steps, where another machine is the faster one (it needs jax and numpyro alone):

    reference.py --export FOLDER            # the problems as they are sampled, one .npz a set
    reference.py --problems FOLDER --processes 16 --out references.json
    reference.py --take references.json     # into references/
    reference.py --check                    # the stored ones of linear regression, without a chain

The prior is the default of sgfs for regressions, with x, y and their standard deviations (divisor
N - 1) in the user's units, and s = sd(y) for linear regression, else 1:

    a column of zeros and ones, or one without spread     N(0, 2.5 s)
    any other column                                      N(0, 2.5 s/sd(x))
    the intercept, at the means of all columns            N(0, 2.5 s), around mean(y) if linear
    log_sigma                                             N(log s, 3)

A problem is the design matrix on centred and scaled columns, where these are N(0, scale) of
independent parameters. NUTS moves in coordinates in which the posterior is near to N(0, I): an exact
linear change of variables, by the curvature at the mode. Linear regression is rotated to the
singular vectors of its design, of which each has one coefficient of its own given sigma; of
directions that the data do not see, the draws are the prior's, whose variance is added."""
import argparse
import concurrent.futures
import hashlib
import json
import math
import multiprocessing
import os
import pathlib
import platform
import sys
import time

import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
REFERENCES = HERE / "references"
CHAINS = 4
SHORT, LONG = (600, 1500), (1000, 2500)  # warm-up and draws of a chain
R_HAT_MOST, ESS_LEAST = 1.01, 2000
PRIOR = "N(0, 2.5/sd(x)), 0/1 columns N(0, 2.5), intercept N(0, 2.5) at the means"
PRIOR_LINEAR = "; times sd(y), around mean(y); log_sigma N(log sd(y), 3)"
NOISE = 3.0  # sd of log_sigma
MEDIUM, LARGE = 200_000, 400_000  # cells from which on chains are SHORT; run on an accelerator


# ---- problems ------------------------------------------------------------------------------------


def columns_of(frame, entry):
    """Names and values of the features as sgfs makes them: the first word of a column of words, by
    appearance, is the reference."""
    import pandas

    asked = dict(zip(entry.words[::2], entry.words[1::2])).get("--categorical", "")
    names, values = [], []
    for name in frame.columns:
        if name == entry.target:
            continue
        column = frame[name]
        if name in asked.split(",") or (asked == "auto" and not pandas.api.types.is_numeric_dtype(column)):
            words = [str(w) for w in column]
            for word in list(dict.fromkeys(words))[1:]:
                names.append(f"{name}={word}")
                values.append(np.array([w == word for w in words], dtype=np.uint8))
        else:
            names.append(name)
            values.append(column.to_numpy(dtype=float))
    return names, values


def problem_of(entry):
    """What is sampled, as arrays: features, target, prior scales of the standardised columns."""
    import pandas

    frame = entry.load()
    names, values = columns_of(frame, entry)
    target = frame[entry.target]
    linear = entry.model == "linear"
    if entry.model in ("logistic", "softmax"):
        numbers = pandas.api.types.is_numeric_dtype(target)
        labels = sorted(target.unique()) if numbers else sorted(set(map(str, target)), key=str.encode)
        place = {label: k for k, label in enumerate(labels)}
        y = np.array([place[v if numbers else str(v)] for v in target])
        labels = [f"{v:g}" if numbers else v for v in labels]
    else:
        y, labels = target.to_numpy(dtype=float), []
    told = ["intercept", *names]
    if entry.model == "softmax":
        told = [f"{label}: {name}" for label in labels[1:] for name in told]
    if linear:
        told.append("log_sigma")
    return {"model": entry.model, "names": np.array(told), "y": y, "classes": len(labels),
            "binary": np.array([v.dtype == np.uint8 for v in values]),
            "bits": np.packbits(np.array([v for v in values if v.dtype == np.uint8], dtype=np.uint8).T, axis=0),
            "numbers": np.array([v for v in values if v.dtype != np.uint8], dtype=float).T,
            "csv": hashlib.sha256(csv_of(frame)).hexdigest()}


def prior_scales(columns):
    """Of the prior, for the intercept and each column, on centred and scaled columns."""
    scales = [2.5]
    for x in columns:
        sd = np.std(x, ddof=1) if np.ptp(x) > 0 else 1.0
        scales.append(2.5 * sd if np.ptp(x) > 0 and np.isin(x, (0, 1)).all() else 2.5)
    return np.array(scales)


def csv_of(frame):
    """The bytes of the file that the program is given."""
    return frame.to_csv(index=False, lineterminator="\n").encode()


class Design:
    """Centred and scaled columns after a column of ones, and the way back to the user's units."""

    def __init__(self, problem):
        y, binary = problem["y"], problem["binary"]
        rows = len(y)
        x = np.empty((rows, 1 + len(binary)))
        x[:, 0] = 1
        if binary.any():
            x[:, 1:][:, binary] = np.unpackbits(problem["bits"], axis=0, count=rows)
        if not binary.all():
            x[:, 1:][:, ~binary] = problem["numbers"].reshape(rows, -1)
        self.shift = np.append(0, x[:, 1:].mean(axis=0))
        self.sd = np.where(np.ptp(x, axis=0) > 0, x.std(axis=0, ddof=1), 1)
        self.scale = prior_scales(x[:, 1:].T)
        self.x = (x - self.shift) / self.sd
        linear = problem["model"] == "linear"
        self.middle, self.unit = (y.mean(), y.std(ddof=1)) if linear else (0.0, 1.0)
        self.y = (y - self.middle) / self.unit

    def back(self, theta):
        """Draws (... x columns) on the user's scale."""
        beta = theta * (self.unit / self.sd)
        beta[..., 0] += self.middle - beta[..., 1:] @ self.shift[1:]
        return beta


# ---- log densities, in coordinates z around the mode ----------------------------------------------


def find_mode(model, design, y, classes):
    """The mode by Newton's method with halved steps, and the root L of the inverse curvature:
    theta = mode + L z. Softmax: theta is (classes - 1) x columns."""
    x, p = design.x, design.x.shape[1]
    k = max(1, classes - 1) if model == "softmax" else 1
    precision = np.tile(design.scale**-2.0, k)
    theta = np.zeros(k * p)
    if model == "poisson":
        theta[0] = math.log(max(y.mean(), 0.1))
    one = (y[:, None] == np.arange(1, classes)).astype(float) if model == "softmax" else y

    def parts(theta, curvature=False):
        eta = x @ theta.reshape(k, p).T
        if model == "softmax":
            top = np.maximum(eta.max(1, keepdims=True), 0)
            e = np.exp(eta - top)
            total = e.sum(1, keepdims=True) + np.exp(-top)
            mu = e / total
            value = (eta * one).sum() - (top + np.log(total)).sum()
        elif model == "logistic":
            eta = eta[:, 0]
            mu = 1 / (1 + np.exp(-eta))
            value = (eta * one - np.logaddexp(0, eta)).sum()
        else:
            eta = eta[:, 0]
            mu = np.exp(np.minimum(eta, 600))
            value = (eta * one - mu).sum()
        value -= 0.5 * precision @ theta**2
        if not curvature:
            return value
        gradient = ((one - mu).T @ x).ravel() - precision * theta
        h = np.diag(precision)
        if model == "softmax":
            for a in range(k):
                for b in range(a + 1):
                    w = mu[:, a] * ((a == b) - mu[:, b])
                    block = (x * w[:, None]).T @ x
                    h[a * p:(a + 1) * p, b * p:(b + 1) * p] += block
                    if a != b:
                        h[b * p:(b + 1) * p, a * p:(a + 1) * p] += block.T
        else:
            h += (x * (mu * (1 - mu) if model == "logistic" else mu)[:, None]).T @ x
        return value, gradient, h

    for _ in range(200):
        value, gradient, h = parts(theta, True)
        step = np.linalg.solve(h, gradient)
        size = 1.0
        while parts(theta + size * step) < value - 1e-9 * abs(value) and size > 1e-9:
            size /= 2
        theta = theta + size * step
        if size * math.sqrt(abs(gradient @ step)) < 1e-8:
            break
    h = parts(theta, True)[2]
    root = np.linalg.inv(np.linalg.cholesky(h)).T
    return theta, root


def regression(model, design, y, classes):
    """numpyro's model, its arguments, how many coordinates it has, and the way from them to draws."""
    import jax
    import jax.numpy as jnp
    import numpyro
    import numpyro.distributions as dist

    mode, root = find_mode(model, design, y, classes)
    p = design.x.shape[1]
    k = len(mode) // p
    scale = np.tile(design.scale, k)
    at_mode = design.x @ mode.reshape(k, p).T
    if k == 1:
        at_mode = at_mode[:, 0]
    # one matrix where the predictor is one number: it has the change of variables in it
    x = design.x @ root if k == 1 else design.x
    # the prior, relative to the mode: -(1/2) |(mode + root z)/scale|^2
    prior_root, prior_mode = root / scale[:, None], mode / scale

    def density(x, y, at_mode, prior_root, prior_mode, root):
        z = numpyro.sample("z", dist.ImproperUniform(dist.constraints.real_vector, (), (len(mode),)))
        value = -0.5 * jnp.sum((prior_mode + prior_root @ z)**2)
        if model == "poisson":  # differences to the mode: counts may be 10^9
            move = x @ z
            value += jnp.sum(y * move - jnp.exp(at_mode) * jnp.expm1(move))
        elif model == "logistic":
            eta = at_mode + x @ z
            value += jnp.sum(y * eta - jnp.maximum(eta, 0.0) - jnp.log1p(jnp.exp(-jnp.abs(eta))))
        else:
            eta = at_mode + x @ (root @ z).reshape(k, p).T
            full = jnp.concatenate([jnp.zeros((eta.shape[0], 1)), eta], axis=1)
            value += jnp.sum(jnp.take_along_axis(full, y[:, None], axis=1)) - jnp.sum(jax.nn.logsumexp(full, axis=1))
        numpyro.factor("density", value)

    def draws(z):
        theta = mode + z @ root.T
        return design.back(theta.reshape(*z.shape[:-1], k, p)).reshape(*z.shape[:-1], k * p), 0.0

    label = y.astype(np.int64) if model == "softmax" else y.astype(float)
    return density, (x, label, at_mode, prior_root, prior_mode, root), len(mode), draws


def linear(design):
    """The same for linear regression. With b = theta/scale ~ N(0, I) and X diag(scale) = U S V', the
    coordinates c = V'b have c_i ~ N(0, 1) and (U'y)_i ~ N(S_i c_i, sigma^2): given sigma, c_i is
    N(m_i, v_i), v_i = 1/(1 + S_i^2/sigma^2), m_i = v_i S_i (U'y)_i/sigma^2, and c_i = m_i +
    sqrt(v_i) z_i. The last of z is log sigma, in units of 1/sqrt(N)."""
    import jax.numpy as jnp
    import numpyro
    import numpyro.distributions as dist

    rows = len(design.y)
    u, s, vt = np.linalg.svd(design.x * design.scale, full_matrices=False)
    seen = u.T @ design.y
    rest = max(float(design.y @ design.y - seen @ seen), 0.0)
    rank = len(s)
    step = 1 / math.sqrt(rows)
    start = 0.5 * math.log(max(rest / max(rows - rank, 1), 1e-2)) if rows > rank else 0.0

    def density(s, seen):
        z = numpyro.sample("z", dist.ImproperUniform(dist.constraints.real_vector, (), (rank + 1,)))
        log_sigma = start + step * z[-1]
        precision = jnp.exp(-2 * log_sigma)
        v = 1 / (1 + s**2 * precision)
        c = v * s * seen * precision + jnp.sqrt(v) * z[:-1]
        value = -0.5 * jnp.sum(c**2) - 0.5 * precision * (rest + jnp.sum((seen - s * c)**2))
        value += -rows * log_sigma - 0.5 * (log_sigma / NOISE)**2 + 0.5 * jnp.sum(jnp.log(v))  # the last: dc/dz
        numpyro.factor("density", value)

    def draws(z):
        log_sigma = start + step * z[..., -1:]
        precision = np.exp(-2 * log_sigma)
        v = 1 / (1 + s**2 * precision)
        c = v * s * seen * precision + np.sqrt(v) * z[..., :-1]
        beta = design.back((c @ vt) * design.scale)
        # what the data do not see: I - VV' of the prior, for each coefficient and for the intercept
        unseen = unseen_variance(design, vt)
        return np.concatenate([beta, log_sigma + math.log(design.unit)], axis=-1), np.append(unseen, 0.0)

    return density, (s, seen), rank + 1, draws


def unseen_variance(design, vt):
    if vt.shape[0] == vt.shape[1]:
        return np.zeros(vt.shape[1])
    to_user = design.scale * design.unit / design.sd
    variance = to_user**2 * np.maximum(1 - (vt**2).sum(0), 0)
    a = np.append(1.0, -design.shift[1:]) * to_user  # the intercept is a'b
    variance[0] = max(a @ a - ((vt @ a)**2).sum(), 0)
    return variance


# ---- NUTS ----------------------------------------------------------------------------------------


def length(problem):
    return SHORT if cells(problem) > MEDIUM and str(problem["model"]) != "linear" else LONG


def sample(problem):
    """Draws (chains x draws x parameters) in the user's units, variances to add, and what it took."""
    import jax
    import numpyro
    from numpyro.infer import MCMC, NUTS

    numpyro.enable_x64()
    numpyro.set_host_device_count(1)
    begin = time.process_time()
    design = Design(problem)
    model = str(problem["model"])
    if model == "linear":
        density, data, size, draws = linear(design)
    else:
        density, data, size, draws = regression(model, design, design.y, int(problem["classes"]))
    # rows that columns fit without an error say little of sigma, which may then be near 0
    narrow = model == "linear" and len(design.y) < design.x.shape[1]
    kernel = NUTS(density, dense_mass=size <= 200, target_accept_prob=0.98 if narrow else 0.8)
    mcmc = MCMC(kernel, num_warmup=length(problem)[0], num_samples=length(problem)[1], num_chains=CHAINS,
                chain_method="vectorized", jit_model_args=True, progress_bar=False)
    start = np.random.default_rng(1).uniform(-2, 2, (CHAINS, size))
    mcmc.run(jax.random.PRNGKey(1), *map(jax.numpy.asarray, data), init_params={"z": jax.numpy.asarray(start)},
             extra_fields=("diverging", "num_steps"))
    z = np.asarray(mcmc.get_samples(group_by_chain=True)["z"])
    extra = mcmc.get_extra_fields()
    values, unseen = draws(z)
    return {"draws": values, "unseen": unseen, "seconds": time.process_time() - begin, "backend": jax.default_backend(),
            "divergences": int(extra["diverging"].sum()), "steps": float(extra["num_steps"].mean())}


def describe(problem, got):
    """One reference: means, standard deviations and how far they can be trusted."""
    import jax
    import numpyro
    from numpyro.diagnostics import effective_sample_size, split_gelman_rubin

    draws = got["draws"]
    mean, spread = draws.mean((0, 1)), draws.std((0, 1), ddof=1)
    sd = np.sqrt(spread**2 + got["unseen"])
    ess, r_hat = [], []
    for first in range(0, len(mean), 200):
        some = slice(first, first + 200)
        centred = (draws[..., some] - mean[some]) / spread[some]
        ess.append(effective_sample_size(centred).min())
        r_hat.append(split_gelman_rubin(centred).max())
    keep = [max(0, 4 - math.floor(math.log10(s))) for s in sd]
    warmup, kept = length(problem)
    return {"names": problem["names"].tolist(), "mean": [round(float(m), k) for m, k in zip(mean, keep)],
            "sd": [float(f"{s:.5g}") for s in sd], "model": str(problem["model"]), "rows": len(problem["y"]),
            "parameters": len(mean), "csv_sha256": str(problem["csv"]),
            "prior": PRIOR + (PRIOR_LINEAR if problem["model"] == "linear" else ""),
            "seconds": round(got["seconds"], 1), "ess_min": round(float(min(ess))),
            "r_hat_max": round(float(max(r_hat)), 5), "divergences": got["divergences"],
            "steps_per_draw": round(got["steps"], 1),
            "sampler": f"numpyro {numpyro.__version__} NUTS, {CHAINS} x ({warmup} + {kept}), float64, jax "
                       f"{jax.__version__} on {got['backend']}, python {platform.python_version()}"}


def check_linear(problem, reference):
    """How far the stored means (in standard deviations) and standard deviations (as ratios) are from
    those by quadrature over log sigma: given it, b = theta/scale is Gaussian with the precision
    I + X'X/sigma^2. Where columns are more than rows, the inverse is by the rows' matrix."""
    design = Design(problem)
    x, y = design.x * design.scale, design.y
    rows, p = x.shape
    to_user = design.scale * design.unit / design.sd
    at_zero = np.append(1.0, -design.shift[1:]) * to_user  # the intercept is at_zero'b + mean(y)
    wide = rows < p
    square = x @ x.T if wide else x.T @ x
    told = np.array(reference["mean"]), np.array(reference["sd"])
    grid = told[0][-1] - math.log(design.unit) + told[1][-1] * np.linspace(-12, 20, 321)
    weight, mean, variance = np.empty(len(grid)), np.empty((len(grid), p)), np.empty((len(grid), p))
    for k, s in enumerate(grid):
        v = math.exp(2 * s)
        root = np.linalg.cholesky(square + v * np.eye(len(square)) if wide else square / v + np.eye(p))
        half = np.linalg.solve(root, x) if wide else np.linalg.inv(root)
        left = np.linalg.solve(root, y if wide else x.T @ y / v)
        b = half.T @ left
        variance[k] = 1 - (half**2).sum(0) if wide else (half**2).sum(0)
        variance[k] *= to_user**2
        seen = ((half @ at_zero)**2).sum()
        variance[k, 0] = at_zero @ at_zero - seen if wide else seen
        mean[k] = design.back(b * design.scale)
        fit = -left @ left / 2 if wide else (left @ left - y @ y / v) / 2 - rows * s
        weight[k] = fit - np.log(np.diag(root)).sum() - 0.5 * (s / NOISE)**2
    weight = np.exp(weight - weight.max())
    assert weight[0] < 1e-9 and weight[-1] < 1e-9
    weight /= weight.sum()
    centre = weight @ mean
    sd = np.sqrt(weight @ (variance + (mean - centre)**2))
    return np.abs((told[0][:-1] - centre) / sd).max(), np.abs(told[1][:-1] / sd - 1).max()


def cells(problem):
    """Multiplications of one evaluation of the density, about."""
    size = len(problem["names"])
    return max(len(problem["y"]) * size, size**2)


def work(path):
    """The task of a process: one set."""
    problem = dict(np.load(path))
    return describe(problem, sample(problem))


def quiet_jax(accelerator):
    """Before jax is imported: one thread, double precision."""
    one = {"JAX_PLATFORMS": "cpu", "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1",
           "XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"}
    os.environ.update(JAX_ENABLE_X64="1", XLA_PYTHON_CLIENT_PREALLOCATE="false")
    for name, value in one.items():
        if accelerator:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value


def run_all(paths, processes, accelerators, finish):
    """Sample every problem; finish(name, reference) as each is done. Large and small ones by turns."""
    context = multiprocessing.get_context("spawn")
    rising = sorted(paths, key=lambda p: cells(dict(np.load(p))))
    order = [p for pair in zip(rising[::-1], rising) for p in pair][:len(rising)]

    def start(count, accelerator):
        return concurrent.futures.ProcessPoolExecutor(max(1, count), context, quiet_jax, (accelerator,))

    with start(processes, False) as pool, start(accelerators, True) as fast:
        waiting = {}
        for path in order:
            problem = dict(np.load(path))
            large = cells(problem) > LARGE and str(problem["model"]) != "linear"
            waiting[(fast if accelerators and large else pool).submit(work, path)] = path.stem
        for task in concurrent.futures.as_completed(waiting):
            try:
                finish(waiting[task], task.result())
            except Exception as error:  # one set does not stop the others
                print(f"{waiting[task]}: {error!r}", flush=True)


def write(name, reference):
    path = REFERENCES / f"{name}.json"
    path.write_text(json.dumps(reference) + "\n")


def main():
    from pathlib import Path

    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("names", nargs="*", help="sets (default: all)")
    parser.add_argument("--export", type=Path, help="write the problems here, and sample nothing")
    parser.add_argument("--problems", type=Path, help="sample the problems that --export has written")
    parser.add_argument("--out", type=Path, help="with --problems: all references in one file")
    parser.add_argument("--take", type=Path, help="write the references of such a file into references/")
    parser.add_argument("--check", action="store_true", help="compare stored references with quadrature")
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--accelerators", type=int, default=0, help="processes for large sets that may use a GPU")
    args = parser.parse_args()
    if args.take:
        for name, reference in json.loads(args.take.read_text()).items():
            write(name, reference)
        return 0
    if args.check:
        import sets

        for entry in sets.ZOO:
            if entry.model == "linear" and not entry.refused and (not args.names or entry.name in args.names):
                stored = json.loads((REFERENCES / f"{entry.name}.json").read_text())
                print("{}: means within {:.3f} sd, sds within {:.3f}".format(
                    entry.name, *check_linear(problem_of(entry), stored)), flush=True)
        return 0
    folder = args.problems or args.export or Path("zoo-problems")
    folder.mkdir(parents=True, exist_ok=True)
    if not args.problems:
        import sets

        for entry in sets.ZOO:
            if not entry.refused and (not args.names or entry.name in args.names):
                np.savez_compressed(folder / f"{entry.name}.npz", **problem_of(entry))
        if args.export:
            return 0
    quiet_jax(False)
    done = {}

    def finish(name, reference):
        good = reference["r_hat_max"] < R_HAT_MOST and reference["ess_min"] >= ESS_LEAST
        print(f"{name}: {reference['rows']} x {reference['parameters']}, {reference['seconds']} s, "
              f"R-hat {reference['r_hat_max']}, ESS {reference['ess_min']}, {reference['steps_per_draw']} steps, "
              f"{reference['divergences']} divergences{'' if good else ': NOT GOOD ENOUGH'}", flush=True)
        done[name] = reference
        if args.out:
            args.out.write_text(json.dumps(done))
        elif good:
            write(name, reference)

    paths = [p for p in folder.glob("*.npz") if not args.names or p.stem in args.names]
    run_all(paths, args.processes, args.accelerators, finish)
    return 0


if __name__ == "__main__":
    sys.exit(main())
