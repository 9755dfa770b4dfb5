# SPDX-License-Identifier: MIT
"""What the compiler and the linker made of the program: where it looks for libraries, and what stands in the way of
somebody who uses a mistake of ours. Flags that the compiler at hand does not know are not asked for."""
import os
import platform
import re
import shutil
import subprocess
from pathlib import Path

import pytest

PROGRAM, BUILD = os.environ["SGFS"], Path(os.environ["SGFS_BUILD"])
CACHE = dict(re.findall(r"^(\w+):\w+=(.*)$", (BUILD / "CMakeCache.txt").read_text(), re.M))
FILES = [PROGRAM, *(str(p) for p in (BUILD / "libsgfs.so", BUILD / "libsgfs_mpi.so") if p.exists())]


def tool(*words):
    return subprocess.run(words, capture_output=True, text=True, check=True).stdout


def known(name):
    return CACHE.get(name) == "1"


hardened = pytest.mark.skipif(bool(CACHE.get("SGFS_SANITIZE")) or CACHE.get("CMAKE_BUILD_TYPE") == "Debug",
                              reason="sanitizers and debug builds have other guards")


@pytest.mark.parametrize("file", FILES)
def test_libraries_are_looked_for_by_full_paths_only(file):
    paths = re.findall(r"\((?:RUNPATH|RPATH)\).*\[(.*)\]", tool("readelf", "-d", file))
    assert [p for line in paths for p in line.split(":") if not p.startswith(("/", "$ORIGIN"))] == []


def test_a_library_beside_the_data_is_not_loaded(tmp_path):
    for name in re.findall(r"\(NEEDED\).*\[(.*)\]", tool("readelf", "-d", PROGRAM)):
        (tmp_path / name).write_bytes(b"this would be somebody's code")
    env = {k: v for k, v in os.environ.items() if k != "LD_LIBRARY_PATH"}
    done = subprocess.run([PROGRAM, "--version"], cwd=tmp_path, env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_a_plug_in_from_folders_above_the_program_is_not_loaded(tmp_path):
    folder = tmp_path / "a" / "b"
    folder.mkdir(parents=True)
    shutil.copy(PROGRAM, folder / "sgfs")
    (tmp_path / "sgfs").mkdir()
    for place in (tmp_path, tmp_path / "sgfs"):
        (place / "libsgfs_mpi.so").write_bytes(b"this would be somebody's code")
    (tmp_path / "d.csv").write_text("a,y\n" + "".join(f"{k % 7},{k % 3 % 2}\n" for k in range(40)))
    done = subprocess.run([folder / "sgfs", "sample", "logistic", "--data", "d.csv", "--mpi"], cwd=tmp_path,
                          capture_output=True, text=True)
    assert done.returncode == 2 and "--mpi needs libsgfs_mpi.so" in done.stderr, done.stderr


@hardened
@pytest.mark.parametrize("file", FILES)
def test_tables_of_the_linker_cannot_be_written_and_the_stack_not_be_executed(file):
    dynamic, segments = tool("readelf", "-dW", file), tool("readelf", "-lW", file)
    assert not known("SGFS_HAS_Z_relro") or "GNU_RELRO" in segments
    assert not known("SGFS_HAS_Z_now") or re.search(r"FLAGS.*NOW", dynamic)
    assert not known("SGFS_HAS_Z_noexecstack") or re.search(r"GNU_STACK.* RW +0x", segments)
    assert re.search(r"Elf file type is DYN", segments)


@hardened
@pytest.mark.parametrize("file", FILES)
def test_buffers_are_checked(file):
    needed = tool("nm", "-D", "--undefined-only", file)
    assert not known("SGFS_HAS_fstack_protector_strong") or "__stack_chk_fail" in needed
    assert "__snprintf_chk" in needed


@hardened
@pytest.mark.skipif(platform.machine() != "x86_64", reason="instructions of one machine")
@pytest.mark.parametrize("file", [file for file in FILES if "mpi" not in file])  # whose plug-in is a page of code
def test_calls_land_where_functions_begin_and_large_frames_are_touched_page_by_page(file):
    code = tool("objdump", "-d", "--no-show-raw-insn", file)
    assert not known("SGFS_HAS_fcf_protection_full") or code.count("endbr64") > 100
    assert not known("SGFS_HAS_fstack_clash_protection") or re.search(r"orq? +\$0x0,(0x\w+)?\(%rsp\)", code)
