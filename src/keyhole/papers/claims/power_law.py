"""Claim (statement of a paper) that a metric grows as a power of the rounds, or of a parameter.

A metric, such as the reward lost, is measured in simulations of a policy (a rule that chooses among
options).
"""

import math
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Final

import numpy as np
from pydantic import Field

from keyhole.contract.state_arrays import FloatArray
from keyhole.papers.claims.base import Finding, Results
from keyhole.papers.claims.claimed_ranges import is_inside, or_infinite
from keyhole.papers.claims.verdict_numbers import number_of
from keyhole.papers.entry_references import Checkpoint, PolicyName, ProblemName
from keyhole.papers.verdicts import Number
from keyhole.play.plan import Plan
from keyhole.results.estimate import Estimate, mean_estimate

_Exponent = Annotated[float, Field(ge=-8, le=8)]
_POINTS: Final = 3
_EXPONENTS: Final = (-8.0, 8.0)
_HALVINGS: Final = 40


def power(
    results: Results, metric: str, policy: PolicyName,
    at_least: _Exponent | None = None, at_most: _Exponent | None = None,
    problem: ProblemName | None = None, rounds: list[Checkpoint] | None = None,
    x: dict[ProblemName, float] | None = None, round: Checkpoint | None = None,
) -> Finding:  # fmt: skip
    r"""Judge whether a metric grows as a power of T, or of a number of problems, in a range.

    T are three `rounds` of a problem; `x` are numbers of problems, three different ones above 0, at
    the checkpoint `round`, by default the last of each.

    With means :math:`\bar y_j` at :math:`x_1 < x_2 < x_3`, the exponent is the a at which

    .. math:: \frac{\bar y_3 - \bar y_2}{\bar y_2 - \bar y_1}
        = \frac{x_3^a - x_2^a}{x_2^a - x_1^a},

    that of :math:`y = b + c\,x^a` through the three points. Exponent 0 is ln x, 1 a straight line.
    The constant b, such as the cost of a search, has no effect on it. For a given a the difference
    of the two sides, multiplied out, is a mean over replications: its t-test tells whether the
    exponent is below a, and the exponents that it does not reject are the interval. The claim holds
    if the 95 % interval lies in the range, and does not hold if it lies outside. It is undecided
    where the metric may not rise from the first point to the second.

    Where several problems have the same x, the worst one counts: that with the largest mean, or
    with the smallest where higher is better. It differs with x, as gaps that are hard for a short
    horizon are easy for a long one; its choice is not counted as a source of error.
    """
    points = _points(rounds, x)
    if problem is not None:
        y = np.array([results[problem].values(policy, metric, int(t)) for t in points])
    else:
        y = _worst(results, metric, policy, x or {}, round)
    # Without a rise from the first point to the second the exponent is not identified.
    rise = mean_estimate(y[1] - y[0])
    if not rise.low > 0.0:
        where = f"from {points[0]:,g} to {points[1]:,g}"
        detail = f"{where} the mean may not rise: {rise}"
        return Finding("undecided", detail, (number_of(f"gain {where}", rise),))
    low, high = or_infinite(at_least, at_most)
    # The claimed exponents are tested directly; the interval by bisection is for the report, and
    # can be cut off at the ends of the search.
    tests = [
        (_excess(points, y, end), floor, ceiling)
        for end, floor, ceiling in ((high, -math.inf, 0.0), (low, 0.0, math.inf))
        if math.isfinite(end)
    ]
    exponent, lowest, highest = (_root(points, y, end) for end in ("value", "low", "high"))
    means, places = [mean_estimate(row) for row in y], [f"{point:,g}" for point in points]
    p_value = min(excess.p_value(floor, ceiling) for excess, floor, ceiling in tests)
    ends = (("at least", at_least), ("at most", at_most))
    claimed = [f"{text} {end:g}" for text, end in ends if end is not None]
    return Finding(
        is_inside(tests),
        f"means {', '.join(map(str, means))} at {', '.join(places)}; "
        f"exponent of what is gained {_text(exponent)} [{_text(lowest)}, {_text(highest)}]"
        f" (claimed: {' and '.join(claimed)})",
        (
            *(number_of(f"mean at {at}", mean) for at, mean in zip(places, means, strict=True)),
            Number("exponent", exponent, lowest, highest, p_value, low, high),
        ),
    )


def check_power(claim: Any, plan: Plan) -> None:
    """Refuse other than three rounds of a problem, or three numbers of problems."""
    if (claim.rounds is None) == (claim.x is None) or (claim.rounds is None) != (
        claim.problem is None
    ):
        raise ValueError("either problem and rounds must be given, or x")
    points = _points(claim.rounds, claim.x)
    if len(points) != _POINTS or points[0] <= 0:
        name = "rounds" if claim.x is None else "x"
        raise ValueError(f"{name} must have three different numbers above 0, got {points}")


def _points(rounds: Sequence[int] | None, x: Mapping[str, float] | None) -> list[float]:
    return sorted(map(float, set(rounds or (x or {}).values())))


def _worst(
    results: Results, metric: str, policy: str, x: Mapping[str, float], round: int | None
) -> FloatArray:
    """Return the values of the worst problem at each number, in rising order."""
    rows: dict[float, list[FloatArray]] = {}
    for key, number in sorted(x.items(), key=lambda item: item[1]):
        rows.setdefault(number, []).append(results[key].values(policy, metric, round))
    lower = results[key].curves.metric(metric).better == "lower"
    return np.array([(max if lower else min)(alike, key=np.mean) for alike in rows.values()])


def _excess(x: Sequence[float], y: FloatArray, exponent: float) -> Estimate:
    """Return by how much the gain of the second step exceeds that of this exponent."""
    return mean_estimate(y[2] - y[1] - _expected(x, exponent) * (y[1] - y[0]))


def _expected(x: Sequence[float], exponent: float) -> float:
    """Return the ratio of the second step of a power of x to its first."""
    first, second = math.log(x[1] / x[0]), math.log(x[2] / x[1])
    if exponent == 0.0:
        return second / first
    # expm1 keeps its digits near exponent 0, where both differences of powers vanish.
    return math.exp(exponent * first) * math.expm1(exponent * second) / math.expm1(exponent * first)


def _root(x: Sequence[float], y: FloatArray, end: str) -> float:
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
