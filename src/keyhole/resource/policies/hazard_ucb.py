"""Upper confidence bounds on gains made of hazards, with a prior that the arms share."""

import math

from keyhole.policy import parameter
from keyhole.resource.hazard_policy import (
    PATIENCE,
    SAY,
    HazardPolicy,
    best_limit_of,
    cost_mean,
    first_untried,
    grid_coarseness,
    hazard_mean,
    pool_hazards,
    reward_mean,
    reward_variance,
    strength_at,
)


class HazardUCB(HazardPolicy):
    r"""Play the pair that could be worth the most, by Greenwood's formula for gains.

    The choice for budgets of hundreds or thousands of runs, with one limit as with a list of them.
    What a run tells of every interval between limits that it has reached is pooled over the arms,
    as in `HazardThompson`, without randomness: :math:`\hat h_{ij}`, :math:`\hat r_{ij}` and
    :math:`\hat c_{ij}` are the means of its posteriors, :math:`\hat\nu_{ij}` the gain and
    :math:`\hat S_{ij}` the chance to survive that follow. In every second round the first arm that
    was never run comes, with the limit at which :math:`\hat\nu` is largest; else the pair with the
    largest

    .. math::
        \hat\nu_{ij} + \sqrt{2 \alpha_t \ln t \sum_{l \le j} \hat S_{i,l-1}^2 \Bigl(
        (\hat m_{il} - \hat V_{ilj})^2 \frac{\hat h_{il} (1 - \hat h_{il})}{n_{il} + s}
        + \hat h_{il}^2 \Bigl(\frac{\hat v_{il}}{d_{il} + 2} + \frac{w_l^2}{12 (d_{il} + 1)}
        \Bigr) \Bigr)}

    with :math:`\alpha_t = a (1 + u) / (1 + a u)`, :math:`u = t / 4000 K`,
    :math:`\hat m_{il} = \hat r_{il} - \hat c_{il}` what a run that ends in interval l is worth,
    :math:`\hat v_{il}` the variance of its reward, :math:`w_l` by how much costs differ within the
    interval, and :math:`\hat V_{ilj}` what one is still worth that survives it. With L limits,
    :math:`a = \alpha (1 + b / 2)` and s is :math:`1 - b / 2` times `strength`, where
    :math:`b = \max(0, 1 - \log_{10} L)`: with few of them there is less to pool, and more to doubt.

    Parameters
    ----------
    alpha : float, default 0.2
        Exploration at first, at least 0, with ten limits or more; half as much again with one. In
        the end it is 1. It is what :math:`1 / \kappa` is to `HazardThompson`. With 0 the policy
        runs each arm once, is greedy from then on, and may be wrong for ever.
    strength : float, default 8
        How many runs the pool is worth to each arm, above 0, with ten limits or more; half as many
        with one.

    Notes
    -----
    Departures from the paper: it is not in a paper; ours. Nothing is proved of it: its constants
    were measured, on scenarios of ASlib. The sum is the variance of :math:`\hat\nu_{ij}` to the
    first order, estimates of different intervals being uncorrelated, with costs that spread evenly
    over an interval; where every run that ends is worth 1, it is :math:`(1 + \lambda)^2` times
    Greenwood's for :math:`\hat S_{ij}`. Rewards are pooled as hazards are, with d in place of n and
    one run worth 1 beforehand; :math:`\hat v_{il}` is at least :math:`.01 \hat r (1 - \hat r)`. An
    open run has reached what lies below its age; of the rest, what its arm lets expect is learnt.
    Recommended is the pair with the largest :math:`\hat\nu` among the arms that were run. Ties go
    to the lowest arm and then to the smallest limit. An arm that is added while it is at work
    begins with what is known of the others; its first run comes as for any arm.

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

    arms_change = True
    pending = ("impute", "ignore")
    cost_per_round = "a few dozen operations and a square root for each pair"

    alpha: float = parameter(default=0.2, ge=0, doc="exploration")
    strength: float = parameter(default=8.0, gt=0, doc="how many runs the shared prior is worth")

    class State(HazardPolicy.State):
        """What was seen."""

    def select(p, s: State, t: int) -> tuple[int, float]:
        """Return an arm that was never run, or the pair with the largest upper confidence bound.

        With B = S m + A, A the gain of the runs that end up to an interval, S (m - V) is B less the
        gain: so the sum is that of w, w B and w B^2, and takes one pass.
        """
        strength = strength_at(p.strength, p.limit_count)
        untried = first_untried(s, t)
        if untried >= 0:
            return untried, p.limits[best_limit_of(s, strength, p.limits, untried)[1]]
        pool_hazards(s)
        runs = t / (PATIENCE * p.arms)
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
                of_reward = reward_variance(s, arm, place, reward) / (ended + SAY)
                width = s.most_cost[place] - s.least_cost[place]
                of_cost = width * width / (12.0 * (ended + 1.0))
                others += ends * ends * (of_reward + of_cost)
                value = gain - s.penalties[place] * alive
                variance = second - value * (2.0 * first - value * weight) + others
                value += math.sqrt(factor * max(variance, 0.0))
                if value > best:
                    best, best_arm, best_place = value, arm, place
        return best_arm, p.limits[best_place]
