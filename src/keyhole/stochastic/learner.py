"""A policy of the classical bandit at work: ask for an arm, tell its reward."""

from keyhole.play.learner import Learner as CoreLearner
from keyhole.validate import unit


class Learner(CoreLearner):
    """Decides which arm to pull next, and which looks best.

    Made by a policy: ``UCB1().learner(arms=10)``.

    Examples
    --------
    >>> from keyhole.stochastic import UCB1
    >>> learner = UCB1().learner(arms=2)
    >>> learner.ask()
    0
    >>> learner.tell(1)
    >>> learner
    UCB1() after 1 round, 2 arms
      arm 0: 1 pull, mean 1
      arm 1: 0 pulls
    """

    def ask(self) -> int:
        """Return the arm to pull next, from 0; the same one if asked again before `tell`."""
        self._enter()
        try:
            self._ask()
            arm: int = self._decision["arm"].item()
            return arm
        finally:
            self._leave()

    def tell(self, reward: float) -> None:
        """Report the reward of the arm last asked for: in [0, 1], True for 1, False for 0."""
        self._enter()
        try:
            self._expect_feedback()
            self._feedback["reward"][()] = unit("reward", reward)
            self._tell()
        finally:
            self._leave()

    def recommend(self) -> int:
        """Return the arm that looks best."""
        best: int = self._recommend()["best"].item()
        return best
