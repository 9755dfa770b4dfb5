# SPDX-License-Identifier: MIT
"""The public interface: how large it is, and that the library exports it and nothing else.

include/sgfs.h declares, cmake/sgfs.map gives each symbol its version, and the shared library has
them (docs/abi.md). A new function is a line in the first two; this file says where one is missing.
"""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(os.environ.get("SGFS_SOURCE", Path(__file__).resolve().parents[2]))
BUILD = Path(os.environ.get("SGFS_BUILD", ROOT / "build"))
MOST_FUNCTIONS = 55


def declared():
    text = (ROOT / "include/sgfs.h").read_text(encoding="utf-8")
    text = re.sub(r"/\*.*?\*/", "", text, flags=re.S)
    functions = re.findall(r"^SGFS_API\b[^;{=]*?\b(\w+)\s*\(", text, flags=re.M)
    assert len(functions) == len(set(functions))
    return set(functions)


def versioned():
    """The symbols of the map, and the name of their version."""
    text = (ROOT / "cmake/sgfs.map").read_text(encoding="utf-8")
    text = re.sub(r"/\*.*?\*/", "", text, flags=re.S)
    name, shown = re.search(r"^(\w+)\s*\{\s*global:(.*?)local:\s*\*;\s*\};", text, re.M | re.S).groups()
    return name, {s.strip() for s in shown.split(";") if s.strip()}


def library():
    path = BUILD / "libsgfs.so"
    if not path.exists():
        pytest.skip("no shared library in this build")
    return path


def test_the_interface_is_small():
    assert len(declared()) <= MOST_FUNCTIONS


def test_every_function_begins_with_the_name_of_the_library():
    assert [f for f in declared() if not f.startswith("sgfs_")] == []


def test_every_function_has_a_version_and_no_other_symbol_has():
    name, symbols = versioned()
    assert symbols == declared()
    number = re.search(r"set\(SGFS_SOVERSION (\d+)\)", (ROOT / "CMakeLists.txt").read_text()).group(1)
    assert name == f"SGFS_{number}"


def test_the_library_exports_what_the_header_declares():
    name, symbols = versioned()
    out = subprocess.run(["nm", "-D", "--defined-only", library()], capture_output=True, text=True,
                         check=True).stdout
    seen = {line.split()[-1] for line in out.splitlines()} - {f"{name}", f"{name}@@{name}"}
    assert seen == {f"{s}@@{name}" for s in symbols}


def test_the_library_has_the_soname_of_its_symbols():
    out = subprocess.run(["readelf", "-d", library()], capture_output=True, text=True,
                         check=True).stdout
    number = re.search(r"^SGFS_(\d+) \{", (ROOT / "cmake" / "sgfs.map").read_text(), re.M).group(1)
    assert re.search(rf"SONAME.*\[libsgfs\.so\.{number}\]", out)


def test_declarations_of_the_python_package_follow_the_header():
    script = ROOT / "python" / "generate.py"
    done = subprocess.run([sys.executable, script, "--check"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
