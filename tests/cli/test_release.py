# SPDX-License-Identifier: MIT
"""A release is what is committed, as a tarball of always the same bytes; packages hold each installed file once. What
takes minutes, building from the tarball and the packages themselves, is in tests/long/test_packages.py."""
import fnmatch
import hashlib
import os
import pathlib
import re
import shutil
import subprocess
import tarfile
import time

import pytest

SOURCE, BUILD = pathlib.Path(os.environ.get("SGFS_SOURCE", ".")), os.environ.get("SGFS_BUILD", ".")
VERSION = (SOURCE / "VERSION").read_text().strip()
DEBIAN = SOURCE / "debian"


def run(*command):
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def release(tmp_path_factory):
    """Two tarballs of one commit, made in different seconds."""
    if shutil.which("git") is None or not (SOURCE / ".git").exists():
        pytest.skip("no git, or no repository")
    folder = tmp_path_factory.mktemp("release")
    for name in "ab":
        time.sleep(1.1 * (name == "b"))
        run("make", "-C", str(SOURCE), "dist", f"DIST={folder / name}")
    return folder


def test_a_release_has_the_same_bytes_every_time(release):
    name = f"sgfs-{VERSION}.tar.gz"
    one, two = ((release / k / name).read_bytes() for k in "ab")
    assert one == two
    assert (release / "a" / f"{name}.sha256").read_text() == f"{hashlib.sha256(one).hexdigest()}  {name}\n"


def test_a_release_is_complete(release):
    with tarfile.open(release / "a" / f"sgfs-{VERSION}.tar.gz") as tar:
        tar.extractall(release, filter="data")
    run("cmake", "-S", str(release / f"sgfs-{VERSION}"), "-B", str(release / "build"), "-DSGFS_TESTS=OFF")
    assert {p.name for p in (release / f"sgfs-{VERSION}").iterdir()} >= {"Makefile", "debian", "LICENSE", "README.md"}


def test_the_packages_are_of_this_version():
    soversion = re.search(r"set\(SGFS_SOVERSION (\d+)\)", (SOURCE / "CMakeLists.txt").read_text())[1]
    control = (DEBIAN / "control").read_text()
    assert re.findall(r"^Package: (\S+)", control, re.M) == ["sgfs", f"libsgfs{soversion}", "libsgfs-dev"]
    assert (DEBIAN / "changelog").read_text().startswith(f"sgfs ({VERSION}-")
    needed = re.search(r"^DEPS +:= (.*?[^\\])\n", (SOURCE / "Makefile").read_text(), re.M | re.S)[1]
    needed = {p for p in needed.replace("\\", "").split() if p.endswith("-dev")}
    build = re.search(r"^Build-Depends: (.*?)\n(?=\S)", control, re.M | re.S)[1]
    assert needed == {p for p in re.findall(r"[\w.+-]+", build) if p.endswith("-dev")}


def test_each_installed_file_is_in_one_package(tmp_path):
    prefix = tmp_path / "usr"
    run("cmake", "--install", BUILD, "--prefix", str(prefix))
    wanted = {p.name: [line for line in p.read_text().split()] for p in DEBIAN.glob("*.install")}
    files = [str(p.relative_to(tmp_path)).replace("usr/lib/", "usr/lib/x/") for p in prefix.rglob("*") if not p.is_dir()]
    assert len(files) > 20
    # Plug-ins that the build found what they need for are none of the packages'.
    rules = (DEBIAN / "rules").read_text()
    left_out = {f"usr/lib/x/sgfs/libsgfs_{p.lower()}.so" for p in re.findall(r"-DSGFS_(\w+)=OFF", rules)}
    for path in set(files) - left_out:
        owners = [name for name, patterns in wanted.items()
                  if any(fnmatch.fnmatchcase(path, p) or path.startswith(p + "/") or fnmatch.fnmatchcase(path, p + "/*")
                         for p in patterns)]
        assert len(owners) == 1, (path, owners)
