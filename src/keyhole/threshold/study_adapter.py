"""Adapter of the threshold bandit to studies, which keep decisions and feedback in a database.

It says in which words users ask, tell and read them: the round's bar (threshold), the name of the
option (arm) that was chosen, and the number (sample) that it gave, which should reach the bar.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from keyhole.cached_property import cached_property
from keyhole.play.study_vocabulary import StudyVocabulary as CoreVocabulary
from keyhole.play.study_vocabulary import Values, Words
from keyhole.validate import Range, check_integer


class StudyVocabulary(CoreVocabulary):
    """Calls of a study: ``ask(threshold=...)``, with a level from 1, gives an ``arm``.

    Feedback is ``tell(id, value)`` or ``tell(id, censored=True)``.
    """

    @cached_property
    def thresholds(self) -> Range:
        """The range of thresholds; made once, since making a range takes longer than a round."""
        return Range(ge=1, le=self.facts["levels"])

    @cached_property
    def samples(self) -> Range:
        """The range of samples."""
        return Range(ge=0, le=self.facts["levels"])

    def parse_context(self, *, threshold: int) -> Values:  # type: ignore[override]
        """Return the threshold."""
        return {"threshold": check_integer("threshold", threshold, self.thresholds)}

    def format_context(self, context: Values) -> Words:
        """Return the threshold."""
        return context

    def parse_feedback(  # type: ignore[override]
        self, context: Values, decision: Values, value: int | None = None, *, censored: bool = False
    ) -> Values:
        """Return the sample, or the threshold for a censored one."""
        if not isinstance(censored, (bool, np.bool_)):
            raise TypeError(f"censored must be True or False, got {censored!r}")
        if (value is None) != bool(censored):
            raise TypeError(
                f"exactly one of value and censored=True must be told, got value {value!r} and "
                f"censored {censored}"
            )
        threshold, hides = context["threshold"], self.facts["censored"]
        if censored:
            if hides:
                return {"value": threshold}
            raise ValueError("censored must be False where feedback is uncensored, got True")
        level = check_integer("value", value, self.samples)
        if hides and level >= threshold:
            raise ValueError(
                f"value must be below the threshold {threshold}, since a sample that reaches it "
                f"is censored; got {level} (tell censored=True)"
            )
        return {"value": level}

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
