"""Table of all kinds of claims (statements of a paper), by their `kind` in an entry file."""

from typing import Final

from keyhole.papers.claims.base import Claim
from keyhole.papers.claims.better_policy import NotBetter, PolicyOrdering
from keyhole.papers.claims.bounds import Bounded
from keyhole.papers.claims.computed_claim import ComputedClaim
from keyhole.papers.claims.estimate_claim import EstimateClaim
from keyhole.papers.claims.power_law import PowerGrowth
from keyhole.papers.claims.trends import Trend

KINDS: Final[dict[str, type[Claim]]] = {
    "above-bound": Bounded,
    "below-bound": Bounded,
    "computed": ComputedClaim,
    "estimate": EstimateClaim,
    "not-better": NotBetter,
    "ordering": PolicyOrdering,
    "power": PowerGrowth,
    "trend": Trend,
}
"""Every kind of claim."""
