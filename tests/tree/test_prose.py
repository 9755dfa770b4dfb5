# SPDX-License-Identifier: MIT
"""The documentation is readable and true, as far as a program can tell.

No line of prose passes 100 columns. Every relative link, its anchor included, leads somewhere. Every
file and every function that a page names exists. The reading path of CONTRIBUTING.md has at most
2,500 lines. Every word of docs/words.md has its place in alphabetical order and is linked from the
page that a newcomer meets it on first. Each check is a function that returns what is wrong, and the
last tests hand each of them something wrong.
"""

import os
import re
import sys
from pathlib import Path

import pytest

ROOT = Path(os.environ.get("SGFS_SOURCE", Path(__file__).resolve().parents[2]))
WIDTH, PATH_LINES = 100, 2500
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
    """Lines of prose over the width. The row of a table and a line of code cannot be wrapped, nor can
    a line that is one picture or one address."""
    alone = re.compile(r"\s*(!\[[^\]]*\]\([^)]*\)|<?https?://\S+)\s*$")
    return [f"line {n}: {len(line)} columns" for n, line in prose(text)
            if len(line) > WIDTH and not alone.match(line)]


@pytest.mark.parametrize("page", pages())
def test_prose_is_wrapped(page):
    assert too_long(read(page)) == []


def test_generated_text_is_wrapped_by_its_generator():
    """experiments/text.py wraps what it writes into a page: paragraphs and lists, long commands; tables,
    code and headings stay, and no line begins with what would be a marker of a list."""
    sys.path.insert(0, str(ROOT / "experiments"))
    from text import wrapped
    row, code = "| " + "cell " * 30 + "|", "    " + "x = 1; " * 20
    page = wrapped(f"# {'long ' * 30}\n\n{'word ' * 18}`a b` - 3 words\nmore\n\n* {'item ' * 30}\n\n{row}\n\n{code}\n\n"
                   f"    sgfs {'--flag ' * 30}")
    lines = page.split("\n")
    assert row in lines and code in lines and too_long(page) == [f"line 1: {len(lines[0])} columns"]
    assert [len(line) > WIDTH for line in lines].count(True) == 3
    assert [line for line in lines if line.lstrip().startswith("- ")] == []
    assert lines[-2].endswith(" \\") and not lines[-1].endswith("\\")
    assert " ".join(page.replace("\\", "").split()).count("item") == 30
    assert wrapped(page) == page


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


def plain(text):
    """A page without its code."""
    lines = text.split("\n")
    kept = "\n".join("" if code else line for line, code in zip(lines, is_code(lines)))
    return re.sub(r"`[^`]*`", "``", kept)


def links(text):
    """The targets of the links and pictures of a page."""
    return re.findall(r"\]\(([^)\s]+)\)", plain(text))


def broken_links(page, text):
    wrong = []
    for link in links(text):
        if re.match(r"[a-z]+:", link):
            continue
        name, _, anchor = link.partition("#")
        target = (ROOT / page).parent / name if name else ROOT / page
        if not target.exists():
            wrong.append(link)
        elif anchor and anchor not in anchors(target.read_text(encoding="utf-8") if name else text):
            wrong.append(link)
    return wrong


@pytest.mark.parametrize("page", pages())
def test_links_lead_somewhere(page):
    assert broken_links(page, read(page)) == []


# ---- names of files and functions

def missing_paths(text):
    """Paths from the root of the repository that do not exist. NAME and a star are any file."""
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


OTHERS = {"cblas.h"}  # headers of other projects


def sources():
    """name of every C file -> its text, of the library and of the tests."""
    found = [p for f in ("src", "include", "cli", "examples", "tests", "bench", "fuzz")
             for p in (ROOT / f).rglob("*.[ch]")]
    return {p.name: p.read_text(encoding="utf-8") for p in found}


def missing_names(text, code):
    """`file.c`, `sgfs_...` and `sgfsi_...` that the sources do not have. A page may show how to write
    a new kind: names that its own code defines count."""
    own = "\n".join(re.findall(r"```c\n(.*?)```", text, re.S))
    words = set(re.findall(r"\w+", "\n".join(code.values()) + own))
    files = re.findall(r"`(?:[\w/]*/)?(\w+\.[ch])`", text)
    files = [f for f in files if "NAME" not in f and f not in OTHERS]
    names = re.findall(r"`(sgfsi?_\w+)(?:\(\))?`", text)
    names = [n for n in names if not re.search("NAME|_noun|_$", n)]
    wrong = [f for f in files if f not in code and f"/* {f}:" not in own]
    return wrong + [n for n in names if n not in words]


@pytest.mark.parametrize("page", [p for p in pages() if p != "CHANGELOG.md"])
def test_files_and_functions_exist(page):
    assert missing_names(read(page), sources()) == []


def misplaced(text, where):
    """Of a page that maps equations to functions: names with an underscore that no source has, and
    names that the file beside them (`name` in `src/file.c`) does not have. where: texts by path."""
    every = set(re.findall(r"\w+", "\n".join(where.values())))
    names = re.findall(r"`([a-z][a-z0-9]*_[a-z0-9_]*[a-z0-9])`", text)
    pairs = re.findall(r"`(\w+)` in\s+`([\w/]+\.[ch])`", text)
    wrong = [n for n in names if n not in every]
    for name, file in pairs:
        texts = [t for path, t in where.items() if path.endswith("/" + file) or path == file]
        if not any(re.search(rf"\b{name}\b", t) for t in texts):
            wrong.append(f"{name} in {file}")
    return wrong


def test_equations_lead_to_their_functions():
    where = {p.relative_to(ROOT).as_posix(): p.read_text(encoding="utf-8")
             for f in ("src", "tests") for p in (ROOT / f).rglob("*.[ch]")}
    assert misplaced(read("docs/math.md"), where) == []


# ---- who may include whom

def arrows(text):
    """The table of the tour: folder -> the folders it may include."""
    part = text.split("## The picture", 1)[1].split("\n## ", 1)[0]
    rows = re.findall(r"^\| `(\w+)` \| ([^|`]*) \|$", part, re.M)
    return {folder: set(re.findall(r"\w+", may.replace("nothing", ""))) for folder, may in rows}


def test_the_tour_has_the_arrows_of_the_test():
    from test_layers import ENGINE, MAY
    shown = arrows(read("docs/architecture.md"))
    assert shown.pop("jobs") == {"the", "engine", "and", "files"}
    assert shown.pop("api") == {"the", "engine", "files", "and", "jobs"}
    assert shown == {folder: may for folder, may in MAY.items() if folder not in ("jobs", "api")}
    assert MAY["jobs"] == set(ENGINE) | {"files"} and MAY["api"] == set(ENGINE) | {"files", "jobs"}


# ---- the reading path

def reading_path(text):
    """The files of the reading path in CONTRIBUTING.md."""
    part = text.split("## The reading path", 1)[1].split("\n## ", 1)[0]
    return re.findall(r"^\|\s*\[`?([\w./-]+?)`?\]\([^)]*\)[^|]*\|", part, re.M)


def too_far(path):
    """What is wrong with a reading path: a file that is not there, or too many lines in all."""
    wrong = [f"{file} does not exist" for file in path if not (ROOT / file).is_file()]
    lines = sum(read(file).count("\n") for file in path if (ROOT / file).is_file())
    return wrong + ([f"{lines} lines"] if lines > PATH_LINES else [])


def test_the_reading_path_is_short_and_true():
    path = reading_path(read("CONTRIBUTING.md"))
    assert len(path) >= 8, "the table of the reading path was not found"
    assert path[0] == "README.md"
    assert too_far(path) == []


# ---- the vocabulary

# The order in which a newcomer reads.
READING = ["README.md", "docs/architecture.md", "docs/samplers.md", "docs/math.md", "docs/data.md",
           "docs/predict.md", "docs/tuning.md", "docs/beyond.md", "docs/extending.md"]


def entries(text):
    """(word, explanation) of every entry of docs/words.md, in its order."""
    parts = re.split(r"^### (.*)\n", text, flags=re.M)[1:]
    return list(zip(parts[::2], parts[1::2]))


def badly_explained(text):
    """Entries out of order, or without a whole sentence and a second one, which is the example."""
    found = entries(text)
    order = [re.sub(r"\W", "", word).lower() for word, _ in found]
    wrong = [w for w, before, own in zip(found[1:], order, order[1:]) if not before < own]
    short = [word for word, body in found if len(re.findall(r"[.;](?=\s)", body)) < 2]
    return [word for word, _ in wrong] + short


def unlinked(text, reading):
    """Words that the first page that uses them does not link to. reading: the texts in order."""
    wrong = []
    for word, _ in entries(text):
        case = re.I if word == word.lower() else 0
        used = re.compile(rf"(?<![\w-]){re.escape(word)}s?(?![\w-])", case)
        (anchor,) = anchors(f"### {word}")
        first = next((page for page in reading if used.search(plain(page))), "")
        if not re.search(rf"words\.md#{anchor}\b(?!-)", first):
            wrong.append(word)
    return wrong


def test_the_vocabulary_is_in_order_and_linked():
    text = read("docs/words.md")
    assert len(entries(text)) > 40
    assert badly_explained(text) == []
    assert unlinked(text, [read(page) for page in READING]) == []


# ---- the checks can fail

def test_long_prose_is_found_and_code_is_not():
    long = "word " * 25
    assert too_long(f"short\n{long}\n") == ["line 2: 125 columns"]
    assert too_long(f"* item\n    {long}\n") != []
    assert too_long(f"text\n\n    {long}\n\n```\n{long}\n```\n| {long} |\n") == []


def test_broken_links_are_found():
    page = "docs/samplers.md"
    text = ("# One\n\n## A `b`: c\n[a](#a-b-c) [b](#a-b) [c](math.md#1-notation) [d](math.md#none)\n"
            "[e](nowhere.md)\n")
    assert broken_links(page, text) == ["#a-b", "math.md#none", "nowhere.md"]
    assert broken_links(page, "`[a](b)` and https://x.org/\n\n    [a](b)\n") == []


def test_missing_files_and_functions_are_found():
    assert missing_paths("`src/run/run.c`, `src/base/err.c`, tests/no.") == ["src/run/run.c", "tests/no"]
    assert missing_paths("`src/model/NAME.c`, `src/nowhere/NAME.c`") == ["src/nowhere"]
    code = {"err.c": "int sgfsi_fail(void);"}
    assert missing_names("`err.c`, `base/err.c`, `sgfsi_fail`, `sgfsi_`", code) == []
    assert missing_names("`no.c`, `sgfsi_no`, `sgfs_no()`", code) == ["no.c", "sgfsi_no", "sgfs_no"]
    assert missing_names("```c\n/* toy.c: */\nsgfs_toy\n```\n`toy.c` has `sgfs_toy`", code) == []


def test_functions_in_the_wrong_file_are_found():
    where = {"src/a/one.c": "int sgfsi_one(void); run_variance", "src/b/two.c": "int two(void);"}
    assert misplaced("`sgfsi_one` in `one.c`, `run_variance`, `two` in `src/b/two.c`", where) == []
    assert misplaced("`sgfsi_one` in `two.c`, `no_no`", where) == ["no_no", "sgfsi_one in two.c"]


def test_arrows_are_read_from_the_table():
    text = "## The picture\n\n|---|---|\n| `base` | nothing |\n| `rows` | base, context |\n\n## Next\n"
    assert arrows(text) == {"base": set(), "rows": {"base", "context"}}


def test_a_reading_path_that_is_too_long_is_found():
    text = ("## The reading path\n\n|---|---|---|\n| [README.md](README.md) | 1,233 | what |\n"
            "| [`src/no.c`](src/no.c) | 12 | which |\n\n## Next\n\n| [b.c](b.c) | 1 | not |\n")
    assert reading_path(text) == ["README.md", "src/no.c"]
    assert too_far(["README.md", "src/no.c"]) == ["src/no.c does not exist"]
    long = too_far(["docs/samplers.md"] * 10)
    assert len(long) == 1 and long[0].endswith(" lines")


def test_words_out_of_order_or_without_a_link_are_found():
    text = ("### batch\n\nA batch is rows. It has 500.\n\n### R-hat\n\nIt is one\n\n"
            "### anchor\n\nA place. One example.\n")
    assert badly_explained(text) == ["anchor", "R-hat"]
    pages = ["`anchor`, a batch", "R-hat and anchors", "[a](words.md#anchor), [b](words.md#batch)"]
    assert unlinked(text, pages) == ["batch", "R-hat", "anchor"]
    pages = ["a [batch](words.md#batch)", "[R-hat](words.md#r-hat), [anchor](words.md#anchor)", "anchor"]
    assert unlinked(text, pages) == []
