"""How studies speak of thresholding: arms by name, labels True and False."""

from collections.abc import Mapping, Sequence
from typing import Any

from keyhole.play.terms import Terms as CoreTerms
from keyhole.play.terms import Values
from keyhole.validate import unit


class Terms(CoreTerms):
    """``ask()`` gives an ``arm``; ``tell(id, reward)`` takes a number in [0, 1]."""

    def heard(self, context: Values, decision: Values, reward: float) -> Values:
        """Return what was told as values."""
        return {"reward": unit("reward", reward)}

    def reported(self, report: Mapping[str, Any], live: Sequence[int]) -> dict[str, bool]:
        """Return for each arm whether its mean is taken to be at least the threshold."""
        labels = report["labels"].tolist()
        return {self.arms[arm]: label > 0.5 for arm, label in zip(live, labels, strict=True)}
