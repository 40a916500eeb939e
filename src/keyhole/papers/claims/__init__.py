"""Claims of a paper, each judged by the results: holds, does not hold, or undecided."""

from keyhole.papers.claims.base import Claim, Finding, Origin, Result
from keyhole.papers.claims.kinds import AnyClaim
from keyhole.papers.claims.order import NotBetter, Ordering, Reversal
from keyhole.papers.claims.significance import LEVEL, Comparison, comparisons, holm
from keyhole.papers.claims.size import AxisEnd, Exactly, Level, Spread

__all__ = [
    "LEVEL",
    "AnyClaim",
    "AxisEnd",
    "Claim",
    "Comparison",
    "Exactly",
    "Finding",
    "Level",
    "NotBetter",
    "Ordering",
    "Origin",
    "Result",
    "Reversal",
    "Spread",
    "comparisons",
    "holm",
]
