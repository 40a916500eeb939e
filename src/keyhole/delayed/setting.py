"""The setting `delayed`: what is decided in a round, and what is then seen.

A setting is a kind of decision problem. Here an option (arm) is chosen in each round, and its
reward arrives rounds later: by itself, or in the sum of all that arrive in a round.
"""

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final, Literal, get_args

from keyhole.contract.known_quantities import fact
from keyhole.contract.policy import Policy as CorePolicy
from keyhole.contract.reward_units import Scale
from keyhole.contract.setting import Setting
from keyhole.contract.state_arrays import Field, FloatArray, IntArray
from keyhole.contract.text_formatting import count_text, mean_text
from keyhole.delayed.learner import Learner
from keyhole.delayed.study_adapter import StudyVocabulary

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
"""Pull an arm; at the end of the round see the rewards that arrive, of this pull or earlier ones.

Anonymous feedback is the sum of these rewards, ``total``; ``count`` is 0. Named feedback also has
the rewards one by one: ``count`` of them, their arms at the beginning of ``sources`` and the values
in ``rewards``, in the order of their pulls.

In a simulation ``memory`` is the number of rounds. A learner begins with little and doubles it when
`Policy.buffered_rewards` no longer fits.
"""


class Policy(Facts, CorePolicy, abstract=True):
    """Base class of the policies for delayed feedback.

    Kernels read `p.arms` and `p.named`, and `p.horizon` if the class lists it in `needs`. `select`
    returns an ``arm``; `update` may name ``arm`` and ``total``, and with named feedback ``count``,
    ``sources`` and ``rewards``. Arrays that hold rewards have the length "memory". A policy that
    plays in phases writes `recommend`, which fills ``phase[0]``; ``eliminated``, the round in which
    each arm was given up, or 0; and ``estimates`` with ``judged``, each arm's mean in the last
    phase that it was pulled in, and the number of that phase, or 0.

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
    # `pending` stays "wait": the delay is part of the setting, and feedback belongs to a round.
    feedback = "the sum of what arrives in a round (anonymous; named, it does not look at names)"

    if TYPE_CHECKING:  # generated from the known quantities at run time

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
            """Return a learner: this policy, asked for one decision at a time."""
            ...

    def recommend(
        p, phase: IntArray, eliminated: IntArray, estimates: FloatArray, judged: IntArray
    ) -> None:
        """Report that there are no phases and that no arm was given up."""
        phase[0] = 0
        for arm in range(p.arms):
            eliminated[arm] = judged[arm] = 0
            estimates[arm] = 0.0

    def buffered_rewards(self, state: Mapping[str, Any], rewards: int) -> int:
        """Return the number of rewards that the state buffers, or an upper bound on it.

        The default is `rewards`, the number of rewards of named feedback so far. A policy that
        reuses places in its arrays returns fewer, so that the memory of its learner does not grow
        with the rounds.
        """
        return rewards

    def longest_delay(self) -> float:
        """Return the bound on the delays that the policy relies on; infinite by default."""
        return math.inf

    def describe(self, learner: Any) -> list[str]:
        """Return the arrays of the state.

        A policy that counts rewards overrides it with `format_used_rewards`: pulls may have no
        rewards yet, so that they cannot be shown with means as in other settings.
        """
        return [f"{name}: {value}" for name, value in learner.state.items()]


def format_used_rewards(rewards: FloatArray, totals: FloatArray, scale: Scale) -> list[str]:
    """Return a line for each arm: the number of used rewards, and their mean."""
    both = zip(rewards, totals, strict=True)
    words = (f"{count_text(n, 'reward')} used{mean_text(n, total, scale)}" for n, total in both)
    return [f"arm {arm}: {word}" for arm, word in enumerate(words)]
