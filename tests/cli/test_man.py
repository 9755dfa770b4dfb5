# SPDX-License-Identifier: MIT
"""The pages for man say what the help pages say, and man has nothing against them."""
import os
import pathlib
import re
import shutil
import subprocess

import pytest

FOLDER = pathlib.Path(os.environ.get("SGFS_BUILD", ".")) / "man"


def pages():
    return sorted(FOLDER.glob("*.1"))


def rendered(page):
    done = subprocess.run(["man", "--warnings", "-l", str(page)], capture_output=True, text=True, check=True,
                          env={**os.environ, "MANWIDTH": "300", "MAN_KEEP_FORMATTING": "", "LC_ALL": "C.UTF-8"})
    assert done.stderr == ""
    return done.stdout


def words(text):
    return " ".join(text.replace("\u2010", "-").split())


@pytest.mark.skipif(shutil.which("man") is None or shutil.which("groff") is None,
                    reason="man or groff (Debian: man-db, groff) is not installed")
def test_a_page_says_what_help_says(sgfs):
    assert len(pages()) == 1 + len(re.findall(r"^  [a-z-]+ +\S", sgfs.ok("help").stdout.split("Commands:")[1], re.M)) - 1
    for page in pages()[:-1]:
        name = page.stem.removeprefix("sgfs-")
        text, options = words(rendered(page)), sgfs.ok("help", name, "--help-all").stdout.split("\nUsage: ")[1]
        assert words(options.split("\n", 1)[0]) in text
        for entry in re.split(r"\n  (?=--)|\n\n", options)[1:]:
            if entry.startswith("--"):
                assert words(entry) in text, (page.name, entry)


@pytest.mark.skipif(shutil.which("mandoc") is None, reason="mandoc (Debian: mandoc) is not installed")
def test_mandoc_finds_nothing_wrong():
    # a date would differ from build to build
    done = subprocess.run(["mandoc", "-Tlint", *map(str, pages())], capture_output=True, text=True)
    assert [line for line in done.stdout.splitlines() if "missing date" not in line] == []
