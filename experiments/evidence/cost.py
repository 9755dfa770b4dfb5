# SPDX-License-Identifier: MIT
"""Seconds per effective draw against the number of rows: logistic regression, 20 columns and an intercept,
one chain on one core, from packed files in single precision.

    per effective draw   seconds of an iteration x tau, tau = iterations / smallest effective sample size of
                         the 21 parameters. Where a run in bounded time has fewer than 100 effective draws,
                         tau is not measured but carried over from the largest N where it was: as it is for
                         nuts, times N for sgfs-f and sgld (docs/math.md: one pass over the data per
                         effective draw, times a constant), and so is the warm-up of sgld. The table marks
                         those with ~
    in all               loading, anchor, warm-up, and 10,000 effective draws

NUTS is given the mode and the curvature there (--metric fisher), which takes its long warm-up away."""
from evidence import plot
from text import digits, machine, seconds, table

WANTED = 10_000
ENOUGH = 100  # effective draws for a tau that counts as measured

# sampler -> options by N: enough draws for tau where that is cheap, a bounded time elsewhere
GROWS = {"exact-rows": 0, "sgfs-cv": 0, "nuts": 0, "sgfs-f": 1, "sgld": 1}


def sizes(lab):
    return [2000, 4000] if lab.quick else [10**4, 10**5, 10**6, 10**7]


def options(sampler, N, quick):
    if sampler in ("exact-rows", "sgfs-cv"):
        return ["--draws", 2000 if quick else 200_000]
    if sampler == "nuts":
        warmup, draws = (60, 2000) if N < 10**5 else (60, 1000) if N < 10**6 else (20, 30) if N < 10**7 else (10, 15)
        return ["--metric", "fisher", "--warmup", warmup, "--draws", draws if not quick else 100]
    if quick:
        return ["--warmup", 500, "--draws", 5000, "--thin", 5]
    if sampler == "sgfs-f":
        return ["--draws", 400_000 if N < 10**6 else 10**6, "--thin", max(1, N // 20_000), "--max-time", 45]
    # sgld: 1e6 draws have about 200 effective ones at N = 1e4, and none worth the name above
    return ["--draws", 10**6, "--thin", 100] if N == 10**4 else ["--warmup", 1000, "--draws", 100_000, "--thin", 100]


def loading(lab, data):
    """From the program's start to the opening of the first chain, and its end: all but the chain."""
    run = lab.sample("logistic", data, "laplace", "--draws", 10)
    return max(0.0, run["wall"] - run["seconds"])


def measure(lab, sampler, N, load):
    data, truth = lab.simulated(N, 5 if lab.quick else 20)
    run = lab.sample("logistic", data, sampler, *options(sampler, N, lab.quick))
    kept, thin = run["draws"], run["head"]["thin"]
    anchor = run["anchor"].get("seconds", 0.0)
    opening = run["info"].get("exact", {}).get("seconds", 0.0)  # its table of rows: one pass more
    warm = max(0.0, run["seconds"] - run["sample_seconds"] - anchor - opening)
    measured = {"N": N, "sampler": sampler, "iteration": run["sample_seconds"] / (kept * thin),
                "ess": run["ess_min"], "tau": kept * thin / run["ess_min"], "anchor": anchor, "opening": opening,
                "passes": (run["anchor"].get("passes") or 0) + (opening > 0), "warmup": warm, "share": run["cpu"] / run["wall"],
                "load": load, "rows": run["rows_touched"],
                "trR": lab.compare(truth)["trR"], "interventions": run["interventions"]}
    print(f"   {sampler} N = {N:.0e}: {measured['iteration'] * 1e6:.2f} us an iteration, tau {measured['tau']:.3g} "
          f"({measured['ess']:.0f} effective), anchor {anchor:.3g} s, warm-up {warm:.3g} s, "
          f"trR {measured['trR']:.4f}, {100 * measured['share']:.0f} % of a core", flush=True)
    return measured


def settle(found):
    """tau of runs that are too short for one, from the largest N where it was measured."""
    for m in found:
        m["carried"] = False
    for sampler, power in GROWS.items():
        good = [m for m in found if m["sampler"] == sampler and m["ess"] >= ENOUGH]
        for m in found:
            if m["sampler"] == sampler and m["ess"] < ENOUGH and good:
                base = max(good, key=lambda g: g["N"])
                m["tau"], m["carried"] = base["tau"] * (m["N"] / base["N"])**power, True
                if sampler == "sgld":  # its run had a token warm-up; the automatic one grows with N
                    m["warmup"] = base["warmup"] * m["N"] / base["N"]
    for m in found:
        m["effective"] = m["iteration"] * m["tau"]
        m["all"] = m["load"] + m["anchor"] + m["opening"] + m["warmup"] + WANTED * m["effective"]


def rows_of(found):
    nuts = {m["N"]: m for m in found if m["sampler"] == "nuts"}
    for m in found:
        mark = "~ " if m["carried"] else ""
        gain = f"{digits(nuts[m['N']]['effective'] / m['effective'])}" if m["N"] in nuts else ""
        anchor = f"{seconds(m['anchor'] + m['opening'])} ({m['passes']} passes)" if m["passes"] else ""
        yield [f"{m['N']:,}", f"`{m['sampler']}`", seconds(m["load"]), anchor, seconds(m["warmup"]),
               seconds(m["iteration"]), mark + digits(m["tau"], 3), mark + seconds(m["effective"]),
               mark + digits(1 / m["effective"]), mark + seconds(m["all"]), mark + gain, "" if m["carried"] else f"{m['trR']:.3f}"]


def picture(lab, found):
    fig, axes = plot.figure(2, height=3.5)
    panels = [("effective", "seconds per effective draw, anchor apart"),
              ("all", f"seconds for {WANTED:,} of them, all included")]
    for ax, (key, title) in zip(axes[0], panels):
        for sampler in GROWS:
            mine = [m for m in found if m["sampler"] == sampler]
            if mine:
                ax.loglog([m["N"] for m in mine], [m[key] for m in mine], label=sampler, **plot.LOOK[sampler])
                for m in mine:
                    if m["carried"]:  # hollow
                        ax.loglog(m["N"], m[key], plot.LOOK[sampler]["marker"], color="white", markersize=3)
        ax.set(xlabel="rows N", title=title)
        ax.set_xticks(sorted({m["N"] for m in found}))
        ax.minorticks_off()
    fig.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=5)
    plot.save(lab, fig, "cost")


def run(lab):
    found = []
    for N in sizes(lab):
        load = loading(lab, lab.simulated(N, 5 if lab.quick else 20)[0])
        found += [measure(lab, s, N, load) for s in GROWS if lab.has(s)]
    settle(found)
    picture(lab, found)
    head = ["N", "sampler", "loading", "anchor", "warm-up", "an iteration", "tau", "an effective draw",
            "effective draws a second", f"{WANTED:,} of them, in all", "times NUTS", "trR"]
    share = min(m["share"] for m in found)
    return (table(head, rows_of(found)) + f"\n\nOne core of an {machine()}; the program had at least "
            f"{100 * share:.0f} % of it. ~: tau carried over from a smaller N (`experiments/evidence/cost.py`).")
