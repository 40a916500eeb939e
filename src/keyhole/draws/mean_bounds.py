"""Kernels with bounds on a mean reward: Kullback-Leibler, and e-processes.

An e-process is a sequence of numbers, one after each reward, that shows how unlikely the rewards
are if the mean lies on one side of a number, the *null*. It may be looked at after every reward:
the chance that it ever reaches 1 / delta, if the mean does lie there, is at most delta.
"""

import math
from typing import Final

from keyhole.draws.beta_functions import beta_cdf, log_beta_weight
from keyhole.kernels.kernel_declaration import kernel

# Newton's method converges quadratically: after a step this small the result is exact to rounding.
_CLOSE: Final = 1e-8
# Three or four steps are usual; the limit is for steps that rounding keeps from shrinking.
_STEPS: Final = 50


def log_complement(pulls: float, mean: float, entropy: float, level: float) -> float:
    """Return ln(1 - q) for the largest q with pulls kl(mean, q) <= level.

    In x = ln(1 - q) the divergence is convex and decreasing, so that Newton's method does not
    overshoot from the left of the root. It starts from the better of two bounds: Pinsker's
    inequality, and the divergence without the term mean ln q. `pulls` is at least 1, `entropy` that
    of the mean in nats. The result is minus infinity for a mean of 1.
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
        # Where the slope vanishes, rounding may give the last step either sign.
        if not step < 0.0:
            break
        x -= step
        if -step < -_CLOSE * x:
            break
    return x


@kernel
def is_mean_above(total: float, pulls: float, null: float, level: float) -> bool:
    r"""Return whether the e-process against "mean <= null" is at least exp(level).

    The e-process is the uniform mixture over the alternatives q in (null, 1),

    .. math:: E_n = \frac{1}{1 - c} \int_c^1 \prod_{t=1}^{n} \Big(\frac{q}{c}\Big)^{x_t}
       \Big(\frac{1 - q}{1 - c}\Big)^{1 - x_t} \mathrm{d}q
       = \frac{B(s + 1, f + 1) \; P(Z > c)}{(1 - c) \, c^s (1 - c)^f}

    with c the null, s the sum of the rewards, f = n - s, and Z of the beta distribution with shapes
    s + 1 and f + 1. It is a supermartingale for all rewards in [0, 1] whose mean, given the past,
    is at most c: each factor is convex in the reward, hence at most its chord from x = 0 to x = 1,
    whose mean grows with the mean of x and is 1 at c. By Ville's inequality the chance that it ever
    reaches exp(level) is then at most exp(-level). Rewards of 0 and 1 lose nothing by the chord;
    for others the evidence is weaker than it could be.

    Most calls take a few operations: the logarithm of E is at most :math:`(s - nc)^2 / (n c (1 -
    c))`, and the beta distribution is evaluated only if E without P(Z > c) reaches the level.

    Parameters
    ----------
    total, pulls : float
        The sum of the rewards and their number, at most 10**12.
    null : float
        In (0, 1).
    level : float
        Above 0.

    Examples
    --------
    >>> is_mean_above(10.0, 10.0, 0.5, math.log(20)), is_mean_above(4.0, 4.0, 0.5, math.log(20))
    (True, False)
    """
    distance = total - null * pulls
    if distance <= 0.0 or distance * distance < level * pulls * null * (1.0 - null):
        return False
    a, b = total + 1.0, max(pulls - total, 0.0) + 1.0
    log_bound = math.log(null) - log_beta_weight(null, a, b)
    if log_bound < level:
        return False
    tail = beta_cdf(1.0 - null, b, a)
    return tail > 0.0 and log_bound + math.log(tail) >= level


@kernel
def is_mean_below(total: float, pulls: float, null: float, level: float) -> bool:
    """Return whether the e-process against "mean >= null" is at least exp(level).

    That is `is_mean_above` of one minus the rewards, against one minus the null.

    Examples
    --------
    >>> is_mean_below(0.0, 10.0, 0.5, math.log(20)), is_mean_below(0.0, 4.0, 0.5, math.log(20))
    (True, False)
    """
    return is_mean_above(pulls - total, pulls, 1.0 - null, level)
