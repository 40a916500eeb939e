"""Claims of papers that do not hold: the paper's words, what was found, and a small drawing."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Final

from keyhole.papers.report.claim_rows import ClaimRow, JudgedClaim, claim_rows
from keyhole.papers.report.claim_squares import claim_address
from keyhole.papers.report.deciding_number import format_range
from keyhole.papers.report.judged_entry import JudgedEntry
from keyhole.papers.verdicts import SETUPS, Verdict

_MOST_PROBLEMS: Final = 4


@dataclass(frozen=True)
class UnmetClaim:
    """A statement that does not hold, on one or several problems."""

    row: ClaimRow
    paper: str  # its citation

    @property
    def shown(self) -> JudgedClaim:
        """The verdict whose number is shown."""
        return self.row.worst

    @property
    def setup(self) -> str:
        """Whose set-up it is judged on."""
        return SETUPS[self.row.first.setup]

    @property
    def links(self) -> list[tuple[str, str]]:
        """The address of each verdict, and its problems as the words of the link."""
        verdicts = [one.verdict for one in self.row.judged]
        links = [(claim_address(one), one.about or one.id) for one in verdicts]
        if len(links) <= _MOST_PROBLEMS:
            return links
        left = len(links) - _MOST_PROBLEMS
        return [*links[:_MOST_PROBLEMS], (links[_MOST_PROBLEMS][0], f"{left} more")]

    @property
    def found(self) -> str:
        """The number that decides it; without one, all that was found."""
        number = self.shown.deciding
        if number is None:
            return self.shown.verdict.detail
        return f"{number}, not {format_range(number.at_least, number.at_most)}"

    @property
    def found_of(self) -> str:
        """The name of the number that decides it."""
        return self.shown.deciding.name if self.shown.deciding else ""

    @property
    def runs(self) -> str:
        """The number of runs, and the larger one of the other scale."""
        part, verdict = self.shown.part, self.shown.verdict
        text = f"{verdict.replications:,} runs"
        most = part.entry.scales["paper"].replications
        if part.scale == "paper" or most <= verdict.replications:
            return text
        return f"{text}; {most:,} with --scale paper"


@dataclass(frozen=True)
class UnmetClaims:
    """A heading, and the claims that do not hold."""

    heading: str
    claims: Sequence[UnmetClaim]
    in_brief: bool  # few words for a claim, and its number without a name
    template: ClassVar[str] = "papers/report/templates/unmet_claims.html.j2"


def unmet_claims(
    parts: Sequence[JudgedEntry],
    verdicts: Sequence[Verdict],
    known: Mapping[str, Verdict],
    citations: Mapping[str, str],
) -> list[UnmetClaim]:
    """Return those of some verdicts that do not hold, one for each statement, in order.

    Parameters
    ----------
    parts : sequence of JudgedEntry
        The entries.
    verdicts : sequence of Verdict
        The verdicts that count.
    known : mapping of str to Verdict
        By id, all verdicts.
    citations : mapping of str to str
        By paper, its short citation.
    """
    unmet = {verdict.id for verdict in verdicts if verdict.status == "does not hold"}
    return [
        UnmetClaim(row, citations[part.entry.paper])
        for part in parts
        if (found := [verdict for verdict in part.verdicts if verdict.id in unmet])
        for row in claim_rows(part, found, known, [])
    ]
