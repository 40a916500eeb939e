"""Problem of the threshold bandit: the arms, their random samples, and the rounds' thresholds."""

from collections.abc import Mapping
from typing import Any, Final, Self, get_args

import numpy as np

from keyhole.distributions import Replay
from keyhole.distributions.sampler_dispatch import combine_distributions, with_sampler
from keyhole.policy import Environment, FloatArray, IntArray
from keyhole.policy import Problem as AnyProblem
from keyhole.spec_values import ProblemFactory
from keyhole.stochastic.setting import suboptimality_gaps
from keyhole.threshold.distributions import list_arms, parse_arms, survival_function
from keyhole.threshold.environment import ThresholdEnvironment
from keyhole.threshold.setting import SETTING, Feedback
from keyhole.threshold.survival_estimators import check_integers
from keyhole.threshold.threshold_sequences import ThresholdSequence, parse_sequence
from keyhole.validation import Range, SequenceLike, check_choice, check_integer, check_vector

_UNIT: Final = Range(ge=0, le=1)
_SUM_TOLERANCE: Final = 1e-9


class Problem(AnyProblem):
    r"""Threshold problem: samples are levels from 0 to m; the reward is 1 at or above a threshold.

    :math:`F_i(j)` is the chance that a sample of arm i is at least j, :math:`c_t` the threshold of
    round t, and :math:`I_t` the arm pulled. Thresholds are from 1 to m, the number of levels. The
    metrics of `keyhole.simulate` are:

    - ``regret``, the sum over rounds of :math:`\max_i F_i(c_t) - F_{I_t}(c_t)` (Abernethy et al.
      2016, section 3);
    - ``wrong_best``, the number of levels at which the policy recommends an arm that is not the
      best;
    - ``settled_levels``, the number of levels with a final choice, for policies that make one;
    - ``reached_share``, the share of rounds in which the sample reached the threshold;
    - ``lemma_4_misses``, the share of the policy's estimates of :math:`F_i(j)` that are off by at
      least a width that an error reaches with a chance of at most 5 %, by Lemma 4.

    With ``details=True`` there are also:

    - ``cumulative_reward``;
    - ``observations``, the number of uncensored samples;
    - ``wrong_settled``, the number of levels that are settled on an arm that is not the best;
    - ``lemma_3_misses``, the share of arms whose estimate at some level is off by at least the
      5 % width of Lemma 3 (the lemma is about uncensored feedback);
    - ``hoeffding_misses``, the share of estimates that are off by at least Hoeffding's 5 % width,
      half the width of Lemma 4;
    - for each arm its ``pulls``, and its ``wrong_pulls``: those at thresholds for which another arm
      is better.

    Parameters
    ----------
    survival : sequence of sequences of float, shape (arms, levels), or mapping
        For each arm the chances that a sample reaches level 1, 2, ..., m. They are in [0, 1] and
        do not rise; the first may be below 1. An arm can also be a distribution of its samples: a
        `CustomDistribution`, or a frozen distribution of `scipy.stats` on the whole numbers from 0,
        whose values above m count as m. In a mapping the keys are the names of the arms.
    feedback : {"uncensored", "censored"}
        Whether all samples are seen, or only those below the threshold.
    order : ThresholdSequence, str or mapping, default "iid"
        The sequence of thresholds: see `keyhole.threshold.threshold_sequences`.
    levels : int, optional
        The number of levels m, at least 1. It is needed if no distribution determines it.

    Raises
    ------
    TypeError, ValueError
        If a value is not allowed.

    Examples
    --------
    >>> problem = Problem(
    ...     [[0.9, 0.5, 0.2], [0.7, 0.6, 0.4]], feedback="censored", order="cyclic"
    ... )
    >>> problem.best
    array([0, 1, 1])
    >>> problem.gaps
    array([[0. , 0.1, 0.2],
           [0.2, 0. , 0. ]])
    """

    setting = SETTING

    def __init__(
        self,
        survival: SequenceLike | Mapping[Any, object],
        *,
        feedback: Feedback,
        order: ThresholdSequence | str | dict[str, object] = "iid",
        levels: int | None = None,
    ) -> None:
        self.distributions, m, self.arm_names = parse_arms(survival, levels)
        self.survival: FloatArray = np.array(
            [survival_function(distribution, m) for distribution in self.distributions]
        )
        self.feedback: Feedback = check_choice("feedback", feedback, get_args(Feedback))
        self.order = parse_sequence(order)
        self.rounds = self.order.rounds
        self._sampler = combine_distributions(self.distributions)
        self._order_values = self.order.truth(self.levels)

    @classmethod
    def from_mass(
        cls,
        mass: SequenceLike | Mapping[Any, object],
        *,
        feedback: Feedback,
        order: ThresholdSequence | str | dict[str, object] = "iid",
    ) -> Self:
        """Make a problem from the chances of each level.

        Parameters
        ----------
        mass : sequence of sequences of float, shape (arms, levels + 1), or mapping
            For each arm the chances of the levels 0, 1, ..., m, which must sum to 1. In a mapping
            the keys are the names of the arms.
        feedback : {"uncensored", "censored"}
            Whether all samples are seen, or only those below the threshold.
        order : ThresholdSequence, str or mapping, default "iid"
            The sequence of thresholds: see `keyhole.threshold.threshold_sequences`.

        Returns
        -------
        Problem
            The problem.

        Raises
        ------
        TypeError, ValueError
            If a value is not allowed.

        Examples
        --------
        >>> Problem.from_mass([[0.25, 0.25, 0.5]], feedback="censored").survival
        array([[0.75, 0.5 ]])
        """
        fields, arm_entries, names = list_arms("mass", mass)
        level_count = len(check_vector(fields[0], arm_entries[0], _UNIT))
        if level_count < 2:
            raise ValueError("mass must have chances of at least levels 0 and 1, got only level 0")
        rows = []
        for field, entry in zip(fields, arm_entries, strict=True):
            row = check_vector(field, entry, _UNIT)
            if len(row) != level_count:
                raise ValueError(
                    f"{field} must have as many levels as {fields[0]}, {level_count}; got "
                    f"{len(row)}"
                )
            if abs(row.sum() - 1.0) > _SUM_TOLERANCE:
                raise ValueError(f"{field} must sum to 1, got {row.sum():g}")
            rows.append(row)
        chances = np.array(rows)
        survival = np.cumsum(chances[:, :0:-1], axis=1)[:, ::-1]
        # If level 0 has no chance, the chance to reach level 1 is exactly 1, although rounding may
        # leave the sum of the other chances below or above 1.
        survival[:, 0] = 1.0 - chances[:, 0]
        # Rounding may make a chance exceed the chance at the level below, which would be refused.
        survival = np.minimum.accumulate(survival, axis=1)
        arms = survival if names is None else dict(zip(names, survival, strict=True))
        return cls(arms, feedback=feedback, order=order)

    @classmethod
    def replay(
        cls,
        samples: SequenceLike | Mapping[Any, object],
        levels: int,
        *,
        feedback: Feedback,
        order: ThresholdSequence | str | dict[str, object] = "iid",
    ) -> Self:
        """Make a problem whose arms draw from recorded samples, with replacement.

        Parameters
        ----------
        samples : sequence or mapping of sequences of int
            The recorded samples of each arm, from 0 to `levels`; at least one for each arm.
        levels : int
            m, the number of levels, at least 1.
        feedback : {"uncensored", "censored"}
            Whether all samples are seen, or only those below the threshold.
        order : ThresholdSequence, str or mapping, default "iid"
            The sequence of thresholds: see `keyhole.threshold.threshold_sequences`.

        Returns
        -------
        Problem
            The problem; its survival functions are the shares of the recorded samples that reach
            the levels.

        Raises
        ------
        TypeError, ValueError
            If a value is not allowed.

        Examples
        --------
        >>> Problem.replay([[0, 1, 2, 2], [1, 1]], 2, feedback="uncensored").survival
        array([[0.75, 0.5 ],
               [1.  , 0.  ]])
        """
        m = check_integer("levels", levels, Range(ge=1))
        fields, arm_entries, names = list_arms("samples", samples)
        pairs = zip(fields, arm_entries, strict=True)
        arms: Any = [Replay(check_integers(field, row, Range(ge=0, le=m))) for field, row in pairs]
        if names is not None:
            arms = dict(zip(names, arms, strict=True))
        return cls(arms, feedback=feedback, order=order, levels=m)

    def __repr__(self) -> str:
        """Return the sizes, the feedback and the sequence of thresholds."""
        return (
            f"Problem({self.arms} arms, {self.levels} levels, {self.feedback} feedback, "
            f"order={self.order})"
        )

    @property
    def arms(self) -> int:
        """The number of arms."""
        return len(self.survival)

    @property
    def levels(self) -> int:
        """The number of levels."""
        return int(self.survival.shape[1])

    @property
    def censored(self) -> int:
        """Whether samples that reach the threshold are censored, 0 or 1."""
        return SETTING.modes.index(self.feedback)

    @property
    def best(self) -> IntArray:
        """The best arm at each level, shape (levels,); of equally good arms, the first."""
        return np.asarray(np.argmax(self.survival, axis=0))

    @property
    def gaps(self) -> FloatArray:
        """Suboptimality gap of each arm at each level, shape (arms, levels).

        Gaps up to 1e-12 are set to 0. Rounding errors are smaller than this.
        """
        return suboptimality_gaps(self.survival)

    @property
    def ties(self) -> IntArray:
        """The levels, from 1, at which several arms are the best."""
        return 1 + np.flatnonzero((self.gaps == 0.0).sum(axis=0) > 1)

    @property
    def environment(self) -> type[Environment]:
        """The environment class of the problem."""
        return with_sampler(ThresholdEnvironment, self._sampler.name, self._sampler.draw)

    def resized(self, arms: int) -> "Problem":
        """Return a problem of `arms` arms, with these survival functions again and again."""
        survival = self.survival[np.arange(arms) % self.arms]
        return Problem(survival, feedback=self.feedback, order=self.order)

    def truth(self) -> dict[str, object]:
        """Return the fields of the environment, which no policy sees."""
        return {
            "arms": self.arms,
            "levels": self.levels,
            "censored": self.censored,
            "survival": self.survival,
            "loss": self.gaps,
            **self._order_values,
            **self._sampler.truth(),
        }


PROBLEM_FACTORIES: Final = {
    "survival": ProblemFactory("for each arm the chances to reach level 1, 2, ..., m", Problem),
    "mass": ProblemFactory(
        "for each arm the chances of the levels 0, 1, ..., m", Problem.from_mass
    ),
    "samples": ProblemFactory(
        "recorded samples, from 0 to the number of levels: a list for each arm", Problem.replay
    ),
}
