"""Learner of the classical bandit, and the vocabulary of its studies."""

from collections.abc import Mapping, Sequence
from typing import Any, cast

from keyhole.play.setting_learner import ArmLearner
from keyhole.play.study_vocabulary import StudyVocabulary as CoreVocabulary


class StudyVocabulary(CoreVocabulary):
    """Vocabulary of a study: ``ask()`` returns an ``arm``, ``tell(id, reward)`` takes a reward."""

    def format_report(self, report: Mapping[str, Any], live: Sequence[int]) -> str:
        """Return the name of the recommended arm; `live` has the numbers of the arms in use."""
        return cast(str, self.arms[live[int(report["best"].item())]])


class Learner(ArmLearner):
    """Learner that returns the arm to pull next, and recommends the best one.

    The method `learner` of a policy makes it: ``UCB1().learner(arms=10)``. Intervals in its text
    are valid at all times at once (`keyhole.confidence_sequences`).

    Examples
    --------
    >>> from keyhole.stochastic import UCB1
    >>> learner = UCB1().learner(arms=2)
    >>> learner.ask()
    0
    >>> learner.tell(1)
    >>> learner
    UCB1() after 1 round, 2 arms
      arm 0: 1 pull, mean 1.00 [0.02, 1.00] at any time
      arm 1: 0 pulls
    >>> UCB1().learner(arms=["red", "blue"]).ask()
    'red'
    """

    def recommend(self) -> int:
        """Return the recommended arm: its number, or its name if arms have names."""
        return cast(int, self._arm_name(self._recommend()["best"].item()))
