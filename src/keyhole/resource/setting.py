"""The setting `resource`: what is decided in a round, and what is then seen.

A setting is a kind of decision problem. Here a thing to run (an arm, such as a solver) and the
limit at which it is stopped are chosen; seen are reward and consumption, or that it was stopped.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, Protocol

import numpy as np

from keyhole.contract.known_quantities import fact
from keyhole.contract.policy import Policy as CorePolicy
from keyhole.contract.reward_units import UNIT, Scale
from keyhole.contract.setting import Setting
from keyhole.contract.state_arrays import Field, FloatArray, IntArray
from keyhole.contract.text_formatting import count_text
from keyhole.resource.allowed_limits import is_admissible
from keyhole.resource.cost_functions import (
    PIECE,
    Function,
    KnownFunction,
    as_function,
    check_increasing,
    check_scale,
    rescale_function,
)
from keyhole.resource.learner import Learner
from keyhole.resource.study_adapter import StudyVocabulary
from keyhole.validate import Range, SequenceLike, check_vector


class Facts:
    """The known quantities: what a policy may know in advance."""

    arms = fact(int, ge=1, lt=2**24, doc="number of arms")
    limit_count = fact(int, ge=1, argument=None, doc="number of limits")
    limits = fact(float, "limit_count", gt=0, doc="the limits, rising")
    continuous = fact(
        int, ge=0, le=1, argument=bool, default=False,
        doc="whether every limit up to the largest may be chosen",
    )  # fmt: skip
    cost_size = fact(int, ge=PIECE, argument=None, doc="numbers in the cost")
    cost = fact(
        float, "cost_size", argument=KnownFunction,
        doc="what consumption costs, within [0, 1] up to the largest limit; not falling",
    )  # fmt: skip
    penalty_size = fact(int, ge=PIECE, argument=None, doc="numbers in the penalty")
    penalty = fact(
        float, "penalty_size", argument=KnownFunction,
        doc="what exceeding a limit costs, at least 0; not falling",
    )  # fmt: skip
    horizon = fact(int, ge=1, lt=2**40, always=False, doc="rounds in all")


def _pair_exists(p: "Policy", arm: int, limit: float) -> bool:
    return 0 <= arm < p.arms and is_admissible(p.limits, p.continuous, limit)


SETTING: Final = Setting(
    name="resource",
    declarations=Facts,
    decision={"arm": Field("int64"), "limit": Field("float64")},
    feedback={
        "reward": Field("float64"),
        "consumption": Field("float64"),
        "exceeded": Field("int64"),
    },
    report={"best_arm": Field("int64"), "best_limit": Field("float64")},
    allowed=_pair_exists,
    rewards=True,
)
"""Choose an arm and a limit; observe reward and consumption, or that the limit was exceeded."""


def facts_of(
    arms: int,
    limits: SequenceLike,
    cost: KnownFunction,
    penalty: KnownFunction,
    continuous: bool,
    scale: Scale = UNIT,
) -> dict[str, Any]:
    """Return the checked facts, with cost and penalty converted from the units of `scale`."""
    checked = check_increasing("limits", check_vector("limits", limits, Range(gt=0)))
    if not isinstance(continuous, bool | np.bool_):
        raise TypeError(f"continuous must be True or False, got {continuous!r}")
    functions: dict[str, Function] = {
        "cost": as_function("cost", cost, checked),
        "penalty": as_function("penalty", penalty, checked),
    }
    check_scale(functions["cost"], functions["penalty"], float(checked[-1]), scale.span)
    # Checked above in the units of the user, whose messages it gives; kernels get [0, 1].
    if scale != UNIT:
        functions["cost"] = rescale_function(functions["cost"], scale.span)
        functions["penalty"] = rescale_function(functions["penalty"], scale.span, scale.low)
    facts: dict[str, Any] = {
        "arms": arms,
        "limit_count": len(checked),
        "limits": checked,
        "continuous": int(continuous),
    }
    for name, function in functions.items():
        facts |= {f"{name}_size": len(function.pieces), name: function.pieces}
    return facts


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
        ) -> Learner:
            """Return a learner, which takes one decision at a time with this policy."""
            ...

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
