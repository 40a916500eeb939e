"""What a page says of claims: how many hold, and each with its verdict."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, get_args

from keyhole.papers.verdicts import WORDS, Origin, Status, Verdict
from keyhole.results.html import Table

RULES = (
    "A claim holds, does not hold, or is undecided: too few replications to tell, or a witness, a "
    "bad policy that should break it, keeps it too. Differences are "
    "paired over common random numbers; intervals are 95 %: Student's t for means, the delta "
    "method for ratios, exact ones for shares of replications. The comparisons of one claim are "
    "adjusted together (Holm, 5 %), those of different claims are not."
)

_ORIGINS = (
    "By whom claims are made: the paper; the paper, of experiments of which only the conclusion "
    "could be read, or as a bound; our replica, of a set-up of the paper that could not be read "
    "in full; or we, of what is not in the paper."
)


@dataclass(frozen=True)
class _Verdicts:
    verdicts: Sequence[Verdict]

    def name(self, verdict: Verdict) -> str:
        """Return what a claim is called: by its number, where all are of one entry."""
        entries = {one.id.partition("/")[0] for one in self.verdicts}
        return verdict.id if len(entries) > 1 else verdict.id.partition("/")[2]


@dataclass(frozen=True)
class Claims(_Verdicts):
    """Claims with their verdicts; one that is made of several problems stands once."""

    template: ClassVar[str] = "papers/templates/claims.html.j2"

    @property
    def groups(self) -> list[list[Verdict]]:
        """The verdicts by claim, in the order of the first of each."""
        groups: dict[tuple[str, str], list[Verdict]] = {}
        for verdict in self.verdicts:
            groups.setdefault((verdict.text, verdict.cited), []).append(verdict)
        return list(groups.values())


@dataclass(frozen=True)
class Summary(_Verdicts):
    """The line on top of a page: what became of all claims."""

    before: str = ""
    file: str = ""  # with all their numbers
    front: str = ""  # the page about all entries
    template: ClassVar[str] = "papers/templates/summary.html.j2"

    @property
    def counts(self) -> list[tuple[Status, str, list[Verdict]]]:
        """By status, what is said of the claims that have it, and which they are."""
        return [
            (status, words, [v for v in self.verdicts if v.status == status])
            for status, words in WORDS.items()
        ]

    @property
    def not_held(self) -> list[tuple[str, dict[str, list[Verdict]]]]:
        """What is said of the claims that do not hold, or are undecided, and which, by entry."""
        listed = list[tuple[str, dict[str, list[Verdict]]]]()
        for status, words, verdicts in self.counts:
            entries: dict[str, list[Verdict]] = {}
            for verdict in verdicts if status != "holds" else ():
                entries.setdefault(verdict.id.partition("/")[0], []).append(verdict)
            if entries:
                listed.append((f"{len(verdicts)} {words}", entries))
        return listed


def by_origin(verdicts: Sequence[Verdict]) -> Table:
    """Return what became of claims, by who makes them."""
    rows = []
    for origin in get_args(Origin):
        found = [verdict.status for verdict in verdicts if verdict.origin == origin]
        if found:
            rows.append([origin, *map(str, (len(found), *map(found.count, WORDS)))])
    return Table(_ORIGINS, ["origin", "claims", *WORDS.values()], rows)
