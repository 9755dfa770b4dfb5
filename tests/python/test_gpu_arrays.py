# SPDX-License-Identifier: MIT
"""Arrays on a GPU, by DLPack: the whole way, on a pretended GPU (tests/cuda/pretended).

The arrays of `Far` lie in pages that only a kernel of the pretended GPU may read: whoever else looks
at them, in Python or in the library, dies of a segmentation fault. Each case is a process of its own,
with a copy of the library beside the pretended plug-in:

    python3 test_gpu_arrays.py FOLDER CASE
"""
import ctypes
import gc
import os
import pathlib
import shutil
import subprocess
import sys

import pytest


def build_folder():
    return pathlib.Path(os.environ.get("SGFS_BUILD") or pathlib.Path(__file__).parents[2] / "build")


@pytest.fixture(scope="module")
def folder(tmp_path_factory, sgfs):
    plugin = build_folder() / "tests" / "pretended" / "libsgfs_cuda.so"
    if not plugin.exists():
        pytest.skip("the pretended GPU is not built")
    place = tmp_path_factory.mktemp("pretended")
    shutil.copy(plugin, place)
    shutil.copy(build_folder() / "libsgfs.so", place)
    return place


# ---- in the process of a case ----


class Far:
    """An array as its library hands it over, on the pretended GPU."""

    made = freed = exported = 0
    plugin = None

    def __init__(self, array, number=0, versioned=False, code=None, strides=None):
        self.array, self.number, self.versioned, self.strides = array, number, versioned, strides
        self.code = {"f": 2, "i": 0, "u": 1, "b": 6}[array.dtype.kind] if code is None else code
        self.bytes = -(-max(array.nbytes, 1) // 4096) * 4096
        open_ = Far.plugin.pretended_foreign_open
        open_.restype, open_.argtypes = ctypes.c_void_p, [ctypes.c_size_t]
        self.at = open_(self.bytes)
        ctypes.memmove(self.at, array.ctypes.data, array.nbytes)
        Far.plugin.pretended_foreign_shut.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
        Far.plugin.pretended_foreign_shut(self.at, self.bytes)
        self.streams = []

    def __dlpack_device__(self):
        return (2, self.number)

    def __dlpack__(self, stream=None, **more):
        from sgfs import _dlpack

        if more and not self.versioned:
            raise TypeError("max_version is not known")
        self.streams.append(stream)
        array = self.array
        kind = _dlpack.Versioned if self.versioned else _dlpack.Managed
        held = kind()
        if self.versioned:
            held.major = 1
        tensor = held.tensor
        tensor.data, tensor.device_type, tensor.device_id = self.at, 2, self.number
        tensor.ndim, tensor.code, tensor.bits, tensor.lanes = array.ndim, self.code, 8 * array.itemsize, 1
        numbers = (ctypes.c_int64 * array.ndim)(*array.shape)
        tensor.shape = numbers
        given = self.strides or [step // array.itemsize for step in array.strides]
        steps = (ctypes.c_int64 * array.ndim)(*given)
        tensor.strides = steps
        kept = [held, numbers, steps, self]

        def free(_address):
            Far.freed += 1
            kept.clear()  # a second call would find nothing

        deleter = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(free)
        FOREVER.append(deleter)
        held.deleter = ctypes.cast(deleter, ctypes.c_void_p).value
        new = ctypes.pythonapi.PyCapsule_New
        new.restype, new.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
        Far.exported += 1
        FOREVER.append(kept)
        return new(ctypes.addressof(held), b"dltensor_versioned" if self.versioned else b"dltensor", None)


FOREVER = []


def rows(count=200, dtype="float64", seed=5):
    import numpy as np

    rng = np.random.default_rng(seed)
    X = rng.normal(size=(count, 3)).astype(dtype)
    y = (X @ [0.8, 0.0, -0.5] + rng.logistic(size=count) > 0.2).astype("int64")
    return X, y


def draws(sgfs, *arguments, **options):
    import numpy as np

    settings = {"draws": 20, "chains": 1, "threads": 1, "seed": 3, "progress": False, **options}
    return np.array(sgfs.sample(*arguments, **settings).draws)


def case_same_draws(sgfs):
    import numpy as np

    for dtype in ("float64", "float32"):
        X, y = rows(dtype=dtype)
        for how in ({"sampler": "exact-pairs"}, {"sampler": "sgfs-f", "batch": 50, "warmup": 20, "standardize": True}):
            here = draws(sgfs, "logistic", X, y.astype(float), device="cuda", **how)
            there = draws(sgfs, "logistic", Far(X), Far(y), **how)
            assert np.array_equal(here, there), (dtype, how)
    count = np.random.default_rng(1).poisson(2, 200).astype("int32")
    weights, years = np.linspace(0.5, 2, 200), np.linspace(1, 3, 200, dtype="float32")
    few = {"draws": 10, "warmup": 10}
    here = draws(sgfs, "poisson", X, count, weights=weights, exposure=years, device="cuda", sampler="exact-hmc", **few)
    there = draws(sgfs, "poisson", Far(X), Far(count), weights=Far(weights), exposure=Far(years),
                  device="cuda", sampler="exact-hmc", **few)
    assert np.array_equal(here, there)


def case_shortest_call(sgfs):
    X, y = rows()
    fit = sgfs.sample("logistic", Far(X), Far(y), draws=50, chains=1, threads=1, seed=3, names=["a", "b", "c"])
    assert fit.header["sampler"] == "exact-pairs" and fit.header["machine"]["device"] == "cuda"
    assert list(fit.draws.names) == ["intercept", "a", "b", "c"]
    mode = sgfs.optimize("logistic", Far(X), Far(y))
    assert mode["names"]


def case_rows_apart(sgfs):
    """Some columns of a wider array, one column alone, and targets with the shape of a column."""
    import numpy as np

    X, y = rows()
    wide = np.hstack([X, np.full((200, 2), np.nan)])
    some = Far(wide, strides=[5, 1])
    some.array = wide[:, :3]
    first = Far(X)
    first.array = X[:, 0]
    same = {"sampler": "sgfs-d", "batch": 50, "warmup": 10, "draws": 20, "device": "cuda"}
    for here, there in (((X, y), (some, Far(y[:, None]))), ((X[:, 0], y), (first, y)), ((X, y), (X, Far(y)))):
        assert np.array_equal(draws(sgfs, "logistic", *here, **same), draws(sgfs, "logistic", *there, **same))


def case_model_of_ones_own(sgfs):
    """What the processor does of it: rows come from the GPU, some at a time."""
    import numpy as np

    X, y = rows()
    own = sgfs.Model(lambda theta, X, y: -(y - X @ theta) ** 2 / 2,
                     lambda theta, X, y: (y - X @ theta)[:, None] * X, dim=lambda columns: columns)
    same = {"sampler": "sgld", "epsilon": 1e-3, "batch": 50, "warmup": 10, "draws": 20}
    assert np.array_equal(draws(sgfs, own, X, y, **same), draws(sgfs, own, Far(X), Far(y), **same))


def case_freed_once(sgfs):
    X, y = rows()
    for versioned in (False, True):
        x = Far(X, versioned=versioned)
        before, freed = Far.exported, Far.freed
        fit = sgfs.sample("logistic", x, Far(y, versioned=versioned), sampler="sgfs-d", batch=50, warmup=10, draws=20,
                          chains=1, threads=1)
        assert Far.exported == before + 2 and x.streams == [1]
        gc.collect()
        assert Far.freed == freed + 2, "the run is over, and the arrays are not given back"
        del fit
        gc.collect()
        assert Far.freed == freed + 2


def case_freed_after_refusals(sgfs):
    import numpy as np

    X, y = rows()
    before, freed = Far.exported, Far.freed
    X[7, 1] = np.nan
    for arguments, options, sentence in (
            ((Far(X), Far(y)), {}, 'row 8, column "x2" is not a finite number'),
            ((Far(X), Far(y[:-1])), {}, "y: has the shape (199,), and there are 200 rows"),
            ((Far(np.ones((5, 2)), code=4), Far(y[:5])), {}, "an array of bfloat64 on a GPU is none that is read")):
        try:
            sgfs.sample("logistic", *arguments, **options)
        except (sgfs.DataError, sgfs.UsageError) as error:
            assert sentence in str(error), str(error)
        else:
            raise AssertionError(sentence)
    gc.collect()
    assert Far.exported > before and Far.freed - freed == Far.exported - before


def case_sentences(sgfs):
    import numpy as np

    X, y = rows()
    fit = sgfs.sample("logistic", X, y, draws=100, chains=1, threads=1, seed=1, sampler="exact-rows")
    turned = Far(X)
    turned.array = X.T
    for call, sentence in (
            (lambda: sgfs.sample("logistic", Far(X), Far(y), device="blas"),
             'device="blas": the rows lie on the GPU 0.'),
            (lambda: sgfs.sample("logistic", Far(X), Far(y), log1p=["x1"]), "rows on a GPU stay as they are"),
            (lambda: sgfs.sample("logistic", Far(X), Far(y, number=1)), "lie on the GPUs 0 and 1: move them to one"),
            (lambda: sgfs.sample("logistic", Far(X, number=3), y), "There is no GPU 3"),
            (lambda: sgfs.sample("logistic", turned, y[:3]), "do not lie side by side on the GPU"),
            (lambda: sgfs.sample("logistic", Far(X), ["yes", "no"] * 100), "Labels that are words"),
            (lambda: sgfs.sample("logistic", Far(X), y, target="x1"), "target names a column"),
            (lambda: sgfs.sample("logistic", {"a": X[:, 0]}, Far(y)), "a table in the host's memory"),
            (lambda: fit.predict(Far(X)), "Predictions are the processor's")):
        try:
            call()
        except sgfs.SgfsError as error:
            assert sentence in str(error), str(error)
        else:
            raise AssertionError(sentence)
    assert np.isfinite(fit.draws).all()


def case_guard(_sgfs):
    """Whoever looks at such an array on the processor is found out: exit code -11."""
    X, _ = rows()
    ctypes.string_at(Far(X).at, 8)


CASES = [name[5:] for name in list(globals()) if name.startswith("case_")]


@pytest.mark.parametrize("case", CASES)
def test_arrays_on_a_pretended_gpu(folder, case):
    done = subprocess.run([sys.executable, __file__, str(folder), case], capture_output=True, text=True, timeout=300,
                          env={**os.environ, "SGFS_LIBRARY": str(folder / "libsgfs.so"), "OMP_WAIT_POLICY": "passive"})
    assert done.returncode == (-11 if case == "guard" else 0), done.stderr


if __name__ == "__main__":
    sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "python"))
    Far.plugin = ctypes.CDLL(os.path.join(sys.argv[1], "libsgfs_cuda.so"))
    import sgfs as package

    globals()["case_" + sys.argv[2]](package)
