"""The groups in which the policies of the delayed-feedback setting are checked."""

from keyhole.delayed import QPMD, NaivePhases
from keyhole.stochastic import KLUCB, OptimisticThompson, ThompsonSampling
from tests.conformance import ContractGroup
from tests.delayed.cases import PHASED, POLICIES, problem_for


def three_arms(policy):
    return problem_for(policy, [0.2, 0.9, 0.5])


def two_arms(policy):
    return problem_for(policy, [0.2, 0.9])


WARNING = ".* gives up no arm within the horizon"
IN_NO_PHASES = [policy for policy in POLICIES if policy not in PHASED]
BASES = [KLUCB(), ThompsonSampling(), OptimisticThompson()]
WITH_BASES = [QPMD(base=base) for base in BASES]

GROUPS = [
    ContractGroup(
        three_arms,
        [*IN_NO_PHASES, *WITH_BASES],
        horizon=60,
        seed=2,
        slow=[QPMD(base=KLUCB()), QPMD(base=OptimisticThompson())],
        ignored_warnings=[".* rounds for its first batches"],
    ),
    ContractGroup(
        two_arms,
        [NaivePhases(bound=4)],
        horizon=200,  # one phase, and more
        seed=2,
        ignored_warnings=[WARNING],
    ),
    ContractGroup(
        two_arms,
        [policy for policy in PHASED if not isinstance(policy, NaivePhases)],
        horizon=600,  # one phase, and more
        seed=2,
        ignored_warnings=[WARNING],
    ),
]
