"""All kinds of claims, told apart by the word `kind` of an entry's file."""

from typing import Annotated

from pydantic import Field

from keyhole.papers.claims.order import NotBetter, Ordering, Reversal
from keyhole.papers.claims.size import AxisEnd, Exactly, Level, Spread

AnyClaim = Annotated[
    Ordering | NotBetter | Reversal | Level | AxisEnd | Spread | Exactly,
    Field(discriminator="kind"),
]
