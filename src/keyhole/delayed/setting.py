"""The setting `delayed`: the decision and the feedback of a round, and the known quantities."""

from typing import Final, Literal, get_args

from keyhole.policy import Field, Setting, fact
from keyhole.stochastic.setting import arm_exists

Feedback = Literal["anonymous", "named"]


class Facts:
    """The known quantities: what a policy may know in advance."""

    arms = fact(int, ge=1, lt=2**24, doc="number of arms")
    horizon = fact(int, ge=1, le=2**40, always=False, doc="rounds in all")
    named = fact(int, ge=0, le=1, doc="whether rewards arrive with their arm")
    memory = fact(
        int, ge=1, le=2**40, argument=None, default=1024,
        doc="number of rewards that fit into memory",
    )  # fmt: skip


SETTING: Final = Setting(
    name="delayed",
    declarations=Facts,
    modes=get_args(Feedback),
    mode="named",
    decision={"arm": Field("int64")},
    feedback={
        "total": Field("float64"),
        "count": Field("int64"),
        "sources": Field("int64", ("memory",)),
        "rewards": Field("float64", ("memory",)),
    },
    report={
        "phase": Field("int64"),
        "eliminated": Field("int64", ("arms",)),
        "estimates": Field("float64", ("arms",)),
        "judged": Field("int64", ("arms",)),  # the last phase in which the arm was pulled, or 0
    },
    allowed=arm_exists,
    rewards=True,
    fixed_means=True,
    by_round=True,  # feedback belongs to a round, not to one decision
)
"""Pull an arm; at the end of the round see the rewards that arrive, of this pull or earlier ones.

Anonymous feedback is the sum of these rewards, ``total``; ``count`` is 0. Named feedback also has
the rewards one by one: ``count`` of them, their arms at the beginning of ``sources`` and the values
in ``rewards``, in the order of their pulls.

In a simulation ``memory`` is the number of rounds. A learner begins with little and doubles it when
`Policy.buffered_rewards` no longer fits.
"""
