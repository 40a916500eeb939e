"""Study adapter: converts names of arms in studies and learners to the numbers of policies."""

from collections.abc import Sequence
from typing import Any

from keyhole.policy import StudyVocabulary as AnyVocabulary


class StudyVocabulary(AnyVocabulary):
    """``ask(awake=["north", "south"])`` returns an ``arm``; ``tell`` takes its reward."""

    def parse_context(self, *, awake: Sequence[str]) -> dict[str, Any]:  # type: ignore[override]
        """Return 1 for each arm awake, and 0 for the others."""
        if isinstance(awake, str) or not isinstance(awake, Sequence) or not awake:
            raise ValueError(f"awake must be a list of arms, at least one, got {awake!r}")
        found = {self.arm_number("an arm of awake", arm) for arm in awake}
        return {"awake": [int(arm in found) for arm in range(len(self.arms))]}

    def format_context(self, context: Any) -> dict[str, Any]:
        """Return the names of the arms awake."""
        both = zip(self.arms, context["awake"], strict=True)
        return {"awake": [arm for arm, is_awake in both if is_awake]}

    def format_report(self, report: Any, live: Any) -> Any:
        """Return the arm with the best mean."""
        return self.arms[live[int(report["best"].item())]]
