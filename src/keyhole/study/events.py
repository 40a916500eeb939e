"""What can happen in a study: the kinds of rows in its log, and what their bodies hold."""

from struct import Struct
from typing import Final

ASKED, TOLD, LAPSED, AGAIN, LATE, KEPT, ARRIVED, ADDED, RETIRED, CHANGED = range(1, 11)

WORDS: Final = {
    ASKED: "asked",
    TOLD: "told",
    LAPSED: "expired",
    AGAIN: "asked again",
    LATE: "told late",
    KEPT: "told too late",
    ARRIVED: "sum told",
    ADDED: "arm added",
    RETIRED: "arm retired",
    CHANGED: "policy changed",
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

HEAD: Final = Struct("<dd")
"""How a row begins: its round, and when it was asked."""

ROUND: Final = Struct("<d")
AT: Final = ROUND
STREAM: Final = Struct("<QQ")
END_OF_TIME: Final = 2.0**37
"""Seconds since 1970: the year 6325, before which events happen."""
