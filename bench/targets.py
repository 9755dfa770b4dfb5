# SPDX-License-Identifier: MIT
"""The targets of speed: one row each, with what is measured, the bound, and whether it is met.

A measurement is a dictionary (workload, what, value, unit, ratio), as the programs of this folder and bench.py write them.
A target names one of them, or a function of them all, so that a number is never typed twice. It is met if the measured
number is at most the bound (at least, for `least`). Nothing fails if it is not: speed is measured, never asserted."""
from dataclasses import dataclass

BARE = 58.2  # us of syrk + potrf at D 51, n 500 on the machine on which the targets in microseconds were set
SMALL, LARGE = "logistic, N 10000, D 51", "logistic, N 1000000, D 21"
BATCH = f"{SMALL}, n 500"
CODES = "words, 300000 x (5 + 5 of 150 levels)"


@dataclass
class Target:
    name: str
    workload: str
    what: str
    bound: float
    field: str = "ratio"
    least: bool = False  # the number has to be at least the bound

    def measured(self, found):
        """The number, or None where it was not measured."""
        for m in found:
            if m["workload"] == self.workload and m["what"] == self.what and m.get(self.field) is not None:
                return m[self.field]
        return None

    def verdict(self, number):
        if number is None:
            return "not measured"
        if number >= self.bound if self.least else number <= self.bound:
            return "PASS"
        return f"short: {number / self.bound:.2f} times the bound"


TARGETS = [
    *(Target(f"gradient pass, {s}, {name}: of two bare products", w, f"{s}: gradient", 0.8)
      for w, name in ((SMALL, "10^4 x 51"), (LARGE, "10^6 x 21")) for s in ("f64", "f32", "packed")),
    *(Target(f"pass with information, {s}, {name}: of the syrk", w, f"{s}: information", 1.15)
      for w, name in ((SMALL, "10^4 x 51"), (LARGE, "10^6 x 21")) for s in ("f64", "f32", "packed")),
    *(Target(f"columns of words: {what}, of dense", CODES, what, 0.1)
      for what in ("passes", "minibatches", "exact draws", "prediction", "memory")),
    Target("sgfs-f: of bare syrk + potrf", BATCH, "sgfs-f", 1.2),
    Target("sgfs-f, every 10th: of bare", BATCH, "sgfs-f, every 10th (default)", 15 / BARE),
    Target("sgfs-d: of bare", BATCH, "sgfs-d", 14 / BARE),
    Target("sgld: of bare", BATCH, "sgld", 10 / BARE),
    *(Target(f"few rows, N {name}, D 21: us an effective draw", f"few rows, N {N}, D 21", "exact-rows, an effective draw", us, "value")
      for name, N, us in (("10^6", 10**6, 1.5), ("10^7", 10**7, 2.5))),
    *(Target(f"portable build, {what}: of native", "portable build", what, 1.05)
      for what in ("sgfs-f", "sgld", "exact-rows", "passes")),
    Target("two chains on two cores: times one core", "two chains", "two cores", 1.8, least=True),
]


def judge(found):
    """A row for each target: name, measured, bound, verdict."""
    rows = []
    for t in TARGETS:
        number = t.measured(found)
        rows.append({"name": t.name, "measured": number, "bound": t.bound, "least": t.least, "verdict": t.verdict(number)})
    return rows


def table(rows):
    """Of judge()'s rows, as markdown."""
    lines = ["| target | measured | bound | |", "|---|---|---|---|"]
    for r in rows:
        measured = "-" if r["measured"] is None else f"{r['measured']:.3g}"
        lines.append(f"| {r['name']} | {measured} | {'at least' if r['least'] else 'at most'} {r['bound']:.3g} | {r['verdict']} |")
    return "\n".join(lines)
