"""Table of all kinds of claims, by the `kind` of an entry's file."""

from typing import Annotated, Final, get_args

from pydantic import Field

from keyhole.papers.claims.advantage import Advantage
from keyhole.papers.claims.base import Claim
from keyhole.papers.claims.bounds import AboveBound, BelowBound
from keyhole.papers.claims.equivalent import Equivalent
from keyhole.papers.claims.estimate_claim import EstimateClaim
from keyhole.papers.claims.identical import Identical
from keyhole.papers.claims.linear_fit import Linear
from keyhole.papers.claims.order import NotBetter, Ordering, Reversal
from keyhole.papers.claims.potential import Potential
from keyhole.papers.claims.power_law import Power
from keyhole.papers.claims.problem_numbers import Computed, ComputedOrder
from keyhole.papers.claims.spread import Spread
from keyhole.papers.claims.trends import Across, Flat
from keyhole.papers.claims.two_problems import Contrast, OtherBest
from keyhole.papers.claims.unbeaten import Unbeaten
from keyhole.papers.claims.worst_case import WorstPower

_Kinds = (
    Ordering
    | NotBetter
    | Unbeaten
    | Reversal
    | OtherBest
    | Contrast
    | Across
    | Flat
    | Advantage
    | EstimateClaim
    | Power
    | WorstPower
    | Equivalent
    | Spread
    | Identical
    | BelowBound
    | AboveBound
    | Linear
    | Potential
    | Computed
    | ComputedOrder
)
AnyClaim = Annotated[_Kinds, Field(discriminator="kind")]

KINDS: Final[dict[str, type[Claim]]] = {
    get_args(cls.model_fields["kind"].annotation)[0]: cls for cls in get_args(_Kinds)
}
"""Every kind, by its word."""
