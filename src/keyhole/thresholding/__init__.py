"""Setting `thresholding`: try options, then say of each whether its mean is above a threshold.

An *arm* is one of the options; to *pull* it is to try it once, and its random *reward* is seen.
After a number of pulls each arm gets a label, which says whether its mean reward is at least a
given number, the threshold. A policy chooses the next arm to pull, so that few labels are wrong.
(In another setting, `keyhole.threshold`, each round has a threshold that a sample must reach.)
"""

from keyhole.distributions import CustomDistribution
from keyhole.former_names import add_former_names
from keyhole.thresholding.learner import Learner, StudyVocabulary
from keyhole.thresholding.policies.apgai import APGAI
from keyhole.thresholding.policies.apt import APT
from keyhole.thresholding.policies.false_discovery_stopping import FalseDiscoveryStopping
from keyhole.thresholding.policies.familywise_stopping import FamilywiseStopping
from keyhole.thresholding.policies.hdoc import HDoC
from keyhole.thresholding.policies.known_gaps import KnownGaps
from keyhole.thresholding.policies.lsa import LSA
from keyhole.thresholding.policies.lucbg import LUCBG
from keyhole.thresholding.policies.optkg import OptKG
from keyhole.thresholding.policies.per_arm_stopping import PerArmStopping
from keyhole.thresholding.policies.pooled_kg import PooledKG
from keyhole.thresholding.policies.round_robin import RoundRobin
from keyhole.thresholding.policies.ucbe import UCBE
from keyhole.thresholding.policy_base import IndexPolicy, Policy
from keyhole.thresholding.problem import PROBLEM_FACTORIES, BoundCoverageProblem, Problem
from keyhole.thresholding.setting import SETTING

__all__ = [
    "APGAI", "APT", "LSA", "LUCBG", "PROBLEM_FACTORIES", "SETTING", "UCBE", "BoundCoverageProblem",
    "CustomDistribution", "FalseDiscoveryStopping", "FamilywiseStopping", "HDoC", "IndexPolicy",
    "KnownGaps", "Learner", "OptKG", "PerArmStopping", "Policy", "PooledKG", "Problem",
    "RoundRobin", "StudyVocabulary",
]  # fmt: skip

add_former_names(__name__)
