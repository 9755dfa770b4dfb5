# SPDX-License-Identifier: MIT
"""Figures 4 and 5: the posterior of a discriminative RBM with two hidden units around one of its modes (KDD Cup 1999, six
classes). Figure 4: marginals of the 25 pairs of parameters that the truth says are most correlated. Figure 5: errors of means and
covariances against how fast chains mix.

The truth is HMC with one leapfrog step, as in the paper: runs that all start at the mode, with the Fisher information there
as mass. It is judged before it is used: R-hat over the runs, and how far halves of them are apart. The same on columns with
mean 0 and variance 1 is run beside it, to show why columns here are between 0 and 1."""
from dataclasses import dataclass

import measures
import numpy as np

import six_classes
from fig1 import TRUTH, ellipse, scores
from fig2 import limits
from fig4_5_words import PAPERS, SHOWN, best, extremes, label_of, page, rows, speed, stayed  # noqa: F401
from lab import Failed, Job, spelt, stamps, where, write_reference
from pen import LOOK, ink, legend, mark
from seven_nine import exported

LAMBDA, HIDDEN, BATCH = 10, 2, 500
ALPHAS = (2, 3, 4, 5, 10)
EPSILONS = (5e-4, 1e-4, 5e-5, 1e-5, 5e-6)
PAIRS, CLOUD = 25, 250
TITLES = {"E1": "error of the means, E1", "E2": "error of the covariances, E2", "trR": "variances, trR (1 is right)"}
MODEL = ["--hidden", HIDDEN, "--prior-precision", LAMBDA]


@dataclass
class Plan:
    """How much of it."""
    runs: int  # of HMC
    length: int  # draws of each, after `warmup`
    warmup: int
    few: int  # runs of HMC on columns of variance 1
    short: int  # draws of each
    burn: int  # warm-up of chains of minibatches
    draws: int  # their iterations, of which one in `thin` is kept
    thin: int


FULL = Plan(runs=30, length=4000, warmup=300, few=4, short=1500, burn=2000, draws=1_000_000, thin=50)
QUICK = Plan(runs=10, length=1200, warmup=200, few=4, short=300, burn=1000, draws=40_000, thin=10)
SMOKE = Plan(runs=4, length=100, warmup=50, few=2, short=50, burn=100, draws=400, thin=1)


# ---- runs -------------------------------------------------------------------------------------------


def run(lab):
    whole, different, about = six_classes.files(lab)
    n, plan = min(BATCH, about["rows"] // 4), lab.by_scale(FULL, QUICK, SMOKE)
    start = mode(lab, different, "mode.json")
    other = mode(lab, different, "mode-standardised.json", "--standardize=all")
    once = 260e-9 * about["different"]
    hmc = [hmc_job(f"hmc-{k}", plan, different, start, k, plan.length, once) for k in range(1, plan.runs + 1)]
    z_scored = [hmc_job(f"hmc-standardised-{k}", plan, different, other, k, plan.short, once, "--standardize=all")
                for k in range(1, plan.few + 1)]
    methods = list(settings(n))
    chains = [chain_job(plan, whole, start, *m) for m in methods]
    made = lab.samples(hmc + z_scored + chains)
    hmc, z_scored, chains = made[:plan.runs], made[plan.runs:plan.runs + plan.few], made[plan.runs + plan.few:]

    runs, z_runs = ([exported(lab, path(lab, r)) for r in records] for records in (hmc, z_scored))
    truth = Truth(lab, runs, start, len(about["classes"]))
    found = [method(lab, m, r, truth) for m, r in zip(methods, chains)]
    if not best({"methods": found}, "sgfs-f"):
        raise Failed("every chain of SGFS-f has left the mode: there is nothing to show")
    only_shown(found)
    which = lab.by_scale("", ", every tenth row", ", some hundreds of the rows")
    return {"data": f"KDD Cup 1999, 10 % file, six classes{which}", **about, "D": len(truth.mean), "lambda": LAMBDA,
            "hidden": HIDDEN, "batch": n, "warmup": plan.burn, "draws": plan.draws, "mode": start["command"],
            "hmc": {**truth.judged, **told(hmc), "runs": plan.runs, "draws": min(map(len, runs)), "warmup": plan.warmup},
            "standardised": {**told(z_scored), "runs": plan.few, "draws": plan.short, "rhat": rhat(z_runs),
                             "rhat_here": rhat([d[:plan.short] for d in runs[:plan.few]])},
            "pairs": truth.pairs(), "methods": found}


def hmc_job(name, plan, data, start, seed, draws, seconds, *more):
    """seconds: of a pass over the rows."""
    words = ["drbm", "--data", data, *MODEL, *more, "--sampler", "hmc", "--leapfrog", 1, "--metric", "fisher",
             "--target-accept", 0.8, "--start", start["file"], "--warmup", plan.warmup, "--draws", draws,
             "--chains", 1, "--threads", 1, "--seed", seed]
    return Job(name, words, seconds * (plan.warmup + draws), gpu=2 + seconds / 40 * (plan.warmup + draws))


def chain_job(plan, data, start, family, label, words, us):
    draws = plan.draws if family in PAPERS else plan.draws // 2
    words = ["drbm", "--data", data, *MODEL, *words, "--start", start["file"], "--warmup", plan.burn, "--draws", draws,
             "--thin", plan.thin, "--chains", 1, "--threads", 1, "--seed", 1]
    return Job(f"{family}-{label}".replace(" ", "-"), words, us * 1e-6 * (plan.burn + draws), tolerated=(4,))


def settings(n):
    """Every chain of minibatches: family, setting in words, options, a guess of its microseconds an iteration."""
    rows = ["--batch", n, "--batch-scheme", "without"]
    for a in ALPHAS:
        yield "sgfs-f", f"alpha {a}", ["--sampler", "sgfs-f", "--alpha", a, "--fisher-ridge", 0, *rows], 200
    for e in EPSILONS:
        yield "sgld", f"epsilon {e:g}", ["--sampler", "sgld", "--epsilon", f"{e:g}", *rows], 170
    yield "literal", "alpha 10", ["--preset", "paper", "--sampler", "sgfs-f", "--alpha", 10, "--batch", n], 1
    yield "sgfs-f default", "alpha 0", ["--sampler", "sgfs-f", "--alpha", 0, *rows], 200


def mode(lab, data, name, *more):
    """The mode that a climb from the program's own start finds, as a file for --start, and what is in it."""
    file = lab.work / name
    words = ["optimize", "drbm", "--data", data, *MODEL, *more, "--out", file, "--overwrite"]

    def make():
        found = lab.json(*words)
        return {"file": str(file), "command": spelt(words, lab.data), "names": found["names"], "mean": found["mean"]}

    if not file.exists():
        (lab.common / f"fig4-5-{name}").unlink(missing_ok=True)
    return lab.once(f"fig4-5-{file.stem}", [lab.version, [str(w) for w in words], stamps([str(data)], lab.work)], make)


def path(lab, record):
    return lab.work / f"{record['name']}.run"


def told(records):
    """What runs of HMC say of themselves."""
    of = [r["summary"] for r in records]
    return {"acceptance": float(np.mean([s["trajectories"]["acceptance_rate"] for s in of])),
            "step": float(np.mean([s["trajectories"]["step_size"] for s in of])),
            "ms": float(np.mean([1e3 * s["sample_seconds"] / s["draws_made"] for s in of])), "command": records[0]["command"],
            "where": where(records[0])}


# ---- measures ---------------------------------------------------------------------------------------


class Truth:
    """Moments of all runs of HMC, and how far they can be trusted."""

    def __init__(self, lab, runs, start, classes):
        self.names, self.point, self.classes = start["names"], np.array(start["mean"]), classes
        draws = np.concatenate(runs)
        self.mean, self.cov = draws.mean(0), np.cov(draws, rowvar=False)
        self.judged = {**halves(runs), "rhat": rhat(runs), "elsewhere": elsewhere(draws, self.point, classes)}
        self.top = correlated(self.cov)
        self.file = lab.work / "truth.json"
        write_reference(self.file, {"names": self.names, "mean": self.mean.tolist(), "cov": self.cov.tolist()})

    def pairs(self):
        return [{"names": [self.names[k] for k in p], "mean": self.mean[p].tolist(), "cov": self.cov[np.ix_(p, p)].tolist()}
                for p in self.top]


def halves(runs, times=20):
    """tau of the runs, and what their halves say of each other, as it would be for all of them: E1 and E2 by sampling error, and
    what trR of faultless draws would be: beyond 1, because the inverse of an estimated matrix is too large."""
    draws = np.concatenate(runs)
    mean, cov = draws.mean(0), np.cov(draws, rowvar=False)
    tau = np.mean([measures.sokal_tau(d, mean, np.diag(np.diag(cov)))[0] for d in runs])
    rng, apart = np.random.default_rng(1), []
    for _ in range(times):
        first = rng.permutation(len(runs)) < len(runs) // 2
        a, b = (np.concatenate([d for d, f in zip(runs, first) if f == side]) for side in (True, False))
        A, B = np.cov(a, rowvar=False), np.cov(b, rowvar=False)
        # halves have twice the bias of the whole, and their difference twice its error
        apart.append([np.abs(a.mean(0) - b.mean(0)).sum() / np.abs(mean).sum() / 2, np.abs(A - B).sum() / np.abs(cov).sum() / 2,
                      1 + (measures.trR(A, B) - 1) / 2])
    E1, E2, trR = np.mean(apart, 0).tolist()
    return {"tau": float(tau), "effective": float(len(draws) / tau), "E1_noise": E1, "E2_noise": E2, "trR_right": trR}


def rhat(runs):
    """The largest R-hat of a parameter over halves of runs of the same length."""
    length = min(len(d) for d in runs) // 2
    parts = np.array([p for d in runs for p in (d[:length], d[-length:])])
    within, between = parts.var(1, ddof=1).mean(0), parts.mean(1).var(0, ddof=1)
    return float(np.sqrt((length - 1) / length + between / within).max())


def images(point, classes):
    """The mode and what means the same: units exchanged, or one replaced by its mirror image (docs/models.md, drbm). c and W of
    both units come first, then U of both, then d."""
    W, U, d = np.split(point, [len(point) - 3 * classes, len(point) - classes])
    W, U = W.reshape(2, -1), U.reshape(2, -1)
    for order in ([0, 1], [1, 0]):
        for sign in ([1, 1], [-1, 1], [1, -1], [-1, -1]):
            s = np.array(sign)[:, None]
            moved = d + sum(u for u, k in zip(U, sign) if k < 0)
            yield np.concatenate([(s * W)[order].ravel(), (s * U)[order].ravel(), moved])


def elsewhere(draws, point, classes):
    """The part of the draws that is closer to another image of the mode than to the mode itself."""
    far = np.array([np.linalg.norm(draws - image, axis=1) for image in images(point, classes)])
    return float((far.argmin(0) != 0).mean())


def correlated(cov):
    """The pairs with the largest correlations, the largest first."""
    sd = np.sqrt(np.diag(cov))
    i, j = np.triu_indices(len(cov), 1)
    order = np.argsort(-np.abs(cov[i, j] / (sd[i] * sd[j])), kind="stable")[:PAIRS]
    return [[int(i[k]), int(j[k])] for k in order]


def only_shown(methods):
    """Leaves the clouds of the two pairs that figure 4 shows, and drops the others: they are most of the numbers."""
    ours = best({"methods": methods}, "sgfs-f")
    for m in methods:
        for k, pair in enumerate(m.get("pairs", [])):
            if m is not ours or k not in extremes(m):
                del pair["cloud"]


def method(lab, setting, record, truth):
    """One chain: errors, speed, and its marginals of the pairs."""
    family, label, *_ = setting
    found = {"family": family, "label": label, "command": record["command"], "where": where(record), "state": "diverged" if record["exit"] == 4 else ""}
    if found["state"]:
        return found
    summary, run = record["summary"], path(lab, record)
    compared, draws = lab.json("compare", run, "--reference", truth.file), exported(lab, run)
    thin, (tau, error, resolved) = summary["draws_made"] / len(draws), measures.own_tau(draws)
    E1_noise, E2_noise, _ = measures.monte_carlo(draws, truth.mean, truth.cov, 20)
    return {**found, **{k: compared[k] for k in ("E1", "E2", "trR")}, "E1_noise": E1_noise, "E2_noise": E2_noise,
            "draws": summary["draws_made"], "us": 1e6 * summary["sample_seconds"] / summary["draws_made"],
            "tau": tau * thin, "tau_error": error * thin, "resolved": resolved,
            "elsewhere": elsewhere(draws, truth.point, truth.classes), "pairs": marginals_of(draws, truth)}


def marginals_of(draws, truth):
    mean, ours = draws.mean(0), np.cov(draws, rowvar=False)
    score, some = scores(ours, truth.cov), draws[np.linspace(0, len(draws) - 1, min(CLOUD, len(draws))).astype(int)]
    return [{"score": float(score[tuple(p)]), "mean": mean[p].tolist(), "cov": ours[np.ix_(p, p)].tolist(),
             "cloud": some[:, p].tolist()} for p in truth.top]


# ---- pictures ---------------------------------------------------------------------------------------


def draw(found, pen):
    marginals(found, pen)
    errors(found, pen)


def marginals(found, pen):
    """Figure 4: the best and the hardest of the pairs as they are, and all in units of the truth's standard deviations."""
    ours = best(found, "sgfs-f")
    both = [m for m in (best(found, "sgld"), ours) if m]
    tables, panels = {}, []
    for k, title, y in zip(extremes(ours), ("the best", "the hardest"), (0.64, 0.185)):
        pair = found["pairs"][k]
        tables[f"cloud{k}"] = ours["pairs"][k]["cloud"]
        curves = ellipses(tables, f"big{k}", pair, [(m["pairs"][k], look(m)) for m in both])
        panels.append(f"""{area(0.065, 0.345, y, y + 0.31)}
set title "{title} of the {len(found['pairs'])} pairs: {k + 1}" offset 0,-0.6
set xlabel "{pair['names'][0]}" noenhanced offset 0,0.4
set ylabel "{pair['names'][1]}" noenhanced offset 1,0
plot $cloud{k} with points {mark('sgfs-f')} ps 0.3, {curves}
""")
    panels.append("unset xlabel\nunset ylabel\nunset tics\nunset title\nset border 15\nset xrange [-3.2:3.2]\n"
                  "set yrange [-3.2:3.2]\n")
    for k, pair in enumerate(found["pairs"]):
        left, top = 0.385 + 0.122 * (k % 5), 0.95 - 0.163 * (k // 5)
        curves = ellipses(tables, f"small{k}", scaled(pair, pair), [(scaled(m["pairs"][k], pair), look(m)) for m in both])
        panels.append(f"""{area(left, left + 0.115, top - 0.15, top)}
set label 1 "{{/*0.8 {k + 1}}}" at graph 0.04,0.9
plot {curves}
""")
    key = [(f"lines {TRUTH}", "HMC"), *((f"lines {look(m)}", f"{SHOWN[m['family']]}, {label_of(m)}") for m in both[::-1])]
    pen.plot("fig4", "set multiplot\n" + "".join(panels) + legend(key, 0.09), tables, 1200, 760)


def scaled(pair, truth):
    """A pair's moments in units of the truth's standard deviations, from its mean."""
    sd = np.sqrt(np.diag(truth["cov"]))
    return {"mean": (np.array(pair["mean"]) - truth["mean"]) / sd, "cov": np.array(pair["cov"]) / np.outer(sd, sd)}


def look(m):
    return f"{ink(m['family'])} lw {2.5 if m['family'] == 'sgfs-f' else 1.2}"


def ellipses(tables, name, truth, others):
    """Words for gnuplot's plot; the truth's on top."""
    curves = [*others, (truth, TRUTH)]
    for i, (pair, _) in enumerate(curves):
        tables[f"{name}_{i}"] = ellipse(pair["mean"], pair["cov"])
    return ", ".join(f"${name}_{i} with lines {style}" for i, (_, style) in enumerate(curves))


def area(left, right, bottom, top):
    return f"set margins at screen {left:g}, screen {right:g}, screen {bottom:g}, screen {top:g}"


def errors(found, pen):
    """Figure 5: errors against 1/ATUC; open marks where a run is too short to know tau."""
    truth, tables, panels = found["hmc"], {}, []
    seen = [m for m in found["methods"] if m["family"] in LOOK and stayed(m)]
    families = [f for f in SHOWN if any(m["family"] == f for m in seen)]
    left, right = limits([speed(m) for m in (*seen, truth)])
    for key, title in TITLES.items():
        level = truth["trR_right" if key == "trR" else f"{key}_noise"]
        bottom, top = limits([m[key] for m in seen] + [level])
        tables[f"hmc_{key}"] = [(speed(truth), level)]
        plots, labels = [f"{level:g} with lines {TRUTH}"], []
        for family in families:
            marks(tables, plots, labels, key, [m for m in seen if m["family"] == family])
        panels.append(f"""set title "{title}"
set xlabel "1/ATUC, independent draws a second"
set yrange [{bottom:g}:{top:g}]
set ytics {"(0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 100)" if key == "trR" else "auto"}
unset label
{chr(10).join(labels)}
plot {", ".join(plots)}, $hmc_{key} with points {mark('hmc fisher')} ps 1.4
""")
    legends = [(f"points {mark(f)} ps 1.3", SHOWN[f]) for f in families]
    legends += [(f"points {mark('hmc fisher')} ps 1.4", "HMC, the truth"), (f"lines {TRUTH}", "what its own error gives"),
                ('points lc rgb "#666666" pt 6 ps 1.3', "open: too short to know tau")]
    head = f"""set multiplot layout 1,3 margins 0.05,0.985,0.27,0.92 spacing 0.05,0.1
set logscale xy
set xrange [{left:g}:{2.5 * right:g}]
set format x "10^{{%L}}"
"""
    pen.plot("fig5", head + "".join(panels) + legend(legends, 0.12), tables, 1200, 460)


def marks(tables, plots, labels, key, methods):
    """A family's marks, its line and, in the paper's settings, their labels."""
    family = methods[0]["family"]
    block, colour = f"{family}_{key}".replace("-", "_").replace(" ", "_"), ink(family)
    tables[block] = [(speed(m), m[key]) for m in methods]
    plots.append(f"${block} with lines {colour} lw 1")
    for name, known, style in (("known", True, mark(family)), ("open", False, f"{colour} pt 6")):
        tables[f"{block}_{name}"] = [(speed(m), m[key]) for m in methods if m["resolved"] is known] or [(None, None)]
        plots.append(f"${block}_{name} with points {style} ps 1.3")
    if family in PAPERS:
        labels += [label(m, key, i == 0, i == len(methods) - 1) for i, m in enumerate(methods)]


def label(m, key, first, last):
    """A setting beside its mark; the first with its letter, the last below."""
    letter, value = label_of(m).split()
    text = ("αε"[letter == "epsilon"] + " = " if first else "") + value
    return (f'set label "{{/*0.75 {text}}}" at {speed(m):g},{m[key]:g} offset 0.6,{-0.6 if last else 0.6} '
            f'tc {ink(m["family"])[3:]}')
