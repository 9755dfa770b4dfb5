# SPDX-License-Identifier: MIT
"""Bad input, one row per case: what is wrong, what the user typed, the exit code, and the sentence
(a regular expression) that must stand on stderr. The table is the specification.

For every row: stdout stays empty, and no file appears, neither the output nor a temporary one."""
import gzip
import os
import re
import struct

import numpy as np
import pytest

from cli_program import SHORT, lines, quarters, write

USAGE, DATA, IO, RUNFILE = 2, 3, 5, 6


# ---- the files the table speaks of ---------------------------------------------------------------

def write_csvs(folder):
    x, y = quarters()
    good = lines(x, y)

    def spoil(name, line, text):
        """The good rows, with one line (from 1, the header) replaced."""
        write(folder / name, good[:line - 1] + [text] + good[line:])

    def targets(name, labels):
        write(folder / name, lines(x, labels))

    write(folder / "good.csv", good)
    spoil("ragged.csv", 6, "1,2")
    spoil("wide.csv", 7, "1,2,0,0")
    spoil("hole.csv", 6, "1,,0")
    spoil("no_label.csv", 9, "1,2,")
    spoil("nan.csv", 5, "nan,1,0")
    spoil("inf.csv", 8, "1,-inf,0")
    spoil("text.csv", 6, "1,blue,0")
    spoil("comma.csv", 6, '"1,5",2,0')
    spoil("nul.csv", 4, "1,\0002,0")
    spoil("quote.csv", 5, '"1,2,0')
    spoil("after_quote.csv", 5, '"1"2,2,0')
    targets("one_class.csv", [1] * len(y))
    targets("three.csv", [i % 3 for i in range(len(y))])
    targets("three_texts.csv", [("low", "mid", "high")[i % 3] for i in range(len(y))])
    targets("typo.csv", [f"{i / 7:.6f}" if i != 40 else "1.5x" for i in range(len(y))])
    write(folder / "many.csv", ["a,y"] + [f"{i % 9},{i / 7:.6f}" if i != 1400 else "1,1.5x"
                                          for i in range(1500)])
    write(folder / "twice.csv", lines(x, y, ("a", "a", "y")))
    write(folder / "header.csv", good[:1])
    write(folder / "one_row.csv", good[:2])
    write(folder / "only_y.csv", ["y"] + [str(v) for v in y])
    write(folder / "blank.csv", ["", "", ""])
    (folder / "empty.csv").touch()
    (folder / "utf16.csv").write_text("\n".join(good), encoding="utf-16")
    whole = gzip.compress("\n".join(good).encode())
    (folder / "cut.csv.gz").write_bytes(whole[:len(whole) // 2])
    (folder / "flipped.csv.gz").write_bytes(whole[:40] + bytes([whole[40] ^ 255]) + whole[41:])


def write_npys(folder):
    x, y = quarters()
    a = np.column_stack([x, y])

    def header(name, shape, descr="'<f8'", data=b"\0" * 1440, order="False"):
        """A file whose header says anything we like."""
        text = f"{{'descr': {descr}, 'fortran_order': {order}, 'shape': {shape}, }}"
        text = text.encode().ljust(117) + b"\n"
        (folder / name).write_bytes(b"\x93NUMPY\x01\0" + struct.pack("<H", len(text)) + text + data)

    header("beyond.npy", "(60000, 3)")
    header("overflow.npy", "(4611686018427387904, 4)")
    header("overflow2.npy", "(9223372036854775807, 3)")
    header("digits.npy", "(99999999999999999999999999, 3)")
    header("negative.npy", "(-60, 3)")
    header("none.npy", "(0, 3)")
    header("cube.npy", "(4, 5, 9)")
    header("strings.npy", "(60, 3)", "'<U2'")
    np.save(folder / "big_endian.npy", a.astype(">f8"))
    np.save(folder / "object.npy", a.astype(object), allow_pickle=True)
    (folder / "not.npy").write_text("a,b,y\n1,2,0\n")
    a[7, 1] = np.nan
    np.save(folder / "nan.npy", a)


def head_of(run):
    """Bytes of a run file's head: magic, version, length, JSON, checksum."""
    return 16 + struct.unpack("<I", run[12:16])[0] + 4


def write_runs(sgfs):
    folder = sgfs.folder
    sgfs.sample("logistic", "good.csv")
    whole = (folder / "fit.run").read_bytes()
    head = head_of(whole)
    (folder / "cut_head.run").write_bytes(whole[:60])
    (folder / "no_draws.run").write_bytes(whole[:head])
    (folder / "flipped.run").write_bytes(whole[:head + 80] + bytes([whole[head + 80] ^ 1])
                                         + whole[head + 81:])
    (folder / "empty.run").touch()
    (folder / "other.json").write_text('{"names": ["intercept", "a", "z"], "mean": [1, 2, 3]}')
    (folder / "short.json").write_text('{"names": ["intercept", "a", "b"], "mean": [1, 2]}')
    (folder / "no_mean.json").write_text('{"names": ["intercept", "a", "b"]}')
    (folder / "broken.json").write_text('{"names": ["a",\n "b"')
    (folder / "draws.npy").rename(folder / "exists.npy")


@pytest.fixture(scope="module")
def site(shared):
    write_csvs(shared.folder)
    write_npys(shared.folder)
    write_runs(shared)
    (shared.folder / "folder").mkdir()
    (shared.folder / "folder.npy").mkdir()
    return shared


# ---- the table -----------------------------------------------------------------------------------

def logistic(data, *words):
    return ("sample", "logistic", "--data", data, *SHORT, "--out", "new.run", *words)


def good(*words):
    return logistic("good.csv", *words)


def linear(data, *words):
    return ("sample", "linear", "--data", data, *SHORT, "--out", "new.run", *words)


def to(path, *words):
    return ("sample", "logistic", "--data", "good.csv", *SHORT, "--out", path, *words)


TABLE = [
    # rows of a CSV file: file:line, and the column by number and name
    ("ragged row", logistic("ragged.csv"), DATA,
     r"ragged\.csv:6: this row has 2 fields where the header \(line 1\) has 3"),
    ("row too wide", logistic("wide.csv"), DATA, r"wide\.csv:7: this row has 4 fields"),
    ("empty cell", logistic("hole.csv"), DATA, r'hole\.csv:6: column 2 \("b"\) is empty'),
    ("empty target", logistic("no_label.csv"), DATA,
     r'no_label\.csv:9: column 3 \("y"\) is empty'),
    ("NaN cell", logistic("nan.csv"), DATA,
     r'nan\.csv:5: column 1 \("a"\) holds "nan", not a finite number'),
    ("Inf cell", logistic("inf.csv"), DATA,
     r'inf\.csv:8: column 2 \("b"\) holds "-inf", not a finite number'),
    ("text in a feature", logistic("text.csv"), DATA,
     r'text\.csv:6: column 2 \("b"\) holds "blue", not a number; .*--features'),
    ("decimal comma", logistic("comma.csv"), DATA,
     r'comma\.csv:6: column 1 \("a"\) holds "1,5", .*decimal point'),
    ("NUL byte", logistic("nul.csv"), DATA, r"nul\.csv:4: a NUL byte"),
    ("unclosed quote", logistic("quote.csv"), DATA, r"quote\.csv:5: a quote is opened here"),
    ("text after a quote", logistic("after_quote.csv"), DATA,
     r'after_quote\.csv:5: text follows the closing quote of column 1 \("a"\)'),
    ("decimals with --header no", logistic("good.csv", "--header", "no"), DATA,
     r'good\.csv:1: column 1 .*holds "a", not a number'),
    # the file as a whole
    ("empty file", logistic("empty.csv"), DATA, r"empty\.csv: the file is empty"),
    ("blank lines only", logistic("blank.csv"), DATA, r"blank\.csv: the file is empty"),
    ("header without rows", logistic("header.csv"), DATA, r"header\.csv: has a header but no rows"),
    ("one row", logistic("one_row.csv"), DATA, r"one_row\.csv: has one row; at least two"),
    ("one row, linear", linear("one_row.csv"), DATA, r"one_row\.csv: has one row; at least two"),
    ("UTF-16", logistic("utf16.csv"), DATA, r"utf16\.csv: is UTF-16 text; save it as UTF-8"),
    ("truncated gz", logistic("cut.csv.gz"), DATA, r"cut\.csv\.gz: the gzip data end too early"),
    ("damaged gz", logistic("flipped.csv.gz"), DATA, r"flipped\.csv\.gz: the gzip data are damaged"),
    ("missing file", logistic("absent.csv"), IO, r"absent\.csv: cannot open it: No such file"),
    ("directory as data", logistic("folder"), IO, r"folder: is a directory; give the name of a file"),
    ("device as data", logistic("/dev/null"), IO, r"/dev/null: is not a regular file"),
    # columns and target
    ("unknown target", good("--target", "yy"), USAGE,
     r'good\.csv: --target asks for "yy", .*did you mean "y"\?'),
    ("target out of range", good("--target", "4"), USAGE, r'--target asks for "4", .*its 3 columns'),
    ("unknown feature", good("--features", "a,bb"), USAGE,
     r'--features asks for "bb", .*did you mean "b"\?'),
    ("feature range too far", good("--features", "1-9"), USAGE, r'--features asks for "1-9"'),
    ("target as feature", good("--features", "a,y"), USAGE,
     r'good\.csv: column 3 \("y"\) is the target and cannot be a feature'),
    ("one class only", logistic("one_class.csv"), DATA,
     r'one_class\.csv: every row of the target "y" is 1; .*two classes'),
    ("three classes", logistic("three.csv"), DATA,
     r'three\.csv: the target "y" has more than two values \(0, 1, 2\)'),
    ("three texts", logistic("three_texts.csv"), DATA,
     r'three_texts\.csv: the target "y" has more than two values \(low, mid, high\)'),
    ("text target for linear", linear("three_texts.csv"), DATA,
     r'three_texts\.csv:2: the target "y" holds text \("low"\); linear regression needs numbers'),
    ("one odd number in the target", linear("typo.csv"), DATA,
     r'typo\.csv:42: the target "y" holds text \("1\.5x"\)'),
    ("the same among many values", linear("many.csv"), DATA,
     r'many\.csv:1402: the target, column 2 \("y"\), holds text \(here "1\.5x"\)'),
    ("duplicate column names", logistic("twice.csv"), DATA,
     r'twice\.csv: two parameters would be called "a"; .*--features'),
    ("ambiguous feature", logistic("twice.csv", "--features", "a"), USAGE,
     r'--features asks for "a", but columns 1 and 2 are both called'),
    ("nothing to explain with", logistic("only_y.csv", "--no-intercept"), DATA,
     r"only_y\.csv: no feature columns are left and there is no intercept"),
    # npy
    ("shape beyond the file", logistic("beyond.npy"), DATA,
     r"beyond\.npy: the file is cut off: 60000 x 3 numbers take 1440000 bytes, and it has 1440"),
    ("overflowing shape", logistic("overflow.npy"), DATA, r"overflow\.npy: .*more than any file holds"),
    ("overflowing bytes", logistic("overflow2.npy"), DATA, r"overflow2\.npy: .*more than any file"),
    ("shape of 26 digits", logistic("digits.npy"), DATA, r"digits\.npy: "),
    ("negative shape", logistic("negative.npy"), DATA, r"negative\.npy: "),
    ("no rows", logistic("none.npy"), DATA, r"none\.npy: the array is empty: 0 x 3"),
    ("three dimensions", logistic("cube.npy"), DATA, r"cube\.npy: .*dimension"),
    ("object dtype", logistic("object.npy"), DATA, r"object\.npy: .*Python objects .*never loaded"),
    ("string dtype", logistic("strings.npy"), DATA, r"strings\.npy: the array's type '<U2'"),
    ("big-endian", logistic("big_endian.npy"), DATA, r"big_endian\.npy: .*'>f8' is big-endian"),
    ("NaN in npy", logistic("nan.npy"), DATA, r'nan\.npy: row 8, column "x2" is not a finite number'),
    ("text called npy", logistic("not.npy"), DATA, r"not\.npy: is not a NumPy \.npy file"),
    # options: the range is in the sentence
    ("batch 0", good("--batch", "0"), USAGE, r"--batch must lie between 2 and \d+, not 0"),
    ("batch 1", good("--batch", "1"), USAGE, r"--batch must lie between 2 and \d+, not 1"),
    ("batch over N", good("--batch", "61"), USAGE,
     r"--batch 61 is more than the 60 rows of good\.csv; it must lie between 2 and 60"),
    ("negative alpha", good("--alpha", "-1"), USAGE, r"--alpha must lie between 0 and \d+, not -1"),
    ("alpha NaN", good("--alpha", "nan"), USAGE, r"--alpha must lie between .*not nan"),
    ("alpha with a comma", good("--alpha", "1,5"), USAGE, r'--alpha takes a number, not "1,5"'),
    ("alpha and epsilon", good("--alpha", "1", "--epsilon", "0.1"), USAGE,
     r"--alpha and --epsilon say the same thing .*one of them"),
    ("thin over draws", good("--thin", "81"), USAGE, r"--thin 81 is more than --draws 80"),
    ("seed text", good("--seed", "abc"), USAGE, r'--seed takes a whole number, not "abc"'),
    ("seed with a fraction", good("--seed", "1.5"), USAGE, r'--seed takes a whole number, not "1\.5"'),
    ("0 draws", good("--draws", "0"), USAGE, r"--draws must lie between 1 and .*not 0"),
    ("0 chains", good("--chains", "0"), USAGE, r"--chains must lie between 1 and .*not 0"),
    ("sigma 0", linear("good.csv", "--sigma", "0"), USAGE, r"--sigma must .*not 0"),
    ("odd choice", good("--storage", "f16"), USAGE, r'--storage is one of f64\|f32, not "f16"'),
    ("odd delimiter", good("--delimiter", "ab"), USAGE, r'--delimiter "ab": give one character'),
    ("odd switch value", good("--standardize=maybe"), USAGE,
     r'--standardize is true, all or false, not "maybe"'),
    ("value for --quiet", good("--quiet=1"), USAGE, r"--quiet takes no value"),
    ("alpha with sgld", good("--sampler", "sgld", "--alpha", "1"), USAGE,
     r"--alpha has no meaning for .*sampler sgld; it is read by sampler sgfs"),
    ("block size with sgld", good("--sampler", "sgld", "--block-size", "5"), USAGE,
     r"--block-size has no meaning for .*sampler sgld; it is read by samplers sgfs-f, "),
    ("sigma with logistic", good("--sigma", "1"), USAGE, r"--sigma has no meaning .*model linear"),
    ("fisher twice", good("--sampler", "sgfs-f", "--fisher", "diag"), USAGE,
     r"--sampler sgfs-f already means --fisher full"),
    # words
    ("no data", ("sample", "logistic"), USAGE, r"Where are the rows\? Add --data FILE"),
    ("no value", good("--alpha"), USAGE, r"--alpha needs a value"),
    ("a flag for a value", ("sample", "logistic", "--data", "--out", "new.run"), USAGE,
     r"--data needs a value"),
    ("empty name", ("sample", "logistic", "--data", "good.csv", "--out", ""), USAGE,
     r"--out needs a value"),
    ("unknown flag", good("--bach", "9"), USAGE, r"no flag --bach\. Did you mean --batch\?"),
    ("strange flag", good("--zzzzzz"), USAGE, r"no flag --zzzzzz; `sgfs help sample --help-all` lists"),
    ("short flag", good("-n"), USAGE, r"no flag "),
    ("unknown model", ("sample", "logisitc", "--data", "good.csv"), USAGE,
     r'no model "logisitc"\. Did you mean "logistic"\?'),
    ("output is the data", ("sample", "logistic", "--data", "good.csv", "--out", "good.csv", "--overwrite"), USAGE, r"is the data"),
    ("truth is the data", ("simulate", "linear", "--rows", "20", "--out", "s.csv", "--truth", "s.csv"), USAGE, r"two names"),
    ("two models", ("sample", "logistic", "linear", "--data", "good.csv"), USAGE, r"What is \"linear\" for\?"),
    ("unknown sampler", good("--sampler", "sgsf"), USAGE,
     r'no sampler "sgsf"\. Did you mean "sgfs"\?'),
    ("unknown command", ("smaple", "logistic"), USAGE, r'no command "smaple"; did you mean "sample"\?'),
    ("unknown help page", ("help", "exprot"), USAGE, r'no command "exprot"; did you mean "export"\?'),
    ("unknown list", ("list", "sampler", "--json"), USAGE, r'no list of "sampler"; did you mean "samplers"\?'),
    ("two lists", ("list", "models", "samplers"), USAGE, r"Name one list"),
    # outputs
    ("output in a missing folder", to("absent/new.run"), IO, r"absent/new\.run: cannot write there: No such"),
    ("output below a file", to("good.csv/new.run"), IO, r"good\.csv/new\.run: cannot write there: Not a dir"),
    ("output is a directory", to("folder"), IO, r"folder: is a directory; give a file name"),
    ("the same with --overwrite", to("folder", "--overwrite"), IO, r"folder: is a directory; give"),
    ("output exists", to("fit.run"), USAGE, r"fit\.run: exists already; .*--overwrite"),
    ("the same, told before the data are read",
     ("sample", "logistic", "--data", "ragged.csv", "--out", "fit.run"), USAGE, r"fit\.run: exists already"),
    # run files
    ("summary of a CSV", ("summary", "good.csv"), RUNFILE, r"good\.csv: not a run file of sgfs"),
    ("export of a CSV", ("export", "good.csv", "new.npy"), RUNFILE, r"good\.csv: not a run file of sgfs"),
    ("compare of a CSV", ("compare", "good.csv", "--reference", "fit.run"), RUNFILE,
     r"good\.csv: not a run file of sgfs"),
    ("empty run file", ("summary", "empty.run"), RUNFILE, r"empty\.run: not a run file of sgfs"),
    ("run file cut in its head", ("summary", "cut_head.run"), RUNFILE,
     r"cut_head\.run: the header of this run file is cut off or damaged"),
    ("run file with a flipped bit", ("summary", "flipped.run"), RUNFILE,
     r"flipped\.run: damaged at byte \d+: a block does not match its checksum"),
    ("run file without draws", ("summary", "no_draws.run"), DATA, r"no draws after warm-up"),
    ("the same, exported", ("export", "no_draws.run", "new.npy"), DATA, r"no draws yet"),
    ("missing run file", ("summary", "absent.run"), IO, r"absent\.run: cannot open: No such file"),
    ("summary of nothing", ("summary",), USAGE, r"Name one run file"),
    # references
    ("reference of another model", ("compare", "fit.run", "--reference", "other.json"), DATA,
     r'other\.json: not the same parameters: the reference lacks "b"; the run lacks "z"'),
    ("reference too short", ("compare", "fit.run", "--reference", "short.json"), DATA, r"short\.json: "),
    ("reference without mean", ("compare", "fit.run", "--reference", "no_mean.json"), DATA,
     r'no_mean\.json: .*mean'),
    ("reference not JSON", ("compare", "fit.run", "--reference", "broken.json"), DATA,
     r"broken\.json:2:\d+: not valid JSON"),
    ("reference missing", ("compare", "fit.run", "--reference", "absent.json"), IO,
     r"absent\.json: cannot open"),
    ("no reference", ("compare", "fit.run"), USAGE, r"Name a run and a reference"),
    # exports and simulations
    ("unknown suffix", ("export", "fit.run", "new.xls"), USAGE,
     r"new\.xls: no export has this ending; there are \.nc, \.stan\.csv, \.csv, \.npy"),
    ("export exists", ("export", "fit.run", "exists.npy"), USAGE, r"exists\.npy: exists already; .*--overwrite"),
    ("export to a directory", ("export", "fit.run", "folder.npy", "--overwrite"), IO,
     r"folder\.npy: is a directory"),
    *((f"export {suffix} to a missing folder", ("export", "fit.run", f"absent/new.{suffix}"), IO,
       r"absent/new.*: cannot write there: No such") for suffix in ("nc", "csv", "stan.csv", "npy")),
    ("simulate to a strange suffix", ("simulate", "linear", "--out", "new.txt"), USAGE,
     r"new\.txt: the name must end in \.npy, \.csv or \.sgd"),
    ("simulate over a file", ("simulate", "linear", "--out", "good.csv"), USAGE, r"good\.csv: exists already"),
    ("simulate, truth in a missing folder",
     ("simulate", "linear", "--out", "new.npy", "--truth", "absent/t.json"), IO,
     r"absent/t\.json: cannot write there"),
    ("simulate no rows", ("simulate", "linear", "--rows", "0", "--out", "new.npy"), USAGE,
     r"--rows must lie between 2 and .*not 0"),
]


def files_of(folder):
    return {p.relative_to(folder): p.stat().st_mtime_ns for p in folder.rglob("*") if p.is_file()}


@pytest.mark.parametrize("words, code, sentence", [row[1:] for row in TABLE], ids=[row[0] for row in TABLE])
def test_refused(site, words, code, sentence):
    before = files_of(site.folder)
    done = site(*words)
    assert done.returncode == code, done.stderr
    assert re.search(sentence, done.stderr), done.stderr
    assert done.stderr.startswith("sgfs") and done.stderr.endswith("\n")
    assert done.stderr.count("\n") == 1, "one sentence, and no notes before it"
    assert done.stdout == ""
    assert files_of(site.folder) == before, "nothing appears, nothing is touched"


# ---- the cases a table row is too short for ------------------------------------------------------

def test_missing_cells_are_counted(site):
    x, y = quarters()
    write(site.folder / "holes.csv", lines(x, y)[:1] + [",,0" if i in (3, 17) else f"1,{i % 4},{i % 2}"
                                                         for i in range(60)])
    done = site(*logistic("holes.csv"))
    assert done.returncode == DATA
    assert "there are 4 such cells, on lines 5, 19" in done.stderr


def test_constant_column_runs_and_warns(sgfs):
    x, y = quarters()
    x[:, 1] = 2.25
    write(sgfs.folder / "const.csv", lines(x, y))
    for model in ("logistic", "linear"):
        done = sgfs.ok("sample", model, "--data", "const.csv", *SHORT, "--quiet", "--out", f"{model}.run")
        assert re.match(r'warning: Column "b" is constant: [^\n]+\n', done.stderr)
        draws = sgfs.draws(f"{model}.run")
        assert np.isfinite(draws).all() and draws.shape[:2] == (2, 80)


@pytest.mark.parametrize("unit", ["e200", "e-200", "e160", "e-160"])
@pytest.mark.parametrize("column", ["a", "y"])
def test_spreads_without_squares_are_named(sgfs, unit, column):
    x, y = quarters()
    cells = [f"{a},{b},{c}".split(",") for (a, b), c in zip(x, y)]
    for row in cells:
        row["a b y".split().index(column)] += unit
    write(sgfs.folder / "far.csv", ["a,b,y", *(",".join(row) for row in cells)])
    done = sgfs("sample", "linear", "--data", "far.csv", "--out", "far.run")
    assert done.returncode == DATA and f'column "{column}" reaches from ' in done.stderr, done.stderr
    assert ("too little" if "-" in unit else "too far") in done.stderr


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_unwritable_folder(site):
    locked = site.folder / "locked"
    locked.mkdir(exist_ok=True)
    locked.chmod(0o555)
    done = site(*to("locked/new.run"))
    assert done.returncode == IO and "locked/new.run: cannot write there: Permission denied" in done.stderr
    assert list(locked.iterdir()) == []


@pytest.mark.parametrize("kind", ["run", "npy", "csv", "nc"])
def test_overwrite_replaces_and_nothing_else_does(sgfs, kind):
    write(sgfs.folder / "good.csv", lines(*quarters()))
    first = sgfs.sample("logistic", "good.csv", "--seed", "1")
    out = sgfs.folder / f"out.{kind}"
    out.write_text("precious")
    words = (to(out.name) if kind == "run" else ("export", "fit.run", out.name))
    assert sgfs(*words).returncode == USAGE
    assert out.read_text() == "precious"
    sgfs.ok(*words, "--overwrite")
    assert b"precious" not in out.read_bytes()
    if kind == "run":
        assert (sgfs.draws("out.run") == first).all()
    assert not list(sgfs.folder.glob("*.tmp*"))


def test_a_failing_run_leaves_the_old_output_alone(sgfs):
    """--overwrite is no licence to destroy the old run before the new one can begin."""
    write(sgfs.folder / "good.csv", lines(*quarters()))
    sgfs.sample("logistic", "good.csv")
    before = (sgfs.folder / "fit.run").read_bytes()
    for wrong in (("--batch", "61"), ("--target", "zz"), ("--sampler", "sgld", "--alpha", "1")):
        assert sgfs(*to("fit.run", "--overwrite", *wrong)).returncode == USAGE
    assert (sgfs.folder / "fit.run").read_bytes() == before


def test_a_run_cut_anywhere(site):
    """Without its whole head a run is refused; cut later it is what a killed run leaves, and holds the
    draws of its whole blocks: never one that was not made."""
    whole = (site.folder / "fit.run").read_bytes()
    all_draws, head, lengths = site.draws("fit.run"), head_of(whole), set()
    for cut in (0, 7, 15, head // 2, head - 1, *np.linspace(head, len(whole) - 1, 25).astype(int)):
        (site.folder / "piece.run").write_bytes(whole[:cut])
        done = site("export", "piece.run", "piece.npy", "--overwrite", "-q")
        assert done.returncode in ((RUNFILE,) if cut < head else (0, DATA)), (cut, done.stderr)
        if done.returncode == 0:
            draws = np.load(site.folder / "piece.npy")
            assert (draws == all_draws[:draws.shape[0], :draws.shape[1]]).all()
            lengths.add(draws.size)
    assert len(lengths) > 1 and max(lengths) == all_draws.size


def test_results_that_cannot_be_written(site):
    with open("/dev/full", "w") as full:
        done = site("summary", "fit.run", stdout=full)
    assert done.returncode == IO and "writing the results failed: No space left" in done.stderr


# ---- chains that fail ----------------------------------------------------------------------------

@pytest.mark.parametrize("sampler, words, advice", [
    ("sgld", ("--epsilon", "1e6"), "a smaller --epsilon, a larger --batch or --standardize"),
    ("sghmc", ("--epsilon", "1e6"), "a smaller --epsilon"),
    ("nuts", ("--metric", "identity", "--epsilon", "1e200"), "a smaller --epsilon, a stronger --prior-precision"),
])
def test_a_chain_that_fails_says_where_and_what_to_do(sgfs, sampler, words, advice):
    """Exit 4, with chain, iteration and advice that this sampler understands."""
    x, y = quarters()
    (sgfs.folder / "d.csv").write_text("\n".join(lines(x, y)) + "\n")
    done = sgfs("sample", "logistic", "--data", "d.csv", "--sampler", sampler, *words, *SHORT, "--out", "a.run", "-q")
    assert done.returncode == 4, done.stderr
    assert re.search(r"Chain \d stopped at iteration \d+", done.stderr), done.stderr
    assert advice in done.stderr and "--alpha" not in done.stderr, done.stderr


def test_a_chain_that_fails_late_keeps_its_draws(sgfs):
    """Without a prior a linear regression with half the Newton step's limit exceeded grows geometrically: hundreds
    of draws before it has run away."""
    rng = np.random.default_rng(7)
    x = rng.normal(size=(200, 2))
    y = x[:, 0] + rng.normal(size=200)
    np.savetxt(sgfs.folder / "d.csv", np.column_stack([x, y]), delimiter=",", header="a,b,y", comments="")
    # a step of 2.1 Newton steps multiplies the distance by -1.1 in each iteration
    done = sgfs("sample", "linear", "--data", "d.csv", "--sigma", "1", "--sampler", "sgld", "--epsilon", 2 * 2.1 / 200,
                "--warmup", "0", "--draws", "5000", "--chains", "1", "--batch", "200", "--batch-scheme", "without",
                "--out", "a.run", "-q")
    assert done.returncode == 4, done.stderr
    where = int(re.search(r"Chain 1 stopped at iteration (\d+): parameter .* has run away", done.stderr).group(1))
    assert "Draws before it are kept" in done.stderr
    draws = sgfs.draws("a.run")
    assert draws.shape[1] == where - 1 > 20 and np.isfinite(draws).all()
    assert "failed: Chain 1 stopped" in sgfs.ok("summary", "a.run").stdout
