# SPDX-License-Identifier: MIT
"""Figure 3 right: the network 20-30-10 on MNIST, test error of averaged predictions against iterations and seconds.

Everything is done by `sgfs sample --validate`: it reads the images, projects and standardises them, and follows the error of the
10,000 test images. In the first BURN_IN iterations the error is that of the point at hand, from then on that of the
prediction averaged over all kept draws since. That holds for all samplers alike: leaving out so little lets the curve
begin at the beginning, and what it keeps of the way from the start is soon outweighed. SGD is an optimiser, its prediction is
that of the point at hand throughout; the table has the average along its path, too.

Runs are repeated with other random projections, which tells how much of a difference is luck: verdicts are paired
t-tests over projections."""
import numpy as np
from scipy import stats

from text import clock, devices, digits, seconds, table
from lab import Failed, Job, where
from pen import ink, legend

IMAGES = ["mnist/train-images-idx3-ubyte.gz", "mnist/train-labels-idx1-ubyte.gz",
          "mnist/t10k-images-idx3-ubyte.gz", "mnist/t10k-labels-idx1-ubyte.gz"]
STEPS = ["--step-a", 1, "--step-b", 1000, "--step-delta", 1]
ALPHA = ["--alpha", 2, "--warmup-alpha", 2]
# name -> the sampler's words, thinning: to a few draws a second of a core, since every kept one predicts all test images
METHODS = {"sgfs-f": (["sgfs-f", *ALPHA, "--fisher-every", 1], 2), "sgfs-f/10": (["sgfs-f", *ALPHA, "--fisher-every", 10], 10),
           "sgfs-d": (["sgfs-d", *ALPHA], 50), "sgd": (["sgd", *STEPS], 50), "sgld": (["sgld", *STEPS], 50)}
SHOWN = {"sgfs-f": "SGFS-f", "sgfs-f/10": "SGFS-f lazy", "sgfs-d": "SGFS-d", "sgd": "SGD", "sgld": "SGLD"}
REPEATED = ["sgfs-f/10", "sgfs-d", "sgd", "sgld"]  # with every projection; the exact update with the first one
# quick: iterations, and seconds to expect
QUICK = {"sgfs-f": (200, 14), "sgfs-f/10": (1500, 16), "sgfs-d": (8000, 9), "sgd": (8000, 8), "sgld": (8000, 8)}
BURN_IN, TIME, FOREVER, CHANCE = 100, 150, 10_000_000, 0.05
# on a GPU: seconds to expect, the draws in place of TIME, and as few of them kept as of the others
ON_GPU, DRAWS_THERE, THIN_THERE = {"sgfs-f": 100, "sgfs-f/10": 60}, 100_000, 50
# an independent prototype in numpy, with another projection (SGFS-f after 100 s, SGFS-d 60 s)
PROTOTYPE = {"sgfs-f/10": 0.165, "sgfs-d": 0.170, "sgd": 0.174, "sgld": 0.177}
LEVELS = [0.30, 0.25, 0.22, 0.20, 0.19, 0.18, 0.175, 0.17, 0.165]


def run(lab):
    files = [lab.file(f) for f in IMAGES]
    burn_in, repeats = lab.by_scale(BURN_IN, BURN_IN, 10), lab.by_scale(5, 2, 2)
    rows = 2000 if files[0].stat().st_size > 5e6 else 100  # of a minibatch
    asked = [(name, 1) for name in METHODS] + [(name, seed) for seed in range(2, repeats + 1) for name in REPEATED]

    def job(name, seed):
        how, thin = METHODS[name]
        draws, limit = lab.by_scale(FOREVER, QUICK[name][0], 60), lab.by_scale(["--max-time", TIME], [], [])
        if lab.gpu and name in ON_GPU and lab.scale == "full":
            draws, thin, limit = DRAWS_THERE, THIN_THERE, []
        words = ["mlp", "--data", files[0], "--labels", files[1], "--project", 20, "--project-seed", seed, "--standardize=all",
                 "--validate", files[2], "--validate-labels", files[3], "--hidden", lab.by_scale(30, 30, 8), "--batch", rows,
                 "--prior-precision", 0.001, "--sampler", *how, "--thin", thin, "--warmup", burn_in, "--draws", draws, *limit,
                 "--chains", 1, "--threads", 1, "--seed", seed]
        return Job(f"{name.replace('/', '-every-')}-{seed}", words, lab.by_scale(TIME + 5, QUICK[name][1], 0.3), keep=False,
                   gpu=ON_GPU.get(name))

    records = lab.samples([job(*a) for a in asked])
    made = [{"method": name, "projection": seed, "where": where(r), **curve_of(name, r["summary"]),
             "command": r["command"]}
            for (name, seed), r in zip(asked, records)]
    return {"data": "MNIST, 60,000 + 10,000 images" if rows == 2000 else "a stand-in for MNIST", "batch": rows,
            "burn_in": burn_in, "runs": made}


def curve_of(name, summary, most=150):
    """The numbers of a run that are kept: the curve at not more than so many points, evenly by the logarithm, and its end."""
    if "validation" not in summary:
        raise Failed(f"{name}: no draw within the time: give it a longer --max-time")
    points = summary["validation"]["curve"]
    drawn = [p for p in points if p["draws"] > 0]
    at = np.unique(np.geomspace(1, len(points), min(most, len(points))).astype(int)) - 1

    def value(p, what):
        return p[what + "_now"] if name == "sgd" or p["draws"] == 0 else p[what]

    end = drawn[-1]
    return {"iterations": end["iteration"], "seconds": end["seconds"], "draws": end["draws"],
            **{k: end[k] for k in ("error", "log_loss", "error_now", "log_loss_now")},
            "curve": {"iteration": [points[i]["iteration"] for i in at], "seconds": [points[i]["seconds"] for i in at],
                      **{what: [value(points[i], what) for i in at] for what in ("error", "log_loss")}}}


# ---- what follows from the curves

def of(found, method, projection=1):
    return next((r for r in found["runs"] if r["method"] == method and r["projection"] == projection), None)


def projections(found):
    return sorted({r["projection"] for r in found["runs"]})


def final(r, what="error"):
    """What the method has to offer in the end: SGD its last point, a sampler its average."""
    return r[what + "_now"] if r["method"] == "sgd" else r[what]


def reached(r, level, axis="iteration"):
    """Where the curve, as the running median of five points, first is at the level or below; None: never."""
    error = np.array(r["curve"]["error"], float)
    padded = np.pad(error, 2, mode="edge")
    smooth = np.median(np.lib.stride_tricks.sliding_window_view(padded, 5), axis=1)
    below = np.flatnonzero(smooth <= level)
    return r["curve"][axis][below[0]] if len(below) else None


def factors(found, slow, fast, projection):
    """How many times more iterations the slow one needs than the fast one, at every level that both reach."""
    a, b = of(found, slow, projection), of(found, fast, projection)
    pairs = [(reached(a, level), reached(b, level)) for level in LEVELS]
    return [x / y for x, y in pairs if x and y]


def typical(found, slow, fast):
    """Mean of the logarithm over levels, for each projection; and over those the factor itself."""
    logs = [float(np.mean(np.log(f))) for f in (factors(found, slow, fast, p) for p in projections(found)) if f]
    return logs, float(np.exp(np.mean(logs))) if logs else None


def chance(values):
    """One-sided p value of the mean being above 0, by Student's t over projections; None for a single one."""
    if len(values) < 2:
        return None
    if np.ptp(values) == 0:
        return 0.5 if values[0] == 0 else 0.0 if values[0] > 0 else 1.0
    return float(stats.ttest_1samp(values, 0, alternative="greater").pvalue)


def verdict(p):
    if p is None:
        return "not judged (one projection)"
    if p <= CHANCE:
        return f"confirmed (p {digits(p)})" if p >= 1e-4 else "confirmed (p < 0.0001)"
    return f"opposite (p {digits(1 - p)})" if p >= 1 - CHANCE else f"not decided (p {digits(p)})"


def claims(found):
    """the paper, here, verdict: a row for each claim."""
    lines = []
    for fast, slow in (("sgfs-f/10", "sgfs-d"), ("sgfs-d", "sgd"), ("sgfs-d", "sgld"), ("sgfs-f/10", "sgd")):
        logs, factor = typical(found, slow, fast)
        lines.append([f"per iteration, {plain(fast)} learns faster than {SHOWN[slow]}",
                      f"{SHOWN[slow]} needs {digits(factor)} times the iterations to the same error" if factor else "no level that both reach",
                      verdict(chance(logs))])
    for s in ("sgfs-f/10", "sgfs-d", "sgld"):
        gain = [final(of(found, "sgd", p)) - final(of(found, s, p)) for p in projections(found)]
        lines.append([f"the averaged prediction of {plain(s)} ends below SGD",
                      f"{abs(np.mean(gain)):.4f} {'below' if np.mean(gain) > 0 else 'above'} SGD's last point, "
                      f"mean of {len(gain)} projections",
                      verdict(chance(gain))])
    ours = {m: float(np.mean([final(of(found, m, p)) for p in projections(found)])) for m in REPEATED}
    same = sorted(ours, key=ours.get) == sorted(PROTOTYPE, key=PROTOTYPE.get)
    far = max(abs(ours[m] - PROTOTYPE[m]) for m in REPEATED)
    lines.append(["(not the paper: an independent prototype, another projection) " + listed(PROTOTYPE),
                  listed(ours), f"{'the same order' if same else 'another order'}, errors within {digits(far)}"])
    return lines


def listed(errors):
    return ", ".join(f"{plain(m)} {e:.3f}" for m, e in errors.items())


def lazy(found):
    """How far the curves of SGFS-f with an update at every and at every 10th iteration are apart, at most."""
    a, b = of(found, "sgfs-f")["curve"], of(found, "sgfs-f/10")["curve"]
    at = [t for t in a["iteration"] if found["burn_in"] + 10 < t <= b["iteration"][-1]]
    apart = np.abs(np.interp(at, a["iteration"], a["error"]) - np.interp(at, b["iteration"], b["error"]))
    return f"at equal iterations their errors are never more than {np.max(apart):.4f} apart" if at else "too short to compare"


def lengths(found):
    """How long runs are where a GPU made some."""
    there = {f"{r['iterations']:,}" for r in found["runs"] if r.get("where") == "GPU"}
    return f"SGFS-f was run on a GPU for {' or '.join(sorted(there))} iterations, the others for {TIME} s of a core each. " if there else ""


def plain(s):
    """The lazy one stands for SGFS-f where projections are compared."""
    return "SGFS-f" if s == "sgfs-f/10" else SHOWN[s]


# ---- what is shown

def draw(found, pen):
    runs = {m: of(found, m) for m in METHODS}
    block = {m: m.replace("-", "_").replace("/", "_") for m in METHODS}
    tables = {block[m]: list(zip(*[r["curve"][k] for k in ("iteration", "seconds", "error")])) for m, r in runs.items()}
    floor = min(min(r["curve"]["error"]) for r in runs.values())

    style = {m: f"lines {ink(m.split('/')[0])} lw {'1.6 dt 2' if m == 'sgfs-f' else '2.2'}" for m in METHODS}

    def lines(column):
        return ", \\\n     ".join(f"${block[m]} using {column}:3 with {style[m]}" for m in METHODS)

    pen.plot("fig3-right", f"""set multiplot layout 1,2 margins 0.095,0.98,0.25,0.97 spacing 0.08
set logscale xy
set yrange [{0.97 * floor:.4f}:0.5]
set ytics (0.15, 0.16, 0.17, 0.18, 0.2, 0.22, 0.25, 0.3, 0.4, 0.5)
set format x "10^{{%L}}"
set ylabel "test error"
set xlabel "iterations"
plot {lines(1)}
set format x "%g"
set xlabel "{clock(runs.values())}"
set xrange [0.01:2000]
unset ylabel
plot {lines(2)}
""" + legend([(style[m], SHOWN[m]) for m in METHODS]), tables, 1000, 450)


def rows(found):
    head = ["projection", "method", "iterations", "seconds", "kept draws", "test error", "log loss", "test error, last point",
            "log loss, last point", *[f"{what} to {level:g}" for what in ("iterations", "seconds") for level in LEVELS]]
    lines = [[r["projection"], r["method"], r["iterations"], f"{r['seconds']:.4g}", r["draws"], r["error"], r["log_loss"],
              r["error_now"], r["log_loss_now"],
              *[reached(r, level, axis) or "" for axis in ("iteration", "seconds") for level in LEVELS]] for r in found["runs"]]
    return devices(head, lines, found["runs"], 2)


def ends(found):
    head = ["", "iterations", "each", "test error", "log loss", "test error, last point alone", "log loss, last point alone"]
    lines = []
    for m in METHODS:
        r = of(found, m)
        lines.append([SHOWN[m], f"{r['iterations']:,}", seconds(r["seconds"] / r["iterations"]), f"{r['error']:.4f}",
                      f"{r['log_loss']:.4f}", f"{r['error_now']:.4f}", f"{r['log_loss_now']:.4f}"])
    return table(*devices(head, lines, [of(found, m) for m in METHODS], 1))


def ways(found):
    """Iterations and seconds to the levels that the first projection's runs reach."""
    levels = [level for level in LEVELS if any(reached(of(found, m), level) for m in METHODS)]

    def cell(r, level):
        return f"{digits(reached(r, level))} ({seconds(reached(r, level, 'seconds'))})" if reached(r, level) else "-"

    return table(["iterations (time) to a test error of", *[f"{level:g}" for level in levels]],
                 [[SHOWN[m], *[cell(of(found, m), level) for level in levels]] for m in METHODS])


def others(found):
    head = ["test error at the end, by projection", *[str(p) for p in projections(found)]]
    return table(head, [[SHOWN[m] + (" (last point)" if m == "sgd" else ""),
                         *[f"{final(of(found, m, p)):.4f}" for p in projections(found)]] for m in REPEATED])


def page(found):
    return "\n\n".join([
        "![Figure 3, right](paper/fig3-right.svg)",
        f"The point at hand for {found['burn_in']} iterations, then the prediction averaged over the draws since; "
        "SGD: the point at hand throughout. Lazy: the Fisher matrix is updated and factored at every 10th iteration after "
        "burn-in, as the program does unless told otherwise; without the word at every iteration, as in the paper.",
        ends(found), ways(found), others(found),
        table(["the paper", "here", "verdict"], claims(found)),
        f"SGFS-f in this table is the lazy one, which has all projections. Times the iterations: the geometric mean over the "
        "error levels above that both reach, and over projections. "
        f"Verdicts are paired t-tests over {len(projections(found))} random projections (one-sided, {CHANCE:g}). "
        + settings(found)])


def settings(found):
    return (f"lambda 0.001, n {found['batch']:,}, alpha 2 from the first iteration; SGD and SGLD step by a (b + t)^-delta with a 1, b 1000, delta 1; the "
            "relative ridge of the Fisher matrix is the automatic 1e-3, without which the first steps saturate the hidden units. "
            f"{lengths(found)}"
            "SGFS-f, lazy or not: "
            f"{lazy(found)}. One run:\n\n"
            f"    {of(found, 'sgfs-f/10')['command']}\n\n"
            "The paper does not say which projection it took; ours is another, and a projection moves all errors together "
            "(the table by projection). Seconds leave out predicting the test images.")
