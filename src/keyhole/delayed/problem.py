"""Problem with late rewards: the options (arms), their random rewards and the delays."""

from collections.abc import Mapping
from typing import Any, Final, Self, get_args

import numpy as np

from keyhole.contract.arm_names import split_names
from keyhole.delayed.delay_distributions import KERNELS, Constant, Pairs, check_delays, parse_delay
from keyhole.delayed.environment import AnonymousEnvironment, NamedEnvironment, make_environment
from keyhole.delayed.setting import SETTING, Feedback
from keyhole.distributions import NumberDistribution
from keyhole.distributions.distribution_parser import RewardProblem
from keyhole.distributions.empirical_distribution import (
    check_recorded,
    recorded_names,
    samples_by_arm,
)
from keyhole.distributions.reward_distributions import UNIT
from keyhole.distributions.sampler_dispatch import (
    CombinedSampler,
    combine_distributions,
    format_values,
)
from keyhole.policy import Environment, FloatArray
from keyhole.spec_values import ProblemFactory
from keyhole.validate import SequenceLike, check_choice


class Problem(RewardProblem):
    r"""Problem whose rewards, in [0, 1], arrive with a delay.

    The reward of a pull in round t arrives at the end of round t + delay, or never if that is after
    the horizon. The metrics of `keyhole.simulate` are ``regret``, the cumulative pseudo-regret
    :math:`\sum_t \mu^* - \mu_{I_t}` of the rewards that are generated, whether or not they arrive
    in time; and for policies that play in phases ``phase``, the number of the phase, and
    ``eliminated_at``, the round in which an arm was first given up, or the horizon and one. With
    ``details=True`` also ``cumulative_reward``, of the rewards that are generated;
    ``observations``, the number of sums (one a round) or with named feedback of rewards that
    arrived; and for each arm ``pulls`` and ``estimate_errors``: the error of its estimate in the
    last phase, in units of half that phase's tolerance, which the lemmas allow.

    Parameters
    ----------
    means : sequence of float or distribution, shape (arms,), or mapping
        The mean reward of each arm, in [0, 1], in (0, 1) for all distributions but Bernoulli's; or
        the distribution of its rewards, with values in [0, 1]: see `keyhole.distributions`. A
        mapping has them by the names of the arms.
    delay : distribution or mapping
        The distribution of the delays, of whole numbers: see `keyhole.distributions` and
        `keyhole.delayed.delay_distributions`; or, as in a spec, its name with its parameters,
        ``{"distribution": "Poisson", "expected": 20}``.
    feedback : {"anonymous", "named"}, default "anonymous"
        Whether only the sum of arriving rewards is seen, or each reward with its arm.
    distribution : {"bernoulli", "beta", "truncated-normal"}, default "bernoulli"
        The distribution of the arms whose means are given.
    concentration : float, optional
        For beta distributions, at least 10**-6: an arm of mean m has the shapes ``m *
        concentration`` and ``(1 - m) * concentration``.
    scale : float, optional
        For truncated normal distributions, in [0.001, 10]: the standard deviation before truncation
        to [0, 1]. The means are those after it.

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
        if self.delay is None:
            self._set_arms(*_recorded_pairs(means))
            return
        super().__init__(means, distribution=distribution, concentration=concentration, scale=scale)

    @classmethod
    def replay(cls, rewards: Any, delays: Any, *, feedback: Feedback = "anonymous") -> Self:
        """Make a problem whose arms draw from recorded pairs of a reward and its delay.

        Parameters
        ----------
        rewards : sequence or mapping of sequences of float, or data frame
            The recorded rewards of each arm, in [0, 1]; at least one each. A data frame has the
            columns ``arm`` and ``reward``.
        delays : sequence or mapping of sequences of int, or data frame
            For each of them its delay in rounds, at least 0. A data frame, which may be the same,
            has the columns ``arm`` and ``delay``.
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
        # A mapping may list its arms in any order, so delays are looked up by the arm's name.
        rewards_by_arm = samples_by_arm("rewards", rewards)
        delays_by_arm = samples_by_arm("delays", delays, "delay")
        if delays_by_arm.keys() != rewards_by_arm.keys():
            expected_arms, arms = (
                ", ".join(map(repr, values)) for values in (rewards_by_arm, delays_by_arm)
            )
            raise ValueError(
                f"delays must have the arms of rewards, {expected_arms}; got {arms or 'none'}"
            )
        pairs = []
        checked_rewards = check_recorded("rewards", rewards_by_arm, UNIT)
        for arm, arm_rewards in zip(rewards_by_arm, checked_rewards, strict=True):
            # A reward and its delay stay together: late rewards may differ from early ones.
            arm_delays = check_delays(f"delays[{arm!r}]", delays_by_arm[arm])
            if len(arm_delays) != len(arm_rewards):
                raise ValueError(
                    f"delays[{arm!r}] must have {len(arm_rewards)} entries, got {len(arm_delays)}"
                )
            pairs.append(Pairs(arm_rewards, arm_delays))
        names = recorded_names("rewards", rewards)
        named = pairs if names is None else dict(zip(names, pairs, strict=True))
        return cls(named, None, feedback=feedback)

    def __repr__(self) -> str:
        """Return the means, the delay and the feedback, shortened."""
        delay = "recorded" if self.delay is None else self.delay
        means = format_values(self.means, self.arm_names)
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
        """Return a Bernoulli problem of `arms` arms that repeats the means."""
        # Recorded pairs belong to their arms and cannot be given to others.
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


def _recorded_pairs(arms: Any) -> tuple[FloatArray, list[Pairs], tuple[object, ...] | None]:
    """Return the means, distributions and names of arms with pairs of reward and delay."""
    arms, names = split_names("means", arms)
    if not isinstance(arms, list) or not all(isinstance(arm, Pairs) for arm in arms):
        raise TypeError("delay must be a distribution of delays, got None")
    return np.array([arm.mean for arm in arms]), arms, names


PROBLEM_FACTORIES: Final = {
    "means": ProblemFactory("the mean reward of each arm, in [0, 1]", Problem),
    "rewards": ProblemFactory(
        "recorded rewards, a list for each arm; delays are those recorded with them", Problem.replay
    ),
}
