"""A short trial of users' own policies in Python, for faults that compiled code does not notice."""

import ctypes
import threading
import warnings
from collections import defaultdict
from collections.abc import Iterable
from contextvars import copy_context
from time import perf_counter, thread_time
from typing import Any, Final

import numpy as np

from keyhole.contract.kernel_compilation import CompiledClass, compiled_policy
from keyhole.kernels.compiler_fork_locks import interpreted_call_lock
from keyhole.kernels.interpreted_mode import interpreted
from keyhole.kernels.interpreter import error_explanation
from keyhole.kernels.kernel_decorators import bounds_checked
from keyhole.play.interactive_environment import InteractiveEnvironment
from keyhole.play.learner import Learner, make_learner
from keyhole.play.simulation_plan import Plan
from keyhole.status_output import redirect_prints

_ROUNDS: Final = 200
_CPU_SECONDS: Final = 1.0
"""Processor time after which no further round begins, since a policy may be slow in Python."""
_MOST_SECONDS: Final = 10.0
"""Elapsed time after which a trial is ended even within a round, which may never end by itself."""
_CLASS_SECONDS: Final = 20.0
"""Time for all trials of a class in a process, since a sweep may have many policies of a class."""
_MOST_ARMS: Final = 1000
"""The most arms of a policy that is tried. With more, a single round may take long in Python."""
_UNWRITTEN: Final = {"float64": np.nan, "int64": np.iinfo(np.int64).min}
"""The values of the entries of a recommendation before the policy writes them."""

_UNNOTICED_ERRORS: Final = (
    error_explanation.UnnoticedError,
    error_explanation.OutOfBoundsError,
    UnboundLocalError,
)

# By the digest of a class: those trials in this process that refused no policy, as (parameters,
# arms, rounds), and the seconds that all trials took.
_past_trials: Final[dict[str, set[tuple[str, int, int]]]] = defaultdict(set)
_trial_seconds: Final[dict[str, float]] = defaultdict(float)


def try_policies(plans: Iterable[tuple[str, Plan]]) -> None:
    """Try all policies of plans; each plan has a text for messages, such as "on the problem 'a'".

    What the policies print goes to standard error.

    Raises
    ------
    ValueError
        If a policy raises any error.
    """
    with redirect_prints():
        for situation, plan in plans:
            for label, policy in plan.policies.items():
                if error := find_policy_error(plan, label, compiled_policy(type(policy))):
                    raise _make_refusal_error(label, situation, error) from error


def refuse_unnoticed_faults(plan: Plan, label: str, compiled: CompiledClass) -> None:
    """Raise a ValueError if a policy makes an error that compiled code would not notice."""
    if isinstance(error := find_policy_error(plan, label, compiled), _UNNOTICED_ERRORS):
        raise _make_refusal_error(label, "in its first rounds", error) from error


def _make_refusal_error(label: str, situation: str, error: BaseException) -> ValueError:
    if isinstance(error, error_explanation.UnnoticedError | error_explanation.OutOfBoundsError):
        return ValueError(f"{label} fails {situation}: {error}")
    notes = "".join(f", {note}" for note in getattr(error, "__notes__", ()))
    return ValueError(f"{label} fails {situation}: {type(error).__name__}: {error}{notes}")


def find_policy_error(plan: Plan, label: str, compiled: CompiledClass) -> BaseException | None:
    """Play the first rounds of a user's policy in Python; return the error that it raises, if any.

    A trial has 200 rounds, or two for each arm if that is more, but at most the horizon. It may end
    before, since its time is limited. A policy that Python cannot run passes. There is no trial of
    Keyhole's own policies, of policies with more than 1,000 arms, of a class whose trials have
    taken 20 seconds, or of a case (parameters, arms and rounds) that has passed in this process.
    """
    arms = int(plan.problem.fact("arms")) if "arms" in plan.problem.setting.facts else 1
    is_time_up = _trial_seconds[compiled.digest] > _CLASS_SECONDS
    if compiled.is_shipped or arms > _MOST_ARMS or is_time_up:
        return None
    rounds = min(max(_ROUNDS, 2 * arms), plan.horizon)
    # Not `repr(policy)`, which users may define.
    case = repr(plan.policies[label].parameters()), arms, rounds
    if case in _past_trials[compiled.digest]:
        return None
    start = perf_counter()
    is_over = threading.Event()
    errors: list[BaseException] = []

    def play() -> None:
        try:
            with interpreted_call_lock(), interpreted(), bounds_checked():
                _play_rounds(plan, label, rounds)
        except BaseException as error:  # a user's policy may raise anything
            errors.append(error)
        finally:
            is_over.set()

    # Warnings are ignored here, since the simulation gives them itself. A filter of warnings holds
    # for the whole process. This thread sets and resets it, since the trial's thread may end late.
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        # The trial has a thread of its own, which can be ended in the midst of a round.
        trial_thread = threading.Thread(target=copy_context().run, args=(play,), daemon=True)
        trial_thread.start()
        try:
            is_over.wait(_MOST_SECONDS)
        finally:
            if is_late := not is_over.is_set():
                ctypes.pythonapi.PyThreadState_SetAsyncExc(
                    ctypes.c_ulong(trial_thread.ident or 0), ctypes.py_object(SystemExit)
                )
    _trial_seconds[compiled.digest] += perf_counter() - start
    if errors and not is_late and not isinstance(errors[0], error_explanation.NotInterpretedError):
        return errors[0]
    _past_trials[compiled.digest].add(case)
    return None


def _play_rounds(plan: Plan, label: str, rounds: int) -> None:
    # The policy knows the horizon of the simulation, though only some of its rounds are played.
    policy = plan.policies[label]
    learner = make_learner(policy, plan.facts(policy, plan.horizon), seed=plan.seed)
    environment = InteractiveEnvironment(plan.problem, seed=plan.seed, horizon=plan.horizon)
    deadline = thread_time() + _CPU_SECONDS
    while learner.rounds < rounds and not learner.is_done:
        environment.play_round(learner)
        if thread_time() > deadline:
            break
    has_ended = learner.is_done or learner.rounds == plan.horizon
    if not hasattr(policy, "recommend"):  # then the recommendation stays 0
        return
    recommendation = _check_recommendation(learner, has_ended)
    if recommendation is not None:
        environment.score(recommendation)  # refuses arms out of range, since they become indices


def _check_recommendation(learner: Learner, has_ended: bool) -> dict[str, Any] | None:
    """Return the learner's recommendation; refuse an entry that is NaN or was not written.

    Before the last round, a policy may leave some entries of an array unwritten. Then the result is
    None, and only an array without any written entry is refused.
    """
    for view in learner._report.values():
        view[...] = _UNWRITTEN[view.dtype.name]
    recommendation = learner._recommend()
    is_complete = True
    for name, values in recommendation.items():
        unwritten_value = _UNWRITTEN[values.dtype.name]
        is_missing = np.isnan(values) if np.isnan(unwritten_value) else values == unwritten_value
        is_complete &= not is_missing.any()
        if is_missing.any() and (has_ended or is_missing.all()):
            indices = "".join(f"[{i}]" for i in np.argwhere(is_missing)[0])
            raise error_explanation.UnnoticedError(
                f"{type(learner.policy).__name__}.recommend must write a number into every entry "
                f"of {name}; after round {learner.rounds} {name}{indices} is NaN or was not written"
            )
    return recommendation if is_complete else None
