"""Checks of problems, and of the environments that simulate them, for what other code relies on."""

from collections.abc import Mapping
from typing import Final

import numpy as np

from keyhole.contract.policy import Policy
from keyhole.contract.problem import ROUND_COUNT_NAMES, Problem
from keyhole.contract.state_arrays import declared_fields
from keyhole.testing.check_context import CheckContext
from keyhole.testing.policy_checks import Check, engine_is_deterministic, run_checks


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
    fields = {n: f for n, f in declared_fields(environment).items() if n not in ROUND_COUNT_NAMES}
    missing = [name for name in fields if name not in truth]
    assert not missing, f"{subject.problem}: truth() lacks {', '.join(missing)}"
    sizes = {n: int(truth[n]) for n, f in fields.items() if f.dtype == "int64" and not f.shape}
    sizes |= dict.fromkeys(ROUND_COUNT_NAMES, subject.horizon)
    for name, declaration in fields.items():
        found, wanted = np.shape(truth[name]), declaration.extent(sizes)
        assert found == wanted, f"{subject.problem}: {name} has the shape {found}, not {wanted}"
        assert not np.isnan(truth[name]).any(), f"{subject.problem}: {name} is not a number"


def facts_are_allowed(subject: CheckContext) -> None:
    """Check that the problem has every quantity that all policies know, with allowed values."""
    setting, facts = subject.problem.setting, {}
    for name in setting.known_quantities(()):
        facts[name] = subject.horizon if name in ROUND_COUNT_NAMES else subject.problem.fact(name)
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
