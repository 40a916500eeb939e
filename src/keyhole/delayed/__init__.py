"""Setting `delayed`: choose an option in each round; its reward arrives some rounds later.

An *arm* is one of the options; to *pull* it is to choose it for one round.

For example, an advert is shown, and its conversion comes days later. With anonymous feedback only
the sum of the rewards that arrive in a round is seen; with named feedback each reward and its arm.
"""

from keyhole.delayed.delay_distributions import (
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
from keyhole.delayed.learner import Learner, StudyVocabulary
from keyhole.delayed.policies.ars_ucb import ARSUCB
from keyhole.delayed.policies.delayed_ucb1 import DelayedUCB1
from keyhole.delayed.policies.naive_phases import NaivePhases
from keyhole.delayed.policies.odaaf import ODAAF
from keyhole.delayed.policies.odaafb import ODAAFB
from keyhole.delayed.policies.odaafv import ODAAFV
from keyhole.delayed.policies.qpmd import QPMD
from keyhole.delayed.policies.regression_ucb import RegressionUCB
from keyhole.delayed.policy_base import PhasePolicy, Policy
from keyhole.delayed.problem import PROBLEM_FACTORIES, Problem
from keyhole.delayed.setting import SETTING
from keyhole.distributions import CustomDistribution

__all__ = [
    "ARSUCB", "ODAAF", "ODAAFB", "ODAAFV", "PROBLEM_FACTORIES", "QPMD", "SETTING", "Constant",
    "CustomDistribution", "Delay", "DelayedUCB1", "Empirical", "Exponential", "Geometric",
    "HalfNormal", "Learner", "NaivePhases", "PhasePolicy", "Poisson", "Policy", "Problem",
    "RegressionUCB", "StudyVocabulary", "TwoPoint", "Uniform",
]  # fmt: skip
