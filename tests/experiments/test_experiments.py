# SPDX-License-Identifier: MIT
"""experiments/paper.py and what it stands on (lab.py, pen.py, get-data.sh): every experiment runs on data in miniature and
fills its part of the page; docs/paper.md is what the committed numbers give; runs are made once, survive Ctrl-C, and
leave nothing half done. Where runs have to be slow or to fail, a script of a few lines stands in for the program."""
import contextlib
import csv
import hashlib
import importlib
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
import xml.etree.ElementTree as xml
from types import SimpleNamespace

import pytest

import stand_in

PROGRAM = os.environ.get("SGFS")
SOURCE = pathlib.Path(os.environ.get("SGFS_SOURCE") or pathlib.Path(__file__).parents[2])
EXPERIMENTS, PAGE = SOURCE / "experiments", SOURCE / "docs" / "paper.md"
sys.path.insert(0, str(EXPERIMENTS))
import paper  # noqa: E402
import lab as laboratory  # noqa: E402  (paper has told where its modules are)

GNUPLOT = shutil.which("gnuplot") is not None
PRETENDED = pathlib.Path(os.environ.get("SGFS_BUILD", pathlib.Path(PROGRAM or "/").parent)) / "tests" / "pretended" / "libsgfs_cuda.so"
TIMES = re.compile("second|wall|core|_s$|time|machine|jobs")


def experiment(*words, program=PROGRAM, script=EXPERIMENTS / "paper.py"):
    return [sys.executable, str(script), *map(str, words), "--program", str(program)]


def perform(*words, **options):
    return subprocess.run(experiment(*words, **options), capture_output=True, text=True, timeout=300)


def written(name):
    return (EXPERIMENTS / f"{paper.MODULES[name]}.py").exists()


def blocks(text):
    return {m[1]: m[2] for m in re.finditer(r"<!-- ([\w-]+): made by make paper -->\n(.*?)<!-- end of \1 -->", text, re.S)}


def timeless(value):
    """Numbers without those that are another time's."""
    if isinstance(value, dict):
        return {k: timeless(v) for k, v in value.items() if not TIMES.search(k)}
    return [timeless(v) for v in value] if isinstance(value, list) else value


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    return stand_in.write(tmp_path_factory.mktemp("data"))


# ---- every experiment, next to nothing of it

class Smoke:
    """Smoke runs of the experiments, each made when it is asked for."""

    def __init__(self, folder, data):
        self.folder, self.data, self.made = folder, data, {}

    def __call__(self, name):
        if not written(name):
            pytest.skip(f"there is no {paper.MODULES[name]}.py")
        if name not in self.made:
            self.made[name] = perform(name, *self.words())
        done = self.made[name]
        assert done.returncode == 0, done.stderr
        return self.folder / "out"

    def words(self):
        return ["--smoke", "--jobs", 2, "--out", self.folder / "out", "--work", self.folder / "work", "--data-dir", self.data,
                *([] if GNUPLOT else ["--no-pictures"])]


@pytest.fixture(scope="module")
def smoke(tmp_path_factory, data):
    return Smoke(tmp_path_factory.mktemp("smoke"), data)


@pytest.mark.parametrize("name", paper.MODULES)
def test_numbers(smoke, name):
    folder = smoke(name) / "paper"
    found = json.loads((folder / f"{name}.json").read_text())
    assert found["made"]["scale"] == "smoke" and found["made"]["runs"] > 0 and found["made"]["core_seconds"] > 0
    with open(folder / f"{name}.csv", newline="") as file:
        rows = list(csv.reader(file))
    assert len(rows) >= 2 and len({len(row) for row in rows}) == 1


@pytest.mark.parametrize("name", paper.MODULES)
def test_page(smoke, name):
    """Pictures, tables with as many cells in every row, and a verdict on every claim, none of them empty."""
    text = blocks((smoke(name) / "paper.md").read_text())[name]
    assert f"](paper/{name}" in text
    tables = re.findall(r"(?:^\|.*\|\n)+", text, re.M)
    for table in tables:
        assert len({line.count("|") for line in table.splitlines()}) == 1, table
    verdicts = [t.splitlines() for t in tables if re.match(r"\| *the paper *\| *here *\| *verdict *\|", t)]
    assert len(verdicts) == 1 and len(verdicts[0]) >= 3
    for line in verdicts[0][2:]:
        assert all(cell.strip() for cell in line.strip("|").split("|")), line
    assert not re.search(r"\bnan\b|\bNone\b|\binf\b", text), text


def test_weighted_rows_are_all_rows(smoke):
    """Figures 4 and 5: the different rows with their counts have the posterior of all rows; softmax has one mode."""
    smoke("fig4-5")
    modes = []
    for file in ("six-all.sgd", "six-different.sgd"):
        words = ["optimize", "softmax", "--data", smoke.folder / "work" / "smoke" / "common" / file, "--threads", 1, "--json",
                 "--prior-precision", 1]  # the default one takes sd(x), whose divisor counts rows and not copies
        done = subprocess.run([PROGRAM, *map(str, words)], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        modes.append(json.loads(done.stdout))
    assert modes[0]["names"] == modes[1]["names"]
    assert modes[0]["mean"] == pytest.approx(modes[1]["mean"], rel=1e-5, abs=1e-6)


@pytest.mark.skipif(not GNUPLOT, reason="gnuplot is not installed")
@pytest.mark.parametrize("name", paper.MODULES)
def test_pictures(smoke, name):
    """Every picture that the page shows is there, and each SVG has its PNG."""
    out = smoke(name)
    linked = re.findall(r"\]\((paper/[^)]*\.svg)\)", blocks((out / "paper.md").read_text())[name])
    assert linked
    for path in linked:
        assert xml.parse(out / path).getroot().tag.endswith("svg")
        assert (out / path).with_suffix(".png").read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"


@pytest.mark.parametrize("name", paper.MODULES)
def test_no_folder_of_this_machine(smoke, name):
    out = smoke(name)
    text = "".join((out / "paper" / f"{name}.{kind}").read_text() for kind in ("json", "csv"))
    text += blocks((out / "paper.md").read_text())[name]
    for folder in (smoke.folder, smoke.data, SOURCE):
        assert str(folder) not in text


@pytest.mark.parametrize("name", paper.MODULES)
def test_shown_again(smoke, name, tmp_path):
    """Numbers alone are enough for everything else."""
    out = smoke(name)
    (tmp_path / "paper").mkdir()
    shutil.copy(out / "paper" / f"{name}.json", tmp_path / "paper")
    done = perform(name, "--smoke", "--show", "--out", tmp_path, *([] if GNUPLOT else ["--no-pictures"]))
    assert done.returncode == 0, done.stderr
    assert blocks((tmp_path / "paper.md").read_text())[name] == blocks((out / "paper.md").read_text())[name]
    for path in (tmp_path / "paper").iterdir():
        if path.suffix != ".png":
            assert path.read_bytes() == (out / "paper" / path.name).read_bytes(), path.name


def test_continued_after_ctrl_c(smoke, data, tmp_path):
    """Figure 3 right, stopped in its third run and continued, has the numbers of one that was not."""
    whole = json.loads((smoke("fig3-right") / "paper" / "fig3-right.json").read_text())
    words = ["fig3-right", "--smoke", "--jobs", 1, "--out", tmp_path / "out", "--work", tmp_path / "work", "--data-dir", data,
             "--no-pictures"]
    work, hold, slow = tmp_path / "work" / "smoke" / "fig3-right", tmp_path / "hold", tmp_path / "slow"
    hold.touch()
    slow.write_text(f"""#!/bin/sh
case "$*" in *'--out sgfs-d-1.run'*) while [ -e {hold} ]; do sleep 0.05; done;; esac
exec {PROGRAM} "$@"
""")
    slow.chmod(0o755)
    stopped = interrupted(experiment(*words, program=slow), lambda: len(list(work.glob("*.record.json"))) == 2)
    assert stopped.returncode == 75 and "same command goes on" in stopped.stderr, stopped.stderr
    before = {p: p.stat().st_mtime_ns for p in work.glob("*.record.json")}
    assert len(before) == 2
    hold.unlink()
    done = perform(*words, program=slow)
    assert done.returncode == 0 and "(2 more are there already)" in done.stderr, done.stderr
    assert all(p.stat().st_mtime_ns == at for p, at in before.items())
    assert timeless(json.loads((tmp_path / "out" / "paper" / "fig3-right.json").read_text())) == timeless(whole)


@pytest.mark.skipif(not PRETENDED.exists(), reason="no compiler of C++: there is no pretended GPU")
def test_on_a_pretended_gpu(smoke, data, tmp_path):
    """Figure 3 left: SGFS-f there, all else on cores; the page says where each run was made. Chains as short and wild as these
    are the same at their beginning, without a prior, whose share of the matrix fades where its factor is updated."""
    for file in (PROGRAM, PRETENDED):
        shutil.copy(file, tmp_path)
    done = perform("fig3-left", "--smoke", "--device", "cuda", "--jobs", 2, "--out", tmp_path / "out", "--work", tmp_path / "work",
                   "--data-dir", data, "--no-pictures", program=tmp_path / pathlib.Path(PROGRAM).name)
    assert done.returncode == 0, done.stderr
    found, before = (json.loads((folder / "paper" / "fig3-left.json").read_text())
                     for folder in (tmp_path / "out", smoke("fig3-left")))
    assert [r["where"] for r in found["runs"]] == ["GPU" if r["method"] == "sgfs-f" else "core" for r in found["runs"]]
    assert found["made"]["gpu"]["runs"] == 2 and found["made"]["runs"] == before["made"]["runs"]
    for there, here in zip(found["runs"], before["runs"]):
        first, expected = there["curve"]["log_loss"][0], here["curve"]["log_loss"][0]
        assert there["curve"]["iteration"][0] == 1 and (there["lambda"] or first == pytest.approx(expected, rel=1e-5))
        assert (" --device cuda " in there["command"]) == (there["where"] == "GPU")
    text = blocks((tmp_path / "out" / "paper.md").read_text())
    assert "2 on a GPU" in " ".join(text["fig3-left"].split()) and "on the GPU" in text["contents"]
    assert "GPU" not in blocks((smoke("fig3-left") / "paper.md").read_text())["fig3-left"]


# ---- the page

def test_page_is_what_the_numbers_give(tmp_path):
    """docs/paper.md from docs/paper/*.json: nothing in it was typed, nothing is out of date, no picture is missing."""
    (tmp_path / "paper").mkdir()
    for path in (SOURCE / "docs" / "paper").glob("*.json"):
        shutil.copy(path, tmp_path / "paper")
    done = perform(*filter(written, paper.MODULES), "--show", "--no-pictures", "--out", tmp_path)
    assert done.returncode == 0, done.stderr
    page = PAGE.read_text()
    assert (tmp_path / "paper.md").read_text() == page
    for path in (tmp_path / "paper").glob("*.csv"):
        assert path.read_bytes() == (SOURCE / "docs" / "paper" / path.name).read_bytes(), path.name
    for link in re.findall(r"\]\((paper/[^)]*)\)", page):
        assert (PAGE.parent / link).exists(), link


def test_page_has_a_place_for_all():
    assert set(blocks(PAGE.read_text())) == {"contents", *paper.MODULES}


def test_copy_of_the_page(tmp_path):
    """Numbers of another scale are not copied, the copy's own stay, and text is that of the page."""
    page, copy = tmp_path / "page.md", tmp_path / "copy" / "page.md"
    block = "<!-- {0}: made by make paper -->\n{1}<!-- end of {0} -->\n"
    page.write_text("new text\n" + block.format("fig1", "full\n") + block.format("fig2", "full\n"))
    paper.Page(page, copy.parent, "make paper")
    assert copy.read_text() == "new text\n" + block.format("fig1", "") + block.format("fig2", "")
    copy.write_text("old text\n" + block.format("fig1", "quick\n") + block.format("fig2", ""))
    paper.Page(page, copy.parent, "make paper")
    assert copy.read_text() == "new text\n" + block.format("fig1", "quick\n") + block.format("fig2", "")


# ---- words

@pytest.mark.parametrize("words, said", [(["fig9"], "no experiment fig9"), (["fig1", "--jobs", "0"], "--jobs 0"),
                                         (["fig1", "--jobs", "many"], "--jobs"), (["fig1", "--max-time", "0"], "--max-time"),
                                         (["fig1", "--quick", "--smoke"], "not allowed")])
def test_wrong_words(words, said, tmp_path):
    done = perform(*words, "--out", tmp_path / "out", "--work", tmp_path / "work", "--data-dir", tmp_path / "none")
    assert done.returncode == 2 and said in done.stderr, done.stderr


def test_without_data(tmp_path):
    done = perform("fig1", "fig3-right", "--smoke", "--out", tmp_path / "out", "--work", tmp_path / "work",
                   "--data-dir", tmp_path / "none")
    assert done.returncode == 3
    assert done.stderr.count("left out") == 2 and "get-data.sh" in done.stderr and "--data-dir" in done.stderr


def test_without_program(tmp_path):
    done = perform("fig1", "--smoke", "--work", tmp_path, "--out", tmp_path / "out", program=tmp_path / "sgfs")
    assert done.returncode == 1 and "run make first" in done.stderr


# ---- the laboratory, with a stand-in for the program

PRETENDER = """#!{python} -SE
import json, os, pathlib, signal, struct, sys, time
words = sys.argv[1:]
if words == ["--version"]:
    print(os.environ.get("PRETENDED", "sgfs 1"))
elif words[0] == "export":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(75))
    pathlib.Path("exporting").touch()
    while pathlib.Path("hold-export").exists():
        time.sleep(0.01)
elif words[0] == "summary":
    told = json.loads(pathlib.Path(words[1]).read_bytes()[16:])
    del told["machine"]
    print(json.dumps(told))
elif words[0] == "check-grad":
    sys.exit(0 if "PRETENDED_GPU" in os.environ else 2)
elif words[0] == "sample":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(75))
    name = words[1]
    with open("calls", "a") as calls:
        calls.write(name + " " + str(os.getpid()) + " " + str(os.getsid(0)) + "\\n")
    hold, code = pathlib.Path("hold-" + name), pathlib.Path("exit-" + name)
    while hold.exists():
        time.sleep(0.01)
    if code.exists():
        print("something is wrong", file=sys.stderr)
        sys.exit(int(code.read_text()))
    out = pathlib.Path(words[words.index("--resume" if name == "--resume" else "--out") + 1])
    machine = {{"device": "cuda", "blas": "a card"}} if "--device" in words else {{"device": "blas", "blas": "a library"}}
    head = json.dumps({{"value": " ".join(words[:-5]), "params": [1, 2, 3], "machine": machine}}).encode()
    out.write_bytes(bytes(12) + struct.pack("<I", len(head)) + head)
    if "--max-time" in words:
        time.sleep(float(words[words.index("--max-time") + 1]))
        sys.exit(75)
"""


@pytest.fixture
def pretender(tmp_path):
    path = tmp_path / "pretender"
    path.write_text(PRETENDER.format(python=sys.executable))
    path.chmod(0o755)
    return path


@pytest.fixture
def lab(tmp_path, pretender):
    """Makes a laboratory, each time as a new process would."""
    made = []

    def make(**options):
        for one in made:
            one.claim.close()
        args = {"scale": "full", "data_dir": tmp_path / "data", "program": pretender, "max_time": None, "jobs": 2,
                "work": tmp_path / "work", "device": "blas", "gpu_jobs": 1}
        made.append(laboratory.Lab("probe", SimpleNamespace(**{**args, **options})))
        return made[-1]

    return make


@contextlib.contextmanager
def held(lab, *names, limit=15):
    """These runs wait, but not for ever: a test that would hang fails."""
    files = [lab.work / f"hold-{name}" for name in names]
    for file in files:
        file.touch()
    timer = threading.Timer(limit, lambda: [file.unlink(missing_ok=True) for file in files])
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        timer.function()


def calls(lab):
    path = lab.work / "calls"
    return [line.split()[0] for line in path.read_text().splitlines()] if path.exists() else []


def alive(lab):
    """Processes of runs that still live."""
    found = []
    for line in (lab.work / "calls").read_text().splitlines():
        try:
            os.kill(int(line.split()[1]), 0)
            found.append(line)
        except ProcessLookupError:
            pass
    return found


def halves(folder):
    return [str(p) for p in folder.rglob("*.part")]


def until(condition, limit=120):
    end = time.monotonic() + limit
    while not condition():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.01)


def interrupted(command, condition, how=signal.SIGINT):
    """Started as from a terminal, and Ctrl-C for the whole group when the condition holds."""
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True)
    try:
        until(condition)
        os.killpg(process.pid, how)
        out, err = process.communicate(timeout=30)
    finally:
        process.kill()
    return subprocess.CompletedProcess(command, process.returncode, out, err)


def test_run_once(lab):
    jobs = [laboratory.Job(n, [n], after=lambda run: {"size": run.stat().st_size}) for n in "abc"]
    one = lab()
    records = one.samples(jobs)
    assert sorted(calls(one)) == ["a", "b", "c"] and [r["name"] for r in records] == ["a", "b", "c"]
    assert records[0]["summary"] == {"value": "sample a"} and records[0]["measured"]["size"] > 10 and len(one.made) == 3
    again = lab()
    assert again.samples([laboratory.Job(n, [n]) for n in "abc"]) == records
    assert len(calls(again)) == 3 and again.made == one.made


def test_what_makes_a_run_another(lab, tmp_path, pretender, monkeypatch):
    """Words, the program's version, a file that the words name, a run file that is gone, a record that cannot be read, another
    limit of a run that came to its limit (one that came to its end is as good with any), the program itself."""
    file = tmp_path / "rows.csv"
    file.write_text("1\n")
    made = []

    def count(*words, **options):
        one = lab(**options)
        one.samples([laboratory.Job("a", ["a", "--data", file, *words])])
        made.append(len(calls(one)))
        return one

    one = count()
    count()
    file.write_text("1\n2\n")
    count()
    monkeypatch.setenv("PRETENDED", "sgfs 2")
    count()
    (one.work / "a.run").unlink()
    count()
    (one.work / "a.record.json").write_text('{"key"')
    count()
    count()
    count("--alpha", 1)
    count("--alpha", 1, max_time=0.01)
    count("--alpha", 2, max_time=0.01)
    count("--alpha", 2, max_time=0.01)
    count("--alpha", 2, max_time=0.02)
    pretender.write_text(pretender.read_text() + "# built again\n")
    count("--alpha", 2, max_time=0.02)
    assert made == [1, 1, 2, 3, 4, 5, 5, 6, 6, 7, 7, 8, 9]


@pytest.mark.parametrize("words, resumed", [(["a"], True), (["a", "--max-time", "0.1"], False)])
def test_a_run_that_was_interrupted_goes_on(lab, words, resumed):
    """Unless its time is limited: then how far it comes is what is measured."""
    one, job = lab(), laboratory.Job("a", words)
    (one.work / "a.run").write_text("a beginning")
    (one.work / "a.begun.json").write_text(json.dumps({"key": one._key(job), "time": time.time() - 7}))
    record, = one.samples([job])
    assert calls(one) == ["--resume" if resumed else "a"]
    assert (record["wall"] > 6) == resumed and not (one.work / "a.begun.json").exists()


def test_runs_on_a_gpu(lab):
    """Those that pay there, here three side by side, and the others on the cores that are left, at the same time."""
    one = lab(device="cuda", jobs=4, gpu_jobs=3)
    jobs = [laboratory.Job(n, [n], gpu=1.0) for n in "abcde"] + [laboratory.Job(n, [n]) for n in "wxyz"]
    made = []
    with held(one, *"abcde", *"wxyz"):
        worker = threading.Thread(target=lambda: made.extend(one.samples(jobs)))
        worker.start()
        until(lambda: len(calls(one)) == 4)
        assert sorted(calls(one)) == ["a", "b", "c", "w"]
        (one.work / "hold-w").unlink()
        until(lambda: len(calls(one)) == 5)
        assert calls(one)[-1] == "x"
    worker.join()
    assert [r["gpu"] for r in made] == ["a card"] * 5 + [""] * 4 and [laboratory.where(r) for r in made][4:6] == ["GPU", "core"]
    assert [" --device cuda " in r["command"] for r in made] == [True] * 5 + [False] * 4
    how = paper.how(one.made)
    assert how["runs"] == 9 and how["jobs"] == 4 and (how["gpu"]["runs"], how["gpu"]["jobs"], how["gpu"]["machine"]) == (5, 3, "a card")
    assert how["core_seconds"] + how["gpu"]["seconds"] == pytest.approx(sum(r["wall"] for r in made))
    again = lab(device="blas")  # made on a core, a run is another one; those of the cores are there
    again.samples(jobs)
    assert sorted(calls(again)[9:]) == [*"abcde"] and "gpu" not in paper.how(again.made)


def test_where_there_is_a_gpu(lab, monkeypatch):
    """--device auto asks the program."""
    assert lab(device="auto").device == "blas" and not lab(device="blas").gpu
    monkeypatch.setenv("PRETENDED_GPU", "1")
    assert lab(device="auto").device == "cuda" and lab(device="cuda:1").gpu


def test_each(lab):
    assert lab().each(lambda k: k * k, [3, 1, 2]) == [9, 1, 4]
    with pytest.raises(ZeroDivisionError):
        lab().each(lambda k: 1 / k, [1, 0])


def test_run_files_that_are_not_kept(lab):
    one = lab()
    one.samples([laboratory.Job("a", ["a"], keep=False)])
    assert not (one.work / "a.run").exists()
    again = lab()
    again.samples([laboratory.Job("a", ["a"], keep=False)])
    assert len(calls(again)) == 1


def test_failure_stops_the_others(lab):
    """Not when the slow first one has ended, but at once; what is complete is kept, what is under way is not."""
    one = lab(jobs=3)
    (one.work / "exit-c").write_text("3")
    with held(one, "a"), pytest.raises(laboratory.Failed, match="(?s)sgfs sample c .*exit 3.*something is wrong"):
        one.samples([laboratory.Job(n, [n]) for n in "abcde"])
    assert not alive(one) and not halves(one.work)
    records = {p.name[0] for p in one.work.glob("*.record.json")}
    assert "a" not in records and "c" not in records
    (one.work / "exit-c").unlink()
    again = lab()
    again.samples([laboratory.Job(n, [n]) for n in "abcde"])
    assert all(calls(again).count(n) == 1 for n in records)


def test_stopped_while_measuring(lab):
    """What a measure has of a program that was stopped is not taken for a result."""
    one = lab()

    def after(run):
        one.sgfs("export", run.name)
        return {"half": True}

    (one.work / "exit-b").write_text("3")
    with held(one, "export", "b"):
        release = threading.Thread(target=lambda: (until((one.work / "exporting").exists), (one.work / "hold-b").unlink()))
        release.start()
        with pytest.raises(laboratory.Failed, match="sgfs sample b"):
            one.samples([laboratory.Job("a", ["a"], after=after), laboratory.Job("b", ["b"])])
        release.join()
    assert not list(one.work.glob("*.record.json"))


def test_runs_have_sessions_of_their_own(lab):
    """Ctrl-C in a terminal goes to all processes of its session: a run would end with 75, as if its time were up."""
    one = lab()
    one.samples([laboratory.Job("a", ["a"])])
    _, process, session = (one.work / "calls").read_text().split()
    assert process == session


def test_measure_that_fails(lab):
    one = lab()

    def after(run):
        raise ValueError("no such number")

    with pytest.raises(ValueError, match="no such number"):
        one.samples([laboratory.Job("a", ["a"], after=after)])
    assert not list(one.work.glob("*.record.json")) and not halves(one.work)


def test_exit_codes_that_are_results(lab):
    """4 where it is tolerated; 75 at the time limit, and not when somebody else has stopped the process."""
    one = lab()
    (one.work / "exit-a").write_text("4")
    assert one.samples([laboratory.Job("a", ["a"], tolerated=(4,))])[0]["exit"] == 4
    assert one.samples([laboratory.Job("b", ["b", "--max-time", 0.1])])[0]["exit"] == 75
    for words in (["c"], ["c", "--max-time", 100]):
        (one.work / "exit-c").write_text("75")
        with pytest.raises(laboratory.Failed, match="exit 75"):
            lab().samples([laboratory.Job("c", words)])


def test_one_process_in_a_folder(lab, tmp_path):
    one = lab()
    with pytest.raises(laboratory.Failed, match="another process"):
        laboratory.claimed(one.work)


def test_full_disk(lab, monkeypatch):
    """No record then, and nothing left of one."""
    one = lab()

    def full(*_):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(laboratory.os, "replace", full)
        with pytest.raises(OSError, match="No space"):
            one.samples([laboratory.Job("a", ["a"])])
    assert not list(one.work.glob("*.record.json*"))
    assert len(lab().samples([laboratory.Job("a", ["a"])])) == 1


def test_made_once_in_python(lab):
    one = lab()
    found = [one.once("x", key, lambda: value) for key, value in (([1, (2, 3)], 5), ([1, (2, 3)], 6), ([2], 7))]
    assert found == [5, 5, 7]


def test_commands_name_no_folder(lab, tmp_path):
    one = lab()
    (tmp_path / "data" / "mnist").mkdir(parents=True)
    words = ["a", "--data", tmp_path / "data" / "mnist" / "x.gz", "--reference", one.common / "r.json", "--alpha", 0.5]
    command = one.samples([laboratory.Job("a", words)])[0]["command"]
    assert command == "sgfs sample a --data data/mnist/x.gz --reference r.json --alpha 0.5 --out a.run --overwrite"


def test_rounded():
    numpy = importlib.import_module("numpy")
    found = laboratory.rounded({"a": [1.23456789, numpy.float64(1e-9), numpy.int64(3), float("nan")], "b": numpy.arange(2.0),
                                "c": True})
    assert found == {"a": [1.23457, 1e-9, 3, None], "b": [0.0, 1.0], "c": True}
    assert json.loads(json.dumps(found)) == found


# ---- Ctrl-C, from outside

PROBE = """
from lab import Job
def run(lab):
    made = lab.samples([Job(n, [n]) for n in "abcdef"])
    return {"data": "none", "values": [r["summary"]["value"] for r in made]}
def draw(found, pen): pass
def page(found): return " ".join(found["values"])
def rows(found): return ["value"], [[v] for v in found["values"]]
"""
DRIVER = """
import pathlib, sys
sys.path[:0] = [{experiments!r}, {folder!r}]
import paper
paper.MODULES, paper.ALIASES = {{"probe": "probe"}}, {{"all": ["probe"]}}
paper.ROOT = pathlib.Path({folder!r})
sys.exit(paper.main())
"""


class Probe:
    """An experiment of six runs, in a repository of its own."""

    def __init__(self, folder, program):
        self.folder, self.program = folder / "repository", program
        (self.folder / "docs").mkdir(parents=True)
        self.page = self.folder / "docs" / "paper.md"
        self.page.write_text("".join(f"<!-- {n}: made by make paper -->\n<!-- end of {n} -->\n" for n in ("contents", "probe")))
        (self.folder / "probe.py").write_text(PROBE)
        (self.folder / "driver.py").write_text(DRIVER.format(experiments=str(EXPERIMENTS), folder=str(self.folder)))

    def command(self, work):
        return experiment("--jobs", 2, "--no-pictures", "--work", work, program=self.program, script=self.folder / "driver.py")

    def numbers(self):
        return json.loads((self.folder / "docs" / "paper" / "probe.json").read_text())


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM])
def test_interrupted(tmp_path, pretender, how):
    """Exit code 75; complete runs kept, no half record, no process left; the same command then makes the others only, and the
    numbers are those of a run that nobody stopped."""
    probe, work = Probe(tmp_path, pretender), tmp_path / "work" / "full" / "probe"
    work.mkdir(parents=True)
    here = SimpleNamespace(work=work)
    with held(here, "d", "e"):
        stopped = interrupted(probe.command(tmp_path / "work"),
                              lambda: len(calls(here)) == 5 and len(list(work.glob("*.record.json"))) == 3, how)
    assert stopped.returncode == 75 and "goes on from here" in stopped.stderr and "Traceback" not in stopped.stderr
    assert not alive(here) and not halves(tmp_path)
    assert {p.name[0] for p in work.glob("*.record.json")} == set("abc")
    assert not (probe.folder / "docs" / "paper" / "probe.json").exists()
    done = subprocess.run(probe.command(tmp_path / "work"), capture_output=True, text=True)
    assert done.returncode == 0 and "3 runs (3 more are there already)" in done.stderr
    assert sorted(calls(here)) == list("abcddeef")
    found, text = probe.numbers(), blocks(probe.page.read_text())["probe"].splitlines()[0]
    assert subprocess.run(probe.command(tmp_path / "elsewhere"), capture_output=True).returncode == 0
    assert timeless(probe.numbers()) == timeless(found)
    assert blocks(probe.page.read_text())["probe"].splitlines()[0] == text


def test_failure_is_told(tmp_path, pretender):
    probe, work = Probe(tmp_path, pretender), tmp_path / "work" / "full" / "probe"
    work.mkdir(parents=True)
    (work / "exit-b").write_text("3")
    done = subprocess.run(probe.command(tmp_path / "work"), capture_output=True, text=True)
    assert done.returncode == 1
    assert re.search("(?s)probe: failed: sgfs sample b .*exit 3.*something is wrong", done.stderr)
    assert "Traceback" not in done.stderr


# ---- get-data.sh

NAMES = ["mnist/train-images-idx3-ubyte.gz", "mnist/train-labels-idx1-ubyte.gz", "mnist/t10k-images-idx3-ubyte.gz",
         "mnist/t10k-labels-idx1-ubyte.gz", "kdd99/kddcup.data_10_percent.gz"]


@pytest.fixture
def fetch(tmp_path, data):
    """The script with the checksums of the data in miniature, and no address outside this machine."""
    text = re.sub(r"https?://[\w./-]+", f"file://{tmp_path}/nowhere", (EXPERIMENTS / "get-data.sh").read_text())
    for name in NAMES:
        place = pathlib.Path(name).name
        sum256 = hashlib.sha256((data / name).read_bytes()).hexdigest()
        text, count = re.subn(rf"({re.escape(place)}) [0-9a-f]{{64}}", rf"\1 {sum256}", text)
        assert count == 1, name
    (tmp_path / "get-data.sh").write_text(text)

    def call(*words):
        return subprocess.run(["sh", tmp_path / "get-data.sh", *map(str, words)], capture_output=True, text=True)

    return call


def everything(folder):
    return {str(p.relative_to(folder)) for p in folder.rglob("*") if p.is_file()}


@pytest.mark.skipif(shutil.which("curl") is None, reason="curl is not installed")
def test_get_data(fetch, data, tmp_path):
    to = tmp_path / "to"
    missing = fetch("--check", to)
    assert missing.returncode == 3 and missing.stderr.count("missing\n") == 5 and not to.exists()
    done = fetch("--mirror", f"file://{data}", to)
    assert done.returncode == 0 and everything(to) == set(NAMES), done.stderr
    assert fetch("--check", to).returncode == 0
    again = fetch(to)
    assert again.returncode == 0 and "fetching" not in again.stdout


@pytest.mark.skipif(shutil.which("curl") is None, reason="curl is not installed")
def test_get_data_wrong(fetch, data, tmp_path):
    """A mirror with another file, one without it, and a file that is wrong already: told apart; no half file, nothing
    overwritten."""
    mirror, to = tmp_path / "mirror", tmp_path / "to"
    shutil.copytree(data, mirror)
    (mirror / NAMES[0]).write_bytes(b"not found, said with code 200")
    (mirror / NAMES[1]).unlink()
    (to / "mnist").mkdir(parents=True)
    (to / NAMES[2]).write_bytes(b"mine")
    done = fetch("--mirror", f"file://{mirror}", to)
    assert done.returncode == 3 and everything(to) == set(NAMES[2:])
    assert (to / NAMES[2]).read_bytes() == b"mine"
    assert "another file" in done.stderr and "did not work" in done.stderr
    for name, said in ((NAMES[0], "by hand"), (NAMES[1], "by hand"), (NAMES[2], "Move it away")):
        assert re.search(rf"{re.escape(str(to / name))}: .*{said}", done.stderr), name


def test_get_data_full_file(fetch, tmp_path):
    """Only where it is asked for."""
    assert "kddcup.data.gz" not in fetch("--check", tmp_path / "to").stderr
    assert "kddcup.data.gz: missing" in fetch("--check", "--full", tmp_path / "to").stderr


@pytest.mark.parametrize("words", [["--bad"], ["a", "b"], ["--mirror"]])
def test_get_data_words(fetch, words):
    done = fetch(*words)
    assert done.returncode == 2 and "get-data.sh [--check]" in done.stderr


@pytest.mark.skipif(shutil.which("shellcheck") is None, reason="shellcheck is not installed")
def test_scripts_are_clean():
    done = subprocess.run(["shellcheck", *map(str, EXPERIMENTS.glob("*.sh"))], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout
