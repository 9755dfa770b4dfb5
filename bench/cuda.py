# SPDX-License-Identifier: MIT
"""Iterations on a GPU beside those of the processor, and of JAX on the same GPU, in one run: the table of docs/gpu.md.

    python3 bench/cuda.py --program build/sgfs [--quick] [--no-peers] [--markdown FILE]

Rows are made up, in single precision. A time is that of one iteration of one chain after warm-up: from the run's own
clock where there is one chain, and where there are many, which several threads record, from the difference of two
runs by the wall's clock. Of JAX the same arithmetic in a compiled loop (scan; vmap over chains), in double precision:
gather a batch, its scores, their covariance into an average, a Cholesky factor and two solves for SGFS-f; gather,
gradient and noise for SGLD. Both factor in every iteration (--fisher-every 1), which sgfs does not do by itself.

A second table is of all rows: microseconds of a pair of a logistic regression, in calls of hundreds or thousands
(bench/all_rows), beside PyTorch that makes predictors, softplus and sums one after another; and of one place with its
gradient, with the bytes of rows that go by in a second. A third is of draws by exact-pairs, all that a second of
sampling makes, and how many effective ones they are."""
import argparse
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time

import numpy as np

# sampler, chains, parameters, rows of a batch, iterations
SETTINGS = [("sgfs-f", 1, 51, 500, 20000), ("sgfs-f", 256, 51, 500, 20000), ("sgfs-f", 1, 940, 2000, 200),
            ("sgfs-f", 1, 2647, 500, 60), ("sgfs-d", 1, 51, 500, 20000), ("sgfs-d", 256, 51, 500, 40000),
            ("sgld", 1, 51, 500, 40000), ("sgld", 256, 51, 500, 40000), ("sgld", 1, 940, 2000, 1000)]
ROWS = 10000


def make_rows(folder, parameters):
    """A logistic regression of so many parameters, intercept included; the target is the last column."""
    path = folder / f"rows{parameters}.npy"
    if not path.exists():
        make = np.random.default_rng(parameters)
        x = make.standard_normal((ROWS, parameters - 1))
        beta = make.standard_normal(parameters - 1) / np.sqrt(parameters)
        y = make.uniform(size=ROWS) < 1 / (1 + np.exp(-x @ beta))
        np.save(path, np.column_stack([x, y]).astype(np.float32))
    return path


def ours(program, folder, device, setting):
    """Microseconds of an iteration; a sentence where it does not work."""
    sampler, chains, parameters, batch, iterations = setting
    if chains > 1 and device == "blas":
        return None
    if chains > 1:  # all threads of the machine record them
        walls = [run_of(program, folder, device, setting, n) for n in (iterations // 5, iterations)]
        failed = [wall for wall in walls if isinstance(wall, str)]
        return failed[0] if failed else 1e6 * (walls[1][0] - walls[0][0]) / (chains * (iterations - iterations // 5))
    found = run_of(program, folder, device, setting, iterations)
    return found if isinstance(found, str) else 1e6 * found[1] / iterations


def run_of(program, folder, device, setting, iterations):
    """Seconds of the wall's clock, and those of chains after warm-up; a sentence where it does not work."""
    sampler, chains, parameters, batch, _ = setting
    out = folder / "fit.run"
    words = [program, "sample", "logistic", "--data", make_rows(folder, parameters), "--sampler", sampler, "--batch",
             batch, "--chains", chains, "--warmup", max(min(iterations // 4, 200), 20), "--draws", iterations, "--thin",
             iterations, "--device", device, "--out", out, "--overwrite", "--quiet"]
    if chains == 1:
        words += ["--threads", 1]
    if sampler.startswith("sgfs"):
        words += ["--fisher-every", 1, "--fisher-update", "refactor"]
    else:
        words += ["--epsilon", 1e-6]
    begin = time.perf_counter()
    done = subprocess.run([str(w) for w in words], capture_output=True, text=True, timeout=600)
    wall = time.perf_counter() - begin
    if done.returncode not in (0, 7):
        return done.stderr.strip().splitlines()[-1][:200]
    told = subprocess.run([program, "summary", str(out), "--json"], capture_output=True, text=True, timeout=60)
    found = json.loads(told.stdout)
    return wall, found["sample_seconds"]


def jax_of(folder, setting):
    """The same by JAX: microseconds, or None where there is no JAX or no GPU for it."""
    try:
        import jax
        import jax.numpy as jnp
        from jax import lax, random
        jax.config.update("jax_enable_x64", True)
        if jax.default_backend() != "gpu":
            return None
    except Exception:  # whatever it says, it is not there
        return None
    sampler, chains, parameters, batch, iterations = setting
    rows = jnp.asarray(np.load(make_rows(folder, parameters)), jnp.float64)
    x, y = jnp.concatenate([jnp.ones((ROWS, 1)), rows[:, :-1]], 1), rows[:, -1]
    identity = jnp.eye(parameters)

    def step(state, key):
        theta, average = state
        one, other = random.split(key)
        at = random.randint(one, (batch,), 0, ROWS)
        b = x[at]
        residual = y[at] - jax.nn.sigmoid(b @ theta)
        gradient = ROWS * (b.T @ residual) / batch - theta
        noise = random.normal(other, (parameters,))
        if sampler == "sgld":
            return (theta + 5e-7 * gradient + 1e-3 * noise, average), None
        scores = residual[:, None] * b
        scores = scores - scores.mean(0)
        if sampler == "sgfs-d":
            average = 0.98 * average + 0.02 * (scores * scores).sum(0) / (batch - 1)
            root = jnp.sqrt(ROWS * (ROWS + batch) / batch * average + 2)
            return (theta + 0.4 * (gradient / root + noise) / root, average), None
        average = 0.98 * average + 0.02 * (scores.T @ scores) / (batch - 1)
        L = jnp.linalg.cholesky(ROWS * (ROWS + batch) / batch * average + 2 * identity)
        half = jax.scipy.linalg.solve_triangular(L, gradient, lower=True) + noise
        return (theta + 0.4 * jax.scipy.linalg.solve_triangular(L, half, lower=True, trans=1), average), None

    run = jax.jit(jax.vmap(lambda state, keys: lax.scan(step, state, keys)[0]))
    state = (jnp.zeros(parameters), 0.25 * (jnp.ones(parameters) if sampler == "sgfs-d" else identity))
    state = jax.tree.map(lambda x: jnp.broadcast_to(x, (chains, *x.shape)), state)
    keys = random.split(random.PRNGKey(1), (chains, iterations))
    jax.block_until_ready(run(state, keys))
    begin = time.perf_counter()
    jax.block_until_ready(run(state, keys))
    return 1e6 * (time.perf_counter() - begin) / (iterations * chains)


def torch_of(rows, columns):
    """Microseconds of a pair by PyTorch, unfused, in calls of as many pairs as are fast; None without it."""
    try:
        import torch
        if not torch.cuda.is_available():
            return None
    except Exception:  # whatever it says, it is not there
        return None
    made = torch.Generator(device="cuda").manual_seed(rows)
    x = torch.rand(rows, columns, generator=made, device="cuda", dtype=torch.float64) * 2 - 1
    y = (torch.rand(rows, generator=made, device="cuda", dtype=torch.float64) > 0.5).double()
    centre = torch.rand(columns, generator=made, device="cuda", dtype=torch.float64) * 0.2
    best = None
    for pairs in (64, 256, 1024, 4096):
        if pairs * rows > 3e8:
            continue
        u = 0.02 * torch.rand(pairs, columns, generator=made, device="cuda", dtype=torch.float64)

        def one():
            a, e = (x @ centre)[:, None], x @ u.T
            plus = y @ (a + e) - torch.nn.functional.softplus(a + e).sum(0)
            minus = y @ (a - e) - torch.nn.functional.softplus(a - e).sum(0)
            return plus, minus

        for _ in range(3):
            one()
        torch.cuda.synchronize()
        begin = time.perf_counter()
        for _ in range(5):
            one()
        torch.cuda.synchronize()
        found = 1e6 * (time.perf_counter() - begin) / (5 * pairs)
        best = found if best is None else min(best, found)
    return best


def all_rows(program, quick, peers):
    """The lines of the second table."""
    lines = ["| rows | columns | a pair | PyTorch, the same GPU | a gradient | GB of rows a second |", "|---|---|---|---|---|---|"]
    measured = {}
    bench = pathlib.Path(program).parent / "bench" / "all_rows"
    done = subprocess.run([str(bench), *(["--quick"] if quick else [])], capture_output=True, text=True, timeout=300)
    for found in re.finditer(r"(\d+) x +(\d+) +pairs of a call +\d+ +a pair +([\d.]+) us +a gradient +([\d.]+) us +(\d+) GB",
                             done.stdout):
        shape, times = (int(found[1]), int(found[2])), [float(found[k]) for k in (3, 4, 5)]
        before = measured.get(shape, times)
        measured[shape] = [min(before[0], times[0]), min(before[1], times[1]), max(before[2], times[2])]
    if not measured:
        return lines + ["", done.stderr.strip()[-200:]]
    for (rows, columns), (pair, gradient, speed) in measured.items():
        peer = torch_of(rows, columns) if peers else None
        lines.append(f"| {rows:,} | {columns} | {pair:.3g} | {shown(peer)} | {gradient:,.0f} | {speed:,.0f} |")
    return lines


def draws_of(program, folder, chains, device, made, thin):
    """The summary of a run of exact-pairs, as JSON; a sentence where it does not work."""
    out = folder / "pairs.run"
    words = [program, "sample", "logistic", "--data", make_rows(folder, 51), "--sampler", "exact-pairs", "--chains", chains,
             "--threads", chains, "--draws", made, "--thin", thin, "--device", device, "--out", out, "--overwrite", "--quiet"]
    done = subprocess.run([str(w) for w in words], capture_output=True, text=True, timeout=600)
    if done.returncode not in (0, 7):
        return done.stderr.strip().splitlines()[-1][:200]
    told = subprocess.run([program, "summary", str(out), "--json"], capture_output=True, text=True, timeout=60)
    return json.loads(told.stdout)


def draws(program, folder, chains, quick):
    """The lines of the third table: draws a second of exact-pairs, and how many of them are effective, which is the
    worst of all parameters' two effective sizes in a run that keeps every draw."""
    lines = ["| chains and threads | processor | GPU | effective, GPU |", "|---|---|---|---|"]
    count = 20000 if quick else 1000000
    every = draws_of(program, folder, 4, "cuda", 20000, 1)
    share = every if isinstance(every, str) else min(min(p["ess_bulk"], p["ess_tail"]) for p in every["params"]) / 80000
    for these in chains:
        found = []
        for device in ("blas", "cuda"):
            made = count if device == "cuda" else count // 50
            run = draws_of(program, folder, these, device, made, 10)
            # seconds are those of all chains
            found.append(run if isinstance(run, str) else these * made / (run["sample_seconds"] / these))
        found.append(share if isinstance(share, str) or isinstance(found[1], str) else share * found[1])
        lines.append(f"| {these} | " + " | ".join(f"{x:,.0f}" if isinstance(x, float) else x for x in found) + " |")
    return lines


def shown(x):
    return "" if x is None else x if isinstance(x, str) else f"{x:.3g}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--program", required=True)
    parser.add_argument("--quick", action="store_true", help="a tenth of the iterations")
    parser.add_argument("--no-peers", action="store_true")
    parser.add_argument("--markdown", help="write the table there, too")
    given = parser.parse_args()
    program = str(pathlib.Path(given.program).resolve())
    lines = ["| sampler | chains | D | n | processor, one thread | GPU | JAX, the same GPU |",
             "|---|---|---|---|---|---|---|"]
    print("microseconds of an iteration of one chain", *lines, sep="\n", flush=True)
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for sampler, chains, parameters, batch, iterations in SETTINGS:
            setting = (sampler, chains, parameters, batch, max(iterations // 10, 10) if given.quick else iterations)
            short = (*setting[:4], max(setting[4] // 10, 5))
            found = [ours(program, folder, "blas", short), ours(program, folder, "cuda", setting),
                     None if given.no_peers else jax_of(folder, setting)]
            lines.append(f"| {sampler} | {chains} | {parameters} | {batch} | " + " | ".join(map(shown, found)) + " |")
            print(lines[-1], flush=True)
        for title, more in (("all rows: microseconds", all_rows(program, given.quick, not given.no_peers)),
                            ("draws a second by exact-pairs, 10,000 rows of 51 columns",
                             draws(program, folder, sorted({1, 4, min(16, os.cpu_count())}), given.quick))):
            print(title, *more, sep="\n", flush=True)
            lines += ["", title, "", *more]
    if given.markdown:
        pathlib.Path(given.markdown).write_text("\n".join(lines) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
