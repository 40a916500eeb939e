"""Policy HazardUCB: chooses the arm and limit of a run with the largest upper bound of the gain.

An arm is a thing that can be run, such as a solver; its run is stopped at the limit. The bounds
follow from estimates of when runs end (the *hazard*, the chance to end soon).
"""

import math

from keyhole.policy import parameter
from keyhole.resource.hazard_rate_policy import (
    HALFWAY_RUNS,
    PRIOR_RUNS,
    HazardRatePolicy,
    cost_mean,
    find_best_limit,
    first_untried,
    grid_coarseness,
    hazard_mean,
    prior_strength,
    reward_mean,
    reward_variance,
    write_pooled_means,
)


class HazardUCB(HazardRatePolicy):
    r"""Play the pair of arm and limit with the largest bound, from estimates of when runs end.

    The choice for budgets of hundreds or thousands of runs, with one limit or several. The model is
    that of `HazardThompson`, without randomness: :math:`\hat h_{ij}`, :math:`\hat r_{ij}` and
    :math:`\hat c_{ij}` are the means of its posteriors, :math:`\hat\nu_{ij}` the gain and
    :math:`\hat S_{ij}` the survival probability that follow. In every second round the first arm
    that was never run is played, with the limit at which :math:`\hat\nu` is largest; else the pair
    with the largest

    .. math::
        \hat\nu_{ij} + \sqrt{2 \alpha_t \ln t \sum_{l \le j} \hat S_{i,l-1}^2 \Bigl(
        (\hat m_{il} - \hat V_{ilj})^2 \frac{\hat h_{il} (1 - \hat h_{il})}{n_{il} + s}
        + \hat h_{il}^2 \Bigl(\frac{\hat v_{il}}{d_{il} + 2} + \frac{w_l^2}{12 (d_{il} + 1)}
        \Bigr) \Bigr)}

    with :math:`\alpha_t = a (1 + u) / (1 + a u)`, :math:`u = t / 4000 K`,
    :math:`\hat m_{il} = \hat r_{il} - \hat c_{il}` the gain of a run that ends in interval l,
    :math:`\hat v_{il}` the variance of its reward, :math:`w_l` the range of the costs within the
    interval, and :math:`\hat V_{ilj}` the expected gain of a run that survives it. With L limits,
    :math:`a = \alpha (1 + b / 2)` and s is :math:`1 - b / 2` times `strength`, where
    :math:`b = \max(0, 1 - \log_{10} L)`.

    Parameters
    ----------
    alpha : float, default 0.2
        Exploration in the first rounds, at least 0, with ten limits or more; half as much again
        with one. It tends to 1, and corresponds to :math:`1 / \kappa` of `HazardThompson`. With 0
        the policy runs each arm once and is greedy from then on: its regret may be linear.
    strength : float, default 8
        Weight of the pooled hazard as each arm's prior, in runs, above 0, with ten limits or more;
        half of it with one.

    Notes
    -----
    Departures from the paper: ours, not from a paper; nothing is proved of it, and its constants
    were chosen by measurement on scenarios of ASlib. The sum is the variance of
    :math:`\hat\nu_{ij}` to the first order, with uncorrelated estimates of different intervals and
    costs that are uniform over an interval; where every run that ends has gain 1, it is
    :math:`(1 + \lambda)^2` times Greenwood's for :math:`\hat S_{ij}`. Rewards are pooled as hazards
    are, with d in place of n and one prior run of reward 1; :math:`\hat v_{il}` is at least
    :math:`.01 \hat r (1 - \hat r)`. A pending run has survived the intervals below its age; for the
    rest its expectation is imputed. The recommendation is the pair with the largest
    :math:`\hat\nu` among the arms that were run. Ties go to the lowest arm and then to the smallest
    limit. An arm that is added later starts with the pooled means as its prior.

    References
    ----------
    Greenwood (1926), "The Natural Duration of Cancer", Reports on Public Health and Medical
    Subjects 33, for the variance. Kaplan and Meier (1958), "Nonparametric Estimation from
    Incomplete Observations", JASA 53.

    Examples
    --------
    >>> from keyhole.resource import Power
    >>> learner = HazardUCB().learner(
    ...     arms=2, limits=[0.1, 0.3, 1.0], cost=Power(slope=1), penalty=Power(slope=1)
    ... )
    >>> for _ in range(50):
    ...     arm, limit = learner.ask()
    ...     if arm == 1 and limit > 0.2:
    ...         learner.tell(reward=1, consumption=0.2)
    ...     else:
    ...         learner.tell(exceeded=True)
    >>> learner.recommend()
    (1, 0.3)
    """

    pending = ("impute", "ignore")
    cost_per_round = "a few dozen operations and a square root for each pair"

    alpha: float = parameter(default=0.2, ge=0, doc="exploration")

    def select(p, s: HazardRatePolicy.State, t: int) -> tuple[int, float]:
        """Return an arm that was never run, or the pair with the largest upper confidence bound."""
        # With B = S m + A, A the gain of the runs that end up to an interval, S (m - V) is B less
        # the gain: the variance is a combination of the sums of w, w B and w B^2, in one pass.
        strength = prior_strength(p.strength, p.limit_count)
        untried = first_untried(s, t)
        if untried >= 0:
            return untried, p.limits[find_best_limit(s, strength, p.limits, untried)[1]]
        write_pooled_means(s)
        runs = t / (HALFWAY_RUNS * p.arms)
        first_alpha = p.alpha * (1.0 + 0.5 * grid_coarseness(p.limit_count))
        alpha = first_alpha * (1.0 + runs) / (1.0 + first_alpha * runs)
        factor = 2.0 * alpha * math.log(t)
        best, best_arm, best_place = -math.inf, 0, 0
        for arm in range(p.arms):
            gain, alive = 0.0, 1.0
            weight, first, second, others = 0.0, 0.0, 0.0, 0.0
            for place in range(p.limit_count):
                hazard = hazard_mean(s, strength, arm, place, s.hazard[place])
                reward = reward_mean(s, arm, place, s.reward[place])
                net = reward - cost_mean(s, arm, place, s.cost[place])
                ends = alive * hazard
                gain += ends * net
                alive -= ends
                known = s.reached[arm, place] + strength
                w, b = hazard / (known * (1.0 - hazard)), alive * net + gain
                weight += w
                first += w * b
                second += w * b * b
                ended = s.ended[arm, place]
                of_reward = reward_variance(s, arm, place, reward) / (ended + PRIOR_RUNS)
                width = s.most_cost[place] - s.least_cost[place]
                of_cost = width * width / (12.0 * (ended + 1.0))
                others += ends * ends * (of_reward + of_cost)
                value = gain - s.penalties[place] * alive
                variance = second - value * (2.0 * first - value * weight) + others
                # Rounding may make a variance of 0 negative.
                value += math.sqrt(factor * max(variance, 0.0))
                if value > best:
                    best, best_arm, best_place = value, arm, place
        return best_arm, p.limits[best_place]
