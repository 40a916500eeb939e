"""The check that kernels give the same results compiled and interpreted."""

import warnings
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from keyhole.kernels.interpreted_mode import interpreted
from keyhole.kernels.interpreter.error_explanation import NotInterpretedError
from keyhole.testing.check_context import CheckContext
from keyhole.testing.pending_checks import PolicyWithPending, pending_modes

Arrays = Mapping[str, NDArray[Any]]
_MOST_PENDING = 2  # decisions at a time


def interpreted_and_compiled_agree(subject: CheckContext) -> None:
    """Check that interpreted and compiled kernels write the same values, in every round.

    They may differ if an integer exceeds 64 bits, or if a variable is an integer in one branch and
    a float in another. Learner, environment and engine are compared. If something that the policy
    uses cannot be interpreted, there is a warning.
    """
    try:
        _compare_learners(subject)
        _compare_engines(subject)
        for mode in pending_modes(subject.policy):
            _compare_pending(subject, mode)
    except NotInterpretedError as error:
        warnings.warn(f"not compared with compiled code: {error}", stacklevel=2)


def _compare_learners(subject: CheckContext) -> None:
    pairs = _make_pair(lambda: (subject.learner(), subject.environment()))
    # Both learners are compared after each round, since the first difference causes later ones.
    for t in range(1, subject.horizon + 1):
        if pairs[0][0].is_done:
            break
        for learner, environment in pairs:
            environment.play_round(learner)
            environment.score(learner._recommend())
        groups = [
            {
                "the context": learner._context,
                "the decision": learner._decision,
                "the feedback": environment.feedback,
                "the state": learner.state,
                "the recommendation": learner._report,
                "the state of the environment": environment._state,
                "a metric": environment._metrics,
                "the stream": {"rng": learner._rng, "rng of the environment": environment._rng},
            }
            for learner, environment in pairs
        ]
        _refuse_difference(subject, f"round {t} of a learner", *groups)


def _compare_engines(subject: CheckContext) -> None:
    groups = [
        {"a metric": dict(zip(subject.metrics, values, strict=True))}
        for values in _make_pair(subject.simulate_metrics)
    ]
    _refuse_difference(subject, f"a simulation of {subject.horizon} rounds", *groups)


def _compare_pending(subject: CheckContext, mode: str) -> None:
    # Decisions are told out of order, as in a study.
    pairs = _make_pair(lambda: (PolicyWithPending(subject, mode), subject.environment(), []))
    for t in range(1, subject.horizon + 1):
        for pending, environment, decisions in pairs:
            decisions.append(pending.ask(environment, decisions))
            if len(decisions) > _MOST_PENDING:
                pending.tell(decisions.pop(t % _MOST_PENDING))
        groups = [
            {
                "the decision": pending.decision_views,
                "the state": pending.views,
                "the stream": {"rng": pending.stream_position},
            }
            for pending, _, _ in pairs
        ]
        _refuse_difference(subject, f"round {t} with decisions pending ({mode!r})", *groups)


def _make_pair(make: Callable[[], Any]) -> list[Any]:
    """Return what a function makes with compiled kernels, and with interpreted ones."""
    results = []
    for is_interpreted in (False, True):
        with interpreted(is_interpreted):
            results.append(make())
    return results


def _refuse_difference(
    subject: CheckContext, where: str, compiled: Mapping[str, Arrays], python: Mapping[str, Arrays]
) -> None:
    """Refuse compiled and interpreted arrays, by group and name, that differ in an entry."""
    for group, arrays in compiled.items():
        for name, array in arrays.items():
            python_array = python[group][name]
            # NaN agrees with NaN: another check refuses policies that make it.
            is_different = (array != python_array) & ~(np.isnan(array) & np.isnan(python_array))
            for index in np.argwhere(np.atleast_1d(is_different)).tolist():
                values = (np.atleast_1d(a)[tuple(index)].item() for a in (array, python_array))
                raise AssertionError(
                    f"{subject.policy}: interpreted and compiled kernels differ in {where}: "
                    f"{group}, {name}{index}, is {next(values)} compiled, and {next(values)} "
                    "interpreted"
                )
