"""Study vocabulary of the stochastic bandit: arms have names."""

from collections.abc import Mapping, Sequence
from typing import Any

from keyhole.play.study_vocabulary import StudyVocabulary as CoreVocabulary


class StudyVocabulary(CoreVocabulary):
    """``ask()`` gives an ``arm``; ``tell(id, reward)`` takes a number in the study's units."""

    def format_report(self, report: Mapping[str, Any], live: Sequence[int]) -> str:
        """Return the arm that looks best."""
        best: str = self.arms[live[int(report["best"].item())]]
        return best
