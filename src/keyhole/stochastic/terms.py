"""How studies speak of the classical bandit: arms by name."""

from collections.abc import Mapping, Sequence
from typing import Any

from keyhole.play.terms import Terms as CoreTerms


class Terms(CoreTerms):
    """``ask()`` gives an ``arm``; ``tell(id, reward)`` takes a number in the study's units."""

    def reported(self, report: Mapping[str, Any], live: Sequence[int]) -> str:
        """Return the arm that looks best."""
        return self.arms[live[int(report["best"].item())]]
