"""Claim (statement of a paper) that a metric grows as a power of the rounds, or of a parameter.

A metric, such as the reward lost, is measured in simulations of a policy (a rule that chooses among
options).
"""

import math
from collections.abc import Mapping
from typing import Annotated, Final, Literal, Self

import numpy as np
from pydantic import Field, model_validator

from keyhole.contract.state_arrays import FloatArray
from keyhole.papers.claims.base import Finding, Result
from keyhole.papers.claims.claimed_ranges import check_ends, is_inside, or_infinite
from keyhole.papers.claims.negative_control import ControlledClaim
from keyhole.papers.claims.verdict_numbers import number_of
from keyhole.papers.entry_references import Checkpoint, PolicyName, ProblemName
from keyhole.papers.verdicts import Number
from keyhole.results.estimate import Estimate, mean_estimate

_POINTS: Final = 3
_EXPONENTS: Final = (-8.0, 8.0)
_HALVINGS: Final = 40


class PowerGrowth(ControlledClaim):
    r"""A metric grows as a power of T, or of a number of the problem; its exponent is in a range.

    With means :math:`\bar y_j` at :math:`x_1 < x_2 < x_3`, the exponent is the a at which

    .. math:: \frac{\bar y_3 - \bar y_2}{\bar y_2 - \bar y_1}
        = \frac{x_3^a - x_2^a}{x_2^a - x_1^a},

    that of :math:`y = b + c\,x^a` through the three points. Exponent 0 is ln x, 1 a straight line.
    The constant b, such as the cost of a search, has no effect on it. For a given a the difference
    of the two sides, multiplied out, is a mean over replications: its t-test tells whether the
    exponent is below a, and the exponents that it does not reject are the interval. The claim holds
    if the 95 % interval lies in the range, and does not hold if it lies outside. It is undecided
    where the metric may not rise from the first point to the second.

    Where several problems have the same x, the worst one counts: that with the largest mean, or with
    the smallest where higher is better. It differs with x, as gaps that are hard for a short horizon
    are easy for a long one; its choice is not counted as a source of error.
    """

    kind: Literal["power"]
    policy: PolicyName
    # the exponent, from -8 to 8; at least one is given
    at_least: Annotated[float, Field(ge=-8, le=8)] | None = None
    at_most: Annotated[float, Field(ge=-8, le=8)] | None = None
    problem: ProblemName | None = None  # the key of the problem, where x is T
    rounds: list[Checkpoint] | None = None  # three of its checkpoints
    # where x is a number of the problem: that of each, by key; three different ones, above 0
    x: dict[ProblemName, float] | None = None
    # with x: at which checkpoint; by default the last of each problem
    round: Checkpoint | None = None

    @model_validator(mode="after")
    def _possible(self) -> Self:
        check_ends("at_least", self.at_least, "at_most", self.at_most)
        if (self.rounds is None) == (self.x is None) or (self.rounds is None) != (
            self.problem is None
        ):
            raise ValueError("either problem and rounds must be given, or x")
        points = self._points()
        if len(points) != _POINTS or points[0] <= 0:
            raise ValueError(
                f"{'rounds' if self.x is None else 'x'} must have three different numbers above 0, "
                f"got {points}"
            )
        return self

    def judge_policy(self, results: Mapping[str, Result], policy: str) -> Finding:
        """Test the exponents that are claimed, and find the interval."""
        x = np.array(self._points())
        y = self._values(results, policy)
        # Without a rise from the first point to the second the exponent is not identified.
        rise = mean_estimate(y[1] - y[0])
        if not rise.low > 0.0:
            words = f"from {x[0]:,g} to {x[1]:,g}"
            detail = f"{words} the mean may not rise: {rise}"
            return Finding("undecided", detail, (number_of(f"gain {words}", rise),))
        low, high = or_infinite(self.at_least, self.at_most)
        tests = []
        # The claimed exponents are tested directly; the interval by bisection is for the report,
        # and can be cut off at the ends of the search.
        if math.isfinite(high):
            tests.append((_excess(x, y, high), -math.inf, 0.0))
        if math.isfinite(low):
            tests.append((_excess(x, y, low), 0.0, math.inf))
        value, least, most = (_root(x, y, end) for end in ("value", "low", "high"))
        means, points = [mean_estimate(row) for row in y], [f"{point:,g}" for point in x]
        p_value = min(excess.p_value(*ends) for excess, *ends in tests)
        return Finding(
            is_inside(tests),
            f"means {', '.join(map(str, means))} at {', '.join(points)}; "
            f"exponent of what is gained {_text(value)} [{_text(least)}, {_text(most)}]"
            f" (claimed: {self._claimed()})",
            (
                *(number_of(f"mean at {at}", mean) for at, mean in zip(points, means, strict=True)),
                Number("exponent", value, least, most, p_value, low, high),
            ),
        )

    def _points(self) -> list[float]:
        return sorted(map(float, set(self.rounds or (self.x or {}).values())))

    def _values(self, results: Mapping[str, Result], policy: str) -> FloatArray:
        if self.problem is not None:
            result = results[self.problem]
            rounds = sorted(set(self.rounds or ()))
            return np.array([result.values(policy, self.metric, t) for t in rounds])
        rows: dict[float, list[FloatArray]] = {}
        for key, x in sorted((self.x or {}).items(), key=lambda item: item[1]):
            rows.setdefault(x, []).append(results[key].values(policy, self.metric, self.round))
        lower = results[key].curves.metric(self.metric).better == "lower"
        return np.array([(max if lower else min)(alike, key=np.mean) for alike in rows.values()])

    def _claimed(self) -> str:
        ends = [("at least", self.at_least), ("at most", self.at_most)]
        return " and ".join(f"{words} {end:g}" for words, end in ends if end is not None)


def _excess(x: FloatArray, y: FloatArray, exponent: float) -> Estimate:
    """Return by how much the gain of the second step exceeds that of this exponent."""
    return mean_estimate(y[2] - y[1] - _expected(x, exponent) * (y[1] - y[0]))


def _expected(x: FloatArray, exponent: float) -> float:
    """Return the ratio of the second step of a power of x to its first."""
    first, second = math.log(x[1] / x[0]), math.log(x[2] / x[1])
    if exponent == 0.0:
        return second / first
    # expm1 keeps its digits near exponent 0, where both differences of powers vanish.
    return math.exp(exponent * first) * math.expm1(exponent * second) / math.expm1(exponent * first)


def _root(x: FloatArray, y: FloatArray, end: str) -> float:
    """Return the exponent at which an end of the interval of the excess is 0, by bisection."""
    low, high = _EXPONENTS
    if getattr(_excess(x, y, low), end) < 0.0:
        return -math.inf
    if getattr(_excess(x, y, high), end) > 0.0:
        return math.inf
    # The excess falls as the exponent rises, so that halving finds where it is 0.
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        if getattr(_excess(x, y, middle), end) > 0.0:
            low = middle
        else:
            high = middle
    return low


def _text(exponent: float) -> str:
    low, high = _EXPONENTS
    if math.isinf(exponent):
        return f"below {low:g}" if exponent < 0 else f"above {high:g}"
    return f"{round(exponent, 2) + 0.0:.2f}"
