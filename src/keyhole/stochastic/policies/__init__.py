"""Policies of the stochastic bandit (rules that choose an option in each round), one file each.

An option (arm) gives a random reward, with an unknown mean. They try all of them, and choose the
best ever more often.
"""

from keyhole.stochastic.policies.bernstein_ucb import BernsteinUCB
from keyhole.stochastic.policies.best_arm_stopping import BestArmStopping
from keyhole.stochastic.policies.hoeffding_ucb import HoeffdingUCB
from keyhole.stochastic.policies.improved_ucb import ImprovedUCB
from keyhole.stochastic.policies.klucb import KLUCB
from keyhole.stochastic.policies.moss import MOSS
from keyhole.stochastic.policies.optimistic_thompson import OptimisticThompson
from keyhole.stochastic.policies.thompson_sampling import ThompsonSampling
from keyhole.stochastic.policies.top_two_thompson import TopTwoThompson
from keyhole.stochastic.policies.ucb1 import UCB1
from keyhole.stochastic.policies.uniform import Uniform

__all__ = [
    "KLUCB",
    "MOSS",
    "UCB1",
    "BernsteinUCB",
    "BestArmStopping",
    "HoeffdingUCB",
    "ImprovedUCB",
    "OptimisticThompson",
    "ThompsonSampling",
    "TopTwoThompson",
    "Uniform",
]
