"""The threshold bandit: see a threshold, pull an arm that reaches it; some samples stay hidden.

Not to be confused with `keyhole.thresholding` (which arms have a mean above a threshold?): here
every round brings a threshold of its own, and a pull is worth 1 if its sample reaches it.
"""

from keyhole.threshold.estimators import KaplanMeier, ModifiedKaplanMeier
from keyhole.threshold.index import IndexPolicy
from keyhole.threshold.laws import Sampler
from keyhole.threshold.learner import Learner
from keyhole.threshold.policies import (
    DKWUCB,
    KMUCB,
    OPTIM,
    AnytimeDKWUCB,
    AnytimeKaplanMeierUCB,
    AnytimeOPTIM,
    CappedKLUCB,
    KaplanMeierThompson,
    KaplanMeierUCB,
    PerThresholdUCB,
    SurvivalThompson,
    Uniform,
)
from keyhole.threshold.problem import Problem
from keyhole.threshold.setting import SETTING, Policy
from keyhole.threshold.sources import SOURCES

__all__ = [
    "DKWUCB",
    "KMUCB",
    "OPTIM",
    "SETTING",
    "SOURCES",
    "AnytimeDKWUCB",
    "AnytimeKaplanMeierUCB",
    "AnytimeOPTIM",
    "CappedKLUCB",
    "IndexPolicy",
    "KaplanMeier",
    "KaplanMeierThompson",
    "KaplanMeierUCB",
    "Learner",
    "ModifiedKaplanMeier",
    "PerThresholdUCB",
    "Policy",
    "Problem",
    "Sampler",
    "SurvivalThompson",
    "Uniform",
]
