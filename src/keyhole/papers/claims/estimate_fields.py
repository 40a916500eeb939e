"""The fields that a claim (a paper's statement) about an estimate may have.

Which of them are allowed depends on what is estimated: a mean, a ratio, a share of runs.
"""

from collections.abc import Sequence
from typing import Final, Literal, Self, get_args

from pydantic import model_validator

from keyhole.papers.claims.base import Rounds
from keyhole.papers.claims.bounds import BoundName
from keyhole.papers.claims.cells import Cell, CellsClaim
from keyhole.papers.claims.claimed_ranges import End, check_ends, each_range
from keyhole.papers.claims.negative_control import ControlledClaim
from keyhole.papers.entry_references import Checkpoint, PolicyName, ProblemName

Quantity = Literal[
    "mean",
    "proportion",
    "growth",
    "gain",
    "slope",
    "level",
    "ratio",
    "difference",
    "deviation-ratio",
    "gain-ratio",
    "log-endpoint",
    "value",
]

_RANGE: Final = "low high"
_ONE: Final = "problem policy"
_CONTROL: Final = "negative_control no_negative_control"
_TWO: Final = "problem policy rounds " + _RANGE  # what cells leave to the claim, and the rest

# The fields of its own that a quantity needs, and those that it may have. The first six are of one
# policy on one problem, so that a negative control can take the policy's place.
_FIELDS: Final[dict[Quantity, tuple[str, str]]] = {
    "mean": (_ONE, f"rounds {_RANGE} {_CONTROL}"),
    "proportion": (_ONE, f"rounds metric_low metric_high {_RANGE} {_CONTROL}"),
    "growth": (f"{_ONE} early late", f"ratio_to {_RANGE} {_CONTROL}"),
    "gain": (f"{_ONE} early late", f"each_round bound {_RANGE} {_CONTROL}"),
    "slope": (f"{_ONE} early late", f"bound {_RANGE} {_CONTROL}"),
    "level": (f"{_ONE} rounds levels std_errors", f"level_errors scale {_CONTROL}"),
    "ratio": ("cell over", _TWO),
    "difference": ("cell over", _TWO),
    "deviation-ratio": ("cell over", _TWO),
    "gain-ratio": ("cell over early late", f"problem policy {_RANGE}"),
    "log-endpoint": ("problem", f"policy {_RANGE}"),
    "value": ("problem value", "policy"),
}
_POSITIVE: Final = ("growth", "deviation-ratio")


class EstimateFields(CellsClaim, ControlledClaim):
    """Base of `EstimateClaim`: its fields, and their validation."""

    of: Quantity
    problem: ProblemName | None = None
    policy: PolicyName | None = None
    cell: Cell | None = None  # of quantities of two cells: the first
    over: Cell | None = None  # the cell that it is divided by, or that is subtracted
    rounds: Rounds | None = None  # by default the last checkpoint of each problem
    early: Checkpoint | None = None
    late: Checkpoint | None = None
    low: End = None  # the range of the estimate, at all rounds or at each; either may be left out
    high: End = None
    metric_low: float | None = None  # of a proportion: the range of the metric, ends included
    metric_high: float | None = None
    ratio_to: PolicyName | None = None  # of growth: a policy by whose mean the mean is divided
    each_round: bool = False  # of a gain: divide it by the number of rounds
    # of a gain or slope, a name in `BOUNDS`: low and high are multiples of what that bound gains
    bound: BoundName | None = None
    levels: list[float] | None = None  # one for each of the rounds
    std_errors: float | None = None  # how far from its level an estimate may be
    level_errors: float | list[float] = 0.0  # standard errors of all levels, or of each
    scale: Literal["ln(mean / arms)", "mean"] = "ln(mean / arms)"  # of the levels
    value: float | None = None

    @property
    def cells(self) -> tuple[Cell, Cell] | None:
        """The two cells of which the quantity is made, if it is made of two."""
        return None if self.cell is None or self.over is None else (self.cell, self.over)

    @property
    def ends(self) -> tuple[int, int]:
        """The early and the late checkpoint, of quantities that have them."""
        return self.early or 0, self.late or 0

    @property
    def ranges(self) -> list[tuple[int | None, float, float]]:
        """The range at every round; an end that is not given is infinite."""
        rounds: Sequence[int | None] = self.rounds or [None]
        ends = each_range(self.low, self.high, len(rounds))
        return [(t, *pair) for t, pair in zip(rounds, ends, strict=True)]

    @property
    def needs_negative_control(self) -> bool:
        """Whether any policy may satisfy it: a bound, or a metric's range with one open end."""
        if "negative_control" not in _allowed(self.of):
            return False
        ends = {
            "mean": (self.low, self.high),
            "proportion": (self.metric_low, self.metric_high),
        }
        return None in ends.get(self.of, ()) or super().needs_negative_control

    @model_validator(mode="after")
    def _check_fields(self) -> Self:
        """Refuse a field that the quantity lacks or does not take, and impossible values."""
        # One class has the fields of all quantities, so a field that this one ignores must be
        # refused: a misplaced `value` would otherwise be silently dropped.
        given = {name for name in _OPTIONAL if getattr(self, name) != _OPTIONAL[name]}
        for name in _FIELDS[self.of][0].split():
            if name not in given:
                raise ValueError(f"{name} must be given for of = {self.of!r}")
        for name in sorted(given - _allowed(self.of)):
            raise ValueError(f"{name} must be left out for of = {self.of!r}")
        if self.of == "proportion":
            check_ends("metric_low", self.metric_low, "metric_high", self.metric_high)
        if "low" in _allowed(self.of):
            self._check_range()
        if self.early is not None and self.late is not None and self.late <= self.early:
            raise ValueError(f"late must come after early, got {self.late} after {self.early}")
        if self.ratio_to is not None and self.ratio_to in (self.policy, self.negative_control):
            raise ValueError(f"ratio_to must be another policy, got {self.ratio_to!r}")
        if self.of == "level":
            self._check_levels()
        return self

    def _check_range(self) -> None:
        check_ends("low", self.low, "high", self.high, len(self.rounds or [None]))
        for name, end in (("low", self.low), ("high", self.high)):
            for one in end if isinstance(end, list) else [end]:
                if one is not None and self.of in _POSITIVE and not one > 0.0:
                    raise ValueError(f"{name} must be above 0, got {one:g}")
                if one is not None and self.of == "proportion" and not 0.0 <= one <= 1.0:
                    raise ValueError(f"{name} must be a proportion, from 0 to 1, got {one:g}")

    def _check_levels(self) -> None:
        count = len(self.rounds or ())
        for name in ("levels", "level_errors"):
            given = getattr(self, name)
            if isinstance(given, list) and len(given) != count:
                raise ValueError(
                    f"{name} must have one number for each round, {count}, got {given}"
                )
        errors = self.level_errors if isinstance(self.level_errors, list) else [self.level_errors]
        if min(errors, default=0.0) < 0.0:
            raise ValueError(f"level_errors must be at least 0, got {self.level_errors}")


def _allowed(of: Quantity) -> set[str]:
    return {name for names in _FIELDS[of] for name in names.split()}


_OPTIONAL: Final = {
    name: EstimateFields.model_fields[name].default
    for name in {name for of in get_args(Quantity) for name in _allowed(of)}
}
