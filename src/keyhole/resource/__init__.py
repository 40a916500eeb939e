"""The bandit with censored consumption of resources: which arm to run, and when to give up.

Every round a policy chooses an arm and a limit. If the run consumes no more than the limit, its
reward and its consumption come back, and the reward counts less the cost of the consumption. If it
would consume more, nothing comes back but that, and a penalty counts, which depends on the limit.

Cost and penalty are known functions. They travel as numbers (`keyhole.resource.cost_functions`), so
that simulation, learner and saved learners share one source: the environment answers with reward
and consumption alone, and a policy works out what they were worth.
"""

from keyhole.resource.cost_functions import Power, Steps, Table
from keyhole.resource.distributions import (
    BetaExponential,
    CustomDistribution,
    Independent,
    Replay,
    TruncatedNormal,
)
from keyhole.resource.learner import Learner
from keyhole.resource.paper_instances import replica, three_models
from keyhole.resource.policies import (
    RCUCB,
    AnytimeZoomingRCUCB,
    FixedLimit,
    HazardThompson,
    HazardUCB,
    LeapsAndBounds,
    ReductionThompson,
    ReductionUCB,
    StoOO,
    SuccessiveHalving,
    ZoomingRCUCB,
)
from keyhole.resource.problem import Problem
from keyhole.resource.problem_factories import PROBLEM_FACTORIES
from keyhole.resource.reward_scale import RewardScale
from keyhole.resource.setting import SETTING, Policy
from keyhole.resource.synthetic_solvers import portfolio

__all__ = [
    "PROBLEM_FACTORIES",
    "RCUCB",
    "SETTING",
    "AnytimeZoomingRCUCB",
    "BetaExponential",
    "CustomDistribution",
    "FixedLimit",
    "HazardThompson",
    "HazardUCB",
    "Independent",
    "LeapsAndBounds",
    "Learner",
    "Policy",
    "Power",
    "Problem",
    "ReductionThompson",
    "ReductionUCB",
    "Replay",
    "RewardScale",
    "Steps",
    "StoOO",
    "SuccessiveHalving",
    "Table",
    "TruncatedNormal",
    "ZoomingRCUCB",
    "portfolio",
    "replica",
    "three_models",
]
