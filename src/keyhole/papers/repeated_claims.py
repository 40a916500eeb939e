"""Claims that several entries judge: which they are, and which has the most replications."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from keyhole.papers.entry import Entry
from keyhole.papers.verdicts import Status, Verdict


@dataclass(frozen=True)
class RepeatedClaim:
    """A claim of another entry, as far as it is known where it is named."""

    replications: int
    status: Status | None = None  # None where it has not been judged
    address: str = ""  # of its verdict, if there is a page

    def says(self, verdict: Verdict) -> str:
        """Return how many replications it has beside a verdict on the same, and its own."""
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
    """Return by id the claims of other entries that judge the same as some verdicts.

    Parameters
    ----------
    verdicts : sequence of Verdict
        On what claims.
    scale : str
        At which the entries of the others are run, if they are.
    found : mapping of str to Verdict
        By id, all that stand on the same page.
    pages : str
        Where the reports of all entries lie, each in a folder of its name; nothing if nowhere.
    """
    others = dict[str, RepeatedClaim]()
    for one in dict.fromkeys(other for verdict in verdicts for other in verdict.same_as):
        if one in found:
            others[one] = RepeatedClaim(found[one].replications, found[one].status, f"#{one}")
        else:
            entry = Entry.load(one.partition("/")[0])
            address = f"{pages}{entry.name}/report.html#{one}" if pages else ""
            others[one] = RepeatedClaim(entry.scales[scale].replications, None, address)
    return others
