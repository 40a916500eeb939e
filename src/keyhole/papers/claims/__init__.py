"""Kinds of claims: statements of a paper, which simulated results confirm, refute, or leave open."""

from keyhole.papers.claims.base import Claim, Finding, ProblemClaim, Result
from keyhole.papers.claims.better_policy import NotBetter, PolicyOrdering
from keyhole.papers.claims.bound_registry import BOUNDS, Bound
from keyhole.papers.claims.bounds import Bounded
from keyhole.papers.claims.cells import Cell, Cells
from keyhole.papers.claims.claimed_ranges import is_inside
from keyhole.papers.claims.computed_claim import ComputedClaim, computed_claim
from keyhole.papers.claims.estimate_claim import EstimateClaim
from keyhole.papers.claims.kinds import KINDS
from keyhole.papers.claims.paired_comparisons import LEVEL, Comparison, comparisons, holm
from keyhole.papers.claims.power_law import PowerGrowth
from keyhole.papers.claims.ratio_estimates import ratio_of
from keyhole.papers.claims.trends import Trend
from keyhole.papers.claims.verdict_numbers import number_of

__all__ = [
    "BOUNDS",
    "KINDS",
    "LEVEL",
    "Bound",
    "Bounded",
    "Cell",
    "Cells",
    "Claim",
    "Comparison",
    "ComputedClaim",
    "EstimateClaim",
    "Finding",
    "NotBetter",
    "PolicyOrdering",
    "PowerGrowth",
    "ProblemClaim",
    "Result",
    "Trend",
    "comparisons",
    "computed_claim",
    "holm",
    "is_inside",
    "number_of",
    "ratio_of",
]
