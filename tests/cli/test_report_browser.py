# SPDX-License-Identifier: MIT
"""Pages of sgfs report in a real browser: headless Chromium, at the width of a desk and of a phone.

A copy of the page is opened with a script at its end that tries what a person would, and leaves what it saw in the
document, which Chromium then prints. Screenshots are kept in report-shots/ of the build folder."""
import html
import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from cli_program import quarters, lines, write

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
SHOTS = Path(os.environ.get("SGFS_BUILD", ".")) / "report-shots"
pytestmark = pytest.mark.skipif(CHROMIUM is None or shutil.which("gnuplot") is None,
                                reason="chromium or gnuplot is not installed")

PROBE = """
const seen = {width: innerWidth, scroll: document.documentElement.scrollWidth, night:
  matchMedia('(prefers-color-scheme: dark)').matches, errors: []};
addEventListener('error', event => seen.errors.push(event.message));
const names = () => [...document.querySelectorAll('#effects tbody tr')].filter(row => !row.hidden)
  .map(row => row.cells[0].textContent);
const numbers = k => [...document.querySelectorAll('#effects tbody tr')].map(row =>
  parseFloat(row.cells[k].textContent));
const head = k => document.querySelectorAll('#effects thead th')[k];
seen.before = names();
seen.ratios = Math.max(...[...document.querySelectorAll('#effects tr')].map(row =>
  row.cells[5].getBoundingClientRect().right));
seen.coefficient = head(1).getBoundingClientRect().width;
head(1).querySelector('button').click();
seen.down = [head(1).getAttribute('aria-sort'), numbers(1)];
head(1).querySelector('button').click();
seen.up = [head(1).getAttribute('aria-sort'), numbers(1)];
head(0).querySelector('button').click();
seen.by_name = names();
const field = document.getElementById('filter');
field.value = WORD;
field.dispatchEvent(new Event('input'));
seen.filtered = names();
seen.sections = [...document.querySelectorAll('section[data-name]')].filter(part => !part.hidden)
  .map(part => part.dataset.name);
seen.count = document.getElementById('count').textContent;
field.value = '';
field.dispatchEvent(new Event('input'));
seen.after = names().length;
for (const part of document.querySelectorAll('details')) part.open = true;
seen.pictures = [...document.querySelectorAll('figure svg')].map(svg => {
  const box = svg.getBBox(), place = svg.getBoundingClientRect();
  return {label: svg.getAttribute('aria-label'), width: box.width, height: box.height, shown: place.width,
          lines: svg.querySelectorAll('path,polygon,circle').length,
          inside: svg.parentElement.className.includes('wide') || place.right <= innerWidth};
});
seen.scroll_open = document.documentElement.scrollWidth;
seen.ink = getComputedStyle(document.querySelector("figure.trace [stroke='#0072b2']")).stroke;
parent.postMessage(JSON.stringify(seen), '*');
"""
# Chromium's own window is at least 500 wide: the page stands in a frame, which may be as narrow as a phone.
FRAME = """<!DOCTYPE html><meta name="color-scheme" content="light dark"><style>body{{margin:0}}iframe{{border:0;display:block}}</style>
<iframe width="{width}" height="{height}" src="{page}"></iframe><pre id="seen"></pre>
<script>addEventListener('message', event => document.getElementById('seen').textContent = event.data)</script>"""


def browse(folder, *words):
    done = subprocess.run([CHROMIUM, "--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars",
                           "--disable-dev-shm-usage", f"--user-data-dir={folder}/profile", "--enable-logging=stderr",
                           "--virtual-time-budget=3000", *words], capture_output=True, text=True, timeout=240)
    assert done.returncode == 0, done.stderr
    console = re.findall(r".*CONSOLE.*", done.stderr)
    assert console == []
    return done.stdout


def framed(folder, page, width, height):
    frame = folder / f"frame-{page}"
    frame.write_text(FRAME.format(width=width, height=height, page=page))
    return f"file://{frame}"


def look(folder, page, width, word, *words):
    """What the probe saw. The console, where errors are told, has to be empty."""
    copy = folder / f"probed-{page}"
    probe = PROBE.replace("WORD", json.dumps(word))
    copy.write_text((folder / page).read_text().replace("</body>", f"<script>{{{probe}}}</script></body>"))
    dom = browse(folder, "--window-size=1400,900", "--dump-dom", *words, framed(folder, copy.name, width, 900))
    return json.loads(html.unescape(re.search(r'<pre id="seen">(.*?)</pre>', dom, re.S).group(1)))


def shoot(folder, page, name, width, height, *words):
    SHOTS.mkdir(exist_ok=True)
    browse(folder, f"--window-size={max(width, 500)},{height}", f"--screenshot={SHOTS / name}", *words,
           framed(folder, page, width, height))
    assert (SHOTS / name).read_bytes().startswith(b"\x89PNG")


@pytest.fixture(scope="module")
def pages(shared):
    """A plain one, and one with a hostile column, words, and two runs."""
    x, y = quarters()
    write(shared.folder / "good.csv", lines(x, y, ("age", "<script>alert('no')</script>", "y")))
    shared.ok("sample", "logistic", "--data", "good.csv", "--out", "fit.run", "-q")
    shared.ok("sample", "logistic", "--data", "good.csv", "--sampler", "sgld", "--draws", "2000", "--out", "sgld.run",
              "-q", "--allow-unconverged")
    shared.ok("report", "fit.run", "--test-data", "good.csv", "--out", "fit.html", "-q")
    shared.ok("report", "fit.run", "sgld.run", "--out", "two.html", "-q")
    return shared.folder


@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("page, most", [("fit.html", 22), ("two.html", 20)])
def test_a_page_works_and_fits(pages, page, most, width):
    seen = look(pages, page, width, "ag")
    assert seen["errors"] == [] and seen["width"] == width
    assert seen["scroll"] <= width and seen["scroll_open"] <= width  # the page itself does not scroll sideways
    assert 100 < seen["ratios"] <= width  # odds ratios and their intervals are seen without scrolling,
    assert (seen["coefficient"] == 0) == (width == 390)  # on a phone in place of the coefficients
    assert sorted(seen["before"]) == ["<script>alert('no')</script>", "age", "intercept"]
    assert seen["down"] == ["descending", sorted(seen["down"][1], reverse=True)]
    assert seen["up"] == ["ascending", sorted(seen["up"][1])]
    assert seen["by_name"] == ["<script>alert('no')</script>", "age", "intercept"]
    assert seen["filtered"] == ["age"] and seen["sections"] == ["age"]
    assert seen["count"] == "1 of 3 parameters" and seen["after"] == 3
    assert len(seen["pictures"]) >= most
    for picture in seen["pictures"]:
        assert picture["inside"] and picture["shown"] > 200, picture
        assert picture["width"] > 150 and picture["height"] > 100 and picture["lines"] > 5, picture


def test_day_and_night(pages):
    """Lines are drawn in other colours on dark ground; pictures of both are kept."""
    night = ("--blink-settings=preferredColorScheme=0", "--force-dark-mode")
    day, dark = look(pages, "fit.html", 1280, "a"), look(pages, "fit.html", 1280, "a", *night)
    assert not day["night"] and dark["night"] and day["ink"] != dark["ink"]
    shoot(pages, "fit.html", "desk.png", 1280, 3600)
    shoot(pages, "fit.html", "desk-night.png", 1280, 3600, *night)
    shoot(pages, "two.html", "phone.png", 390, 3600)


@pytest.mark.parametrize("page", ["fit.html", "two.html"])
def test_the_page_is_valid(pages, page):
    html5lib = pytest.importorskip("html5lib")
    parser = html5lib.HTMLParser()
    parser.parse((pages / page).read_text())
    assert parser.errors == []
