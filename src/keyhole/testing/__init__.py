"""Conformance tests, which check that policies, problems and settings keep their contract."""

from keyhole.testing.check_context import CheckContext
from keyhole.testing.policy_checks import (
    CHECKS,
    PROBLEM_CHECKS,
    check_policy,
    check_problem,
    parametrize_with_checks,
)
from keyhole.testing.setting_checks import SETTING_CHECKS, SettingCase, check_setting

__all__ = [
    "CHECKS", "PROBLEM_CHECKS", "SETTING_CHECKS", "CheckContext", "SettingCase", "check_policy",
    "check_problem", "check_setting", "parametrize_with_checks",
]  # fmt: skip
