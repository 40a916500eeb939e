"""Adapter of limited runs to studies, which keep decisions and feedback in a database.

It says in which words users ask, tell and read them: the name of what was run (an arm, such as a
solver), the limit at which it was to be stopped, and how it ended; a run may also fail.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np

from keyhole.contract.state_arrays import Field
from keyhole.play.study_vocabulary import StudyVocabulary as CoreVocabulary
from keyhole.play.study_vocabulary import Values, Words
from keyhole.resource.cost_functions import FUNCTIONS
from keyhole.validate import Range, check_number

_FROM_0: Final = Range(ge=0)


class StudyVocabulary(CoreVocabulary):
    """Calls of a study: ``ask()`` returns an ``arm`` and a ``limit``; ``tell`` how the run ended.

    ``tell(id, reward, consumption)`` for a run within its limit, ``tell(id, exceeded=True)`` for
    one above it, ``tell(id, consumption=..., failed=True)`` for one that failed by itself: it has
    consumed, and its reward is 0.
    """

    fact_readers = FUNCTIONS

    @property
    def note_fields(self) -> Mapping[str, Field]:
        """Field that says whether the run failed by itself: the policy learns a reward of 0."""
        return {"failed": Field("int64")}

    def format_decision(self, context: Values, decision: Values) -> Words:
        """Return arm and limit."""
        return super().format_decision(context, decision) | {"limit": decision["limit"]}

    def parse_decision(self, words: Words) -> tuple[Values, Values]:
        """Return arm and limit as values."""
        return {}, super().parse_decision(words)[1] | {"limit": float(words["limit"])}

    def parse_feedback(
        self,
        context: Values,
        decision: Values,
        reward: float | None = None,
        consumption: float | None = None,
        *,
        exceeded: bool = False,
        failed: bool = False,
    ) -> Values:
        """Return reward, consumption, and whether the limit was exceeded or the run failed."""
        if failed:
            if exceeded or reward:
                raise ValueError("failed=True takes the consumption alone; leave out the rest")
            if consumption is None:
                raise TypeError(
                    "tell needs consumption=... with failed=True, for a run that failed by itself"
                )
            reward = self.scale.low
        if not isinstance(exceeded, (bool, np.bool_)):
            raise TypeError(f"exceeded must be True or False, got {exceeded!r}")
        if exceeded:
            if not (reward is None and consumption is None):
                raise TypeError("reward and consumption must be left out for a run that exceeded")
            return {"reward": 0.0, "consumption": 0.0, "exceeded": 1, "failed": 0}
        if reward is None or consumption is None:
            raise TypeError(
                "tell needs reward and consumption, or exceeded=True for a run above its limit"
            )
        earned = self.scale.check_reward("reward", reward)
        used, limit = check_number("consumption", consumption, _FROM_0), decision["limit"]
        if used > limit:
            raise ValueError(
                f"consumption must be at most the limit, {limit:g}, got {used:g}; "
                "a run above its limit is told as exceeded=True"
            )
        return {"reward": earned, "consumption": used, "exceeded": 0, "failed": int(failed)}

    def format_feedback(self, context: Values, decision: Values, feedback: Values) -> Words:
        """Return the result of the run."""
        if feedback["exceeded"]:
            return {"exceeded": True}
        if feedback.get("failed"):
            return {"consumption": feedback["consumption"], "failed": True}
        earned = self.scale.from_unit(feedback["reward"])
        return {"reward": earned, "consumption": feedback["consumption"]}

    def default_feedback(self, context: Values, decision: Values) -> Words:
        """Return that the run exceeded its limit."""
        return {"exceeded": True}

    def format_report(self, report: Mapping[str, Any], live: Sequence[int]) -> tuple[str, float]:
        """Return the recommended pair."""
        return self.arms[live[int(report["best_arm"].item())]], report["best_limit"].item()
