"""Claims of a paper, each judged by the results: holds, does not hold, or undecided."""

from keyhole.papers.claims.across import Across, Flat
from keyhole.papers.claims.base import Claim, Finding, Origin, Result, Single
from keyhole.papers.claims.bounds import BOUNDS, AboveBound, BelowBound, Bound
from keyhole.papers.claims.cells import Cell
from keyhole.papers.claims.estimate import Estimate, inside, mean_of, ratio_of
from keyhole.papers.claims.kinds import KINDS, AnyClaim
from keyhole.papers.claims.order import NotBetter, Ordering, Reversal
from keyhole.papers.claims.ranges import Between, Counts, Growth, Ratio, exact_interval
from keyhole.papers.claims.reading import read_claims
from keyhole.papers.claims.shape import Linear
from keyhole.papers.claims.significance import LEVEL, Comparison, comparisons, holm
from keyhole.papers.claims.size import AxisEnd, Exactly, Level, Spread

__all__ = [
    "BOUNDS",
    "KINDS",
    "LEVEL",
    "AboveBound",
    "Across",
    "AnyClaim",
    "AxisEnd",
    "BelowBound",
    "Between",
    "Bound",
    "Cell",
    "Claim",
    "Comparison",
    "Counts",
    "Estimate",
    "Exactly",
    "Finding",
    "Flat",
    "Growth",
    "Level",
    "Linear",
    "NotBetter",
    "Ordering",
    "Origin",
    "Ratio",
    "Result",
    "Reversal",
    "Single",
    "Spread",
    "comparisons",
    "exact_interval",
    "holm",
    "inside",
    "mean_of",
    "ratio_of",
    "read_claims",
]
