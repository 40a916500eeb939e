"""The setting `thresholding`: decision and feedback of a round, and the known quantities."""

from typing import Final

from keyhole.policy import Field, Setting, fact
from keyhole.stochastic.setting import arm_exists


class Facts:
    """The known quantities: what a policy may know in advance."""

    arms = fact(int, ge=1, lt=2**24, doc="number of arms")
    threshold = fact(float, gt=0, lt=1, unit="reward", doc="the threshold")
    horizon = fact(int, ge=1, always=False, doc="the budget: rounds in all")
    gaps = fact(
        float, "arms", ge=0, le=1, always=False, unit="difference", doc="true gaps to the threshold"
    )
    hardness = fact(
        float, gt=0, always=False, unit="difference**-2",
        doc="sum of 1 / gap**2 over the arms",
    )  # fmt: skip


SETTING: Final = Setting(
    name="thresholding",
    declarations=Facts,
    decision={"arm": Field("int64")},
    feedback={"reward": Field("float64")},
    report={"labels": Field("float64", ("arms",))},
    allowed=arm_exists,
    budgeted=True,
    rewards=True,
    fixed_means=True,
)
"""Pull an arm, see its reward; at the end label the arms whose means reach the threshold."""
