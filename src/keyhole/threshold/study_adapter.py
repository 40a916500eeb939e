"""Adapter of the threshold bandit to studies, which keep decisions and feedback in a database.

It says in which words users ask, tell and read them: the round's bar (threshold), the name of the
option (arm) that was chosen, and the number (sample) that it gave, which should reach the bar.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from keyhole.play.study_vocabulary import StudyVocabulary as CoreVocabulary
from keyhole.play.study_vocabulary import Values, Words
from keyhole.threshold.learner import observed_sample
from keyhole.validate import Range, check_integer


class StudyVocabulary(CoreVocabulary):
    """Calls of a study: ``ask(threshold=...)``, with a level from 1, gives an ``arm``.

    Feedback is ``tell(id, value)`` or ``tell(id, censored=True)``.
    """

    def parse_context(self, *, threshold: int) -> Values:  # type: ignore[override]
        """Return the threshold."""
        levels = Range(ge=1, le=self.facts["levels"])
        return {"threshold": check_integer("threshold", threshold, levels)}

    def format_context(self, context: Values) -> Words:
        """Return the threshold."""
        return context

    def parse_feedback(  # type: ignore[override]
        self, context: Values, decision: Values, value: int | None = None, *, censored: bool = False
    ) -> Values:
        """Return the sample, or the threshold for a censored one."""
        samples, hides = Range(ge=0, le=self.facts["levels"]), bool(self.facts["censored"])
        return {"value": observed_sample(samples, hides, context["threshold"], value, censored)}

    def format_feedback(self, context: Values, decision: Values, feedback: Values) -> Words:
        """Return the sample, or ``censored``."""
        hidden = self.facts["censored"] and feedback["value"] >= context["threshold"]
        return {"censored": True} if hidden else {"value": feedback["value"]}

    def default_feedback(self, context: Values, decision: Values) -> Words:
        """Return a sample of 0."""
        return {"value": 0}

    def format_report(self, report: Mapping[str, Any], live: Sequence[int]) -> dict[int, str]:
        """Return the recommended arm for each level."""
        best = report["best"].tolist()
        return {level: self.arms[live[int(arm)]] for level, arm in enumerate(best, 1)}
