"""All policies of all settings keep the contract, including those that no setting's tests name.

The groups of `tests/SETTING/contract_cases.py` have the policies with special parameters, problems
or costs. Others are checked as in the first group, with the parameters of the benchmark.
"""

import importlib
from contextlib import nullcontext
from dataclasses import replace

import pytest

from keyhole import interpreted
from keyhole.experiment.setting_registry import BUILT_IN, find_setting
from keyhole.kernels.interpreted_mode import is_interpreted
from keyhole.policy import Policy
from keyhole.testing import check_context, pending_decision_checks, policy_checks
from keyhole.testing.policy_checks import saving_changes_nothing
from tests.conformance import shared_context

pytestmark = pytest.mark.interpreted


def find_groups(setting):
    """Return the groups of a setting, and one of its policies that are in none."""
    groups = importlib.import_module(f"tests.{setting}.contract_cases").GROUPS
    listed = {type(policy).__name__ for group in groups for policy in group.policies}
    others = find_setting(setting).policies.keys() - listed
    if not others:
        return groups
    measured = importlib.import_module(f"benchmarks.{setting}").POLICIES
    # Some benchmarks list a policy with its problem.
    entries = [measured[name] for name in sorted(others)]
    found = [entry if isinstance(entry, Policy) else entry[0] for entry in entries]
    alike = replace(groups[0], policies=found, compiled=(), slow=())
    return [*groups, alike]


CASES = [case for name in BUILT_IN for group in find_groups(name) for case in group.cases(name)]


@pytest.fixture(autouse=True)
def compiled_once(request, monkeypatch):
    """Have what is compiled for all policies compiled as for users, without checks of indices.

    So it is compiled once for these tests and those of references. Where kernels are interpreted,
    every index is checked.
    """
    if request.config.getoption("--compiled"):
        for module in (check_context, pending_decision_checks, policy_checks):
            monkeypatch.setattr(module, "bounds_checked", nullcontext)


@pytest.mark.few(100)
@pytest.mark.parametrize(("group", "policy", "check"), CASES)
def test_every_policy_keeps_the_contract(group, policy, check):
    # A learner of a file has its indices checked in any case: it would be compiled once more.
    with interpreted(check is saving_changes_nothing or is_interpreted()):
        check(shared_context(group, policy))
