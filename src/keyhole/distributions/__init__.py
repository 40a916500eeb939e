"""Distributions of rewards, delays, levels, and of reward and consumption together.

A distribution has numbers, a kernel that draws with them, and exact moments. Settings
take distributions wherever they take means; SciPy's and your own too.
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
