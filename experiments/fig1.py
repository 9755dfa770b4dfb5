# SPDX-License-Identifier: MIT
"""Figure 1: marginals of two parameters, SGFS-f and SGFS-d at alpha 0 against the truth (MNIST 7 against 9, logistic
regression). Ellipses at two standard deviations and some of the draws, for the pair of parameters that comes out best and
the one that comes out worst: by how much the 2 x 2 covariance differs from the truth's, relative to it."""
import numpy as np

import mnist79
import seven_nine
from evidence.text import table
from lab import Job
from pen import ink, mark

SAMPLERS = ["sgfs-f", "sgfs-d"]
WARMUP, DRAWS, CLOUD = 3000, 100_000, 300


def run(lab):
    data, x, y = seven_nine.rows(lab)
    reference, truth = seven_nine.truth(lab, x, y)
    mean, cov = np.array(truth["mean"]), np.array(truth["cov"])

    def measure(path):
        lab.sgfs("export", path, path.with_suffix(".npy"), "--overwrite", "--quiet")
        draws = np.load(path.with_suffix(".npy"))[0]
        return {**pairs(draws, mean, cov), "compare": {k: v for k, v in lab.json("compare", path, "--reference", reference).items()
                                                       if k in ("E1", "E2", "trR")}}

    jobs = [Job(s, ["logistic", "--data", data, "--preset", "paper", "--sampler", s, "--alpha", 0, "--batch", min(500, len(y) // 4),
                    "--prior-precision", mnist79.LAMBDA, "--warmup", lab.count(WARMUP), "--draws", lab.count(DRAWS, 200),
                    "--thin", lab.by_scale(10, 10, 1), "--chains", 1, "--threads", 1, "--seed", 1], 12, measure) for s in SAMPLERS]
    made = {s: r for s, r in zip(SAMPLERS, lab.samples(jobs))}
    return {"data": "MNIST 7 against 9", "warmup": lab.count(WARMUP), "draws": lab.count(DRAWS, 200), "truth_draws": truth["draws"],
            "names": truth["names"], "samplers": {s: {**r["measured"], "command": r["command"], "seconds": r["summary"]["seconds"]}
                                                  for s, r in made.items()}}


def pairs(draws, mean, cov):
    """The pairs of parameters with the smallest and the largest difference, each with moments, truth and a cloud."""
    ours = np.cov(draws, rowvar=False)
    var = np.diag(cov)
    off = np.abs(ours - cov)
    size = np.sqrt(var[:, None] * var[None, :])
    # the mean of the four entries of the 2 x 2 block, each in units of the two standard deviations
    score = (np.diag(off) / var)[:, None] / 4 + (np.diag(off) / var)[None, :] / 4 + off / size / 2
    np.fill_diagonal(score, np.nan)
    found = {}
    for name, at in (("best", np.nanargmin(score)), ("worst", np.nanargmax(score))):
        i, j = sorted(int(k) for k in np.unravel_index(at, score.shape))
        some = draws[np.linspace(0, len(draws) - 1, min(CLOUD, len(draws))).astype(int)]
        found[name] = {"i": i, "j": j, "score": float(score[i, j]), "mean": draws.mean(0)[[i, j]].tolist(),
                       "cov": ours[np.ix_([i, j], [i, j])].tolist(), "true_mean": mean[[i, j]].tolist(),
                       "true_cov": cov[np.ix_([i, j], [i, j])].tolist(), "cloud": some[:, [i, j]].tolist()}
    return found


def ellipse(mean, cov, count=100):
    """Points of the ellipse at two standard deviations."""
    angle = np.linspace(0, 2 * np.pi, count)
    return (np.array(mean)[:, None] + 2 * np.linalg.cholesky(cov) @ np.stack([np.cos(angle), np.sin(angle)])).T


def draw(found, pen):
    panels, tables = [], {}
    for s in SAMPLERS:
        for which in ("best", "worst"):
            of, block = found["samplers"][s][which], f"{s}_{which}".replace("-", "_")
            tables[f"{block}_cloud"] = of["cloud"]
            tables[f"{block}_ours"] = ellipse(of["mean"], of["cov"])
            tables[f"{block}_truth"] = ellipse(of["true_mean"], of["true_cov"])
            panels.append(f"""set title "{s}, {which} pair"
set xlabel "{found['names'][of['i']]}"
set ylabel "{found['names'][of['j']]}"
plot ${block}_cloud with points {mark(s)} ps 0.25, ${block}_ours with lines {ink(s)} lw 2.5 title "{s}", \\
     ${block}_truth with lines lc rgb "black" lw 1.5 dt 2 title "truth"
""")
    pen.plot("fig1", "set multiplot layout 2,2\nset key top left samplen 1.5\n" + "".join(panels) + "unset multiplot\n", tables,
             900, 760)


def rows(found):
    head = ["sampler", "pair", "first", "second", "difference", "sd1/truth", "sd2/truth", "correlation", "true correlation"]
    return head, [[s, which, *_row(found, s, which)] for s in SAMPLERS for which in ("best", "worst")]


def _row(found, s, which):
    of = found["samplers"][s][which]
    c, t = np.array(of["cov"]), np.array(of["true_cov"])
    sd = np.sqrt(np.diag(c) / np.diag(t))
    return [found["names"][of["i"]], found["names"][of["j"]], f"{of['score']:.3f}", f"{sd[0]:.3f}", f"{sd[1]:.3f}",
            f"{c[0, 1] / np.sqrt(c[0, 0] * c[1, 1]):.3f}", f"{t[0, 1] / np.sqrt(t[0, 0] * t[1, 1]):.3f}"]


def page(found):
    head, lines = rows(found)
    return ("![Figure 1](paper/fig1.svg)\n\n" + table(head, lines) +
            f"\n\n{found['warmup']:,} iterations of burn-in and {found['draws']:,} draws each, `--preset paper`, alpha 0.")
