"""Upper bound on a mean by the Kullback-Leibler divergence, for kernels (compiled functions)."""

import math
from typing import Final

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
    allowed, miss = level / pulls, 1.0 - mean
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
