"""Base class of the policies that choose an option, whose sample should reach the round's bar."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Final, overload

from keyhole.contract.arm_names import Names
from keyhole.contract.policy import Policy as CorePolicy
from keyhole.contract.state_arrays import FloatArray, IntArray
from keyhole.threshold.learner import Learner
from keyhole.threshold.reach_counts import ReachCounts, add_expected, estimate, find_best_arm
from keyhole.threshold.setting import SETTING, Facts, Feedback
from keyhole.threshold.study_adapter import StudyVocabulary

# The number of levels that `describe` shows of each arm.
_SHOWN: Final = 6


class Policy(Facts, CorePolicy, abstract=True):
    """Base class of the policies of the threshold bandit.

    Kernels read `p.arms`, `p.levels`, `p.censored`, and `p.horizon` if the class lists it in
    `needs`. `select` may name ``threshold``, from 1 to `p.levels`, and returns an ``arm``;
    `update` may name ``threshold``, ``arm`` and ``value``: the sample, or, where feedback is
    censored, the smaller of sample and threshold. `recommend` fills, level j at position j - 1,
    ``best``, the recommended arm for each level; ``settled``, 1 where the policy will never pull
    another arm at that level; and for each arm and level ``survival``, the estimate of
    :math:`F_i(j)`, with ``support``, the number of pulls that it is the mean of.

    A policy whose state keeps `reached` and `tried` of shape ("arms", "levels") need not write
    `recommend`.

    Examples
    --------
    >>> from keyhole.threshold import KaplanMeierUCB
    >>> learner = KaplanMeierUCB().learner(
    ...     arms=2, levels=3, feedback="censored", horizon=100
    ... )
    >>> learner.ask(threshold=2)
    0
    >>> learner.tell(censored=True)  # it reached level 2
    """

    # Whether the policy warns, with uncensored feedback, that it ignores samples beyond the
    # threshold.
    warns_if_uncensored: ClassVar[bool] = False
    setting = SETTING
    learner_class = Learner
    vocabulary_class = StudyVocabulary
    pending: ClassVar[tuple[str, ...]] = ("impute", "ignore")
    feedback = (
        "the sample of the arm pulled, if it is below the threshold; uncensored, it uses no "
        "more: a pull counts up to its threshold"
    )

    if TYPE_CHECKING:  # generated from the known quantities at run time

        @overload
        def learner(
            self,
            *,
            arms: int,
            levels: int,
            feedback: Feedback,
            horizon: int | None = None,
            seed: int = 0,
            interpreted: bool | None = None,
        ) -> Learner: ...
        @overload
        def learner(self, *, arms: Names, **facts: Any) -> Any: ...
        def learner(self, *, arms: Any, **facts: Any) -> Any:
            """Return a learner: this policy, asked for one decision at a time."""

    def caution(self, facts: Mapping[str, Any], problem: Any) -> str:
        """Return a warning if the policy ignores uncensored samples."""
        if not self.warns_if_uncensored or facts["censored"] == 1:
            return ""
        return (
            f"{self} ignores what samples tell beyond the threshold; where feedback is uncensored "
            "take DKWUCB() or SurvivalThompson(), which use it"
        )

    def impute(p, s: ReachCounts, threshold: int, arm: int) -> None:
        """Count the pending pull with its expected result."""
        add_expected(s.reached, s.tried, arm, threshold)

    def recommend(
        p,
        s: ReachCounts,
        best: IntArray,
        settled: IntArray,
        survival: FloatArray,
        support: FloatArray,
    ) -> None:
        """Recommend the arm with the best estimate at each level; no level is settled."""
        for level in range(1, p.levels + 1):
            settled[level - 1] = 0
            best[level - 1] = find_best_arm(s, level)
            for arm in range(p.arms):
                support[arm, level - 1] = s.tried[arm, level - 1]
                survival[arm, level - 1] = estimate(s, level, arm)

    def describe(self, learner: Any) -> list[str]:
        """Return for each arm and level how many samples of how many reached it."""
        lines = []
        for arm, (chances, pulls) in enumerate(zip(*learner.estimates(), strict=True)):
            shown = [
                f"level {j} {float(chance) * float(n):.0f} of {n:.0f}"
                for j, (chance, n) in enumerate(zip(chances, pulls, strict=True), start=1)
            ]
            more = f", ... and {len(shown) - _SHOWN} more" if len(shown) > _SHOWN else ""
            lines.append(f"arm {arm}: {', '.join(shown[:_SHOWN])}{more}")
        return lines
