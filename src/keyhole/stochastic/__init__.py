"""Setting `stochastic`, the classical bandit: choose an option, see its reward, maximise the sum.

An *arm* is one of the options, and to *pull* an arm is to choose it for one round. The rewards of
an arm are random, with an unknown mean; in a round only the reward of the chosen arm is seen.

A policy of another setting can wrap a policy of this setting: see `keyhole.delayed.QPMD`.
"""

from keyhole.distributions import CustomDistribution
from keyhole.former_names import add_former_names
from keyhole.stochastic.learner import Learner, StudyVocabulary
from keyhole.stochastic.policies.best_arm_stopping import BestArmStopping
from keyhole.stochastic.policies.hoeffding_ucb import HoeffdingUCB
from keyhole.stochastic.policies.improved_ucb import ImprovedUCB
from keyhole.stochastic.policies.klucb import KLUCB
from keyhole.stochastic.policies.known_variance_ucb import KnownVarianceUCB
from keyhole.stochastic.policies.moss import MOSS
from keyhole.stochastic.policies.optimistic_thompson import OptimisticThompson
from keyhole.stochastic.policies.round_robin import RoundRobin
from keyhole.stochastic.policies.thompson_sampling import ThompsonSampling
from keyhole.stochastic.policies.top_two_thompson import TopTwoThompson
from keyhole.stochastic.policies.ucb1 import UCB1
from keyhole.stochastic.policy_base import DeviationUCBPolicy, IndexPolicy, Policy
from keyhole.stochastic.problem import PROBLEM_FACTORIES, Problem
from keyhole.stochastic.setting import SETTING

__all__ = [
    "KLUCB", "MOSS", "PROBLEM_FACTORIES", "SETTING", "UCB1", "BestArmStopping",
    "CustomDistribution", "DeviationUCBPolicy", "HoeffdingUCB", "ImprovedUCB", "IndexPolicy",
    "KnownVarianceUCB", "Learner", "OptimisticThompson", "Policy", "Problem", "RoundRobin",
    "StudyVocabulary", "ThompsonSampling", "TopTwoThompson",
]  # fmt: skip

add_former_names(__name__)
