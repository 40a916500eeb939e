"""Adapter of the thresholding bandit to studies, which keep decisions and feedback in a database.

It says in which words users ask, tell and read them: the name of the option (arm) that was tried,
its reward, and in the end a label for each arm: its mean reward is above or below the threshold.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from keyhole.play.study_vocabulary import StudyVocabulary as CoreVocabulary


class StudyVocabulary(CoreVocabulary):
    """Calls of a study: ``ask()`` gives an ``arm``; ``tell(id, reward)`` its reward."""

    def format_report(self, report: Mapping[str, Any], live: Sequence[int]) -> dict[str, bool]:
        """Return for each arm whether its mean is estimated to be at least the threshold."""
        labels = report["labels"].tolist()
        return {self.arms[arm]: label > 0.5 for arm, label in zip(live, labels, strict=True)}
