"""Setting `semibandit`: divide a resource among arms in each round, so that losses are prevented.

An *arm* is a place where a loss may occur, such as a street with incidents; the resource may be
patrols. An arm that gets at least its unknown *threshold* has no loss. Whether it would have had
one with less stays hidden (*censored*). Losses of all other arms are seen. To *fund* an arm is to
give it its threshold, or an estimate of its threshold. *Semi-bandit* means that feedback comes from
several arms at once.
"""

from keyhole.semibandit.bisection_policy import BisectionPolicy
from keyhole.semibandit.environment import CustomDistribution
from keyhole.semibandit.knapsack import solve_knapsack
from keyhole.semibandit.learner import Learner, StudyVocabulary
from keyhole.semibandit.policies.csbdt import CSBDT
from keyhole.semibandit.policies.csbdt_ucb import CSBDTUCB
from keyhole.semibandit.policies.csbst import CSBST
from keyhole.semibandit.policies.cts import CTS
from keyhole.semibandit.policies.escb import ESCB
from keyhole.semibandit.policies.mpts import MPTS
from keyhole.semibandit.policies.sdcb import SDCB
from keyhole.semibandit.policies.threshold_thompson import ThresholdThompson
from keyhole.semibandit.policy_base import Policy
from keyhole.semibandit.problem import PROBLEM_FACTORIES, Problem
from keyhole.semibandit.setting import SETTING, candidate_thresholds, count_funded_arms

__all__ = [
    "CSBDT", "CSBDTUCB", "CSBST", "CTS", "ESCB", "MPTS", "PROBLEM_FACTORIES", "SDCB", "SETTING",
    "BisectionPolicy", "CustomDistribution", "Learner", "Policy", "Problem", "StudyVocabulary",
    "ThresholdThompson", "candidate_thresholds", "count_funded_arms", "solve_knapsack",
]  # fmt: skip
