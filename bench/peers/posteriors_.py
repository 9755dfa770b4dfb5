# SPDX-License-Identifier: MIT
"""posteriors (PyTorch): SGLD and SGHMC for logistic regression with prior N(0, 1), in double precision."""
import numpy as np
import posteriors
import torch

from peer import arguments, now, rows, say_draws

torch.set_num_threads(1)
torch.manual_seed(1)
args = arguments(__doc__)
X, y = map(torch.as_tensor, rows(args.data))
N, D = X.shape


def log_posterior(theta, batch):
    """Divided by N, as this package wants it: temperature 1/N restores it."""
    x, label = batch
    eta = x @ theta
    return (label * eta - torch.nn.functional.softplus(eta)).mean() - 0.5 * theta @ theta / N, torch.tensor([])


def measure(name, build):
    transform = build()
    state = transform.init(torch.zeros(D, dtype=torch.float64))

    def go(state, count):
        draws = np.empty((count, D))
        begin = now()
        for t in range(count):
            i = torch.randint(N, (args.batch,))
            state, _ = transform.update(state, (X[i], y[i]))
            draws[t] = state.params.detach().numpy()
        return state, draws, now() - begin

    state, _, seconds = go(state, 200)
    count = int(np.clip(args.seconds / 4 / (seconds / 200), 200, 20_000))
    state, _, _ = go(state, count // 2)
    _, draws, seconds = go(state, count)
    say_draws(name, seconds, draws)


measure("posteriors SGLD", lambda: posteriors.sgmcmc.sgld.build(log_posterior, lr=0.2, temperature=1 / N))
measure("posteriors SGHMC", lambda: posteriors.sgmcmc.sghmc.build(log_posterior, lr=0.05, temperature=1 / N))
