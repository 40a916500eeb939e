"""Adapter of dividing a resource to studies, which keep decisions and feedback in a database.

It says in which words users ask, tell and read them: by the name of each arm (a place where losses
may occur), the amount of the resource that it gets, and its loss.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from keyhole.play.study_vocabulary import StudyVocabulary as CoreVocabulary
from keyhole.play.study_vocabulary import Values, Words
from keyhole.semibandit.learner import losses_by_name


class StudyVocabulary(CoreVocabulary):
    """Calls of a study: ``ask()`` gives an ``allocation``; ``tell(id, losses)`` what was observed.

    Losses are the names of the arms with a loss, or a mapping from all names to 0 or 1 (or bool).
    """

    def format_decision(self, context: Values, decision: Values) -> Words:
        """Return the allocation by name."""
        return {"allocation": dict(zip(self.arms, decision["allocation"], strict=True))}

    def parse_decision(self, words: Words) -> tuple[Values, Values]:
        """Return the allocation as an array's values."""
        return {}, {"allocation": [words["allocation"][arm] for arm in self.arms]}

    def parse_feedback(  # type: ignore[override]
        self, context: Values, decision: Values, losses: Mapping[str, Any] | Sequence[str]
    ) -> Values:
        """Return 0 or 1 for each arm."""
        return {"losses": losses_by_name("losses", losses, self.arms, self.arm_number).tolist()}

    def format_feedback(self, context: Values, decision: Values, feedback: Values) -> Words:
        """Return the names of the arms with a loss."""
        both = zip(self.arms, feedback["losses"], strict=True)
        return {"losses": [arm for arm, loss in both if loss]}

    def default_feedback(self, context: Values, decision: Values) -> Words:
        """Return feedback without a loss."""
        return {"losses": []}

    def format_report(self, report: Mapping[str, Any], live: Sequence[int]) -> dict[str, float]:
        """Return the estimated threshold of each arm, by name."""
        return dict(zip(self.arms, report["estimates"].tolist(), strict=True))
