"""Problem of the stochastic bandit: the options (arms) and the distributions of their rewards."""

from typing import Any, Final, Self

import numpy as np

from keyhole.distributions.distribution_parser import RewardProblem
from keyhole.distributions.empirical_distribution import replay_by_name
from keyhole.distributions.reward_distributions import UNIT
from keyhole.distributions.sampler_dispatch import format_first_values, with_sampler
from keyhole.policy import Environment, FloatArray
from keyhole.spec_values import ProblemFactory
from keyhole.stochastic.environment import BanditEnvironment
from keyhole.stochastic.setting import SETTING, suboptimality_gaps


class Problem(RewardProblem):
    r"""Stochastic bandit problem: arms with rewards in [0, 1].

    The metrics of `keyhole.simulate` are ``regret``, the cumulative pseudo-regret
    :math:`\sum_t (\mu^* - \mu_{I_t})` with :math:`\mu^*` the largest mean and :math:`I_t` the arm
    pulled in round t, and ``best_share``, the share of rounds in which a best arm was pulled. With
    ``details=True`` there are also ``cumulative_reward``, ``observations``, the number of rewards
    seen, and ``pulls`` of each arm.

    Parameters
    ----------
    means : sequence of float or distribution, shape (arms,), or mapping
        The mean reward of each arm, in [0, 1] for Bernoulli distributions and in (0, 1) for others;
        or the distribution of its rewards, with values in [0, 1]: see `keyhole.distributions`. In a
        mapping the keys are the names of the arms.
    distribution : {"bernoulli", "beta", "truncated-normal"}, default "bernoulli"
        The distribution of the arms whose means are given.
    concentration : float, optional
        Parameter of beta distributions, at least 10**-6. An arm of mean m has the shapes ``m *
        concentration`` and ``(1 - m) * concentration``. The larger it is, the closer rewards are to
        their mean.
    scale : float, optional
        Parameter of truncated normal distributions, in [0.001, 10]. It is the standard deviation
        before truncation to [0, 1]; `means` are the means after truncation.

    Attributes
    ----------
    means : ndarray of float64, shape (arms,)
        The mean rewards.
    distributions : list of keyhole.distributions.NumberDistribution
        The reward distributions.

    Raises
    ------
    TypeError, ValueError
        If a value is not allowed.

    Examples
    --------
    >>> problem = Problem(means=[0.2, 0.45, 0.7])
    >>> problem.gaps
    array([0.5 , 0.25, 0.  ])
    >>> from scipy import stats
    >>> Problem([stats.beta(2, 6), 0.5]).means.round(3)
    array([0.25, 0.5 ])
    >>> Problem({"red": 0.04, "blue": 0.05})  # metrics of an arm are then called pulls[red], ...
    Problem(2 bernoulli arms, means={'red': 0.04, 'blue': 0.05})
    """

    setting = SETTING

    @classmethod
    def replay(cls, samples: Any) -> Self:
        """Make a problem whose arms draw from recorded rewards, with replacement.

        Parameters
        ----------
        samples : sequence or mapping of sequences of float, or data frame
            The recorded rewards of each arm, in [0, 1], at least one for each arm. A data frame has
            the columns ``arm`` and ``reward``; its arms are in the order of their first appearance.

        Returns
        -------
        Problem
            The problem; its means are those of the recorded rewards.

        Raises
        ------
        TypeError, ValueError
            If a value is not allowed.

        Examples
        --------
        >>> Problem.replay([[0, 1, 1, 0], [0.25]]).means
        array([0.5 , 0.25])
        """
        return cls(replay_by_name(samples, UNIT))

    def __repr__(self) -> str:
        """Return the distribution and the means, shortened."""
        means = format_first_values(self.means, self.arm_names)
        return f"Problem({self.arms} {self._sampler.hyphenated_name} arms, means={means})"

    @property
    def gaps(self) -> FloatArray:
        """Suboptimality gap of each arm, shape (arms,); gaps up to 1e-12 are set to 0."""
        return suboptimality_gaps(self.means)

    @property
    def best(self) -> int:
        """The arm with the highest mean; of several such arms, the first."""
        return int(np.argmax(self.means))

    @property
    def environment(self) -> type[Environment]:
        """The environment class of the problem."""
        return with_sampler(BanditEnvironment, self._sampler.name, self._sampler.draw)

    def resized(self, arms: int) -> "Problem":
        """Return a Bernoulli problem of `arms` arms, with these means again and again."""
        return Problem(np.resize(self.means, arms))

    def truth(self) -> dict[str, object]:
        """Return the fields of the environment, which no policy sees."""
        return super().truth() | {"gaps": self.gaps}


PROBLEM_FACTORIES: Final = {
    "means": ProblemFactory("the mean reward of each arm, in [0, 1]", Problem),
    "samples": ProblemFactory("recorded rewards: a list for each arm", Problem.replay),
}
