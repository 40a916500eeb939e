"""The threshold bandit: see a threshold, pull an arm that reaches it; some samples stay hidden.

Not to be confused with `keyhole.thresholding` (which arms have a mean above a threshold?): here
every round brings a threshold of its own, and a pull is worth 1 if its sample reaches it.
"""

from keyhole.threshold.distributions import CustomDistribution
from keyhole.threshold.estimators import KaplanMeier, ModifiedKaplanMeier
from keyhole.threshold.index import IndexPolicy
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
from keyhole.threshold.problem_factories import PROBLEM_FACTORIES
from keyhole.threshold.setting import SETTING, Policy

__all__ = [
    "DKWUCB",
    "KMUCB",
    "OPTIM",
    "PROBLEM_FACTORIES",
    "SETTING",
    "AnytimeDKWUCB",
    "AnytimeKaplanMeierUCB",
    "AnytimeOPTIM",
    "CappedKLUCB",
    "CustomDistribution",
    "IndexPolicy",
    "KaplanMeier",
    "KaplanMeierThompson",
    "KaplanMeierUCB",
    "Learner",
    "ModifiedKaplanMeier",
    "PerThresholdUCB",
    "Policy",
    "Problem",
    "SurvivalThompson",
    "Uniform",
]
