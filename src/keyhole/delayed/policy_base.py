"""Base class of the policies (rules that choose an option a round) for rewards that arrive late."""

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, overload

from keyhole.contract.arm_names import Names
from keyhole.contract.policy import Policy as CorePolicy
from keyhole.contract.reward_units import Scale, mean_text
from keyhole.contract.state_arrays import FloatArray, IntArray
from keyhole.delayed.learner import Learner
from keyhole.delayed.setting import SETTING, Facts, Feedback
from keyhole.delayed.study_adapter import StudyVocabulary
from keyhole.text_formatting import count_text


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

        @overload
        def learner(
            self,
            *,
            arms: int,
            feedback: Feedback,
            horizon: int | None = None,
            scale: tuple[float, float] = (0, 1),
            seed: int = 0,
            interpreted: bool | None = None,
        ) -> Learner: ...
        @overload
        def learner(self, *, arms: Names, **facts: Any) -> Any: ...
        def learner(self, *, arms: Any, **facts: Any) -> Any:
            """Return a learner: this policy, asked for one decision at a time."""

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
    """Return a line for each arm: the number of used rewards, and their mean with its interval.

    The interval holds if the delay of a reward does not depend on the reward.
    """
    both = zip(rewards, totals, strict=True)
    words = (
        f"{count_text(n, 'reward')} used{mean_text(n, total, scale, True)}" for n, total in both
    )
    return [f"arm {arm}: {word}" for arm, word in enumerate(words)]
