"""The kinds of events in a study's log, and the layout of their bodies."""

from struct import Struct
from typing import Final

(
    ASKED,
    TOLD,
    EXPIRED,
    ASKED_AGAIN,
    TOLD_LATE,
    TOLD_TOO_LATE,
    SUM_TOLD,
    ARM_ADDED,
    ARM_RETIRED,
    POLICY_CHANGED,
) = range(1, 11)

EVENT_NAMES: Final = {
    ASKED: "asked",
    TOLD: "told",
    EXPIRED: "expired",
    ASKED_AGAIN: "asked again",
    TOLD_LATE: "told late",
    TOLD_TOO_LATE: "told too late",
    SUM_TOLD: "sum told",
    ARM_ADDED: "arm added",
    ARM_RETIRED: "arm retired",
    POLICY_CHANGED: "policy changed",
}
"""Bodies, all numbers in 8 bytes, the lowest first:

``asked``
    round, context and decision, then the two words of the policy's stream after it;
``told``, ``expired``
    the feedback, then what is only noted, if anything is; a lapsed decision has none if it is
    forgotten, or to be handed out once more;
``told late``, ``told too late``
    the decision's row (its round, when it was asked, context, decision), then the feedback; the
    first is learnt, the second only kept;
``sum told``
    feedback that says of no decision, as the setting sums it;
``arm added``, ``arm retired``
    the name; ``policy changed``: the new head of the study, as JSON; ``asked again``: nothing.
"""

ROW_HEADER: Final = Struct("<dd")
"""How a row begins: its round, and when it was asked."""

ROUND: Final = Struct("<d")
TIME: Final = ROUND
STREAM: Final = Struct("<QQ")
END_OF_TIME: Final = 2.0**37
"""Seconds since 1970: the year 6325, before which events happen."""
