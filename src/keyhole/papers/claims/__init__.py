"""Kinds of claims: statements of a paper, which simulated results confirm, refute, or leave open.

Every class in `KINDS` can be imported from here.
"""

from keyhole.papers.claims.base import Claim, Finding, ProblemClaim, Result
from keyhole.papers.claims.bound_registry import BOUNDS, Bound
from keyhole.papers.claims.bounds import Bounded
from keyhole.papers.claims.cells import Cell
from keyhole.papers.claims.claimed_ranges import is_inside
from keyhole.papers.claims.kinds import KINDS
from keyhole.papers.claims.paired_comparisons import LEVEL, Comparison, comparisons, holm
from keyhole.papers.claims.problem_numbers import NUMBERS
from keyhole.papers.claims.ratio_estimates import ratio_of

__all__ = [
    "BOUNDS",
    "KINDS",
    "LEVEL",
    "NUMBERS",
    "Bound",
    "Bounded",
    "Cell",
    "Claim",
    "Comparison",
    "Finding",
    "ProblemClaim",
    "Result",
    "comparisons",
    "holm",
    "is_inside",
    "ratio_of",
]


# Classes are found through `KINDS`, so that a new kind is one more file and no further entry.
def __getattr__(name: str) -> type[Claim]:
    for cls in KINDS.values():
        if cls.__name__ == name:
            return cls
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *(cls.__name__ for cls in KINDS.values())})
