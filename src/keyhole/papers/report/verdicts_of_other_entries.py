"""Verdicts of other reproduced experiments on the same statement of a paper, with links to them."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from keyhole.papers.entry import Entry
from keyhole.papers.verdicts import Status, Verdict


@dataclass(frozen=True)
class SharedVerdict:
    """The verdict of another entry on the same statement, or the command that finds it."""

    id: str
    replications: int
    status: Status | None = None  # None where it has not been judged
    address: str = ""  # link to the verdict, if there is a page
    command: str = ""  # that judges it, if it has not been

    @property
    def text(self) -> str:
        """What was found in how many runs: "in 40,000 runs it does not hold"."""
        if self.status is None:
            return f"{self.replications:,} runs would judge:"
        found = "is open" if self.status == "undecided" else self.status
        return f"in {self.replications:,} runs it {found}"


def shared_verdicts(
    verdict: Verdict, scale: str, known: Mapping[str, Verdict], on_page: Collection[str]
) -> list[SharedVerdict]:
    """Return the verdicts of other entries on the same statement, that with most runs first.

    Parameters
    ----------
    verdict : Verdict
        A verdict on the statement.
    scale : str
        The scale at which the other entries are run, if they are.
    known : mapping of str to Verdict
        By id, all verdicts of this page and of the pages beside it.
    on_page : collection of str
        The entries of this page.
    """
    others = [_shared_verdict(one, scale, known, on_page) for one in verdict.same_as]
    return sorted(others, key=lambda other: -other.replications)


def _shared_verdict(
    id: str, scale: str, known: Mapping[str, Verdict], on_page: Collection[str]
) -> SharedVerdict:
    entry = id.partition("/")[0]
    if id in known:
        address = f"#{id}" if entry in on_page else f"../{entry}/report.html#{id}"
        return SharedVerdict(id, known[id].replications, known[id].status, address)
    # It has not been run: its scale says how many replications it would have.
    replications = Entry.load(entry).scales[scale].replications
    return SharedVerdict(id, replications, command=f"keyhole reproduce {entry} --scale {scale}")
