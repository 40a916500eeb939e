"""Claims of papers: how they are judged by simulated results."""

from keyhole.papers.claims.base import Cell, Cells, Finding, Result
from keyhole.papers.claims.bounds import BOUNDS, Bound
from keyhole.papers.claims.claim import Claim, ControlledClaim
from keyhole.papers.claims.claimed_ranges import is_inside
from keyhole.papers.claims.kinds import KINDS, find_claim_class
from keyhole.papers.claims.paired_comparisons import LEVEL, Comparison, comparisons, holm
from keyhole.papers.claims.ratio_estimates import ratio_of
from keyhole.papers.claims.verdict_numbers import number_of

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
