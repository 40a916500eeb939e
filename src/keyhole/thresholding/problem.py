"""Problem of the thresholding bandit: the options (arms), their rewards, and the threshold."""

from collections.abc import Mapping, Sequence
from typing import Any, Final, Self, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from keyhole.contract.arm_names import order_by_name
from keyhole.distributions.distribution_parser import RewardProblem
from keyhole.distributions.empirical_distribution import Replay, replay_by_name
from keyhole.distributions.reward_distributions import UNIT
from keyhole.distributions.sampler_dispatch import format_first_values, with_sampler
from keyhole.policy import Environment, FloatArray
from keyhole.spec_values import ProblemFactory
from keyhole.thresholding.bounds import confidence_failure
from keyhole.thresholding.environment import (
    ConfidenceSequenceEnvironment,
    FiniteSampleEnvironment,
    FiniteSampleGoldEnvironment,
    GoldLabelEnvironment,
    RewardEnvironment,
)
from keyhole.thresholding.setting import SETTING
from keyhole.validation import (
    Range,
    SequenceLike,
    check_number,
    check_sequence,
    check_vector,
    short_repr,
)

Gold: TypeAlias = Sequence[bool | int | None] | Mapping[Any, bool | int | None]

# A mean this close to the threshold counts as equal to it. Rounding errors are smaller than this,
# and differences between the decimals that a user writes are larger.
_TOLERANCE: Final = 1e-12


class ReplayOnce(Replay):
    """Recorded rewards, drawn without replacement if all arms of the problem have this class."""


class Problem(RewardProblem):
    """Thresholding problem: arms with rewards in [0, 1], and a threshold for their means.

    An arm is *above* if its mean is at least the threshold. A mean that differs from the threshold
    by no more than 10**-12 counts as equal to it: so 0.1 + 0.2 reaches 0.3. The metrics of
    `keyhole.simulate` are ``aggregate_regret``, the number of arms whose label is wrong (the mean
    of this number over replications is the aggregate regret of Tao et al. 2019, eq. 3), and
    ``simple_regret``, which is 1 if any label is wrong (its mean is the simple regret).

    Parameters
    ----------
    means : sequence of float or distribution, shape (arms,), or mapping
        The mean reward of each arm, in [0, 1] for Bernoulli distributions and in (0, 1) for others;
        or the distribution of its rewards, with values in [0, 1]: see `keyhole.distributions`. In a
        mapping the keys are the names of the arms.
    threshold : float
        In (0, 1).
    distribution : {"bernoulli", "beta", "truncated-normal"}, default "bernoulli"
        The distribution of the arms whose means are given.
    concentration : float, optional
        Parameter of beta distributions, at least 10**-6. An arm of mean m has the shapes ``m *
        concentration`` and ``(1 - m) * concentration``. The larger it is, the closer rewards are to
        their mean.
    scale : float, optional
        Parameter of truncated normal distributions, in [0.001, 10]. It is the standard deviation
        before truncation to [0, 1]; `means` are the means after truncation.
    gold : sequence of bool or None, shape (arms,), or mapping, optional
        The gold label of each arm: True for above, False for below, None if there is no label. A
        mapping has the arms' names as keys. With gold labels there is also the metric
        ``gold_agreement``, the share of the arms with a gold label that get this label.

    Attributes
    ----------
    means : ndarray of float64, shape (arms,)
        The means.
    threshold : float
        The threshold.
    rounds : int or None
        The largest horizon. If samples are drawn without replacement, this is their number;
        otherwise it is None, for no limit.

    Raises
    ------
    TypeError, ValueError
        If a value is not allowed.

    Examples
    --------
    >>> problem = Problem(means=[0.2, 0.45, 0.7], threshold=0.5)
    >>> problem.labels
    array([False, False,  True])
    >>> problem.gaps.round(2)
    array([0.3 , 0.05, 0.2 ])
    >>> round(problem.hardness, 1)
    436.1
    """

    setting = SETTING

    def __init__(
        self,
        means: SequenceLike | Mapping[Any, object],
        threshold: float,
        *,
        distribution: str = "bernoulli",
        concentration: float | None = None,
        scale: float | None = None,
        gold: Gold | None = None,
    ) -> None:
        super().__init__(means, distribution=distribution, concentration=concentration, scale=scale)
        self.threshold = check_number("threshold", threshold, Range(gt=0, lt=1))
        self._without_replacement = all(
            isinstance(distribution, ReplayOnce) for distribution in self.distributions
        )
        # `numbers` has the recorded rewards of all arms.
        self.rounds = len(self._sampler.truth()["numbers"]) if self._without_replacement else None
        gold = order_by_name("gold", gold, self.arm_names)
        self._gold = None if gold is None else _parse_gold(gold, self.arms)

    @classmethod
    def replay(
        cls, samples: Any, threshold: float, *, replacement: bool = True, gold: Gold | None = None
    ) -> Self:
        """Make a problem whose arms draw from recorded rewards.

        The means are those of the rewards, and so are known exactly. For an arm whose rewards
        average to exactly the threshold, either label counts as right.

        Parameters
        ----------
        samples : sequence or mapping of sequences of float, or data frame
            The recorded rewards of each arm, in [0, 1], at least one for each arm. A data frame has
            the columns ``arm`` and ``reward``; its arms are in the order of their first appearance.
        threshold : float
            In (0, 1).
        replacement : bool, default True
            Whether samples are drawn with replacement. If not, there can be as many rounds as there
            are samples of all arms together. A pull of an arm whose samples are used up takes a
            round like any other, and its reward is their mean. Policies do not know how many
            samples an arm has.
        gold : sequence of bool or None, shape (arms,), or mapping, optional
            As for `Problem`.

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
        >>> problem = Problem.replay([[0, 1, 1], [0, 0], [0.5]], threshold=0.5)
        >>> problem.means.round(2), problem.free
        (array([0.67, 0.  , 0.5 ]), array([False, False,  True]))
        >>> Problem.replay([[0, 1, 1], [0, 0]], threshold=0.5, replacement=False).rounds
        5
        """
        if not isinstance(replacement, bool):
            raise TypeError(f"replacement must be True or False, got {replacement!r}")
        distribution = Replay if replacement else ReplayOnce
        return cls(replay_by_name(samples, UNIT, distribution), threshold, gold=gold)

    def __repr__(self) -> str:
        """Return the distribution, the means and the threshold, shortened."""
        gold = "" if self._gold is None else "gold-"
        return (
            f"Problem({self.arms} {gold}{self._sampler.hyphenated_name} arms, "
            f"means={format_first_values(self.means, self.arm_names)}, "
            f"threshold={self.threshold:g})"
        )

    @property
    def labels(self) -> NDArray[np.bool_]:
        """Mask of the arms whose mean is at least the threshold, shape (arms,)."""
        return np.asarray((self.means > self.threshold) | (self.gaps == 0.0))

    @property
    def gaps(self) -> FloatArray:
        """Distance of each mean from the threshold, shape (arms,)."""
        distances = np.abs(self.means - self.threshold)
        return np.where(distances > _TOLERANCE, distances, 0.0)

    @property
    def free(self) -> NDArray[np.bool_]:
        """Mask of the replayed arms whose mean is the threshold: either label is then right."""
        is_recorded = [isinstance(distribution, Replay) for distribution in self.distributions]
        return np.asarray((self.gaps == 0.0) & is_recorded)

    @property
    def hardness(self) -> float:
        """Sum of 1 / gap**2 over the arms that are not `free`; infinite if one has the gap 0."""
        gaps = self.gaps[~self.free]
        return float((gaps**-2.0).sum()) if (gaps > 0).all() else float("inf")

    @property
    def environment(self) -> type[Environment]:
        """The environment class of the problem."""
        if self._without_replacement:
            return FiniteSampleEnvironment if self._gold is None else FiniteSampleGoldEnvironment
        base = RewardEnvironment if self._gold is None else GoldLabelEnvironment
        return with_sampler(base, self._sampler.name, self._sampler.draw)

    def resized(self, arms: int) -> "Problem":
        """Return a Bernoulli problem of `arms` arms, with these means again and again."""
        return Problem(np.resize(self.means, arms), self.threshold)

    def truth(self) -> dict[str, object]:
        """Return the fields of the environment, which no policy sees."""
        truth = super().truth()
        truth["right_labels"] = np.where(self.free, -1.0, self.labels.astype(float))
        if self._without_replacement:
            truth["means"] = self.means
        if self._gold is not None:
            truth["gold"] = self._gold
        return truth

    def fact(self, name: str) -> object:
        """Return the known quantity of this name.

        Raises
        ------
        ValueError
            If `name` is "hardness", and an arm on the threshold makes the hardness infinite.
        """
        if name == "hardness" and not np.isfinite(self.hardness):
            arm = int(np.argmax((self.gaps == 0.0) & ~self.free))
            raise ValueError(
                "means must differ from the threshold for a policy that needs the hardness, "
                f"got means[{arm}] = {self.means[arm]:g}"
            )
        return getattr(self, name)


def _parse_gold(gold: Any, arms: int) -> FloatArray:
    """Return gold labels as numbers: 1 for above, 0 for below, and -1 for no label."""
    labels = check_sequence("gold", gold, "a list with True, False or None for each arm")
    if len(labels) != arms:
        raise ValueError(f"gold must have {arms} entries, got {len(labels)}")
    for i, label in enumerate(labels):
        is_number = isinstance(label, int | float | np.number | np.bool_)
        if not (label is None or (is_number and label in (0, 1))):
            raise ValueError(f"gold[{i}] must be True, False or None, got {short_repr(label)}")
    values = np.array([-1.0 if label is None else float(label) for label in labels])
    if not (values >= 0).any():
        raise ValueError("gold must have at least one entry that is not None")
    return values


class BoundCoverageProblem(Problem):
    """Problem that compares running means of Bernoulli arms with the bound of Lemma 19.

    Two bounds limit how far the running mean of an arm is from its true mean: that of Lemma 19
    (`keyhole.thresholding.bounds.confidence_sequence`), and that of a maximal inequality with an
    equal chance of failure (`keyhole.thresholding.bounds.maximal_inequality`). The metrics of
    `keyhole.simulate` are:

    - ``lemma_19_misses``, which is 1 if the running mean of any arm has ever left the bound of
      Lemma 19;
    - ``third_width_misses``, likewise for a bound with a third of the radius of Lemma 19;
    - ``maximal_misses``, likewise for the maximal inequality;
    - ``narrower_share``, the share of rounds in which the bound of Lemma 19 was the narrower one;
    - ``radius_ratio``, the radius of Lemma 19 over that of the maximal inequality, at the last
      pull.

    Parameters
    ----------
    means : sequence of float, shape (arms,)
        The mean reward of each arm, in [0, 1].
    threshold : float, default 0.5
        In (0, 1); only the policy depends on it.
    a, b : float
        Constants of Lemma 19, above 0. The chance of failure that they imply must be below 1: see
        `keyhole.thresholding.bounds.confidence_failure`.

    References
    ----------
    Tao et al. (2019), Lemma 19.

    Examples
    --------
    >>> problem = BoundCoverageProblem([0.5], a=12, b=1)
    >>> round(problem.failure, 3)
    0.034
    """

    def __init__(self, means: ArrayLike, threshold: float = 0.5, *, a: float, b: float) -> None:
        super().__init__(check_vector("means", means, Range(ge=0, le=1)), threshold)
        self.a = check_number("a", a, Range(gt=0))
        self.b = check_number("b", b, Range(gt=0))
        self.failure = confidence_failure(self.a, self.b)
        if self.failure >= 1.0:
            raise ValueError(
                f"a must be larger: with b = {b:g}, the chance of failure is not below 1; got {a:g}"
            )

    @property
    def environment(self) -> type[Environment]:
        """The environment class of the problem."""
        return ConfidenceSequenceEnvironment

    def truth(self) -> dict[str, object]:
        """Return the fields of the environment, which no policy sees."""
        numbers = {"means": self.means, "a": self.a, "b": self.b, "failure": self.failure}
        return super().truth() | numbers


PROBLEM_FACTORIES: Final = {
    "means": ProblemFactory("the mean reward of each arm, in [0, 1]", Problem),
    # "Watched" arms are those whose running means are compared with the bound of Lemma 19.
    "watched": ProblemFactory(
        "the mean reward of each arm; running means are compared with Lemma 19 of Tao et al.",
        BoundCoverageProblem,
    ),
    # A spec cannot give `gold`.
    "samples": ProblemFactory(
        "recorded rewards: a list for each arm", Problem.replay, excluded=("gold",)
    ),
}
