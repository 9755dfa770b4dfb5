# SPDX-License-Identifier: MIT
"""NumPyro's NUTS with its own settings, for logistic regression with prior N(0, 1), in double precision."""
import functools

import jax
import numpyro

numpyro.enable_x64()
import jax.numpy as jnp
import numpy as np
import numpyro.distributions as dist
from numpyro.infer import MCMC, NUTS

from peer import arguments, now, rows, say, say_draws

args = arguments(__doc__)
X, y = map(jnp.asarray, rows(args.data))


def model():
    theta = numpyro.sample("theta", dist.Normal(0, 1).expand([X.shape[1]]).to_event(1))
    numpyro.sample("y", dist.Bernoulli(logits=X @ theta), obs=y)


warmup = 300 if len(y) <= 20_000 else 60
kernel = NUTS(model)
mcmc = MCMC(kernel, num_warmup=warmup, num_samples=1, progress_bar=False)
begin = now()
mcmc.run(jax.random.key(1))
say("NumPyro NUTS, warm-up", now() - begin, "s", note=f"{warmup} iterations, with compiling")


@functools.partial(jax.jit, static_argnums=1)
def loop(state, count):
    """Draws without compiling for each run anew, as MCMC.run would."""
    def step(s, _):
        s = kernel.sample(s, (), {})
        return s, s.z["theta"]
    return jax.lax.scan(step, state, None, count)


state, count = mcmc.last_state, 50 if len(y) <= 20_000 else 5
loop(state, count)  # compiles
draws, seconds = [], 0.0
while seconds < args.seconds / 2:
    begin = now()
    state, theta = jax.block_until_ready(loop(state, count))
    seconds += now() - begin
    draws.append(np.asarray(theta))
say_draws("NumPyro NUTS", seconds, np.concatenate(draws))
