"""Base classes of the policies that choose an arm and a limit, and kernels of several policies."""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, overload

from keyhole.contract.arm_names import Names
from keyhole.contract.policy import Policy as CorePolicy
from keyhole.contract.state_arrays import FloatArray, IntArray, float_array, int_array
from keyhole.resource.cost_functions import Function, check_increasing, value_at
from keyhole.resource.learner import Learner, StudyVocabulary
from keyhole.resource.setting import SETTING, Facts, facts_of
from keyhole.text_formatting import count_text
from keyhole.validation import DEFAULT_SEED


class Policy(Facts, CorePolicy, abstract=True):
    """Base class of the policies of limited runs.

    Kernels read `p.arms`, `p.limits` (increasing) and the number of limits, `p.limit_count`. If
    `p.continuous` is 1, every limit up to the largest may be chosen; if it is 0, only those in
    `p.limits`. The known functions `p.cost` and `p.penalty` are read through
    `keyhole.resource.cost_functions.value_at`. `p.horizon` exists if the class lists it in `needs`.

    `select` returns the pair ``arm, limit``. `update` may have the parameters ``arm``, ``limit``,
    ``reward``, ``consumption`` and ``exceeded``. If the consumption was above the limit,
    ``exceeded`` is 1, and reward and consumption are 0.
    `recommend` writes ``best_arm`` and ``best_limit``.

    A policy whose state has `plays`, of shape (arms, limits), need not define `recommend`: the
    default recommends the pair played most often; of equally frequent pairs, the first.

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
    # Whether the policy needs a penalty of at least the cost at the largest limit, because it
    # rescales gains to [0, 1].
    penalty_covers_cost: ClassVar[bool] = False

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
            seed: int = DEFAULT_SEED,
            interpreted: bool | None = None,
        ) -> Learner: ...
        @overload
        def learner(self, *, arms: Names, **facts: object) -> Any: ...
        def learner(self, *, arms: object, **facts: object) -> object:
            """Return a learner, which takes one decision at a time with this policy."""

    def recommend(p, s: Any, best_arm: IntArray, best_limit: FloatArray) -> None:
        """Recommend the pair played most often."""
        most_plays = -1
        for arm in range(p.arms):
            for position in range(p.limit_count):
                if s.plays[arm, position] > most_plays:
                    most_plays = s.plays[arm, position]
                    best_arm[0], best_limit[0] = arm, p.limits[position]

    @classmethod
    def facts_of(cls, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Return the facts, with limits, cost and penalty as kernels read them."""
        names = ("arms", "limits", "cost", "penalty", "continuous", "scale")
        facts = facts_of(**{name: arguments[name] for name in names})
        return facts | {"horizon": arguments["horizon"]}

    def check_facts(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """Return the checked facts; refuse limits that do not rise.

        If the policy's class sets `penalty_covers_cost`, refuse a cost above the penalty at the
        largest limit.
        """
        facts = super().check_facts(values)
        largest = float(check_increasing("limits", facts["limits"])[-1])
        cost = value_at(facts["cost"], largest)
        penalty = value_at(facts["penalty"], largest)
        if self.penalty_covers_cost and cost > penalty:
            raise ValueError(
                f"penalty must be at least the cost at the largest limit, {cost:g}, for "
                f"{type(self).__name__}; got {penalty:g}"
            )
        return facts

    def describe(self, learner: Learner) -> list[str]:
        """Return lines with the recommended pair and the number of runs of each arm."""
        lines = []
        if learner.rounds_told:
            arm, limit = learner.recommend()
            lines = [f"best so far: arm {arm} with limit {limit:g}"]
        if (plays := learner.state.get("plays")) is not None:
            # Some policies count plays by arm and limit, others by arm.
            runs = plays.reshape(len(plays), -1).sum(axis=1).tolist()
            lines += [f"arm {arm}: {count_text(n, 'run')}" for arm, n in enumerate(runs)]
        return lines


class PairPolicy(Policy, abstract=True):
    """Base class of the policies with statistics of each pair of an arm and a listed limit."""

    class State:
        """The penalty of each limit, and the plays of each pair."""

        penalties = float_array("limit_count")
        plays = int_array("arms", "limit_count")

    def init(p, s: State) -> None:
        """Tabulate the penalty of each limit."""
        for position in range(p.limit_count):
            s.penalties[position] = value_at(p.penalty, p.limits[position])


def argmax_ucb(estimate: FloatArray, spread: FloatArray, root_log: float) -> tuple[int, int]:
    """Return the pair with the largest ``estimate + spread * root_log``; of equals the first."""
    # A confidence length is spread * sqrt(ln t). A spread changes only with the pair's
    # observations, so one square root a round is enough. The arm is found first and then its
    # limit, since a maximum is computed faster than its position. Measured with RCUCB, 10 arms and
    # 11 limits, one thread: 178 ns a round; 228 ns if both are found in one pass, and 419 ns with a
    # square root for each pair in each round.
    highest = -math.inf
    best_arm = 0
    for arm in range(estimate.shape[0]):
        top = -math.inf
        for position in range(estimate.shape[1]):
            top = max(top, estimate[arm, position] + spread[arm, position] * root_log)
        if top > highest:
            highest, best_arm = top, arm
    top = -math.inf
    best_position = 0
    for position in range(estimate.shape[1]):
        bound = estimate[best_arm, position] + spread[best_arm, position] * root_log
        if bound > top:
            top, best_position = bound, position
    return best_arm, best_position


def first_unobserved(counts: Any, begin: FloatArray, first_position: int) -> tuple[int, int]:
    """Return arm and position of the first pair without observations; (-1, 0) if there is none.

    Only positions from `first_position` on are considered. `counts` has the observations of each
    pair. `begin` is a scratch array with the number of the pair at which the search begins. This
    number is advanced past all pairs that have observations or a smaller position.
    """
    # The round number does not tell which pairs were observed: the feedback of a first run may
    # arrive late or never, and arms may be added.
    arms, limits = counts.shape
    pair = int(begin[0])
    while pair < arms * limits:
        arm = pair // limits
        position = pair % limits
        if position >= first_position and counts[arm, position] == 0:
            begin[0] = pair
            return arm, position
        pair += 1
    begin[0] = pair
    return -1, 0


def net_reward(cost: FloatArray, reward: float, consumption: float, exceeded: int) -> float:
    """Return the reward less the cost of the consumption; 0 for a run that exceeded its limit."""
    return 0.0 if exceeded == 1 else reward - value_at(cost, consumption)


def scale_gain(gain: float, largest_penalty: float) -> float:
    """Return the gain of a run rescaled to [0, 1], after equation (7) (a kernel).

    `gain` is the reward less the cost, or minus the penalty; it lies in [-`largest_penalty`, 1].

    Examples
    --------
    >>> round(scale_gain(0.4, 0.2), 3)
    0.5
    """
    return (gain + largest_penalty) / (1.0 + largest_penalty)
