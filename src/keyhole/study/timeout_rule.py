"""What becomes of a decision whose feedback does not come."""

from dataclasses import dataclass
from typing import Final

from keyhole.validate import Range, check_choice, check_integer, check_number

_SECONDS: Final = Range(gt=0, le=2**33)  # 272 years: what dates can bear
NO_REWARD: Final = "no_reward"
AFTER: Final = ("forget", "ask_again", NO_REWARD)


@dataclass(frozen=True)
class TimeoutRule:
    """When a study no longer waits for feedback, and what it does then.

    Attributes
    ----------
    timeout : float or None
        It waits so long.
    timeout_decisions : int or None
        It waits for so many later decisions.
    on_timeout : {"forget", "ask_again", "no_reward"}
        Then the policy learns nothing of the decision, whose round stays counted, and late feedback
        counts; it is handed out once more; or its reward is taken to be 0, and late feedback is
        kept but not counted.
    """

    timeout: float | None = None
    timeout_decisions: int | None = None
    on_timeout: str = "forget"

    def __post_init__(self) -> None:
        """Check the fields."""
        if self.timeout is not None:
            check_number("timeout", self.timeout, _SECONDS)
        if self.timeout_decisions is not None:
            check_integer("timeout_decisions", self.timeout_decisions, Range(ge=1))
        check_choice("on_timeout", self.on_timeout, AFTER)

    def is_over(self, waited: float, later: int) -> bool:
        """Return whether so many seconds, or so many later decisions, are too many."""
        if self.timeout is not None and waited > self.timeout:
            return True
        return self.timeout_decisions is not None and later >= self.timeout_decisions
