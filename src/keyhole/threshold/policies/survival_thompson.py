"""Policy SurvivalThompson: draws survival functions; the highest at the threshold decides."""

from keyhole.policy import (
    FloatArray,
    IntArray,
    Stream,
    betas,
    float_array,
    parameter,
    scratch_array,
)
from keyhole.threshold.policy_base import Policy


class SurvivalThompson(Policy):
    r"""Draw each arm's survival function; pull the arm with the highest draw at the threshold.

    Use it for censored feedback; `KaplanMeierThompson` is faster with many levels. The chance to
    reach level c is the product of the chances to reach each level from the level below. So samples
    at a low threshold help to estimate the first factors. In every round draw for each arm

    .. math:: \theta_i = \prod_{j \le c_t} \mathrm{Beta}\big( w (m + 1 - j) + S_i(j), \;
        w + R_i(j) - S_i(j) \big)

    and pull the arm with the largest draw. Here :math:`R_i(j)` is the number of pulls of arm i at
    thresholds of at least j whose samples reached j - 1, and :math:`S_i(j)` is the number of these
    pulls whose samples reached j. With w = 1 this draws from the posterior of a uniform prior over
    the distributions on {0, ..., m}.

    Parameters
    ----------
    weight : float, default 1
        w, from 10**-3 to 10**6. The prior is as if each arm had been sampled (m + 1) w times, and
        w of the samples were at each of the levels 0 to m.

    Notes
    -----
    Source: Keyhole's own; no bound is proved. The estimate at level j is the product of
    :math:`S_i / R_i` over the levels up to j; its sample size, `support`, is given as
    :math:`R_i(j)`. Ties go to the lowest arm.

    References
    ----------
    Kaplan and Meier (1958), "Nonparametric Estimation from Incomplete Observations", JASA 53.
    Susarla and Van Ryzin (1976), "Nonparametric Bayesian Estimation of Survival Curves from
    Incomplete Observations", JASA 71, for the posterior.

    Examples
    --------
    >>> learner = SurvivalThompson().learner(arms=2, levels=3, feedback="censored", seed=1)
    >>> for _ in range(50):
    ...     arm = learner.ask(threshold=2)
    ...     learner.tell(0 if arm == 0 else None, censored=arm == 1)
    >>> learner.recommend()[1]
    np.int64(1)
    """

    feedback = (
        "the sample of the arm pulled, or that it reached the threshold; if feedback is "
        "uncensored, the whole sample is used, whatever the threshold"
    )
    pending = ("ignore",)
    randomness = "c beta variates for each arm in a round with threshold c"
    off_policy = True
    cost_per_round = "K c beta variates, and O(m) to count a sample"

    weight: float = parameter(default=1.0, ge=1e-3, le=1e6, doc="prior samples at each level")

    class State:
        """The counts R and S of each arm and level (j at position j - 1), and scratch space."""

        at_risk = float_array("arms", "levels")
        """R: pulls at thresholds of at least the level whose samples reached the level below."""
        survived = float_array("arms", "levels")
        """S: the number of these pulls whose samples reached the level."""
        up = scratch_array("arms", "levels")
        """The first parameters of the beta distributions."""
        down = scratch_array("arms", "levels")
        """The second parameters of the beta distributions."""
        drawn = scratch_array("arms", "levels")
        """The beta variates."""

    def select(p, s: State, rng: Stream, threshold: int) -> int:
        """Return the arm with the largest draw."""
        # One call draws for all arms and all levels up to the threshold. So the arrays are used as
        # flat arrays, in which level j + 1 of an arm is at position arm * threshold + j.
        length = p.arms * p.levels
        up = s.up.reshape(length)
        down = s.down.reshape(length)
        drawn = s.drawn.reshape(length)
        for arm in range(p.arms):
            for j in range(threshold):
                survived = s.survived[arm, j]
                # In the formula j is the level, which is j + 1 here.
                up[arm * threshold + j] = p.weight * (p.levels - j) + survived
                down[arm * threshold + j] = p.weight + (s.at_risk[arm, j] - survived)
        betas(rng, up, down, p.arms * threshold, drawn)
        best, highest = 0, -1.0
        for arm in range(p.arms):
            chance = 1.0
            for j in range(threshold):
                chance *= drawn[arm * threshold + j]
            if chance > highest:
                best, highest = arm, chance
        return best

    def update(p, s: State, threshold: int, arm: int, value: int) -> None:
        """Count the sample at the levels that it reached, and at the level where it ended."""
        # An uncensored sample tells of all levels, as if it were drawn at the highest threshold.
        informative_levels = threshold if p.censored == 1 else p.levels
        # Position j belongs to level j + 1. A sample is at risk there if it has reached level j,
        # where it may end, or from where it may go on to level j + 1.
        for j in range(p.levels):
            s.at_risk[arm, j] += j < informative_levels and value >= j
            s.survived[arm, j] += j < informative_levels and value > j

    def recommend(  # type: ignore[override]
        p, s: State, best: IntArray, settled: IntArray, survival: FloatArray, support: FloatArray
    ) -> None:
        """Recommend the arms with the best product-limit estimates."""
        for arm in range(p.arms):
            estimate = 1.0
            for j in range(p.levels):
                # If no sample was at risk, the factor is 0, and so are the estimates at this and
                # all higher levels.
                estimate *= s.survived[arm, j] / max(s.at_risk[arm, j], 1.0)
                survival[arm, j] = estimate
                support[arm, j] = s.at_risk[arm, j]
        for j in range(p.levels):
            settled[j] = 0  # this policy settles no level
            best[j] = 0
            highest = -1.0
            for arm in range(p.arms):
                if s.at_risk[arm, j] > 0.0 and survival[arm, j] > highest:
                    best[j], highest = arm, survival[arm, j]
