# SPDX-License-Identifier: MIT
"""sgfs report and sgfs plot: pages and pictures, from runs of every shape, and what is refused."""
import os
import re
import shutil
import subprocess
from html.parser import HTMLParser
from xml.dom import minidom

import numpy as np
import pytest

from cli_program import SHORT, lines, quarters, write

USAGE, IO, RUNFILE = 2, 5, 6
needs_gnuplot = pytest.mark.skipif(shutil.which("gnuplot") is None, reason="gnuplot is not installed")
EVIL = ['<script>alert(1)</script>', '"; system("touch pwned"); "', "'; system 'touch pwned'", "`touch pwned`",
        "a'b\"c\\", "x&y<z>", "</title><h1>", "{x^2}_a@b", "$d0", "über 日本"]


def fails(site, code, sentence, *words):
    done = site(*words)
    assert done.returncode == code and sentence in done.stderr, done.stderr


class Page(HTMLParser):
    """What a browser would see: tags with their attributes, and the text in cells and headings."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.ids, self.inside, self.text = [], [], [], {}
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        self.ids += [value for name, value in attrs if name == "id"]
        self.inside = [tag]

    def handle_data(self, data):
        if self.inside and data.strip():
            self.text.setdefault(self.inside[-1], []).append(data.strip())

    def count(self, tag):
        return sum(t == tag for t, _ in self.tags)


@pytest.fixture(scope="module")
def site(shared):
    x, y = quarters()
    write(shared.folder / "good.csv", lines(x, y))
    shared.ok("sample", "logistic", "--data", "good.csv", *SHORT, "--out", "fit.run", "-q")
    shared.ok("sample", "logistic", "--data", "good.csv", "--sampler", "sgld", *SHORT, "--out", "sgld.run", "-q")
    return shared


@pytest.fixture(scope="module")
def page(site):
    site.ok("report", "fit.run", "--out", "page.html", "-q")
    return (site.folder / "page.html").read_text()


def test_intervals_are_those_of_the_summary(site):
    """--interval means the same to both; a table of the page has the four digits of its ends."""
    words = ("fit.run", "--interval", "0.5,hdi", "--overwrite", "-q")
    site.ok("report", *words, "--out", "half.html")
    text = (site.folder / "half.html").read_text()
    assert "50 % shortest interval" in text
    rows = site.ok("summary", *words[:3], "--csv").stdout.split("\n")
    low, high = (rows[0].split(",").index(name) for name in ("hdi low", "hdi high"))
    for row in rows[1:3]:
        cells = row.split(",")
        assert f"{float(cells[low]):.4g}" in text and f"{float(cells[high]):.4g}" in text
    fails(site, USAGE, '"2" is no interval', "report", "fit.run", "--interval", "2", "--out", "two.html")


@needs_gnuplot
def test_a_page_has_its_parts_and_every_picture_has_an_alternative_text(page):
    parsed = Page(page)
    assert {"effects", "verdict", "effects-of", "parameters", "sampling", "run"} <= set(parsed.ids)
    assert len(parsed.ids) == len(set(parsed.ids))
    pictures = [attrs for tag, attrs in parsed.tags if tag == "svg"]
    assert len(pictures) >= 15
    assert all(len(p["aria-label"]) > 20 and p["role"] == "img" for p in pictures)
    assert parsed.count("figure") == len(pictures) and "odds ratio" in page
    for svg in re.findall(r"<svg .*?</svg>", page, re.S):
        minidom.parseString(svg)  # well-formed


def test_a_page_needs_no_other_file(page):
    assert not re.search(r"""(?:src|href)\s*=\s*["'](?!#|data:)""", page)
    assert not re.search(r"url\(|@import|https?://(?!www\.w3\.org/)", page)


def test_a_page_says_how_to_make_the_run_again(site, page):
    command = re.search(r"<pre>(sgfs sample .*?)</pre>", page).group(1)
    words = command.replace("&#39;", "'").split()
    assert words[:3] == ["sgfs", "sample", "logistic"]
    site.ok(*words[1:], "-q", "--allow-unconverged")
    one, two = (site.ok("summary", f, "--json").stdout for f in ("fit.run", "again.run"))
    assert re.search(r'"params".*', one, re.S).group() == re.search(r'"params".*', two, re.S).group()


@needs_gnuplot
def test_names_from_files_are_text(sgfs):
    """In the page, in gnuplot's script and in the pictures."""
    x = np.random.default_rng(3).normal(size=(60, len(EVIL)))
    head = ",".join('"' + name.replace('"', '""') + '"' for name in EVIL) + ",y"
    rows = [",".join(f"{v:.4f}" for v in row) + f",{int(row[0] > 0.3 * k)}" for k, row in enumerate(x)]
    write(sgfs.folder / "evil.csv", [head, *rows])
    sgfs.ok("sample", "logistic", "--data", "evil.csv", *SHORT, "--out", "evil.run", "-q")
    sgfs.ok("report", "evil.run", "--pictures", "11", "--out", "evil.html", "-q")
    text = (sgfs.folder / "evil.html").read_text()
    parsed = Page(text)
    assert parsed.count("script") == 1 and parsed.count("h1") == 1 and "alert(1)</script>" not in text
    assert not (sgfs.folder / "pwned").exists()
    cells = parsed.text["th"] + parsed.text["h3"] + parsed.text["text"]
    for name in EVIL:
        assert name in " ".join(cells), name
    for kind in ("forest", "pairs", "density"):
        for ending in ("svg", "png", "pdf"):
            names = EVIL[1] + "," + EVIL[2]
            sgfs.ok("plot", "evil.run", kind, "--params", names, "--out", f"{kind}.{ending}", "-q")
    sgfs.ok("plot", "evil.run", "forest", "--out", "all.svg", "-q")
    assert "; system \u2019touch pwned\u2019" in minidom.parse(str(sgfs.folder / "all.svg")).documentElement.toxml()
    assert not (sgfs.folder / "pwned").exists()


@needs_gnuplot
@pytest.mark.parametrize("ending, magic", [("svg", b"<svg "), ("png", b"\x89PNG"), ("pdf", b"%PDF")])
def test_each_kind_of_picture_is_a_file_of_its_own(site, ending, magic):
    for kind in ("trace", "forest", "time", "spectrum", "pairs"):
        name = f"{kind}.{ending}"
        site.ok("plot", "fit.run", kind, "--out", name, "-q")
        content = (site.folder / name).read_bytes()
        assert content.startswith(magic) and len(content) > 1000
        if ending == "svg":
            minidom.parseString(content)  # well-formed, or no browser shows it


@needs_gnuplot
def test_a_picture_without_a_file_is_in_characters(site):
    for kind in ("trace", "density", "rank", "autocorrelation", "mean", "forest"):
        text = site.ok("plot", "fit.run", kind).stdout
        shown = text.splitlines()
        assert 8 < len(shown) <= 24 and max(map(len, shown)) <= 80, kind
        assert text.isprintable() or "\x1b" not in text


@needs_gnuplot
def test_each_effect_has_a_line_of_its_own_in_characters(sgfs):
    x = np.random.default_rng(4).normal(size=(200, 24)) + 1
    names = [f"column_{k}" for k in range(24)]
    write(sgfs.folder / "wide.csv", [",".join([*names, "y"]), *(",".join(f"{v:.3f}" for v in [*row, row[0] * row[1]])
                                                                for row in x)])
    sgfs.ok("sample", "linear", "--data", "wide.csv", "--target", "y", *SHORT, "--out", "wide.run", "-q")
    shown = [line.split("+|")[0].strip() for line in sgfs.ok("plot", "wide.run", "forest").stdout.splitlines()
             if "+|" in line]
    assert [name for name in shown if name] == [*names, "log_sigma"]


@needs_gnuplot
def test_several_runs_stand_side_by_side(site):
    site.ok("sample", "logistic", "--data", "good.csv", "--out", "exact.run", "-q")
    site.ok("report", "exact.run", "sgld.run", "--out", "two.html", "-q")
    text = (site.folder / "two.html").read_text()
    assert 'id="samplers"' in text and 'class="error wide"' in text
    site.ok("plot", "exact.run", "sgld.run", "error", "--out", "error.svg", "-q")
    fails(site, USAGE, "There is no picture \"error\" of this run", "plot", "fit.run", "error")


def test_what_cannot_be_is_refused(site):
    (site.folder / "there.html").write_text("mine")
    fails(site, USAGE, "exists already", "report", "fit.run", "--out", "there.html")
    fails(site, USAGE, "is an input of the same command", "report", "fit.run", "--out", "fit.run", "--overwrite")
    fails(site, USAGE, 'There is no picture "traces"; there are', "plot", "fit.run", "traces")
    fails(site, USAGE, 'No parameter has the name "c*"', "plot", "fit.run", "trace", "--params", "c*")
    fails(site, USAGE, "ends in .svg, .png or .pdf", "plot", "fit.run", "trace", "--out", "x.jpg")
    fails(site, RUNFILE, "good.csv", "report", "good.csv", "--out", "x.html")
    fails(site, IO, "cannot write there", "report", "fit.run", "--out", "nowhere/x.html")
    assert (site.folder / "there.html").read_text() == "mine" and not (site.folder / "x.html").exists()


def test_a_page_without_a_name_has_the_first_runs(sgfs, site):
    shutil.copy(site.folder / "fit.run", sgfs.folder / "fit.run")
    for made in "fit.html", "fit-2.html":
        assert f"-> {made}\n" in sgfs.ok("report", "fit.run").stderr
        assert (sgfs.folder / made).exists()


def test_runs_that_were_cut_short(sgfs, site):
    """One draw makes a page, which asks for as many as make sense; a run without any is named."""
    one = ("--draws", "1", "--chains", "1", "--sampler", "nuts", "--warmup", "20", "--allow-unconverged", "-q")
    sgfs.ok("sample", "logistic", "--data", site.folder / "good.csv", *one, "--out", "one.run")
    told = sgfs.ok("summary", "one.run").stdout
    assert "1 draw a chain is too few" in told and "--resume one.run --draws 400\n" in told, told
    sgfs.ok("report", "one.run", "--out", "one.html", "-q")
    page = (sgfs.folder / "one.html").read_text()
    assert "1 draw a chain is too few" in page and ("milliseconds<" in page or shutil.which("gnuplot") is None)
    assert page.count("<h3>") == 1 and "Pairs, and all" in page  # no heading stands above nothing
    long = ("--draws", "1000000", "--warmup", "1000000", "--sampler", "nuts", "--max-time", "0.5", "-q")
    assert sgfs("sample", "logistic", "--data", site.folder / "good.csv", *long, "--out", "none.run").returncode == 75
    fails(sgfs, 3, "none.run: The run (stopped early) has no draws", "report", "one.run", "none.run", "--out", "x.html")


def other_path(folder, script=None):
    """A PATH on which gnuplot is missing, or is this script."""
    bin = folder / "bin"
    shutil.rmtree(bin, ignore_errors=True)
    bin.mkdir()
    if script is not None:
        (bin / "gnuplot").write_text(script)
        (bin / "gnuplot").chmod(0o755)
    return {**os.environ, "PATH": str(bin)}


def run(site, env, *words):
    from cli_program import PROGRAM
    return subprocess.run([PROGRAM, *words], cwd=site.folder, env=env, capture_output=True, text=True)


@pytest.mark.parametrize("script, sentence", [
    (None, "Pictures are drawn by gnuplot, which is not installed"),
    ("#!/bin/sh\necho 'line 3: broken' >&2\nexit 4\n", "gnuplot failed with exit code 4: line 3: broken."),
    ("#!/bin/sh\nkill -9 $$\n", "gnuplot was ended by signal 9"),
    ("#!/bin/sh\necho '@@sgfs 0'; echo nonsense\n", "gnuplot printed something else than an SVG."),
])
def test_without_gnuplot_a_page_has_no_pictures_and_a_picture_is_an_error(site, script, sentence):
    env = other_path(site.folder, script)
    done = run(site, env, "report", "fit.run", "--out", "bare.html", "--overwrite", "-q")
    assert done.returncode == 0 and sentence in done.stderr
    text = (site.folder / "bare.html").read_text()
    assert sentence in text and "<svg" not in text and 'id="effects"' in text
    done = run(site, env, "plot", "fit.run", "trace", "--out", "bare.svg")
    assert done.returncode == IO and sentence in done.stderr and not (site.folder / "bare.svg").exists()
