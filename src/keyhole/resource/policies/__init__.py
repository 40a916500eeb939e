"""Policies that choose what to run, and the limit at which it is stopped, one file each.

An arm is a thing that can be run, such as a solver; its run consumes time, say. Of a stopped run it
is only seen that it would have consumed more than the limit (it is *censored*).
"""

from keyhole.resource.policies.anytime_zooming import AnytimeZoomingRCUCB
from keyhole.resource.policies.fixed_limit import FixedLimit
from keyhole.resource.policies.hazard_thompson import HazardThompson
from keyhole.resource.policies.hazard_ucb import HazardUCB
from keyhole.resource.policies.leaps_and_bounds import LeapsAndBounds
from keyhole.resource.policies.rcucb import RCUCB
from keyhole.resource.policies.reduction_thompson import ReductionThompson
from keyhole.resource.policies.reduction_ucb import ReductionUCB
from keyhole.resource.policies.stoo import StoOO
from keyhole.resource.policies.successive_halving import SuccessiveHalving
from keyhole.resource.policies.zooming import ZoomingRCUCB

__all__ = [
    "RCUCB",
    "AnytimeZoomingRCUCB",
    "FixedLimit",
    "HazardThompson",
    "HazardUCB",
    "LeapsAndBounds",
    "ReductionThompson",
    "ReductionUCB",
    "StoOO",
    "SuccessiveHalving",
    "ZoomingRCUCB",
]
