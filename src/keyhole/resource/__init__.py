"""Setting `resource`: choose what to run, such as a solver, and the limit at which it is stopped.

An *arm* is one of several things that can be run. A run *consumes* something, such as time.

If a run consumes no more than its limit, the feedback is its reward and its consumption, and its
gain is the reward less the cost of the consumption. Otherwise the run is stopped at the limit: the
feedback is only that it was stopped, and its gain is minus a penalty that depends on the limit.

Cost and penalty are known functions. A *pair* is an arm and a limit.
"""

from keyhole.former_names import add_former_names
from keyhole.resource.cost_functions import PiecewiseLinear, Power, Steps
from keyhole.resource.joint_distributions import (
    BetaExponential,
    CustomDistribution,
    IndependentPair,
    Replay,
    TruncatedNormal,
)
from keyhole.resource.learner import Learner, StudyVocabulary
from keyhole.resource.policies.anytime_zooming import AnytimeZoomingRCUCB
from keyhole.resource.policies.fixed_limit import FixedLimit
from keyhole.resource.policies.hazard_thompson import HazardThompson
from keyhole.resource.policies.hazard_ucb import HazardUCB
from keyhole.resource.policies.leaps_and_bounds import LeapsAndBounds
from keyhole.resource.policies.oup import OUP
from keyhole.resource.policies.rcucb import RCUCB
from keyhole.resource.policies.reduction_thompson import ReductionThompson
from keyhole.resource.policies.reduction_ucb import ReductionUCB
from keyhole.resource.policies.stoo import StoOO
from keyhole.resource.policies.successive_halving import SuccessiveHalving
from keyhole.resource.policies.zooming import ZoomingRCUCB
from keyhole.resource.policy_base import Policy
from keyhole.resource.problem import Problem
from keyhole.resource.problem_factories import (
    PROBLEM_FACTORIES,
    portfolio_problem,
    reconstructed_problem,
    three_models_problem,
)
from keyhole.resource.setting import SETTING

__all__ = [
    "OUP", "PROBLEM_FACTORIES", "RCUCB", "SETTING", "AnytimeZoomingRCUCB", "BetaExponential",
    "CustomDistribution", "FixedLimit", "HazardThompson", "HazardUCB", "IndependentPair",
    "LeapsAndBounds", "Learner", "PiecewiseLinear", "Policy", "Power", "Problem",
    "ReductionThompson", "ReductionUCB", "Replay", "Steps", "StoOO", "StudyVocabulary",
    "SuccessiveHalving", "TruncatedNormal", "ZoomingRCUCB", "portfolio_problem",
    "reconstructed_problem", "three_models_problem",
]  # fmt: skip

add_former_names(__name__)
