"""Setting `threshold`: a round shows a threshold; pull an arm whose random sample should reach it.

Not to be confused with `keyhole.thresholding`, which labels arms by their means: here every round
has a threshold, and the reward is 1 if the sample reaches it. Samples that do may be censored.
"""

from keyhole.threshold.distributions import CustomDistribution
from keyhole.threshold.index_policy import IndexPolicy
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
from keyhole.threshold.survival_estimators import KaplanMeier, ModifiedKaplanMeier

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
