"""The checks that every policy passes, as the parameters of a test that is interpreted.

To compile a policy for its checks takes 2 to 10 seconds, most of them for its learner and its step
with pending decisions. `make test` does so for one policy of each setting, and compiles the engine
of those that no other test compiles; `make test-slow` compiles all.
"""

from collections.abc import Callable, Iterable
from functools import cache

import pytest

from keyhole.contract.policy import Policy
from keyhole.testing import CHECKS as ALL
from keyhole.testing import CheckContext
from keyhole.testing.interpreter_checks import interpreted_and_compiled_agree
from keyhole.testing.policy_checks import play_sizes, works_for_any_number_of_arms

COMPILED = (
    works_for_any_number_of_arms,  # plays too many rounds to be interpreted
    interpreted_and_compiled_agree,
)
SIZES = (1, 2, 12)

shared_context = cache(CheckContext)
"""Of equal arguments one context: what several checks compare with is played once for all."""


def works_for_few_arms(subject):
    """Check what `works_for_any_number_of_arms` does, for few enough arms to be interpreted."""
    play_sizes(subject, SIZES)


INTERPRETED = (*(check for check in ALL if check not in COMPILED), works_for_few_arms)


def parametrize_with_policies(
    policies: Iterable[Policy],
    *,
    compiled: Iterable[Policy] = (),
    engine_compiled: Iterable[Policy] = (),
    slow: Iterable[Policy] = (),
) -> Callable:
    """Return a decorator that runs a test with each policy and each check, as `policy`, `check`.

    Checks that compile are slow but for the policies in `compiled`, and the one of the engine alone
    also for those in `engine_compiled`. All checks are slow for those in `slow`, which differ from
    others in their parameters alone.
    """
    policies, slow = list(policies), set(slow)
    quick = {
        interpreted_and_compiled_agree: set(compiled),
        works_for_any_number_of_arms: {*compiled, *engine_compiled},
    }
    assert slow | set.union(*quick.values()) <= set(policies)
    cases = []
    for policy in policies:
        for check in (*INTERPRETED, *COMPILED):
            marks = [pytest.mark.compiled] if check in COMPILED else []
            if policy in slow or policy not in quick.get(check, policies):
                marks.append(pytest.mark.slow)
            cases.append(
                pytest.param(policy, check, id=f"{policy!r}-{check.__name__}", marks=marks)
            )
    return pytest.mark.parametrize(("policy", "check"), cases)
