"""Policy HazardUCB: plays the largest upper bound of a gain, from estimates of when runs end."""

import math

from keyhole.policy import parameter
from keyhole.resource.hazard_rate_policy import (
    HALFWAY_RUNS,
    PRIOR_RUNS,
    HazardRatePolicy,
    cost_mean,
    find_best_limit,
    first_untried_every_second_round,
    grid_coarseness,
    hazard_mean,
    prior_strength,
    reward_mean,
    reward_variance,
    write_pooled_means,
)


class HazardUCB(HazardRatePolicy):
    r"""Play the pair of arm and limit with the largest bound, from estimates of when runs end.

    Use it for hundreds or thousands of runs, with one limit or several. The model is that of
    `HazardThompson`, without random draws: let :math:`\hat\nu_{ij}` be a pair's gain at the
    posterior means, and :math:`\hat\sigma_{ij}^2` the variance of this gain to the first order
    (:doc:`/resource`). Play the pair with the largest

    .. math:: \hat\nu_{ij} + \sqrt{2 \alpha_t \ln t \; \hat\sigma_{ij}^2}

    While there are arms that were never run, every second round plays the first of them, with the
    limit at which its :math:`\hat\nu` is largest.

    Parameters
    ----------
    alpha : float, default 0.2
        At least 0. :math:`\alpha_t` starts at `alpha` and tends to 1. For fewer than ten limits it
        starts higher: for one, at 1.5 `alpha`. With 0 it stays 0, and the regret may be linear.
    strength : float, default 8
        Above 0. The pooled hazard counts as `strength` runs, or as fewer for fewer than ten limits.

    Notes
    -----
    Source: Keyhole's own. Nothing is proved of it. Ties: the lowest arm, then the smallest limit.

    References
    ----------
    Greenwood (1926), "The Natural Duration of Cancer", Reports on Public Health and Medical
    Subjects 33, for the variance. Kaplan and Meier (1958), "Nonparametric Estimation from
    Incomplete Observations", JASA 53.

    Examples
    --------
    >>> from keyhole.resource import Power
    >>> cost = Power(slope=1)
    >>> learner = HazardUCB().learner(arms=2, limits=[0.1, 1], cost=cost, penalty=cost)
    >>> for _ in range(50):
    ...     arm, limit = learner.ask()
    ...     learner.tell(reward=arm, consumption=0.05)
    >>> learner.recommend()
    (1, 0.1)
    """

    pending = ("impute", "ignore")
    cost_per_round = "a few dozen operations and a square root for each pair"

    alpha: float = parameter(default=0.2, ge=0, doc="exploration")

    def select(p, s: HazardRatePolicy.State, t: int) -> tuple[int, float]:
        """Return an arm that was never run, or the pair with the largest upper confidence bound."""
        strength = prior_strength(p.strength, p.limit_count)
        untried_arm = first_untried_every_second_round(s, t)
        if untried_arm >= 0:
            return untried_arm, p.limits[find_best_limit(s, strength, p.limits, untried_arm)[1]]
        write_pooled_means(s)
        # After HALFWAY_RUNS runs per arm, 1 / alpha_t is halfway between its first value and 1.
        progress = t / (HALFWAY_RUNS * p.arms)
        first_alpha = p.alpha * (1.0 + 0.5 * grid_coarseness(p.limit_count))
        alpha = first_alpha * (1.0 + progress) / (1.0 + first_alpha * progress)
        factor = 2.0 * alpha * math.log(t)
        best_bound = -math.inf
        best_arm = best_position = 0
        for arm in range(p.arms):
            ended_gain, alive = 0.0, 1.0
            w_sum = wb_sum = wb2_sum = other_variance = 0.0
            for position in range(p.limit_count):
                hazard = hazard_mean(s, strength, arm, position, s.hazard[position])
                reward = reward_mean(s, arm, position, s.reward[position])
                net = reward - cost_mean(s, arm, position, s.cost[position])
                ending = alive * hazard
                ended_gain += ending * net
                alive -= ending
                # By the delta method, each interval up to the limit adds w (B - V)^2 to the
                # variance of the limit's gain V. Here w is the variance of ln(1 - hazard). B is
                # what V would be if the runs that survive the interval (the share `alive`) ended in
                # it, too. V differs by limit: the sums of w, w B and w B^2 serve all limits in one
                # pass.
                evidence = s.reached[arm, position] + strength
                w = hazard / (evidence * (1.0 - hazard))
                b = alive * net + ended_gain
                w_sum += w
                wb_sum += w * b
                wb2_sum += w * b * b
                # The mean reward and the mean cost of the runs that end here are uncertain, too.
                # Costs are taken as uniform over the interval.
                ended = s.ended[arm, position]
                runs = ended + PRIOR_RUNS
                variance_of_reward = reward_variance(s, arm, position, reward) / runs
                width = s.most_cost[position] - s.least_cost[position]
                variance_of_cost = width * width / (12.0 * (ended + 1.0))
                other_variance += ending * ending * (variance_of_reward + variance_of_cost)
                gain = ended_gain - s.penalties[position] * alive
                variance = wb2_sum - gain * (2.0 * wb_sum - gain * w_sum) + other_variance
                # Rounding may make a variance of 0 negative.
                bound = gain + math.sqrt(factor * max(variance, 0.0))
                if bound > best_bound:
                    best_bound = bound
                    best_arm, best_position = arm, position
        return best_arm, p.limits[best_position]
