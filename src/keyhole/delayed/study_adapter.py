"""The words of studies with delayed feedback, and the rounds in which it is learnt."""

import math
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final, cast

from keyhole.contract.policy import Policy
from keyhole.contract.state_memory import Field
from keyhole.play.study_vocabulary import RoundFeedback, StudyRound, Values, Words
from keyhole.play.study_vocabulary import StudyVocabulary as CoreVocabulary
from keyhole.validate import Range, check_integer, check_number

_REWARD: Final = MappingProxyType({"reward": Field("float64")})
_SUM: Final = MappingProxyType({"total": Field("float64"), "rounds": Field("float64")})
# By how much, relatively, sums of sums may round up.
_ROUNDING: Final = 1e-9


class Round(StudyRound):
    """The round of the last decision: what arrives until the next one belongs to it."""

    def __init__(self, vocabulary: CoreVocabulary, policy: Policy) -> None:
        super().__init__(vocabulary, policy)
        self._arm = -1  # there is no round
        self._pairs: list[tuple[int, float]] = []
        self._total = self._all = 0.0  # of this round, and of all

    def begin(self, context: Values, decision: Values) -> None:
        """Begin the round of a decision."""
        self._arm = decision["arm"]

    def add_feedback(self, context: Values, decision: Values, feedback: Values) -> None:
        """Add a reward whose arm is known."""
        self._pairs.append((decision["arm"], feedback["reward"]))
        self._add(feedback["reward"])

    def check_sum(self, values: Values, rounds: int) -> None:
        """Refuse more than the decisions so far can have earned."""
        most = max(0.0, rounds - self._all)
        span = self.vocabulary.scale.span
        slack = _ROUNDING * rounds if most > 0.0 else 0.0
        check_number("total", values["total"] * span, Range(ge=0, le=(most + slack) * span))

    def add_sum(self, values: Values) -> None:
        """Add rewards of which only the sum is known."""
        self._add(values["total"])

    def _add(self, total: float) -> None:
        self._total = math.fsum((self._total, total))
        self._all = math.fsum((self._all, total))

    def end(
        self, facts: Mapping[str, Any], state: Mapping[str, Any], told: int
    ) -> RoundFeedback | None:
        """End the round; the memory for rewards is doubled until there is room for its own."""
        if self._arm < 0:
            return None
        arm, pairs, total = self._arm, self._pairs, self._total
        self._arm, self._pairs, self._total = -1, [], 0.0
        named = pairs if facts["named"] else []
        needed = cast(Any, self.policy).buffered_rounds(state, told - len(pairs)) + len(named)
        memory: int = facts["memory"]
        while memory < needed:
            memory *= 2
        heard = {
            "total": total,
            "count": len(named),
            "sources": [source for source, _ in named],
            "rewards": [reward for _, reward in named],
        }
        return RoundFeedback({}, {"arm": arm}, heard, {"memory": memory})

    def longest_arrays(self, told: int) -> dict[str, int]:
        """Return how many rewards the memory can hold; it is doubled until all fit."""
        return {"memory": 2 * (self.vocabulary.facts["memory"] + told)}

    def to_json(self) -> list[Any]:
        """Return arm, rewards and sum of the round, and the sum of all that has arrived."""
        return [self._arm, self._pairs, self._total, self._all]

    def restore(self, content: Any) -> None:
        """Hold what `to_json` returned."""
        self._arm, pairs, self._total, self._all = content
        self._pairs = [(int(arm), float(reward)) for arm, reward in pairs]


class StudyVocabulary(CoreVocabulary):
    """``ask()`` gives an ``arm``; with named feedback ``tell(id, reward)``, else ``tell_sum(sum)``.

    What arrives is learnt with the next `ask`, at the end of the round of the last decision.
    """

    round_class = Round

    def check_study(self) -> None:
        """Refuse sums of rewards whose least is not 0: they do not say of how many they are."""
        if self.scale.low and not self.facts["named"]:
            raise ValueError(
                "scale must begin at 0 where feedback is anonymous, since a sum does not say of "
                f"how many rewards it is; got {tuple(self.scale)}"
            )

    @property
    def feedback_fields(self) -> Mapping[str, Field]:
        """The reward of a decision."""
        return _REWARD

    @property
    def has_feedback(self) -> bool:
        """Whether a reward that arrives says whose it is."""
        return bool(self.facts["named"])

    def parse_feedback(self, context: Values, decision: Values, reward: float) -> Values:
        """Return the reward."""
        if not self.has_feedback:
            raise TypeError("tell is for named feedback; anonymous feedback is told by tell_sum")
        return super().parse_feedback(context, decision, reward)

    @property
    def sum_fields(self) -> Mapping[str, Field]:
        """A sum of rewards, and of how many rounds it is."""
        return {} if self.has_feedback else _SUM

    def parse_sum(self, total: float, *, rounds: int = 1) -> Values:
        """Return the sum of the rewards that have arrived, and for how many rounds."""
        found = check_number("total", total, Range(ge=0)) / self.scale.span
        return {"total": found, "rounds": float(check_integer("rounds", rounds, Range(ge=1)))}

    def format_sum(self, values: Values) -> Words:
        """Return the sum and its rounds."""
        return {"total": values["total"] * self.scale.span, "rounds": int(values["rounds"])}
