# SPDX-License-Identifier: MIT
"""Figures 4 and 5 in words: tables, verdicts and the page, from the numbers alone."""
import numpy as np

from text import devices, digits, table

SHOWN = {"sgfs-f": "SGFS-f", "sgld": "SGLD", "literal": "SGFS-f to the letter", "sgfs-f default": "SGFS-f by default (ours)"}
NEAR = 0.1  # a pair's score: an ellipse that the eye hardly tells from the truth's
RHAT, ENOUGH = 1.05, 1000  # over the runs of HMC, and their effective draws: the limits of a truth
PAPERS = ("sgfs-f", "sgld")


def best(found, family):
    """The setting of a family whose pairs are closest to the truth."""
    of = [m for m in found["methods"] if m["family"] == family and stayed(m)]
    return min(of, key=lambda m: np.mean([p["score"] for p in m["pairs"]]), default=None)


def extremes(m):
    """The pairs with the smallest and the largest score."""
    order = np.argsort([p["score"] for p in m["pairs"]])
    return int(order[0]), int(order[-1])


def stayed(m):
    """Did the chain stay around its mode?"""
    return not m["state"] and m["elsewhere"] < 0.01 and m["trR"] < 1000


def label_of(m):
    return m["label"].replace("e-0", "e-").replace("0.0005", "5e-4").replace("0.0001", "1e-4")


def speed(m):
    """1/ATUC: independent draws a second of one core."""
    return 1e6 / (m["tau"] * (m["us"] if "us" in m else 1e3 * m["ms"]))


def score(m):
    return float(np.mean([p["score"] for p in m["pairs"]]))


# ---- tables -----------------------------------------------------------------------------------------


def rows(found):
    head = ["sampler", "setting", "E1", "by chance", "E2", "by chance", "trR", "tau", "1/ATUC", "us", "iterations", "score"]
    of = found["hmc"]
    truth = ["HMC, the truth", "1 leapfrog", "", f"{of['E1_noise']:.4f}", "", f"{of['E2_noise']:.3f}", f"({of['trR_right']:.3f})",
             digits(of["tau"]), digits(speed(of)), f"{1e3 * of['ms']:.0f}", f"{of['runs']} x {of['draws']:,}", ""]
    lines = [truth] + [[SHOWN[m["family"]], label_of(m), *_cells(m)] for m in found["methods"]]
    return devices(head, lines, [of, *found["methods"]], 2)


def _cells(m):
    if not stayed(m):
        return ["diverged" if m["state"] else "left the mode"] + [""] * 9
    below, above = ("", "") if m["resolved"] else ("< ", "> ")
    return [f"{m['E1']:.4f}", f"{m['E1_noise']:.4f}", f"{m['E2']:.3f}", f"{m['E2_noise']:.3f}", f"{m['trR']:.3f}",
            above + digits(m["tau"]), below + digits(speed(m)), f"{m['us']:.0f}", f"{m['draws']:,}", f"{score(m):.3f}"]


def pair_table(found):
    ours, other = best(found, "sgfs-f"), best(found, "sgld")
    lines = []
    for k, pair in enumerate(found["pairs"]):
        lines.append([k + 1, *(f"`{n}`" for n in pair["names"]), f"{correlation(pair):.3f}",
                      *(cell for m in (ours, other) for cell in _pair_cells(m, k, pair))])
    head = ["", "first", "second", "correlation, HMC"]
    return table(head + [h for m in (ours, other) for h in _pair_head(m)], lines)


def _pair_head(m):
    return [f"{SHOWN[m['family']]}, {label_of(m)}", "sd / HMC's", "score"] if m else []


def _pair_cells(m, k, truth):
    if not m:
        return []
    pair = m["pairs"][k]
    ratio = np.sqrt(np.diag(pair["cov"]) / np.diag(truth["cov"]))
    return [f"{correlation(pair):.3f}", f"{ratio[0]:.2f}, {ratio[1]:.2f}", f"{pair['score']:.3f}"]


def correlation(pair):
    c = np.array(pair["cov"])
    return c[0, 1] / np.sqrt(c[0, 0] * c[1, 1])


# ---- verdicts ---------------------------------------------------------------------------------------


def chance(found, m):
    """A pair's score by sampling error alone, of both sides: |N(0, 2/effective)| on the diagonal, about as much beside it."""
    return float(np.sqrt(2 / np.pi) * np.sqrt(2 * m["tau"] / m["draws"] + 2 / found["hmc"]["effective"]))


def judge_truth(found):
    of, z = found["hmc"], found["standardised"]
    here = (f"R-hat {of['rhat']:.3f}, {digits(of['effective'])} effective draws of {of['runs'] * of['draws']:,}, "
            f"step {of['step']:.2f}, acceptance {of['acceptance']:.2f}. On columns of variance 1: step {z['step']:.3f}, "
            f"R-hat {z['rhat']:.2f} of {z['runs']} runs of {z['draws']:,} (as many here: {z['rhat_here']:.2f})")
    if of["rhat"] >= RHAT:
        return here, f"not confirmed: R-hat is above {RHAT}"
    return here, "confirmed, for columns between 0 and 1" if of["effective"] > ENOUGH else "not confirmed: too few effective draws"


def judge_pairs(found):
    ours = best(found, "sgfs-f")
    if not ours:
        return "SGFS-f left the mode", "not confirmed"
    limit, total = NEAR + 2 * chance(found, ours), len(ours["pairs"])
    if limit > 3 * NEAR:
        return f"sampling error alone makes {chance(found, ours):.2f} of a score", "not judged: too few effective draws"
    far = sum(p["score"] > limit for p in ours["pairs"])
    here = (f"SGFS-f, {label_of(ours)}: {total - far} of {total} pairs within {limit:.2f} ({NEAR} to the eye, and twice the "
            f"sampling error of both), mean score {score(ours):.3f}, hardest {max(p['score'] for p in ours['pairs']):.3f}")
    return here, "confirmed" if far <= total / 4 else f"not confirmed: {far} pairs differ"


def judge_mixing(found):
    """Is there, for every step of SGLD, an SGFS-f that mixes faster with errors that are not larger?"""
    sgfs, sgld = ([m for m in found["methods"] if m["family"] == f and stayed(m)] for f in PAPERS)
    if not sgld or not any(m["resolved"] for m in sgfs):
        return "nothing to compare: chains left the mode, or are too short", "not confirmed"
    sgfs = [m for m in sgfs if m["resolved"]]
    beaten = sum(any(speed(f) > speed(m) and no_worse(found, f, m) for f in sgfs) for m in sgld)
    gone = sum(m["family"] == "sgld" and not stayed(m) for m in found["methods"])
    more = f" ({gone} more left the mode)" if gone else ""
    here = (f"{beaten} of {len(sgld)} step sizes of SGLD{more} are beaten by an SGFS-f that mixes faster and has no larger "
            "errors; fastest: "
            f"{digits(max(map(speed, sgfs)))} against {digits(max(map(speed, sgld)))} independent draws a second")
    return here, "confirmed" if beaten == len(sgld) else "not confirmed for all step sizes"


def no_worse(found, m, than):
    """Errors at most those of the other, but for twice the sampling error of the difference."""
    def slack(key):
        return 2 * np.sqrt(m[f"{key}_noise"]**2 + than[f"{key}_noise"]**2)
    return all(m[k] <= than[k] + slack(k) for k in ("E1", "E2"))


def claims(found):
    return [["one leapfrog step with the Fisher information at the mode as mass gives the truth", *judge_truth(found)],
            ["SGFS-f is close to HMC for most of the 25 most correlated pairs; some are hard", *judge_pairs(found)],
            ["SGFS-f mixes faster than SGLD at the same error", *judge_mixing(found)]]


# ---- page -------------------------------------------------------------------------------------------


def page(found):
    of, ours = found["hmc"], best(found, "sgfs-f")
    return f"""![Figure 4](paper/fig4.svg)

Left: draws of SGFS-f and ellipses at two standard deviations. Right: all {len(found['pairs'])} pairs, in units of the truth's
standard deviations. A pair's score is the mean difference of the four entries of its covariance, in the same units.

{pair_table(found)}

![Figure 5](paper/fig5.svg)

{table(*rows(found))}

`by chance`: what sampling error alone gives: of HMC from how far halves of its runs are apart, which no sampler can fall below
here; of the others from 20 batches of the run, too little where tau is not known (`>`). trR of faultless draws would be
{of['trR_right']:.3f}, because the truth is estimated, too. us: microseconds an iteration. All numbers:
[fig4-5.csv](paper/fig4-5.csv), [fig4-5.json](paper/fig4-5.json).

{table(["the paper", "here", "verdict"], claims(found))}

**Settings.** {found['rows']:,} rows, {found['columns']} columns, {len(found['classes'])} classes, {found['hidden']} hidden units:
{found['D']} parameters; lambda {found['lambda']}, batches of {found['batch']}, {found['warmup']:,} iterations of burn-in,
`--seed 1`.
HMC: {of['runs']} runs (seeds 1 to {of['runs']}) of {of['warmup']:,} + {of['draws']:,} iterations. All start at the mode that the
first command finds.

    {found['mode']}
    {of['command']}
    {ours['command']}

{stopped(found)}All chains begin at one point, so R-hat cannot tell whether others would have come here too: what is measured is the posterior around this
mode.

{differences(found)}"""


def stopped(found):
    """Chains that ended before their iterations did."""
    short = [m for m in found["methods"] if m["family"] in PAPERS and stayed(m) and m["draws"] < found["draws"]]
    return (f"{len(short)} chains of SGFS-f and SGLD were stopped before their {found['draws']:,} iterations, for want of time: the table "
            "says how far each came. " if short else "")


def differences(found):
    constant = ", ".join(f"`{c}`" for c in found["constant"]) or "none"
    literal = next(m for m in found["methods"] if m["family"] == "literal")
    fate = "the chain diverges" if not stayed(literal) else "the chain stays nevertheless"
    return f"""**Where we differ.** The paper does not say how it scaled the columns. With mean 0 and variance 1 a value lies as
far as {found['furthest']:.0f} standard deviations out, the posterior has walls where such rows change sides, and HMC's steps
shrink until its runs no longer agree (the first verdict). Columns here are between 0 and 1, as inputs of an RBM commonly are.
HMC sums over the {found['different']:,} different rows with their counts as weights: the same sums for
{found['different'] / found['rows']:.0%} of the work, and its 1/ATUC has that advantage. Constant among these classes, so that
the prior alone holds their weights: {constant}. It alone holds 1 + {found['hidden']} more directions, which change no prediction.
Our SGFS-f has the prior in its matrix; to the letter of the paper (`--preset paper`) {fate}. {jumps(found)}"""


def jumps(found):
    """Has a chain gone to another image of the mode?"""
    gone = [f"{SHOWN[m['family']]}, {label_of(m)}" for m in found["methods"] if m["family"] != "literal" and not stayed(m)]
    moved = max([found["hmc"]["elsewhere"]] + [m["elsewhere"] for m in found["methods"] if stayed(m)])
    share = f"At most {moved:.1%} of a chain's draws are" if moved > 0 else "No draw of HMC or of a chain shown is"
    text = f"{share} nearer to an image of the mode (units exchanged or mirrored) than to the mode itself."
    return text + (f" Chains that left the mode, and are not shown: {'; '.join(gone)}." if gone else "")
