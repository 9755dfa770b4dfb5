# SPDX-License-Identifier: MIT
"""Figure 2 in words: its tables, and the paper's claims with verdicts, from the numbers alone (fig2.py makes them)."""
import math

import section9
from text import digits, table

PAPERS = ("sgfs-f", "sgfs-d", "sgld", "hmc")
TITLE = {"sgfs-f": "SGFS-f", "sgfs-d": "SGFS-d", "sgld": "SGLD", "hmc": "HMC, identity mass",
         "sgfs-f default": "SGFS-f, this program's way", "sgfs-cv": "sgfs-cv", "nuts": "NUTS", "hmc fisher": "HMC, Fisher mass",
         "exact": "exact"}
TIMES = ("short", "long")
MARGIN, WRONG = 1.25, 0.1  # errors that differ by less may do so by chance; variances that are so far off are wrong


def speed(m):
    """1/ATUC: independent draws a second."""
    return 1e6 / (m["tau"] * m["us"]) if m.get("us") and m["tau"] else None


HEAD = ["sampler", "setting", "tau", "us an iteration", "1/ATUC",
        *(f"{k}, {w} T" for w in TIMES for k in ("iterations", "E1", "E2", "trR"))]


def rows(found):
    """For the CSV file: plain numbers, in seconds and iterations."""
    head = ["sampler", "setting", "tau", "tau_from", "us_per_iteration", "draws_per_second",
            *(f"{k}_{w}" for w in TIMES for k in ("iterations", "E1", "E2", "trR"))]
    return head, [[m["family"], m["label"], m["tau"], m["from"], m.get("us"), speed(m),
                   *(m[w][k] for w in TIMES for k in ("draws", "E1", "E2", "trR"))] for m in found["methods"]]


def shown(found):
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
    """The family's method with the smallest error, E1, E2 or |trR - 1|, at one T, of those that ran for 10 tau: a chain that has
    hardly moved has E2 near 1, whatever the truth. Where none did, the one that came furthest; None where there is no draw."""
    there = [m for m in family(found, name) if m[when][key]]
    long_enough = [m for m in there if m[when]["draws"] >= 10 * m["tau"]]
    if not long_enough:
        return max(there, key=lambda m: m[when]["draws"] / m["tau"], default=None)
    return min(long_enough, key=lambda m: abs(m[when]["trR"] - 1) if key == "trR" else m[when][key])


def fastest(found, name):
    return max(family(found, name), key=speed, default=None)


def name(m):
    return f"{TITLE[m['family']]} ({m['label']})"


def ratios(found, when):
    """E2 of each setting of SGFS-f relative to sampling error alone."""
    def alone(m):
        tau2 = (m["tau"] + 1 / m["tau"]) / 2
        return found["c2"] * math.sqrt(tau2 / m[when]["draws"])

    return [m[when]["E2"] / alone(m) for m in family(found, "sgfs-f") if m[when]["E2"]]


def claims(found):
    """The paper's claims, what came out, and the verdict. Two errors differ if they do so by more than MARGIN."""
    if not all(best(found, f, when) for f in (*PAPERS, "hmc fisher") for when in TIMES):
        return [["all of them", "a sampler has no draw in time", "not judged: the runs are too short"]]
    top = fastest(found, "sgfs-f")
    return [small_errors(found), slow_sgld(found, top), *slow_hmc(found, top), short_times(found, top), long_times(found)]


def small_errors(found):
    ours, others = best(found, "sgfs-f", "short"), [b for b in (best(found, f, "short") for f in PAPERS[1:]) if b]
    lead = min(m["short"]["E2"] for m in others) / ours["short"]["E2"]
    return ["SGFS reaches small errors at a high mixing rate", f"smallest E2 after {found['times'][0]:g} s: " +
            "; ".join(f"{name(m)} {digits(m['short']['E2'])}" for m in [ours, *others]),
            "confirmed" if lead > MARGIN else "not confirmed: SGFS-f is not ahead of all others" if lead <= 1 else
            "not confirmed: SGFS-f is ahead, but by no more than may be chance"]


def slow_sgld(found, top):
    right = [m for m in family(found, "sgld") if abs(m["long"]["trR"] - 1) < WRONG]
    slow = max(right, key=speed, default=None)
    also = f"{digits(speed(slow))} for {name(slow)}, the fastest SGLD" if slow else "no SGLD"
    return ["SGLD mixes slowly",
            f"1/ATUC {digits(speed(top))} for {name(top)}; {also} whose variances are right to {100 * WRONG:g} % in the end",
            "confirmed" if not slow or MARGIN * speed(slow) < speed(top) else "not confirmed"]


def slow_hmc(found, top):
    hmc, white = best(found, "hmc", "long"), family(found, "hmc fisher") + family(found, "nuts")
    times, near = speed(top) / speed(hmc), speed(top) / max(map(speed, white))
    yield ["HMC touches all rows and is slow",
           f"1/ATUC {digits(speed(hmc))} for {name(hmc)}, the best of them by E2: {name(top)} mixes {digits(times)} times "
           "as fast",
           "confirmed" if times > MARGIN else "not confirmed"]
    yield ["(the same with the Fisher information as mass matrix)",
           "1/ATUC " + ", ".join(f"{digits(speed(m))} for {name(m)}" for m in white) + f"; {digits(speed(top))} for {name(top)}",
           "confirmed" if near > 3 else "differs: whitened HMC is " + ("as fast" if near > 1 else "faster") +
           ", because a pass over so few rows is cheap"]


def short_times(found, top):
    of, ahead = ratios(found, "short"), best(found, "sgfs-f", "short")
    chance = max(of) < 1.5  # the thresholds of docs/math.md, section 9
    return ["short T: errors are sampling error, fast mixing wins",
            f"SGFS-f's E2 is {min(of):.2f} to {max(of):.2f} times what sampling error alone gives; smallest at {ahead['label']}",
            "not confirmed" if ahead is not top else "confirmed" if chance else
            "confirmed that fast mixing wins; the slowest chains are also still on their way from the start"]


def long_times(found):
    """By each measure: is the best setting after the long T one that mixes more slowly than the best after the short one?"""
    lines, moved, back = [], {}, []
    for f in PAPERS[:3]:
        moves = {k: (best(found, f, "short", k), best(found, f, "long", k)) for k in ("E1", "E2", "trR")}
        lines.append(f"{TITLE[f]} " + ", ".join(f"by {k} {a['label']} then {b['label']}" for k, (a, b) in moves.items()))
        moved[TITLE[f]] = [k for k, (a, b) in moves.items() if speed(b) < speed(a)]
        back += [f"{TITLE[f]} by {k}" for k, (a, b) in moves.items() if speed(b) > speed(a)]
    told = ", ".join(f"{f} by {' and '.join(keys)}" for f, keys in moved.items() if keys)
    verdict = f"confirmed for {told}; otherwise sampling error is still larger than bias" if told else "not confirmed at this T"
    return ["long T: bias counts, smaller steps win",
            f"best setting after {found['times'][0]:g} and {found['times'][1]:g} s: {'; '.join(lines)}. SGFS-f's E2 at alpha 0 "
            f"is then {ratios(found, 'long')[0]:.2f} times its sampling error",
            verdict + (f"; the other way round for {', '.join(back)}" if back else "")]


def further(found):
    """What the second picture shows, in words."""
    cv, f, nuts = best(found, "sgfs-cv", "long"), best(found, "sgfs-f", "long"), fastest(found, "nuts")
    if not cv or not f:
        return ""
    top, of = fastest(found, "sgfs-cv"), fastest(found, "sgfs-f")
    return (f"With control variates the noise of minibatches no longer limits the step: {name(top)} mixes "
            f"{digits(speed(top) / speed(of))} times as fast as {name(of)}. The smallest E2 after "
            f"{found['times'][1]:g} s is {digits(cv['long']['E2'])} ({cv['label']}) against {digits(f['long']['E2'])} "
            f"({f['label']}). " +
            (f"NUTS, exact and on all rows, makes {digits(speed(nuts))} independent draws a second. " if nuts else "") +
            "Where tau is below 1 (long trajectories) draws alternate around the mean, which helps means and not covariances.")


def hidden(found):
    """What E2 does not show."""
    known = [m for m in family(found, "sgld") if m["from"] == "run"]
    wrong = max(known, key=lambda m: m["long"]["trR"], default=None)
    if not wrong:
        return ""
    return (f"E2 hides bias in stiff directions, which add little to a sum of covariances, and trR shows it: {name(wrong)} has "
            f"E2 {digits(wrong['long']['E2'])} and trR {wrong['long']['trR']:.2f} after {found['times'][1]:g} s.")


def apart_from_others(found):
    """Runs that had less of their core than the others of their kind, by the iterations of the short T."""
    slow = []
    for f in PAPERS[:3]:
        made = sorted(m["short"]["draws"] for m in family(found, f))
        slow += [f"{name(m)}" for m in family(found, f) if made and m["short"]["draws"] < 0.6 * made[len(made) // 2]]
    return f"Other runs beside it left {', '.join(slow)} much fewer iterations in the short T than its neighbours. " if slow else ""


def near_instability(found):
    """Of SGFS-d at its largest step, by linear theory."""
    d, f = (found["stiffest"][s] for s in ("sgfs-d", "sgfs-f"))
    if d < 1.5:
        return ""
    return (f"SGFS-d at alpha 0 is near instability: its stiffest direction moves by {d:.2f} of its distance from the mode "
            f"at each step, where 2 diverges and SGFS-f moves by {f:.2f} (linear theory at the truth). So the variance in "
            "such directions is far too large, and with another projection of the pixels it may diverge. ")


def page(found):
    short, long = found["times"]
    first = next(m for m in found["methods"] if m["family"] == "sgfs-f")
    rates = [m["acceptance"] for m in found["methods"] if m["family"] == "hmc" and m.get("acceptance")]
    accepted = f" (it then was {min(rates):.2f} to {max(rates):.2f})" if rates else ""
    late = max(m[w]["seconds"] - T for m in found["methods"] for w, T in zip(TIMES, found["times"]) if m[w]["seconds"])
    return f"""![Figure 2: errors fall as mixing gets faster, until bias stops them](paper/fig2.svg)

On the dashed line errors are sampling error alone; above it there is bias, or a direction slower than the average.
At the left end chains have not yet forgotten where they began, and their errors say nothing of the sampler's bias.
{hidden(found)}

![Figure 2 with samplers that the paper did not have: sgfs-cv mixes faster than all others](paper/fig2-more.svg)

{further(found)}

{table(*shown(found))}

tau: mean over the parameters, in iterations. "theory": the run is shorter than 50 tau, and the number is that of the linear
chain; ">": a lower bound. The reference ({found['truth_draws']:,} draws of HMC with Stein's control variates) has itself an
error of E1 {digits(found['E1_noise'])} and E2 {digits(found['E2_noise'])}.

{table(["the paper", "here", "verdict"], claims(found))}

The numbers of an independent prototype on the same data (written before this program), again:

{section9.page(found["section9"])}

{apart_from_others(found)}Settings: n {found['batch']}, lambda 1, burn-in {found['warmup']:,} iterations, seed 1; SGFS with `--preset paper`. T is
{short:g} s and {long:g} s of one core, burn-in included, in the ratio of the paper's 100 s and 3,000 s (`--max-time`; runs
ended up to {digits(late)} s late). That {short:g} s here stand for 100 s then is a guess: SGFS-f at alpha 0 makes
{first['short']['draws']:,} and {first['long']['draws']:,} draws in the two times, and the paper made
100,000. HMC: step sizes adapted to an acceptance of 0.8{accepted} before, outside T; lengths vary by 20 %, because a
trajectory of one length may come back to where it began; at most 2,000 gradients of burn-in. One run: `{first['command']}`

Where we differ: {near_instability(found)}The paper's picture has no trR."""
