# SPDX-License-Identifier: MIT
"""Table 1: test errors of a discriminative RBM with 41 hidden units on KDD Cup 1999 (23 classes, 2,647 parameters).

90 % of the rows are for training, 5 % for validation, 5 % for the test, at random. Each method runs with the paper's setting
and a few around it; --validate follows the error of the validation part, whose log loss at the end picks one. The test
part is predicted once by each run of the table. SGD is an optimiser and predicts by its last point, a sampler
by the average over its draws.

The exact SGFS-f iteration updates and factors a 2,647 x 2,647 matrix. Its alpha is picked with an update every 10th
iteration; with that alpha follow one run with an update at every iteration and one at every 100th, and on a GPU one at every
iteration with the paper's alpha."""
import csv

import numpy as np
from scipy import stats

import kdd
from text import clock, devices, digits, table
from lab import Failed, Job, spelt, where
from pen import ink

PAPER = {"sgd": 8.0e-4, "sgld": 6.6e-4, "sgfs-d": 4.2e-4, "sgfs-f": 4.4e-4}
PAPER_ROWS = 4_898_430  # of which 5 % were its test rows
SHOWN = {"sgd": "SGD", "sgld": "SGLD", "sgfs-d": "SGFS-d", "sgfs-f": "SGFS-f"}
# a of a (1e5 + t)^-0.9, or alpha; the first is the paper's
GRID = {"sgd": (0.1, 1, 10), "sgld": (0.1, 1, 10), "sgfs-d": (8.95, 4, 2), "sgfs-f": (8.95, 6, 4)}
QUICK_GRID = {"sgd": (0.1, 1), "sgld": (0.1, 1), "sgfs-d": (8.95, 2), "sgfs-f": (8.95, 6)}
HIDDEN, BATCH, ITERATIONS, SHARES, LAMBDA = 41, 500, 100_000, "0.9,0.05,0.05", 10
MILLISECONDS = {"sgd": 0.6, "sgld": 0.6, "sgfs-d": 0.8, 1: 200, 10: 30, 100: 8}  # an iteration, one core
ON_GPU = {1: 2.0, 10: 0.5, 100: 0.4}
KEPT, CHANCE, UNDECIDED = 200, 0.05, "not decided by so few errors"
EVEN = 5  # runs whose iterations differ by more than this factor are not compared
# variants: the logarithm of duration, src_bytes and dst_bytes (up to 7e8); the paper's SGFS to the letter; SGFS-f with the
# larger steps that warm-up takes by itself
KINDS = {"": [], "log1p": ["--log1p", "x1,x5,x6"], "literal": ["--preset", "paper"], "automatic": []}
NOTES = {"": "", "log1p": ", log(1 + x) of duration and bytes", "literal": ", to the letter", "automatic": ", automatic burn-in"}
DASHES = {None: 1, 1: 2, 10: 1, 100: 3}
EVERY = {None: "", 1: ", update every iteration", 10: ", update every 10th", 100: ", update every 100th"}


def run(lab):
    path, which = kdd.source(lab)
    counts = kdd.counts(lab, path)
    # a label without a training row would be one that the run does not know: the few rows of --smoke may have such
    few = [k for k, n in counts.items() if n < 20] if lab.scale == "smoke" else []
    kept = ["--keep-classes", ",".join(f"{k}." for k in counts if k not in few)] if few else []
    files, rows = kdd.parts(lab, path, SHARES, kept)
    pack = spelt(["pack", path.name, *kdd.words(SHARES, kept), "--part", "train", "--out", files["train"]])
    grid = lab.by_scale(GRID, QUICK_GRID, QUICK_GRID)
    made = perform(lab, files, rows, [setting(m, v) for m, values in grid.items() for v in values])
    best = {m: pick(made, m) for m in GRID}
    more = [setting("sgfs-f", best["sgfs-f"]["value"], every) for every in (1, 100)]
    if lab.gpu and best["sgfs-f"]["value"] != GRID["sgfs-f"][0]:
        more.insert(1, setting("sgfs-f", GRID["sgfs-f"][0], 1))  # the paper's, which takes days of a core
    more.append(setting("sgfs-d", GRID["sgfs-d"][0], kind="literal"))
    if lab.scale != "quick":
        more += [setting("sgfs-d", best["sgfs-d"]["value"], kind="log1p"),
                 setting("sgfs-f", best["sgfs-f"]["value"], kind="automatic")]
    made += perform(lab, files, rows, more)
    best["sgfs-f"] = pick(made, "sgfs-f")
    for r in made:
        r["tested"] = not r["failed"] and (r["value"] == GRID[r["method"]][0] or r["value"] == best[r["method"]]["value"])
    tested = [r for r in made if r["tested"]]
    tests = lab.each(lambda r: lab.once(f"table1-{r['name']}", r["key"], lambda: score(lab, r, files["test"])), tested)
    for r, test in zip(tested, tests):
        r["test"] = test
    shown = {r["name"]: {k: v for k, v in r.items() if k not in ("key", "run")} for r in made}
    return {"data": "KDD Cup 1999, the whole file" if which == "whole" else "KDD Cup 1999, the 10 % file", "source": which,
            "rows": rows, "counts": counts, "pack": pack, "hidden": hidden(lab), "batch": batch(rows),
            "iterations": lab.count(ITERATIONS, 60), "dim": next(r["dim"] for r in made if not r["failed"]),
            "limit": lab.max_time, "runs": shown, "picked": {m: r["name"] for m, r in best.items()}}


# ---- runs

def setting(method, value, every=10, kind=""):
    every = every if method == "sgfs-f" else None
    name = "-".join(filter(None, [method, f"{value:g}", f"every-{every}" if every else "", kind]))
    return {"name": name, "method": method, "value": value, "every": every, "kind": kind}


def hidden(lab):
    return lab.by_scale(HIDDEN, HIDDEN, 5)


def batch(rows):
    return min(BATCH, rows["train"] // 4)


def lengths(lab, s):
    """Warm-up, draws, thinning, and a limit of the time that is not that of all runs."""
    whole = lab.count(ITERATIONS, 60)
    if s["method"] == "sgd":  # predicts by its last point, so it always runs to its end
        return whole - 1, 1, 1, 36000
    if s["method"] != "sgfs-f":
        return whole // 10, whole - whole // 10, max(1, whole // lab.by_scale(KEPT, 40, 5)), None
    warmup = lab.by_scale(2000, 100, 10)
    draws = lab.by_scale(dict.fromkeys((1, 10, 100), whole - warmup), {1: 40, 10: 300, 100: 1000}, {1: 30, 10: 50, 100: 100})
    # a run that --max-time stops early, as it does on a core, needs some draws, too
    thin = lab.by_scale({1: 10, 10: 50, 100: 200}, {1: 2, 10: 15, 100: 50}, {1: 6, 10: 10, 100: 20})[s["every"]]
    return warmup, draws[s["every"]], max(thin, draws[s["every"]] // KEPT) if lab.gpu else thin, None


def words(lab, s, files, rows):
    warmup, draws, thin, limit = lengths(lab, s)
    steps = (["--step-a", s["value"], "--step-b", 1e5, "--step-delta", 0.9] if s["method"] in ("sgd", "sgld") else
             ["--alpha", s["value"]])
    full = ["--fisher-every", s["every"], "--warmup-fisher-every", 10] if s["every"] else []
    if s["every"] and s["kind"] != "automatic":
        full += ["--kappa", "harmonic", "--warmup-alpha", s["value"], "--warmup-by", "scores"]
    # column transforms are done in the order of the words
    return ["drbm", "--data", files["train"], "--validate", files["validation"], *KINDS[s["kind"]], "--standardize=all",
            "--hidden", hidden(lab), "--prior-precision", LAMBDA, "--batch", batch(rows), "--batch-scheme", "with",
            "--sampler", s["method"], *steps, *full,
            "--warmup", warmup, "--draws", draws, "--thin", thin, "--chains", 1, "--threads", 1, "--seed", 1,
            *(["--max-time", limit] if limit and lab.max_time else [])]


def perform(lab, files, rows, settings):
    """A dictionary for each setting: what was asked, how far the run came, and its curve."""
    def job(s):
        warmup, draws, _, _ = lengths(lab, s)

        def time(milliseconds):
            early, late = milliseconds[10 if s["every"] else s["method"]], milliseconds[s["every"] or s["method"]]
            whole = (warmup * early + draws * late) / 1000 * lab.by_scale(1, 1, 0.1)
            whole = 0.1 if s["kind"] == "literal" else whole
            return min(whole, lab.max_time or 1e9) + lab.by_scale(20, 3, 0.1)

        return Job(s["name"], words(lab, s, files, rows), time(MILLISECONDS), tolerated=(4,),
                   gpu=time(ON_GPU) if s["every"] else None)

    records = lab.samples([job(s) for s in settings])
    return [{**s, **told(r, lengths(lab, s)[0]), "command": r["command"], "key": r["key"], "run": r["run"]}
            for s, r in zip(settings, records)]


def told(record, warmup, most=100):
    if record["exit"] == 4:
        return {"failed": "diverged"}
    if not record["summary"].get("validation"):  # the time was over before its first draw
        return {"failed": "no draw in the time"}
    s, points = record["summary"], record["summary"]["validation"]["curve"]
    at = np.unique(np.geomspace(1, len(points), min(most, len(points))).astype(int)) - 1
    each = s["sample_seconds"] / s["draws_made"] if s["draws_made"] > 1 else s["seconds"] / (warmup + 1)
    return {"failed": "", "where": where(record), "dim": s["dim"], "warmup": warmup, "iterations": warmup + s["draws_made"], "kept": s["draws"],
            "seconds": s["seconds"], "ms": 1000 * each, **{k: s["validation"][k] for k in ("error", "log_loss")},
            "curve": {"iteration": [points[i]["iteration"] for i in at], "seconds": [points[i]["seconds"] for i in at],
                      "error": [points[i]["error" if points[i]["draws"] else "error_now"] for i in at]}}


def pick(made, method):
    """The run of a method that predicts the validation part best, by its log loss."""
    tried = [r for r in made if r["method"] == method and not r["failed"] and not r["kind"]]
    if not tried:
        raise Failed(f"no run of {method} came to its first draw: a larger --max-time")
    return min(tried, key=lambda r: r["log_loss"])


def score(lab, r, rows):
    """Scores of the test part, and the rows that are predicted wrong: number and label."""
    out = lab.work / f"predicted-{r['name']}.csv"
    scores = lab.json("predict", r["run"], "--data", rows, "--max-draws", KEPT // 2, "--out", out, "--overwrite", "--quiet")
    with open(out, newline="") as file:
        lines = csv.reader(file)
        head = next(lines)
        said, true = head.index("prediction"), head.index("target")
        wrong = [[i, line[true].rstrip(".")] for i, line in enumerate(lines) if line[said] != line[true]]
    out.unlink()
    if len(wrong) != round(scores["error"] * sum(e["rows"] for e in scores["labels"])):
        raise Failed(f"{r['name']}: {len(wrong)} rows of the predictions are wrong, the program says an error of {scores['error']}")
    return {"error": scores["error"], "log_loss": scores["log_loss"], "log_loss_se": scores["log_loss_se"], "wrong": wrong,
            "labels": {e["label"].rstrip("."): e["rows"] for e in scores["labels"]}}


# ---- what follows from the numbers

def tested(found, method, picked):
    """The run of a method with the setting picked, or with the paper's: of SGFS-f the longest one, and of runs of one length
    that with most updates."""
    if picked:
        return found["runs"][found["picked"][method]]
    own = [r for r in found["runs"].values() if r["method"] == method and r["value"] == GRID[method][0] and not r["kind"]]
    return min((r for r in own if not r["failed"]), key=lambda r: (-r["iterations"], r["every"] or 0), default=own[0])


def standard_error(share, rows):
    return (share * (1 - share) / rows) ** 0.5


def whole_file(found, r):
    """Error with the labels as frequent as in the whole file, and its standard error: rows of the labels that the 10 % file
    has a tenth of count about ten times as much."""
    weight = {k: kdd.WHOLE_COUNTS.get(k, n) / n for k, n in found["counts"].items()}
    rows, wrong = r["test"]["labels"], [k for _, k in r["test"]["wrong"]]
    total = sum(n * weight[k] for k, n in rows.items() if n)
    share = sum(weight[k] for k in wrong) / total
    # of a ratio: the weighted squares of 1 - share where wrong and of share where right
    square = (1 - 2 * share) * sum(weight[k] ** 2 for k in wrong)
    square += share ** 2 * sum(n * weight[k] ** 2 for k, n in rows.items() if n)
    return share, square ** 0.5 / total


def apart(a, b):
    """Rows that only a, and only b, predicts wrong, and the chance of so uneven a split: McNemar's test, exact, two-sided."""
    first, second = ({i for i, _ in r["test"]["wrong"]} for r in (a, b))
    alone = len(first - second), len(second - first)
    return *alone, float(stats.binomtest(alone[0], sum(alone)).pvalue) if sum(alone) else 1.0


def judge(found, better, worse, picked):
    """What the test part says of "better has fewer errors than worse": a text and a verdict."""
    a, b = tested(found, better, picked), tested(found, worse, picked)
    if a["failed"] or b["failed"]:
        return a["failed"] or b["failed"], f"not judged: {a['failed'] or b['failed']}"
    alone_a, alone_b, p = apart(a, b)
    said = f"{len(a['test']['wrong'])} against {len(b['test']['wrong'])} wrong, {alone_a} and {alone_b} alone, p {probability(p)}"
    if a["iterations"] != b["iterations"]:
        said += f", after {a['iterations']:,} against {b['iterations']:,} iterations"
    if min(a["iterations"], b["iterations"]) < max(a["iterations"], b["iterations"]) / EVEN:
        return said, f"not judged: {SHOWN[(a if a['iterations'] < b['iterations'] else b)['method']]} was stopped far too early"
    if p > CHANCE:
        return said, UNDECIDED
    return said, "confirmed" if alone_a < alone_b else "the other way round"


def probability(p):
    return digits(p) if p >= 1e-4 else "< 0.0001"


def claims(found):
    """The paper, here, verdict: by the paper's settings and by those picked."""
    lines = []
    for better, worse in (("sgfs-f", "sgd"), ("sgfs-d", "sgd"), ("sgfs-f", "sgld"), ("sgfs-d", "sgld"), ("sgld", "sgd")):
        said, verdicts = zip(*(judge(found, better, worse, picked) for picked in (False, True)))
        lines.append([f"{cited(better)} has fewer errors than {cited(worse)}{doubt(better, worse)}",
                      both(*said), both(*verdicts)])
    said, verdicts = zip(*(judge(found, "sgfs-f", "sgfs-d", picked) for picked in (False, True)))
    alike = {UNDECIDED: "no difference seen", "confirmed": "SGFS-f has fewer", "the other way round": "SGFS-d has fewer"}
    lines.append([f"{cited('sgfs-f')} and {cited('sgfs-d')} are alike", both(*said), both(*(alike.get(v, v) for v in verdicts))])
    return lines + [level(found, m) for m in PAPER]


def cited(method):
    return f"{SHOWN[method]} ({PAPER[method]:.1e})"


def both(own, picked):
    return own if own == picked else f"its settings: {own}; picked: {picked}"


def doubt(better, worse):
    """How many standard errors the paper's own two rates are apart, taken as independent."""
    rows = PAPER_ROWS // 20
    z = (PAPER[worse] - PAPER[better]) / sum(standard_error(PAPER[m], rows) ** 2 for m in (better, worse)) ** 0.5
    return f": by {z:.1f} standard errors"


def level(found, method):
    """Is the paper's error rate reached, with the setting picked? On the 10 % file: the estimate for the whole file's labels."""
    cells = []
    for picked in (False, True):
        r = tested(found, method, picked)
        share, se = (None, None) if r["failed"] else rate(found, r)
        cells.append(r["failed"] if r["failed"] else f"{share:.1e} +- {se:.0e}")
    away = (share - PAPER[method]) / (se ** 2 + standard_error(PAPER[method], PAPER_ROWS // 20) ** 2) ** 0.5
    differs = f"differs: {'larger' if away > 0 else 'smaller'} by {abs(away):.1f} standard errors"
    early = found["iterations"] > EVEN * r["iterations"]
    verdict = "not judged: stopped far too early" if early else "compatible" if abs(away) <= 2 else differs
    return [f"{SHOWN[method]}: an error of {PAPER[method]:.1e}", both(*cells), f"picked: {verdict}"]


def rate(found, r):
    """The error that is to be compared with the paper's, and its standard error."""
    if found["source"] == "tenth":
        return whole_file(found, r)
    return r["test"]["error"], standard_error(r["test"]["error"], found["rows"]["test"])


# ---- what is shown

def called(r):
    return SHOWN[r["method"]] + EVERY[r["every"]] + NOTES[r["kind"]]


def valued(r):
    return f"{'a' if r['method'] in ('sgd', 'sgld') else 'alpha'} {r['value']:g}"


def role(found, r):
    own = ["the paper's"] if r["value"] == GRID[r["method"]][0] and not r["kind"] else []
    return "; ".join(own + (["picked"] if r["name"] in found["picked"].values() else []))


def rows(found):
    """For the CSV file: plain numbers. A row for each run; the test columns are filled where it was made."""
    head = ["method", "setting", "fisher_every", "kind", "role", "failed", "iterations", "burn_in", "ms_per_draw", "seconds",
            "validation_log_loss", "validation_error", "test_log_loss", "test_log_loss_se", "test_rows_wrong", "test_error",
            "whole_file_error", "whole_file_error_se"]
    ran = ("iterations", "warmup", "ms", "seconds", "log_loss", "error")

    def test(r):
        if not r.get("tested"):
            return [None] * 6
        t = r["test"]
        return [t["log_loss"], t["log_loss_se"], len(t["wrong"]), t["error"],
                *(whole_file(found, r) if found["source"] == "tenth" else (None, None))]

    lines = [[r["method"], r["value"], r["every"], r["kind"], role(found, r), r["failed"], *(r.get(k) for k in ran), *test(r)]
             for r in found["runs"].values()]
    return devices(head, lines, found["runs"].values(), 4)


def shown(found):
    head = ["method", "setting", "whose", "iterations", "ms a draw", "seconds in all", "validation log loss", "validation error",
            "test log loss", "test rows wrong", "test error", "test error, whole file's labels", "the paper"]
    return devices(head, [_row(found, r) for r in found["runs"].values()], found["runs"].values(), 4)


def _row(found, r):
    first, last = [called(r), valued(r), role(found, r)], f"{PAPER[r['method']]:.1e}" if role(found, r) else ""
    if r["failed"]:
        return first + [r["failed"]] + [""] * 8 + [last]
    first += [f"{r['iterations']:,}", digits(r["ms"]), digits(r["seconds"], 3), f"{r['log_loss']:.4f}", f"{r['error']:.1e}"]
    if not r["tested"]:
        return first + [""] * 4 + [last]
    t, n = r["test"], found["rows"]["test"]
    share = "{:.1e} +- {:.0e}".format(*whole_file(found, r)) if found["source"] == "tenth" else ""
    return first + [f"{t['log_loss']:.4f} +- {t['log_loss_se']:.4f}", len(t["wrong"]),
                    f"{t['error']:.1e} +- {standard_error(t['error'], n):.0e}", share, last]


def draw(found, pen):
    alpha = found["runs"][found["picked"]["sgfs-f"]]["value"]
    lines = {n.translate(str.maketrans("-.", "__")): r for n, r in found["runs"].items() if not r["failed"] and not r["kind"]
             and (n in found["picked"].values() or r["every"] and r["value"] == alpha)}
    tables = {n: list(zip(r["curve"]["iteration"], r["curve"]["seconds"], r["curve"]["error"])) for n, r in lines.items()}
    floor = min(e for r in lines.values() for e in r["curve"]["error"] if e > 0)

    def curves(column, titled):
        return ", \\\n     ".join(
            f"${n} using {column}:($3 > 0 ? $3 : NaN) with lines {ink(r['method'])} lw 2.2 dt {DASHES[r['every']]}" +
            (f' title "{called(r).replace("update ", "")}"' if titled else "") for n, r in lines.items())

    pen.plot("table1", f"""set multiplot layout 1,2
set logscale xy
set yrange [{floor / 1.5:.2g}:1]
set format y "10^{{%L}}"
set ylabel "error of the validation rows"
set format x "10^{{%L}}"
set xlabel "iterations"
set key top right samplen 1.5
plot {curves(1, True)}
unset key
unset ylabel
set xlabel "{clock(lines.values())}"
plot {curves(2, False)}
unset multiplot
""", tables, 1000, 460)


WHICH = {"whole": "the whole file, as in the paper", "tenth": """**the 10 % file**, the whole one is not here. It has
one row in ten of seven labels and all rows of the other sixteen, so rare labels weigh about ten times as much, and plain error rates are
not comparable with the paper's. *Whole file's labels* gives each test row the weight that its label has in the
whole file (counts by label from the literature): roughly comparable, though the model is still one of a tenth of the rows"""}


def page(found):
    n, best = found["rows"], found["runs"][found["picked"]["sgfs-f"]]
    short = [r for r in found["runs"].values() if not r["failed"] and r["iterations"] < found["iterations"]]
    limit = f" (`--max-time {found['limit']:g}`)" if found["limit"] else ""
    gpu = ("Runs of SGFS-f were made on a GPU, where `--device cuda` was added; their times are the GPU's.\n"
           if any(r.get("where") == "GPU" for r in found["runs"].values()) else "")
    limits = (f"{len(short)} of {len(found['runs'])} runs have fewer than {found['iterations']:,} iterations, for want of "
              f"time{limit}: the table says how far each came.\n" if short else "")
    return f"""![Table 1](paper/table1.svg)

The error of the validation rows with the settings picked: in burn-in, and for SGD, that of the point at hand, then that of the
averaged prediction.

{table(*shown(found))}

Milliseconds are those of an iteration after burn-in; seconds have the burn-in in them, whose iterations may cost less.

{table(["the paper", "here", "verdict"], claims(found))}

Data: {WHICH[found['source']]}. {n['train']:,} rows are for training, {n['validation']:,} for validation, {n['test']:,} for the
test: one row more or less is {1 / n['test']:.1e} of the error, and standard errors (binomial) are large beside the differences
of the paper's table. Methods are therefore compared on the same rows: *alone* are rows that one of the two gets wrong and the
other right, p is McNemar's exact test, two-sided, one comparison at a time. The paper's own rates are compared by the standard
errors of its {PAPER_ROWS // 20:,} test rows. A setting is picked by the log loss of the validation part.

Settings: {found['hidden']} hidden units, D = {found['dim']:,}, minibatches of {found['batch']}, lambda {LAMBDA}, columns
standardised by the training rows, symbolic ones numbered, one chain, seed 1; SGD and SGLD step by a (1e5 + t)^-0.9.
{limits}{gpu}Burn-in is a tenth of the iterations, {best['warmup']:,} for SGFS-f with an update every 10th of them.

Where we differ: the paper states neither batch, scaling nor burn-in. SGFS-d burns in with the larger steps that `sgfs` chooses by
itself; SGFS-f keeps its alpha and averages the covariance of the scores with kappa = 1/t from the first step on, as the paper
does. {others(found)}
How the rows were made, and one of the runs:

    {found['pack']}
    {best['command']}
"""


def others(found):
    """What became of the automatic burn-in of SGFS-f, and of the paper's SGFS to the letter, where they were tried."""
    kinds = {r["kind"]: r for r in found["runs"].values()}
    own, literal, told = kinds.get("automatic"), kinds["literal"], ""
    if own:
        told += "With the automatic burn-in (alpha 0, by the model's information) the same setting " + (
            f"came to nothing: {own['failed']}. " if own["failed"] else f"ends at a log loss of {own['log_loss']:.3g} on the validation part. ")
    if literal["failed"]:
        told += ("The paper's SGFS-d to the letter (`--preset paper`: no prior in the matrix, no ridge) diverges: where a column "
                 "is constant, as `is_host_login` here, its matrix has no curvature.")
    logs, plain = kinds.get("log1p"), found["runs"][found["picked"]["sgfs-d"]]
    if logs and not logs["failed"] and logs["tested"] and plain["tested"]:
        told += (f" What a practitioner would do first, the logarithm of duration and bytes, helps more than any sampler: "
                 f"{len(logs['test']['wrong'])} test rows wrong instead of {len(plain['test']['wrong'])}, p "
                 f"{probability(apart(logs, plain)[2])}."
                 if apart(logs, plain)[2] <= CHANCE and len(logs["test"]["wrong"]) < len(plain["test"]["wrong"]) else "")
    return told
