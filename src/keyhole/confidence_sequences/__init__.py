"""Confidence sequences: intervals for a mean that hold at all times at once.

A usual confidence interval holds at one number of values that is fixed beforehand: who looks after
every value, and stops when the interval looks right, is misled far more often than its level says.
The intervals of a confidence sequence hold at all numbers of values together, with probability at
least 1 - alpha, so that one may look at any time, and stop or go on for any reason.

They hold for values in [0, 1], each of which has the same mean whatever was seen before it. Values
need not be independent, and which arm of a bandit is pulled may depend on all earlier rewards: the
rewards of one arm, in the order in which it was pulled, have this property.
"""

from keyhole.confidence_sequences.beta_mixture import BetaMixture, beta_mixture_interval
from keyhole.confidence_sequences.empirical_bernstein import EmpiricalBernstein

__all__ = ["BetaMixture", "EmpiricalBernstein", "beta_mixture_interval"]
