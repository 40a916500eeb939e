"""Checks that settings (kinds of decision problems) do what other code relies on."""

from collections.abc import Mapping
from typing import Any, Final

import numpy as np

from keyhole.contract.setting import Setting
from keyhole.play.study_vocabulary import StudyVocabulary, is_allowed
from keyhole.testing.policy_checks import Check, run_checks
from keyhole.testing.setting_case import SettingCase
from keyhole.testing.vocabulary_checks import VOCABULARY_CHECKS

# The contract's own arguments of kernels, which a value of the same name would hide.
_TAKEN: Final = ("p", "e", "s", "t", "rng", "metrics")


def names_are_distinct(case: SettingCase) -> None:
    """Check that names of values are distinct, and none is reserved by the contract."""
    setting = case.setting
    groups = (setting.context, setting.decision, setting.feedback, setting.report)
    words = [*_TAKEN, *(name for group in groups for name in group)]
    twice = sorted({word for word in words if words.count(word) > 1})
    assert not twice, f"{setting.name}: {', '.join(twice)} means two things"


def facts_are_documented(case: SettingCase) -> None:
    """Check that every fact has a description."""
    for name, fact in case.setting.facts.items():
        assert fact.doc, f"{case.setting.name}: the fact {name} has no doc"


def facts_pass(case: SettingCase) -> None:
    """Check that the given facts are those that every policy knows, and allowed."""
    case.setting.check((), case.facts)


def guard_refuses_what_is_out_of_range(case: SettingCase) -> None:
    """Check that the guard refuses a negative index, one beyond all arms, and NaN."""
    setting, facts, sizes = case.setting, case.checked_facts, case.sizes
    for name, declaration in setting.decision.items():
        # Far beyond any array, but still an int64: only the guard can refuse it.
        bad = (-1, 2**62) if declaration.dtype == "int64" else (np.nan,)
        for value in bad:
            # One field is out of range at a time, the others are 0: no other can be the reason.
            decision: dict[str, Any] = {
                n: np.zeros(f.extent(sizes)) if f.shape else 0 for n, f in setting.decision.items()
            }
            decision[name] = decision[name] + value
            passed = is_allowed(setting, facts, case.context, decision)
            assert not passed, f"{setting.name}: the guard lets {name} = {value} pass"


SETTING_CHECKS: Final[tuple[Check, ...]] = (
    names_are_distinct,
    facts_are_documented,
    facts_pass,
    guard_refuses_what_is_out_of_range,
    *VOCABULARY_CHECKS,
)
"""All checks of a setting, by name; each takes a `SettingCase`."""


def check_setting(
    setting: Setting,
    facts: Mapping[str, Any],
    *,
    context: Mapping[str, Any] | None = None,
    decision: Mapping[str, Any] | None = None,
    vocabulary: type[StudyVocabulary] | None = None,
    failing: Mapping[str, str] | None = None,
) -> None:
    """Check that a setting keeps the contract.

    `facts`, `context` and `decision` are those of some problem and round, and `vocabulary` is the
    one that studies use: see `SettingCase`.

    Examples
    --------
    >>> from keyhole.thresholding.setting import SETTING
    >>> from keyhole.thresholding.study_adapter import StudyVocabulary
    >>> check_setting(SETTING, {"arms": 3, "threshold": 0.5}, vocabulary=StudyVocabulary)
    """
    case = SettingCase(setting, facts, context or {}, failing or {}, vocabulary, decision)
    run_checks(SETTING_CHECKS, case, case.failing)
