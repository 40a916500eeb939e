"""The policies that a benchmark of a setting measures: all, with their default parameters."""

from keyhole.experiment.setting_registry import find_setting


def make_policies(setting, *given):
    """Return each policy of a setting by its name: the given ones, and the others by default.

    A policy with a parameter that has no default must be given.
    """
    made = {type(policy).__name__: policy for policy in given}
    policies = find_setting(setting).policies
    return {name: made.get(name) or policies[name]() for name in policies}
