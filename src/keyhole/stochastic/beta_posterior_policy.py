"""Base class of policies that draw plausible mean rewards from a posterior distribution.

The options (arms) give random rewards. The posterior says how plausible each mean is after the
rewards of its option; draws vary more after few rewards, so that all options get tried.
"""

from keyhole.policy import Stream, betas, float_array, parameter, scratch_array, uniform
from keyhole.stochastic.policy_base import Policy


class BetaPosteriorPolicy(Policy, abstract=True):
    """Base class of Thompson sampling and its optimistic form.

    A reward x strictly between 0 and 1 counts as a success with probability x (Agrawal and Goyal
    2012, Algorithm 2): the posterior of a coin's probability is a beta distribution.
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

    class State:
        """Pulls, summed rewards and successes of each arm."""

        pulls = float_array("arms")
        totals = float_array("arms")
        successes = float_array("arms")
        up = scratch_array("arms")
        down = scratch_array("arms")
        drawn = scratch_array("arms")

    @property
    def beta_prior(self) -> tuple[float, float]:
        """The prior of each arm's mean: its shapes."""
        return self.a, self.b

    def update(p, s: State, rng: Stream, arm: int, reward: float) -> None:
        """Count the pull, as a success or a failure."""
        s.pulls[arm] += 1.0
        s.totals[arm] += reward
        if 0.0 < reward < 1.0:
            s.successes[arm] += uniform(rng) < reward
        else:
            s.successes[arm] += reward


def draw_means(p: BetaPosteriorPolicy, s: BetaPosteriorPolicy.State, rng: Stream) -> None:
    """Draw a mean of each arm from its posterior, with the shapes `s.up` and `s.down`."""
    for arm in range(p.arms):
        s.up[arm] = p.a + s.successes[arm]
        s.down[arm] = p.b + (s.pulls[arm] - s.successes[arm])
    # One call for all arms: many variates at once are faster than one at a time.
    betas(rng, s.up, s.down, p.arms, s.drawn)
