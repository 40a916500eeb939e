"""Bars of squares, one for each claim (statement of a paper): whether it holds, with a link."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import ClassVar, Final

from keyhole.papers.report.entry_answer import counts
from keyhole.papers.verdicts import SETUPS, Status, Verdict

STATUS_WORDS: Final[dict[Status, str]] = {
    "holds": "holds",
    "undecided": "open",
    "does not hold": "does not hold",
}
"""Short words for what became of a claim."""


@dataclass(frozen=True)
class ClaimBar:
    """The squares of some claims, with a label."""

    label: str
    verdicts: Sequence[Verdict]

    @property
    def counts(self) -> str:
        """How many claims hold, are open, and do not hold."""
        return counts(self.verdicts)

    @property
    def entries(self) -> list[list[Verdict]]:
        """The verdicts of each entry, in order."""
        return [list(found) for _, found in groupby(self.verdicts, entry_of)]


@dataclass(frozen=True)
class ClaimSquares:
    """Bars of claims below each other, with a heading or a legend."""

    heading: str  # empty for the legend
    bars: Sequence[ClaimBar]
    template: ClassVar[str] = "papers/report/templates/claim_squares.html.j2"

    @property
    def legend(self) -> Sequence[tuple[Status, str]]:
        """The statuses with their words."""
        return list(STATUS_WORDS.items())

    def address(self, verdict: Verdict) -> str:
        """Return the address of a claim on the page of its entry."""
        return claim_address(verdict)

    def words(self, verdict: Verdict) -> str:
        """Return the name of a square: verdict, problem, claim, and set-up if not the paper's."""
        about = f"{verdict.about}: " if verdict.about else ""
        text = f"{STATUS_WORDS[verdict.status].capitalize()}. {about}{verdict.headline}"
        if verdict.origin == "ours" or verdict.is_on_papers_setup:
            return text
        return f"{text} ({SETUPS[verdict.setup]})"


def entry_of(verdict: Verdict) -> str:
    """Return the name of the entry of a verdict."""
    return verdict.id.partition("/")[0]


def claim_address(verdict: Verdict) -> str:
    """Return the address of a claim on the page of its entry, as a link of the index."""
    return f"entries/{entry_of(verdict)}/report.html#{verdict.id}"
