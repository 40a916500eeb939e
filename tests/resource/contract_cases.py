"""The groups in which the policies of the resource setting are checked."""

from keyhole.resource import (
    OUP,
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
from keyhole.stochastic import ThompsonSampling
from tests.conformance import ContractGroup
from tests.resource.cases import reconstructed_problem


def listed_limits(policy):
    return reconstructed_problem("PosCorr", "small", arms=3)


def all_limits(policy):
    return reconstructed_problem("NegCorr", "small", arms=3, continuous=True)


ZOOMING = ZoomingRCUCB(alpha=0.05, delta=0.3, refine=3, lipschitz=2, gain_range=2)
ON_ALL = [
    ZOOMING,
    AnytimeZoomingRCUCB(alpha=0.05, refine=3, lipschitz=4),
    StoOO(alpha=0.02, lipschitz=8),
]

GROUPS = [
    ContractGroup(
        listed_limits,
        [
            RCUCB(),
            ReductionUCB(),
            ReductionThompson(),
            HazardThompson(),
            HazardUCB(),
            SuccessiveHalving(),
            LeapsAndBounds(),
            OUP(),
            FixedLimit(limit=0.6),
            FixedLimit(limit=0.9, base=ThompsonSampling()),
        ],
        horizon=40,
    ),
    ContractGroup(all_limits, ON_ALL, horizon=40),
]
