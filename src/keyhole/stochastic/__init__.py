"""The stochastic bandit: pull an arm, see its reward, earn as much as possible.

The classical setting that others build on: its policies serve some of them as a base.
"""

from keyhole.laws import Sampler
from keyhole.stochastic.deviation import UCB
from keyhole.stochastic.learner import Learner
from keyhole.stochastic.policies import (
    KLUCB,
    MOSS,
    UCB1,
    BernsteinUCB,
    HoeffdingUCB,
    ImprovedUCB,
    ThompsonSampling,
    Uniform,
)
from keyhole.stochastic.problem import Problem
from keyhole.stochastic.setting import SETTING, IndexPolicy, Policy
from keyhole.stochastic.sources import SOURCES

__all__ = [
    "KLUCB",
    "MOSS",
    "SETTING",
    "SOURCES",
    "UCB",
    "UCB1",
    "BernsteinUCB",
    "HoeffdingUCB",
    "ImprovedUCB",
    "IndexPolicy",
    "Learner",
    "Policy",
    "Problem",
    "Sampler",
    "ThompsonSampling",
    "Uniform",
]
