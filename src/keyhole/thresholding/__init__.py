"""The thresholding bandit: find the arms whose mean is at least the threshold.

Not to be confused with `keyhole.threshold` (a bandit whose feedback is cut at a threshold): here
the threshold divides the arms, and the reward of every pull is seen.
"""

from keyhole.laws import Sampler
from keyhole.thresholding.learner import Learner
from keyhole.thresholding.policies import APT, LSA, UCBE, KnownGaps, OptKG, Uniform
from keyhole.thresholding.problem import Problem
from keyhole.thresholding.setting import SETTING, IndexPolicy, Policy
from keyhole.thresholding.sources import SOURCES
from keyhole.thresholding.watched import Watched

__all__ = [
    "APT",
    "LSA",
    "SETTING",
    "SOURCES",
    "UCBE",
    "IndexPolicy",
    "KnownGaps",
    "Learner",
    "OptKG",
    "Policy",
    "Problem",
    "Sampler",
    "Uniform",
    "Watched",
]
