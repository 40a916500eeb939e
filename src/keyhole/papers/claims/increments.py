"""Claims about what a metric gains between two checkpoints."""

import math
from abc import abstractmethod
from typing import Literal, Self

from pydantic import model_validator

from keyhole.papers.claims.base import Finding, Result
from keyhole.papers.claims.bounds import BoundName, bound_of, check_bound
from keyhole.papers.claims.estimate import is_inside
from keyhole.papers.claims.negative_control import OfOne
from keyhole.papers.claims.numbers import known_number, number_of
from keyhole.papers.claims.ranges import check_pair, format_range, or_infinite
from keyhole.papers.entry_validation import Checkpoint
from keyhole.papers.verdicts import Number
from keyhole.play.plan import Plan
from keyhole.results.estimate import mean_estimate


class Gain(OfOne):
    """What the mean of a metric gains from one checkpoint to another, per unit of something.

    What it had gained before, in a search, say, cannot hide how it grows now. The claim holds if
    the 95 % interval lies in the range, and does not hold if it lies outside.
    """

    early: Checkpoint
    late: Checkpoint
    low: float | None = None  # of the gain; at least one is given
    high: float | None = None
    # a name in `BOUNDS`: low and high are then multiples of what that bound gains
    bound: BoundName | None = None

    @model_validator(mode="after")
    def _possible(self) -> Self:
        if self.late <= self.early:
            raise ValueError(f"late must come after early, got {self.late} after {self.early}")
        check_pair("low", self.low, "high", self.high)
        return self

    def check(self, plan: Plan) -> None:
        """Refuse a bound of another room, or one that does not rise between the checkpoints."""
        if self.bound is None:
            return
        check_bound(self.bound, self, plan, (self.early, self.late))

    def judge_one(self, result: Result, policy: str) -> Finding:
        """Compare the interval of the gain with the range."""
        late, early = (result.values(policy, self.metric, t) for t in (self.late, self.early))
        found = mean_estimate((late - early) / self._units())
        low, high = or_infinite(self.low, self.high)
        said, numbers = format_range(low, high), list[Number]()
        if self.bound is not None:
            rise = bound_of(self.bound, self, result, self.late)
            rise = (rise - bound_of(self.bound, self, result, self.early)) / self._units()
            if not rise > 0.0:
                return Finding("undecided", f"the bound gains nothing: {rise:g}")
            said = f" (that of the bound is {rise:.4g}; claimed: {_times(low, high)})"
            low, high = low * rise, high * rise
            numbers.append(known_number("that of the bound", rise))
        words = f"{self._words()} from T = {self.early:,} to {self.late:,}"
        return Finding(
            is_inside([(found, low, high)]),
            f"{words}: {found}{said}",
            (number_of(words, found, low, high), *numbers),
        )

    @abstractmethod
    def _units(self) -> float:
        """Return how many units lie between the checkpoints."""

    @abstractmethod
    def _words(self) -> str:
        """Return what is measured."""


class Increment(Gain):
    """The gain itself, or by the round; see `Gain`."""

    kind: Literal["increment"]
    # whether to divide it by the number of rounds: the slope of a straight line
    each_round: bool = False

    def _units(self) -> float:
        return float(self.late - self.early) if self.each_round else 1.0

    def _words(self) -> str:
        return "gain a round" if self.each_round else "gain"


class Slope(Gain):
    r"""The gain for each unit of ln T, to hold against the constant of a logarithmic bound.

    .. math:: \frac{R(b) - R(a)}{\ln b - \ln a}

    See `Gain`.
    """

    kind: Literal["slope"]

    def _units(self) -> float:
        return math.log(self.late / self.early)

    def _words(self) -> str:
        return "slope in ln T"


def _times(low: float, high: float) -> str:
    return format_range(low, high).removeprefix(" (claimed: ").removesuffix(")") + " times"
