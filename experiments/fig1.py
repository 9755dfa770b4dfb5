# SPDX-License-Identifier: MIT
"""Figure 1: marginals of two parameters, SGFS-f and SGFS-d at alpha 0 against the truth (MNIST 7 against 9, logistic
regression). Ellipses at two standard deviations and some of the draws, for the pair of parameters that comes out best and
the one that comes out worst: by how much the 2 x 2 covariance differs from the truth's, relative to it."""
import numpy as np

import measures
import seven_nine
from text import digits, table
from lab import Job
from pen import ink, legend, mark

SAMPLERS = {"sgfs-f": "SGFS-f", "sgfs-d": "SGFS-d"}
PAIRS = ("best", "worst")
WARMUP, DRAWS, CLOUD = 3000, 100_000, 300
TRUTH = 'lc rgb "black" lw 1.5 dt 2'
NEAR, FAR = 0.05, 0.10  # standard deviations (relative) and correlations: coincide to the eye; differ to the eye


def run(lab):
    data, x, y = seven_nine.rows(lab)
    reference, truth = seven_nine.truth(lab, x, y)
    mean, cov = np.array(truth["mean"]), np.array(truth["cov"])
    n, draws = seven_nine.batch(y), lab.count(DRAWS, 200)

    def measure(path):
        told = lab.json("compare", path, "--reference", reference)
        return {**pairs(seven_nine.exported(lab, path), mean, cov), **{k: told[k] for k in ("E1", "E2", "trR")}}

    fixed = ["--preset", "paper", "--alpha", 0, "--batch", n, "--warmup", lab.count(WARMUP), "--draws", draws]
    jobs = [Job(s, seven_nine.words(data, "--sampler", s, *fixed), lab.by_scale(8, 1, 0.1), measure, False) for s in SAMPLERS]
    made = dict(zip(SAMPLERS, lab.samples(jobs)))
    effective = draws / measures.tau2((len(y) + n) / n, 0)
    return {"data": seven_nine.about(y), "batch": n, "warmup": lab.count(WARMUP), "draws": draws, "truth_draws": truth["draws"],
            "names": truth["names"], "chance": chance(cov, effective), "E2_chance": measures.c2(cov) / np.sqrt(effective),
            "samplers": {s: {**r["measured"], "command": r["command"], "seconds": r["summary"]["seconds"]}
                         for s, r in made.items()}}


def scores(ours, cov):
    """How far every pair's 2 x 2 covariance is from the truth: the mean of its four entries' differences, each in units of
    the two standard deviations."""
    sd = np.sqrt(np.diag(cov))
    off = np.abs(ours - cov) / np.outer(sd, sd)
    score = np.diag(off)[:, None] / 4 + np.diag(off)[None, :] / 4 + off / 2
    np.fill_diagonal(score, np.nan)
    return score


def pairs(draws, mean, cov):
    """The pairs of parameters with the smallest and the largest difference, each with moments, truth and a cloud."""
    ours = np.cov(draws, rowvar=False)
    score, found = scores(ours, cov), {}
    some = draws[np.linspace(0, len(draws) - 1, min(CLOUD, len(draws))).astype(int)]
    for name, at in zip(PAIRS, (np.nanargmin(score), np.nanargmax(score))):
        both = sorted(int(k) for k in np.unravel_index(at, score.shape))
        block = np.ix_(both, both)
        found[name] = {"pair": both, "score": float(score[tuple(both)]), "mean": draws.mean(0)[both].tolist(),
                       "cov": ours[block].tolist(), "true_mean": mean[both].tolist(), "true_cov": cov[block].tolist(),
                       "cloud": some[:, both].tolist()}
    return found


def chance(cov, effective, times=40):
    """What the worst pair's difference is by sampling error alone (19 of 20 times less than this), with so many
    independent draws. In whitened coordinates an estimated covariance is I + noise: entries N(0, 1/effective), and
    N(0, 2/effective) on the diagonal."""
    rng, L, D = np.random.default_rng(1), np.linalg.cholesky(cov), len(cov)
    worst = []
    for _ in range(times):
        z = rng.standard_normal((D, D)) / np.sqrt(effective)
        noise = (np.tril(z, -1) + np.tril(z, -1).T) + np.sqrt(2) * np.diag(np.diag(z))
        worst.append(np.nanmax(scores(cov + L @ noise @ L.T, cov)))
    return float(np.quantile(worst, 0.95))


def ellipse(mean, cov, count=100):
    """Points of the ellipse at two standard deviations."""
    angle = np.linspace(0, 2 * np.pi, count)
    return (np.array(mean)[:, None] + 2 * np.linalg.cholesky(cov) @ np.stack([np.cos(angle), np.sin(angle)])).T


def draw(found, pen):
    panels, tables = [], {}
    for s, title in SAMPLERS.items():
        for which in PAIRS:
            of, block = found["samplers"][s][which], f"{s}_{which}".replace("-", "_")
            first, second = (found["names"][k] for k in of["pair"])
            tables[f"{block}_cloud"] = of["cloud"]
            tables[f"{block}_ours"] = ellipse(of["mean"], of["cov"])
            tables[f"{block}_truth"] = ellipse(of["true_mean"], of["true_cov"])
            panels.append(f"""set title "{title}, {which} pair: {100 * of['score']:.2g} % off"
set xlabel "{first}"
set ylabel "{second}"
plot ${block}_cloud with points {mark(s)} ps 0.3, ${block}_ours with lines {ink(s)} lw 3, ${block}_truth with lines {TRUTH}
""")
    key = [(f"lines {ink(s)} lw 3", f"{title}, two standard deviations, and draws") for s, title in SAMPLERS.items()]
    pen.plot("fig1", "set multiplot layout 2,2 margins 0.08,0.98,0.15,0.95 spacing 0.1,0.13\n" + "".join(panels) +
             legend([*key, (f"lines {TRUTH}", "the truth")], 0.06), tables, 960, 860)


def rows(found):
    head = ["sampler", "pair", "first", "second", "difference", "sd of the first / truth", "sd of the second / truth", "correlation",
            "true correlation"]
    return head, [[title, which, *_row(found, s, which)] for s, title in SAMPLERS.items() for which in PAIRS]


def shape(of):
    """Standard deviations relative to the truth, correlation, true correlation."""
    c, t = np.array(of["cov"]), np.array(of["true_cov"])
    return np.sqrt(np.diag(c) / np.diag(t)), *(m[0, 1] / np.sqrt(m[0, 0] * m[1, 1]) for m in (c, t))


def _row(found, s, which):
    of = found["samplers"][s][which]
    sd, correlation, true = shape(of)
    return [*(found["names"][k] for k in of["pair"]), f"{of['score']:.2g}", f"{sd[0]:.3f}", f"{sd[1]:.3f}", f"{correlation:.3f}",
            f"{true:.3f}"]


# ---- the page ---------------------------------------------------------------------------------------


def furthest(of):
    """The largest difference that the eye can see in a pair: of a standard deviation (relative) or of the correlation."""
    sd, correlation, true = shape(of)
    return float(max(*np.abs(sd - 1), abs(correlation - true)))


def claims(found):
    """The paper's claims, what came out, and the verdict."""
    f, d = (found["samplers"][s] for s in SAMPLERS)
    by_chance = ("no more" if f["worst"]["score"] <= found["chance"] else "more") + " than sampling error alone"
    near, far = furthest(f["worst"]), furthest(d["worst"])
    yield ["SGFS-f's marginals nearly coincide with the truth, even for the worst pair",
           f"worst pair {100 * f['worst']['score']:.2g} % off, {by_chance} ({100 * found['chance']:.2g} % for the worst of all "
           f"pairs); standard deviations and correlation within {100 * near:.2g} %",
           "confirmed" if near <= NEAR else "confirmed up to sampling error" if f["worst"]["score"] <= found["chance"] else
           f"not confirmed: more than {100 * NEAR:g} % and more than chance"]
    yield ["SGFS-d's differ visibly",
           f"worst pair {100 * d['worst']['score']:.2g} % off, best pair {100 * d['best']['score']:.2g} %; standard deviations "
           f"or correlation off by up to {100 * far:.2g} %",
           "confirmed" if far >= FAR else f"not confirmed: less than {100 * FAR:g} %"]


def page(found):
    f, d = (found["samplers"][s] for s in SAMPLERS)
    widths = [shape(d[which])[0].mean() for which in PAIRS]
    how = "narrow" if max(widths) < 1 else "wide" if min(widths) > 1 else "narrow or too wide"
    return f"""![Figure 1: ellipses of SGFS-f lie on those of the truth, those of SGFS-d do not](paper/fig1.svg)

{table(*rows(found))}

Difference: of the four entries of a pair's covariance, the mean difference from the truth in units of its standard
deviations. Best and worst of all pairs of the {len(found['names'])} parameters.

{table(["the paper", "here", "verdict"], claims(found))}

Settings: alpha 0, n {found['batch']}, lambda 1, {found['warmup']:,} iterations of burn-in and {found['draws']:,} draws, one
chain; truth: {found['truth_draws']:,} draws of HMC. `{f['command']}` and the same with `sgfs-d` ({digits(f['seconds'])} s
and {digits(d['seconds'])} s).

Where we may differ: which pair is the best and which the worst depends on the measure; ours is the one above. A diagonal matrix
does not know which combinations of parameters are stiff: at the largest step it inflates those (trR {d['trR']:.2f}; SGFS-f
{f['trR']:.3f}), and the marginals of single parameters come out too {how}
(E2 {d['E2']:.2f}; SGFS-f {f['E2']:.3f}, of which sampling error alone makes about {found['E2_chance']:.3f})."""
