"""The contract test of the policies: its checks, and groups of policies that are checked alike.

To compile a policy for its checks takes 2 to 10 seconds, most of them for its learner and its step
with pending decisions. `make test` does so for one policy in all, and `make test-slow` for each:
what drives a compiled policy is the same in all settings. Checks of what drives all policies
alike (`SHARED`) run for the first policy of each group, and in `make test-slow` for all; that of
saving runs for those with arrays that are not saved, too.
"""

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import KW_ONLY, dataclass
from functools import cache
from typing import Any

import pytest

from keyhole.contract.policy import Policy
from keyhole.contract.state_arrays import declared_state
from keyhole.testing import CHECKS as ALL
from keyhole.testing import CheckContext
from keyhole.testing.interpreter_agreement import interpreted_and_compiled_agree
from keyhole.testing.policy_checks import (
    copies_go_on_alone,
    engine_is_deterministic,
    play_with_arm_counts,
    saving_changes_nothing,
    works_for_any_number_of_arms,
)

COMPILED = (
    works_for_any_number_of_arms,  # plays too many rounds to be interpreted
    interpreted_and_compiled_agree,
)
SHARED = (copies_go_on_alone, engine_is_deterministic, saving_changes_nothing)
SIZES = (1, 12)


def works_for_few_arms(subject):
    """Check what `works_for_any_number_of_arms` does, for few enough arms to be interpreted."""
    play_with_arm_counts(subject, SIZES)


INTERPRETED = (*(check for check in ALL if check not in COMPILED), works_for_few_arms)


@dataclass(frozen=True, eq=False)
class ContractGroup:
    """Policies that are checked alike, each on the problem that `make_problem` returns for it.

    Checks that compile are slow but for the policies in `compiled`, those in `SHARED` but for the
    first one (saving also for those with scratch arrays). All checks are slow for those in `slow`,
    which differ from others in their parameters alone.
    """

    make_problem: Callable[[Policy], Any]
    policies: Sequence[Policy]
    _: KW_ONLY
    horizon: int
    seed: int = 0
    checks: Sequence[Callable] = (*INTERPRETED, *COMPILED)
    compiled: Collection[Policy] = ()
    slow: Collection[Policy] = ()
    ignored_warnings: Sequence[str] = ()

    def __post_init__(self):
        assert {*self.compiled, *self.slow} <= set(self.policies)

    def cases(self, setting: str) -> Iterator:
        """Yield each policy with each check, as the parameters `group`, `policy` and `check`."""
        for policy in self.policies:
            for check in self.checks:
                name = f"{setting}-{policy!r}-{self.make_problem.__name__}-{check.__name__}"
                marks = [pytest.mark.filterwarnings(f"ignore:{w}") for w in self.ignored_warnings]
                if check in COMPILED:
                    marks.append(pytest.mark.compiled)
                if policy in self.slow or policy not in self._quick(check):
                    marks.append(pytest.mark.slow)
                yield pytest.param(self, policy, check, id=name, marks=marks)

    def _quick(self, check: Callable) -> Collection[Policy]:
        """Return the policies for which a check is not slow."""
        if check in COMPILED:
            return self.compiled
        if check is saving_changes_nothing:
            return [*self.policies[:1], *filter(_has_scratch, self.policies)]
        return self.policies[:1] if check in SHARED else self.policies


def _has_scratch(policy: Policy) -> bool:
    return any(not field.kept for field in declared_state(type(policy)).values())


@cache
def shared_context(group: ContractGroup, policy: Policy) -> CheckContext:
    """Return the context of a policy's checks: what several compare with is played once for all."""
    return CheckContext(policy, group.make_problem(policy), group.horizon, group.seed)
