"""Checks that problems, and settings (kinds of bandits), do what other code relies on."""

from collections.abc import Mapping
from typing import Any, Final

import numpy as np

from keyhole.contract.environment import PER_ROUND, Problem
from keyhole.contract.policy import Policy
from keyhole.contract.setting import Setting
from keyhole.contract.state_arrays import declared_fields
from keyhole.play.example_decisions import is_allowed
from keyhole.play.study_vocabulary import StudyVocabulary
from keyhole.testing.check_context import CheckContext
from keyhole.testing.policy_checks import (
    Check,
    engine_is_deterministic,
    run_checks,
)
from keyhole.testing.setting_case import SettingCase
from keyhole.testing.vocabulary_checks import VOCABULARY_CHECKS


def environment_and_problem_share_a_setting(subject: CheckContext) -> None:
    """Check that the problem, its environment and the policy are of the same setting."""
    problem = subject.problem
    assert problem.setting is problem.environment.setting, (
        f"{problem}: its environment is of another setting"
    )
    assert subject.policy.setting is problem.setting, f"{subject.policy} is of another setting"


def truth_is_complete(subject: CheckContext) -> None:
    """Check that `truth` returns all values that the environment declares, in their shapes."""
    truth, environment = subject.problem.truth(), subject.problem.environment
    fields = {n: f for n, f in declared_fields(environment).items() if n not in PER_ROUND}
    missing = [name for name in fields if name not in truth]
    assert not missing, f"{subject.problem}: truth() lacks {', '.join(missing)}"
    sizes = {n: int(truth[n]) for n, f in fields.items() if f.dtype == "int64" and not f.shape}
    sizes |= dict.fromkeys(PER_ROUND, subject.horizon)
    for name, declaration in fields.items():
        found, wanted = np.shape(truth[name]), declaration.extent(sizes)
        assert found == wanted, f"{subject.problem}: {name} has the shape {found}, not {wanted}"
        assert not np.isnan(truth[name]).any(), f"{subject.problem}: {name} is not a number"


def facts_are_allowed(subject: CheckContext) -> None:
    """Check that the problem has every quantity that all policies know, with allowed values."""
    setting, facts = subject.problem.setting, {}
    for name in setting.known_quantities(()):
        facts[name] = subject.horizon if name in PER_ROUND else subject.problem.fact(name)
    setting.check((), facts)


def feedback_and_metrics_are_numbers(subject: CheckContext) -> None:
    """Check that no index leaves its array, and that feedback and metrics are never NaN."""
    learner, environment = subject.learner(), subject.environment()
    for _ in subject.play_rounds(learner, environment):
        for name, value in (environment.context | environment.feedback).items():
            assert not np.isnan(value).any(), f"{subject.problem}: {name} became NaN"
        for name, metric in environment.score(learner._recommend()).items():
            assert np.isfinite(metric), f"{subject.problem}: the metric {name} became {metric}"


PROBLEM_CHECKS: Final[tuple[Check, ...]] = (
    environment_and_problem_share_a_setting,
    truth_is_complete,
    facts_are_allowed,
    feedback_and_metrics_are_numbers,
    engine_is_deterministic,
)
"""All checks of a problem, by name; each takes a `CheckContext`, whose policy plays it."""


def check_problem(
    problem: Problem,
    policy: Policy,
    *,
    horizon: int = 100,
    seed: int = 0,
    failing: Mapping[str, str] | None = None,
) -> None:
    """Check that a problem and its environment keep the contract.

    `policy`, one of its setting, plays it; the other parameters are those of `check_policy`.

    Examples
    --------
    >>> from keyhole.thresholding import LSA, Problem
    >>> check_problem(Problem(means=[0.2, 0.45, 0.7], threshold=0.5), LSA())
    """
    subject = CheckContext(policy, problem, horizon, seed, failing or {})
    run_checks(PROBLEM_CHECKS, subject, subject.failing)


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
