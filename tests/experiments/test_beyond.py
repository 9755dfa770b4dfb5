# SPDX-License-Identifier: MIT
"""experiments/beyond.py, which makes the tables and pictures of docs/beyond.md, runs: everything in its quick mode,
on little data, into a folder of the test's own."""
import os
import pathlib
import re
import subprocess
import sys
import xml.etree.ElementTree as xml

import pytest

pytest.importorskip("matplotlib")
PROGRAM = os.environ.get("SGFS")
SOURCE = pathlib.Path(os.environ.get("SGFS_SOURCE") or pathlib.Path(__file__).parents[2])
NAMES = ["cost", "mnist", "exactness", "noise", "audit", "billion"]


def beyond(*words):
    return subprocess.run([sys.executable, SOURCE / "experiments" / "beyond.py", "--program", PROGRAM, *map(str, words)],
                          capture_output=True, text=True)


def part(page, name):
    return re.search(f"<!-- {name}: made by make beyond -->\n(.*?)<!-- end of {name} -->", page, re.S)


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("beyond")
    before = (SOURCE / "docs" / "beyond.md").read_text()
    done = beyond("--quick", "--only", *NAMES, "--out", folder)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "left out" not in done.stdout
    assert (SOURCE / "docs" / "beyond.md").read_text() == before
    return folder


@pytest.mark.parametrize("name", NAMES)
def test_table(made, name):
    """A head, and as many cells in every row."""
    found = part((made / "beyond.md").read_text(), name)
    assert found, "no markers in docs/beyond.md"
    lines = [line for line in found.group(1).splitlines() if line.startswith("|")]
    assert len(lines) >= 3
    assert len({line.count("|") for line in lines}) == 1
    assert "nan" not in found.group(1) and "inf " not in found.group(1)


@pytest.mark.parametrize("name", ["cost", "mnist", "exactness", "noise"])
def test_picture(made, name):
    path = made / "beyond" / f"{name}.svg"
    assert path.stat().st_size < 100_000
    assert xml.parse(path).getroot().tag.endswith("svg")
    assert name + ".svg" in (made / "beyond.md").read_text()


def test_quick_numbers_stay_out_of_the_page():
    done = beyond("--quick")
    assert done.returncode == 2 and "--out" in done.stderr


def test_page_is_whole():
    """What is committed: markers for every table, and with a table its picture, small."""
    page = (SOURCE / "docs" / "beyond.md").read_text()
    for name in NAMES:
        assert part(page, name), name
        if f"(beyond/{name}.svg)" in page and part(page, name).group(1).strip():
            assert (SOURCE / "docs" / "beyond" / f"{name}.svg").stat().st_size < 100_000
