"""The vocabulary of delayed feedback, and what the policies of this room have in common."""

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final, Literal, get_args

from keyhole.contract.descriptions import count_text, mean_text
from keyhole.contract.facts import fact
from keyhole.contract.policy import Policy as CorePolicy
from keyhole.contract.scale import Scale
from keyhole.contract.setting import Setting
from keyhole.contract.state_memory import Field, FloatArray, IntArray
from keyhole.delayed.learner import Learner
from keyhole.delayed.study_adapter import StudyVocabulary

Feedback = Literal["anonymous", "named"]


class Facts:
    """What policies may be told beforehand."""

    arms = fact(int, ge=1, lt=2**24, doc="number of arms")
    horizon = fact(int, ge=1, le=2**40, always=False, doc="rounds in all")
    named = fact(int, ge=0, le=1, doc="whether a reward that arrives says whose it is")
    memory = fact(
        int, ge=1, le=2**40, argument=None, default=1024,
        doc="how many rewards there is memory for",
    )  # fmt: skip


def _arm_exists(p: "Policy", arm: int) -> bool:
    return 0 <= arm < p.arms


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
        "judged": Field("int64", ("arms",)),
    },
    allowed=_arm_exists,
    rewards=True,
    by_round=True,
)
"""Pull an arm; at the end of the round see what arrives, from this pull or from earlier ones.

Anonymous feedback is the sum of what arrives, ``total``. Named feedback also gives the rewards
one by one: ``count`` of them, with the arms that earned them at the beginning of ``sources`` and
the ``rewards`` themselves beside them, in the order of their pulls. Anonymous, ``count`` is 0.

In a simulation ``memory`` is the number of rounds. A learner begins with little and doubles it when
it no longer holds what `Policy.held` says.
"""


class Policy(Facts, CorePolicy, abstract=True):
    """Base of the policies of this room.

    Kernels read `p.arms` and `p.named`, and `p.horizon` if the class lists it in `needs`. `select`
    returns an ``arm``; `update` may name ``arm`` and ``total``, and with named feedback ``count``,
    ``sources`` and ``rewards``. Arrays that hold rewards have the length "memory". A
    policy that plays in phases writes `recommend`, which fills ``phase[0]``; ``eliminated``, the
    round in which each arm was given up, 0 for those that were not; and ``estimates`` with
    ``judged``, each arm's mean as the last phase found it, and which phase that was, 0 for none.

    Examples
    --------
    >>> from keyhole.delayed import ODAAF
    >>> learner = ODAAF(expected_delay=2).learner(
    ...     arms=2, horizon=10_000, feedback="anonymous"
    ... )
    >>> learner.ask()
    0
    >>> learner.tell(0)  # nothing has arrived yet
    """

    setting = SETTING
    learner_class = Learner
    vocabulary_class = StudyVocabulary
    # pending is "wait": feedback is late by itself here, and belongs to a round.
    feedback = "the sum of what arrives in a round (anonymous; named, it does not look at names)"

    if TYPE_CHECKING:  # when the class is made, it is made from the facts

        def learner(
            self,
            *,
            arms: int,
            feedback: Feedback,
            horizon: int | None = None,
            scale: tuple[float, float] = (0, 1),
            seed: int = 0,
            interpreted: bool | None = None,
        ) -> Learner:
            """Return a learner: the policy at work, one decision at a time."""
            ...

    def recommend(
        p, phase: IntArray, eliminated: IntArray, estimates: FloatArray, judged: IntArray
    ) -> None:
        """Report that there are no phases, and that no arm was given up."""
        phase[0] = 0
        for arm in range(p.arms):
            eliminated[arm] = judged[arm] = 0
            estimates[arm] = 0.0

    def buffered_rounds(self, state: Mapping[str, Any], told: int) -> int:
        """Return how many rewards the state holds, or at most as many as it may hold.

        `told` is how many rewards it has been told, with named feedback: by default all. A policy
        whose arrays use a place again returns fewer, and its learner needs no more memory however
        long it runs.
        """
        return told

    def longest_delay(self) -> float:
        """Return the bound of the delays that the policy relies on; by default there is none."""
        return math.inf

    def describe(self, learner: Any) -> list[str]:
        """Return all that the state keeps.

        A policy that counts what arrives says that by `usable_rewards`.

        Its pulls are no rewards yet, so that nothing can be said of them by their name.
        """
        return [f"{name}: {value}" for name, value in learner.state.items()]


def usable_rewards(rewards: FloatArray, totals: FloatArray, scale: Scale) -> list[str]:
    """Return a line for each arm: how many rewards have been used, and their mean."""
    both = zip(rewards, totals, strict=True)
    words = (f"{count_text(n, 'reward')} used{mean_text(n, total, scale)}" for n, total in both)
    return [f"arm {arm}: {word}" for arm, word in enumerate(words)]
