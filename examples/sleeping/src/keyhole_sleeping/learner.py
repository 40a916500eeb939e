"""A policy at work: ask for one of the arms awake, tell its reward."""

from collections.abc import Sequence

from keyhole import Learner as AnyLearner
from keyhole.validate import Range, integer, unit


class Learner(AnyLearner):
    """Decides which of the arms awake to pull; made by ``AUER().learner(arms=3)``."""

    def ask(self, *, awake: Sequence[int]) -> int:
        """Return the arm to pull, one of those awake (from 0); again the same before `tell`."""
        arms = Range(ge=0, lt=self.facts["arms"])
        found = [integer(f"awake[{i}]", arm, arms) for i, arm in enumerate(awake)]
        if not found:
            raise ValueError("awake must have at least one arm, got none")
        self._claim()
        if not self._pending:
            self._context["awake"][:] = 0
            self._context["awake"][found] = 1
        return self._ask()

    def tell(self, reward: float) -> None:
        """Report the reward of the arm last asked for, in [0, 1]."""
        self._expect_feedback()
        self._tell(unit("reward", reward))
