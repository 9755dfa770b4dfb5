"""`make install` gives a program, libraries, a pkg-config file and a CMake package that others can build with."""
import os
import subprocess

import pytest

SOURCE, BUILD = os.environ["SGFS_SOURCE"], os.environ["SGFS_BUILD"]
EXAMPLE = os.path.join(SOURCE, "examples", "logistic.c")


def run(*command, **more):
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, **more)
    assert done.returncode == 0, f"{' '.join(command)}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def sanitizers():
    """A library built with sanitizers needs them in the program that uses it, too."""
    with open(os.path.join(BUILD, "CMakeCache.txt")) as cache:
        line = next(l for l in cache if l.startswith("SGFS_SANITIZE:"))
    names = line.split("=", 1)[1].strip()
    return [f"-fsanitize={names}"] if names else []


@pytest.fixture(scope="module")
def prefix(tmp_path_factory):
    folder = tmp_path_factory.mktemp("prefix")
    run("cmake", "--install", BUILD, "--prefix", str(folder))
    return folder


def libdir(prefix):
    return next(p.parent for p in prefix.rglob("libsgfs.a"))


def check_output(text):
    assert [line.split()[0] for line in text.splitlines()] == ["intercept", "x1", "x2"]


def test_the_program_runs_from_its_new_place(prefix):
    assert run(str(prefix / "bin" / "sgfs"), "--version").startswith("sgfs ")


@pytest.mark.parametrize("static", [False, True])
def test_a_program_builds_with_pkg_config(prefix, tmp_path, static):
    lib = libdir(prefix)
    env = dict(os.environ, PKG_CONFIG_PATH=str(lib / "pkgconfig"), LD_LIBRARY_PATH=str(lib))
    flags = run("pkg-config", "--cflags", "--libs",
                *(["--static"] if static else []), "sgfs", env=env).split()
    if static:
        flags = [str(lib / "libsgfs.a") if f == "-lsgfs" else f for f in flags]
    program = tmp_path / "logistic"
    run("cc", EXAMPLE, *sanitizers(), "-o", str(program), *flags, "-lm")
    check_output(run(str(program), env=env))


@pytest.mark.parametrize("target", ["sgfs::sgfs", "sgfs::sgfs_static"])
def test_a_project_builds_with_find_package(prefix, tmp_path, target):
    (tmp_path / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.22)\nproject(consumer C)\nfind_package(sgfs 0.1 REQUIRED)\n"
        f"add_executable(consumer {EXAMPLE})\ntarget_link_libraries(consumer {target} m)\n")
    run("cmake", "-S", str(tmp_path), "-B", str(tmp_path / "b"), f"-DCMAKE_PREFIX_PATH={prefix}",
        f"-DCMAKE_C_FLAGS={' '.join(sanitizers())}")
    run("cmake", "--build", str(tmp_path / "b"))
    check_output(run(str(tmp_path / "b" / "consumer")))


def test_only_the_public_names_are_visible(prefix):
    library = next(prefix.rglob("libsgfs.so"))
    lines = run("nm", "-D", "--defined-only", str(library)).splitlines()
    names = [line.split()[-1].split("@")[0] for line in lines if " A SGFS_" not in line]
    assert [n for n in names if not n.startswith("sgfs_")] == []
    header = open(os.path.join(SOURCE, "include", "sgfs.h")).read()
    assert [n for n in names if n + "(" not in header] == []
