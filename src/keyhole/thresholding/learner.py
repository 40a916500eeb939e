"""A thresholding policy at work: ask for an arm, tell its reward."""

import numpy as np
from numpy.typing import NDArray

from keyhole.play.learner import Learner as CoreLearner
from keyhole.validate import unit


class Learner(CoreLearner):
    """Decides which arm to pull next, and which arms it takes to be above the threshold.

    Made by a policy: ``LSA().learner(arms=10, threshold=0.5)``.

    Examples
    --------
    >>> from keyhole.thresholding import APT
    >>> learner = APT(epsilon=0.05).learner(arms=2, threshold=0.5)
    >>> learner.ask()
    0
    >>> learner.tell(1)
    >>> learner
    APT(epsilon=0.05) after 1 round, 2 arms, threshold 0.5
      arm 0: above, 1 pull, mean 1
      arm 1: never pulled, taken to be above
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

    def recommend(self) -> NDArray[np.bool_]:
        """Return for each arm whether its mean is taken to be at least the threshold."""
        return self._recommend()["labels"] > 0.5
