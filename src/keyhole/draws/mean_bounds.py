"""Kernels that compute bounds on a mean reward, by the Kullback-Leibler divergence or an e-process.

An e-process is a sequence of numbers, one after each reward. Large numbers are evidence against a
hypothesis such as "mean <= null", in which the *null* is a number. If the hypothesis is true, the
chance that the e-process ever reaches 1 / delta is at most delta, however often one looks.
"""

import math
from typing import Final

from keyhole.draws.beta_cdf import beta_cdf, log_beta_weight

# Newton's method converges quadratically: after a step this small, the result is exact to rounding.
_CLOSE: Final = 1e-8
# Three or four steps are usual. There are at most this many, since rounding may keep steps large.
_STEPS: Final = 50


def log_1_minus_ucb(pulls: float, mean: float, entropy: float, level: float) -> float:
    """Return ln(1 - q) for the upper bound q, the largest with pulls * kl(mean, q) <= level.

    `pulls` is at least 1, and `entropy` is the entropy of the mean in nats. The result is minus
    infinity for a mean of 1.

    The divergence is convex and decreasing in x = ln(1 - q). So Newton's method does not overshoot
    the root if it starts to the left of it. It starts at the larger of two lower bounds: from
    Pinsker's inequality, and from the divergence without the term mean ln q.
    """
    allowed = level / pulls
    miss = 1.0 - mean
    if mean <= 0.0:
        return -allowed
    if miss <= 0.0:
        return -math.inf
    x = -(allowed + entropy) / miss
    pinsker = miss - math.sqrt(0.5 * allowed)
    if pinsker > 0.0:
        x = max(x, math.log(pinsker))
    for _ in range(_STEPS):
        q = -math.expm1(x)
        slope = mean * (1.0 - q) / q - miss
        step = (-entropy - mean * math.log(q) - miss * x - allowed) / slope
        # If the slope vanishes, rounding may give the last step either sign.
        if not step < 0.0:
            break
        x -= step
        if -step < -_CLOSE * x:
            break
    return x


def log_mixture_evidence_above(total: float, pulls: float, null: float, floor: float) -> float:
    r"""Return the logarithm of the e-process of 0/1 rewards against "mean <= null" (a kernel).

    If the logarithm is below `floor`, which is above 0, the result is minus infinity: mostly a few
    operations show this. The e-process is the uniform mixture over the alternatives q in (null, 1),

    .. math:: E_n = \frac{1}{1 - c} \int_c^1 \prod_{t=1}^{n} \Big(\frac{q}{c}\Big)^{x_t}
       \Big(\frac{1 - q}{1 - c}\Big)^{1 - x_t} \mathrm{d}q
       = \frac{B(s + 1, f + 1) \; P(Z > c)}{(1 - c) \, c^s (1 - c)^f}

    with c the null, s the sum of the n rewards (n is at most 10**12), f = n - s, and Z of the beta
    distribution with shapes s + 1 and f + 1. To test "mean >= null", replace each reward by one
    minus the reward, and the null by one minus the null. The e-process is valid for all rewards in
    [0, 1]; if some lie between 0 and 1, `keyhole.draws.e_process` finds more evidence.

    Two upper bounds are compared with the floor first, since the beta distribution takes longer:
    :math:`(s - nc)^2 / (n c (1 - c))`, and the logarithm without the term ln P(Z > c).

    Examples
    --------
    >>> round(log_mixture_evidence_above(10.0, 10.0, 0.5, 1.0), 2)
    5.23
    >>> log_mixture_evidence_above(4.0, 4.0, 0.5, 3.0)
    -inf
    """
    distance = total - null * pulls
    if distance <= 0.0 or distance * distance < floor * pulls * null * (1.0 - null):
        return -math.inf
    a, b = total + 1.0, max(pulls - total, 0.0) + 1.0
    log_bound = math.log(null) - log_beta_weight(null, a, b)
    if log_bound < floor:
        return -math.inf
    tail = beta_cdf(1.0 - null, b, a)
    evidence = log_bound + math.log(tail) if tail > 0.0 else -math.inf
    return evidence if evidence >= floor else -math.inf
