"""The kinds of events in a study's log (decided, told, ...), and the layout of their bytes.

A study is a policy (a rule that chooses among options) that decides for real, kept in a database.
"""

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
"""Names of the kinds. Bodies are numbers of 8 bytes, little-endian:

``asked``
    round, context and decision, then the two words of the policy's random stream after it;
``told``, ``expired``
    feedback, then notes if there are any; nothing if an expired decision is forgotten or asked
    again;
``told late``, ``told too late``
    the decision's row (round, time, context, decision), then the feedback; the first is learnt;
``sum told``
    anonymous feedback;
``arm added``, ``arm retired``
    the name; ``policy changed``: the new definition, as JSON; ``asked again``: nothing.
"""

ROW_HEADER: Final = Struct("<dd")
"""The beginning of a row: round, and time of asking."""

ROUND: Final = Struct("<d")
TIME: Final = ROUND
STREAM: Final = Struct("<QQ")
END_OF_TIME: Final = 2.0**37
"""The upper bound of times, in seconds since 1970: the year 6325."""
