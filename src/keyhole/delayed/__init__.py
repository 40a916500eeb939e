"""Delayed feedback: rewards arrive late, summed up, with no name on them.

Adverts whose conversions come days later: at the end of a round only the total of what happened to
arrive is seen (anonymous feedback). Where it is known who earned what, feedback is named.
"""

from keyhole.delayed.delays import (
    Constant,
    Delay,
    Empirical,
    Exponential,
    Geometric,
    HalfNormal,
    Poisson,
    TwoPoint,
    Uniform,
)
from keyhole.delayed.learner import Learner
from keyhole.delayed.phase_policy import PhasePolicy
from keyhole.delayed.policies import ODAAF, ODAAFB, ODAAFV, QPMD, DelayedUCB1, NaivePhases
from keyhole.delayed.problem import Problem
from keyhole.delayed.problem_factories import PROBLEM_FACTORIES
from keyhole.delayed.setting import SETTING, Policy
from keyhole.distributions import CustomDistribution

__all__ = [
    "ODAAF",
    "ODAAFB",
    "ODAAFV",
    "PROBLEM_FACTORIES",
    "QPMD",
    "SETTING",
    "Constant",
    "CustomDistribution",
    "Delay",
    "DelayedUCB1",
    "Empirical",
    "Exponential",
    "Geometric",
    "HalfNormal",
    "Learner",
    "NaivePhases",
    "PhasePolicy",
    "Poisson",
    "Policy",
    "Problem",
    "TwoPoint",
    "Uniform",
]
