"""The groups in which the policies of the semi-bandit setting are checked."""

from keyhole.semibandit import CSBDT, CSBDTUCB, CSBST, CTS, ESCB, MPTS, SDCB
from tests.conformance import ContractGroup
from tests.semibandit.cases import OWN, POLICIES, SAME


def five_arms(policy):
    return SAME if isinstance(policy, CSBST | MPTS | ESCB) else OWN


GROUPS = [
    ContractGroup(
        five_arms,
        POLICIES,
        horizon=40,
        seed=2,
        slow=[
            CSBST(),
            CSBDT(gamma=0.05, epsilon=0.4, as_printed=0),
            CTS(solve_every=4),
            SDCB(solve_every=3),
            CSBDT(gamma=0.01, loss_free_rounds=2),
            CSBDT(gamma=0.01, loss_free_rounds=2, any_loss=1),
            CSBDT(gamma=0.02, loss_free_rounds=3, as_printed=0, any_loss=1),
            CSBDTUCB(gamma=0.02, loss_free_rounds=2, round_decimals=1, as_printed=0),
            CSBDTUCB(gamma=0.02, loss_free_rounds=4, round_decimals=2),
            ESCB(m=1, c=0.5),
        ],
        ignored_warnings=[
            ".* may search for",
            ".* to each arm that it funds",
            ".* the estimate was too low",
        ],
    ),
]
