"""What a page says of claims: how many hold, and each with its verdict."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import ClassVar, get_args

from keyhole.papers.repeated_claims import RepeatedClaim
from keyhole.papers.verdicts import (
    SETUPS,
    WORDS,
    Origin,
    Setup,
    Status,
    Verdict,
    verdicts_by_origin,
)
from keyhole.results.html import Table

RULES = (
    "A claim holds, does not hold, or is undecided: too few replications to tell, or a "
    "negative control, a bad policy that should break it, keeps it too. Differences are "
    "paired over common random numbers; intervals are 95 %: Student's t for means, the delta "
    "method for ratios, exact ones for shares of replications. The comparisons of one claim are "
    "adjusted together (Holm, 5 %), those of different claims are not."
)

_ORIGINS = (
    "Whose claims they are: the paper's; the paper's, of experiments of which only the conclusion "
    "could be read, or read from a bound; or ours. And whose set-ups: the paper's; any, of a "
    "statement such as a theorem about every set-up, judged on one of ours; a replica, made by us "
    "after the paper's, which could not be read in full; or ours. What several entries judge "
    "stands here more than once, and counts above by the verdict with the most replications."
)


@dataclass(frozen=True)
class _Verdicts:
    verdicts: Sequence[Verdict]

    def name(self, verdict: Verdict) -> str:
        """Return what a claim is called: by its number, where all are of one entry."""
        entries = {one.id.partition("/")[0] for one in self.verdicts}
        return verdict.id if len(entries) > 1 else verdict.id.partition("/")[2]


@dataclass(frozen=True)
class ClaimsSection(_Verdicts):
    """Claims with their verdicts; one that is made of several problems stands once."""

    others: Mapping[str, RepeatedClaim] = field(
        default_factory=dict
    )  # by id, those that judge the same
    largest: Mapping[str, int] = field(default_factory=dict)  # by entry, replications at most
    template: ClassVar[str] = "papers/templates/claims.html.j2"

    @property
    def groups(self) -> list[list[Verdict]]:
        """The verdicts by claim, in the order of the first of each."""
        groups: dict[tuple[str, str], list[Verdict]] = {}
        for verdict in self.verdicts:
            groups.setdefault((verdict.text, verdict.cited), []).append(verdict)
        return list(groups.values())

    def setup(self, verdict: Verdict) -> str:
        """Return whose set-up a claim is judged on, in a few words."""
        return SETUPS[verdict.setup]

    def more(self, verdict: Verdict) -> str:
        """Return about how many replications would decide it, if it is undecided."""
        if verdict.needed is None:
            return ""
        entry = verdict.id.partition("/")[0]
        about = float(f"{verdict.needed:.2g}")  # two digits of an estimate
        text = (
            f"About {about:,.0f} replications would decide it, if the numbers stay where "
            f"they are; there were {verdict.replications:,}"
        )
        if verdict.replications < (most := self.largest.get(entry, 0)):
            text += f", and there are {most:,} with --scale paper"
        return f"{text}."

    def same(self, verdict: Verdict) -> list[tuple[str, str, str]]:
        """Return who judges the same: an id, its address or nothing, and what is said of it."""
        return [
            (other, self.others[other].address, self.others[other].says(verdict))
            for other in verdict.same_as
            if other in self.others
        ]


@dataclass(frozen=True)
class ClaimGroup:
    """Claims of one kind."""

    words: str  # how many, and whose
    verdicts: Sequence[Verdict]

    @property
    def counts(self) -> list[tuple[Status, str, int]]:
        """By status, what is said of the claims that have it, and how many they are."""
        found = [verdict.status for verdict in self.verdicts]
        return [(status, words, found.count(status)) for status, words in WORDS.items()]

    @property
    def not_held(self) -> list[tuple[str, list[Verdict]]]:
        """What is said of the claims that do not hold, or are undecided, and which."""
        listed = list[tuple[str, list[Verdict]]]()
        for status in ("does not hold", "undecided"):
            found = [verdict for verdict in self.verdicts if verdict.status == status]
            if found:
                listed.append((f"{len(found)} {WORDS[status]}", found))
        return listed


@dataclass(frozen=True)
class ClaimsSummary(_Verdicts):
    """The lines on top of a page: what became of all claims, by whose they are."""

    before: str = ""
    file: str = ""  # with all their numbers
    front: str = ""  # the page about all entries
    template: ClassVar[str] = "papers/templates/summary.html.j2"

    @property
    def groups(self) -> list[ClaimGroup]:
        """The claims by whose they are: the papers' on set-ups of theirs, on ours, and our own."""
        return [ClaimGroup(words, found) for words, found in verdicts_by_origin(self.verdicts)]


def by_origin(verdicts: Sequence[Verdict]) -> Table:
    """Return what became of claims, by who makes them, and whose set-up it is."""
    rows = []
    for origin, setup in product(get_args(Origin), get_args(Setup)):
        found = [v.status for v in verdicts if (v.origin, v.setup) == (origin, setup)]
        if found:
            rows.append([origin, setup, *map(str, (len(found), *map(found.count, WORDS)))])
    return Table(_ORIGINS, ["claim", "set-up", "claims", *WORDS.values()], rows)
