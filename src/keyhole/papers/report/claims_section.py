"""Report sections on claims: how many hold, and the verdict on each."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import ClassVar, get_args

from keyhole.pages.table import Table
from keyhole.papers.report.shared_claims import RepeatedClaim
from keyhole.papers.verdicts import (
    SETUPS,
    WORDS,
    Origin,
    Setup,
    Status,
    Verdict,
    verdicts_by_origin,
)

_ORIGINS = (
    "Whose claims they are: the paper's; the paper's, of experiments of which only the conclusion "
    "could be read, or read from a bound; or ours. And whose set-ups: the paper's; any, of a "
    "statement such as a theorem about every set-up, judged on one of ours; a replica, made by us "
    "after the paper's, which could not be read in full; or ours. A claim that several "
    "entries judge is listed once for each, and counted by the verdict with the most replications."
)


@dataclass(frozen=True)
class _Verdicts:
    verdicts: Sequence[Verdict]

    def name(self, verdict: Verdict) -> str:
        """Return the id of a claim, or its number alone if all are of one entry."""
        entries = {one.id.partition("/")[0] for one in self.verdicts}
        return verdict.id if len(entries) > 1 else verdict.id.partition("/")[2]


@dataclass(frozen=True)
class ClaimsSection(_Verdicts):
    """List of claims with their verdicts; a claim about several problems is listed once."""

    # by id, the claims of other entries that judge the same
    others: Mapping[str, RepeatedClaim] = field(default_factory=dict)
    largest: Mapping[str, int] = field(default_factory=dict)  # by entry, replications at most
    template: ClassVar[str] = "papers/report/templates/claims.html.j2"

    @property
    def groups(self) -> list[list[Verdict]]:
        """The verdicts grouped by claim, in order."""
        groups: dict[tuple[str, str], list[Verdict]] = {}
        for verdict in self.verdicts:
            groups.setdefault((verdict.text, verdict.cited), []).append(verdict)
        return list(groups.values())

    def setup(self, verdict: Verdict) -> str:
        """Return in a few words whose set-up a claim is judged on."""
        return SETUPS[verdict.setup]

    def more(self, verdict: Verdict) -> str:
        """Return the text on the replications that would decide it, if it is undecided."""
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
        """Return the claims that judge the same: id, address or nothing, and text of each."""
        return [
            (other, self.others[other].address, self.others[other].format_comparison(verdict))
            for other in verdict.same_as
            if other in self.others
        ]


@dataclass(frozen=True)
class ClaimGroup:
    """Claims of one origin."""

    words: str  # their number and origin
    verdicts: Sequence[Verdict]

    @property
    def counts(self) -> list[tuple[Status, str, int]]:
        """The number of claims by status, with the words for it."""
        found = [verdict.status for verdict in self.verdicts]
        return [(status, words, found.count(status)) for status, words in WORDS.items()]

    @property
    def not_held(self) -> list[tuple[str, list[Verdict]]]:
        """The claims that do not hold or are undecided, each group with its words."""
        listed = list[tuple[str, list[Verdict]]]()
        for status in ("does not hold", "undecided"):
            found = [verdict for verdict in self.verdicts if verdict.status == status]
            if found:
                listed.append((f"{len(found)} {WORDS[status]}", found))
        return listed


@dataclass(frozen=True)
class ClaimsSummary(_Verdicts):
    """Summary on top of a page: how many claims hold, by origin."""

    before: str = ""
    file: str = ""  # link to the file with all numbers
    front: str = ""  # link to the index page
    template: ClassVar[str] = "papers/report/templates/summary.html.j2"

    @property
    def groups(self) -> list[ClaimGroup]:
        """The claims by origin: the papers' on their set-ups, on ours, and our own."""
        return [ClaimGroup(words, found) for words, found in verdicts_by_origin(self.verdicts)]


def origin_table(verdicts: Sequence[Verdict]) -> Table:
    """Return the table of verdicts by origin and set-up."""
    rows = []
    for origin, setup in product(get_args(Origin), get_args(Setup)):
        found = [v.status for v in verdicts if (v.origin, v.setup) == (origin, setup)]
        if found:
            rows.append([origin, setup, *map(str, (len(found), *map(found.count, WORDS)))])
    return Table(_ORIGINS, ["claim", "set-up", "claims", *WORDS.values()], rows)
