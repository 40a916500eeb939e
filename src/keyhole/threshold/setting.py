"""The setting `threshold`: what is decided in a round, and what is then seen.

A setting is a kind of decision problem. Here a round shows a bar (the threshold), an option (arm)
is chosen, and its random sample is seen, in full or up to the bar; the reward is 1 if it reaches
it.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Final, Literal, Protocol, get_args

from keyhole.contract.known_quantities import fact
from keyhole.contract.policy import Policy as CorePolicy
from keyhole.contract.setting import Setting
from keyhole.contract.state_arrays import Field, FloatArray, IntArray
from keyhole.threshold.learner import Learner
from keyhole.threshold.study_adapter import StudyVocabulary

Feedback = Literal["uncensored", "censored"]

# The number of levels that `describe` shows of each arm.
_SHOWN: Final = 6


class Facts:
    """The known quantities: what a policy may know in advance."""

    arms = fact(int, ge=1, lt=2**24 - 1, doc="number of arms")
    levels = fact(int, ge=1, lt=2**20, doc="number of levels: thresholds go from 1 to this")
    censored = fact(int, ge=0, le=1, doc="whether a sample is hidden that reaches the threshold")
    horizon = fact(int, ge=1, always=False, doc="rounds in all")


def _arm_exists(p: "Policy", arm: int) -> bool:
    return 0 <= arm < p.arms


SETTING: Final = Setting(
    name="threshold",
    declarations=Facts,
    modes=get_args(Feedback),
    mode="censored",
    context={"threshold": Field("int64")},
    decision={"arm": Field("int64")},
    feedback={"value": Field("int64")},
    report={
        "best": Field("int64", ("levels",)),
        "settled": Field("int64", ("levels",)),
        "survival": Field("float64", ("arms", "levels")),
        "support": Field("float64", ("arms", "levels")),
    },
    allowed=_arm_exists,
)
"""See a threshold, pull an arm; the reward is 1 if its sample reaches the threshold.

Feedback is the sample, a level from 0 to m. With censored feedback it is the smaller of sample
and threshold: the threshold itself says only that it was reached.
"""


class ReachCounts(Protocol):
    """Counts of samples for estimates, level j at position j - 1 of the second axis."""

    reached: FloatArray
    tried: FloatArray


def add_observation(s: ReachCounts, arm: int, threshold: int, value: int) -> None:
    """Add a pull to the counts of the levels up to its threshold, where its result is known.

    This is eq. (8) of Abernethy et al. (2016), term by term: `tried` counts N_i(j), the pulls at
    thresholds of at least j, and `reached` counts D_i(j), those of them whose sample, or the
    threshold of a censored sample, is at least j.
    """
    # Over all levels, since a loop of fixed length has no branch to predict (measured for m = 10
    # and thresholds in any order: 12 ns a round less).
    most = min(value, threshold)
    for j in range(s.tried.shape[1]):
        s.tried[arm, j] += 1.0 if j < threshold else 0.0
        s.reached[arm, j] += 1.0 if j < most else 0.0


def add_expected(reached: FloatArray, tried: FloatArray, arm: int, threshold: int) -> None:
    """Add a pending pull with its expected result: estimates stay as they are, 1/2 without any."""
    for j in range(threshold):
        # Also at levels without samples, since arms without samples come first: all pending
        # decisions would go to the same one.
        share = reached[arm, j] / tried[arm, j] if tried[arm, j] > 0.0 else 0.5
        reached[arm, j] += share
        tried[arm, j] += 1.0


def estimate(s: ReachCounts, level: int, arm: int) -> float:
    """Return the share of pulls that reached the level, 0 without pulls."""
    return float(s.reached[arm, level - 1] / max(s.tried[arm, level - 1], 1.0))


def find_best_arm(s: ReachCounts, level: int) -> int:
    """Return the arm with the highest estimate, arms without samples last, the lowest of equals."""
    best, highest = 0, -1.0
    for arm in range(s.tried.shape[0]):
        value = estimate(s, level, arm)
        if s.tried[arm, level - 1] > 0.0 and value > highest:
            best, highest = arm, value
    return best


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

        def learner(
            self,
            *,
            arms: int,
            levels: int,
            feedback: Feedback,
            horizon: int | None = None,
            seed: int = 0,
            interpreted: bool | None = None,
        ) -> Learner:
            """Return a learner: this policy, asked for one decision at a time."""
            ...

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
