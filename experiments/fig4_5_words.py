# SPDX-License-Identifier: MIT
"""Figures 4 and 5 in words: tables, verdicts and the page, from the numbers alone."""
import numpy as np

from evidence.text import digits, table

SHOWN = {"sgfs-f": "SGFS-f", "sgld": "SGLD", "sgfs-f default": "SGFS-f, the program's default (ours)", "sgfs-cv": "sgfs-cv (ours)"}
NEAR = 0.1  # a pair's score: an ellipse that the eye hardly tells from the truth's
RHAT = 1.05
OURS = ("sgfs-f default", "sgfs-cv")


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
    head = ["sampler", "setting", "E1", "its sampling error", "E2", "its sampling error", "trR", "tau", "1/ATUC", "microseconds", "iterations",
            "mean score of the pairs"]
    return head, [[SHOWN[m["family"]], label_of(m), *_cells(m)] for m in found["methods"]]


def _cells(m):
    if not stayed(m):
        return ["diverged" if m["state"] else "left the mode"] + [""] * 9
    return [f"{m['E1']:.4f}", f"{m['E1_noise']:.4f}", f"{m['E2']:.3f}", f"{m['E2_noise']:.3f}", f"{m['trR']:.3f}",
            ("" if m["resolved"] else "> ") + digits(m["tau"]), ("" if m["resolved"] else "< ") + digits(speed(m)), f"{m['us']:.0f}",
            f"{m['draws']:,}", f"{score(m):.3f}"]


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
    """A pair's score by sampling error of both sides alone: the mean of |N(0, 2/effective)| on the diagonal and about as much beside it."""
    return float(np.sqrt(2 / np.pi) * np.sqrt(2 * m["tau"] / m["draws"] + 2 / found["hmc"]["effective"]))


def judge_pairs(found):
    ours = best(found, "sgfs-f")
    if not ours:
        return "SGFS-f left the mode", "not confirmed"
    limit = NEAR + 2 * chance(found, ours)
    far = [k + 1 for k, p in enumerate(ours["pairs"]) if p["score"] > limit]
    total = len(ours["pairs"])
    here = (f"SGFS-f, {label_of(ours)}: {total - len(far)} of {total} within {limit:.2f} (to the eye {NEAR}, and twice the sampling error of both), "
            f"mean score {score(ours):.3f}; hardest: {max(p['score'] for p in ours['pairs']):.3f}")
    return here, "confirmed" if len(far) <= total / 4 else f"not confirmed: {len(far)} pairs differ"


def judge_mixing(found):
    """Is there, for every step of SGLD, an SGFS-f that mixes faster with errors that are not larger?"""
    sgfs, sgld = ([m for m in found["methods"] if m["family"] == f and stayed(m)] for f in ("sgfs-f", "sgld"))
    def beaten(m):
        return any(speed(f) > speed(m) and all(f[k] <= m[k] + 2 * np.hypot(found["hmc"][f"{k}_noise"], f[f"{k}_noise"]) for k in ("E1", "E2")) and f["E2"] <= m["E2"]
                   for f in sgfs)
    count = sum(map(beaten, sgld))
    gone = sum(1 for m in found["methods"] if m["family"] == "sgld" and not stayed(m))
    if not sgld or not sgfs:
        return "nothing to compare: chains left the mode", "not confirmed"
    fastest = [max(map(speed, of)) for of in (sgfs, sgld)]
    here = (f"{count} of {len(sgld)} step sizes of SGLD" + (f" ({gone} more left the mode)" if gone else "") + " are beaten by an SGFS-f that mixes faster "
            f"and has no larger errors; fastest {digits(fastest[0])} against {digits(fastest[1])} independent draws a second")
    return here, "confirmed" if count == len(sgld) else "not confirmed for all step sizes"


def judge_truth(found):
    of, z = found["hmc"], found["standardised"]
    here = (f"R-hat {of['rhat']:.3f}, {digits(of['effective'])} effective draws of {of['runs'] * of['draws']:,}, step {of['step']:.2f}, acceptance {of['acceptance']:.2f}. "
            f"On columns of variance 1: step {z['step']:.3f}, R-hat of {z['runs']} runs of {z['draws']:,} {z['rhat']:.2f} (here, as many draws: {z['rhat_here']:.2f})")
    return here, "confirmed for columns between 0 and 1" if of["rhat"] < RHAT else f"not confirmed: R-hat is above {RHAT}"


def claims(found):
    return [["one leapfrog step with the mode's Fisher information as mass, from the mode, is good enough as truth", *judge_truth(found)],
            ["SGFS-f is close to HMC for most of the 25 most correlated pairs; some are hard", *judge_pairs(found)],
            ["SGFS-f mixes faster than SGLD at the same error", *judge_mixing(found)]]


# ---- page -------------------------------------------------------------------------------------------


def page(found):
    of = found["hmc"]
    head, lines = rows(found)
    ours = best(found, "sgfs-f") or found["methods"][0]
    constant = ", ".join(f"`{c}`" for c in found["constant"]) or "none"
    return f"""![Figure 4](paper/fig4.svg)

Left: draws of SGFS-f and ellipses at two standard deviations. Right: all {len(found['pairs'])} pairs, in units of the truth's standard deviations. The
score of a pair is the mean difference of the four entries of its covariance, in units of the truth's standard deviations.

{pair_table(found)}

![Figure 5](paper/fig5.svg)

{table(head, lines)}

Two halves of HMC's runs differ as much as an error of the whole of E1 {of['E1_noise']:.4f} and E2 {of['E2_noise']:.3f} would make them (dashed): below that
nothing can be told. trR of faultless draws would be {of['trR_right']:.3f}, because the truth is estimated, too. Sampling errors are from 20 batches
of a run, too small where tau is not known (`>`).

{table(["the paper", "here", "verdict"], claims(found))}

**Settings.** {found['rows']:,} rows, of which {found['different']:,} are different; {found['columns']} columns, {len(found['classes'])} classes, {found['D']} parameters;
lambda {found['lambda']}, batches of {found['batch']}, {found['warmup']:,} + {found['draws']:,} iterations from the mode on. `--seed 1`, HMC 1 to {of['runs']}.

    {found['mode']['command']}
    {of['command']}
    {ours['command']}

HMC: {of['runs']} runs of {of['warmup']:,} + {of['draws']:,} iterations, {of['ms']:.1f} ms each, tau {digits(of['tau'])}. Its passes go over the different rows with their counts as weights:
the same sums for {found['different'] / found['rows']:.0%} of the work.

**Where we differ.** The paper does not say how it scaled the columns. With mean 0 and variance 1 rare values lie hundreds of standard
deviations out, the posterior has walls where such a row changes sides, and HMC's steps shrink until nothing converges (table): columns here
are between 0 and 1, as inputs of an RBM commonly are. Constant among these classes, and so held by the prior alone: {constant}. The prior is
in SGFS's matrix: to the letter of the paper (`--preset paper`), K is singular in these directions and in the 1 + {found['hidden']} that change no
prediction, and the chain leaves at once. {jumps(found)}"""


def jumps(found):
    gone = [f"{SHOWN[m['family']]}, {label_of(m)}" for m in found["methods"] if not stayed(m)]
    moved = max([found["hmc"]["elsewhere"]] + [m["elsewhere"] for m in found["methods"] if stayed(m)])
    text = "No draw of HMC or of the chains shown is nearer to an image of the mode (units exchanged or mirrored) than to the mode itself."
    if moved > 0:
        text = f"At most {moved:.1%} of a chain's draws are nearer to an image of the mode (units exchanged or mirrored) than to the mode itself."
    return text + (f" Not around the mode any more, and not shown: {'; '.join(gone)}." if gone else "")
