"""Base classes of the policies of the classical bandit: rules that choose an option each round."""

import math
from types import MappingProxyType, SimpleNamespace
from typing import TYPE_CHECKING, Any, ClassVar, cast, overload

from keyhole.contract.arm_names import Names
from keyhole.contract.policy import IndexPolicy as CoreIndexPolicy
from keyhole.contract.policy import Policy as CorePolicy
from keyhole.contract.state_arrays import IntArray
from keyhole.policy import (
    Kernel,
    Stream,
    argmin_tree_update,
    betas,
    float_array,
    parameter,
    scratch_array,
    uniform,
)
from keyhole.stochastic.learner import Learner, StudyVocabulary
from keyhole.stochastic.setting import SETTING, Facts
from keyhole.validation import DEFAULT_SEED, Range, check_number


class RewardCounts:
    """Pulls and summed rewards of each arm."""

    pulls = float_array("arms")
    totals = float_array("arms")


class Policy(Facts, CorePolicy, abstract=True):
    """Base class of the policies of the stochastic bandit.

    Kernels read `p.arms`, and `p.horizon` if the class lists it in `needs`. `select` returns an
    ``arm``, `update` may have the parameters ``arm`` and ``reward``, and `recommend` writes the arm
    that looks best into ``best[0]``. A policy whose state keeps `pulls` and `totals` need not write
    `recommend`; the arm with the highest mean is then recommended.

    Examples
    --------
    >>> from keyhole.stochastic import UCB1
    >>> learner = UCB1().learner(arms=2)
    >>> for reward in (0, 1, 1):
    ...     arm = learner.ask()
    ...     learner.tell(reward)
    >>> learner.recommend()
    1
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
            horizon: int | None = None,
            scale: tuple[float, float] = (0, 1),
            seed: int = DEFAULT_SEED,
            interpreted: bool | None = None,
        ) -> Learner: ...
        @overload
        def learner(self, *, arms: Names, **facts: object) -> Any: ...
        def learner(self, *, arms: object, **facts: object) -> object:
            """Return a learner: this policy, asked for one decision at a time."""

    def impute(p, s: RewardCounts, t: int, rng: Stream, arm: int, update: Kernel) -> None:
        """Impute the mean reward of the arm, or 1/2 for an arm without pulls."""
        pulls = s.pulls[arm]
        update(p, s, t, rng, arm, s.totals[arm] / pulls if pulls > 0.0 else 0.5)

    def recommend(p, s: RewardCounts, best: IntArray) -> None:
        """Recommend the arm with the highest mean."""
        highest = -1.0
        best[0] = 0
        for arm in range(p.arms):
            if s.pulls[arm] > 0.0 and s.totals[arm] / s.pulls[arm] > highest:
                highest = s.totals[arm] / s.pulls[arm]
                best[0] = arm


class IndexPolicy(CoreIndexPolicy, Policy, abstract=True):
    """Base class of index policies: see `keyhole.contract.policy.IndexPolicy`.

    Examples
    --------
    >>> import math
    >>> class Bold(IndexPolicy):
    ...     def index(p, pulls, total):
    ...         return total / pulls + math.sqrt(1 / pulls)
    >>> Bold().learner(arms=2).ask()
    0
    """

    pending = ("impute", "ignore")  # an inherited declaration covers inherited kernels only


# The number of bisections; after them no float64 lies inside the interval.
_HALVINGS = 64


class DeviationUCBPolicy(IndexPolicy, abstract=True):
    r"""Base class of UCB policies whose width follows from a deviation function.

    A deviation function f bounds the probability that the mean :math:`\hat\mu` of N rewards is off
    by more than :math:`\epsilon`: :math:`P(|\hat\mu - \mu| > \epsilon) \le f(N, \epsilon)`. A
    subclass writes f as the kernel ``deviation(p, pulls, error)``, with :math:`\epsilon` as the
    error; it must decrease in pulls and error. After one pull of each arm, the arm with the largest
    :math:`\hat\mu_i + V(N_i, \delta)` is pulled. Here :math:`V(N, \delta) = \inf \{ \epsilon : f(N,
    \epsilon) \le \delta \}` is the width, and :math:`\delta = T^{-2} / 2`, T being the horizon.

    The width is found by bisection to float64 precision, with some 70 evaluations of f a round. If
    there is a closed form, the subclass writes it as the kernel ``width(p, pulls, deviation)``.

    References
    ----------
    Abernethy, Amin and Zhu (2016), "Threshold Bandits, With and Without Censored Feedback",
    NeurIPS; section 2.

    Examples
    --------
    >>> class Cautious(DeviationUCBPolicy):
    ...     def deviation(p, pulls, error):
    ...         return 2 * math.exp(-pulls * error * error)
    >>> Cautious().sufficient_pulls(0.5, horizon=10)
    96
    >>> Cautious().learner(arms=2, horizon=10).ask()
    0
    """

    pending = ("impute", "ignore")  # an inherited declaration covers inherited kernels only
    needs = ("horizon",)
    helpers: ClassVar[tuple[str, ...]] = ("width", "deviation")
    helper_arguments = MappingProxyType(
        {"width": ("p", "pulls", "deviation"), "deviation": ("p", "pulls", "error")}
    )
    cost_per_round = "a square root, and O(log K) for the arg-max"

    def width(p, pulls: float, deviation: Kernel) -> float:
        """Return V(N, delta), the smallest error at which the deviation is at most delta."""
        return find_width(p, pulls, deviation)

    def update(  # type: ignore[override]
        p, s: IndexPolicy.State, arm: int, reward: float, width: Kernel, deviation: Kernel
    ) -> None:
        """Count the pull and update the bound of the arm."""
        pulls = s.pulls[arm] + 1.0
        total = s.totals[arm] + reward
        s.pulls[arm] = pulls
        s.totals[arm] = total
        argmin_tree_update(s.index, p.arms, arm, -(total / pulls + width(p, pulls, deviation)))

    def sufficient_pulls(self, gap: float, *, horizon: int) -> int:
        """Return the least number N of pulls with f(N, gap / 2) <= delta; the gap is above 0."""
        tolerated_error = check_number("gap", gap, Range(gt=0)) / 2.0
        # Python runs the kernel here, with a namespace of the parameters and the horizon as `p`.
        p = SimpleNamespace(
            **self.parameters(), horizon=check_number("horizon", horizon, Range(ge=1))
        )
        deviation = cast(Any, type(self)).deviation
        # The deviation decreases in the number of pulls. So the number is doubled until it
        # suffices, and the least sufficient number is then found by bisection.
        low, high = 0, 1
        while deviation(p, float(high), tolerated_error) > delta(p.horizon):
            low, high = high, 2 * high
        while high - low > 1:
            middle = (low + high) // 2
            is_sufficient = deviation(p, float(middle), tolerated_error) <= delta(p.horizon)
            low, high = (low, middle) if is_sufficient else (middle, high)
        return high


def delta(horizon: float) -> float:
    """Return the delta of `DeviationUCBPolicy`, T^-2 / 2."""
    return 0.5 / (float(horizon) * horizon)


def ln_of_2_over_delta(horizon: float) -> float:
    """Return ln(2 / delta), which is ln(4 T^2)."""
    return 2.0 * math.log(2.0 * horizon)


def find_width(p: Any, pulls: float, deviation: Kernel) -> float:
    """Return the smallest error at which the deviation is at most delta, by bisection."""
    # For few pulls the width may exceed 1, so the upper end is doubled first. The upper end is
    # returned, since the deviation there is at most delta.
    low, high = 0.0, 1.0
    while deviation(p, pulls, high) > delta(p.horizon):
        low, high = high, 2.0 * high
    for _ in range(_HALVINGS):
        middle = 0.5 * (low + high)
        if deviation(p, pulls, middle) <= delta(p.horizon):
            high = middle
        else:
            low = middle
    return high


class BetaPosteriorPolicy(Policy, abstract=True):
    """Base class of policies that draw means from beta posteriors, such as Thompson sampling.

    A beta posterior needs rewards of 0 or 1. So a reward x strictly between 0 and 1 counts as a
    success with probability x, and as a failure with probability 1 - x (Agrawal and Goyal 2012,
    Algorithm 2).
    """

    arms_change = True
    pending = ("ignore", "impute")
    randomness = (
        "a beta variate for each arm in every round, and a uniform one for a reward strictly "
        "between 0 and 1"
    )
    off_policy = True
    cost_per_round = "K beta variates"

    a: float = parameter(default=1.0, ge=1e-3, le=1e6, doc="prior successes")
    b: float = parameter(default=1.0, ge=1e-3, le=1e6, doc="prior failures")

    class State(RewardCounts):
        """Pulls, summed rewards and successes of each arm, and arrays for `draw_means`."""

        successes = float_array("arms")
        up = scratch_array("arms")
        """The first shape of each arm's posterior, which grows with successes."""
        down = scratch_array("arms")
        """The second shape of each arm's posterior, which grows with failures."""
        drawn = scratch_array("arms")
        """The mean that was drawn for each arm."""

    @property
    def beta_prior(self) -> tuple[float, float]:
        """The shapes of the beta distribution that is the prior of each arm's mean."""
        return self.a, self.b

    def update(p, s: State, rng: Stream, arm: int, reward: float) -> None:
        """Count the pull, and its success if it is one."""
        s.pulls[arm] += 1.0
        s.totals[arm] += reward
        if 0.0 < reward < 1.0:
            s.successes[arm] += uniform(rng) < reward
        else:
            s.successes[arm] += reward


def draw_means(p: BetaPosteriorPolicy, s: BetaPosteriorPolicy.State, rng: Stream) -> None:
    """Draw a mean of each arm from the arm's posterior into `s.drawn`."""
    for arm in range(p.arms):
        s.up[arm] = p.a + s.successes[arm]
        s.down[arm] = p.b + (s.pulls[arm] - s.successes[arm])
    # All arms are drawn in one call, since many variates at once are faster than one at a time.
    betas(rng, s.up, s.down, p.arms, s.drawn)
