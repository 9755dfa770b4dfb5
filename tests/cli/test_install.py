"""`make install` gives a program, libraries, a pkg-config file and a CMake package that others can build with."""
import ctypes
import json
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


def rows_of(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text("x,y\n" + "".join(f"{i % 17 - 8},{(i * 7) % 23 - 11}\n" for i in range(300)))
    return path


def test_a_model_of_ones_own_needs_the_installed_header_alone(prefix, tmp_path):
    model = tmp_path / "student_t.so"
    run("cc", "-shared", "-fPIC", *sanitizers(), f"-I{prefix / 'include'}",
        os.path.join(SOURCE, "examples", "student_t.c"), "-o", str(model), "-lm")
    out = run(str(prefix / "bin" / "sgfs"), "check-grad", str(model), "--data",
              str(rows_of(tmp_path)), "--json")
    assert json.loads(out)["passed"]


def test_another_language_lives_from_handles_and_json(prefix, tmp_path):
    """ctypes and no struct at all: a mode, as JSON."""
    if sanitizers():
        pytest.skip("the interpreter has no sanitizers")
    sgfs = ctypes.CDLL(str(next(prefix.rglob("libsgfs.so"))))
    for name in ("config_new", "data_open", "model_open", "optimize_open", "job_json"):
        getattr(sgfs, f"sgfs_{name}").restype = ctypes.c_void_p
    cfg = ctypes.c_void_p(sgfs.sgfs_config_new())
    data = ctypes.c_void_p(sgfs.sgfs_data_open(str(rows_of(tmp_path)).encode(), cfg, None))
    model = ctypes.c_void_p(sgfs.sgfs_model_open(b"linear", data, cfg, None))
    job = ctypes.c_void_p(sgfs.sgfs_optimize_open(model, cfg, None))
    assert sgfs.sgfs_job_run(job, None) == 0
    text = ctypes.c_void_p(sgfs.sgfs_job_json(job))
    mode = json.loads(ctypes.string_at(text))
    assert mode["names"][:2] == ["intercept", "x"] and len(mode["mean"]) == len(mode["cov"])
    sgfs.sgfs_text_free(text)
    for free, handle in (("job", job), ("model", model), ("data", data), ("config", cfg)):
        getattr(sgfs, f"sgfs_{free}_free")(handle)
