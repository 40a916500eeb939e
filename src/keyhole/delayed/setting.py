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
    # No argument of a learner: its memory grows by itself.
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
        # The last phase at whose end the arm was kept or given up, or 0.
        "judged": Field("int64", ("arms",)),
    },
    allowed=arm_exists,
    rewards=True,
    fixed_means=True,
    by_round=True,  # feedback belongs to the round in which it arrives, not to one decision
)
"""Pull an arm; at the end of the round see the rewards that arrive, of this or earlier pulls.

Anonymous feedback is the sum of these rewards, ``total``; ``count`` is 0. Named feedback also has
each reward: ``count`` is their number, the first ``count`` entries of ``sources`` are their arms,
and the first ``count`` entries of ``rewards`` are their values. In a simulation rewards are in the
order of their pulls.

In a simulation ``memory`` is the number of rounds. A learner begins with a small memory, and
doubles it when the rewards of `Policy.buffered_rewards` and the new rewards no longer fit.
"""
