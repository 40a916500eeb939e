"""Laws of what is drawn: rewards, delays, levels, joint laws of reward and consumption.

A law is numbers, a kernel that draws with them, and what is known of it exactly. Rooms take laws
wherever they take means; those of SciPy, and your own, too.
"""

from keyhole.laws.law import Law, Number
from keyhole.laws.replay import Replay
from keyhole.laws.rewards import Bernoulli, Beta, TruncatedNormal
from keyhole.laws.sampler import Sampler
from keyhole.laws.tables import Tabulated

__all__ = [
    "Bernoulli",
    "Beta",
    "Law",
    "Number",
    "Replay",
    "Sampler",
    "Tabulated",
    "TruncatedNormal",
]
