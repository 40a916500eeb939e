"""Verdicts on claims, which hold, do not hold or are undecided, with the numbers behind them."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from keyhole.results.estimate import format_estimate

Status = Literal["holds", "does not hold", "undecided"]

Origin = Literal["paper", "paper, conclusion only", "paper, as a bound", "ours"]
"""Who makes a claim: the paper or Keyhole. A claim of the paper is "conclusion only" if we had only
the conclusion of the paper's experiment, and "as a bound" if it follows from a bound."""

Setup = Literal["paper", "any", "replica", "ours"]
"""The set-up on which a claim is judged: the paper's; any, if the claim is about all set-ups; a
replica, where parts of the paper's set-up were missing or its data are replaced; or ours."""

SETUPS: Final[dict[Setup, str]] = {
    "paper": "the paper's set-up",
    "any": "of any set-up",
    "replica": "our replica",
    "ours": "our set-up",
}
"""Short words for each set-up."""


@dataclass(frozen=True)
class Number:
    """A number that a verdict rests on, with its 95 % interval and its claimed range.

    Ends that are open or unknown are infinite. Where a number is known exactly, as a count is, both
    ends of its interval are equal to it.
    """

    name: str
    value: float
    low: float = -math.inf
    high: float = math.inf
    # two-sided, of the hypothesis that two policies are equal, or that the number lies in its
    # claimed range; not adjusted for other numbers, unlike the status of most claims (Holm)
    p_value: float | None = None
    at_least: float = -math.inf
    at_most: float = math.inf

    @property
    def is_ranged(self) -> bool:
        """Whether the number has a claimed range."""
        return math.isfinite(self.at_least) or math.isfinite(self.at_most)

    @property
    def half_width(self) -> float:
        """Half of the interval's width; if one end is open, the value's distance to the other."""
        half_width = (self.high - self.low) / 2
        if math.isfinite(half_width):
            return half_width
        return min(self.high - self.value, self.value - self.low)

    @property
    def margin(self) -> float:
        """The distance to the nearer end of the range in half-widths; negative outside the range.

        It is 0 if the half-width is infinite.
        """
        distance = min(self.value - self.at_least, self.at_most - self.value)
        if self.half_width == math.inf:
            return 0.0
        if self.half_width > 0:
            return distance / self.half_width
        # An exact number has no half-width: its distance is divided by the larger end of the range,
        # or by 1 if that is larger.
        ends = [abs(end) for end in (self.at_least, self.at_most) if math.isfinite(end)]
        return distance / max(1.0, *ends)

    def __str__(self) -> str:
        """Return the number with its interval, in as many digits as the interval justifies."""
        if self.high - self.low == 0.0:
            return format_estimate(self.value)
        value, low, high = (
            format_estimate(x, self.half_width) for x in (self.value, self.low, self.high)
        )
        return f"{value} [{low}, {high}]"


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """A claim with its status, and the explanation and numbers behind it."""

    text: str  # the claim
    short: str = ""  # the claim in few words; empty if the text itself has few words
    source: str  # the place where it is claimed, such as a section of the paper
    origin: Origin  # who makes the claim
    setup: Setup = "ours"  # the set-up on which it is judged
    status: Status
    detail: str  # the findings, in words
    numbers: tuple[Number, ...] = ()  # the numbers that decide the status
    about: str = ""  # the problems and the policy that the claim is about
    reading: str = ""  # how the words of the claim were translated into numbers
    metric: str = ""
    kind: str = ""  # how it is judged: "estimate: mean"
    id: str = ""  # the entry's name and the claim's place in it, from 1: "tao2019-setup1/3"
    same_as: tuple[str, ...] = ()  # ids of claims in which other entries judge the same statement
    replications: int = 0  # replications of the results
    # about how many replications would decide the claim; None if it is decided, or if unknown
    needed: int | None = None

    @property
    def headline(self) -> str:
        """The short form of the claim if it has one, else its text."""
        return self.short or self.text

    @property
    def is_on_papers_setup(self) -> bool:
        """Whether the claim is judged on the paper's set-up, or is about any set-up."""
        return self.setup in ("paper", "any")

    @property
    def claim(self) -> str:
        """The claim with the problems and the policy that it is about."""
        return f"{self.about}: {self.text}" if self.about else self.text

    @property
    def citation(self) -> str:
        """The origin, set-up, source and reading of the claim."""
        text = f"{self.origin}; {SETUPS[self.setup]}: {self.source}"
        if self.reading:
            text += f" Read as: {self.reading}"
        return text


VERBS: Final[dict[Status, tuple[str, str]]] = {
    "holds": ("holds", "hold"),
    "undecided": ("is open", "are open"),
    "does not hold": ("does not hold", "do not hold"),
}
"""Words for one claim of a status, and for several."""


def format_counts(verdicts: Sequence[Verdict]) -> str:
    """Return how many claims hold, are open, and do not hold: "4 hold, 1 is open"."""
    statuses = [verdict.status for verdict in verdicts]
    numbers = {status: statuses.count(status) for status in VERBS}
    return ", ".join(f"{n} {VERBS[status][n != 1]}" for status, n in numbers.items() if n)


def split_by_setup(verdicts: Sequence[Verdict]) -> tuple[list[Verdict], list[Verdict]]:
    """Return the verdicts on the paper's or any set-up, and those on set-ups of ours."""
    on_papers_setup = [verdict for verdict in verdicts if verdict.is_on_papers_setup]
    return on_papers_setup, [verdict for verdict in verdicts if not verdict.is_on_papers_setup]


def split_by_origin(
    verdicts: Sequence[Verdict],
) -> tuple[list[Verdict], list[Verdict], list[Verdict]]:
    """Return three groups: papers' claims on their set-ups, papers' claims on ours, and our claims.

    Each statement counts once (`keep_one_per_statement`).
    """
    deciding = keep_one_per_statement(verdicts)
    papers = split_by_setup([verdict for verdict in deciding if verdict.origin != "ours"])
    return *papers, [verdict for verdict in deciding if verdict.origin == "ours"]


def deciding_verdict(verdict: Verdict, all_verdicts: Mapping[str, Verdict]) -> Verdict:
    """Return the verdict with the most replications on a statement, which decides it.

    Parameters
    ----------
    verdict : Verdict
        A verdict on the statement.
    all_verdicts : mapping of str to Verdict
        Verdicts by id; some of them may be on the same statement.
    """
    others = [all_verdicts[claim_id] for claim_id in verdict.same_as if claim_id in all_verdicts]
    # If several have the most replications, the least id decides, whichever of them is `verdict`.
    return min([verdict, *others], key=lambda candidate: (-candidate.replications, candidate.id))


def deciding_verdicts(verdicts: Sequence[Verdict]) -> dict[str, Verdict]:
    """Return, by the id of each verdict, the verdict that decides its statement (maybe itself)."""
    by_id = {verdict.id: verdict for verdict in verdicts}
    return {verdict.id: deciding_verdict(verdict, by_id) for verdict in verdicts}


def keep_one_per_statement(verdicts: Sequence[Verdict]) -> list[Verdict]:
    """Return only the verdicts that decide their statements."""
    deciding = deciding_verdicts(verdicts)
    return [verdict for verdict in verdicts if deciding[verdict.id].id == verdict.id]
