"""Claims about how much results vary, or whether they are the same."""

import math
from collections.abc import Mapping, Sequence
from typing import Annotated, Final, Literal, Self

import numpy as np
from pydantic import Field, model_validator

from keyhole.contract.state_memory import FloatArray
from keyhole.papers.claims.base import Finding, Result, Rounds, when
from keyhole.papers.claims.cells import Cell, OverCells, names, problems_of
from keyhole.papers.claims.estimate import is_inside
from keyhole.papers.claims.numbers import factor_of, format_compared, known_number
from keyhole.papers.claims.ranges import check_pair, format_range, or_infinite
from keyhole.papers.entry_validation import MetricName
from keyhole.papers.verdicts import Number
from keyhole.results.estimate import Estimate, format_estimate

_FEWEST: Final = 3  # without one replication, two are needed for a variance
_SHOWN: Final = 3
_NOTHING: Final = 1e-24  # a share of the sum of squares that rounding alone explains


class Deviations(OverCells):
    r"""One cell's standard deviation of a metric over another's lies between two numbers.

    The interval is that of the jackknife of ln of the ratio (Miller 1968, "Jackknifing variances"),
    which needs no normal law; replications are left out in pairs. The claim holds if the 95 %
    interval lies between the numbers at every round, and does not hold if it lies outside at some
    (adjusted by Holm). Where either does not vary, the claim is undecided.
    """

    kind: Literal["deviations"]
    numerator: Cell  # whose deviations
    denominator: Cell
    rounds: Rounds | None = None  # at which checkpoints; by default the last of each problem
    low: Annotated[float, Field(gt=0)] | None = None  # above 0; at least one is given
    high: Annotated[float, Field(gt=0)] | None = None

    @model_validator(mode="after")
    def _ends(self) -> Self:
        check_pair("low", self.low, "high", self.high)
        return self

    @property
    def concerns(self) -> tuple[str, ...]:
        """The problems of both."""
        return problems_of([self.numerator, self.denominator])

    def judge(self, results: Mapping[str, Result]) -> Finding:
        """Compare the interval of the ratio with the range, round by round."""
        cells = [self.numerator, self.denominator]
        above, below = names(cells, results)
        low, high = or_infinite(self.low, self.high)
        logs = (math.log(low) if low > 0 else -math.inf, math.log(high))
        found, words, numbers = [], [], list[Number]()
        rounds: Sequence[int | None] = self.rounds or [None]
        for t in rounds:
            a, b = (cell.values(results, self.metric, t) for cell in cells)
            one = log_ratio(a, b)
            if one is None:
                return Finding("undecided", f"{above} or {below} does not vary enough {when(t)}")
            found.append((one, *logs))
            ratio = factor_of(f"deviation of {above} / {below} {when(t)}", one, low, high)
            ours, theirs = (float(values.std(ddof=1)) for values in (a, b))
            words.append(f"{when(t)}: {_deviation(ours)} / {_deviation(theirs)} = {ratio}")
            numbers += [
                Number(f"deviation of {above} {when(t)}", ours),
                Number(f"deviation of {below} {when(t)}", theirs),
                ratio,
            ]
        detail = f"deviation of {above} / {below} {'; '.join(words)}{format_range(low, high)}"
        return Finding(is_inside(found), detail, tuple(numbers))


class Identical(OverCells):
    """Some policies, or one on some problems, do the same: every value is equal to the last bit.

    The claim does not hold if there is one difference, in any replication at any checkpoint.
    """

    kind: Literal["identical"]
    # at least two; their problems have the same checkpoints
    cells: Annotated[list[Cell], Field(min_length=2)]
    # what is compared; by default the claim's metric
    metrics: Annotated[list[MetricName], Field(min_length=1)] | None = None

    @property
    def concerns(self) -> tuple[str, ...]:
        """The problems of the cells."""
        return problems_of(self.cells)

    def judge(self, results: Mapping[str, Result]) -> Finding:
        """Look for a difference."""
        first, *others = self.cells
        called = names(self.cells, results)
        differences, counts = list[str](), list[Number]()
        for metric in self.metrics or [self.metric]:
            ours = _table(first, results, metric)
            for name, other in zip(called[1:], others, strict=True):
                theirs = _table(other, results, metric)
                if ours.shape != theirs.shape:
                    return Finding("undecided", f"{called[0]} and {name} have other checkpoints")
                unequal = int((ours != theirs).any(axis=0).sum())
                what = f"replications in which {metric} of {name} differs from {called[0]}'s"
                counts.append(known_number(what, unequal, at_most=0))
                if unequal:
                    differences.append(
                        f"{metric} of {name} differs from {called[0]}'s in {unequal:,} of "
                        f"{ours.shape[1]:,} replications"
                    )
        numbers = format_compared(counts, [one for one in counts if one.value][:_SHOWN])
        if differences:
            return Finding("does not hold", "; ".join(differences[:_SHOWN]), numbers)
        count = results[first.problem].curves.replications
        return Finding("holds", f"so in all of {count:,} replications", numbers)


def log_ratio(a: FloatArray, b: FloatArray) -> Estimate | None:
    r"""Estimate ln of the ratio of two standard deviations from paired replications.

    .. math:: \hat\ell = \ln(s_a / s_b), \qquad
        \widehat{\mathrm{se}}(\hat\ell)^2 = \frac{n-1}{n} \sum_i (\ell_{-i} - \bar\ell)^2

    where :math:`\ell_{-i}` is the estimate without replication i. None where either does not vary,
    with or without one of the replications.
    """
    n = len(a)
    if n < _FEWEST:
        return None
    (whole_a, rest_a), (whole_b, rest_b) = _squares(a), _squares(b)
    if not ((rest_a > _NOTHING * (a**2).sum()) & (rest_b > _NOTHING * (b**2).sum())).all():
        return None
    each = np.log(rest_a / rest_b) / 2
    error = math.sqrt(float(((each - each.mean()) ** 2).sum()) * (n - 1) / n)
    return Estimate(math.log(whole_a / whole_b) / 2, error, n)


def _squares(values: FloatArray) -> tuple[float, FloatArray]:
    """Return the sum of squared deviations, of all and without each replication."""
    n = len(values)
    deviations = (values - values.mean()) ** 2
    whole = float(deviations.sum())
    return whole, whole - deviations * n / (n - 1)


def _deviation(deviation: float) -> str:
    return format_estimate(deviation, deviation / 10)


def _table(cell: Cell, results: Mapping[str, Result], metric: str) -> FloatArray:
    return results[cell.problem].curves.values(cell.policy, metric)
