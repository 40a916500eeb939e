"""Verdict on a claim: it holds, does not hold or is undecided; and the numbers behind it."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from keyhole.results.estimate import format_estimate

Status = Literal["holds", "does not hold", "undecided"]

Origin = Literal["paper", "paper, conclusion only", "paper, as a bound", "ours"]
"""Whose claim it is: the paper's; the paper's, of an experiment of which it gives the conclusion
alone, or read from a bound; or ours."""

Setup = Literal["paper", "any", "replica", "ours"]
"""Whose set-up it is judged on: the paper's; any, of a statement about every set-up, such as a
theorem; a replica of the paper's, which could not be read in full; or ours."""

SETUPS: Final[dict[Setup, str]] = {
    "paper": "the paper's set-up",
    "any": "of any set-up",
    "replica": "our replica",
    "ours": "our set-up",
}
"""Short words for a set-up."""


@dataclass(frozen=True)
class Number:
    """A number that a verdict rests on, with its 95 % interval and what is claimed of it.

    Ends that are open or unknown are infinite. A number that is known exactly, such as a count, is
    both ends of its own interval.
    """

    name: str
    value: float
    low: float = -math.inf
    high: float = math.inf
    # two-sided, of this number alone: against equality of two policies, or against the nearest
    # number that is claimed; verdicts adjust those of one claim together (Holm)
    p_value: float | None = None
    at_least: float = -math.inf  # the range that is claimed of it
    at_most: float = math.inf

    @property
    def is_ranged(self) -> bool:
        """Whether a range is claimed of it."""
        return math.isfinite(self.at_least) or math.isfinite(self.at_most)

    @property
    def margin(self) -> float:
        """The distance to the nearest end of the range in half intervals; negative outside it."""
        distance = min(self.value - self.at_least, self.at_most - self.value)
        reach = (self.high - self.low) / 2
        # An interval that is open on one side is as precise as its other half.
        if not math.isfinite(reach):
            reach = min(self.high - self.value, self.value - self.low)
        if reach == math.inf:
            return 0.0
        if reach > 0:
            return distance / reach
        # A number without error: its distance is measured in units of the ends.
        ends = [abs(end) for end in (self.at_least, self.at_most) if math.isfinite(end)]
        return distance / max(1.0, *ends)

    def __str__(self) -> str:
        """Return the number with its interval, in as many digits as the interval justifies."""
        reach = (self.high - self.low) / 2
        if reach == 0.0:
            return format_estimate(self.value)
        if math.isinf(reach):  # the end that is known says how good it is
            reach = min(self.high - self.value, self.value - self.low)
        value, low, high = (format_estimate(x, reach) for x in (self.value, self.low, self.high))
        return f"{value} [{low}, {high}]"


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """A claim with its status, and the explanation and numbers behind it."""

    text: str  # what is claimed
    short: str = ""  # the same in few words; empty where the text has few
    source: str  # where
    origin: Origin  # whose claim it is
    setup: Setup = "ours"  # whose set-up
    status: Status
    detail: str  # what was found, in words
    numbers: tuple[Number, ...] = ()  # what decides it
    about: str = ""  # of which problems and policy
    reading: str = ""  # how the words were made into numbers
    metric: str = ""
    kind: str = ""  # how it is judged
    id: str = ""  # the entry's name and the claim's place in it, from 1: "tao2019-setup1/3"
    same_as: tuple[str, ...] = ()  # the ids of claims in which other entries judge the same
    replications: int = 0  # of the results
    # about how many replications would decide it, if it is undecided and this can be estimated
    needed: int | None = None

    @property
    def headline(self) -> str:
        """The claim in few words, without problems and policy; its text, if there are no others."""
        return self.short or self.text

    @property
    def is_on_papers_setup(self) -> bool:
        """Whether it is judged on the paper's set-up, or is about any."""
        return self.setup in ("paper", "any")

    @property
    def claim(self) -> str:
        """The claim, with the problems and the policy that it is about."""
        return f"{self.about}: {self.text}" if self.about else self.text

    @property
    def cited(self) -> str:
        """The origin, set-up, source and reading of the claim."""
        cited = f"{self.origin}; {SETUPS[self.setup]}: {self.source}"
        if self.reading:
            cited += f" Read as: {self.reading}"
        return cited


VERBS: Final[dict[Status, tuple[str, str]]] = {
    "holds": ("holds", "hold"),
    "undecided": ("is open", "are open"),
    "does not hold": ("does not hold", "do not hold"),
}
"""Words for one claim of a status, and for several."""


def counts(verdicts: Sequence[Verdict]) -> str:
    """Return how many claims hold, are open, and do not hold: "4 hold, 1 is open"."""
    statuses = [verdict.status for verdict in verdicts]
    numbers = {status: statuses.count(status) for status in VERBS}
    return ", ".join(f"{n} {VERBS[status][n != 1]}" for status, n in numbers.items() if n)


def split_by_setup(verdicts: Sequence[Verdict]) -> tuple[list[Verdict], list[Verdict]]:
    """Return the verdicts on the paper's set-up, or about any, and those on set-ups of ours."""
    theirs = [verdict for verdict in verdicts if verdict.is_on_papers_setup]
    return theirs, [verdict for verdict in verdicts if not verdict.is_on_papers_setup]


def split_by_origin(
    verdicts: Sequence[Verdict],
) -> tuple[list[Verdict], list[Verdict], list[Verdict]]:
    """Return the papers' claims on their set-ups, those on set-ups of ours, and our own.

    Each statement counts once (`one_per_statement`).
    """
    each = one_per_statement(verdicts)
    theirs = split_by_setup([verdict for verdict in each if verdict.origin != "ours"])
    return *theirs, [verdict for verdict in each if verdict.origin == "ours"]


def deciding_verdict(verdict: Verdict, all_verdicts: Mapping[str, Verdict]) -> Verdict:
    """Return the verdict that decides a statement: that with the most replications.

    Parameters
    ----------
    verdict : Verdict
        A verdict on the statement.
    all_verdicts : mapping of str to Verdict
        By id, the verdicts among which those of `same_as` are looked up.
    """
    others = [all_verdicts[claim_id] for claim_id in verdict.same_as if claim_id in all_verdicts]
    # Of equally many replications, the least id: the same one for all verdicts on the statement.
    return min([verdict, *others], key=lambda candidate: (-candidate.replications, candidate.id))


def deciding_verdicts(verdicts: Sequence[Verdict]) -> dict[str, Verdict]:
    """Return for each verdict, by its id, the one among all that decides its statement."""
    by_id = {verdict.id: verdict for verdict in verdicts}
    return {verdict.id: deciding_verdict(verdict, by_id) for verdict in verdicts}


def one_per_statement(verdicts: Sequence[Verdict]) -> list[Verdict]:
    """Return one verdict for each statement: the one that decides it."""
    deciding = deciding_verdicts(verdicts)
    return [verdict for verdict in verdicts if deciding[verdict.id].id == verdict.id]
