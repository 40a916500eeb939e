"""Setting `semibandit`: divide a resource among arms; an arm given its threshold has no loss.

An arm's loss is observed only if its allocation is below the arm's threshold, which is unknown; an
arm that gets its threshold is *funded*. Enough patrols, say, prevent incidents at a place.
"""

from keyhole.semibandit.bisection_policy import BisectionPolicy
from keyhole.semibandit.common_threshold import candidate_thresholds, count_funded_arms
from keyhole.semibandit.joint_losses import CustomDistribution
from keyhole.semibandit.knapsack import solve_knapsack
from keyhole.semibandit.learner import Learner
from keyhole.semibandit.policies import CSBDT, CSBDTUCB, CSBST, CTS, ESCB, MPTS, SDCB
from keyhole.semibandit.problem import Problem
from keyhole.semibandit.problem_factories import PROBLEM_FACTORIES
from keyhole.semibandit.setting import SETTING, Policy

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
    "candidate_thresholds",
    "count_funded_arms",
    "solve_knapsack",
]
