# SPDX-License-Identifier: MIT
"""A part of figure 2: the numbers of an independent prototype on the same data (first 10,000 images of MNIST's 7 and 9,
50 projections, lambda 1, n 500, 3,000 + 100,000 iterations, double, one Zen 4 core), again with this program.

Every setting is run with several seeds. The prototype's number is one more draw of the same quantity: it agrees if it
lies in the prediction interval that the seeds give, t s sqrt(1 + 1/k) around their mean (logarithms of E1, E2 and tau, which
are positive and skewed), widened by half a unit of its last digit. The level is such that one of 20 whole tables would
have a false alarm. SGFS-f is held to the thresholds of docs/math.md, section 9, too."""
import math
import statistics

import measures
import numpy as np
from scipy.stats import t as student

import seven_nine
from text import digits, table
from lab import Job

WARMUP, DRAWS = 3000, 100_000
MEASURES = ("E1", "E2", "trR", "tau")

# name, words, gamma and alpha for the thresholds, then the prototype's E1, E2, trR, tau, us an iteration, as printed
F, D = ["--sampler", "sgfs-f", "--preset", "paper"], ["--sampler", "sgfs-d", "--preset", "paper"]
H = ["--sampler", "hmc", "--metric"]
OURS = ["--sampler", "sgfs-f", "--batch-scheme", "without", "--alpha", 0, "--fisher-every"]
PROTOTYPE = [
    ("SGFS-f, `--preset paper`, alpha 0", [*F, "--alpha", 0], (21, 0), "0.0020-0.0028", "0.071-0.074", "1.006", "19.3", "82-92"),
    ("SGFS-f, `--preset paper`, alpha 2", [*F, "--alpha", 2], (21, 2), "0.005", "0.16", "0.99", "101", "87"),
    ("SGFS-f, `--preset paper`, alpha 4", [*F, "--alpha", 4], (21, 4), "0.009", "0.30", "0.985", "341", "87"),
    ("SGFS-f, `--preset paper`, alpha 6", [*F, "--alpha", 6], (21, 6), "0.0135", "0.44", "0.98", "692", "87"),
    ("SGFS-f, prior in K, without replacement", [*OURS, 1], (20, 0), "0.0017", "0.073", "1.002", "18.2", "84"),
    ("the same, Fisher every 10th", [*OURS, 10], (20, 0), "0.0017", "0.074", "1.002", "18.2", "28"),
    ("SGFS-d, alpha 0", [*D, "--alpha", 0], None, "0.026", "1.00", "3.4", "94", "24"),
    ("SGFS-d, alpha 1", [*D, "--alpha", 1], None, "0.006", "0.52", "1.14", "325", "24"),
    ("SGFS-d, alpha 2", [*D, "--alpha", 2], None, "0.010", "0.45", "1.00", "850", "24"),
    ("SGFS-d, alpha 6", [*D, "--alpha", 6], None, "0.037", "1.34", "1.00", "4462", "24"),
    ("SGLD, epsilon 1e-3", ["--sampler", "sgld", "--epsilon", 1e-3], None, "0.013", "0.38", "1.69", "507", "17"),
    ("SGLD, epsilon 1e-4", ["--sampler", "sgld", "--epsilon", 1e-4], None, "0.031", "1.06", "0.99", "3701", "17"),
    ("SGLD, epsilon 1e-5", ["--sampler", "sgld", "--epsilon", 1e-5], None, "0.19", "5.8", "", "unresolved", "17"),
    ("HMC, Fisher mass, 4 leapfrogs", [*H, "fisher", "--leapfrog", 4], None, "", "", "", "1.2", "1196"),
    ("HMC, identity mass, 20 leapfrogs", [*H, "identity", "--leapfrog", 20], None, "0.0032", "0.156", "", "1.3", "5090"),
]
HMC = {"HMC, Fisher mass, 4 leapfrogs": (200, 10_000), "HMC, identity mass, 20 leapfrogs": (500, 3_930)}  # 20 s of the prototype


def jobs(lab, data, y, reference):
    """Every setting with every seed."""
    found = []
    for at, (name, words, *_, us) in enumerate(PROTOTYPE[::lab.by_scale(1, 1, 5)]):
        warmup, draws = HMC.get(name, (WARMUP, DRAWS))
        size = [] if name in HMC else ["--batch", seven_nine.batch(y)]
        count = lab.count(draws, 100)
        for seed in range(1, lab.by_scale(10, 3, 2) + 1):
            every = seven_nine.words(data, *words, *size, "--warmup", lab.count(warmup, 20), "--draws", count, seed=seed)
            expected = 1e-6 * middle(us) * (count + lab.count(warmup)) * 0.7 + 0.3
            found.append((name, Job(f"section9-{at}-{seed}", every, expected, seven_nine.gauge(lab, reference), False, (4,))))
    return found


def gather(made, truth, N):
    """From the names and records of all the runs: a dictionary for each setting."""
    settings = {name: (limits, theirs) for name, _, limits, *theirs in PROTOTYPE}
    found = []
    for name in dict.fromkeys(n for n, _ in made):
        records = [r for n, r in made if n == name and r["measured"]]
        limits, theirs = settings[name]
        runs = [{**r["measured"], "us": 1e6 * r["summary"]["sample_seconds"] / r["summary"]["draws_made"],
                 "seconds": r["summary"]["seconds"], "draws": r["summary"]["draws_made"]} for r in records]
        if runs:
            found.append({"name": name, "theirs": theirs, "runs": runs, "command": records[0]["command"],
                          "same": N == 10_000 and all(r["draws"] == HMC.get(name, (0, DRAWS))[1] for r in runs),
                          "within": sum(within(r, truth, limits) for r in runs) if limits else None})
    return found


def within(run, truth, limits):
    """Does the run meet the thresholds of docs/math.md, section 9?"""
    at = measures.Thresholds(np.array(truth["mean"]), np.array(truth["cov"]), run["draws"], *limits)
    return bool(run["E1"] <= at.E1 and run["E2"] <= at.E2 and abs(run["trR"] - 1) <= at.trR)


# ---- the verdict ------------------------------------------------------------------------------------


def printed(text):
    """The range that a printed number, or two with a dash, stands for: 1.14 is 1.135 to 1.145."""
    low, high = text.split("-")[0], text.split("-")[-1]
    half = 0.5 * 10.0**-(len(high.split(".")[1]) if "." in high else 0)
    return float(low) - half, float(high) + half


def middle(text):
    return sum(printed(text)) / 2


def interval(values, logarithm, level):
    """Where one more value of the same kind is expected."""
    of = [math.log(v) for v in values] if logarithm else values
    k = len(of)
    half = student.ppf(1 - level / 2, k - 1) * statistics.stdev(of) * math.sqrt(1 + 1 / k)
    low, high = statistics.mean(of) - half, statistics.mean(of) + half
    return (math.exp(low), math.exp(high)) if logarithm else (low, high)


def disagreements(setting, level):
    """The measures of one setting in which the prototype's number is none of ours."""
    found = []
    for key, text in zip(MEASURES, setting["theirs"]):
        values = [r[key] for r in setting["runs"] if r.get(key)]
        if text in ("", "unresolved") or len(values) < 2:
            continue
        low, high = interval(values, key != "trR", level)
        theirs = printed(text)
        if theirs[1] < low or theirs[0] > high:
            found.append(f"{key} {text} of the prototype is outside of {digits(low)} to {digits(high)}")
    return found


def verdict(setting, level):
    if not setting["same"]:
        return "not judged: shorter run, or fewer rows"
    if not comparisons([setting]):
        return "nothing to compare"
    off = disagreements(setting, level)
    said = "differs: " + ", ".join(off) if off else "agrees"
    if off and setting["name"] in HMC:
        said += " (follows from the step size, which each program finds for itself)"
    return said + (f"; thresholds met by {setting['within']} of {len(setting['runs'])}" if setting["within"] is not None else "")


def comparisons(settings):
    return sum(text not in ("", "unresolved") for s in settings for text in s["theirs"][:4])


def shown(setting, key):
    values = [r[key] for r in setting["runs"] if r.get(key)]
    if not values:
        return ""
    spread = statistics.stdev(values) if len(values) > 1 else 0
    least = "> " if key == "tau" and not all(r["resolved"] for r in setting["runs"]) else ""  # shorter than 50 tau
    return least + f"{digits(statistics.mean(values), 4 if key == 'trR' else 3)} ± {digits(spread, 1)}"


def rows(settings):
    level = 0.05 / max(1, comparisons(settings))
    for s in settings:
        us = statistics.median(r["us"] for r in s["runs"])
        pairs = [cell for key, text in zip(MEASURES, s["theirs"]) for cell in (shown(s, key), text or "-")]
        yield [s["name"], *pairs, f"{digits(us)}", s["theirs"][4], f"{digits(middle(s['theirs'][4]) / us)}", verdict(s, level)]


HEAD = ["", *(f"{k} {who}" for k in MEASURES for who in ("here", "prototype")), "us here", "us prototype (Zen 4)", "prototype's / ours", "verdict"]


def page(settings):
    if not settings:
        return ""
    first = settings[0]
    seconds = statistics.median(r["seconds"] for r in first["runs"])
    iterations = f"{len(first['runs'])} seeds"
    return (f"{table(HEAD, rows(settings))}\n\nMean and standard deviation over {iterations}. "
            f"SGFS-f with `--preset paper` at alpha 0 took {digits(seconds)} s of one core for burn-in and "
            f"{first['runs'][0]['draws']:,} draws. Times compare two machines as well as two programs. *Agrees*: each of the prototype's numbers is "
            "where one more seed of ours would be expected, but for one chance in twenty in the whole table. *Thresholds*: those "
            "of [math.md](math.md), section 9, for one run.")
