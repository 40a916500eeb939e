"""Setting `semibandit`: divide a resource among arms in each round, so that losses are prevented.

An *arm* is a place where a loss may occur, such as a street with incidents, and the resource,
patrols. An arm that gets an amount that is enough for it, its *threshold*, has no loss, and is
*funded*. The thresholds are unknown. Of the other arms it is seen whether a loss occurred; of a
funded one it stays hidden what would have occurred without (*censored*). *Semi-bandit* means that
feedback comes from several arms at once.
"""

from keyhole.semibandit.bisection_policy import BisectionPolicy
from keyhole.semibandit.common_threshold import candidate_thresholds, count_funded_arms
from keyhole.semibandit.joint_losses import CustomDistribution
from keyhole.semibandit.knapsack import solve_knapsack
from keyhole.semibandit.learner import Learner
from keyhole.semibandit.policies import (
    CSBDT,
    CSBDTUCB,
    CSBST,
    CTS,
    ESCB,
    MPTS,
    SDCB,
    ThresholdThompson,
)
from keyhole.semibandit.policy_base import Policy
from keyhole.semibandit.problem import PROBLEM_FACTORIES, Problem
from keyhole.semibandit.setting import SETTING

__all__ = [
    "CSBDT",
    "CSBDTUCB",
    "CSBST",
    "CTS",
    "ESCB",
    "MPTS",
    "PROBLEM_FACTORIES",
    "SDCB",
    "SETTING",
    "BisectionPolicy",
    "CustomDistribution",
    "Learner",
    "Policy",
    "Problem",
    "ThresholdThompson",
    "candidate_thresholds",
    "count_funded_arms",
    "solve_knapsack",
]
