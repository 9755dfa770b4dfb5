# SPDX-License-Identifier: MIT
"""SGLD and SGFS-f as one would write them in JAX: a loop of lax.scan over minibatches, compiled as a whole, in double
precision. Logistic regression has its scores by hand; mlp (one hidden layer of 30) and drbm (41 units) by vmap of grad.
Prior N(0, 1), or precision 10 for networks."""
import jax

jax.config.update("jax_enable_x64", True)
import jax.numpy as jnp
import numpy as np
from jax import lax, random

from peer import arguments, now, rows, say, say_draws

args = arguments(__doc__)
X, y = rows(args.data)
N, p = X.shape
n, K = args.batch, int(y.max()) + 1
X, y = jnp.asarray(X), jnp.asarray(y if args.model == "logistic" else y.astype(int))
H = {"logistic": 0, "mlp": 30, "drbm": 41}[args.model]
D = {"logistic": p, "mlp": H * p + K * (H + 1), "drbm": H * p + H * K + K}[args.model]
precision = 1.0 if args.model == "logistic" else 10.0


def log_density(theta, x, label):
    W = theta[:H * p].reshape(H, p)
    if args.model == "mlp":
        V = theta[H * p:].reshape(K, H + 1)
        return jax.nn.log_softmax(V[:, 0] + V[:, 1:] @ jax.nn.sigmoid(W @ x))[label]
    U = theta[H * p:H * p + H * K].reshape(H, K)
    return jax.nn.log_softmax(theta[-K:] + jax.nn.softplus((W @ x)[:, None] + U).sum(0))[label]


def scores(theta, x, label):
    """n x D"""
    if args.model == "logistic":
        return (label - jax.nn.sigmoid(x @ theta))[:, None] * x
    return jax.vmap(jax.grad(log_density), (None, 0, 0))(theta, x, label)


def total(theta, x, label):
    if args.model == "logistic":
        return x.T @ (label - jax.nn.sigmoid(x @ theta))
    return jax.grad(lambda t: jax.vmap(log_density, (None, 0, 0))(t, x, label).sum())(theta)


def sgld(state, key):
    theta, information = state
    pick, noise = random.split(key)
    i = random.randint(pick, (n,), 0, N)
    eps = 0.4 / N
    G = N / n * total(theta, X[i], y[i]) - precision * theta
    theta = theta + eps / 2 * G + jnp.sqrt(eps) * random.normal(noise, (D,))
    return (theta, information), theta


def sgfs(state, key):
    """Ahn, Korattikara and Welling (2012), B = gamma N I, eps = 2."""
    theta, information = state
    pick, noise = random.split(key)
    i = random.randint(pick, (n,), 0, N)
    g = scores(theta, X[i], y[i])
    mean = g.mean(0)
    centred = g - mean
    information = 0.99 * information + 0.01 * centred.T @ centred / (n - 1)
    B = (n + N) / n * N * information + precision * jnp.eye(D)
    L = jnp.linalg.cholesky(B)
    eta = jnp.sqrt(2.0) * L @ random.normal(noise, (D,))
    step = jax.scipy.linalg.cho_solve((L, True), N * mean - precision * theta + eta) / 3
    return (theta + 2 * step, information), theta


def measure(name, step):
    loop = jax.jit(lambda state, keys: lax.scan(step, state, keys))
    state = (jnp.zeros(D) if H == 0 else 0.1 * random.normal(random.key(1), (D,)), jnp.eye(D) * 0.25)
    count = 4 if H else 400
    state, _ = loop(state, random.split(random.key(2), count))  # compiled here
    jax.block_until_ready(state)
    begin = now()
    state, _ = jax.block_until_ready(loop(state, random.split(random.key(3), count)))
    each = (now() - begin) / count
    count = int(np.clip(args.seconds / 4 / each, count, 20_000))
    keys = random.split(random.key(4), count)
    jax.block_until_ready(loop(state, keys))  # compiled for this length, and warm-up
    begin = now()
    _, draws = jax.block_until_ready(loop(state, keys))
    seconds = now() - begin
    if H:
        say(f"JAX {name}, an iteration", 1e3 * seconds / count, "ms")
    else:
        say_draws(f"JAX {name}", seconds, np.asarray(draws))


measure("SGLD", sgld)
measure("SGFS-f", sgfs)
