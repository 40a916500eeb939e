"""How studies speak of thresholds: the context of an ask, and samples that may be hidden."""

from collections.abc import Mapping, Sequence
from typing import Any

from keyhole.play.terms import Terms as CoreTerms
from keyhole.play.terms import Values, Words
from keyhole.threshold.learner import seen
from keyhole.validate import Range, integer


class Terms(CoreTerms):
    """``ask(threshold=...)`` gives an ``arm``; ``tell(id, value)`` or ``tell(id, censored=True)``.

    A threshold is a level, from 1.
    """

    def context(self, *, threshold: int) -> Values:  # type: ignore[override]
        """Return the threshold."""
        levels = Range(ge=1, le=self.facts["levels"])
        return {"threshold": integer("threshold", threshold, levels)}

    def decided(self, context: Values, decision: Values) -> Words:
        """Return the threshold and the name of the arm."""
        return context | super().decided(context, decision)

    def chosen(self, words: Words) -> tuple[Values, Values]:
        """Return threshold and arm as values."""
        return self.context(threshold=words["threshold"]), super().chosen(words)[1]

    def heard(  # type: ignore[override]
        self, context: Values, decision: Values, value: int | None = None, *, censored: bool = False
    ) -> Values:
        """Return the sample; the threshold for one that is hidden."""
        samples, hides = Range(ge=0, le=self.facts["levels"]), bool(self.facts["censored"])
        return {"value": seen(samples, hides, context["threshold"], value, censored)}

    def said(self, context: Values, decision: Values, feedback: Values) -> Words:
        """Return the sample, or that it was hidden."""
        hidden = self.facts["censored"] and feedback["value"] >= context["threshold"]
        return {"censored": True} if hidden else {"value": feedback["value"]}

    def nothing(self) -> Words:
        """Return that the sample was 0."""
        return {"value": 0}

    def reported(self, report: Mapping[str, Any], live: Sequence[int]) -> dict[int, str]:
        """Return for each level the arm that looks best."""
        best = report["best"].tolist()
        return {level: self.arms[live[int(arm)]] for level, arm in enumerate(best, 1)}
