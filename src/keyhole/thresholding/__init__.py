"""Setting `thresholding`: pull arms, then label those whose mean is at least a given threshold.

Not to be confused with `keyhole.threshold`, whose feedback is censored at a threshold: here the
threshold classifies the arms, and the reward of every pull is seen.
"""

from keyhole.distributions import CustomDistribution
from keyhole.thresholding.confidence_problem import ConfidenceSequenceProblem
from keyhole.thresholding.learner import Learner
from keyhole.thresholding.policies import APT, LSA, UCBE, KnownGaps, OptKG, Uniform
from keyhole.thresholding.problem import Problem
from keyhole.thresholding.problem_factories import PROBLEM_FACTORIES
from keyhole.thresholding.setting import SETTING, IndexPolicy, Policy

__all__ = [
    "APT",
    "LSA",
    "PROBLEM_FACTORIES",
    "SETTING",
    "UCBE",
    "ConfidenceSequenceProblem",
    "CustomDistribution",
    "IndexPolicy",
    "KnownGaps",
    "Learner",
    "OptKG",
    "Policy",
    "Problem",
    "Uniform",
]
