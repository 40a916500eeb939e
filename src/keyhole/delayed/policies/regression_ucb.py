"""Policy RegressionUCB for late rewards: estimates which option the sums that arrive are due to."""

import math
from collections.abc import Mapping
from typing import Any, Final

import numpy as np

from keyhole.contract.reward_units import format_arm_means
from keyhole.delayed.policy_base import Policy
from keyhole.policy import first_unpulled, float_array, int_array, parameter, scratch_array

_DELAYS_A_BATCH: Final = 2.0  # the least rounds of a batch, in expected delays
_GROWTH: Final = 0.1  # the least rounds of a batch, as a share of the pulls of its arm
# The delays that are compared are 2 to each of these powers times the expected delay.
_POWERS: Final = np.array([0.0, 1.0, 2.0, 3.0, 4.0, 5.0, -1.0, -2.0])
_COMPARED: Final = len(_POWERS)
# The largest share of all rounds so far in a batch that is long for a delay above the expected one.
_ROUNDS_A_BATCH: Final = 0.05
_PENALTY: Final = 3.0  # in the score of a delay, for each doubling or halving of the expected delay
_PLAUSIBLE: Final = 6.0  # a delay counts if its score exceeds the best by at most this
_LEAST_BATCHES: Final = 8.0  # that each arm can have within a known horizon
_LONG_SHARE: Final = 0.25  # first batches that take a larger share of the horizon cause a warning
_OPTIMISTIC: Final = 2  # the value of `correct_delay` with which all plausible delays count


class RegressionUCB(Policy):
    r"""Pull arms in batches, and the one with the largest upper bound by a regression of the sums.

    The choice where only sums arrive. Each batch, of :math:`\lceil \max(1, 2d, N / 10) \rceil`
    rounds for an arm with N pulls and the delay d, updates a regression of the sums on the rewards
    expected by then. After one of each arm, and another in reverse order, the next is of the arm

    .. math:: \arg\max_j \; \max_d \; b_j / A_j + \sqrt{2 v_j \ln t / A_j}

    with estimates :math:`b_j / A_j` and their variance :math:`v_j`. Of eight delays, from a quarter
    of the told one to 32 times, those count that explain the sums well (:doc:`/delayed`).

    Parameters
    ----------
    expected_delay : float, default 50
        D, in rounds, at least 0: a guess will do. Where few rewards are very late, the usual delay.
    correct_delay : {0, 1, 2}, default 2
        0: only D counts. 1: the best delay, as in version 0.2. Both: one first batch. 2: as above.
    horizon : int, default 0
        Rounds in all, if known: first batches then have at most horizon / (8 K).

    Notes
    -----
    Source: Keyhole's own. Only the sums are used, also with named feedback. Nothing is proved of
    it; a variant has a bound (:doc:`/regression_ucb_bound`). It breaks where it is told far too
    little, and in some runs where delays depend on the arm (:doc:`/delayed`).

    References
    ----------
    Pike-Burke, Agrawal, Szepesvari and Gruenewaelder (2018), "Bandits with Delayed, Aggregated
    Anonymous Feedback", ICML, for the problem.

    Examples
    --------
    >>> from keyhole import simulate
    >>> from keyhole.delayed import ODAAFB, Problem, Uniform
    >>> problem = Problem(means=[0.3, 0.6], delay=Uniform(0, 100))
    >>> policies = [RegressionUCB(expected_delay=50), ODAAFB(expected_delay=50, bound=100)]
    >>> curves = simulate(problem, policies, horizon=10_000, replications=2)
    >>> bool(curves.mean(policies[0], "regret")[-1] < 0.5 * curves.mean(policies[1], "regret")[-1])
    True
    """

    pending = ("wait",)
    cost_per_round = "O(1); O(K) at the end of a batch"

    expected_delay: float = parameter(default=50.0, ge=0, le=2**52, doc="expected delay")
    correct_delay: int = parameter(
        default=_OPTIMISTIC, ge=0, le=_OPTIMISTIC,
        doc="other delays: 0 none, 1 the likeliest, 2 all that are nearly as likely",
    )  # fmt: skip
    horizon: int = parameter(default=0, ge=0, le=2**40, doc="rounds in all; 0 if unknown")

    class State:
        """The regressions of each delay and arm, and the present batch."""

        information = float_array(_COMPARED, "arms")
        """A: the weight of what is known of the arm's mean, 1 of it the prior's."""
        weighted = float_array(_COMPARED, "arms")
        """b: the estimate times the information."""
        due = float_array(_COMPARED, "arms")
        """Expected number of rewards that are yet to arrive, were delays geometric."""
        pulls = float_array("arms")
        residuals = float_array(_COMPARED)
        """Sum of squared residuals of batches, by their variance for rewards of variance 1."""
        scores = float_array(_COMPARED)
        """How badly each delay predicted the batches, by -2 times the log likelihood."""
        batches = int_array()
        delay = int_array()
        """The index of the delay with the best score."""
        arm = int_array()
        """The arm of the present batch."""
        length = float_array()
        """Its rounds."""
        left = float_array()
        """Those that remain."""
        total = float_array()
        """What arrived in it so far."""
        expected = scratch_array(_COMPARED, "arms")
        """x: rewards of each arm that would have arrived in it, were delays geometric."""
        begin = scratch_array()

    def init(p, s: State) -> None:
        """Set the prior, one reward of one half, and the penalties of other delays."""
        for k in range(_COMPARED):
            s.scores[k] = _PENALTY * abs(_POWERS[k])
        s.information[:] = 1.0
        s.weighted[:] = 0.5

    def select(p, s: State, t: int) -> int:
        """Return the arm of the present batch; if it is over, begin one."""
        if s.left[0] > 0.0:
            return int(s.arm[0])
        k = s.delay[0]
        arm = first_unpulled(s.pulls, s.begin)
        if arm < 0 and s.batches[0] < 2 * p.arms and p.correct_delay == _OPTIMISTIC:
            # What an arm earned in its first batch may all have arrived in the next one, as if it
            # were of another arm. In the same order once more it might again.
            arm = 2 * p.arms - 1 - s.batches[0]
        elif arm < 0:
            arm, k = find_largest_bound(p, s, math.log(t))
        s.arm[0] = arm
        delays = _DELAYS_A_BATCH * p.expected_delay
        # A longer delay than that told may look best by chance at first, hence the bound by t. A
        # shorter one does where one arm, pulled most, is quick: in short batches a late arm would
        # never be seen to pay.
        longest = max(delays, _ROUNDS_A_BATCH * (t - 1))
        delays = min(delays * 2.0 ** max(_POWERS[k], 0.0), longest)
        if p.horizon > 0:
            delays = min(delays, p.horizon / (_LEAST_BATCHES * p.arms))
        s.length[0] = max(1.0, np.ceil(max(delays, _GROWTH * s.pulls[arm])))
        s.left[0] = s.length[0]
        s.total[0] = 0.0
        return int(arm)

    def update(p, s: State, arm: int, total: float) -> None:
        """Add what arrived; after the last round of a batch, learn from its sum."""
        s.pulls[arm] += 1.0
        s.total[0] += total
        s.left[0] -= 1.0
        if s.left[0] <= 0.0:
            s.batches[0] += 1
            compared = _COMPARED if p.correct_delay > 0 else 1
            for k in range(compared):
                write_expected_arrivals(s, k, arm, p.expected_delay * 2.0 ** _POWERS[k])
                learn_from_batch(p, s, k, arm)
            s.delay[0] = np.argmin(s.scores[:compared])

    def caution(self, facts: Mapping[str, Any], problem: object) -> str:
        """Return a warning if first batches take more than a quarter of the rounds, or nothing."""
        rounds = math.ceil(_DELAYS_A_BATCH * self.expected_delay) * facts["arms"]
        horizon = facts.get("horizon", math.inf)
        if self.horizon or rounds <= _LONG_SHARE * horizon:
            return ""
        return (
            f"{self} takes {rounds} of {horizon} rounds for its first batches, two expected delays "
            f"for each of {facts['arms']} arms: with horizon={horizon} they are shorter"
        )

    def describe(self, learner: Any) -> list[str]:
        """Return the pulls of each arm and its estimated mean."""
        state = learner.state
        best = state["delay"][0]
        means = state["weighted"][best] / state["information"][best]
        return format_arm_means(state["pulls"], state["pulls"] * means, learner.scale)


def find_largest_bound(p: RegressionUCB, s: RegressionUCB.State, log: float) -> tuple[int, int]:
    """Return the arm with the largest upper bound of its mean, and the delay by which it is."""
    best, best_delay = 0, s.delay[0]
    highest = -math.inf
    # Optimism about delays, too: an arm that looks poor by the best one may be good by a longer one
    # that explains the sums nearly as well.
    plausible = s.scores[s.delay[0]] + _PLAUSIBLE
    delay_count = _COMPARED if p.correct_delay == _OPTIMISTIC else 1
    for offset in range(delay_count):
        k = (s.delay[0] + offset) % _COMPARED
        if s.scores[k] > plausible or _POWERS[k] < _POWERS[s.delay[0]]:
            continue
        residual = s.residuals[k] / s.batches[0]
        for arm in range(p.arms):
            information = s.information[k, arm]
            mean = clipped_mean(s, k, arm)
            variance = min(0.25, mean * (1.0 - mean) + 2.0 * log / information)
            variance = max(variance, residual)
            bound = s.weighted[k, arm] / information + math.sqrt(2.0 * variance * log / information)
            if bound > highest:
                best, best_delay, highest = arm, k, bound
    return best, best_delay


def write_expected_arrivals(s: RegressionUCB.State, k: int, pulled: int, delay: float) -> None:
    """Write how many rewards of each arm would have arrived in the batch, and how many are due."""
    # In closed form for the whole batch: `arriving_share` of the rewards that are due at its
    # beginning arrive in it; of an arm that is always pulled, `delay` rewards are due on average.
    rate = math.log1p(1.0 / delay) if delay > 0.0 else math.inf
    arriving_share = -math.expm1(-rate * s.length[0])
    for arm in range(s.expected.shape[1]):
        s.expected[k, arm] = arriving_share * s.due[k, arm]
        if arm == pulled:
            s.expected[k, arm] -= arriving_share * delay
        s.due[k, arm] -= s.expected[k, arm]
    s.expected[k, pulled] += s.length[0]


def learn_from_batch(p: RegressionUCB, s: RegressionUCB.State, k: int, pulled: int) -> None:
    """Update the regressions of a delay with the sum that arrived in the batch, and its score."""
    mean = variance = 0.0
    for arm in range(p.arms):
        if arm != pulled:
            mean += s.expected[k, arm] * clipped_mean(s, k, arm)
            variance += s.expected[k, arm] ** 2 / s.information[k, arm]
    # Without the arm of the batch, whose share is large, so that no digits of the others' are lost.
    residual = s.total[0] - mean
    noise = s.length[0] + variance
    own_mean = s.expected[k, pulled] * clipped_mean(s, k, pulled)
    own_variance = s.expected[k, pulled] ** 2 / s.information[k, pulled]
    square = (residual - own_mean) ** 2 / (noise + own_variance)
    s.residuals[k] += square
    # A normal distribution; the variance of a reward is at most 1/4.
    s.scores[k] += math.log(noise + own_variance) + 4.0 * square
    for arm in range(p.arms):
        x = s.expected[k, arm]
        information = s.information[k, arm]
        if arm == pulled:
            target = residual
            weight = x / noise
        else:
            target = residual - own_mean + x * clipped_mean(s, k, arm)
            weight = x / (noise + own_variance - x**2 / information)
        s.information[k, arm] += weight * x
        s.weighted[k, arm] += weight * target


def clipped_mean(s: RegressionUCB.State, k: int, arm: int) -> float:
    """Return the estimate of an arm's mean, or the nearest number in [0, 1]."""
    return float(min(max(s.weighted[k, arm] / s.information[k, arm], 0.0), 1.0))
