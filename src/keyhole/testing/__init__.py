"""The conformance test: what every policy must do, ours and yours; problems and settings too."""

from keyhole.testing.checks import CHECKS, check_policy
from keyhole.testing.parametrized import parametrize_with_checks
from keyhole.testing.problems import (
    PROBLEM_CHECKS,
    SETTING_CHECKS,
    check_problem,
    check_setting,
)
from keyhole.testing.setting_case import Vocabulary
from keyhole.testing.trial import Trial

__all__ = [
    "CHECKS",
    "PROBLEM_CHECKS",
    "SETTING_CHECKS",
    "Trial",
    "Vocabulary",
    "check_policy",
    "check_problem",
    "check_setting",
    "parametrize_with_checks",
]
