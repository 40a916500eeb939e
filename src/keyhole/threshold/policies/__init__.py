"""The policies of this room, one file each."""

from keyhole.threshold.policies.anytime_dkwucb import AnytimeDKWUCB
from keyhole.threshold.policies.anytime_optim import AnytimeOPTIM
from keyhole.threshold.policies.dkwucb import DKWUCB
from keyhole.threshold.policies.kaplan_meier_ucb import KaplanMeierUCB
from keyhole.threshold.policies.kmucb import KMUCB
from keyhole.threshold.policies.optim import OPTIM
from keyhole.threshold.policies.per_threshold_ucb import PerThresholdUCB

__all__ = [
    "DKWUCB",
    "KMUCB",
    "OPTIM",
    "AnytimeDKWUCB",
    "AnytimeOPTIM",
    "KaplanMeierUCB",
    "PerThresholdUCB",
]
