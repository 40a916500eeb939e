"""Base class of the policies that choose what to run, and the limit at which it is stopped."""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol, overload

from keyhole.contract.arm_names import Names
from keyhole.contract.policy import Policy as CorePolicy
from keyhole.contract.state_arrays import FloatArray, IntArray
from keyhole.resource.cost_functions import Function, check_increasing
from keyhole.resource.learner import Learner
from keyhole.resource.setting import SETTING, Facts, facts_of
from keyhole.resource.study_adapter import StudyVocabulary
from keyhole.text_formatting import count_text


class _Tally(Protocol):
    plays: IntArray


class Policy(Facts, CorePolicy, abstract=True):
    """Base class of the policies of limited runs.

    Kernels read `p.arms`, `p.limits` (increasing; `p.limit_count` of them), `p.continuous` (1 if
    every limit up to the largest may be chosen, 0 if only these), the known functions `p.cost`
    and `p.penalty` (through `keyhole.resource.cost_functions.value_at`), and `p.horizon` if the
    class lists it in `needs`. `select` returns the pair ``arm, limit``. `update` may name ``arm``,
    ``limit``, ``reward``, ``consumption`` and ``exceeded``: 1 if consumption was above the limit,
    and reward and consumption are then 0. `recommend` fills ``best_arm`` and ``best_limit``.

    A policy whose state has `plays`, of shape (arms, limits), need not define `recommend`: the
    default recommends the pair played most often, among equals the lowest.

    Examples
    --------
    >>> from keyhole.resource import RCUCB, Power
    >>> learner = RCUCB().learner(
    ...     arms=2, limits=[0.5, 1.0], cost=Power(slope=0.1), penalty=Power(slope=0.2)
    ... )
    >>> learner.ask()
    (0, 1.0)
    >>> learner.tell(reward=0.8, consumption=0.3)
    >>> learner.ask()
    (1, 1.0)
    >>> learner.tell(exceeded=True)
    """

    setting = SETTING
    learner_class = Learner
    vocabulary_class = StudyVocabulary
    feedback = "reward and consumption of a run, or that it exceeded its limit"

    if TYPE_CHECKING:  # at run time, the method is generated from the facts

        @overload
        def learner(
            self,
            *,
            arms: int,
            limits: Sequence[float] | FloatArray,
            cost: Function | Callable[[float], float],
            penalty: Function | Callable[[float], float],
            continuous: bool = False,
            horizon: int | None = None,
            scale: tuple[float, float] = (0, 1),
            seed: int = 0,
            interpreted: bool | None = None,
        ) -> Learner: ...
        @overload
        def learner(self, *, arms: Names, **facts: Any) -> Any: ...
        def learner(self, *, arms: Any, **facts: Any) -> Any:
            """Return a learner, which takes one decision at a time with this policy."""

    def recommend(p, s: _Tally, best_arm: IntArray, best_limit: FloatArray) -> None:
        """Recommend the pair played most often."""
        most = -1
        for arm in range(p.arms):
            for place in range(p.limit_count):
                if s.plays[arm, place] > most:
                    most = s.plays[arm, place]
                    best_arm[0] = arm
                    best_limit[0] = p.limits[place]

    @classmethod
    def facts_of(cls, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Return the facts, with limits, cost and penalty as kernels read them."""
        names = ("arms", "limits", "cost", "penalty", "continuous", "scale")
        return facts_of(*(arguments[name] for name in names)) | {"horizon": arguments["horizon"]}

    def check_facts(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """Return the checked facts."""
        facts = super().check_facts(values)
        check_increasing("limits", facts["limits"])
        return facts

    def describe(self, learner: Any) -> list[str]:
        """Return lines with the recommended pair and the number of runs of each arm."""
        lines = []
        if learner.rounds_told:
            arm, limit = learner.recommend()
            lines = [f"best so far: arm {arm} with limit {limit:g}"]
        if (plays := learner.state.get("plays")) is not None:
            runs = plays.reshape(len(plays), -1).sum(axis=1).tolist()
            lines += [f"arm {arm}: {count_text(n, 'run')}" for arm, n in enumerate(runs)]
        return lines
