"""Claims of papers: how they are judged by simulated results."""

from keyhole.papers.claims.base import (
    LEVEL,
    Cell,
    Cells,
    Comparison,
    Finding,
    Result,
    comparisons,
    holm,
    is_inside,
    number_of,
    ratio_of,
)
from keyhole.papers.claims.bounds import BOUNDS, Bound
from keyhole.papers.claims.claim import Claim, ControlledClaim
from keyhole.papers.claims.kinds import KINDS, find_claim_class

__all__ = [
    "BOUNDS",
    "KINDS",
    "LEVEL",
    "Bound",
    "Cell",
    "Cells",
    "Claim",
    "Comparison",
    "ControlledClaim",
    "Finding",
    "Result",
    "comparisons",
    "find_claim_class",
    "holm",
    "is_inside",
    "number_of",
    "ratio_of",
]
