"""Betting on a mean, from Waudby-Smith and Ramdas (2024): a reference, slow and simple.

Nothing here comes from `keyhole`. The wealth of who bets that the mean is q, not m, is multiplied
with each reward x by x q / m + (1 - x) (1 - q) / (1 - m).
"""

import functools
import math

import numpy as np


@functools.cache  # not where the file is imported: it takes a second
def nodes_and_weights():
    """Return the nodes of a quadrature over [-1, 1], and their weights."""
    return np.polynomial.legendre.leggauss(400)


def log_mean_wealth(rewards, mean, low=0.0, high=1.0, steps=None):
    """Return the logarithm of the wealth, averaged over the q between `low` and `high`.

    With `steps`, a reward between two points of the grid 0, 1 / steps, ..., 1 is shared by them:
    each multiplies the wealth to the power of its share.
    """
    nodes, weights = nodes_and_weights()
    q = low + (high - low) * (nodes + 1) / 2
    logs = np.zeros_like(q)
    for reward in rewards:
        for x, share in shares(reward, steps):
            logs += share * np.log(x * q / mean + (1 - x) * (1 - q) / (1 - mean))
    return float(np.log(np.sum(weights / 2 * np.exp(logs - logs.max()))) + logs.max())


def shares(reward, steps):
    """Return the grid points next to a reward, each with its share."""
    if steps is None:
        return [(reward, 1.0)]
    lower = math.floor(steps * reward)
    above = steps * reward - lower
    return [(lower / steps, 1 - above)] + ([((lower + 1) / steps, above)] if above else [])
