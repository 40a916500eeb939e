"""Kinds of claims, each judged by results: it holds, does not hold, or is undecided."""

from keyhole.papers.claims.advantage import Advantage
from keyhole.papers.claims.base import Claim, Finding, ProblemClaim, Result
from keyhole.papers.claims.bounds import AboveBound, BelowBound, Bounded
from keyhole.papers.claims.cells import Cell
from keyhole.papers.claims.claim_parser import check_claim, read_claims
from keyhole.papers.claims.equivalent import Equivalent
from keyhole.papers.claims.estimate_claim import EstimateClaim
from keyhole.papers.claims.identical import Identical
from keyhole.papers.claims.kinds import KINDS, AnyClaim
from keyhole.papers.claims.linear_fit import Linear
from keyhole.papers.claims.order import NotBetter, Ordering, Reversal
from keyhole.papers.claims.power_law import Power
from keyhole.papers.claims.problem_numbers import NUMBERS, Computed, ComputedOrder
from keyhole.papers.claims.ranges import is_inside
from keyhole.papers.claims.ratio_estimates import ratio_of
from keyhole.papers.claims.registry import BOUNDS, Bound
from keyhole.papers.claims.significance import LEVEL, Comparison, comparisons, holm
from keyhole.papers.claims.spread import Spread
from keyhole.papers.claims.trends import Across, Flat
from keyhole.papers.claims.two_problems import Contrast, OtherBest, ProblemRound
from keyhole.papers.claims.unbeaten import Unbeaten
from keyhole.papers.claims.worst_case import WorstPower

__all__ = [
    "BOUNDS",
    "KINDS",
    "LEVEL",
    "NUMBERS",
    "AboveBound",
    "Across",
    "Advantage",
    "AnyClaim",
    "BelowBound",
    "Bound",
    "Bounded",
    "Cell",
    "Claim",
    "Comparison",
    "Computed",
    "ComputedOrder",
    "Contrast",
    "Equivalent",
    "EstimateClaim",
    "Finding",
    "Flat",
    "Identical",
    "Linear",
    "NotBetter",
    "Ordering",
    "OtherBest",
    "Power",
    "ProblemClaim",
    "ProblemRound",
    "Result",
    "Reversal",
    "Spread",
    "Unbeaten",
    "WorstPower",
    "check_claim",
    "comparisons",
    "holm",
    "is_inside",
    "ratio_of",
    "read_claims",
]
