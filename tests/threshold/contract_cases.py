"""The groups in which the policies of the threshold setting are checked."""

from keyhole.threshold import (
    DKWUCB,
    AnytimeDKWUCB,
    KaplanMeierThompson,
    KaplanMeierUCB,
    MonotoneKLUCB,
    Problem,
    SurvivalThompson,
)
from tests.conformance import ContractGroup
from tests.threshold.cases import FITTING, FIVE, POLICIES


def small(policy):
    feedback, order = FITTING.get(type(policy), (policy.works_with[0], "iid"))
    return Problem([row[::3] for row in FIVE[:3]], feedback=feedback, order=order)


def replay(policy):
    return Problem.replay([[0, 1, 3], [2, 2], [1, 3, 3, 0]], 3, feedback="uncensored")


GROUPS = [
    ContractGroup(
        small,
        POLICIES,
        horizon=30,
        seed=2,
        slow=[
            AnytimeDKWUCB(c=3.0),
            MonotoneKLUCB(c=3.0),
            KaplanMeierThompson(a=0.5, b=2.0),
            SurvivalThompson(weight=0.2),
        ],
        ignored_warnings=["KMUCB.. never gets beyond level 1"],
    ),
    ContractGroup(replay, [DKWUCB(), KaplanMeierUCB()], horizon=30, seed=1, slow=[DKWUCB()]),
]
