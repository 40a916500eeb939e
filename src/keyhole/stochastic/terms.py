"""How studies speak of the classical bandit: arms by name."""

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

    def reported(self, report: Mapping[str, Any], live: Sequence[int]) -> str:
        """Return the arm that looks best."""
        return self.arms[live[int(report["best"].item())]]
