# SPDX-License-Identifier: MIT
"""Figure 2: errors of means (E1) and covariances (E2) after T seconds of one core against how fast a chain mixes, 1/ATUC
(independent draws a second), and trR beside them; MNIST 7 against 9, logistic regression. First the paper's four samplers
with its settings, then the same picture with samplers that it did not have. The words are in fig2_words.py.

The clock is that of --max-time: T seconds from the command on, reading and burn-in included. HMC's step size is found in
runs of their own, which do not count. E1, E2 and trR are those of every iteration; tau is that of the long run, unless that was
thinned by more than a tenth of it, then of the short one. Where a run is shorter than 50 tau, tau is linear theory's
(LinearChain) or, without one, what was found, a lower bound: open marks."""
import math

import measures
import numpy as np

import section9
import seven_nine
from fig2_words import PAPERS, TIMES, TITLE, page, rows, speed  # noqa: F401
from lab import Job
from pen import LOOK, ink, legend, mark

ALPHAS = (0, 1, 2, 3, 4, 5, 6)
EPSILONS = (1e-3, 5e-4, 1e-4, 5e-5, 1e-5, 5e-6, 1e-6)
LEAPFROGS = (50, 40, 30, 20, 10, 1)
WARMUP, ENDLESS, KEPT = 3000, 10**9, 100_000
VARIANCES = (0.2, 5)  # where trR is drawn


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
    yield "sgfs-cv", "default", ["--sampler", "sgfs-cv"], 20
    for h in (1, 0.5, 0.2, 0.1)[some]:
        yield "sgfs-cv", f"h {h}", ["--sampler", "sgfs-cv", "--step", h, *rows], 30
    few = ["--metric", "fisher", "--warmup", lab.by_scale(100, 50, 10)]
    yield "nuts", "Fisher mass", ["--sampler", "nuts", *few], 1000
    for count in (2, 4, 8)[some]:
        yield "hmc fisher", leaps(count), ["--sampler", "hmc", "--leapfrog", count, *few], 250 * count
    yield "exact", "default", ["--sampler", "exact-rows", "--warmup", lab.by_scale(1000, 300, 50)], 300


def burn_in(lab, leapfrogs):
    """Of HMC with a given step: at most 3,000 iterations and about 2,000 gradients."""
    return max(20, min(lab.count(WARMUP), lab.by_scale(2000, 1000, 50) // leapfrogs))


def leaps(count):
    return f"{count} leapfrog" + "s" * (count > 1)


def short(x):
    """1e-05 as 1e-5."""
    mantissa, exponent = f"{x:.0e}".split("e")
    return f"{mantissa}e{int(exponent)}"


def hmc_steps(lab, data):
    """HMC's step sizes, adapted to an acceptance of 0.8."""
    counts, warmup = LEAPFROGS[::lab.by_scale(1, 1, 5)], lab.by_scale(500, 150, 20)
    jobs = [Job(f"step-{k}", seven_nine.words(data, "--sampler", "hmc", "--metric", "identity", "--leapfrog", k, "--warmup",
                                              warmup * (5 if k == 1 else 1), "--draws", 20), 250e-6 * k * warmup, keep=False)
            for k in counts]
    return {k: float(f"{r['summary']['trajectories']['step_size']:.3g}") for k, r in zip(counts, lab.samples(jobs))}


def run(lab):
    data, x, y = seven_nine.rows(lab)
    reference, truth = seven_nine.truth(lab, x, y)
    gauge, steps = seven_nine.gauge(lab, reference), hmc_steps(lab, data)
    times = lab.by_scale((3, 90), (0.13, 4), (0.05, 0.5))  # smoke: some draws also of a slow machine
    methods, jobs = list(settings(lab, seven_nine.batch(y), steps)), []
    for family, label, words, us in methods:
        for when, T in zip(TIMES, times):
            thin = max(1, int(1e6 * T / us / KEPT))
            every = seven_nine.words(data, *words, "--draws", ENDLESS, "--thin", thin, "--max-time", T)
            jobs.append(Job(f"{family}-{label}-{when}".replace(" ", "-"), every, T + 0.2, gauge, False, (4,)))
    again = section9.jobs(lab, data, y, reference)
    records = lab.samples(jobs + [job for _, job in again])
    theory = seven_nine.Theory(x, y, truth)
    found = [method(m[0], m[1], records[2 * i:2 * i + 2], theory) for i, m in enumerate(methods)]
    names = [name for name, _ in again]
    mean, cov = np.array(truth["mean"]), np.array(truth["cov"])
    return {"data": seven_nine.about(y), "times": times, "methods": found, "warmup": lab.count(WARMUP, 20),
            "batch": seven_nine.batch(y), "D": len(mean), "c1": measures.c1(mean, cov), "c2": measures.c2(cov),
            "truth_draws": truth["draws"], "E1_noise": truth["E1_noise"], "E2_noise": truth["E2_noise"],
            "stiffest": {s: theory.sgfs(0, s == "sgfs-d").stiffest for s in ("sgfs-f", "sgfs-d")},
            "section9": section9.gather(list(zip(names, records[len(jobs):])), truth, len(y))}


def method(family, label, records, theory):
    """One mark of the picture: both runs, and how fast the chain mixes."""
    found = {"family": family, "label": label, "command": records[1]["command"]}
    for when, r in zip(TIMES, records):
        summary = r["summary"]
        found[when] = {**{k: r["measured"].get(k) for k in ("E1", "E2", "trR")}, "draws": summary.get("draws_made", 0),
                       "seconds": summary.get("seconds")}
        if summary.get("draws_made"):
            found["us"] = 1e6 * summary["sample_seconds"] / summary["draws_made"]
            found["acceptance"] = summary.get("trajectories", {}).get("acceptance_rate")
    found["state"] = "diverged" if any(r["exit"] == 4 for r in records) else "" if records[1]["measured"] else "no draw in time"
    return {**found, **mixing(records, expected_tau(family, label, theory))}


def mixing(records, theory):
    """tau in iterations, its error, and where it comes from."""
    for r in reversed(records):
        of, thin = r["measured"], int(words_value(r, "--thin"))
        if (of.get("tau") or 0) > 0 and (thin == 1 or of["tau"] >= 10 or r is records[0]):
            if of["resolved"] or theory is None:
                return {"tau": of["tau"] * thin, "tau_error": of["tau_error"] * thin,
                        "from": "run" if of["resolved"] else "bound"}
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


def draw(found, pen):
    picture(found, pen, "fig2", PAPERS, ())
    picture(found, pen, "fig2-more", [f for f in TITLE if f not in PAPERS], PAPERS)


def seen(found, when, key):
    """The marks of a panel: method, x, y. trR is drawn at the edge where it lies beyond."""
    low, high = VARIANCES if key == "trR" else (0, math.inf)
    return [(m, speed(m), min(max(m[when][key], low), high)) for m in found["methods"] if speed(m) and m[when][key]]


def limits(values):
    """Half powers of ten around the values."""
    return 10.0**(math.floor(2 * math.log10(min(values)) - 0.1) / 2), 10.0**(math.ceil(2 * math.log10(max(values)) + 0.1) / 2)


def picture(found, pen, name, families, behind):
    """Two rows of panels, one for each T; behind: families in grey."""
    tables, panels = {}, []
    xrange = limits([x for when in TIMES for m, x, _ in seen(found, when, "E1") if m["family"] in (*families, *behind)])
    for when, T in zip(TIMES, found["times"]):
        for key in ("E1", "E2", "trR"):
            marks, plots, labels = seen(found, when, key), [], []
            for family in (*behind, *families):
                points = [p for p in marks if p[0]["family"] == family]
                if not points:
                    continue
                block = f"{family}_{when}_{key}".replace("-", "_").replace(" ", "_")
                grey = family in behind
                colour = 'lc rgb "#bbbbbb"' if grey else ink(family)
                tables[block] = [(x, y) for m, x, y in points if m["from"] == "run"] or [(None, None)]
                tables[block + "_open"] = [(x, y) for m, x, y in points if m["from"] != "run"] or [(None, None)]
                tables[block + "_line"] = [(x, y) for _, x, y in points]
                shape, size = (7, 0.5) if grey else (LOOK[family][1], 1.1)
                plots += [f"${block}_line with lines {colour} lw 1", f"${block} with points {colour} pt {shape} ps {size}",
                          f"${block}_open with points {colour} pt 6 ps {1.2 * size}"]
                labels += [] if grey else ends(points, family, key, xrange)
            panels.append(panel(found, key, T, plots, labels))
    key = [(f"points {mark(f)} ps 1.3", TITLE[f]) for f in families]
    key += [('points lc rgb "#bbbbbb" pt 7', "the paper's samplers")] if behind else []
    key += [('points lc rgb "#666666" pt 6 ps 1.3', "open: tau by theory, or a bound"),
            ('lines lc rgb "black" dt 2', "sampling error alone"), ('lines lc rgb "black" lw 0.7', "noise of the reference")]
    head = f"""set multiplot layout 2,3 margins 0.055,0.985,0.18,0.95 spacing 0.05,0.15
set logscale xy
set format x "10^{{%L}}"
set xrange [{xrange[0]:g}:{xrange[1]:g}]
"""
    pen.plot(name, head + "".join(panels) + legend(key), tables, 1200, 760)


def ends(points, family, key, xrange):
    """Labels of a family's first mark, above it, and of its last, below; of the one that mixes faster alone beside trR."""
    if len(points) < 2 or family not in (*PAPERS, "sgfs-cv") or (key == "trR" and family not in PAPERS):
        return []  # in the thick of it labels would lie on each other
    both = [(points[0], 0.8), (points[-1], -0.8)]
    both = [max(both, key=lambda b: b[0][1])] if key == "trR" else both

    def place(x, up):  # inside the panel
        return f"right offset 2,{abs(up)}" if x > xrange[1]**0.8 * xrange[0]**0.2 else f"offset 0.3,{up}"

    return [f'set label "{{/*0.8 {m["label"].replace("epsilon", "ε").replace("alpha", "α").replace(" leapfrogs", " steps").replace(" leapfrog", " step")}}}" '
            f'at {x:g},{y:g} {place(x, up)} tc rgb "{LOOK[family][0]}"' for (m, x, y), up in both]


def panel(found, key, T, plots, labels):
    """One of them, with the sampling error that theory gives a chain with one time scale and tau much more than 1."""
    alone = {"E1": [f"{found['c1']:g}/sqrt({T:g}*x)"], "E2": [f"{found['c2']:g}/sqrt(2*{T:g}*x)"],
             "trR": [f"1{sign}2/sqrt({T:g}*x*{found['D']})" for sign in "+-"]}[key]
    lines = [f'{f} with lines lc rgb "black" dt 2' for f in alone]
    lines.append(f'{found.get(f"{key}_noise", 1):g} with lines lc rgb "black" lw 0.7')
    values = [y for w in TIMES for _, _, y in seen(found, w, key)]
    low, high = VARIANCES if key == "trR" else limits([*values, found[f"{key}_noise"]])
    tics = "set ytics (0.25, 0.5, 1, 2, 4)\nset format y '%g'" if key == "trR" else "set ytics auto\nset format y '10^{%L}'"
    name = {"E1": "E1: error of the means", "E2": "E2: error of the covariances", "trR": "trR: variances, 1 is right"}[key]
    return "\n".join(["unset label", *labels, tics, f"set yrange [{low:g}:{high:g}]",
                      f'set title "{name}, T = {T:g} s"', 'set xlabel "1/ATUC: independent draws a second"',
                      "plot " + ", ".join(lines + plots)]) + "\n"
