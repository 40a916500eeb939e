"""What became of a claim: the verdict, the text behind it, and its numbers."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

from keyhole.results.estimate import written

Status = Literal["holds", "does not hold", "undecided"]

Origin = Literal["paper", "paper, conclusion only", "paper, as a bound", "our replica", "ours"]
"""Who says so: the paper; the paper, of experiments of which only the conclusion could be read;
our own reference simulation of its set-up; or we, of set-ups that are not the paper's."""


@dataclass(frozen=True)
class Number:
    """A number that a verdict rests on, with its 95 % interval and what is claimed of it.

    Ends that are open or unknown are infinite. What is known exactly, such as a count, is both
    ends of its own interval.
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

    def __str__(self) -> str:
        """Return the number with its interval, in as many digits as that is good for."""
        reach = (self.high - self.low) / 2
        if reach == 0.0:
            return written(self.value)
        if math.isinf(reach):  # the end that is known says how good it is
            reach = min(self.high - self.value, self.value - self.low)
        one, low, high = (written(x, reach) for x in (self.value, self.low, self.high))
        return f"{one} [{low}, {high}]"


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """A claim, and what the results say of it."""

    text: str  # what is claimed
    source: str  # where
    origin: Origin  # by whom
    status: Status
    detail: str  # what was found, in words
    numbers: tuple[Number, ...] = ()  # what decides it
    about: str = ""  # of which problems and policy
    reading: str = ""  # how the words were made into numbers
    metric: str = ""
    kind: str = ""  # how it is judged
    id: str = ""  # the entry's name and the claim's place in it, from 1: "tao2019-setup1/3"

    @property
    def claim(self) -> str:
        """What is claimed, and of what."""
        return f"{self.about}: {self.text}" if self.about else self.text

    @property
    def cited(self) -> str:
        """By whom, where, and as what it was read."""
        cited = f"{self.origin}: {self.source}"
        return f"{cited} Read as: {self.reading}" if self.reading else cited


WORDS: Final[dict[Status, str]] = {
    "holds": "hold",
    "undecided": "undecided",
    "does not hold": "do not hold",
}
"""What is said of several claims."""


def counts_line(verdicts: Sequence[Verdict]) -> str:
    """Return how many claims hold, are undecided, and do not hold."""
    found = [verdict.status for verdict in verdicts]
    return ", ".join(f"{found.count(status)} {words}" for status, words in WORDS.items())
