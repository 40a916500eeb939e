"""Claims that several entries judge: links between them, with their numbers of replications."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from keyhole.papers.entry import Entry
from keyhole.papers.verdicts import Status, Verdict


@dataclass(frozen=True)
class RepeatedClaim:
    """A claim of another entry that judges the same statement."""

    replications: int
    status: Status | None = None  # None where it has not been judged
    address: str = ""  # link to its verdict, if there is a page

    def format_comparison(self, verdict: Verdict) -> str:
        """Return its replications, compared with those of a verdict on the same, and its status."""
        runs = f"{self.replications:,} replications"
        if self.replications == verdict.replications:
            runs += ", as many as here"
        else:
            runs += ", more" if self.replications > verdict.replications else ", fewer"
            runs += f" than the {verdict.replications:,} here"
        return f"{runs}; {self.status}" if self.status else runs


def repeated_verdicts(
    verdicts: Sequence[Verdict], scale: str, found: Mapping[str, Verdict], pages: str = ""
) -> dict[str, RepeatedClaim]:
    """Return by id the claims of other entries that judge the same statements as verdicts.

    Parameters
    ----------
    verdicts : sequence of Verdict
        The verdicts of the page.
    scale : str
        The scale at which the other entries are run, if they are.
    found : mapping of str to Verdict
        By id, all verdicts on the same page.
    pages : str
        Path to the folder of all reports, each in a folder of its own; empty if there is none.
    """
    others = dict[str, RepeatedClaim]()
    for one in dict.fromkeys(other for verdict in verdicts for other in verdict.same_as):
        if one in found:
            others[one] = RepeatedClaim(found[one].replications, found[one].status, f"#{one}")
        else:
            # That entry is not on the page: its scale says how many replications it has, or would
            # have.
            entry = Entry.load(one.partition("/")[0])
            address = f"{pages}{entry.name}/report.html#{one}" if pages else ""
            others[one] = RepeatedClaim(entry.scales[scale].replications, None, address)
    return others
