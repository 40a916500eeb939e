"""Base class of policies that choose the option with the largest upper bound of its mean reward.

The options (arms) give random rewards. The bound is the mean plus a margin (UCB: upper confidence
bound), which a subclass gives as a function of the number of rewards.
"""

import math
from types import MappingProxyType, SimpleNamespace
from typing import Any, ClassVar, cast

from keyhole.policy import Kernel, argmin_update
from keyhole.stochastic.policy_base import IndexPolicy
from keyhole.validate import Range, check_number

# Bisections after which no float64 lies inside the interval.
_HALVINGS = 64


class UCBPolicy(IndexPolicy, abstract=True):
    r"""Base class of UCB policies whose width follows from a deviation function.

    A deviation function bounds the probability that a mean of N rewards is off by more than eps:
    :math:`P(|\hat\mu - \mu| > \epsilon) \le f(N, \epsilon)`. A subclass writes it as the kernel
    ``deviation(p, pulls, error)``, which decreases in both. After one pull of each arm, the arm
    with the largest :math:`\hat\mu_i + V(N_i, \delta)` is pulled, where :math:`V(N, \delta) = \inf
    \{ \epsilon : f(N, \epsilon) \le \delta \}` and :math:`\delta = T^{-2} / 2`.

    V is found by bisection to float64 precision, with some 70 evaluations of f a round; a subclass
    with a closed form writes ``width(p, pulls, deviation)``.

    References
    ----------
    Abernethy, Amin and Zhu (2016), "Threshold Bandits, With and Without Censored Feedback",
    NeurIPS; section 2.

    Examples
    --------
    >>> class Cautious(UCBPolicy):
    ...     def deviation(p, pulls, error):
    ...         return 2 * math.exp(-pulls * error * error)
    >>> Cautious().sufficient_pulls(0.5, horizon=10)
    96
    >>> Cautious().learner(arms=2, horizon=10).ask()
    0
    """

    pending = ("impute", "ignore")
    needs = ("horizon",)
    helpers: ClassVar[tuple[str, ...]] = ("width", "deviation")
    helper_arguments = MappingProxyType(
        {"width": ("p", "pulls", "deviation"), "deviation": ("p", "pulls", "error")}
    )
    cost_per_round = "a square root, and O(log K) for the arg-max"

    def width(p, pulls: float, deviation: Kernel) -> float:
        """Return V(N, delta): the least error whose deviation is at most delta."""
        return least_error(p, pulls, deviation)

    def update(  # type: ignore[override]
        p, s: IndexPolicy.State, arm: int, reward: float, width: Kernel, deviation: Kernel
    ) -> None:
        """Count the pull and update the bound of the arm."""
        pulls = s.pulls[arm] + 1.0
        total = s.totals[arm] + reward
        s.pulls[arm] = pulls
        s.totals[arm] = total
        argmin_update(s.index, p.arms, arm, -(total / pulls + width(p, pulls, deviation)))

    def sufficient_pulls(self, gap: float, *, horizon: int) -> int:
        """Return the least number N of pulls with f(N, gap / 2) <= delta, for a gap above 0."""
        error = check_number("gap", gap, Range(gt=0)) / 2.0
        # The kernel runs in Python here, with a namespace in place of compiled parameters.
        p = SimpleNamespace(
            **self.parameters(), horizon=check_number("horizon", horizon, Range(ge=1))
        )
        deviation = cast(Any, type(self)).deviation
        # Doubling, then bisection: the deviation decreases in the number of pulls.
        low, high = 0, 1
        while deviation(p, float(high), error) > delta(p.horizon):
            low, high = high, 2 * high
        while high - low > 1:
            middle = (low + high) // 2
            enough = deviation(p, float(middle), error) <= delta(p.horizon)
            low, high = (low, middle) if enough else (middle, high)
        return high


def delta(horizon: float) -> float:
    """Return T^-2 / 2."""
    return 0.5 / (float(horizon) * horizon)


def log_term(horizon: float) -> float:
    """Return ln(2 / delta) = ln(4 T^2)."""
    return 2.0 * math.log(2.0 * horizon)


def least_error(p: Any, pulls: float, deviation: Kernel) -> float:
    """Return the least error whose deviation is at most delta."""
    # For few pulls the width exceeds 1: double first. The upper end is returned, since its
    # deviation is at most delta for certain.
    low, high = 0.0, 1.0
    while deviation(p, pulls, high) > delta(p.horizon):
        low, high = high, 2.0 * high
    for _ in range(_HALVINGS):
        middle = 0.5 * (low + high)
        if deviation(p, pulls, middle) <= delta(p.horizon):
            high = middle
        else:
            low = middle
    return high
