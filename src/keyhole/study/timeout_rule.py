"""The timeout rule: what becomes of a decision of which the outcome is never told."""

from dataclasses import dataclass
from typing import Final

from keyhole.validate import Range, check_choice, check_integer, check_number

_SECONDS: Final = Range(gt=0, le=2**33)  # 272 years: what dates can bear
NO_REWARD: Final = "no_reward"
AFTER: Final = ("forget", "ask_again", NO_REWARD)


@dataclass(frozen=True)
class TimeoutRule:
    """When a pending decision expires, and the consequence.

    Attributes
    ----------
    timeout : float or None
        Seconds after which it expires.
    timeout_decisions : int or None
        Later decisions after which it expires.
    on_timeout : {"forget", "ask_again", "no_reward"}
        The policy learns nothing from the decision, whose round stays counted, and late feedback
        counts; the decision is handed out once more; or its reward is 0, and late feedback is
        recorded and not counted.
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

    def has_expired(self, waited: float, later: int) -> bool:
        """Return whether a decision has expired, after so many seconds and later decisions."""
        if self.timeout is not None and waited > self.timeout:
            return True
        return self.timeout_decisions is not None and later >= self.timeout_decisions
