# SPDX-License-Identifier: MIT
"""The documentation is readable and true, as far as a program can tell.

No line of prose passes 100 columns; every relative link, its anchor included, leads somewhere; every
file and every internal function that a page names exists. Each check is a function that returns what
is wrong, and the last tests hand each of them something wrong.
"""

import os
import re
from pathlib import Path

import pytest

ROOT = Path(os.environ.get("SGFS_SOURCE", Path(__file__).resolve().parents[2]))
WIDTH = 100
TREE = "bench|cli|cmake|docs|examples|experiments|fuzz|include|src|tests"


def pages():
    """Every page of the repository."""
    found = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "tests").rglob("*.md")]
    return sorted(p.relative_to(ROOT).as_posix() for p in found)


def read(page):
    return (ROOT / page).read_text(encoding="utf-8")


def is_code(lines):
    """For each line whether it stands in a fenced or an indented block of code."""
    fenced = indented = False
    before = ""
    for line in lines:
        fence = line.lstrip().startswith("```")
        indented = line.startswith("    ") and (indented or not before.strip())
        yield fence or fenced or indented
        fenced ^= fence
        before = line


def prose(text):
    """(number, line) of every line that is neither code nor part of a table."""
    lines = text.split("\n")
    for number, (line, code) in enumerate(zip(lines, is_code(lines)), 1):
        if not code and not line.lstrip().startswith("|"):
            yield number, line


# ---- lines

def too_long(text):
    """Lines of prose over the width. A table's row and a line of code cannot be wrapped; neither can a line
    that is one picture or one address."""
    alone = re.compile(r"\s*(!\[[^\]]*\]\([^)]*\)|<?https?://\S+)\s*$")
    return [f"line {n}: {len(line)} columns" for n, line in prose(text)
            if len(line) > WIDTH and not alone.match(line)]


@pytest.mark.parametrize("page", pages())
def test_prose_is_wrapped(page):
    assert too_long(read(page)) == []


# ---- links

def anchors(text):
    """What GitHub makes of the headings of a page."""
    seen, found = {}, set()
    for _, line in prose(text):
        heading = re.match(r"#+ +(.*)", line)
        if not heading:
            continue
        words = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading[1]).strip().lower()
        name = re.sub(r"[^\w\- ]", "", words).replace(" ", "-")
        seen[name] = seen.get(name, -1) + 1
        found.add(name if seen[name] == 0 else f"{name}-{seen[name]}")
    return found


def links(text):
    """The targets of the links and pictures of a page; code is left out."""
    lines = text.split("\n")
    plain = "\n".join("" if code else line for line, code in zip(lines, is_code(lines)))
    return re.findall(r"\]\(([^)\s]+)\)", re.sub(r"`[^`]*`", "``", plain))


def broken_links(page, text):
    wrong = []
    for link in links(text):
        if re.match(r"[a-z]+:", link):
            continue
        name, _, anchor = link.partition("#")
        target = (ROOT / page).parent / name if name else ROOT / page
        if not target.exists():
            wrong.append(link)
        elif anchor and anchor not in anchors(text if not name else target.read_text(encoding="utf-8")):
            wrong.append(link)
    return wrong


@pytest.mark.parametrize("page", pages())
def test_links_lead_somewhere(page):
    assert broken_links(page, read(page)) == []


# ---- names of files and functions

def missing_paths(text):
    """Paths from the root of the repository that do not exist. NAME and stars stand for any file."""
    wrong = []
    for path in re.findall(rf"(?<![\w/.-])((?:{TREE})/[\w./*-]*)", text):
        path = path.rstrip(".")
        if re.search(r"NAME|MODEL", path) or path.startswith("docs/paper/") or "*" in path:
            path = path[:max(path.rfind("/", 0, re.search(r"NAME|MODEL|\*|$", path).start()), 0)]
        if not (ROOT / path).exists():
            wrong.append(path)
    return wrong


@pytest.mark.parametrize("page", [p for p in pages() if p != "CHANGELOG.md"])
def test_paths_exist(page):
    assert missing_paths(read(page)) == []


def sources():
    """name of every C file -> its text, of the library and of the tests."""
    found = [p for f in ("src", "include", "cli", "examples", "tests", "bench", "fuzz")
             for p in (ROOT / f).rglob("*.[ch]")]
    return {p.name: p.read_text(encoding="utf-8") for p in found}


def missing_names(text, code):
    """`file.c`, `sgfs_...` and `sgfsi_...` that the sources do not have. A page may show how to write a new
    kind: names that its own code defines count."""
    own = "\n".join(re.findall(r"```c\n(.*?)```", text, re.S))
    words = set(re.findall(r"\w+", "\n".join(code.values()) + own))
    files = [f for f in re.findall(r"`(?:[\w/]*/)?(\w+\.[ch])`", text) if "NAME" not in f]
    names = re.findall(r"`(sgfsi?_\w+)(?:\(\))?`", text)
    names = [n for n in names if not re.search("NAME|_noun|_$", n)]
    wrong = [f for f in files if f not in code and f"/* {f}:" not in own]
    return wrong + [n for n in names if n not in words]


@pytest.mark.parametrize("page", [p for p in pages() if p != "CHANGELOG.md"])
def test_files_and_functions_exist(page):
    assert missing_names(read(page), sources()) == []


# ---- the checks can fail

def test_long_prose_is_found_and_code_is_not():
    long = "word " * 25
    assert too_long(f"short\n{long}\n") == ["line 2: 125 columns"]
    assert too_long(f"* item\n    {long}\n") != []
    assert too_long(f"text\n\n    {long}\n\n```\n{long}\n```\n| {long} |\n") == []


def test_broken_links_are_found():
    page = "docs/samplers.md"
    text = "# One\n\n## A `b`: c\n[a](#a-b-c) [b](#a-b) [c](math.md#1-notation) [d](math.md#none) [e](nowhere.md)\n"
    assert broken_links(page, text) == ["#a-b", "math.md#none", "nowhere.md"]
    assert broken_links(page, "`[a](b)` and https://x.org/\n\n    [a](b)\n") == []


def test_missing_files_and_functions_are_found():
    assert missing_paths("`src/run/run.c`, `src/base/err.c`, tests/no/such.") == ["src/run/run.c", "tests/no/such"]
    assert missing_paths("`src/model/NAME.c`, `src/nowhere/NAME.c`") == ["src/nowhere"]
    code = {"err.c": "int sgfsi_fail(void);"}
    assert missing_names("`err.c`, `base/err.c`, `sgfsi_fail`, `sgfsi_`", code) == []
    assert missing_names("`again.c`, `sgfsi_told`, `sgfs_x()`", code) == ["again.c", "sgfsi_told", "sgfs_x"]
    assert missing_names("```c\n/* toy.c: */\nsgfs_toy\n```\n`toy.c` has `sgfs_toy`", code) == []
