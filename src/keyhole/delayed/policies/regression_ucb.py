"""Policy RegressionUCB for late rewards: estimates arms' means by a regression of the sums."""

import math
from collections.abc import Mapping
from typing import Any, Final

import numpy as np

from keyhole.contract.reward_units import format_arm_means
from keyhole.delayed.policy_base import Policy
from keyhole.policy import first_unpulled, float_array, int_array, parameter, scratch_array

_DELAYS_A_BATCH: Final = 2.0  # length of the shortest batch in expected delays, without a horizon
_GROWTH: Final = 0.1  # a batch has at least this share of the pulls of its arm so far
# The delays that are compared: the expected delay times 2 to each of these powers.
_POWERS: Final = np.array([0.0, 1.0, 2.0, 3.0, 4.0, 5.0, -1.0, -2.0])
_DELAY_COUNT: Final = len(_POWERS)
# If the delay of the largest bound is x times the expected delay, and x is above 1, the next batch
# is made x times as long, but no longer for this reason than this share of all rounds so far.
_LONGEST_BATCH_SHARE: Final = 0.05
_PENALTY: Final = 3.0  # added to a delay's score for each doubling or halving of the expected delay
_PLAUSIBLE_EXCESS: Final = 6.0  # a delay is plausible if its score is at most the best plus this
_LEAST_BATCHES: Final = 8.0  # first batches have at most horizon / (this number * arms) rounds
_LONG_SHARE: Final = 0.25  # first batches that take a larger share of the horizon cause a warning
_OPTIMISTIC: Final = 2  # the value of `correct_delay` with which all plausible delays count


class RegressionUCB(Policy):
    r"""Pull in batches the arm with the largest upper bound, estimated by a regression of the sums.

    Use it where only sums arrive. A batch for an arm with N pulls has :math:`\lceil \max(1, 2d, N /
    10) \rceil` rounds, with d as below. Its sum updates a regression of sums on the rewards that
    are expected to arrive. After two batches of each arm (the second batches in reverse order) pull

    .. math:: \arg\max_j \; \max_d \; b_j / A_j + \sqrt{2 v_j \ln t / A_j}

    with the estimated mean :math:`b_j / A_j` and variance :math:`v_j` of a reward. d is the best of
    eight delays from D / 4 to 32 D, or a longer delay that fits nearly as well (:doc:`/delayed`).

    Parameters
    ----------
    expected_delay : float, default 50
        D, in rounds, at least 0: a guess, or the usual delay if few rewards are very late.
    correct_delay : {0, 1, 2}, default 2
        2: as above. 1: d is the best delay. 0: d is D. With 0 or 1, an arm has one first batch.
    horizon : int, default 0
        Rounds in all, if known. First batches of the K arms then have at most horizon / (8 K).

    Notes
    -----
    Source: Keyhole's own. Of named feedback only the sum of the rewards is used. Only a variant has
    a proven bound (:doc:`/regression_ucb_bound`). The policy breaks where D is far too small, and
    in some runs where delays depend on the arm (:doc:`/delayed`).

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

        information = float_array(_DELAY_COUNT, "arms")
        """A: the weight of the estimate of the arm's mean. The prior has the weight 1."""
        weighted = float_array(_DELAY_COUNT, "arms")
        """b: the estimate of the arm's mean times `information`."""
        due = float_array(_DELAY_COUNT, "arms")
        """The expected number of the arm's rewards yet to arrive, if delays are geometric."""
        pulls = float_array("arms")
        residuals = float_array(_DELAY_COUNT)
        """Sum over batches of the squared residual, divided by the variance that it would have if
        rewards had variance 1."""
        scores = float_array(_DELAY_COUNT)
        """-2 times the log likelihood of the batches' sums, plus the penalty of the delay."""
        batches = int_array()
        delay = int_array()
        """The position in `_POWERS` of the delay with the best score."""
        arm = int_array()
        """The arm of the present batch."""
        length = float_array()
        """The number of rounds of the present batch."""
        left = float_array()
        """The number of rounds of the present batch that remain."""
        total = float_array()
        """The sum that arrived in the present batch so far."""
        expected = scratch_array(_DELAY_COUNT, "arms")
        """x: expected number of rewards of each arm that arrive in the batch that has just ended,
        if delays are geometric."""
        begin = scratch_array()  # the arm at which the search for an unpulled arm begins

    def init(p, s: State) -> None:
        """Set the prior, which counts as one reward of 1/2, and the penalties of the delays."""
        for k in range(_DELAY_COUNT):
            s.scores[k] = _PENALTY * abs(_POWERS[k])
        s.information[:] = 1.0
        s.weighted[:] = 0.5

    def select(p, s: State, t: int) -> int:
        """Return the arm of the present batch; if the batch is over, begin the next one."""
        if s.left[0] > 0.0:
            return int(s.arm[0])
        k = s.delay[0]  # the position of the delay by which the batch is sized
        arm = first_unpulled(s.pulls, s.begin)
        if arm < 0 and s.batches[0] < 2 * p.arms and p.correct_delay == _OPTIMISTIC:
            # The rewards of an arm's first batch may all have arrived in the next batch, as if
            # another arm had earned them. If the order were the same, this could happen again.
            arm = 2 * p.arms - 1 - s.batches[0]
        elif arm < 0:
            arm, k = find_arm_and_delay(p, s, math.log(t))
        s.arm[0] = arm
        length = _DELAYS_A_BATCH * p.expected_delay
        # In the first rounds, a delay above the expected delay may look best by chance, so t bounds
        # the length. A shorter delay does not shorten batches: it may look best because the arm
        # that is pulled most has short delays, and in short batches an arm with long delays would
        # never be seen to pay.
        longest = max(length, _LONGEST_BATCH_SHARE * (t - 1))
        length = min(length * 2.0 ** max(_POWERS[k], 0.0), longest)
        if p.horizon > 0:
            length = min(length, p.horizon / (_LEAST_BATCHES * p.arms))
        s.length[0] = max(1.0, np.ceil(max(length, _GROWTH * s.pulls[arm])))
        s.left[0] = s.length[0]
        s.total[0] = 0.0
        return int(arm)

    def update(p, s: State, arm: int, total: float) -> None:
        """Add the rewards that arrived; after a batch's last round, learn from the batch's sum."""
        s.pulls[arm] += 1.0
        s.total[0] += total
        s.left[0] -= 1.0
        if s.left[0] <= 0.0:
            s.batches[0] += 1
            delay_count = _DELAY_COUNT if p.correct_delay > 0 else 1
            for k in range(delay_count):
                write_expected_arrivals(s, k, arm, p.expected_delay * 2.0 ** _POWERS[k])
                learn_from_batch(p, s, k, arm)
            s.delay[0] = np.argmin(s.scores[:delay_count])

    def caution(self, facts: Mapping[str, Any], problem: object) -> str:
        """Return a warning if first batches take over a quarter of the rounds, else no text."""
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


def find_arm_and_delay(p: RegressionUCB, s: RegressionUCB.State, log: float) -> tuple[int, int]:
    """Return the arm with the largest upper bound of its mean, and the position of its delay.

    `log` is ln t. For each arm, the delay with the largest bound counts.
    """
    best, best_k = 0, s.delay[0]
    highest = -math.inf
    # The policy is optimistic about delays, too: an arm that looks poor with the best delay may be
    # good with a longer delay that explains the sums nearly as well.
    score_limit = s.scores[s.delay[0]] + _PLAUSIBLE_EXCESS
    delay_count = _DELAY_COUNT if p.correct_delay == _OPTIMISTIC else 1
    for offset in range(delay_count):
        k = (s.delay[0] + offset) % _DELAY_COUNT
        if s.scores[k] > score_limit or _POWERS[k] < _POWERS[s.delay[0]]:
            continue
        residual = s.residuals[k] / s.batches[0]
        for arm in range(p.arms):
            information = s.information[k, arm]
            mean = clipped_mean(s, k, arm)
            variance = min(0.25, mean * (1.0 - mean) + 2.0 * log / information)
            variance = max(variance, residual)
            bound = s.weighted[k, arm] / information + math.sqrt(2.0 * variance * log / information)
            if bound > highest:
                best, best_k, highest = arm, k, bound
    return best, best_k


def write_expected_arrivals(s: RegressionUCB.State, k: int, pulled: int, delay: float) -> None:
    """Write `expected` and `due`, for the delay at position k, after a batch of the arm `pulled`.

    `delay` is the expected delay, in rounds; delays are taken as geometric.
    """
    # These are closed forms for the whole batch. Of the rewards that are due at its beginning,
    # `arriving_share` is the share that arrives in it. If an arm were always pulled, the number of
    # its due rewards would tend to `delay`; a batch reduces the distance to `delay` by this share.
    rate = math.log1p(1.0 / delay) if delay > 0.0 else math.inf
    arriving_share = -math.expm1(-rate * s.length[0])
    for arm in range(s.expected.shape[1]):
        s.expected[k, arm] = arriving_share * s.due[k, arm]
        if arm == pulled:
            s.expected[k, arm] -= arriving_share * delay
        s.due[k, arm] -= s.expected[k, arm]
    s.expected[k, pulled] += s.length[0]


def learn_from_batch(p: RegressionUCB, s: RegressionUCB.State, k: int, pulled: int) -> None:
    """Learn from the sum of a batch of the arm `pulled`, for the delay at position k."""
    # `mean` and `variance` are those of the other arms' contribution to the sum. The contribution
    # of the pulled arm is large: it is kept apart, so that the others lose no digits.
    mean = variance = 0.0
    for arm in range(p.arms):
        if arm != pulled:
            mean += s.expected[k, arm] * clipped_mean(s, k, arm)
            variance += s.expected[k, arm] ** 2 / s.information[k, arm]
    residual = s.total[0] - mean
    noise = s.length[0] + variance
    pulled_mean = s.expected[k, pulled] * clipped_mean(s, k, pulled)
    pulled_variance = s.expected[k, pulled] ** 2 / s.information[k, pulled]
    square = (residual - pulled_mean) ** 2 / (noise + pulled_variance)
    s.residuals[k] += square
    # This is -2 times a normal log likelihood, up to a constant. Rewards have a variance of at most
    # 1/4, hence the factor 4.
    s.scores[k] += math.log(noise + pulled_variance) + 4.0 * square
    for arm in range(p.arms):
        x = s.expected[k, arm]
        information = s.information[k, arm]
        if arm == pulled:
            target = residual
            weight = x / noise
        else:
            target = residual - pulled_mean + x * clipped_mean(s, k, arm)
            weight = x / (noise + pulled_variance - x**2 / information)
        s.information[k, arm] += weight * x
        s.weighted[k, arm] += weight * target


def clipped_mean(s: RegressionUCB.State, k: int, arm: int) -> float:
    """Return the estimate of an arm's mean by the delay at position k, clipped to [0, 1]."""
    return float(min(max(s.weighted[k, arm] / s.information[k, arm], 0.0), 1.0))
