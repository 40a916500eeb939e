"""Reward scale: rewards in the user's unit, rescaled to [0, 1]."""

from dataclasses import dataclass

import numpy as np

from keyhole.resource.cost_functions import PIECE, Function, KnownFunction
from keyhole.validate import Range, check_number


@dataclass(frozen=True)
class RewardRange:
    r"""Linear map of rewards between two numbers (in euros, say) to [0, 1], as policies expect.

    With :math:`R = a + s R'` and :math:`s = b - a`, a gain is

    .. math:: \nu = a + s \nu', \qquad c' = c / s, \qquad \lambda' = (\lambda + a) / s,

    so that the best pair is the same, and regret is s times as large.

    Parameters
    ----------
    low, high : float
        a and b, the smallest and the largest possible reward.

    References
    ----------
    Bengs and Huellermeier (2022), section 2, footnote 3: cost and penalty are on the scale of the
    rewards, which is [0, 1] for simplicity.

    Examples
    --------
    >>> from keyhole.resource import RCUCB, Power
    >>> euros = RewardRange(low=0, high=50)
    >>> learner = RCUCB().learner(
    ...     arms=2,
    ...     limits=[10, 60],
    ...     cost=euros.cost(Power(slope=0.02)),
    ...     penalty=euros.penalty(Power(constant=5)),
    ... )
    >>> learner.ask()
    (0, 60.0)
    >>> learner.tell(reward=euros.reward(30), consumption=12)
    """

    low: float
    high: float

    def __post_init__(self) -> None:
        """Check the ends."""
        check_number("low", self.low)
        check_number("high", self.high, Range(gt=self.low))

    @property
    def width(self) -> float:
        """Difference of the ends."""
        return self.high - self.low

    def reward(self, reward: float) -> float:
        """Return a reward in [low, high] rescaled to [0, 1]."""
        return (
            check_number("reward", reward, Range(ge=self.low, le=self.high)) - self.low
        ) / self.width

    def cost(self, cost: KnownFunction) -> KnownFunction:
        """Return a cost function rescaled for policies, from one in the unit of the rewards."""
        return self._scaled(cost, 0.0)

    def penalty(self, penalty: KnownFunction) -> KnownFunction:
        """Return a penalty function rescaled for policies, from one in the unit of the rewards.

        It must be at least ``-low``, so that exceeding a limit is not better than the lowest
        reward.
        """
        least = float(penalty(0.0))
        if least + self.low < 0.0:
            raise ValueError(
                f"penalty must be at least {-self.low:g}, where the lowest reward is "
                f"{self.low:g}, got {least:g} at 0"
            )
        return self._scaled(penalty, self.low)

    def gain(self, gain: float) -> float:
        """Return a gain, as of `keyhole.resource.Problem.gains`, in the unit of the rewards."""
        return self.low + self.width * gain

    def _scaled(self, function: KnownFunction, shift: float) -> KnownFunction:
        if not isinstance(function, Function):
            return lambda x: (function(x) + shift) / self.width
        pieces = function.pieces.reshape(-1, PIECE).copy()
        pieces[:, 1:4] /= self.width  # constant, slope, factor
        pieces[:, 1] += shift / self.width
        return Function(np.ascontiguousarray(pieces))
