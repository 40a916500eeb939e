"""Adapter of the stochastic bandit to studies, which keep decisions and feedback in a database.

It says in which words users ask, tell and read them: the name of the option (arm) that was chosen,
and its reward.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from keyhole.play.study_vocabulary import StudyVocabulary as CoreVocabulary


class StudyVocabulary(CoreVocabulary):
    """Calls of a study: ``ask()`` gives an ``arm``; ``tell(id, reward)`` its reward."""

    def format_report(self, report: Mapping[str, Any], live: Sequence[int]) -> str:
        """Return the arm that looks best."""
        best: str = self.arms[live[int(report["best"].item())]]
        return best
