"""Policies of the threshold bandit (rules that choose an option by the round's bar), one file each.

Each round shows a bar (the threshold), and the random number that the chosen option (arm) gives
should reach it.
"""

from keyhole.threshold.policies.anytime_dkwucb import AnytimeDKWUCB
from keyhole.threshold.policies.anytime_kaplan_meier_ucb import AnytimeKaplanMeierUCB
from keyhole.threshold.policies.anytime_optim import AnytimeOPTIM
from keyhole.threshold.policies.capped_klucb import CappedKLUCB
from keyhole.threshold.policies.dkwucb import DKWUCB
from keyhole.threshold.policies.kaplan_meier_thompson import KaplanMeierThompson
from keyhole.threshold.policies.kaplan_meier_ucb import KaplanMeierUCB
from keyhole.threshold.policies.kmucb import KMUCB
from keyhole.threshold.policies.optim import OPTIM
from keyhole.threshold.policies.per_threshold_ucb import PerThresholdUCB
from keyhole.threshold.policies.survival_thompson import SurvivalThompson
from keyhole.threshold.policies.uniform import Uniform

__all__ = [
    "DKWUCB",
    "KMUCB",
    "OPTIM",
    "AnytimeDKWUCB",
    "AnytimeKaplanMeierUCB",
    "AnytimeOPTIM",
    "CappedKLUCB",
    "KaplanMeierThompson",
    "KaplanMeierUCB",
    "PerThresholdUCB",
    "SurvivalThompson",
    "Uniform",
]
