"""Environment (simulator) of the stochastic bandit: draws the chosen option's reward at random."""

from typing import Any, ClassVar, Final

from keyhole.distributions import Bernoulli, Beta, Replay, TruncatedNormal
from keyhole.distributions.sampler_dispatch import SampledEnvironment, with_sampler
from keyhole.metric import PULLS, REGRET, REWARD, Metric
from keyhole.policy import Environment, Kernel, Stream, float_array, int_array, int_input, seek_pull
from keyhole.stochastic.setting import SETTING


class BanditEnvironment(SampledEnvironment, Environment, abstract=True):
    """Environment in which a pull draws a reward from the distribution of its arm.

    The random numbers are common to all policies: the n-th pull of an arm reads the stream from a
    position that only the arm and n determine, so its reward is the same for every policy.
    """

    setting = SETTING
    metrics: ClassVar[tuple[Metric, ...]] = (
        REGRET,
        Metric("best_share", "share of rounds with a best arm", better="higher"),
        REWARD,
        Metric("observations", "rewards seen", drawn="from 0", detail=True),
        PULLS,
    )
    helpers: ClassVar[tuple[str, ...]] = ("draw",)

    arms = int_input()
    gaps = float_array("arms")
    """Suboptimality gap of each arm."""

    class State:
        """Pulls of each arm, regret, number of rounds with a best arm, and sum of rewards."""

        pulls = int_array("arms")
        regret = float_array()
        optimal = float_array()
        """The number of rounds in which a best arm was pulled."""
        reward = float_array()

    def respond(e, s: State, rng: Stream, arm: int, draw: Kernel) -> float:
        """Return the reward of the arm's next pull."""
        seek_pull(rng, arm, s.pulls[arm])
        s.pulls[arm] += 1
        s.regret[0] += e.gaps[arm]
        # The comparison is exact: if a gap was as small as a rounding error, the problem made it 0.
        s.optimal[0] += e.gaps[arm] == 0.0
        reward = float(draw(e, rng, arm))
        s.reward[0] += reward
        return reward

    def score(e, s: State, t: int, metrics: Any) -> None:
        """Write the regret, the share of rounds with a best arm, and the details."""
        metrics.regret[0] = s.regret[0]
        metrics.best_share[0] = s.optimal[0] / t
        metrics.cumulative_reward[0] = s.reward[0]
        metrics.observations[0] = t
        for arm in range(e.arms):
            metrics.pulls[arm] = s.pulls[arm]


ENVIRONMENTS: Final = tuple(
    with_sampler(BanditEnvironment, distribution.__name__, distribution.draw)
    for distribution in (Bernoulli, Beta, TruncatedNormal, Replay)
)
"""Environments that `keyhole compile` compiles; in each all arms have one kind of distribution."""
