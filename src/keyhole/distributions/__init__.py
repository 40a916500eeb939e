"""Probability distributions of rewards, delays, levels, and pairs of reward and consumption."""

from keyhole.distributions.distribution import CustomDistribution, Distribution, NumberDistribution
from keyhole.distributions.empirical_distribution import Replay
from keyhole.distributions.reward_distributions import Bernoulli, Beta, TruncatedNormal
from keyhole.distributions.scipy_distribution import TabulatedSciPyDistribution
from keyhole.former_names import add_former_names

__all__ = [
    "Bernoulli",
    "Beta",
    "CustomDistribution",
    "Distribution",
    "NumberDistribution",
    "Replay",
    "TabulatedSciPyDistribution",
    "TruncatedNormal",
]

add_former_names(__name__)
