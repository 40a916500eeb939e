"""The instance: arms and the laws of their rewards."""

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from keyhole.contract.memory import FloatArray
from keyhole.contract.setting import Setting
from keyhole.contract.world import World
from keyhole.stochastic.environment import WORLDS
from keyhole.stochastic.gaps import gaps_of
from keyhole.stochastic.laws import Rewards, replayed, rewards_of
from keyhole.stochastic.setting import SETTING


class Problem:
    r"""Arms with rewards in [0, 1].

    The metrics of `keyhole.simulate` are ``regret``, the cumulative pseudo-regret
    :math:`\sum_t \mu^* - \mu_{I_t}`, and ``best_share``, the share of rounds in which a best arm
    was pulled; with ``details=True`` further ``cumulative_reward``, ``observations``, the rewards
    that were seen, and for each arm ``pulls``.

    Parameters
    ----------
    means : sequence of float, shape (arms,)
        The mean reward of each arm, in [0, 1]; in (0, 1) for all laws but Bernoulli's.
    law : {"bernoulli", "beta", "truncated-normal"}, default "bernoulli"
        The law of the rewards.
    concentration : float, optional
        For beta laws, at least 10**-6: an arm of mean m has the shapes ``m * concentration`` and
        ``(1 - m) * concentration``; the larger, the closer rewards are to their mean.
    scale : float, optional
        For truncated normal laws, in [0.001, 10]: the standard deviation before truncation to
        [0, 1]. The means are those after it.

    Raises
    ------
    TypeError, ValueError
        If a value is not allowed.

    Examples
    --------
    >>> problem = Problem(means=[0.2, 0.45, 0.7])
    >>> problem.gaps
    array([0.5 , 0.25, 0.  ])
    """

    def __init__(
        self,
        means: ArrayLike,
        *,
        law: str = "bernoulli",
        concentration: float | None = None,
        scale: float | None = None,
    ) -> None:
        self._rewards = rewards_of(means, law, concentration=concentration, scale=scale)

    @classmethod
    def replay(cls, samples: Sequence[ArrayLike]) -> Self:
        """Make a problem whose arms give back recorded rewards, drawn with replacement.

        Parameters
        ----------
        samples : sequence of sequences of float
            The recorded rewards of each arm, in [0, 1]; at least one each.

        Returns
        -------
        Problem
            The problem; its means are exact.

        Raises
        ------
        TypeError, ValueError
            If a value is not allowed.

        Examples
        --------
        >>> Problem.replay([[0, 1, 1, 0], [0.25]]).means
        array([0.5 , 0.25])
        """
        problem = cls.__new__(cls)
        problem._rewards = replayed(samples)
        return problem

    _rewards: Rewards

    def __repr__(self) -> str:
        """Return law and means, shortened."""
        law = self._rewards.law.__name__.lower()
        shown = ", ".join(f"{m:g}" for m in self.means[:6]) + (", ..." if self.arms > 6 else "")
        return f"Problem({self.arms} {law} arms, means=[{shown}])"

    @property
    def setting(self) -> Setting:
        """The classical bandit."""
        return SETTING

    @property
    def means(self) -> FloatArray:
        """The mean reward of each arm, shape (arms,)."""
        return self._rewards.means

    @property
    def arms(self) -> int:
        """How many arms."""
        return len(self.means)

    @property
    def gaps(self) -> FloatArray:
        """How far each mean is below the best, shape (arms,); up to 1e-12 counts as nothing."""
        return gaps_of(self.means)

    @property
    def best(self) -> int:
        """The arm with the highest mean, the lowest of equals."""
        return int(np.argmax(self.means))

    @property
    def world(self) -> type[World]:
        """The compiled side of the arms."""
        return WORLDS[self._rewards.law]

    def resized(self, arms: int) -> "Problem":
        """Return a Bernoulli problem of `arms` arms with the same means, over and over."""
        return Problem(np.resize(self.means, arms))

    def truth(self) -> dict[str, Any]:
        """Return what the world reads; no policy sees it."""
        return {"arms": self.arms, "gaps": self.gaps, **self._rewards.values}

    def fact(self, name: str) -> Any:
        """Return what a policy may be told under this name."""
        return getattr(self, name)
