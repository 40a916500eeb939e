"""Adapter of the stochastic bandit to studies (decisions in a database): arms have names."""

from collections.abc import Mapping, Sequence
from typing import Any

from keyhole.play.study_vocabulary import StudyVocabulary as CoreVocabulary


class StudyVocabulary(CoreVocabulary):
    """Calls of a study: ``ask()`` gives an ``arm``; ``tell(id, reward)`` its reward."""

    def format_report(self, report: Mapping[str, Any], live: Sequence[int]) -> str:
        """Return the arm that looks best."""
        best: str = self.arms[live[int(report["best"].item())]]
        return best
