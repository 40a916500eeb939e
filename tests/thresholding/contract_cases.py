"""The groups in which the policies of the thresholding setting are checked."""

from keyhole.thresholding import (
    APGAI,
    APT,
    LSA,
    LUCBG,
    UCBE,
    FalseDiscoveryStopping,
    FamilywiseStopping,
    HDoC,
    KnownGaps,
    OptKG,
    PerArmStopping,
    PooledKG,
    Problem,
    RoundRobin,
)
from tests.conformance import ContractGroup


def five_arms(policy):
    return Problem([0.2, 0.45, 0.55, 0.7, 0.8], 0.5)


GROUPS = [
    ContractGroup(
        five_arms,
        [
            LSA(),
            APGAI(),
            APT(),
            UCBE(b=-1),
            OptKG(),
            PooledKG(),
            RoundRobin(),
            KnownGaps(),
            PerArmStopping(),
            FamilywiseStopping(),
            FalseDiscoveryStopping(),
            HDoC(),
            LUCBG(),
        ],
        horizon=30,
        compiled=[LSA()],
    ),
]
