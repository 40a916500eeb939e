"""Base classes of the policies that divide a resource among arms."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, overload

from keyhole.contract.arm_names import Names
from keyhole.contract.policy import Policy as CorePolicy
from keyhole.policy import FloatArray, IntArray, Kernel, Stream, parameter
from keyhole.semibandit.allocation_kernels import (
    AllocationState,
    KnapsackState,
    count_losses,
    count_refuting_losses,
    format_loss_counts,
    fund_best_knapsack,
    sum_refuting_losses,
    write_allocation,
)
from keyhole.semibandit.learner import Learner, StudyVocabulary
from keyhole.semibandit.setting import SETTING, Facts, allocation_reaches_threshold
from keyhole.validation import DEFAULT_SEED, Range, check_integer


class Policy(Facts, CorePolicy, abstract=True):
    """Base class of the policies of censored semi-bandits.

    Kernels read `p.arms` and `p.resource`. `select` writes ``allocation``; `update` may have the
    parameters ``allocation`` and ``losses``. `recommend` writes ``estimates``, the estimated
    thresholds; ``searched[0]``, the number of rounds of the search; and ``refuted[0]``, the number
    of losses at arms that had been given their estimates.

    If a policy has no search, and its state has `amounts` (the amount of each arm when it is
    funded), it need not define `recommend`: the default reports the amounts.

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
    # `pending` is left at its default, by which a pending decision blocks the next one, because the
    # update of a search refers to the last `select`.

    if TYPE_CHECKING:  # at run time, the method is generated from the facts

        @overload
        def learner(
            self,
            *,
            arms: int,
            resource: float,
            thresholds: Sequence[float] | FloatArray | None = None,
            seed: int = DEFAULT_SEED,
            interpreted: bool | None = None,
        ) -> Learner: ...
        @overload
        def learner(self, *, arms: Names, **facts: object) -> Any: ...
        def learner(self, *, arms: object, **facts: object) -> object:
            """Return a learner, which takes one decision at a time with this policy."""

    def recommend(
        p, s: AllocationState, estimates: FloatArray, searched: IntArray, refuted: IntArray
    ) -> None:
        """Report the arms' amounts, and a search of 0 rounds."""
        for arm in range(p.arms):
            estimates[arm] = s.amounts[arm]
        searched[0] = refuted[0] = 0


def unfinished_search_warning(p: CorePolicy, rounds: int, facts: Mapping[str, Any]) -> str:
    """Return a warning if a search may outlast the horizon; otherwise an empty text."""
    horizon = facts.get("horizon")
    if horizon is None or rounds <= horizon:
        return ""
    return f"{p} may search for {rounds:,} rounds, more than the horizon of {horizon:,}"


class KnownThresholdPolicy(Policy, abstract=True):
    r"""Base class of policies that fund the best arms whose known thresholds fit (a knapsack).

    .. math:: \arg\max_{A : \sum_{i \in A} \theta_i \le Q} \; \sum_{i \in A} \tilde\mu_i

    Here :math:`\tilde\mu_i` is the value of arm i, such as a draw of its mean loss. A subclass
    defines the kernel ``fill(p, s, t, rng)``, which writes the values into ``s.values``.
    """

    needs = ("thresholds",)
    oracle = True
    # Imputing would lose what `select` counts in the state: the rounds since the last knapsack.
    pending = ("ignore",)

    solve_every: int = parameter(
        default=1, ge=1, le=2**40, doc="rounds from one knapsack to the next"
    )

    helpers: ClassVar[tuple[str, ...]] = ("fill",)
    helper_arguments = MappingProxyType({"fill": ("p", "s", "t", "rng")})

    class State(KnapsackState):
        """Knapsack state, without additions."""

    def init(p, s: State) -> None:
        """Set the arms' amounts to the thresholds."""
        for arm in range(p.arms):
            s.amounts[arm] = p.thresholds[arm]

    def select(p, s: State, t: int, rng: Stream, allocation: FloatArray, fill: Kernel) -> None:
        """Fund the best knapsack."""
        fund_best_knapsack(p, s, t, rng, fill)
        write_allocation(p, s, allocation)

    def update(p, s: State, allocation: FloatArray, losses: FloatArray) -> None:
        """Count the losses."""
        count_losses(p, s, allocation, losses)

    def describe(self, learner: Learner) -> list[str]:
        """Return a line for each arm with its amount and its losses."""
        return format_loss_counts(learner.state)


class EqualSharePolicy(Policy, abstract=True):
    r"""Base class of policies that give m arms nothing, and share the resource among the others.

    Each of the others gets :math:`Q / (K - m)`, at most 1. If all arms have the threshold
    :math:`\theta_c`, and it is known, take :math:`m = K - \min\{\lfloor Q/\theta_c \rfloor, K\}`
    (see `count_funded_arms`). A subclass defines `select`.
    """

    m: int = parameter(ge=0, doc="how many arms are given nothing")

    class State(AllocationState):
        """Allocation state, without additions."""

    def check_facts(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """Return the checked facts; refuse fewer arms than m."""
        facts = super().check_facts(values)
        check_integer("m", self.m, Range(ge=0, le=facts["arms"]))
        return facts

    def caution(self, facts: Mapping[str, Any], problem: Any) -> str:
        """Return a warning if an equal share is below the threshold of an arm of the problem."""
        if problem is None or self.m == facts["arms"]:
            return ""
        share = equal_share(self, facts["arms"], facts["resource"])
        needed = problem.thresholds.max()
        if allocation_reaches_threshold(share, needed):
            return ""
        return f"{self} gives {share:.4g} to each arm that it funds; up to {needed:.4g} is needed"

    def init(p, s: State) -> None:
        """Set the arms' amounts to equal shares of the resource."""
        s.amounts[:] = equal_share(p, p.arms, p.resource)

    def update(p, s: State, allocation: FloatArray, losses: FloatArray) -> None:
        """Count the losses."""
        count_losses(p, s, allocation, losses)
        count_refuting_losses(p, s, allocation, losses)

    def recommend(  # type: ignore[override]
        p, s: State, estimates: FloatArray, searched: IntArray, refuted: IntArray
    ) -> None:
        """Report the arms' amounts, a search of 0 rounds, and the losses that contradict them."""
        for arm in range(p.arms):
            estimates[arm] = s.amounts[arm]
        searched[0] = 0
        refuted[0] = sum_refuting_losses(s, p.arms)

    describe = KnownThresholdPolicy.describe


def equal_share(p: EqualSharePolicy, arms: int, resource: float) -> float:
    """Return the amount of each funded arm."""
    return min(1.0, resource / max(1, arms - p.m))
