"""Claims of papers: how they are judged by simulated results."""

from keyhole.papers.claims.bounds import BOUNDS
from keyhole.papers.claims.claim import Claim
from keyhole.papers.claims.kinds import KINDS
from keyhole.papers.claims.statistics import Cell, Cells, Finding, Result, judge_ranges, number_of

__all__ = [
    "BOUNDS", "KINDS", "Cell", "Cells", "Claim", "Finding", "Result", "judge_ranges", "number_of",
]  # fmt: skip
