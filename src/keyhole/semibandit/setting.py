"""The vocabulary of censored semi-bandits, and what the policies of this room have in common."""

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, Protocol

from keyhole.contract.facts import fact
from keyhole.contract.policy import Policy as CorePolicy
from keyhole.contract.setting import Setting
from keyhole.contract.state_memory import Field, FloatArray, IntArray
from keyhole.semibandit.learner import Learner
from keyhole.semibandit.study_adapter import StudyVocabulary

ENOUGH: Final = 1e-9
"""An allocation is sufficient from so much below the threshold on: seven tenths of a resource, say,
are not exactly the decimal 0.7."""


class Facts:
    """What policies may be told beforehand."""

    arms = fact(int, ge=1, lt=2**24, doc="number of arms")
    resource = fact(float, gt=0, le=2**24, doc="how much there is to allocate in a round")
    thresholds = fact(
        float, "arms", gt=0, le=1, always=False,
        doc="from which allocation on each arm shows no loss (nobody knows them beforehand)",
    )  # fmt: skip


def _affordable(p: "Policy", allocation: FloatArray) -> bool:
    total = 0.0
    for arm in range(p.arms):
        if not 0.0 <= allocation[arm] <= 1.0:
            return False
        total += allocation[arm]
    return total <= p.resource


SETTING: Final = Setting(
    name="semibandit",
    declarations=Facts,
    decision={"allocation": Field("float64", ("arms",))},
    feedback={"losses": Field("float64", ("arms",))},
    report={
        "estimates": Field("float64", ("arms",)),
        "searched": Field("int64"),
        "refuted": Field("int64"),
    },
    allowed=_affordable,
)
"""Give each arm its part of the resource; see a loss of 0 or 1 of each.

An arm that was given enough shows 0, whatever would have happened. Added up from arm 0 on, an
allocation never exceeds the resource.
"""


class _Giving(Protocol):
    amounts: FloatArray


class Policy(Facts, CorePolicy, abstract=True):
    """Base of the policies of this room.

    Kernels read `p.arms` and `p.resource`. `select` fills ``allocation``; `update` may name
    ``allocation`` and ``losses``. `recommend` fills ``estimates``, the thresholds as far as they
    are known; ``searched[0]``, for how many rounds they have been searched for; and ``refuted[0]``,
    how many losses were seen at arms that had been given their estimates.

    A policy that does not search, and whose state keeps `amounts`, what each arm is given when it
    is given anything, need not write `recommend`: it reports these.

    Examples
    --------
    >>> from keyhole.semibandit import CSBST
    >>> learner = CSBST().learner(arms=4, resource=2.0)
    >>> learner.ask()
    array([0.66666667, 0.66666667, 0.66666667, 0.        ])
    >>> learner.tell([0, 1, 0, 1])  # a loss where 2/3 was given: it was not enough
    >>> learner.recommend()
    array([1., 1., 1., 1.])
    """

    setting = SETTING
    learner_class = Learner
    vocabulary_class = StudyVocabulary
    feedback = "losses of 0 or 1"
    # pending is "wait": a search relies on what `select` has just tried; others say otherwise.

    if TYPE_CHECKING:  # when the class is made, it is made from the facts

        def learner(
            self,
            *,
            arms: int,
            resource: float,
            thresholds: Sequence[float] | FloatArray | None = None,
            seed: int = 0,
            interpreted: bool | None = None,
        ) -> Learner:
            """Return a learner: the policy at work, one decision at a time."""
            ...

    def recommend(
        p, s: _Giving, estimates: FloatArray, searched: IntArray, refuted: IntArray
    ) -> None:
        """Report what the arms are given, and no search."""
        for arm in range(p.arms):
            estimates[arm] = s.amounts[arm]
        searched[0] = refuted[0] = 0


def is_sufficient(allocation: float, threshold: float) -> bool:
    """Return whether an arm shows no loss."""
    return allocation >= threshold - ENOUGH


def integer_part(resource: float) -> int:
    """Return how many whole units there are; a sum just below a whole number counts as it."""
    return math.floor(resource + ENOUGH)


def warn_unfinished_search(p: CorePolicy, rounds: int, told: Mapping[str, Any]) -> str:
    """Return a warning if a search may take more rounds than there are, as far as is known."""
    horizon = told.get("horizon")
    if horizon is None or rounds <= horizon:
        return ""
    return f"{p} may search for {rounds:,} rounds, more than the horizon of {horizon:,}"


def clip_to_budget(allocation: FloatArray, arms: int, resource: float) -> None:
    """Take off what exceeds the resource by rounding."""
    total = sum_up(allocation, arms)
    while total > resource:
        share = resource / total * (1.0 - 2.0**-52)
        for arm in range(arms):
            allocation[arm] *= share
        total = sum_up(allocation, arms)


def sum_up(allocation: FloatArray, arms: int) -> float:
    """Return the sum, added from arm 0 on."""
    total = 0.0
    for arm in range(arms):
        total += allocation[arm]
    return total
