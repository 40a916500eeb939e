"""Claims of a paper, each judged by the results: holds, does not hold, or undecided."""

from keyhole.papers.claims.across import Across, Flat
from keyhole.papers.claims.advantage import Advantage
from keyhole.papers.claims.base import Claim, Finding, Result, Single
from keyhole.papers.claims.bounds import AboveBound, BelowBound, Bounded
from keyhole.papers.claims.cells import Cell
from keyhole.papers.claims.computed import NUMBERS, Computed, ComputedOrder
from keyhole.papers.claims.elsewhere import Contrast, OtherBest, Place
from keyhole.papers.claims.equivalent import Equivalent
from keyhole.papers.claims.estimate import inside, ratio_of
from keyhole.papers.claims.gain_ratio import GainRatio
from keyhole.papers.claims.increments import Increment, Slope
from keyhole.papers.claims.kinds import KINDS, AnyClaim
from keyhole.papers.claims.order import NotBetter, Ordering, Reversal
from keyhole.papers.claims.power import Power
from keyhole.papers.claims.ranges import Between, Counts, Excess, Growth, Ratio
from keyhole.papers.claims.reading import check_claim, read_claims
from keyhole.papers.claims.registry import BOUNDS, Bound
from keyhole.papers.claims.shape import Linear
from keyhole.papers.claims.significance import LEVEL, Comparison, comparisons, holm
from keyhole.papers.claims.size import AxisEnd, Exactly, Level, Spread
from keyhole.papers.claims.unbeaten import Unbeaten
from keyhole.papers.claims.variation import Deviations, Identical
from keyhole.papers.claims.worst import WorstPower

__all__ = [
    "BOUNDS",
    "KINDS",
    "LEVEL",
    "NUMBERS",
    "AboveBound",
    "Across",
    "Advantage",
    "AnyClaim",
    "AxisEnd",
    "BelowBound",
    "Between",
    "Bound",
    "Bounded",
    "Cell",
    "Claim",
    "Comparison",
    "Computed",
    "ComputedOrder",
    "Contrast",
    "Counts",
    "Deviations",
    "Equivalent",
    "Exactly",
    "Excess",
    "Finding",
    "Flat",
    "GainRatio",
    "Growth",
    "Identical",
    "Increment",
    "Level",
    "Linear",
    "NotBetter",
    "Ordering",
    "OtherBest",
    "Place",
    "Power",
    "Ratio",
    "Result",
    "Reversal",
    "Single",
    "Slope",
    "Spread",
    "Unbeaten",
    "WorstPower",
    "check_claim",
    "comparisons",
    "holm",
    "inside",
    "ratio_of",
    "read_claims",
]
