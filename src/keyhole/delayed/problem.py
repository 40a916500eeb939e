"""Problem with late rewards: the options (arms), their random rewards and the delays."""

from collections.abc import Mapping
from typing import Any, Final, Self, get_args

import numpy as np

from keyhole.contract.arm_names import split_named_arms
from keyhole.delayed.delay_distributions import KERNELS, Constant, Pairs, check_delays, parse_delay
from keyhole.delayed.environment import AnonymousEnvironment, NamedEnvironment, make_environment
from keyhole.delayed.setting import SETTING, Feedback
from keyhole.distributions import NumberDistribution
from keyhole.distributions.distribution_parser import RewardProblem
from keyhole.distributions.empirical_distribution import (
    check_recorded,
    names_of_recorded_arms,
    samples_by_arm,
)
from keyhole.distributions.reward_distributions import UNIT
from keyhole.distributions.sampler_dispatch import (
    CombinedSampler,
    combine_distributions,
    format_first_values,
)
from keyhole.policy import Environment, FloatArray
from keyhole.spec_values import ProblemFactory
from keyhole.validation import SequenceLike, check_choice


class Problem(RewardProblem):
    r"""Problem whose rewards, in [0, 1], arrive with a delay.

    The reward of a pull in round t arrives at the end of round t + delay, or never if this round is
    after the horizon. The metrics of `keyhole.simulate` are:

    - ``regret``, the cumulative pseudo-regret :math:`\sum_t (\mu^* - \mu_{I_t})`. Here
      :math:`\mu^*` is the largest mean reward and :math:`I_t` the arm pulled in round t, whether or
      not its reward arrives by the horizon;
    - for policies that play in phases, ``phase``, the number of the current phase, and
      ``eliminated_at``, the round in which an arm was first given up, or the horizon plus 1 if none
      was.

    With ``details=True`` there are also:

    - ``cumulative_reward``, the sum of all rewards, whether or not they arrive by the horizon;
    - ``observations``, the number of sums that arrived (one in each round) or, with named feedback,
      the number of rewards that arrived;
    - for each arm ``pulls`` and ``estimate_errors``. The latter is the error of the arm's estimate
      at the end of its last complete phase, divided by the error that the lemmas of
      `keyhole.delayed.bounds` allow: half the tolerance of the phase, see `PhasePolicy`.

    Parameters
    ----------
    means : sequence of float or distribution, shape (arms,), or mapping
        The mean reward of each arm, in [0, 1] for Bernoulli distributions and in (0, 1) for others;
        or the distribution of its rewards, with values in [0, 1]: see `keyhole.distributions`. In a
        mapping the keys are the names of the arms.
    delay : distribution or mapping
        The distribution of the delays, on whole numbers: see `keyhole.distributions` and
        `keyhole.delayed.delay_distributions`. As in a spec, it may be given as its name with its
        parameters, ``{"distribution": "Poisson", "expected": 20}``.
    feedback : {"anonymous", "named"}, default "anonymous"
        Whether only the sum of arriving rewards is seen, or each reward with its arm.
    distribution : {"bernoulli", "beta", "truncated-normal"}, default "bernoulli"
        The distribution of the arms whose means are given.
    concentration : float, optional
        Parameter of beta distributions, at least 10**-6. An arm of mean m has the shapes ``m *
        concentration`` and ``(1 - m) * concentration``.
    scale : float, optional
        Parameter of truncated normal distributions, in [0.001, 10]. It is the standard deviation
        before truncation to [0, 1]; `means` are the means after truncation.

    Raises
    ------
    TypeError, ValueError
        If a value is not allowed.

    Examples
    --------
    >>> from keyhole.delayed import Poisson
    >>> problem = Problem(means=[0.5, 0.6], delay=Poisson(20))
    >>> problem.gaps.round(2), problem.delay.mean
    (array([0.1, 0. ]), 20.0)
    """

    setting = SETTING

    def __init__(
        self,
        means: SequenceLike | Mapping[Any, object],
        delay: NumberDistribution | Mapping[str, Any] | None,
        *,
        feedback: Feedback = "anonymous",
        distribution: str = "bernoulli",
        concentration: float | None = None,
        scale: float | None = None,
    ) -> None:
        self.feedback: Feedback = check_choice("feedback", feedback, get_args(Feedback))
        self.delay: NumberDistribution | None = None if delay is None else parse_delay(delay)
        if self.delay is None:  # `replay` gives pairs of reward and delay in place of means
            self._set_arms(*_parse_pairs(means))
            return
        super().__init__(means, distribution=distribution, concentration=concentration, scale=scale)

    @classmethod
    def replay(cls, rewards: Any, delays: Any, *, feedback: Feedback = "anonymous") -> Self:
        """Make a problem whose arms draw from recorded pairs of a reward and its delay.

        Parameters
        ----------
        rewards : sequence or mapping of sequences of float, or data frame
            The recorded rewards of each arm, in [0, 1], at least one for each arm. A data frame has
            the columns ``arm`` and ``reward``.
        delays : sequence or mapping of sequences of int, or data frame
            The delay of each reward in rounds, at least 0. A data frame has the columns ``arm`` and
            ``delay``; it may be the data frame of the rewards.
        feedback : {"anonymous", "named"}, default "anonymous"
            Whether only the sum of arriving rewards is seen, or each reward with its arm.

        Returns
        -------
        Problem
            The problem: a pull draws one of the arm's pairs, each equally likely. The means are
            those of the rewards; `delay` is None.

        Raises
        ------
        TypeError, ValueError
            If a value is not allowed.

        Examples
        --------
        >>> problem = Problem.replay([[1, 0, 0, 0], [1, 1]], [[3, 0, 0, 0], [1, 9]])
        >>> problem.means, problem.delay
        (array([0.25, 1.  ]), None)
        """
        # Two mappings may list the arms in different orders, so delays are looked up by name.
        rewards_by_arm = samples_by_arm("rewards", rewards)
        delays_by_arm = samples_by_arm("delays", delays, "delay")
        if delays_by_arm.keys() != rewards_by_arm.keys():
            expected_arms, got_arms = (
                ", ".join(map(repr, values)) for values in (rewards_by_arm, delays_by_arm)
            )
            raise ValueError(
                f"delays must have the arms of rewards, {expected_arms}; got {got_arms or 'none'}"
            )
        pairs = []
        checked_rewards = check_recorded("rewards", rewards_by_arm, UNIT)
        for arm, arm_rewards in zip(rewards_by_arm, checked_rewards, strict=True):
            # A reward and its delay are drawn together, since late rewards may differ from others.
            arm_delays = check_delays(f"delays[{arm!r}]", delays_by_arm[arm])
            if len(arm_delays) != len(arm_rewards):
                raise ValueError(
                    f"delays[{arm!r}] must have {len(arm_rewards)} entries, got {len(arm_delays)}"
                )
            pairs.append(Pairs(arm_rewards, arm_delays))
        names = names_of_recorded_arms("rewards", rewards)
        arm_pairs = pairs if names is None else dict(zip(names, pairs, strict=True))
        return cls(arm_pairs, None, feedback=feedback)

    def __repr__(self) -> str:
        """Return the means, the delay and the feedback, shortened."""
        delay = "recorded" if self.delay is None else self.delay
        means = format_first_values(self.means, self.arm_names)
        return f"Problem({self.arms} arms, means={means}, delay={delay}, {self.feedback})"

    @property
    def gaps(self) -> FloatArray:
        """Suboptimality gap of each arm, shape (arms,)."""
        return np.asarray(self.means.max() - self.means)

    @property
    def named(self) -> int:
        """Whether rewards arrive with their arm, 0 or 1."""
        return SETTING.modes.index(self.feedback)

    @property
    def environment(self) -> type[Environment]:
        """The environment class of the problem."""
        base = NamedEnvironment if self.named else AnonymousEnvironment
        return make_environment(
            base, self._sampler, self._delay_sampler.draw if self._delay_sampler else None
        )

    @property
    def _delay_sampler(self) -> CombinedSampler | None:
        return None if self.delay is None else combine_distributions([self.delay], included=KERNELS)

    def resized(self, arms: int) -> "Problem":
        """Return a Bernoulli problem of `arms` arms, with these means again and again."""
        # Recorded delays belong to their arms, so a short constant delay replaces them.
        delay = Constant(3) if self.delay is None else self.delay
        return Problem(np.resize(self.means, arms), delay, feedback=self.feedback)

    def truth(self) -> dict[str, object]:
        """Return the fields of the environment, which no policy sees."""
        delay = self._delay_sampler.rows[0] if self._delay_sampler else np.zeros(1)
        return super().truth() | {
            "best": float(self.means.max()),
            "means": self.means,
            "span": len(delay),
            "delay": delay,
        }


def _parse_pairs(arms: Any) -> tuple[FloatArray, list[Pairs], tuple[object, ...] | None]:
    """Return the means, distributions and names of arms with pairs of reward and delay."""
    arms, names = split_named_arms("means", arms)
    if not isinstance(arms, list) or not all(isinstance(arm, Pairs) for arm in arms):
        raise TypeError("delay must be a distribution of delays, got None")
    return np.array([arm.mean for arm in arms]), arms, names


PROBLEM_FACTORIES: Final = {
    "means": ProblemFactory("the mean reward of each arm, in [0, 1]", Problem),
    "rewards": ProblemFactory(
        "recorded rewards, a list for each arm; delays are those recorded with them", Problem.replay
    ),
}
