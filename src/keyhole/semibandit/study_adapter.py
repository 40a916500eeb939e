"""Adapter of dividing a resource to studies, which keep decisions and feedback in a database.

It says in which words users ask, tell and read them: by the name of each arm (a place where losses
may occur), the amount of the resource that it gets, and its loss.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np

from keyhole.contract.state_arrays import FloatArray
from keyhole.play.study_vocabulary import StudyVocabulary as CoreVocabulary
from keyhole.play.study_vocabulary import Values, Words
from keyhole.validate import Range, check_vector, short_repr

_UNIT: Final = Range(ge=0, le=1)


class StudyVocabulary(CoreVocabulary):
    """Calls of a study: ``ask()`` gives an ``allocation``; ``tell(id, losses)`` what was observed.

    Losses are the names of the arms with a loss, or a mapping from all names to 0 or 1 (or bool).
    """

    def format_decision(self, context: Values, decision: Values) -> Words:
        """Return the allocation by name."""
        return {"allocation": dict(zip(self.arms, decision["allocation"], strict=True))}

    def parse_decision(self, words: Words) -> tuple[Values, Values]:
        """Return the allocation as an array's values."""
        return {}, {"allocation": [words["allocation"][arm] for arm in self.arms]}

    def parse_feedback(  # type: ignore[override]
        self, context: Values, decision: Values, losses: Mapping[str, Any] | Sequence[str]
    ) -> Values:
        """Return 0 or 1 for each arm."""
        return {"losses": self.parse_losses("losses", losses).tolist()}

    def parse_losses(self, name: str, losses: Any) -> FloatArray:
        """Return 0 or 1 for each arm, from names of the arms with a loss, or values by name.

        Where arms are numbers, losses are a vector. Errors call them `name`.
        """
        if isinstance(self.arms, range):
            return zeros_and_ones(name, losses, len(self.arms))
        if isinstance(losses, str) or not isinstance(losses, Mapping | list | tuple | set):
            raise TypeError(
                f"{name} must be names of arms, or 0 or 1 by name; got {short_repr(losses)}"
            )
        for arm in losses:
            self.arm_number(f"an arm of {name}", arm)
        if not isinstance(losses, Mapping):
            arms_with_loss = set(losses)
            losses = {arm: int(arm in arms_with_loss) for arm in self.arms}
        if missing := [arm for arm in self.arms if arm not in losses]:
            raise ValueError(f"{name} must have all arms, or be names only; {missing[0]!r} lacks")
        return zeros_and_ones(name, [losses[arm] for arm in self.arms], len(self.arms))

    def format_feedback(self, context: Values, decision: Values, feedback: Values) -> Words:
        """Return the names of the arms with a loss; a vector where arms are numbers."""
        if isinstance(self.arms, range):
            return {"losses": feedback["losses"]}
        both = zip(self.arms, feedback["losses"], strict=True)
        return {"losses": [arm for arm, loss in both if loss]}

    def default_feedback(self, context: Values, decision: Values) -> Words:
        """Return feedback without a loss."""
        return {"losses": [0] * len(self.arms) if isinstance(self.arms, range) else []}

    def format_report(self, report: Mapping[str, Any], live: Sequence[int]) -> dict[str, float]:
        """Return the estimated threshold of each arm, by name."""
        return dict(zip(self.arms, report["estimates"].tolist(), strict=True))


def zeros_and_ones(name: str, values: Any, entries: int) -> FloatArray:
    """Return zeros and ones as a vector; refuse anything else."""
    if type(values) is list and len(values) == entries and all(map(_is_bit, values)):
        return np.array(values, np.float64)  # the common case first: `tell` runs in every round
    if isinstance(values, np.ndarray) and values.dtype == np.bool_:
        values = values.astype(np.float64)
    elif isinstance(values, list | tuple):
        values = [float(v) if isinstance(v, bool | np.bool_) else v for v in values]
    found = check_vector(name, values, _UNIT)
    if len(found) != entries:
        raise ValueError(f"{name} must have {entries} entries, one for each arm; got {len(found)}")
    between = np.flatnonzero((found > 0) & (found < 1))
    if len(between):
        at = int(between[0])
        raise ValueError(f"{name}[{at}] must be 0 or 1, got {found[at]:g}")
    return found


def _is_bit(value: Any) -> bool:
    return type(value) in (int, float, bool) and value in (0, 1)
