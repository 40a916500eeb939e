"""Rows of claims on report pages: whether each holds, and the number that decides it."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar, Final

from keyhole.metric import Metric
from keyhole.pages.interval_strip import IntervalStrip
from keyhole.papers.claims import Claim
from keyhole.papers.claims.statistics import format_range
from keyhole.papers.report import judged_entry
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
    ranged = [number for number in numbers if _is_ranged(number) and number.name != _RUNS]
    measured = [number for number in ranged if number.low < number.high]
    counts = [number for number in ranged if number.low == number.high]
    signed_differences = _with_claimed_sign(verdict.kind, numbers, metric)
    # An ordering of several policies is decided by the number of comparisons, others by one.
    candidates = measured or signed_differences or counts
    if verdict.kind == "ordering":
        candidates = measured or counts or signed_differences
    return min(candidates, key=_margin_to_limit, default=None)


def draw_deciding_number(verdict: Verdict, number: Number) -> IntervalStrip:
    """Return the drawing of a number against the limit that is claimed of it, and both in words."""
    return IntervalStrip(
        value=number.value,
        low=number.low,
        high=number.high,
        at_least=number.at_least,
        at_most=number.at_most,
        status=verdict.status,
        alt=format_verdict_number(number),
        captions=(str(number).partition(" [")[0], format_range(number.at_least, number.at_most)),
    )


def format_verdict_number(number: Number) -> str:
    """Return a number with its name, its interval, its claimed range and its p-value."""
    notes = []
    if _is_ranged(number):
        notes.append(f"claimed: {format_range(number.at_least, number.at_most)}")
    if number.p_value is not None:
        notes.append(f"p = {number.p_value:.2g}")
    text = f"{number.name}: {number}"
    if notes:
        text += f" ({'; '.join(notes)})"
    return text


def _is_ranged(number: Number) -> bool:
    return math.isfinite(number.at_least) or math.isfinite(number.at_most)


def _with_claimed_sign(claim_kind: str, numbers: Sequence[Number], metric: Metric) -> list[Number]:
    """Return the paired differences with the range that their claim is about."""
    unranged = [number for number in numbers if not _is_ranged(number)]
    differences = [number for number in unranged if number.p_value is not None]
    if claim_kind in _NOT_ABOVE_ZERO:
        return [replace(number, at_most=0.0) for number in differences]
    sign = _BETTER_SIDE.get(claim_kind)
    if sign is None:
        return []
    if (sign > 0) == (metric.better == "higher"):
        return [replace(number, at_least=0.0) for number in differences]
    return [replace(number, at_most=0.0) for number in differences]


def _margin_to_limit(number: Number) -> float:
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

    part: judged_entry.JudgedEntry
    verdict: Verdict
    others: Sequence[judged_entry.SharedVerdict]  # verdicts of other entries on the same statement

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
        if count > 1:
            text += f". Drawn: nearest to its limit of {count} numbers"
        return text

    @property
    def numbers(self) -> list[str]:
        """All numbers of the verdict as texts."""
        return [format_verdict_number(number) for number in self.verdict.numbers]

    @property
    def needed(self) -> judged_entry.RunsToDecide | None:
        """How many runs would decide it, and the command."""
        return judged_entry.runs_to_decide(self.part, self.verdict)

    @property
    def sharper(self) -> list[judged_entry.SharedVerdict]:
        """The verdicts on the same statement that count in place of this one."""
        return [shared for shared in self.others if shared.replications > self.verdict.replications]


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
        groups: dict[tuple[str, str], list[JudgedClaim]] = {}
        for claim in self.judged:
            groups.setdefault((claim.verdict.text, claim.verdict.cited), []).append(claim)
        return [(text, cited, judged) for (text, cited), judged in groups.items()]

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
        if 1 < len(self.judged) <= _MOST_MARKS:
            return [judged_claim.verdict for judged_claim in self.judged]
        return []

    @property
    def counts(self) -> str:
        """How many hold, where there are too many for marks."""
        if len(self.judged) <= _MOST_MARKS:
            return ""
        return counts([judged_claim.verdict for judged_claim in self.judged])


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
    outcome: judged_entry.JudgedEntry,
    verdicts: Sequence[Verdict],
    all_verdicts: Mapping[str, Verdict],
    on_page: Sequence[str],
) -> list[ClaimRow]:
    """Return the rows of verdicts: one for all that have the same short words.

    Parameters
    ----------
    outcome : JudgedEntry
        The entry.
    verdicts : sequence of Verdict
        Those of its verdicts that are shown.
    all_verdicts : mapping of str to Verdict
        By id, all verdicts of this page and of the pages beside it.
    on_page : sequence of str
        The entries of this page.
    """
    groups: dict[str, list[JudgedClaim]] = {}
    for verdict in verdicts:
        others = judged_entry.shared_verdicts(verdict, outcome.scale, all_verdicts, on_page)
        groups.setdefault(verdict.headline, []).append(JudgedClaim(outcome, verdict, others))
    return [ClaimRow(group) for group in groups.values()]
