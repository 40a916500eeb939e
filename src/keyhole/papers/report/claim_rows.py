"""Rows of claims (a paper's statements): whether each holds, and the number that decides it."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar, Final

from keyhole.metric import Metric
from keyhole.pages.interval_strip import IntervalStrip
from keyhole.papers.claims import Claim
from keyhole.papers.claims.base import format_range
from keyhole.papers.report.judged_entry import (
    JudgedEntry,
    RunsToDecide,
    SharedVerdict,
    runs_to_decide,
    shared_verdicts,
)
from keyhole.papers.verdicts import Number, Status, Verdict, counts

# The sign that is claimed of paired differences, which have no range of their own: relative to the
# better side of the metric (first policy minus second), or whatever the metric is.
_BETTER_SIDE: Final = {"ordering": 1, "not-better": -1, "computed: not_worse": -1}
_NOT_ABOVE_ZERO: Final = ("trend", "computed: equivalence")
_RUNS: Final = "runs"  # the number of replications that a claim asks for


def deciding_number(verdict: Verdict, numbers: Sequence[Number], metric: Metric) -> Number | None:
    """Return the number that is nearest to its limit, or furthest beyond it.

    Numbers with intervals come before counts of comparisons. The difference of two policies gets
    the range that its claim is about: below 0 or above it.

    Parameters
    ----------
    verdict : Verdict
        The verdict.
    numbers : sequence of Number
        Its numbers, without those of a negative control.
    metric : Metric
        The claim's metric.
    """
    ranged = [one for one in numbers if _is_ranged(one) and one.name != _RUNS]
    measured = [one for one in ranged if one.low < one.high]
    counts = [one for one in ranged if one.low == one.high]
    compared = _with_claimed_sign(verdict.kind, numbers, metric)
    # An ordering of several policies is decided by the number of comparisons, others by one.
    groups = [measured, counts, compared] if verdict.kind == "ordering" else [
        measured, compared, counts
    ]  # fmt: skip
    found = next(filter(None, groups), [])
    return min(found, key=_margin) if found else None


def draw_deciding_number(verdict: Verdict, number: Number) -> IntervalStrip:
    """Return the drawing of a number against the limit that is claimed of it, and both in words."""
    value = str(number).partition(" [")[0]
    return IntervalStrip(
        value=number.value,
        low=number.low,
        high=number.high,
        at_least=number.at_least,
        at_most=number.at_most,
        status=verdict.status,
        alt=format_verdict_number(number),
        captions=(value, format_range(number.at_least, number.at_most)),
    )


def format_verdict_number(number: Number) -> str:
    """Return a number with its name, its interval, its claimed range and its p-value."""
    more = []
    if _is_ranged(number):
        more.append(f"claimed: {format_range(number.at_least, number.at_most)}")
    if number.p_value is not None:
        more.append(f"p = {number.p_value:.2g}")
    text = f"{number.name}: {number}"
    return f"{text} ({'; '.join(more)})" if more else text


def _is_ranged(number: Number) -> bool:
    return math.isfinite(number.at_least) or math.isfinite(number.at_most)


def _with_claimed_sign(kind: str, numbers: Sequence[Number], metric: Metric) -> list[Number]:
    """Return the paired differences with the range that their claim is about."""
    differences = [one for one in numbers if not _is_ranged(one) and one.p_value is not None]
    if kind in _NOT_ABOVE_ZERO:
        return [replace(one, at_most=0.0) for one in differences]
    side = _BETTER_SIDE.get(kind)
    if side is None:
        return []
    if side * (1 if metric.better == "higher" else -1) > 0:
        return [replace(one, at_least=0.0) for one in differences]
    return [replace(one, at_most=0.0) for one in differences]


def _margin(number: Number) -> float:
    """Return the distance to the nearest limit in half intervals; negative beyond it."""
    distance = min(number.value - number.at_least, number.at_most - number.value)
    reach = (number.high - number.low) / 2
    # An interval that is open on one side is as precise as its other half.
    if not math.isfinite(reach):
        reach = min(number.high - number.value, number.value - number.low)
    if reach > 0:
        return distance / reach if math.isfinite(reach) else 0.0
    # A number without error: its distance is measured in units of its limits.
    limits = [abs(end) for end in (number.at_least, number.at_most) if math.isfinite(end)]
    return distance / max(1.0, *limits)


MOST_ROWS: Final = 6
"""More rows would not fit on the first screen."""
_MOST_MARKS: Final = 12
_WORST_FIRST: Final[tuple[Status, ...]] = ("does not hold", "undecided", "holds")


@dataclass(frozen=True)
class JudgedClaim:
    """One verdict of a row, with what its details show."""

    part: JudgedEntry
    verdict: Verdict
    others: Sequence[SharedVerdict]  # verdicts of other entries on the same statement

    @property
    def claim(self) -> Claim | None:
        """The claim of the entry; None where it is not the entry's."""
        return self.part.claims.get(self.verdict.id)

    @cached_property
    def deciding(self) -> Number | None:
        """The number that decides it."""
        problem = self.claim.problem_keys[0] if self.claim else next(iter(self.part.runs))
        metric = self.part.runs[problem].curves.metric(self.verdict.metric)
        return deciding_number(self.verdict, self._own_numbers(), metric)

    def _own_numbers(self) -> Sequence[Number]:
        """Return the numbers without those of a negative control: a policy, or a problem."""
        if self.claim is None:
            return self.verdict.numbers
        numbers = self.claim.own_numbers(self.verdict.numbers)
        unlike = getattr(self.claim, "unlike", None)
        if unlike is None:
            return numbers
        control = f"{self.part.entry.problems[unlike].title}: "
        return [number for number in numbers if not number.name.startswith(control)]

    @property
    def strip(self) -> IntervalStrip | None:
        """The drawing of the deciding number, if there is one."""
        return draw_deciding_number(self.verdict, self.deciding) if self.deciding else None

    @property
    def decided_by(self) -> str:
        """The deciding number, and of how many it is the one nearest to its limit."""
        if self.deciding is None:
            return ""
        text = format_verdict_number(self.deciding)
        count = len(self.verdict.numbers)
        return f"{text}. Drawn: nearest to its limit of {count} numbers" if count > 1 else text

    @property
    def numbers(self) -> list[str]:
        """All numbers of the verdict as texts."""
        return [format_verdict_number(number) for number in self.verdict.numbers]

    @property
    def needed(self) -> RunsToDecide | None:
        """How many runs would decide it, and the command."""
        return runs_to_decide(self.part, self.verdict)

    @property
    def sharper(self) -> list[SharedVerdict]:
        """The verdicts on the same statement that count in place of this one."""
        return [other for other in self.others if other.replications > self.verdict.replications]


@dataclass(frozen=True)
class ClaimRow:
    """One statement, judged on one or several problems, or read in several ways."""

    judged: Sequence[JudgedClaim]

    @property
    def first(self) -> Verdict:
        """The verdict whose words are shown."""
        return self.judged[0].verdict

    @property
    def statements(self) -> list[tuple[str, str, list[JudgedClaim]]]:
        """The words of the source and its citation, with the verdicts on them."""
        found: dict[tuple[str, str], list[JudgedClaim]] = {}
        for one in self.judged:
            found.setdefault((one.verdict.text, one.verdict.cited), []).append(one)
        return [(text, cited, judged) for (text, cited), judged in found.items()]

    @property
    def worst(self) -> JudgedClaim:
        """The first of those that hold least."""
        return min(self.judged, key=lambda one: _WORST_FIRST.index(one.verdict.status))

    @property
    def status(self) -> Status:
        """Whether all hold, or some are open, or some do not hold."""
        return self.worst.verdict.status

    @property
    def marks(self) -> list[Verdict]:
        """The verdicts that each have a mark of their own; none if there are too many, or one."""
        several = 1 < len(self.judged) <= _MOST_MARKS
        return [one.verdict for one in self.judged] if several else []

    @property
    def counts(self) -> str:
        """How many hold, where there are too many for marks."""
        many = len(self.judged) > _MOST_MARKS
        return counts([one.verdict for one in self.judged]) if many else ""


@dataclass(frozen=True)
class ClaimRows:
    """A heading, and a row for each statement; of many, those that hold least come first."""

    heading: str
    rows: Sequence[ClaimRow]
    most: int = MOST_ROWS  # as many are shown at first
    template: ClassVar[str] = "papers/report/templates/claim_rows.html.j2"

    @property
    def ordered(self) -> list[ClaimRow]:
        """The rows in their order, or if there are many, the worst first."""
        if len(self.rows) <= self.most:
            return list(self.rows)
        return sorted(self.rows, key=lambda row: _WORST_FIRST.index(row.status))

    @property
    def shown(self) -> list[ClaimRow]:
        """The rows that are not folded."""
        return self.ordered[: self.most]

    @property
    def folded(self) -> list[ClaimRow]:
        """The other rows."""
        return self.ordered[self.most :]

    @property
    def folded_words(self) -> str:
        """How many rows are folded."""
        verdicts = [row.worst.verdict for row in self.folded]
        if {verdict.status for verdict in verdicts} == {"holds"}:
            return f"{len(verdicts)} more that {'holds' if len(verdicts) == 1 else 'hold'}"
        return f"{len(verdicts)} more: {counts(verdicts)}"


def claim_rows(
    part: JudgedEntry,
    verdicts: Sequence[Verdict],
    known: Mapping[str, Verdict],
    on_page: Sequence[str],
) -> list[ClaimRow]:
    """Return the rows of verdicts: one for all that have the same short words.

    Parameters
    ----------
    part : JudgedEntry
        The entry.
    verdicts : sequence of Verdict
        Those of its verdicts that are shown.
    known : mapping of str to Verdict
        By id, all verdicts of this page and of the pages beside it.
    on_page : sequence of str
        The entries of this page.
    """
    groups: dict[str, list[JudgedClaim]] = {}
    for verdict in verdicts:
        others = shared_verdicts(verdict, part.scale, known, on_page)
        one = JudgedClaim(part, verdict, others)
        groups.setdefault(verdict.headline, []).append(one)
    return [ClaimRow(group) for group in groups.values()]
