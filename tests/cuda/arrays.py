# SPDX-License-Identifier: MIT
"""Arrays of torch, CuPy and JAX on a GPU are sampled where they are: the same draws as from rows of the host's
memory, and no copy of the matrix on the host. Part of `make test-cuda`:

    python3 tests/cuda/arrays.py [ROWS]     rows of 100 columns of the large matrix: 5,000,000 are 4 GB

Libraries that are not installed, or see no GPU, are passed over.
"""
import gc
import logging
import os
import sys
import time

import numpy as np

import sgfs

COLUMNS = 100
failures = 0


def check(what, fine, said=""):
    global failures
    failures += not fine
    print(f"{'fine' if fine else 'WRONG'}: {what} {said}", flush=True)


def libraries():
    """By name: how an array of NumPy becomes one on the GPU."""
    os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
    try:
        import torch
        if torch.cuda.is_available():
            yield "torch", lambda a: torch.from_numpy(np.ascontiguousarray(a)).cuda()
    except ImportError as error:
        print("torch:", error)
    try:
        import cupy
        if cupy.cuda.runtime.getDeviceCount() > 0:
            yield "cupy", cupy.asarray
    except Exception as error:  # of CUDA itself, too
        print("cupy:", error)
    try:
        import jax
        if jax.default_backend() == "gpu":
            jax.config.update("jax_enable_x64", True)
            yield "jax", jax.numpy.asarray
    except Exception as error:
        print("jax:", error)


def resident(what="VmRSS"):
    for line in open("/proc/self/status"):
        if line.startswith(what):
            return int(line.split()[1]) * 1024
    raise RuntimeError(what)


def forget_peak():
    with open("/proc/self/clear_refs", "w") as stream:
        stream.write("5")


def sentence(call):
    try:
        call()
    except sgfs.SgfsError as error:
        return str(error)
    return "no error"


def compare(name, send, all_of_it):
    rng = np.random.default_rng(5)
    X = rng.normal(size=(20000, 12))
    eta = X[:, :3] @ [0.8, 0.0, -0.5]
    binary = eta + rng.logistic(size=len(X)) > 0.2
    count = rng.poisson(np.exp(0.3 * eta))
    many = np.digitize(eta + rng.normal(size=len(X)), [-0.5, 0.6])
    weights, years = rng.uniform(0.5, 2, len(X)), rng.uniform(1, 3, len(X))
    short = {"seed": 3, "progress": False, "quiet": True, "chains": 2, "draws": 300}
    cases = (("logistic", binary, {}),
             ("poisson", count, {"weights": weights, "exposure": years, "sampler": "exact-hmc"}),
             ("logistic", binary, {"sampler": "sgfs-f", "standardize": True}),
             ("logistic", binary, {"split": [0.8, 0.2], "sampler": "exact-hmc"}),
             ("linear", eta + 1, {"sigma": 1}), ("softmax", many, {"sampler": "sgfs-d"}),
             ("mlp", binary, {"sampler": "sgld", "hidden": 8}))
    for model, y, options in cases if all_of_it else cases[:2]:
        for dtype in ("float64", "float32"):
            rows = X.astype(dtype)
            there = sgfs.sample(model, send(rows), send(np.asarray(y)), **short, **{
                k: send(v) if isinstance(v, np.ndarray) else v for k, v in options.items()})
            here = sgfs.sample(model, rows, np.asarray(y, dtype=float), device="cuda", **{
                **short, **options, "sampler": there.header["sampler"]})
            check(f"{name}: {model}, {dtype}, {there.header['sampler']}, {there.header['machine']['device']}",
                  np.array_equal(np.array(here.draws), np.array(there.draws)),
                  f"largest difference {np.abs(np.array(here.draws) - np.array(there.draws)).max():.3g}")
    wide = send(np.hstack([X, X]))
    same = {**short, "sampler": "sgfs-d"}
    check(f"{name}: columns of a wider array", np.array_equal(
        np.array(sgfs.sample("logistic", wide[:, :12], send(binary), **same).draws),
        np.array(sgfs.sample("logistic", X, binary.astype(float), device="cuda", **same).draws)))
    print("   ", sentence(lambda: sgfs.sample("logistic", send(X).T, send(binary)[:12])))
    print("   ", sentence(lambda: sgfs.sample("logistic", send(X.astype("float16")), send(binary))))
    print("   ", sentence(lambda: there.predict(send(X))))
    bad = X.copy()
    bad[1234, 5] = np.inf
    check(f"{name}: a cell that is not finite", 'row 1235, column "x6"' in
          sentence(lambda: sgfs.sample("logistic", send(bad), send(binary))))


def large(rows):
    """Rows that were made on the GPU: what the host's memory grows by, and how long it takes."""
    import torch

    make = torch.Generator("cuda").manual_seed(1)
    X = torch.randn(rows, COLUMNS, dtype=torch.float64, device="cuda", generator=make)
    y = (X[:, 0] - 0.5 * X[:, 1] + torch.randn(rows, dtype=torch.float64, device="cuda", generator=make) > 0)
    torch.cuda.synchronize()
    size = X.element_size() * X.nelement()
    for what, options in (("default", {}), ("sgfs-d", {"sampler": "sgfs-d", "draws": 2000})):
        gc.collect()
        forget_peak()
        before, begin = resident(), time.perf_counter()
        fit = sgfs.sample("logistic", X, y, progress=False, seed=2, **options)
        seconds, grown = time.perf_counter() - begin, resident("VmHWM") - before
        check(f"a matrix of {size / 1e9:.2f} GB, {what}", grown < size / 4,
              f"the host's memory grew by {grown / 1e9:.3f} GB in {seconds:.2f} s; {fit.header['sampler']}, "
              f"trust {fit.trust}, {fit.draws.shape}, x1 {float(fit['x1'].mean()):.4f}")
    columns = sgfs._inputs.source_of(X, y)
    from sgfs._library import Config
    for _ in range(2):
        begin = time.perf_counter()
        handle = columns.open(Config())
        print(f"    opened and measured in {time.perf_counter() - begin:.3f} s")
        handle.close()
    del handle
    few = X[:100].cpu().numpy()
    begin = time.perf_counter()
    np.asarray(X.cpu()).mean()
    print(f"    a copy to the host alone takes {time.perf_counter() - begin:.2f} s", few.shape)


def main():
    logging.basicConfig(level=logging.INFO, format="    note: %(message)s")
    logging.getLogger("jax").setLevel(logging.ERROR)
    found = 0
    for name, send in libraries():
        found += 1
        begin = time.perf_counter()
        try:
            compare(name, send, found == 1)
        except sgfs.SgfsError as error:
            check(name, False, str(error))
        if name == "torch":
            large(int(sys.argv[1]) if len(sys.argv) > 1 else 5_000_000)
        print(f"    {name}: {time.perf_counter() - begin:.1f} s", flush=True)
    if found == 0:
        print("Skipped: neither torch nor CuPy nor JAX sees a GPU.")
        return 77
    return failures > 0


if __name__ == "__main__":
    sys.exit(main())
