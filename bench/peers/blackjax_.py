# SPDX-License-Identifier: MIT
"""blackjax: SGLD, SGHMC and NUTS (window adaptation) for logistic regression with prior N(0, 1), in double precision."""
import blackjax
import jax

jax.config.update("jax_enable_x64", True)
import jax.numpy as jnp
import numpy as np
from jax import lax, random

from peer import arguments, now, rows, say_draws

args = arguments(__doc__)
X, y = map(jnp.asarray, rows(args.data))
N, D = X.shape


def log_prior(theta):
    return -0.5 * theta @ theta


def log_likelihood(theta, row):
    x, label = row
    eta = x @ theta
    return label * eta - jnp.logaddexp(0.0, eta)


def log_posterior(theta):
    eta = X @ theta
    return log_prior(theta) + y @ eta - jnp.logaddexp(0.0, eta).sum()


def minibatches(name, algorithm, *settings):
    def step(theta, key):
        pick, own = random.split(key)
        i = random.randint(pick, (args.batch,), 0, N)
        theta = algorithm.step(own, theta, (X[i], y[i]), *settings)
        return theta, theta

    loop = jax.jit(lambda theta, keys: lax.scan(step, theta, keys))
    theta, _ = loop(jnp.zeros(D), random.split(random.key(1), 500))
    begin = now()
    theta, _ = jax.block_until_ready(loop(theta, random.split(random.key(2), 500)))
    count = int(np.clip(args.seconds / 6 / ((now() - begin) / 500), 500, 20_000))
    keys = random.split(random.key(3), count)
    jax.block_until_ready(loop(theta, keys))
    begin = now()
    _, draws = jax.block_until_ready(loop(theta, keys))
    say_draws(name, now() - begin, np.asarray(draws))


def nuts():
    warmup = blackjax.window_adaptation(blackjax.nuts, log_posterior)
    steps = 300 if N <= 20_000 else 60
    (state, parameters), _ = warmup.run(random.key(4), jnp.zeros(D), num_steps=steps)
    kernel = blackjax.nuts(log_posterior, **parameters)
    loop = jax.jit(lambda s, keys: lax.scan(lambda s, key: (kernel.step(key, s)[0],) * 2, s, keys))
    count, draws, seconds = 50 if N <= 20_000 else 5, [], 0.0
    jax.block_until_ready(loop(state, random.split(random.key(5), count)))  # compiles
    while seconds < args.seconds / 3:
        begin = now()
        state, states = jax.block_until_ready(loop(state, random.split(random.key(6 + len(draws)), count)))
        seconds += now() - begin
        draws.append(np.asarray(states.position))
    say_draws("blackjax NUTS", seconds, np.concatenate(draws))


if not args.only_nuts:
    gradient = blackjax.sgmcmc.gradients.grad_estimator(log_prior, log_likelihood, N)
    minibatches("blackjax SGLD", blackjax.sgld(gradient), 0.2 / N)
    minibatches("blackjax SGHMC", blackjax.sghmc(gradient, 10), 0.02 / N)
nuts()
