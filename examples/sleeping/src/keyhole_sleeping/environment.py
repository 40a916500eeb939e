"""Environment: draws the arms awake and the rewards, and computes the regret."""

from typing import Any

from keyhole.metric import REGRET, Metric
from keyhole.policy import Environment, Stream, float_array, int_input, seek_pull, uniform
from keyhole_sleeping.setting import SETTING


class Sleepers(Environment):
    """Arms with rewards 0 or 1, each awake at random; if none would be awake, all are."""

    setting = SETTING
    metrics = (REGRET, Metric("best_share", "share of rounds with the best awake", better="higher"))

    arms = int_input()
    means = float_array("arms")
    chances = float_array("arms")

    class State:
        """Pulls of each arm, the mean of the best arm awake, and sums over the rounds."""

        pulls = float_array("arms")
        highest = float_array()
        regret = float_array()
        best = float_array()

    def observe(e, s: State, t: int, rng: Stream, awake: Any) -> None:
        """Draw the arms awake, from positions of the stream behind those of the rewards."""
        found = 0
        for arm in range(e.arms):
            seek_pull(rng, e.arms + arm, t)
            awake[arm] = 1 if uniform(rng) < e.chances[arm] else 0
            found += awake[arm]
        s.highest[0] = 0.0
        for arm in range(e.arms):
            awake[arm] = 1 if found == 0 else awake[arm]
            s.highest[0] = max(s.highest[0], e.means[arm] * awake[arm])

    def respond(e, s: State, rng: Stream, arm: int) -> float:
        """Return the reward; that of the n-th pull of an arm is the same for every policy."""
        seek_pull(rng, arm, int(s.pulls[arm]))
        s.pulls[arm] += 1
        s.regret[0] += s.highest[0] - e.means[arm]
        s.best[0] += e.means[arm] == s.highest[0]
        return 1.0 if uniform(rng) < e.means[arm] else 0.0

    def score(e, s: State, t: int, metrics: Any) -> None:
        """Write the regret, and the share of rounds with the best arm awake."""
        metrics.regret[0] = s.regret[0]
        metrics.best_share[0] = s.best[0] / t
