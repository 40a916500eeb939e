"""Policy ThresholdThompson: divides a resource by draws of each arm's threshold and mean loss."""

from typing import Any, Final

from keyhole.policy import (
    FloatArray,
    IntArray,
    Stream,
    betas,
    float_array,
    int_array,
    parameter,
    uniform,
)
from keyhole.semibandit.knapsack import SLACK, Scratch, choose_items, sort_descending
from keyhole.semibandit.policy_base import Policy
from keyhole.semibandit.setting import TOLERANCE, clip_to_budget, sum_up
from keyhole.semibandit.threshold_posterior import (
    ThresholdPosterior,
    allocation_in_piece,
    begin_posterior,
    draw_piece,
    learn_loss,
    learn_no_loss,
    piece_start,
    threshold_quantile,
)

# Every 200 rounds, the time for which an allocation is kept grows by a round, because later rounds
# teach less.
_KEPT_GROWTH_PERIOD: Final = 200
# The posterior of a threshold is divided into pieces. If a piece is shorter than this times
# min(1, Q) / K, with K arms and the resource Q, the largest value in it that the rounding allows is
# allocated instead of a draw from it. From round 1,000 on the length shrinks as 1 / t. With ten
# times the length the policy fails if little of the resource is left over.
_SHORT_LENGTH: Final = 1e-3
_CONSTANT_ROUNDS: Final = 1000.0


class ThresholdThompson(Policy):
    r"""Draw thresholds and mean losses from their joint posterior, and fund the best set that fits.

    The default choice if thresholds differ: it has no phase of search, and needs no lower bound
    of the mean losses. With :math:`S_i` the losses of arm i, and :math:`F_i(x)` its rounds without
    a loss in which it was given less than x, draw for each arm

    .. math::
        \tilde\theta_i \sim \text{density proportional to } B(1 + S_i, 1 + F_i(x))
        \text{ above the largest allocation with a loss}, \quad
        \tilde\mu_i \sim \mathrm{Beta}(1 + S_i, 1 + F_i(\tilde\theta_i))

    and fund :math:`KP(\tilde\mu, \tilde\theta, Q)`, the set that fits with the largest sum of
    :math:`\tilde\mu_i`. The rest of Q goes to funded arms, then to others. Keep the allocation for
    :math:`1 + \lfloor t / 200 \rfloor` rounds, or until a loss raises a threshold's lower bound.

    Parameters
    ----------
    delta : float, default 0.1
        Posterior probability, in (0, 1), with which a reported threshold may be too low. It affects
        only the report, not the allocations.

    Notes
    -----
    Source: Keyhole's own. No bound on its regret is proved. It breaks if the thresholds of the best
    set nearly fill the resource: regret is then linear in some runs or in all. The full rule and
    the measurements are in :doc:`/semibandit`.

    References
    ----------
    Wang and Chen (2018), "Thompson Sampling for Combinatorial Semi-Bandits", ICML; Algorithm 1. The
    setting is that of Verma et al. (2019), "Censored Semi-Bandits", NeurIPS.

    Examples
    --------
    >>> learner = ThresholdThompson().learner(arms=2, resource=1.0, seed=1)
    >>> for _ in range(500):
    ...     amounts = learner.ask()  # the thresholds, unknown to the policy, are 0.3 and 0.6
    ...     learner.tell([int(amounts[0] < 0.3), int(amounts[1] < 0.6)])
    >>> learner.recommend().round(2)  # enough for both, and together no more than there is
    array([0.38, 0.62])
    """

    # Imputing would lose what `select` counts in the state: for how long an allocation is kept.
    pending = ("ignore",)
    randomness = (
        "whenever an allocation is drawn, a uniform variate, and for each arm two uniform variates "
        "and a beta variate"
    )
    cost_per_round = (
        "O(K) for up to 16 pieces of each arm; an exact knapsack whenever an allocation is drawn, "
        "in one of 1 + t / 200 rounds and after losses that change a threshold's range"
    )

    delta: float = parameter(default=0.1, gt=0, lt=1, doc="chance that an estimate is too low")

    class State(Scratch, ThresholdPosterior):
        """The posterior, the present allocation, and the working memory of the knapsack."""

        kept = int_array()
        """For how many more rounds the allocation is kept."""
        amounts = float_array("arms")
        """The drawn thresholds, then the allocation that is made from them."""
        drawn = int_array("arms")
        """The piece from which the threshold was drawn."""
        values = float_array("arms")
        """Drawn mean losses."""
        funded = int_array("arms")
        up = float_array("arms")
        down = float_array("arms")
        """Shapes of the mean losses' posteriors, given the thresholds."""

    def init(p, s: State) -> None:
        """Set the prior of all thresholds."""
        for arm in range(p.arms):
            begin_posterior(s, arm, p.resource)

    def select(p, s: State, t: int, rng: Stream, allocation: FloatArray) -> None:
        """Keep the allocation, or draw another."""
        if s.kept[0] > 0:
            s.kept[0] -= 1
        else:
            s.kept[0] = t // _KEPT_GROWTH_PERIOD
            draw_allocation(p, s, t, rng)
        for arm in range(p.arms):
            allocation[arm] = s.amounts[arm]

    def update(p, s: State, allocation: FloatArray, losses: FloatArray) -> None:
        """Learn what every arm showed."""
        for arm in range(p.arms):
            amount = allocation[arm]
            if losses[arm] > 0.0:
                if amount > s.lows[arm] + TOLERANCE:
                    s.kept[0] = 0
                learn_loss(s, arm, amount)
            else:
                learn_no_loss(s, arm, amount)

    def recommend(  # type: ignore[override]
        p, s: State, estimates: FloatArray, searched: IntArray, refuted: IntArray
    ) -> None:
        """Report what is enough with probability 1 - delta, and a search of 0 rounds."""
        for arm in range(p.arms):
            estimates[arm] = threshold_quantile(s, arm, p.delta)
        # No reported estimate is refuted: a loss at an arm that was given its estimate raises it.
        searched[0] = refuted[0] = 0

    def describe(self, learner: Any) -> list[str]:
        """Return a line for each arm, with the range of its threshold and its losses."""
        state = learner.state
        return [
            f"arm {arm}: threshold above {state['lows'][arm]:.4g}, probably at most "
            f"{estimate:.4g}; {state['losses'][arm]:g} losses, and {state['clears'][arm]:g} rounds "
            f"without a loss at about {state['lows'][arm]:.4g} or less"
            for arm, estimate in enumerate(learner.recommend())
        ]


def draw_allocation(p: ThresholdThompson, s: ThresholdThompson.State, t: int, rng: Stream) -> None:
    """Draw thresholds and mean losses, fund the best set, and divide what is left."""
    if p.resource >= p.arms:
        s.amounts[:] = 1.0
        return
    draw_thresholds(p, s, t, rng)
    betas(rng, s.up, s.down, p.arms, s.values)
    choose_items(s, s.values, s.amounts, p.arms, p.resource, s.funded)
    for arm in range(p.arms):
        if s.funded[arm] == 0:
            s.amounts[arm] = 0.0
    raise_amounts_to_piece_ends(p, s)
    allocate_rest(p, s)
    clip_to_budget(s.amounts, p.arms, p.resource)


def draw_thresholds(p: ThresholdThompson, s: ThresholdThompson.State, t: int, rng: Stream) -> None:
    """Draw the arms' thresholds, and set the shapes of the mean losses given these."""
    short_length = _SHORT_LENGTH * min(1.0, p.resource) / p.arms * min(1.0, _CONSTANT_ROUNDS / t)
    # One rounding (see `allocation_in_piece`) is drawn for all arms: if thresholds are round
    # numbers, the best set may fit only if all of them are drawn as round numbers.
    rounding_draw = uniform(rng)
    rounding = 1 if rounding_draw < 0.25 else (2 if rounding_draw < 0.5 else 0)
    for arm in range(p.arms):
        piece = draw_piece(s, arm, rng)
        low = piece_start(s, arm, piece)
        high = s.ends[arm, piece]
        depth = uniform(rng)
        if high - low < short_length:
            depth = 0.0
        s.drawn[arm] = piece
        s.amounts[arm] = allocation_in_piece(low, high, depth, p.resource, p.arms, rounding)
        s.up[arm] = 1.0 + s.losses[arm]
        # F in the piece is the sum of `clears` and `further`.
        s.down[arm] = 1.0 + s.clears[arm] + s.further[arm, piece]


def raise_amounts_to_piece_ends(p: ThresholdThompson, s: ThresholdThompson.State) -> None:
    """Raise funded arms to the ends of their pieces if the resource allows it, cheapest first."""
    remaining = p.resource - sum_up(s.amounts, p.arms)
    count = 0
    for arm in range(p.arms):
        if s.funded[arm] == 1:
            # Minus the amount by which the arm would be raised.
            s.keys[arm] = s.amounts[arm] - s.ends[arm, s.drawn[arm]]
            s.order[count] = arm
            count += 1
    sort_descending(s.order, s.keys, count)
    for k in range(count):
        arm = s.order[k]
        if -s.keys[arm] <= remaining + SLACK:
            remaining += s.keys[arm]
            s.amounts[arm] = s.ends[arm, s.drawn[arm]]


def allocate_rest(p: ThresholdThompson, s: ThresholdThompson.State) -> None:
    """Give what is left to other arms, first to the arm with the largest drawn loss."""
    remaining = p.resource - sum_up(s.amounts, p.arms)
    while remaining > TOLERANCE:
        best = -1
        for arm in range(p.arms):
            # An amount that is known to be too little shows nothing new.
            is_useful = s.amounts[arm] == 0.0 and s.lows[arm] + TOLERANCE < remaining
            if is_useful and (best < 0 or s.values[arm] > s.values[best]):
                best = arm
        if best < 0:
            return
        s.amounts[best] = min(remaining, 1.0)
        remaining -= s.amounts[best]
