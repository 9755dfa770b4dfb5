# SPDX-License-Identifier: MIT
"""The zoo: the shortest command on real data sets, judged by an independent sampler's posteriors.

`make zoo` runs this file. Each set of sets.py is written as a CSV file and given to the program; every
posterior mean has to be within 0.15 standard deviations of the reference and every standard deviation
within 12 %, with an effective sample size of 400; or the data have to be refused, and rightly so. The
table has the program's seconds beside the processor seconds that NumPyro took for the reference, on
the machine that made it; with --numpyro, NumPyro runs here and now, too (`pip install numpyro` first).

The references are for the default prior of regressions (reference.py has it in numbers). A program
without that default is asked by `--standardize --prior-file`, which says the same: `--prior explicit`.

`judge(entry, ...)` is what the tests call (test_zoo.py here, and the whole zoo in tests/long)."""
import argparse
import hashlib
import json
import math
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field

HERE = pathlib.Path(__file__).resolve().parent
MEAN_OFF, SD_OFF, ESS_LEAST = 0.15, 0.12, 400
SECONDS = 900  # a set that takes longer has failed


@dataclass
class Verdict:
    """How a set came out; `wrong` says in words what is wrong, `skipped` why it was not run."""
    name: str
    seconds: float = 0.0
    sampler: str = ""
    mean_off: float = math.nan
    sd_off: float = math.nan
    ess: float = math.nan
    r_hat: float = math.nan
    wrong: str = ""
    skipped: str = ""
    reference: dict = field(default_factory=dict)


def run(program, words, folder, seconds=SECONDS):
    """Exit code, output, what was said, seconds; the code is None where it took too long."""
    begin = time.time()
    try:
        done = subprocess.run([program, *words], cwd=folder, capture_output=True, text=True, timeout=seconds)
    except subprocess.TimeoutExpired:
        return None, "", "", time.time() - begin
    return done.returncode, done.stdout, done.stderr, time.time() - begin


def has_default_prior(program, folder):
    """Does the prior suit the columns? A column of sd 0.0005 has a coefficient of about 0 by N(0, 1)
    in its own units, and one of thousands by scales that suit it."""
    rows = "".join(f"{k / 20000},{(k * 7) % 20 < k}\n" for k in range(20))
    (folder / "tiny.csv").write_text("x,y\n" + rows)
    code, out, said, _ = run(program, ("optimize", "logistic", "--data", "tiny.csv", "--json", "-q"), folder)
    if code != 0:
        raise SystemExit(f"sgfs optimize failed: {said}")
    return abs(json.loads(out)["mean"][1]) > 100


def explicit_prior(program, entry, frame, folder):
    """The words that ask for the references' prior, whatever the program's default is."""
    from reference import columns_of, prior_scales

    scales = prior_scales(columns_of(frame, entry)[1])
    precision = (scales**-2.0).tolist()
    if entry.model == "softmax":
        precision *= frame[entry.target].nunique() - 1
    if entry.model == "linear":
        precision.append(1.0)
    (folder / "prior.txt").write_text("".join(f"{v!r}\n" for v in precision))
    # where --standardize leaves columns of zeros and ones alone, "all" takes them, too
    spell = re.search(r"--standardize\s.*\ball\b", run(program, ("help", "sample"), folder)[1])
    return ("--standardize", *(("all",) if spell else ()), "--prior-file", "prior.txt")


def reference_of(name):
    return json.loads((HERE / "references" / f"{name}.json").read_text())


def load(entry):
    """The frame, or a sentence that says why there is none."""
    try:
        return entry.load()
    except ImportError as error:
        return f"{error.name} is not installed (tests/zoo/requirements.txt)"


def compare(verdict, params, reference):
    """Fill in how far every mean and standard deviation is from the reference; by name."""
    told = {p["name"]: p for p in params}
    if sorted(told) != sorted(reference["names"]):
        odd = sorted(set(told) ^ set(reference["names"]))[:3]
        verdict.wrong = f"other parameters than the reference: {odd}"
        return
    rows = []
    for n, m, s in zip(reference["names"], reference["mean"], reference["sd"]):
        p = {key: math.nan if told[n][key] is None else told[n][key] for key in ("mean", "sd", "r_hat")}
        off = (abs(p["mean"] - m) / s, abs(p["sd"] / s - 1))
        rows.append((*(math.inf if math.isnan(v) else v for v in off), told[n]["ess_bulk"] or 0, p["r_hat"], n))
    worst = [max(rows, key=lambda row, k=k: row[k]) for k in range(2)]
    verdict.mean_off, verdict.sd_off = worst[0][0], worst[1][1]
    verdict.ess = min(row[2] for row in rows)
    verdict.r_hat = max(row[3] for row in rows)
    faults = []
    if not verdict.mean_off <= MEAN_OFF:
        faults.append(f"mean of {worst[0][4]} off by {verdict.mean_off:.3g} sd")
    if not verdict.sd_off <= SD_OFF:
        faults.append(f"sd of {worst[1][4]} off by {100 * verdict.sd_off:.3g} %")
    if not verdict.ess >= ESS_LEAST:
        faults.append(f"ESS {verdict.ess:.0f}")
    verdict.wrong = "; ".join(faults)


def same_levels(frame, names):
    """The words that ask for the references' own levels of reference: those that have no parameter. Those of softmax are
    called `label: column=level`."""
    names = [*names, *(n.split(": ", 1)[1] for n in names if ": " in n)]
    left_out = []
    for column in frame.columns:
        levels = {str(v) for v in frame[column].dropna().unique()} if frame[column].nunique() < 1000 else set()
        known = {v for v in levels if any(n == f"{column}={v}" or n.startswith(f"{column}={v}[") or
                                          n.endswith(f",{column}={v}]") for n in names)}
        if known and len(levels - known) == 1:
            left_out.append(f"{column}={(levels - known).pop().strip()}")
    return ("--reference-level", ",".join(left_out)) if left_out else ()


def judge(program, entry, explicit, extra=(), seconds=SECONDS):
    """Run one set, and say how it came out."""
    from reference import csv_of

    verdict = Verdict(entry.name)
    frame = load(entry)
    if isinstance(frame, str):
        verdict.skipped = frame
        return verdict
    text = csv_of(frame)
    if not entry.refused:
        verdict.reference = reference_of(entry.name)
        if hashlib.sha256(text).hexdigest() != verdict.reference["csv_sha256"]:
            verdict.skipped = "the installed package has other data than the reference was made from"
            return verdict
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        (folder / f"{entry.name}.csv").write_bytes(text)
        words = entry.command
        if not entry.refused:
            words += same_levels(frame, verdict.reference["names"])
        if explicit and not entry.refused:
            words += explicit_prior(program, entry, frame, folder)
        words = (*words, *extra, "--json", "-q", "--out", "zoo.run")
        code, out, said, verdict.seconds = run(program, words, folder, seconds)
    if entry.refused:
        right, text = entry.refused
        verdict.sampler = "refused"
        if code != right or text not in said:
            verdict.wrong = f"not refused as it should be: exit code {code}: {said.strip()[:200]}"
    elif code is None:
        verdict.wrong = f"no answer in {seconds:.0f} s"
    elif not out:
        verdict.wrong = f"exit code {code}: {said.strip().splitlines()[-1][:200] if said.strip() else ''}"
    else:
        summary = json.loads(out)
        verdict.sampler = summary["title"].split("parameters: ")[-1].split(",")[0]
        compare(verdict, summary["params"], verdict.reference)
        if code != 0:
            verdict.wrong = f"exit code {code}; {verdict.wrong}"
    return verdict


def take_time_of_numpyro(entry, verdict):
    """In place of the reference's seconds: those of the same chains on this machine."""
    from reference import problem_of, sample

    if verdict.reference and not verdict.skipped:
        verdict.reference = {**verdict.reference, "seconds": round(sample(problem_of(entry))["seconds"], 1)}


HEAD = (f"{'set':14}{'model':9}{'rows':>7}{'params':>7}  {'sampler':12}{'seconds':>8}{'numpyro':>9}"
        f"{'mean off':>10}{'sd off':>8}{'ESS':>8}{'R-hat':>7}  verdict")


def line(entry, v):
    ref = v.reference
    number = (lambda value, form: "-" if math.isnan(value) else format(value, form))
    return (f"{entry.name:14}{entry.model:9}{ref.get('rows', '-'):>7}{ref.get('parameters', '-'):>7}  {v.sampler:12}"
            f"{v.seconds:>8.1f}{ref.get('seconds', '-'):>9}{number(v.mean_off, '.3f'):>10}"
            f"{number(100 * v.sd_off, '.3g') + ' %':>8}{number(v.ess, '.0f'):>8}{number(v.r_hat, '.3f'):>7}  "
            + (f"skipped: {v.skipped}" if v.skipped else v.wrong or "right"))


def main():
    from sets import ZOO

    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("names", nargs="*", help="sets (default: all)")
    parser.add_argument("--program", default=os.environ.get("SGFS", "build/sgfs"))
    parser.add_argument("--quick", action="store_true", help="only the sets of `make test`")
    parser.add_argument("--model", help="only the sets of this model")
    parser.add_argument("--prior", choices=("auto", "default", "explicit"), default="auto",
                        help="the program's default prior, or the same by options (auto: default, if it has that)")
    parser.add_argument("--sampler", help="this sampler, in place of the program's choice")
    parser.add_argument("--words", default="", help="more words for the program, in one text")
    parser.add_argument("--seconds", type=float, default=SECONDS, help="time limit of a set")
    parser.add_argument("--numpyro", action="store_true", help="NumPyro's seconds on this machine, not the stored ones")
    args = parser.parse_args()
    if args.numpyro:
        from reference import quiet_jax
        quiet_jax(accelerator=False)
    unknown = set(args.names) - {entry.name for entry in ZOO}
    if unknown:
        parser.error(f"no such set: {', '.join(sorted(unknown))}")
    program = str(pathlib.Path(args.program).resolve())
    explicit = args.prior == "explicit"
    if args.prior == "auto":
        with tempfile.TemporaryDirectory() as folder:
            explicit = not has_default_prior(program, pathlib.Path(folder))
    extra = (*(("--sampler", args.sampler) if args.sampler else ()), *args.words.split())
    prior = "--standardize --prior-file, as the references have it" if explicit else "the default"
    print(f"The prior: {prior}.\n{HEAD}")
    verdicts = []
    for entry in ZOO:
        wanted = entry.name in args.names if args.names else \
            (entry.quick or not args.quick) and args.model in (None, entry.model)
        if wanted:
            verdicts.append(judge(program, entry, explicit, extra, args.seconds))
            if args.numpyro:
                take_time_of_numpyro(entry, verdicts[-1])
            print(line(entry, verdicts[-1]), flush=True)
    wrong = sum(bool(v.wrong) for v in verdicts)
    skipped = sum(bool(v.skipped) for v in verdicts)
    print(f"{len(verdicts) - wrong - skipped} right, {wrong} wrong, {skipped} skipped; "
          f"{sum(v.seconds for v in verdicts):.0f} s in all.")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
