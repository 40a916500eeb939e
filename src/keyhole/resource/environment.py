"""Simulators of runs that are stopped at a limit: they draw each run's reward and consumption."""

from typing import Any, ClassVar, Final

from keyhole.distributions.sampler_dispatch import SampledEnvironment, dispatch_kernel, with_sampler
from keyhole.metric import PULLS, REGRET, REWARD, Metric
from keyhole.policy import (
    Environment,
    Kernel,
    Stream,
    float_array,
    float_input,
    int_array,
    int_input,
    seek_pull,
)
from keyhole.resource.joint_distributions import KERNELS
from keyhole.resource.setting import SETTING, limit_index


class LimitedRunEnvironment(SampledEnvironment, Environment, abstract=True):
    """Environment of arms whose runs have a reward and a consumption; limits come from a list.

    The n-th pull of an arm seeks the n-th position of this arm in the environment's stream (common
    random numbers). So the reward and the consumption of the pull depend neither on the limit nor
    on earlier decisions.
    """

    setting = SETTING
    metrics: ClassVar[tuple[Metric, ...]] = (
        REGRET,
        Metric("censored_share", "share of rounds whose limit was exceeded"),
        Metric("best_arm_share", "share of rounds with the best arm", better="higher"),
        Metric("simple_regret", "simple regret", drawn="from 0"),
        Metric("best_pair_share", "share of rounds with the best pair", better="higher"),
        REWARD,
        Metric("time_spent", "resource consumed", drawn="from 0", detail=True),
        Metric(
            "observations", "runs within their limits", better="higher", drawn="from 0", detail=True
        ),
        Metric("mean_limit", detail=True),
        PULLS,
    )
    helpers: ClassVar[tuple[str, ...]] = ("draw", "gap")

    arms = int_input()
    limit_count = int_input()
    limits = float_array("limit_count")
    true_best_arm = int_input()
    gaps = float_array("arms", "limit_count")
    """Gain of the best pair less the gain of each pair."""

    class State:
        """Number of pulls of each arm, and sums over the rounds."""

        pulls = int_array("arms")
        regret = float_array()
        censored_rounds = float_array()
        best_arm_rounds = float_array()
        best_pair_rounds = float_array()
        reward_sum = float_array()
        """Sum of the rewards of the runs within their limits."""
        consumption_sum = float_array()
        """Sum of consumptions, in which a run that exceeded its limit counts with the limit."""
        limit_sum = float_array()
        """Sum of the limits."""

    def respond(
        e, s: State, rng: Stream, arm: int, limit: float, draw: Kernel, gap: Kernel
    ) -> tuple[float, float, int]:
        """Run the arm; return reward, consumption, and 1 if the limit was exceeded."""
        pull = s.pulls[arm]
        s.pulls[arm] = pull + 1
        seek_pull(rng, arm, pull)
        reward, consumption = draw(e, rng, arm)
        regret = gap(e, arm, limit)
        s.regret[0] += regret
        s.best_arm_rounds[0] += arm == e.true_best_arm
        s.best_pair_rounds[0] += regret == 0.0
        s.limit_sum[0] += limit
        # The feedback hides the reward of a stopped run, and what it would have consumed.
        if consumption > limit:
            s.censored_rounds[0] += 1.0
            s.consumption_sum[0] += limit
            return 0.0, 0.0, 1
        s.reward_sum[0] += reward
        s.consumption_sum[0] += consumption
        return reward, consumption, 0

    def gap(e, arm: int, limit: float) -> float:
        """Return the gain of the best pair less the gain of this pair."""
        return float(e.gaps[arm, limit_index(e.limits, limit)])

    def score(
        e, s: State, t: int, best_arm: int, best_limit: float, metrics: Any, gap: Kernel
    ) -> None:
        """Write all metrics."""
        write_sum_metrics(s, t, metrics)
        metrics.simple_regret[0] = gap(e, best_arm, best_limit)
        metrics.best_pair_share[0] = s.best_pair_rounds[0] / t


class ContinuousLimitEnvironment(LimitedRunEnvironment, abstract=True):
    """Environment in which every limit up to the largest may be chosen."""

    metrics = tuple(
        metric for metric in LimitedRunEnvironment.metrics if metric.name != "best_pair_share"
    )

    best_gain = float_input()
    # The arms' tables of gains differ in length: each array has the entries of all tables, arm by
    # arm.
    table_length = int_input()
    table_starts = int_array("arms")
    """Start of each arm's table of gains; see `keyhole.resource.expected_gain.GainTable`."""
    table_ends = int_array("arms")
    knots = float_array("table_length")
    gain_at_knot = float_array("table_length")
    gain_above_knot = float_array("table_length")
    slope = float_array("table_length")

    def gap(e, arm: int, limit: float) -> float:
        """Return the gain of the best pair less the gain of this pair."""
        low, high = e.table_starts[arm], e.table_ends[arm] - 1
        while low < high:  # find the last knot that is at most the limit
            middle = (low + high + 1) // 2
            if e.knots[middle] <= limit:
                low = middle
            else:
                high = middle - 1
        # The gain may jump at a knot: the table has the gain there, and the line just above it.
        if e.knots[low] == limit:
            return float(e.best_gain - e.gain_at_knot[low])
        return float(e.best_gain - e.gain_above_knot[low] - e.slope[low] * (limit - e.knots[low]))

    def score(
        e,
        s: LimitedRunEnvironment.State,
        t: int,
        best_arm: int,
        best_limit: float,
        metrics: Any,
        gap: Kernel,
    ) -> None:
        """Write all metrics."""
        write_sum_metrics(s, t, metrics)
        metrics.simple_regret[0] = gap(e, best_arm, best_limit)


def write_sum_metrics(s: LimitedRunEnvironment.State, t: int, metrics: Any) -> None:
    """Write the metrics that are sums or means over the rounds (a kernel)."""
    metrics.regret[0] = s.regret[0]
    metrics.censored_share[0] = s.censored_rounds[0] / t
    metrics.best_arm_share[0] = s.best_arm_rounds[0] / t
    metrics.cumulative_reward[0] = s.reward_sum[0]
    metrics.time_spent[0] = s.consumption_sum[0]
    metrics.observations[0] = t - s.censored_rounds[0]
    metrics.mean_limit[0] = s.limit_sum[0] / t
    for arm in range(len(s.pulls)):
        metrics.pulls[arm] = s.pulls[arm]


ENVIRONMENTS: Final = tuple(
    with_sampler(base, "", dispatch_kernel(KERNELS))
    for base in (LimitedRunEnvironment, ContinuousLimitEnvironment)
)
"""Environments that are compiled ahead of time."""
