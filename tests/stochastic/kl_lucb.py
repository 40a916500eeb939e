"""KL-LUCB (Kaufmann and Kalyanakrishnan 2013), which best-arm rules are compared with."""

import math

from keyhole.draws.mean_bounds import log_1_minus_ucb


def upper(pulls, total, level):
    """Return the largest mean that is plausible."""
    mean = total / pulls
    entropy = sum(-q * math.log(q) for q in (mean, 1 - mean) if q > 0)
    return -math.expm1(log_1_minus_ucb(pulls, mean, entropy, level))


def play(means, delta, rng):
    """Return the number of pulls until it stops, and the arm that it names.

    Its exploration rate is that of Theorem 1 for alpha = 1.1: ln(405.5 K t^1.1 / delta) plus the
    logarithm of that. A round pulls the arm of the highest mean and that of the highest bound of
    the others; it stops where the lower bound of the first is above that.
    """
    arms = range(len(means))
    pulls, totals = [1.0] * len(means), [float(rng.random() < mean) for mean in means]
    t = 0
    while True:
        t += 1
        level = math.log(405.5 * len(means) * t**1.1 / delta)
        level += math.log(level)
        best = max(arms, key=lambda arm: totals[arm] / pulls[arm])
        bounds = [upper(pulls[arm], totals[arm], level) for arm in arms]
        rival = max((arm for arm in arms if arm != best), key=lambda arm: bounds[arm])
        if 1 - upper(pulls[best], pulls[best] - totals[best], level) > bounds[rival]:
            return sum(pulls), best
        for arm in (best, rival):
            pulls[arm] += 1
            totals[arm] += rng.random() < means[arm]
