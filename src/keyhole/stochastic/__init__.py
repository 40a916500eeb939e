"""Setting `stochastic`, the classical bandit: choose an option, see its reward, maximise the sum.

An *arm* is one of the options, and to *pull* it is to choose it for one round. Its rewards are
random, with an unknown mean; only the chosen arm's reward is seen.

Its policies can be the base of policies of other settings, such as `keyhole.delayed.QPMD`.
"""

from keyhole.distributions import CustomDistribution
from keyhole.stochastic.learner import Learner
from keyhole.stochastic.policies import (
    KLUCB,
    MOSS,
    UCB1,
    BernsteinUCB,
    BestArmStopping,
    HoeffdingUCB,
    ImprovedUCB,
    OptimisticThompson,
    ThompsonSampling,
    TopTwoThompson,
    Uniform,
)
from keyhole.stochastic.policy_base import IndexPolicy, Policy, UCBPolicy
from keyhole.stochastic.problem import PROBLEM_FACTORIES, Problem
from keyhole.stochastic.setting import SETTING

__all__ = [
    "KLUCB",
    "MOSS",
    "PROBLEM_FACTORIES",
    "SETTING",
    "UCB1",
    "BernsteinUCB",
    "BestArmStopping",
    "CustomDistribution",
    "HoeffdingUCB",
    "ImprovedUCB",
    "IndexPolicy",
    "Learner",
    "OptimisticThompson",
    "Policy",
    "Problem",
    "ThompsonSampling",
    "TopTwoThompson",
    "UCBPolicy",
    "Uniform",
]
