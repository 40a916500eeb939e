"""The groups in which the policies of the delayed-feedback setting are checked."""

from keyhole.delayed import ODAAF, QPMD
from keyhole.stochastic import KLUCB, OptimisticThompson, ThompsonSampling
from tests.conformance import ContractGroup
from tests.delayed.cases import PHASED, POLICIES, problem_for


def three_arms(policy):
    return problem_for(policy, [0.2, 0.9, 0.5])


def two_arms(policy):
    return problem_for(policy, [0.2, 0.9])


IN_NO_PHASES = [policy for policy in POLICIES if policy not in PHASED]
BASES = [KLUCB(), ThompsonSampling(), OptimisticThompson()]
WITH_BASES = [QPMD(base=base) for base in BASES]

GROUPS = [
    ContractGroup(three_arms, [*IN_NO_PHASES, *WITH_BASES], horizon=120, seed=2),
    ContractGroup(
        two_arms,
        PHASED,
        horizon=600,  # two phases
        seed=2,
        compiled=[ODAAF(expected_delay=2.0)],
        ignored_warnings=[".* gives up no arm within the horizon"],
    ),
]
