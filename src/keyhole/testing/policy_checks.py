"""Checks of policies, and of problems that they play: each tests a promise of the contract."""

from __future__ import annotations

import copy
import json
import math
import tempfile
import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import numpy as np
import tomli_w

from keyhole.contract.policy import Policy
from keyhole.contract.problem import ROUND_COUNT_NAMES, Problem
from keyhole.contract.state_arrays import declared_fields, declared_state
from keyhole.kernels.kernel_decorators import bounds_checked
from keyhole.play.learner import Learner
from keyhole.testing import pending_decision_checks
from keyhole.testing.check_context import REPLICATIONS, CheckContext, decision_as_numbers
from keyhole.testing.interpreter_agreement import interpreted_and_compiled_agree
from keyhole.validation import DEFAULT_SEED, check_choice

_ARM_COUNTS: Final = (1, 2, 1000)


def _save_and_load(learner: Learner) -> Any:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "learner.json"
        learner.save(path)
        with bounds_checked():
            return Learner.load(path, policies=[type(learner.policy)])


def parameters_round_trip(subject: CheckContext) -> None:
    """Check that parameters survive TOML and JSON, and that the policy is an immutable value."""
    policy = subject.policy
    values = policy.parameters()
    through_toml = tomllib.loads(tomli_w.dumps(values))
    through_json = json.loads(json.dumps(values))
    for form, read_values in (("JSON", through_json), ("TOML", through_toml)):
        read_policy = type(policy).from_parameters(read_values)
        assert read_policy == policy, f"{policy}: parameters changed on their way through {form}"
        assert hash(read_policy) == hash(policy), f"{policy}: equal policies have different hashes"
        assert repr(read_policy) == repr(policy), f"{policy}: equal policies print differently"
    for name in values:
        try:
            # Parameters identify learners and results. If a parameter were changed, they would seem
            # to belong to another policy.
            setattr(policy, name, values[name])
        except AttributeError:
            continue
        raise AssertionError(f"{policy}: the parameter {name} can be overwritten")


def stays_within_its_arrays(subject: CheckContext) -> None:
    """Check that no kernel reads or writes beyond an array."""
    # To compute the property, a game is played in which this raises an AssertionError.
    assert subject.first_nan is not None


def acts_at_all(subject: CheckContext) -> None:
    """Check that the policy takes different decisions, or that its state changes."""
    learner, environment = subject.start_game()
    first_state = {name: value.copy() for name, value in learner.state.items()}
    decisions = set()
    for decision in subject.play_rounds(learner, environment):
        # Decisions are kept as text, since a decision with an array is a list, which has no hash.
        decisions.add(repr(decision))
        state = learner.state.items()
        if len(decisions) > 1 or any((first_state[n] != value).any() for n, value in state):
            return
    raise AssertionError(
        f"{subject.policy}: {subject.horizon} rounds, one decision, and nothing remembered"
    )


def engine_is_deterministic(subject: CheckContext) -> None:
    """Check that a seed gives the same bits, in any number of threads and beside another policy."""
    # One simulation is repeated in three threads, beside the same policy under another label.
    repeated_metrics = subject.simulate_metrics(subject.policy, threads=3)
    assert np.array_equal(subject.simulated, repeated_metrics), (
        f"{subject.policy}: run again, in three threads and beside another policy, it gave other "
        "results"
    )


def engine_and_learner_agree(subject: CheckContext) -> None:
    """Check that a learner and a simulation of the same replication end with equal metrics.

    A learner receives feedback only. So this also shows that the policy reads nothing that its
    setting hides.
    """
    simulated_metrics = subject.simulated
    last = REPLICATIONS - 1
    for replication, (_, metrics) in ((0, subject.played), (last, subject.play_through(last))):
        # A learner's game has no `STOP_METRICS`, which come last in a simulation.
        assert metrics == simulated_metrics[: len(metrics), replication].tolist(), (
            f"{subject.policy}: engine and learner differ in replication {replication}"
        )


def saving_changes_nothing(subject: CheckContext) -> None:
    """Check that saving and loading a learner at random moments changes no decision."""
    expected_decisions, _ = subject.played
    learner, environment = subject.start_game()
    rng = np.random.default_rng(subject.seed)
    # The learner is saved in up to two rounds while a decision is pending, when its file holds
    # more, and in up to two after the feedback.
    rounds_after_ask, rounds_after_tell = rng.choice(subject.horizon, (2, 2)).tolist()
    decisions = []
    for t in range(len(expected_decisions)):
        environment.ask(learner)
        if t in rounds_after_ask:
            learner = _save_and_load(learner)
        decisions.append(decision_as_numbers(learner._decision))
        environment.tell(learner)
        if t in rounds_after_tell:
            learner = _save_and_load(learner)
    text = f"{subject.policy}: saving and loading changed its decisions"
    if any(not field.kept for field in declared_state(type(subject.policy)).values()):
        text += ": arrays of `scratch_array` are not saved"
    if reason := subject.policy.explain_waiting():
        text += f"; {reason}"
    assert decisions == expected_decisions, text


def copies_go_on_alone(subject: CheckContext) -> None:
    """Check that a copy of a learner takes the same decisions, independently of the original."""
    expected_decisions, _ = subject.played
    rng = np.random.default_rng(subject.seed)
    for make_copy in (copy.copy, copy.deepcopy):
        learner, environment = subject.start_game()
        copied_rounds = set(rng.choice(subject.horizon, 2).tolist())
        decisions = []
        for t in range(len(expected_decisions)):
            environment.ask(learner)
            if t in copied_rounds:
                with bounds_checked():
                    original = learner
                    learner = make_copy(original)
                original._tell()  # other feedback, which must not affect the copy
            decisions.append(decision_as_numbers(learner._decision))
            environment.tell(learner)
        assert decisions == expected_decisions, (
            f"{subject.policy}: {make_copy.__name__} changed its decisions"
        )


def state_stays_a_number(subject: CheckContext) -> None:
    """Check that neither the state nor a recommendation becomes NaN."""
    assert not subject.first_nan, f"{subject.policy}: {subject.first_nan}"


def works_for_any_number_of_arms(subject: CheckContext) -> None:
    """Check that the policy plays with 1, 2 and 1,000 arms, if the problem can be resized.

    Numbers of arms that the setting does not allow (its fact ``arms``) are left out. A problem that
    has fewer rounds than are wanted is played as long as it lasts.
    """
    play_with_arm_counts(subject, _ARM_COUNTS)


def play_with_arm_counts(subject: CheckContext, arm_counts: Sequence[int]) -> None:
    """Play the problem with these numbers of arms, and check that its metrics are finite."""
    allowed = subject.policy.setting.facts["arms"].allowed
    for arms in (count for count in arm_counts if count in allowed):
        problem = subject.problem.resized(arms)
        if problem is None:
            return
        # Enough rounds to pull every arm once, and a hundred more.
        rounds = min(max(subject.horizon, arms + 100), problem.rounds or math.inf)
        resized_subject = replace(subject, problem=problem, horizon=int(rounds))
        # Only one replication, since simulations of a large problem take long.
        values = resized_subject.simulate_metrics(replications=1)
        assert np.isfinite(values).all(), f"{subject.policy}: no finite metrics with {arms} arms"


def environment_and_problem_share_a_setting(subject: CheckContext) -> None:
    """Check that the problem, its environment and the policy are of the same setting."""
    problem = subject.problem
    assert problem.setting is problem.environment.setting, (
        f"{problem}: its environment is of another setting"
    )
    assert subject.policy.setting is problem.setting, f"{subject.policy} is of another setting"


def truth_is_complete(subject: CheckContext) -> None:
    """Check that `truth` returns all values that the environment declares, in their shapes."""
    truth = subject.problem.truth()
    fields = declared_fields(subject.problem.environment)
    fields = {name: field for name, field in fields.items() if name not in ROUND_COUNT_NAMES}
    missing = [name for name in fields if name not in truth]
    assert not missing, f"{subject.problem}: truth() lacks {', '.join(missing)}"
    # The lengths of arrays are among the fields that are single whole numbers.
    sizes = {n: int(truth[n]) for n, f in fields.items() if f.dtype == "int64" and not f.shape}
    sizes |= dict.fromkeys(ROUND_COUNT_NAMES, subject.horizon)
    for name, declaration in fields.items():
        shape = np.shape(truth[name])
        extent = declaration.extent(sizes)
        assert shape == extent, f"{subject.problem}: {name} has the shape {shape}, not {extent}"
        assert not np.isnan(truth[name]).any(), f"{subject.problem}: {name} is not a number"


def facts_are_allowed(subject: CheckContext) -> None:
    """Check that the problem has the quantities that all policies know, with allowed values."""
    setting = subject.problem.setting
    facts = {}
    for name in setting.known_quantities(()):
        facts[name] = subject.horizon if name in ROUND_COUNT_NAMES else subject.problem.fact(name)
    setting.check((), facts)


def feedback_and_metrics_are_numbers(subject: CheckContext) -> None:
    """Check that no index leaves its array, and that feedback and metrics are never NaN."""
    learner, environment = subject.start_game()
    for _ in subject.play_rounds(learner, environment):
        for name, value in (environment.context | environment.feedback).items():
            assert not np.isnan(value).any(), f"{subject.problem}: {name} became NaN"
        for name, metric in environment.score(learner._recommend()).items():
            assert np.isfinite(metric), f"{subject.problem}: the metric {name} became {metric}"


Check = Callable[[Any], None]

CHECKS: Final[tuple[Check, ...]] = (
    parameters_round_trip,
    # This is the first check that plays, since it checks indices. The engine does not check them:
    # there a faulty kernel would corrupt memory.
    stays_within_its_arrays,
    acts_at_all,
    engine_is_deterministic,
    engine_and_learner_agree,
    interpreted_and_compiled_agree,
    saving_changes_nothing,
    copies_go_on_alone,
    state_stays_a_number,
    pending_decision_checks.one_at_a_time_nothing_is_pending,
    pending_decision_checks.feedback_belongs_to_its_decision,
    pending_decision_checks.pending_decisions_are_safe,
    works_for_any_number_of_arms,
)
"""All checks of a policy, in their order; each takes a `CheckContext`."""

PROBLEM_CHECKS: Final[tuple[Check, ...]] = (
    environment_and_problem_share_a_setting,
    truth_is_complete,
    facts_are_allowed,
    feedback_and_metrics_are_numbers,
    engine_is_deterministic,
)
"""All checks of a problem; each takes a `CheckContext`, whose policy plays the problem."""


def run_checks(checks: Sequence[Check], subject: Any, failing: Mapping[str, str]) -> None:
    """Run checks in order; those whose names are in `failing`, with a reason, must fail."""
    for name in failing:
        check_choice("failing", name, [check.__name__ for check in checks])
    for check in checks:
        if check.__name__ not in failing:
            check(subject)
            continue
        try:
            check(subject)
        # Any error will do, since a broken policy may fail an assertion, or raise in its own code.
        except Exception:
            continue
        raise AssertionError(
            f"{check.__name__} was expected to fail ({failing[check.__name__]}), but passes"
        )


def check_policy(
    policy: Policy,
    problem: Problem,
    *,
    horizon: int = 100,
    seed: int = DEFAULT_SEED,
    failing: Mapping[str, str] | None = None,
) -> None:
    """Check that a policy keeps the contract; an AssertionError names the broken promise.

    Parameters
    ----------
    policy : Policy
        The policy.
    problem : Problem
        A problem of its setting.
    horizon : int, default 100
        Rounds to play, at least 2; there should be enough for all phases of the policy.
    seed : int, default 0
        The seed of all random numbers.
    failing : mapping of str to str, optional
        Checks that are known to fail, by name, each with the reason. They must fail.

    Examples
    --------
    >>> from keyhole.thresholding import LSA, Problem
    >>> check_policy(LSA(), Problem(means=[0.2, 0.45, 0.7], threshold=0.5))
    """
    subject = CheckContext(policy, problem, horizon, seed, failing or {})
    run_checks(CHECKS, subject, subject.failing)


def check_problem(
    problem: Problem,
    policy: Policy,
    *,
    horizon: int = 100,
    seed: int = DEFAULT_SEED,
    failing: Mapping[str, str] | None = None,
) -> None:
    """Check that a problem and its environment keep the contract.

    `policy`, a policy of its setting, plays the problem; the other parameters are those of
    `check_policy`.

    Examples
    --------
    >>> from keyhole.thresholding import LSA, Problem
    >>> check_problem(Problem(means=[0.2, 0.45, 0.7], threshold=0.5), LSA())
    """
    subject = CheckContext(policy, problem, horizon, seed, failing or {})
    run_checks(PROBLEM_CHECKS, subject, subject.failing)


def parametrize_with_checks(
    subjects: Iterable[Any], checks: Sequence[Check] = CHECKS
) -> Callable[[Any], Any]:
    """Return a pytest decorator that runs each check on each subject as a test of its own.

    The test takes two arguments, ``check`` and ``subject``. A check that is named in the `failing`
    of a subject must fail.

    Parameters
    ----------
    subjects : iterable of CheckContext or SettingCase
        The arguments of the checks.
    checks : sequence of callable, default CHECKS
        The checks: `CHECKS`, `PROBLEM_CHECKS`, `SETTING_CHECKS`, or some of them.

    Examples
    --------
    >>> from keyhole.testing import CheckContext
    >>> from keyhole.thresholding import APT, LSA, Problem
    >>> problem = Problem(means=[0.2, 0.45, 0.7], threshold=0.5)
    >>> @parametrize_with_checks([CheckContext(LSA(), problem), CheckContext(APT(), problem)])
    ... def test_it_keeps_the_contract(check, subject):
    ...     check(subject)
    """
    import pytest  # not a dependency of Keyhole itself

    names = [check.__name__ for check in checks]
    cases = []
    for subject in subjects:
        label = repr(getattr(subject, "policy", subject))
        for name in subject.failing:
            check_choice(f"failing of {label}", name, names)
        for check in checks:
            reason = subject.failing.get(check.__name__)
            # Strict: like `run_checks`, it does not let a check pass that must fail.
            marks = () if reason is None else (pytest.mark.xfail(reason=reason, strict=True),)
            cases.append(pytest.param(check, subject, id=f"{label}-{check.__name__}", marks=marks))
    return pytest.mark.parametrize(("check", "subject"), cases)
