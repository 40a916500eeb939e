"""Policies of the thresholding bandit (rules that choose which option to try next), one file each.

In the end each option (arm) is labelled: its mean reward is at least a threshold, or below.
"""

from keyhole.thresholding.policies.apt import APT
from keyhole.thresholding.policies.familywise_stopping import FamilywiseStopping
from keyhole.thresholding.policies.known_gaps import KnownGaps
from keyhole.thresholding.policies.lsa import LSA
from keyhole.thresholding.policies.optkg import OptKG
from keyhole.thresholding.policies.per_arm_stopping import PerArmStopping
from keyhole.thresholding.policies.pooled_kg import PooledKG
from keyhole.thresholding.policies.ucbe import UCBE
from keyhole.thresholding.policies.uniform import Uniform

__all__ = [
    "APT",
    "LSA",
    "UCBE",
    "FamilywiseStopping",
    "KnownGaps",
    "OptKG",
    "PerArmStopping",
    "PooledKG",
    "Uniform",
]
