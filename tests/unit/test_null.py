# SPDX-License-Identifier: MIT
"""Every function of sgfs.h with NULL for every pointer, alone and together with others.

The calls are made from the declarations themselves: a function that is new tomorrow is in this test. Each function has
a process of its own, which says what it is about to call, so that a crash has a name. A call whose handle is NULL has
to fail as the head of sgfs.h promises; any other has to come back, and to say something when it fails."""
import ctypes
import itertools
import os
import re
import signal
from pathlib import Path

import pytest

ROOT, BUILD = Path(os.environ["SGFS_SOURCE"]), Path(os.environ["SGFS_BUILD"])
LIBRARY = BUILD / "libsgfs.so"
SANITIZED = re.search(r"^SGFS_SANITIZE:\w+=.", (BUILD / "CMakeCache.txt").read_text(), re.M)
pytestmark = pytest.mark.skipif(not LIBRARY.exists() or bool(SANITIZED), reason="a library that Python can load")

HANDLES = ("config", "data", "model", "run", "draws", "job")
CALLS_BACK = ("sgfs_message_fn", "sgfs_progress_fn")


def declarations():
    """(result, name, [type of each argument]) of every function."""
    text = re.sub(r"/\*.*?\*/", "", (ROOT / "include" / "sgfs.h").read_text(), flags=re.S)
    for result, name, args in re.findall(r"^SGFS_API\s+(?!extern)([^;(]*?)(\w+)\(([^;]*)\);", text, re.M):
        args = [" ".join(a.split()) for a in args.split(",")]
        yield " ".join(result.split()), name, [] if args == ["void"] else [re.sub(r"\w+$", "", a).strip() for a in args]


FUNCTIONS = list(declarations())


def handle_of(kind):
    found = re.fullmatch(r"(?:const )?sgfs_(\w+) \*", kind)
    return found.group(1) if found and found.group(1) in HANDLES else None


class Library:
    """The library, and a fresh handle of each sort."""

    def __init__(self, folder):
        self.so, self.folder = ctypes.CDLL(str(LIBRARY)), folder
        for _, name, args in FUNCTIONS:  # room for a struct that is returned by value: more than enough
            getattr(self.so, name).restype = ctypes.c_void_p
        (folder / "rows.csv").write_text("a,y\n" + "".join(f"{i % 7 / 4},{i % 3 % 2}\n" for i in range(40)))
        if not (folder / "fit.run").exists():
            run = self.handle("run")
            self.so.sgfs_run_attach(run, str(folder / "fit.run").encode(), None)
            assert self.so.sgfs_run_all(run, None) is None  # SGFS_OK
            self.so.sgfs_run_close(run, None)

    def handle(self, sort):
        so, void = self.so, ctypes.c_void_p
        cfg = void(so.sgfs_config_new())
        for key, value in ((b"run.draws", b"20"), (b"run.warmup", b"20"), (b"run.chains", b"1"),
                           (b"run.threads", b"1"), (b"sampler.kind", b"sgld"), (b"sampler.epsilon", b"1e-4")):
            assert so.sgfs_config_set(cfg, key, value, None) is None
        if sort == "config":
            return cfg
        if sort == "draws":
            return void(so.sgfs_draws_open(str(self.folder / "fit.run").encode(), None))
        if sort == "job":
            return void(so.sgfs_summary_open(self.handle("draws"), cfg, None))
        data = void(so.sgfs_data_open(str(self.folder / "rows.csv").encode(), cfg, None))
        model = data if sort == "data" else void(so.sgfs_model_open(b"logistic", data, cfg, None))
        handle = void(so.sgfs_run_open(model, cfg, None)) if sort == "run" else model
        assert handle.value
        return handle

    def values(self, kind, err):
        """What an argument of this type may be; the first one is the harmless one."""
        if handle_of(kind):
            return [lambda: self.handle(handle_of(kind)), lambda: None]
        if kind == "sgfs_err *":
            return [lambda: err, lambda: None]
        if kind == "const char *":
            words = ["rows.csv", "none", "", "fit.run", "out.npy"]
            return [lambda: None, *(lambda w=w: str(self.folder / w).encode() for w in words),
                    *(lambda w=w: w for w in (b"logistic", b"models", b"samplers", b"exports"))]
        if kind.endswith("*"):  # a struct of zeros, or a place for a result
            return [lambda: ctypes.create_string_buffer(4096), lambda: None]
        if kind in CALLS_BACK:
            return [lambda: None]
        return [lambda: ctypes.c_int64(0), lambda: ctypes.c_int64(-1), lambda: ctypes.c_int64(1 << 40)]


def all_calls(folder, result, name, kinds, say):
    library = Library(folder)
    err = ctypes.create_string_buffer(4 + 512)
    choices = [library.values(kind, err) for kind in kinds]
    texts = [i for i, kind in enumerate(kinds) if kind == "const char *"]
    for pick in itertools.product(*(range(len(c)) for c in choices)):
        if len(texts) > 1 and sum(pick[i] > 1 for i in texts) > 1:
            continue  # one odd text at a time
        say(f"{name}{pick}\n")
        ctypes.memset(err, 0, len(err))
        values = [choice[i]() for choice, i in zip(choices, pick)]
        if name == "sgfs_text_free" and values[0] is not None:
            continue  # a text of ours is not the library's to free
        if name.startswith("sgfs_draws_size"):
            getattr(library.so, name).restype = type("Shape", (ctypes.Structure,), {
                "_fields_": [(f, ctypes.c_int64) for f in ("chains", "draws", "dim")]})
        back = getattr(library.so, name)(*values)
        nothing = any(handle_of(kind) and value is None and handle_of(kind) != "config"
                      for kind, value in zip(kinds, values))
        optional = name == "sgfs_audit_open"  # its model may be NULL
        if name == "sgfs_model_open" and nothing:
            continue  # it says whether there is such a model
        said = ctypes.string_at(ctypes.addressof(err) + 4)
        if result == "sgfs_status" and nothing:
            assert back, "a NULL handle was accepted"
        if "sgfs_err *" not in kinds or values[kinds.index("sgfs_err *")] is None:
            continue
        if result == "sgfs_status" and back or result.endswith("*") and not back:
            assert said, "it failed without a sentence"
        if result.endswith("*") and nothing and not optional:
            assert not back, "a NULL handle was accepted"


@pytest.mark.parametrize("result, name, kinds", FUNCTIONS, ids=[f[1] for f in FUNCTIONS])
def test_null_is_an_error_and_no_crash(tmp_path, result, name, kinds):
    ours, theirs = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(ours)
        signal.alarm(60)
        try:
            all_calls(tmp_path, result, name, kinds, lambda text: os.write(theirs, text.encode()))
            os._exit(0)
        except BaseException as wrong:
            os.write(theirs, f"{type(wrong).__name__}: {wrong}\n".encode())
            os._exit(1)
    os.close(theirs)
    with os.fdopen(ours) as pipe:
        said = pipe.read().splitlines()
    _, status = os.waitpid(child, 0)
    assert status == 0, f"{said[-2:]}: status {status}"


def test_all_functions_were_found():
    text = (ROOT / "cmake" / "sgfs.map").read_text()
    assert {f[1] for f in FUNCTIONS} == set(re.findall(r"^    (sgfs_\w+);", text, re.M))
