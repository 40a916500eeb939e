"""Base class of the policies that divide a resource among arms (places where losses may occur)."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol, overload

from keyhole.contract.arm_names import Names
from keyhole.contract.policy import Policy as CorePolicy
from keyhole.contract.state_arrays import FloatArray, IntArray
from keyhole.semibandit.learner import Learner, StudyVocabulary
from keyhole.semibandit.setting import SETTING, Facts


class _Giving(Protocol):
    amounts: FloatArray


class Policy(Facts, CorePolicy, abstract=True):
    """Base class of the policies of censored semi-bandits.

    Kernels read `p.arms` and `p.resource`. `select` fills ``allocation``; `update` may name
    ``allocation`` and ``losses``. `recommend` fills ``estimates``, the estimated thresholds;
    ``searched[0]``, the number of rounds of the search; and ``refuted[0]``, the number of losses at
    arms that had been given their estimates.

    A policy without a search, whose state has `amounts`, the amount of each arm when it is funded,
    need not define `recommend`: the default reports these.

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
    # By default pending decisions block: the update of a search refers to the last `select`.

    if TYPE_CHECKING:  # at run time, the method is generated from the facts

        @overload
        def learner(
            self,
            *,
            arms: int,
            resource: float,
            thresholds: Sequence[float] | FloatArray | None = None,
            seed: int = 0,
            interpreted: bool | None = None,
        ) -> Learner: ...
        @overload
        def learner(self, *, arms: Names, **facts: Any) -> Any: ...
        def learner(self, *, arms: Any, **facts: Any) -> Any:
            """Return a learner, which takes one decision at a time with this policy."""

    def recommend(
        p, s: _Giving, estimates: FloatArray, searched: IntArray, refuted: IntArray
    ) -> None:
        """Report the arms' amounts, and a search of 0 rounds."""
        for arm in range(p.arms):
            estimates[arm] = s.amounts[arm]
        searched[0] = refuted[0] = 0


def unfinished_search_warning(p: CorePolicy, rounds: int, facts: Mapping[str, Any]) -> str:
    """Return a warning if a search may take more rounds than the horizon; otherwise no text."""
    horizon = facts.get("horizon")
    if horizon is None or rounds <= horizon:
        return ""
    return f"{p} may search for {rounds:,} rounds, more than the horizon of {horizon:,}"
