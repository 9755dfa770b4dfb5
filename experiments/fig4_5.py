# SPDX-License-Identifier: MIT
"""Figures 4 and 5: the posterior of a discriminative RBM with two hidden units around one of its modes (KDD Cup 1999, six
classes). Figure 4: marginals of the 25 pairs of parameters that the truth says are most correlated. Figure 5: errors of means and
covariances against how fast chains mix.

The truth is HMC with one leapfrog step, as in the paper: runs that all start at the mode, with the Fisher information there as
mass. It is judged before it is used: R-hat over the runs, and how far halves of them are apart. The same on columns with mean 0 and
variance 1 is run beside it, to show why columns here are between 0 and 1."""
import measures
import numpy as np

import six_classes
from fig1 import TRUTH, ellipse, scores
from fig4_5_words import SHOWN, best, extremes, label_of, page, rows, speed, stayed  # noqa: F401
from lab import Job, stamps, write_reference
from pen import ink, legend, mark
from seven_nine import exported

LAMBDA, HIDDEN, BATCH = 10, 2, 500
ALPHAS = (2, 3, 4, 5, 10)
EPSILONS = (5e-4, 1e-4, 5e-5, 1e-5, 5e-6)
PAIRS, CLOUD = 25, 250
MODEL = ["--hidden", HIDDEN, "--prior-precision", LAMBDA]


# ---- runs -------------------------------------------------------------------------------------------


def run(lab):
    whole, different, about = six_classes.files(lab)
    start = mode(lab, different, "mode.json")
    z_start = mode(lab, different, "mode-standardised.json", "--standardize")
    count, length = lab.by_scale((30, 4000), (10, 1200), (4, 100))
    warmup = lab.by_scale(500, 200, 50)
    few, short = lab.by_scale((4, 1500), (4, 300), (2, 50))  # of the columns with variance 1

    def hmc(name, start, seed, draws, *more):
        words = ["drbm", "--data", different, *MODEL, *more, "--sampler", "hmc", "--leapfrog", 1, "--metric", "fisher", "--target-accept", 0.8,
                 "--start", start["file"], "--warmup", warmup, "--draws", draws, "--chains", 1, "--threads", 1, "--seed", seed]
        return Job(name, words, 3e-7 * about["different"] * (warmup + draws))

    jobs = [hmc(f"hmc-{k + 1}", start, k + 1, length) for k in range(count)]
    jobs += [hmc(f"hmc-standardised-{k + 1}", z_start, k + 1, short, "--standardize") for k in range(few)]
    n, draws, thin = min(BATCH, about["rows"] // 4), lab.by_scale(1_000_000, 40_000, 500), lab.by_scale(50, 10, 1)
    methods = list(settings(n))
    jobs += [Job(f"{family}-{label}".replace(" ", "-"), ["drbm", "--data", whole, *MODEL, *words, "--start", start["file"],
                                                         "--warmup", lab.by_scale(2000, 1000, 100), "--draws", draws, "--thin", thin,
                                                         "--chains", 1, "--threads", 1, "--seed", 1], us * 1e-6 * draws, tolerated=(4,))
             for family, label, words, us in methods]
    records = lab.samples(jobs)
    literal, z_scored, chains = records[:count], records[count:count + few], records[count + few:]

    point, classes = np.array(start["mean"]), len(about["classes"])
    runs = [exported(lab, path(lab, r)) for r in literal]
    truth = {"names": start["names"], **pooled(runs, point, classes)}
    reference = lab.work / "truth.json"
    write_reference(reference, truth)
    mean, cov = np.array(truth.pop("mean")), np.array(truth.pop("cov"))
    top = correlated(cov)
    found = [method(lab, m, r, reference, (mean, cov), top, point, classes) for m, r in zip(methods, chains)]
    only_shown(found)
    return {"data": "KDD Cup 1999, 10 % file, six classes" + lab.by_scale("", ", every tenth row", ", some hundreds of the rows"), **about,
            "D": len(mean), "lambda": LAMBDA, "hidden": HIDDEN, "batch": n, "warmup": lab.by_scale(2000, 1000, 100), "draws": draws,
            "c2": measures.c2(cov), "mode": {k: start[k] for k in ("command", "log_density")},
            "hmc": {**{k: v for k, v in truth.items() if k != "names"}, "runs": count, "draws": length, "warmup": warmup, **told(literal)},
            "standardised": {"runs": few, "draws": short, **told(z_scored), "rhat": rhat([exported(lab, path(lab, r)) for r in z_scored]),
                             "rhat_here": rhat([d[:short] for d in runs[:few]])},
            "pairs": [{"names": [start["names"][k] for k in p], "mean": mean[p].tolist(), "cov": cov[np.ix_(p, p)].tolist()} for p in top],
            "methods": found}


def settings(n):
    """Every chain of minibatches: family, setting in words, options, a guess of its microseconds an iteration."""
    rows = ["--batch", n, "--batch-scheme", "without"]
    for a in ALPHAS:
        yield "sgfs-f", f"alpha {a}", ["--sampler", "sgfs-f", "--alpha", a, "--fisher-ridge", 0, *rows], 250
    for e in EPSILONS:
        yield "sgld", f"epsilon {e:g}", ["--sampler", "sgld", "--epsilon", f"{e:g}", *rows], 200
    yield "sgfs-f default", "alpha 0", ["--sampler", "sgfs-f", "--alpha", 0, *rows], 250
    yield "sgfs-cv", "default", ["--sampler", "sgfs-cv", *rows], 400


def mode(lab, data, name, *more):
    """The mode that a climb from the program's own start finds, as a file for --start, and what is in it."""
    file = lab.work / name
    words = ["optimize", "drbm", "--data", data, *MODEL, *more, "--out", file, "--overwrite"]

    def make():
        found = lab.json(*words)
        return {"file": str(file), "command": lab._spelt(words), **{k: found[k] for k in ("names", "mean", "log_density")}}

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
            "ms": float(np.mean([1e3 * s["sample_seconds"] / s["draws_made"] for s in of])), "command": records[0]["command"]}


# ---- measures ---------------------------------------------------------------------------------------


def pooled(runs, point, classes):
    """Moments of all runs, and how far they can be trusted: what two halves say of each other, as it would be for the whole.
    trR_right: what trR of faultless draws would be, beyond 1 because the inverse of an estimated matrix is too large."""
    draws = np.concatenate(runs)
    mean, cov = draws.mean(0), np.cov(draws, rowvar=False)
    tau = [measures.own_tau(d)[0] for d in runs]
    rng, apart = np.random.default_rng(1), []
    for _ in range(20):  # halves have twice the whole's bias, and their difference twice its error
        half = rng.permutation(len(runs)) < len(runs) // 2
        a, b = (np.concatenate([d for d, h in zip(runs, half) if h == side]) for side in (True, False))
        apart.append([np.abs(a.mean(0) - b.mean(0)).sum() / np.abs(mean).sum() / 2,
                      np.abs(np.cov(a, rowvar=False) - np.cov(b, rowvar=False)).sum() / np.abs(cov).sum() / 2,
                      1 + (measures.trR(np.cov(a, rowvar=False), np.cov(b, rowvar=False)) - 1) / 2])
    E1, E2, trR = np.mean(apart, 0).tolist()
    return {"mean": mean.tolist(), "cov": cov.tolist(), "tau": float(np.mean(tau)), "effective": float(len(draws) / np.mean(tau)),
            "rhat": rhat(runs), "E1_noise": E1, "E2_noise": E2, "trR_right": trR, "elsewhere": float(np.mean([elsewhere(d, point, classes) for d in runs]))}


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


def method(lab, setting, record, reference, truth, top, point, classes):
    """One chain: errors, speed, and its marginals of the pairs."""
    family, label, *_ = setting
    found = {"family": family, "label": label, "command": record["command"], "state": "diverged" if record["exit"] == 4 else ""}
    if found["state"]:
        return found
    mean, cov = truth
    summary, run = record["summary"], path(lab, record)
    compared = lab.json("compare", run, "--reference", reference)
    draws = exported(lab, run)
    ours, thin = np.cov(draws, rowvar=False), summary["draws_made"] / len(draws)
    tau, error, resolved = measures.own_tau(draws)
    score, some = scores(ours, cov), draws[np.linspace(0, len(draws) - 1, min(CLOUD, len(draws))).astype(int)]
    noise = measures.monte_carlo(draws, mean, cov, 20)
    return {**found, **{k: compared[k] for k in ("E1", "E2", "trR")}, "draws": summary["draws_made"], "seconds": summary["seconds"],
            "us": 1e6 * summary["sample_seconds"] / summary["draws_made"], "tau": tau * thin, "tau_error": error * thin, "resolved": resolved,
            "E1_noise": noise[0], "E2_noise": noise[1], "trR_noise": noise[2], "elsewhere": elsewhere(draws, point, classes),
            "pairs": [{"score": float(score[i, j]), "mean": draws.mean(0)[[i, j]].tolist(), "cov": ours[np.ix_([i, j], [i, j])].tolist(),
                       "cloud": some[:, [i, j]].tolist()} for i, j in top]}


# ---- pictures ---------------------------------------------------------------------------------------


def draw(found, pen):
    marginals(found, pen)
    errors(found, pen)


def marginals(found, pen):
    """Figure 4: the best and the worst of the pairs as they are, and all of them in units of the truth's standard deviations."""
    ours, other = best(found, "sgfs-f"), best(found, "sgld")
    tables, panels = {}, []
    for k, title, y in zip(extremes(ours), ("the best", "the hardest"), (0.60, 0.16)):
        pair = found["pairs"][k]
        tables[f"cloud{k}"] = ours["pairs"][k]["cloud"]
        curves = curves_of(tables, f"big{k}", [(pair, TRUTH), *((m["pairs"][k], look(m)) for m in (other, ours) if m)])
        panels.append(area(0.065, 0.345, y, y + 0.35) + f"""set title "{title} of the {len(found['pairs'])} pairs: {k + 1}" offset 0,-0.6
set xlabel "{pair['names'][0]}" noenhanced offset 0,0.4
set ylabel "{pair['names'][1]}" noenhanced offset 1,0
plot $cloud{k} with points {mark('sgfs-f')} ps 0.3, {curves}
""")
    panels.append("unset xlabel\nunset ylabel\nunset xtics\nunset ytics\nset border 15\nset xrange [-3:3]\nset yrange [-3:3]\n")
    for k, pair in enumerate(found["pairs"]):
        left, top = 0.385 + 0.122 * (k % 5), 0.95 - 0.163 * (k // 5)
        curves = curves_of(tables, f"small{k}", [(scaled(pair, pair), TRUTH), *((scaled(m["pairs"][k], pair), look(m)) for m in (other, ours) if m)])
        panels.append(area(left, left + 0.115, top - 0.15, top) + f"""unset title
set label 1 "{{/*0.8 {k + 1}}}" at graph 0.04,0.9
plot {curves}
""")
    key = [(f"lines {TRUTH}", "HMC, two standard deviations"), *((f"lines {look(m)}", f"{SHOWN[m['family']]}, {label_of(m)}") for m in (ours, other) if m)]
    pen.plot("fig4", "set multiplot\n" + "".join(panels) + "unset label 1\n" + legend(key, 0.09), tables, 1200, 760)


def scaled(pair, truth):
    """A pair's moments in units of the truth's standard deviations, from its mean."""
    sd = np.sqrt(np.diag(truth["cov"]))
    return {"mean": (np.array(pair["mean"]) - truth["mean"]) / sd, "cov": np.array(pair["cov"]) / np.outer(sd, sd)}


def look(m):
    return f"{ink(m['family'])} lw {2.5 if m['family'] == 'sgfs-f' else 1.2}"


def curves_of(tables, name, pairs):
    """Ellipses, as words for gnuplot's plot; the first one, the truth's, on top."""
    for i, (pair, _) in enumerate(pairs):
        tables[f"{name}_{i}"] = ellipse(pair["mean"], pair["cov"])
    return ", ".join(f"${name}_{i} with lines {style}" for i, (_, style) in [*enumerate(pairs)][::-1])


def area(left, right, bottom, top):
    return f"set margins at screen {left:g}, screen {right:g}, screen {bottom:g}, screen {top:g}\n"


def errors(found, pen):
    """Figure 5: errors against 1/ATUC; open marks where a run is too short to know tau."""
    tables, panels = {}, []
    seen = [m for m in found["methods"] if stayed(m)]
    for key, title in (("E1", "error of the means, E1"), ("E2", "error of the covariances, E2"), ("trR", "variances, trR (1 is right)")):
        plots, labels = [], []
        for family in SHOWN:
            points = [(m, speed(m), m[key]) for m in seen if m["family"] == family]
            if not points:
                continue
            block = f"{family}_{key}".replace("-", "_").replace(" ", "_")
            tables[block + "_line"] = [(x, y) for _, x, y in points]
            plots.append(f"${block}_line with lines {ink(family)} lw 1")
            for m, x, y in points:
                point = f"{block}_{len(tables)}"
                tables[point] = [(x, y)]
                plots.append(f"${point} with points {mark(family) if m['resolved'] else ink(family) + ' pt 6'} ps 1.3")
                labels.append(f'set label "{{/*0.75 {label_of(m).split(" ")[-1]}}}" at {x:g},{y:g} offset 0.6,0.6 tc {ink(family)[3:]}')
        of = found["hmc"]
        level = of["trR_right"] if key == "trR" else of[f"{key}_noise"]
        tables[f"hmc_{key}"] = [(speed(of), level)]
        plots += [f"{level:g} with lines {TRUTH}", f"$hmc_{key} with points {mark('hmc fisher')} ps 1.4"]
        panels.append(f"""set title "{title}"
set xlabel "1/ATUC, independent draws a second"
unset label
{chr(10).join(labels)}
plot {", ".join(plots)}
""")
    key = [(f"points {mark(f)} ps 1.3", SHOWN[f]) for f in SHOWN if any(m["family"] == f for m in seen)]
    key += [(f"points {mark('hmc fisher')} ps 1.4", "HMC, the truth"), ('points lc rgb "#666666" pt 6 ps 1.3', "open: too short to know tau"),
            (f"lines {TRUTH}", "what the truth's own error gives")]
    head = "set multiplot layout 1,3 margins 0.05,0.985,0.24,0.92 spacing 0.05,0.1\nset logscale xy\nset format x \"10^{%L}\"\n"
    pen.plot("fig5", head + "".join(panels) + legend(key, 0.12), tables, 1200, 460)
