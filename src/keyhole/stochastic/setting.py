"""The setting `stochastic`: what is decided in a round, and what is then seen.

A setting is a kind of decision problem. Here an option (arm) is chosen in each round, and its
reward is seen.
"""

from typing import Final

from keyhole.contract.setting import Setting, fact
from keyhole.contract.state_arrays import Field


class Facts:
    """The known quantities: what a policy may know in advance."""

    arms = fact(int, ge=1, lt=2**24, doc="number of arms")
    horizon = fact(int, ge=1, always=False, doc="rounds in all")


def arm_exists(p: Facts, arm: int) -> bool:
    """Return whether a decision is one of the arms."""
    return 0 <= arm < p.arms


SETTING: Final = Setting(
    name="stochastic",
    declarations=Facts,
    decision={"arm": Field("int64")},
    feedback={"reward": Field("float64")},
    report={"best": Field("int64")},
    allowed=arm_exists,
    rewards=True,
    fixed_means=True,
)
"""Pull an arm, see its reward; maximise the sum of rewards."""
