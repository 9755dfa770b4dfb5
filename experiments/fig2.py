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
from pen import LOOK, ink, legend, mark

ALPHAS = (0, 1, 2, 3, 4, 5, 6)
EPSILONS = (1e-3, 5e-4, 1e-4, 5e-5, 1e-5, 5e-6, 1e-6)
LEAPFROGS = (50, 40, 30, 20, 10, 1)
WARMUP, ENDLESS, PAPERS = 3000, 10**9, ("sgfs-f", "sgfs-d", "sgld", "hmc")
TITLE = {"sgfs-f": "SGFS-f", "sgfs-d": "SGFS-d", "sgld": "SGLD", "hmc": "HMC, identity mass", "sgfs-f default": "SGFS-f, this program's way",
         "sgfs-cv": "sgfs-cv", "nuts": "NUTS", "hmc fisher": "HMC, Fisher mass", "exact": "exact"}
TIMES, VARIANCES = ("short", "long"), (0.2, 5)
MARGIN, WRONG = 1.25, 0.1  # errors that differ by less may do so by chance; variances that are so far off are wrong


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
    times = lab.by_scale((3, 90), (0.15, 4.5), (0.01, 0.03))
    methods, jobs = list(settings(lab, seven_nine.batch(y), steps)), []
    for family, label, words, us in methods:
        for when, T, kept in zip(TIMES, times, (100_000, 20_000)):
            thin = max(1, int(1e6 * T / us / kept))
            every = seven_nine.words(data, *words, "--draws", ENDLESS, "--thin", thin, "--max-time", T)
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


def seen(found, when, key):
    """The marks of a panel: method, x, y. trR is drawn at the edge where it lies beyond."""
    low, high = VARIANCES if key == "trR" else (0, math.inf)
    return [(m, speed(m), min(max(m[when][key], low), high)) for m in found["methods"] if speed(m) and m[when][key]]


def limits(values):
    """Whole powers of ten around the values."""
    return 10.0**math.floor(math.log10(min(values))), 10.0**math.ceil(math.log10(max(values)))


def picture(found, pen, name, families, behind):
    """Two rows of panels, one for each T; behind: families in grey."""
    tables, panels = {}, []
    xrange = limits([x for when in TIMES for _, x, _ in seen(found, when, "E1")])
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
                plots += [f"${block}_line with lines {colour} lw 1", f"${block} with points {colour} pt {7 if grey else LOOK[family][1]} ps "
                          f"{0.5 if grey else 1.1}", f"${block}_open with points {colour} pt 6 ps {0.7 if grey else 1.3}"]
                labels += [] if grey else ends(points, family)
            yrange = VARIANCES if key == "trR" else limits([y for w in TIMES for _, _, y in seen(found, w, key)] + [found[f"{key}_noise"]])
            panels.append(panel(found, key, T, yrange, plots, labels))
    key = [(f"points {mark(f)} ps 1.3", TITLE[f]) for f in families]
    key += [('points lc rgb "#bbbbbb" pt 7', "the paper's samplers")] if behind else []
    key += [('points lc rgb "#666666" pt 6 ps 1.3', "open: tau by theory, or a bound"), ('lines lc rgb "black" dt 2', "sampling error alone"),
            ('lines lc rgb "black" lw 0.7', "noise of the reference")]
    head = f"""set multiplot layout 2,3 margins 0.055,0.985,0.18,0.95 spacing 0.05,0.15
set logscale xy
set format x "10^{{%L}}"
set xrange [{xrange[0]:g}:{xrange[1]:g}]
"""
    pen.plot(name, head + "".join(panels) + legend(key), tables, 1200, 760)


def ends(points, family):
    """Labels of a family's first and last mark."""
    both = [points[0], points[-1]] if len(points) > 1 else points
    return [f'set label "{{/*0.8 {m["label"].replace("epsilon", "ε").replace("alpha", "α").replace(" leapfrog", " step")}}}" '
            f'at {x:g},{y:g} offset 0.5,0.7 tc rgb "{LOOK[family][0]}"' for m, x, y in both]


def panel(found, key, T, yrange, plots, labels):
    """One of them, with the sampling error that theory gives a chain with one time scale and tau much more than 1."""
    alone = {"E1": [f"{found['c1']:g}/sqrt({T:g}*x)"], "E2": [f"{found['c2']:g}/sqrt(2*{T:g}*x)"],
             "trR": [f"1{sign}2/sqrt({T:g}*x*{found['D']})" for sign in "+-"]}[key]
    lines = [f'{f} with lines lc rgb "black" dt 2' for f in alone]
    lines.append(f'{found.get(f"{key}_noise", 1):g} with lines lc rgb "black" lw 0.7')
    tics = "set ytics (0.25, 0.5, 1, 2, 4)" if key == "trR" else "set ytics auto"
    name = {"E1": "E1: error of the means", "E2": "E2: error of the covariances", "trR": "trR: variances, 1 is right"}[key]
    return "\n".join(["unset label", *labels, f"set format y '{'%g' if key == 'trR' else '10^{%L}'}'", tics, f"set yrange [{yrange[0]:g}:{yrange[1]:g}]",
                      f'set title "{name}, T = {T:g} s"', 'set xlabel "1/ATUC: independent draws a second"',
                      "plot " + ", ".join(lines + plots)]) + "\n"


# ---- the page ---------------------------------------------------------------------------------------


HEAD = ["sampler", "setting", "tau", "us an iteration", "1/ATUC", *(f"{k}, {w} T" for w in TIMES for k in ("iterations", "E1", "E2", "trR"))]


def rows(found):
    return HEAD, [[TITLE[m["family"]], m["label"], tau_text(m), digits(m["us"]) if "us" in m else "-", digits(speed(m) or 0, 3),
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


def family(found, name):
    return [m for m in found["methods"] if m["family"] == name and speed(m) and m["long"]["E2"]]


def best(found, name, when, key="E2"):
    """The family's method with the smallest error, E1, E2 or |trR - 1|, at one T; None where it has none."""
    size = {"trR": lambda m: abs(m[when]["trR"] - 1)}.get(key, lambda m: m[when][key])
    return min((m for m in family(found, name) if m[when][key]), key=size, default=None)


def fastest(found, name):
    return max(family(found, name), key=speed, default=None)


def said(m, *numbers):
    """A method in words, with numbers."""
    return f"{TITLE[m['family']]} ({m['label']}) " + ", ".join(numbers)


def claims(found):
    """The paper's claims, what came out, and the verdict. Two errors differ if they do so by more than MARGIN."""
    short, long = (f"{T:g} s" for T in found["times"])
    if not all(best(found, f, w) for f in PAPERS for w in TIMES) or not fastest(found, "hmc fisher"):
        yield ["all of them", "some samplers have no draw in time", "not judged: the runs are too short"]
        return
    ours, others = best(found, "sgfs-f", "short"), [best(found, f, "short") for f in PAPERS[1:]]
    won = all(MARGIN * ours["short"]["E2"] < m["short"]["E2"] for m in others)
    yield ["SGFS reaches small errors at a high mixing rate", f"smallest E2 after {short}: " +
           "; ".join(said(m, digits(m["short"]["E2"])) for m in [ours, *others]), "confirmed" if won else "not confirmed: SGFS-f is not ahead"]
    top, sgld = fastest(found, "sgfs-f"), [m for m in family(found, "sgld") if abs(m["long"]["trR"] - 1) < WRONG]
    slow = max(sgld, key=speed, default=None)
    yield ["SGLD mixes slowly", f"1/ATUC {digits(speed(top))} for {said(top)}" +
           (f"and {digits(speed(slow))} for {said(slow)}the fastest SGLD whose variances are right to {100 * WRONG:g} %" if slow else
            f"; no SGLD has variances right to {100 * WRONG:g} %"), "confirmed" if not slow or MARGIN * speed(slow) < speed(top) else "not confirmed"]
    hmc, white = fastest(found, "hmc"), fastest(found, "hmc fisher")
    yield ["HMC touches all rows and is slow", f"1/ATUC {digits(speed(hmc))} for {said(hmc)}, {digits(speed(top) / speed(hmc))} times slower than "
           f"{said(top)}", "confirmed" if MARGIN * speed(hmc) < speed(top) else "not confirmed"]
    near = speed(top) / speed(white)
    yield ["(the same, with a mass matrix that the paper did not give it here)", f"1/ATUC {digits(speed(white))} for {said(white)}",
           f"differs: SGFS-f is {digits(near)} times as fast; with so few rows a pass over all of them is cheap, and Fisher information "
           "makes HMC competitive" if near < 3 else f"confirmed: SGFS-f is {digits(near)} times as fast"]
    yield ["short T: errors are sampling error, fast mixing wins", f"E2 of SGFS-f is {ratios(found, 'short')} times what sampling error alone gives; "
           f"best: {best(found, 'sgfs-f', 'short')['label']}", "confirmed" if best(found, "sgfs-f", "short") is top else "not confirmed"]
    moves = [(best(found, f, "short"), best(found, f, "long")) for f in PAPERS[:3]]
    later = [speed(b) < speed(a) for a, b in moves]
    never = all(speed(b) <= speed(a) for a, b in moves)
    yield ["long T: bias counts, smaller steps win", f"best E2 after {short} and after {long}: " +
           "; ".join(f"{TITLE[a['family']]} {a['label']} and {b['label']}" for a, b in moves) +
           f". E2 of SGFS-f is then {ratios(found, 'long')} times its sampling error",
           "confirmed" if all(later) else f"confirmed for {', '.join(TITLE[a['family']] for (a, _), l in zip(moves, later) if l)}; the others are still at "
           "sampling error" if any(later) and never else "not confirmed"]


def ratios(found, when):
    """The range of E2 relative to sampling error alone, over SGFS-f's settings."""
    of = [m[when]["E2"] / (found["c2"] * math.sqrt((m["tau"] + 1 / m["tau"]) / 2 / m[when]["draws"])) for m in family(found, "sgfs-f")]
    return f"{min(of):.2f} to {max(of):.2f}"


def further(found):
    """What the second picture shows, in words."""
    cv, f, nuts = best(found, "sgfs-cv", "long"), best(found, "sgfs-f", "long"), fastest(found, "nuts")
    if not cv or not f:
        return ""
    top, of = fastest(found, "sgfs-cv"), fastest(found, "sgfs-f")
    return (f"With control variates a draw no longer costs a pass over the data: {said(top)}mixes {digits(speed(top) / speed(of))} times as fast as the "
            f"paper's fastest, {said(of)}and the smallest E2 after {found['times'][1]:g} s is {digits(cv['long']['E2'])} ({cv['label']}), "
            f"against {digits(f['long']['E2'])} ({f['label']}); the reference itself is known to {digits(found['E2_noise'])}. " +
            (f"NUTS, exact and on all rows, makes {digits(speed(nuts))} independent draws a second. " if nuts else ""))


def hidden(found):
    """What E2 does not show."""
    wrong = max(family(found, "sgld"), key=lambda m: m["long"]["trR"], default=None)
    if not wrong:
        return ""
    return (f"E2 hides bias in stiff directions, which add little to a sum of covariances: {said(wrong)}has E2 {digits(wrong['long']['E2'])} and "
            f"trR {wrong['long']['trR']:.2f}. ")


def page(found):
    short, long = found["times"]
    first = next((m for m in found["methods"] if m["family"] == "sgfs-f"), None)
    return f"""![Figure 2: SGFS-f is furthest right at small errors](paper/fig2.svg)

Above the dashed line: bias, or directions that are slower than the average. {hidden(found)}

![Figure 2, with samplers that the paper did not have](paper/fig2-more.svg)

{further(found)}

{table(*rows(found))}

tau: mean over the parameters, in iterations; "theory": the run is shorter than 50 tau, and the number is that of the linear chain; ">": a lower
bound. The reference ({found['truth_draws']:,} draws of HMC) has itself an error of E1 {digits(found['E1_noise'])} and E2 {digits(found['E2_noise'])}.

{table(["the paper", "here", "verdict"], claims(found))}

An independent prototype's numbers on the same data, again:

{section9.page(found["section9"])}

Settings: n 500, lambda 1, burn-in {found['warmup']:,} iterations, seed 1; SGFS with `--preset paper`. T is {short:g} s and {long:g} s of one core, burn-in
included, in the ratio of the paper's 100 s and 3,000 s. That the short T stands for the paper's 100 s is a guess: SGFS-f at alpha 0 makes
{first['short']['draws']:,} and {first['long']['draws']:,} draws in the two here, and the paper's 100,000 have to lie between them. HMC's step sizes were adapted to an acceptance
of 0.8 before, outside T; its lengths vary by 20 %, because trajectories of one length may come back to where they began; its burn-in
is about 2,000 gradients. `{first['command']}`

Where we differ: the truth is a verified HMC. SGFS-d at alpha 0 is near instability: its stiffest direction takes {found['stiffest']['sgfs-d']:.2f} of its distance
from the mode at each step, where 2 diverges and SGFS-f takes {found['stiffest']['sgfs-f']:.2f}; with another projection of the pixels it may diverge. Tenths of
a second pass between looks at the clock."""
