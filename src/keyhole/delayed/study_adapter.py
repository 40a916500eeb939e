"""Adapter of late rewards to studies, which keep decisions and feedback in a database.

Rewards that arrive during a round are collected for the policy until the next option is chosen.
"""

import math
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final, cast

from keyhole.contract.policy import Policy
from keyhole.contract.state_arrays import Field
from keyhole.play.study_vocabulary import RoundFeedback, StudyRound, Values, Words
from keyhole.play.study_vocabulary import StudyVocabulary as CoreVocabulary
from keyhole.validate import Range, check_integer, check_number

_REWARD: Final = MappingProxyType({"reward": Field("float64")})
_SUM: Final = MappingProxyType({"total": Field("float64"), "rounds": Field("float64")})
# Relative slack for the rounding of sums of sums.
ROUNDING: Final = 1e-9


class Round(StudyRound):
    """The round of the last decision, which collects feedback until the next decision."""

    def __init__(self, vocabulary: CoreVocabulary, policy: Policy) -> None:
        super().__init__(vocabulary, policy)
        self._arm = -1  # no round yet
        self._pairs: list[tuple[int, float]] = []
        self._total = self._all = 0.0  # sums of this round and of all rounds

    def begin(self, context: Values, decision: Values) -> None:
        """Begin the round of a decision."""
        self._arm = decision["arm"]

    def add_feedback(self, context: Values, decision: Values, feedback: Values) -> None:
        """Add a reward of a known arm."""
        self._pairs.append((decision["arm"], feedback["reward"]))
        self._add(feedback["reward"])

    def check_sum(self, values: Values, rounds: int) -> None:
        """Check that the sum is no more than the decisions so far can have earned."""
        most = max(0.0, rounds - self._all)
        span = self.vocabulary.scale.span
        # Where everything is earned there is no slack: only 0 is accepted then.
        slack = ROUNDING * rounds if most > 0.0 else 0.0
        check_number("total", values["total"] * span, Range(ge=0, le=(most + slack) * span))

    def add_sum(self, values: Values) -> None:
        """Add a sum of rewards."""
        self._add(values["total"])

    def _add(self, total: float) -> None:
        self._total = math.fsum((self._total, total))
        self._all = math.fsum((self._all, total))

    def end(
        self, facts: Mapping[str, Any], state: Mapping[str, Any], feedback_count: int
    ) -> RoundFeedback | None:
        """End the round, and double the memory for rewards until those of the round fit."""
        if self._arm < 0:
            return None
        arm, pairs, total = self._arm, self._pairs, self._total
        self._arm, self._pairs, self._total = -1, [], 0.0
        named = pairs if facts["named"] else []
        needed = cast(Any, self.policy).buffered_rewards(state, feedback_count - len(pairs)) + len(
            named
        )
        memory: int = facts["memory"]
        while memory < needed:
            memory *= 2
        feedback = {
            "total": total,
            "count": len(named),
            "sources": [source for source, _ in named],
            "rewards": [reward for _, reward in named],
        }
        return RoundFeedback({}, {"arm": arm}, feedback, {"memory": memory})

    def longest_arrays(self, feedback_count: int) -> dict[str, int]:
        """Return the longest that the arrays of rewards can be, since memory is doubled."""
        return {"memory": 2 * (self.vocabulary.facts["memory"] + feedback_count)}

    def to_json(self) -> list[Any]:
        """Return the arm, the rewards and the sum of the round, and the sum of all rounds."""
        return [self._arm, self._pairs, self._total, self._all]

    def restore(self, content: Any) -> None:
        """Restore the round from the result of `to_json`."""
        self._arm, pairs, self._total, self._all = content
        self._pairs = [(int(arm), float(reward)) for arm, reward in pairs]


class StudyVocabulary(CoreVocabulary):
    """Calls of a study: ``ask()`` gives an ``arm``, and ends the round of the one before.

    Named feedback is ``tell(id, reward)``, anonymous ``tell_sum(sum)``; the policy gets it then.
    """

    round_class = Round

    def check_study(self) -> None:
        """Check that rewards begin at 0 if feedback is anonymous: a sum does not count them."""
        if self.scale.low and not self.facts["named"]:
            raise ValueError(
                "scale must begin at 0 where feedback is anonymous, since a sum does not say of "
                f"how many rewards it is; got {tuple(self.scale)}"
            )

    @property
    def feedback_fields(self) -> Mapping[str, Field]:
        """The fields of the feedback of a decision: a reward."""
        return _REWARD

    @property
    def has_feedback(self) -> bool:
        """Whether feedback is named, so that `tell` is allowed."""
        return bool(self.facts["named"])

    def parse_feedback(self, context: Values, decision: Values, reward: float) -> Values:
        """Return the reward."""
        if not self.has_feedback:
            raise TypeError("tell is for named feedback; anonymous feedback is told by tell_sum")
        return super().parse_feedback(context, decision, reward)

    @property
    def sum_fields(self) -> Mapping[str, Field]:
        """The fields of `tell_sum`: a sum of rewards and its number of rounds."""
        return {} if self.has_feedback else _SUM

    def parse_sum(self, total: float, *, rounds: int = 1) -> Values:
        """Return the sum of the rewards that have arrived, and its number of rounds."""
        found = check_number("total", total, Range(ge=0)) / self.scale.span
        return {"total": found, "rounds": float(check_integer("rounds", rounds, Range(ge=1)))}

    def format_sum(self, values: Values) -> Words:
        """Return the sum and its rounds."""
        return {"total": values["total"] * self.scale.span, "rounds": int(values["rounds"])}
