# SPDX-License-Identifier: MIT
"""Figure 2: errors of means (E1) and covariances (E2) after T seconds of one core against how fast a chain mixes, 1/ATUC
(independent draws a second), and trR beside them; MNIST 7 against 9, logistic regression. First the paper's four samplers with its
settings, then the same picture with samplers that it did not have.

The clock is that of --max-time: T seconds from the first iteration on, burn-in included. HMC's step size is found in
runs of their own, which do not count. E1, E2 and trR are those of every iteration; tau is that of the long run, unless that was
thinned by more than a tenth of it, then of the short one. Where a run is shorter than 50 tau, tau is linear theory's (LinearChain)
or, without one, what was found, a lower bound: open marks."""
import math

import measures
import numpy as np

import section9
import seven_nine
from evidence.text import digits, table
from lab import Job
from pen import LOOK, ink, mark

ALPHAS = (0, 1, 2, 3, 4, 5, 6)
EPSILONS = (1e-3, 5e-4, 1e-4, 5e-5, 1e-5, 5e-6, 1e-6)
LEAPFROGS = (50, 40, 30, 20, 10, 1)
WARMUP, ENDLESS, PAPERS = 3000, 10**9, ("sgfs-f", "sgfs-d", "sgld", "hmc")
TITLE = {"sgfs-f": "SGFS-f", "sgfs-d": "SGFS-d", "sgld": "SGLD", "hmc": "HMC, identity mass", "sgfs-f default": "SGFS-f, this program's way",
         "sgfs-cv": "sgfs-cv", "nuts": "NUTS", "hmc fisher": "HMC, Fisher mass", "exact": "exact"}
TIMES = ("short", "long")


# ---- runs -------------------------------------------------------------------------------------------


def settings(lab, n, steps):
    """Every method: its family, its setting in words, what it is run with, a guess of its microseconds an iteration."""
    some = slice(None, None, lab.by_scale(1, 1, 6))
    rows, burn = ["--batch", n], ["--warmup", lab.count(WARMUP, 20)]
    for s, us in (("sgfs-f", 50), ("sgfs-d", 20)):
        for a in ALPHAS[some]:
            yield s, f"alpha {a}", ["--sampler", s, "--preset", "paper", "--alpha", a, *rows, *burn], us
    for e in EPSILONS[some]:
        yield "sgld", f"epsilon {short(e)}", ["--sampler", "sgld", "--epsilon", e, *rows, *burn], 15
    for count, step in steps.items():
        yield "hmc", leaps(count), ["--sampler", "hmc", "--metric", "identity", "--leapfrog", count, "--epsilon", step,
                                    "--warmup", burn_in(lab, count)], 250 * count
    for a in (0, 1, 2)[some]:
        yield "sgfs-f default", f"alpha {a}", ["--sampler", "sgfs-f", "--batch-scheme", "without", "--alpha", a, *rows, *burn], 20
    for h in (1, 0.5, 0.2, 0.1)[some]:
        yield "sgfs-cv", f"h {h}", ["--sampler", "sgfs-cv", "--step", h, *rows], 30
    yield "sgfs-cv", "default", ["--sampler", "sgfs-cv"], 20
    few = ["--metric", "fisher", "--warmup", lab.by_scale(100, 50, 10)]
    yield "nuts", "Fisher mass", ["--sampler", "nuts", *few], 1000
    for count in (2, 4, 8)[some]:
        yield "hmc fisher", leaps(count), ["--sampler", "hmc", "--leapfrog", count, *few], 250 * count
    yield "exact", "default", ["--sampler", "exact", "--warmup", lab.by_scale(1000, 300, 50)], 300


def burn_in(lab, leapfrogs):
    """Of HMC with a given step: at most 3,000 iterations and about 2,000 gradients."""
    return max(10, min(lab.count(WARMUP), lab.by_scale(2000, 500, 50) // leapfrogs))


def leaps(count):
    return f"{count} leapfrog" + "s" * (count > 1)


def short(x):
    """1e-05 as 1e-5."""
    mantissa, exponent = f"{x:.0e}".split("e")
    return f"{mantissa}e{int(exponent)}"


def hmc_steps(lab, data, y):
    """HMC's step sizes, adapted to an acceptance of 0.8."""
    counts, warmup = LEAPFROGS[::lab.by_scale(1, 1, 5)], lab.by_scale(500, 150, 20)
    jobs = [Job(f"step-{k}", seven_nine.words(data, y, "--sampler", "hmc", "--metric", "identity", "--leapfrog", k, "--warmup",
                                              warmup * (5 if k == 1 else 1), "--draws", 20), 250e-6 * k * warmup, keep=False)
            for k in counts]
    return {k: float(f"{r['summary']['trajectories']['step_size']:.3g}") for k, r in zip(counts, lab.samples(jobs))}


def run(lab):
    data, x, y = seven_nine.rows(lab)
    reference, truth = seven_nine.truth(lab, x, y)
    gauge, steps = seven_nine.gauge(lab, reference), hmc_steps(lab, data, y)
    times = lab.by_scale((3, 90), (0.15, 4.5), (0.01, 0.03))
    methods, jobs = list(settings(lab, seven_nine.batch(y), steps)), []
    for family, label, words, us in methods:
        for when, T, kept in zip(TIMES, times, (100_000, 20_000)):
            thin = max(1, int(1e6 * T / us / kept))
            every = seven_nine.words(data, y, *words, "--draws", ENDLESS, "--thin", thin, "--max-time", T)
            jobs.append(Job(f"{family}-{label}-{when}".replace(" ", "-"), every, T + 0.2, gauge, False, (4,)))
    again = section9.jobs(lab, data, y, reference)
    records = lab.samples(jobs + [job for _, job in again])
    theory = seven_nine.Theory(x, y, truth)
    found = [method(family, label, words, records[2 * i:2 * i + 2], theory) for i, (family, label, words, _) in enumerate(methods)]
    names = [name for name, _ in again]
    mean, cov = np.array(truth["mean"]), np.array(truth["cov"])
    return {"data": seven_nine.about(y), "times": times, "methods": found, "warmup": lab.count(WARMUP, 20), "D": len(mean),
            "c1": measures.c1(mean, cov), "c2": measures.c2(cov), "truth_draws": truth["draws"], "E1_noise": truth["E1_noise"],
            "E2_noise": truth["E2_noise"], "stiffest": {s: theory.sgfs(0, s == "sgfs-d").stiffest for s in ("sgfs-f", "sgfs-d")},
            "section9": section9.gather(list(zip(names, records[len(jobs):])), truth, len(y))}


def method(family, label, words, records, theory):
    """One mark of the picture: both runs, and how fast the chain mixes."""
    found = {"family": family, "label": label, "command": records[1]["command"]}
    for when, r in zip(TIMES, records):
        summary = r["summary"]
        found[when] = {**{k: r["measured"].get(k) for k in ("E1", "E2", "trR")}, "draws": summary.get("draws_made", 0)}
        if summary.get("draws_made"):
            found["us"] = 1e6 * summary["sample_seconds"] / summary["draws_made"]
            found["acceptance"] = summary.get("trajectories", {}).get("acceptance_rate")
    found["state"] = "diverged" if any(r["exit"] == 4 for r in records) else "" if records[1]["measured"] else "no draw in time"
    return {**found, **mixing(records, expected_tau(family, label, theory))}


def mixing(records, theory):
    """tau in iterations, its error, and where it comes from."""
    for r in reversed(records):
        of, thin = r["measured"], int(words_value(r, "--thin"))
        if of.get("tau") and (thin == 1 or of["tau"] >= 10 or r is records[0]):
            if of["resolved"] or theory is None:
                return {"tau": of["tau"] * thin, "tau_error": of["tau_error"] * thin, "from": "run" if of["resolved"] else "bound"}
            return {"tau": theory, "tau_error": None, "from": "theory"}
    return {"tau": theory, "tau_error": None, "from": "theory"}


def words_value(record, option):
    words = record["key"]["words"]
    return words[words.index(option) + 1]


def expected_tau(family, label, theory):
    value = float(label.split()[1]) if family in ("sgfs-f", "sgfs-d", "sgld") else None
    if value is None:
        return None
    chain = theory.sgld(value) if family == "sgld" else theory.sgfs(value, family == "sgfs-d")
    return chain.own_tau if chain.stiffest < 2 else None


# ---- pictures ---------------------------------------------------------------------------------------


def speed(m):
    """1/ATUC: independent draws a second."""
    return 1e6 / (m["tau"] * m["us"]) if m.get("us") and m["tau"] else None


def draw(found, pen):
    picture(found, pen, "fig2", PAPERS, ())
    picture(found, pen, "fig2-more", [f for f in TITLE if f not in PAPERS], PAPERS)


def picture(found, pen, name, families, behind):
    """Two rows of panels, one for each T; behind: families in grey."""
    tables, panels = {}, []
    speeds = [speed(m) for m in found["methods"] if speed(m)]
    left, right = 10**math.floor(math.log10(min(speeds))), 10**math.ceil(math.log10(max(speeds)))
    for when, T in zip(TIMES, found["times"]):
        for key in ("E1", "E2", "trR"):
            plots, labels = [], []
            for family in (*behind, *families):
                points = [m for m in found["methods"] if m["family"] == family and speed(m) and m[when][key]]
                if not points:
                    continue
                block = f"{family}_{when}_{key}".replace("-", "_").replace(" ", "_")
                for part, wanted in (("", ("run",)), ("_open", ("theory", "bound"))):
                    tables[block + part] = [(speed(m), m[when][key]) for m in points if m["from"] in wanted] or [(None, None)]
                tables[block + "_line"] = [(speed(m), m[when][key]) for m in points]
                look = ('lc rgb "#bbbbbb"', 'lc rgb "#bbbbbb" pt 7 ps 0.5') if family in behind else (ink(family), mark(family) + " ps 1.1")
                plots += [f"${block}_line with lines {look[0]} lw 1", f"${block} with points {look[1]}",
                          f"${block}_open with points {look[0]} pt 6 ps {0.6 if family in behind else 1.2}"]
                if family not in behind:
                    labels += ends(points, key, when, family)
            panels.append(panel(key, T, found, plots, labels))
    legend = ", ".join([f'NaN with points {mark(f)} ps 1.3 title "{TITLE[f]}"' for f in families] +
                       ['NaN with points lc rgb "#666666" pt 6 ps 1.2 title "tau not resolved: theory or bound"',
                        'NaN with lines lc rgb "black" dt 2 title "sampling error alone"',
                        'NaN with lines lc rgb "black" lw 0.7 title "reference\'s own noise"'] +
                       (['NaN with points lc rgb "#bbbbbb" pt 7 title "the paper\'s samplers"'] if behind else []))
    script = f"""set multiplot layout 2,3 margins 0.06,0.985,0.19,0.95 spacing 0.055,0.13
set logscale x
set format x "10^{{%L}}"
set xrange [{left:g}:{right:g}]
{''.join(panels)}
unset logscale
unset label
unset title
unset xlabel
unset ylabel
set margins 0,0,0,0
set origin 0,0
set size 1,0.1
unset border
unset tics
unset grid
set xrange [0:1]
set yrange [0:1]
set key center center horizontal maxrows 3 samplen 1.5
plot {legend}
unset multiplot
"""
    pen.plot(name, script, tables, 1200, 760)


def ends(points, key, when, family):
    """Labels of a family's first and last mark."""
    return [f'set label "{m["label"].replace("epsilon ", "").replace("alpha", "α")}" at {speed(m):g},{m[when][key]:g} '
            f'offset 0.6,0.6 font ",10" tc rgb "{LOOK[family][0]}"' for m in {id(m): m for m in (points[0], points[-1])}.values()]


def panel(key, T, found, plots, labels):
    c1, c2 = found["c1"], found["c2"]
    alone = {"E1": [f"{c1:g}/sqrt({T:g}*x)"], "E2": [f"{c2:g}/sqrt(2*{T:g}*x)"],
             "trR": [f"1{sign}2/sqrt({T:g}*x*{found['D']})" for sign in "+-"]}[key]
    lines = [f'{f} with lines lc rgb "black" dt 2' for f in alone]
    floor = {"E1": found["E1_noise"], "E2": found["E2_noise"], "trR": 1}[key]
    lines.append(f'{floor:g} with lines lc rgb "black" lw 0.7')
    scale = "set logscale y\nset format y '%g'\nset yrange [*:*]" if key != "trR" else "unset logscale y\nset yrange [0.5:2.5]"
    name = {"E1": "E1, means", "E2": "E2, covariances", "trR": "trR, variances: 1 is right"}[key]
    return "\n".join(["unset label", *labels, scale, f'set title "{name}, T = {T:g} s"', 'set xlabel "1/ATUC [1/s]"',
                      "plot " + ", ".join(lines + plots)]) + "\n"


# ---- the page ---------------------------------------------------------------------------------------


HEAD = ["sampler", "setting", "tau", "us an iteration", "1/ATUC", *(f"{k}, {w}" for w in TIMES for k in ("iterations", "E1", "E2", "trR"))]


def rows(found):
    return HEAD, [[TITLE[m["family"]], m["label"], tau_text(m), digits(m.get("us", 0)), digits(speed(m) or 0, 3),
                   *(cell for w in TIMES for cell in cells(m, w))] for m in found["methods"]]


def tau_text(m):
    if not m["tau"]:
        return "-"
    return {"run": "", "bound": "> ", "theory": "theory "}[m["from"]] + digits(m["tau"], 3)


def cells(m, when):
    of = m[when]
    if of["E1"] is None:
        return [of["draws"], m["state"] or "no draw in time", "", ""]
    return [f"{of['draws']:,}", digits(of["E1"]), digits(of["E2"]), f"{of['trR']:.3f}"]


def page(found):
    return "![Figure 2](paper/fig2.svg)\n\n![more](paper/fig2-more.svg)\n\n" + table(*rows(found)) + "\n\n" + section9.page(found["section9"])
