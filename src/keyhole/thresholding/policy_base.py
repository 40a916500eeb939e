"""Base classes of the policies that label options by whether their mean reaches a threshold."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Final, overload

import numpy as np

from keyhole.contract.arm_names import Names
from keyhole.contract.policy import IndexPolicy as CoreIndexPolicy
from keyhole.policy import FloatArray
from keyhole.policy import Policy as CorePolicy
from keyhole.stochastic.policy_base import Policy as StochasticPolicy
from keyhole.stochastic.policy_base import RewardCounts
from keyhole.thresholding.learner import Learner, StudyVocabulary
from keyhole.thresholding.setting import SETTING, Facts
from keyhole.validation import DEFAULT_SEED

# The largest relative rounding error of a float64.
_ROUNDING: Final = 2.0**-53


def is_mean_above(pulls: float, total: float, threshold: float) -> bool:
    """Return whether an arm's empirical mean is at least the threshold.

    A mean that is below the threshold by no more than a possible rounding error counts as equal to
    it. An arm without pulls counts as above.
    """
    # The sum of n rewards has at most n - 1 rounding errors. There are three more: rewards and the
    # threshold are rounded when they are read as decimals, and the division is rounded.
    slack = (pulls + 2.0) * _ROUNDING
    return pulls == 0.0 or total / pulls >= threshold - slack


class Policy(Facts, CorePolicy, abstract=True):
    """Base class of the policies of the thresholding bandit.

    Kernels read `p.arms` and `p.threshold`; they also read `p.horizon`, `p.gaps` and `p.hardness`,
    if the class lists them in `needs`. `select` returns an ``arm``, and `update` may have the
    parameters ``arm`` and ``reward``. `recommend` writes into ``labels`` 1 for each arm whose
    mean is taken to be at least the threshold, and 0 for the others.

    A policy whose state keeps `pulls` and `totals` need not write `recommend`. An arm is then
    labelled 1 if its empirical mean is at least the threshold (Tao et al. 2019, Algorithm 1, line
    5). A mean that is below the threshold by no more than a possible rounding error counts as equal
    to it: a mean of 11 / 20 reaches 0.55, and the mean of any number of rewards of 0.1 reaches 0.1.
    An arm that was never pulled gets 1.

    Examples
    --------
    >>> from keyhole.thresholding import LSA
    >>> learner = LSA().learner(arms=2, threshold=0.5)
    >>> for reward in (1, 0, 1, 0):
    ...     arm = learner.ask()
    ...     learner.tell(reward)
    >>> learner.recommend()
    array([ True, False])
    """

    setting = SETTING
    learner_class = Learner
    vocabulary_class = StudyVocabulary
    pending: ClassVar[tuple[str, ...]] = ("impute", "ignore")
    feedback = "the reward of the arm pulled, in [0, 1]"

    if TYPE_CHECKING:  # at run time the method is generated from `Facts`

        @overload
        def learner(
            self,
            *,
            arms: int,
            threshold: float,
            horizon: int | None = None,
            gaps: Sequence[float] | FloatArray | None = None,
            hardness: float | None = None,
            scale: tuple[float, float] = (0, 1),
            seed: int = DEFAULT_SEED,
            interpreted: bool | None = None,
        ) -> Learner: ...
        @overload
        def learner(self, *, arms: Names, **facts: object) -> Any: ...
        def learner(self, *, arms: object, **facts: object) -> object:
            """Return a learner: this policy, asked for one decision at a time."""

    impute = StochasticPolicy.impute

    def recommend(p, s: RewardCounts, labels: FloatArray) -> None:
        """Label the arms by their empirical means."""
        for arm in range(p.arms):
            labels[arm] = is_mean_above(s.pulls[arm], s.totals[arm], p.threshold)

    def describe(self, learner: Learner) -> list[str]:
        """Return the label, the pulls and the mean of each arm."""
        labels = ["above" if is_above else "below" for is_above in learner.recommend()]
        state = learner.state
        if not {"pulls", "totals"} <= state.keys():
            return [f"arm {arm}: {label}" for arm, label in enumerate(labels)]
        lines = [
            line.replace(": ", f": {label}, ", 1)
            for line, label in zip(super().describe(learner), labels, strict=True)
        ]
        for arm in np.flatnonzero(state["pulls"] == 0):
            lines[arm] = f"arm {arm}: never pulled, taken to be {labels[arm]}"
        return lines


class IndexPolicy(CoreIndexPolicy, Policy, abstract=True):
    """Base class of index policies: see `keyhole.contract.policy.IndexPolicy`.

    Examples
    --------
    >>> import math
    >>> class Simple(IndexPolicy):
    ...     def index(p, pulls, total):
    ...         return -abs(total - p.threshold * pulls) / math.sqrt(pulls)
    >>> Simple().learner(arms=3, threshold=0.5).ask()
    0
    """

    pending = ("impute", "ignore")  # an inherited declaration covers inherited kernels only
