"""Laws of what is drawn: rewards, delays, levels, joint laws of reward and consumption.

A law is numbers, a kernel that draws with them, and what is known of it exactly. Rooms take laws
wherever they take means; those of SciPy, and your own, too.
"""

from keyhole.distributions.custom_distribution import CustomDistribution
from keyhole.distributions.distribution import Distribution, Number
from keyhole.distributions.replay import Replay
from keyhole.distributions.rewards import Bernoulli, Beta, TruncatedNormal
from keyhole.distributions.tabulated import TabulatedDistribution

__all__ = [
    "Bernoulli",
    "Beta",
    "CustomDistribution",
    "Distribution",
    "Number",
    "Replay",
    "TabulatedDistribution",
    "TruncatedNormal",
]
