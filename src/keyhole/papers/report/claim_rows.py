"""Rows of claims on report pages: whether a claim holds, and the number that decides it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from keyhole.pages.interval_strip import IntervalStrip
from keyhole.papers.claims.statistics import describe_range
from keyhole.papers.report import judged_entry
from keyhole.papers.verdicts import VERBS, Number, Status, Verdict, format_counts

_RUNS: Final = "runs"  # name of the `Number` of replications, which some claims ask for


def deciding_number(verdict: Verdict) -> Number | None:
    """Return the number of a verdict that is nearest to an end of its claimed range, or beyond it.

    If several are beyond, it is the furthest. If an ordering has counts of comparisons, these are
    the candidates, since they decide it; in other claims they are the numbers with an interval, if
    there are any.
    """
    ranged = [number for number in verdict.numbers if number.is_ranged and number.name != _RUNS]
    candidates = [number for number in ranged if number.low < number.high]
    if verdict.kind == "ordering":
        candidates = [number for number in ranged if number.p_value is None]
    return min(candidates or ranged, key=lambda number: number.margin, default=None)


def draw_deciding_number(verdict: Verdict, number: Number) -> IntervalStrip:
    """Return the drawing of a number beside its claimed range, with both in words."""
    return IntervalStrip(
        value=number.value,
        low=number.low,
        high=number.high,
        at_least=number.at_least,
        at_most=number.at_most,
        status=verdict.status,
        alt=format_verdict_number(number),
        captions=(str(number).partition(" [")[0], describe_range(number.at_least, number.at_most)),
    )


def format_verdict_number(number: Number) -> str:
    """Return a number with its name, its interval, its claimed range and its p-value."""
    notes = []
    if number.is_ranged:
        notes.append(f"claimed: {describe_range(number.at_least, number.at_most)}")
    if number.p_value is not None:
        notes.append(f"p = {number.p_value:.2g}")
    text = f"{number.name}: {number}"
    if notes:
        text += f" ({'; '.join(notes)})"
    return text


MOST_ROWS: Final = 6
"""The number of rows that fit on the first screen."""
_WORST_FIRST: Final[tuple[Status, ...]] = ("does not hold", "undecided", "holds")


@dataclass(frozen=True)
class JudgedClaim:
    """A verdict of a row, with the details that the opened row shows."""

    outcome: judged_entry.JudgedEntry
    verdict: Verdict
    others: Sequence[judged_entry.SharedVerdict]  # verdicts of other entries on the same statement

    @property
    def deciding(self) -> Number | None:
        """The number that decides the verdict, if there is one."""
        return deciding_number(self.verdict)

    @property
    def drawing(self) -> IntervalStrip | None:
        """The drawing of the deciding number, if there is one."""
        return draw_deciding_number(self.verdict, self.deciding) if self.deciding else None

    @property
    def runs_needed(self) -> judged_entry.RunsToDecide | None:
        """How many runs would decide the claim, and the command that plays more."""
        return judged_entry.runs_to_decide(self.outcome, self.verdict)

    @property
    def overriding_verdicts(self) -> list[judged_entry.SharedVerdict]:
        """Verdicts on the same statement with more runs, which count in place of this one."""
        return [shared for shared in self.others if shared.replications > self.verdict.replications]


@dataclass(frozen=True)
class ClaimRow:
    """A statement with an entry's verdicts on it: one for each problem or reading; at least one."""

    judged: Sequence[JudgedClaim]

    @property
    def shown_verdict(self) -> Verdict:
        """The verdict whose words the row shows."""
        return self.judged[0].verdict

    @property
    def statements(self) -> list[tuple[str, str, list[JudgedClaim]]]:
        """The texts of the claims, each with its citation and the verdicts on it."""
        groups: dict[tuple[str, str], list[JudgedClaim]] = {}
        for claim in self.judged:
            groups.setdefault((claim.verdict.text, claim.verdict.citation), []).append(claim)
        return [(text, cited, judged) for (text, cited), judged in groups.items()]

    @property
    def worst_claim(self) -> JudgedClaim:
        """The first claim with the worst status."""
        return min(self.judged, key=lambda claim: _WORST_FIRST.index(claim.verdict.status))

    @property
    def status(self) -> Status:
        """The worst status of the claims."""
        return self.worst_claim.verdict.status


def claim_rows_block(
    heading: str, rows: Sequence[ClaimRow], most_shown: int
) -> judged_entry.TemplateBlock:
    """Return a heading and rows, of which at most `most_shown` are not folded.

    If some are folded, the worst come first.
    """
    if len(rows) > most_shown:
        rows = sorted(rows, key=lambda row: _WORST_FIRST.index(row.status))
    return judged_entry.TemplateBlock(
        "claim_rows",
        heading=heading,
        shown=rows[:most_shown],
        folded=rows[most_shown:],
        format_counts=format_counts,
        format_number=format_verdict_number,
        verbs=VERBS,
    )


def claim_rows(
    outcome: judged_entry.JudgedEntry,
    verdicts: Sequence[Verdict],
    all_verdicts: Mapping[str, Verdict],
    on_page: Sequence[str],
) -> list[ClaimRow]:
    """Return the rows of verdicts: one row for all verdicts that have the same headline.

    Parameters
    ----------
    outcome : JudgedEntry
        The entry with its runs.
    verdicts : sequence of Verdict
        The verdicts of the entry that are shown.
    all_verdicts : mapping of str to Verdict
        All verdicts of this page and of the pages beside it, by id.
    on_page : sequence of str
        The names of the entries of this page.
    """
    groups: dict[str, list[JudgedClaim]] = {}
    for verdict in verdicts:
        others = judged_entry.shared_verdicts(verdict, outcome.scale, all_verdicts, on_page)
        groups.setdefault(verdict.headline, []).append(JudgedClaim(outcome, verdict, others))
    return [ClaimRow(group) for group in groups.values()]
