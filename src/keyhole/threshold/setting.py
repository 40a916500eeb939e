"""The setting `threshold`: the decision and the feedback of a round, and the known quantities."""

from typing import Final, Literal, get_args

from keyhole.policy import Field, Setting, fact
from keyhole.stochastic.setting import arm_exists

Feedback = Literal["uncensored", "censored"]


class Facts:
    """The known quantities: what a policy may know in advance."""

    # One less than in other settings, since thresholds are drawn like samples of one more arm.
    arms = fact(int, ge=1, lt=2**24 - 1, doc="number of arms")
    levels = fact(int, ge=1, lt=2**20, doc="number of levels: thresholds go from 1 to this")
    censored = fact(int, ge=0, le=1, doc="whether samples that reach the threshold are hidden")
    horizon = fact(int, ge=1, always=False, doc="rounds in all")


SETTING: Final = Setting(
    name="threshold",
    declarations=Facts,
    modes=get_args(Feedback),
    mode="censored",
    context={"threshold": Field("int64")},
    decision={"arm": Field("int64")},
    feedback={"value": Field("int64")},
    report={
        "best": Field("int64", ("levels",)),
        "settled": Field("int64", ("levels",)),
        "survival": Field("float64", ("arms", "levels")),
        "support": Field("float64", ("arms", "levels")),
    },
    allowed=arm_exists,
)
"""See a threshold, pull an arm; the reward is 1 if the arm's sample reaches the threshold.

Feedback is the sample, a level from 0 to m, the number of levels. With censored feedback it is the
smaller of sample and threshold; the threshold itself says only that the sample reached it.
"""
