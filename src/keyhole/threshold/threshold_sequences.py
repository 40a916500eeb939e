"""Sequences of the rounds' thresholds, which may be random, in stages, or listed."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, cast

import numpy as np
from numpy.typing import ArrayLike

from keyhole.spec_values import tagged_value_reader
from keyhole.threshold.environment import CYCLIC, DRAWN, LISTED, STAGED
from keyhole.validation import Range, check_integer, check_vector

_UNIT: Final = Range(ge=0, le=1)
_SUM_TOLERANCE: Final = 1e-9


@dataclass(frozen=True)
class ThresholdSequence:
    """The sequence of the rounds' thresholds, made by one of the functions of this module.

    Attributes
    ----------
    kind : int
        `DRAWN`, `STAGED`, `CYCLIC` or `LISTED` of `keyhole.threshold.environment`.
    name : str
        The name of the function that made the sequence.
    values : tuple of float
        The argument of that function: the chances of the levels for `iid`, or the thresholds for
        `given`; empty if it had none.
    """

    kind: int
    name: str
    values: tuple[float, ...] = ()

    def __repr__(self) -> str:
        """Return the call that makes the sequence, shortened."""
        values_text = ", ".join(f"{v:g}" for v in self.values[:6])
        more = ", ..." if len(self.values) > 6 else ""
        return f"{self.name}([{values_text}{more}])" if self.values else f"{self.name}()"

    @property
    def rounds(self) -> int | None:
        """The largest number of rounds, or None if the sequence has no end."""
        return len(self.values) if self.kind == LISTED else None

    def truth(self, levels: int) -> dict[str, object]:
        """Return the sequence's part of `Problem.truth`, for a problem with `levels` levels.

        Raises
        ------
        ValueError
            If the sequence is for another number of levels.
        """
        # All fields of the environment need values, even those that it never reads for this kind.
        chances = np.full(levels, 1.0 / levels)
        if self.kind == DRAWN and self.values:
            if len(self.values) != levels:
                raise ValueError(
                    f"order must have one probability for each of {levels} levels, "
                    f"got {len(self.values)}"
                )
            chances = np.array(self.values)
        thresholds = self.values if self.kind == LISTED else (1,)
        for i, level in enumerate(thresholds):
            check_integer(f"order[{i}]", int(level), Range(ge=1, le=levels))
        return {
            "order": self.kind,
            "rising": int(self.name == "adversarial"),
            "cumulated": np.cumsum(chances),
            "rounds": len(thresholds),
            "listed": np.array(thresholds, np.int64),
        }


def iid(probabilities: ArrayLike | None = None) -> ThresholdSequence:
    """Draw every threshold independently.

    Parameters
    ----------
    probabilities : sequence of float, shape (levels,), optional
        The chance of each level, summing to 1; by default all are equally likely.

    Returns
    -------
    ThresholdSequence
        For the parameter `order` of `Problem`.

    Raises
    ------
    ValueError
        If a value is not allowed.

    Examples
    --------
    >>> iid([0.5, 0.25, 0.25])
    iid([0.5, 0.25, 0.25])
    """
    if probabilities is None:
        return ThresholdSequence(DRAWN, "iid")
    chances = check_vector("probabilities", probabilities, _UNIT)
    if abs(chances.sum() - 1.0) > _SUM_TOLERANCE:
        raise ValueError(f"probabilities must sum to 1, got {chances.sum():g}")
    return ThresholdSequence(DRAWN, "iid", tuple(chances.tolist()))


def adversarial() -> ThresholdSequence:
    """Go through the levels from the lowest to the highest, in stages.

    The length of a stage is the horizon divided by the number of levels, rounded down. The rounds
    that remain after the last stage have the last level, too. If there are fewer rounds than
    levels, each stage is one round.

    Returns
    -------
    ThresholdSequence
        For the parameter `order` of `Problem`.

    Examples
    --------
    >>> adversarial()
    adversarial()
    """
    return ThresholdSequence(STAGED, "adversarial")


def optimistic() -> ThresholdSequence:
    """Go through the levels from the highest to the lowest, in stages as in `adversarial`.

    Returns
    -------
    ThresholdSequence
        For the parameter `order` of `Problem`.

    Examples
    --------
    >>> optimistic()
    optimistic()
    """
    return ThresholdSequence(STAGED, "optimistic")


def cyclic() -> ThresholdSequence:
    """Go through all levels in random order, again and again, each time in a new order.

    Returns
    -------
    ThresholdSequence
        For the parameter `order` of `Problem`.

    Examples
    --------
    >>> cyclic()
    cyclic()
    """
    return ThresholdSequence(CYCLIC, "cyclic")


def given(sequence: Sequence[int] | ArrayLike) -> ThresholdSequence:
    """Take the thresholds from a list; the horizon can be at most its length.

    Parameters
    ----------
    sequence : sequence of int
        The threshold of each round, from 1 to the number of levels.

    Returns
    -------
    ThresholdSequence
        For the parameter `order` of `Problem`.

    Raises
    ------
    TypeError, ValueError
        If the list is empty, or an entry is not a whole number of at least 1.

    Examples
    --------
    >>> given([3, 1, 2]).rounds
    3
    """
    values = sequence.tolist() if isinstance(sequence, np.ndarray) else sequence
    if not isinstance(values, Sequence) or isinstance(values, str) or len(values) == 0:
        raise ValueError(f"sequence must be a list of at least one threshold, got {sequence!r}")
    levels = tuple(
        check_integer(f"sequence[{i}]", value, Range(ge=1)) for i, value in enumerate(values)
    )
    return ThresholdSequence(LISTED, "given", levels)


_parse_order: Final = tagged_value_reader(iid, adversarial, optimistic, cyclic, given)


def parse_sequence(value: Any) -> ThresholdSequence:
    """Return a sequence of thresholds, given the sequence itself or a spec entry.

    Parameters
    ----------
    value : ThresholdSequence, str, or mapping of one str to list
        A sequence; "iid", "adversarial", "optimistic" or "cyclic"; or ``{"iid": [...]}`` or
        ``{"given": [...]}``.

    Returns
    -------
    ThresholdSequence
        The sequence.

    Raises
    ------
    TypeError, ValueError
        If the value is not allowed.

    Examples
    --------
    >>> parse_sequence("cyclic"), parse_sequence({"given": [2, 1]})
    (cyclic(), given([2, 1]))
    """
    if isinstance(value, ThresholdSequence):
        return value
    return cast(ThresholdSequence, _parse_order("order", value, Path()))
