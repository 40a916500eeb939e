"""Bandits that decide from partial feedback, compiled, from simulation to production."""

from keyhole.core.curves import Curves, Paired
from keyhole.core.learner import Learner
from keyhole.core.policy import parameter
from keyhole.core.simulation import simulate

__all__ = ["Curves", "Learner", "Paired", "parameter", "simulate"]
