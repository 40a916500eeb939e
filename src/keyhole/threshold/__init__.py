"""Setting `threshold`: each round shows a threshold; pull an arm whose sample should reach it.

An *arm* is one of several options, such as an airline. To *pull* an arm is to choose it for the
round; it then gives a random number, its *sample*. The reward is 1 if the sample is at least the
threshold. With *censored* feedback, a sample that reaches it is hidden: only the reward is seen.

In `keyhole.thresholding` a threshold is another thing: it divides arms by their means.
"""

from keyhole.former_names import add_former_names
from keyhole.threshold.distributions import CustomDistribution
from keyhole.threshold.learner import Learner, StudyVocabulary
from keyhole.threshold.policies.anytime_dkwucb import AnytimeDKWUCB
from keyhole.threshold.policies.anytime_kaplan_meier_ucb import AnytimeKaplanMeierUCB
from keyhole.threshold.policies.anytime_optim import AnytimeOPTIM
from keyhole.threshold.policies.dkwucb import DKWUCB
from keyhole.threshold.policies.kaplan_meier_thompson import KaplanMeierThompson
from keyhole.threshold.policies.kaplan_meier_ucb import KaplanMeierUCB
from keyhole.threshold.policies.kmucb import KMUCB
from keyhole.threshold.policies.monotone_klucb import MonotoneKLUCB
from keyhole.threshold.policies.optim import OPTIM
from keyhole.threshold.policies.per_threshold_ucb import PerThresholdUCB
from keyhole.threshold.policies.round_robin import RoundRobin
from keyhole.threshold.policies.survival_thompson import SurvivalThompson
from keyhole.threshold.policy_base import IndexPolicy, Policy
from keyhole.threshold.problem import PROBLEM_FACTORIES, Problem
from keyhole.threshold.setting import SETTING
from keyhole.threshold.survival_estimators import ModifiedKaplanMeierEstimator

__all__ = [
    "DKWUCB", "KMUCB", "OPTIM", "PROBLEM_FACTORIES", "SETTING", "AnytimeDKWUCB",
    "AnytimeKaplanMeierUCB", "AnytimeOPTIM", "CustomDistribution", "IndexPolicy",
    "KaplanMeierThompson", "KaplanMeierUCB", "Learner", "ModifiedKaplanMeierEstimator",
    "MonotoneKLUCB", "PerThresholdUCB", "Policy", "Problem", "RoundRobin", "StudyVocabulary",
    "SurvivalThompson",
]  # fmt: skip

add_former_names(__name__)
