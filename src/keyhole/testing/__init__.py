"""Conformance tests: whether policies, problems and settings, also yours, keep their contract."""

from keyhole.testing.check_context import CheckContext
from keyhole.testing.policy_checks import CHECKS, check_policy
from keyhole.testing.problem_checks import PROBLEM_CHECKS, check_problem
from keyhole.testing.pytest_decorator import parametrize_with_checks
from keyhole.testing.setting_case import SettingCase
from keyhole.testing.setting_checks import SETTING_CHECKS, check_setting

__all__ = [
    "CHECKS",
    "PROBLEM_CHECKS",
    "SETTING_CHECKS",
    "CheckContext",
    "SettingCase",
    "check_policy",
    "check_problem",
    "check_setting",
    "parametrize_with_checks",
]
