"""What becomes of a decision whose feedback does not come."""

from dataclasses import dataclass
from typing import Final

from keyhole.validate import Range, choice, integer, number

_SECONDS: Final = Range(gt=0, le=2**33)  # 272 years: what dates can bear
NOTHING_CAME: Final = "nothing came"
AFTER: Final = ("forget", "again", NOTHING_CAME)


@dataclass(frozen=True)
class Rule:
    """When a study no longer waits for feedback, and what it does then.

    Attributes
    ----------
    seconds : float or None
        It waits so long.
    decisions : int or None
        It waits for so many later decisions.
    after : {"forget", "again", "nothing came"}
        Then the policy learns nothing of the decision, whose round stays counted, and late feedback
        counts; it is handed out once more; or its reward is taken to be 0, and late feedback is
        kept but not counted.
    """

    seconds: float | None = None
    decisions: int | None = None
    after: str = "forget"

    def __post_init__(self) -> None:
        """Check the fields."""
        if self.seconds is not None:
            number("patience", self.seconds, _SECONDS)
        if self.decisions is not None:
            integer("patience_decisions", self.decisions, Range(ge=1))
        choice("after", self.after, AFTER)

    def is_over(self, waited: float, later: int) -> bool:
        """Return whether so many seconds, or so many later decisions, are too many."""
        if self.seconds is not None and waited > self.seconds:
            return True
        return self.decisions is not None and later >= self.decisions
