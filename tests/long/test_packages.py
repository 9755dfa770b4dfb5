# SPDX-License-Identifier: MIT
"""A release builds and installs where there is nothing but it, and so do the packages for Debian: they are installed in a
copy of this machine that is thrown away (an overlay), used, and removed."""
import os
import pathlib
import re
import shutil
import subprocess
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "cli"))
from cli_program import SHORT, lines, quarters, write  # noqa: E402

SOURCE = pathlib.Path(os.environ.get("SGFS_SOURCE", "."))
VERSION = (SOURCE / "VERSION").read_text().strip()

OVERLAY = """set -e
mount -t tmpfs none {t}
mkdir {t}/up {t}/work {t}/root
mount -t overlay overlay -o lowerdir=/,upperdir={t}/up,workdir={t}/work {t}/root
mount --rbind /proc {t}/root/proc
mount --rbind /dev {t}/root/dev
"""
PACKAGES = """set -e
cp {debs}/*.deb {site}/*.csv {site}/logistic.c {t}/root/srv
chroot {t}/root sh -e -c '
cd /srv
rm ./*-dbgsym_*.deb
dpkg -i ./*.deb
sgfs --version
ldd /usr/bin/sgfs | grep libsgfs
sgfs sample logistic --data a.csv --out a.run --allow-unconverged {short}
cc logistic.c -o embedded $(pkg-config --cflags --libs sgfs) -lm && ./embedded
man sgfs-sample > page.txt && grep -q standardize page.txt
ls /usr/share/bash-completion/completions/sgfs /usr/share/zsh/vendor-completions/_sgfs \\
   /usr/share/fish/vendor_completions.d/sgfs.fish
dpkg --purge sgfs libsgfs-dev libsgfs0
if find /usr /etc /var/lib/dpkg -xdev -name "*sgfs*" | grep .; then exit 1; fi
echo removed'
"""


def run(*command, **options):
    done = subprocess.run(command, capture_output=True, text=True, check=False, **options)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    return done.stdout


@pytest.fixture(scope="module")
def copy(tmp_path_factory):
    """A clone: what is committed, and nothing that was built."""
    if shutil.which("git") is None or not (SOURCE / ".git").exists():
        pytest.skip("no git, or no repository")
    folder = tmp_path_factory.mktemp("clone") / "sgfs"
    run("git", "clone", "-q", str(SOURCE), str(folder))
    return folder


def test_a_release_builds_and_installs(copy, tmp_path):
    run("make", "-C", str(copy), "dist", f"DIST={tmp_path}")
    run("sha256sum", "-c", f"sgfs-{VERSION}.tar.gz.sha256", cwd=tmp_path)
    run("tar", "-xzf", f"sgfs-{VERSION}.tar.gz", cwd=tmp_path)
    folder = tmp_path / f"sgfs-{VERSION}"
    run("make", "-C", str(folder), "install", f"PREFIX={tmp_path / 'prefix'}")
    assert sorted(p.name for p in (folder / "build").iterdir() if "test" in p.name or p.name == "examples") == []
    write(tmp_path / "a.csv", lines(*quarters()))
    program = str(tmp_path / "prefix" / "bin" / "sgfs")
    run(program, "sample", "logistic", "--data", "a.csv", "--out", "a.run", "--allow-unconverged", *SHORT, cwd=tmp_path)
    assert "r_hat" in run(program, "summary", "a.run", cwd=tmp_path)
    assert (tmp_path / "prefix" / "share" / "man" / "man1" / "sgfs.1").exists()


def test_packages_are_built_installed_and_removed(copy, tmp_path):
    if shutil.which("dpkg-buildpackage") is None and os.geteuid() != 0:
        pytest.skip("dpkg-dev is not installed, and only root could")
    out = run("make", "-C", str(copy), "deb")
    names = sorted(re.findall(r"build-deb/(\w[\w-]*)_", out))
    assert [n for n in names if "dbgsym" not in n] == ["libsgfs-dev", "libsgfs0", "sgfs"]
    assert not re.search(r"^[EW]: ", out, re.M)
    (tmp_path / "t").mkdir()
    overlay = OVERLAY.format(t=tmp_path / "t")
    if subprocess.run(["unshare", "--mount", "sh", "-c", overlay], capture_output=True, check=False).returncode != 0:
        pytest.skip("an overlay of this machine cannot be mounted: root may, outside of most containers")
    write(tmp_path / "a.csv", lines(*quarters()))
    shutil.copy(SOURCE / "examples" / "logistic.c", tmp_path)
    script = overlay + PACKAGES.format(t=tmp_path / "t", debs=copy / "build-deb", site=tmp_path, short=" ".join(SHORT))
    out = run("unshare", "--mount", "sh", "-c", script)
    assert f"sgfs {VERSION}\n" in out and "intercept" in out and "libsgfs.so.0 => " in out and out.endswith("removed\n")
