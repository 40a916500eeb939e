"""The check that kernels give the same results compiled and interpreted."""

import warnings
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from keyhole.kernels.interpreted_mode import interpreted
from keyhole.kernels.interpreter.error_explanation import NotInterpretedError
from keyhole.testing.check_context import CheckContext
from keyhole.testing.pending_decision_checks import PolicyWithPending, pending_modes

Groups = Mapping[str, Mapping[str, NDArray[Any]]]
_MOST_PENDING = 2  # decisions that wait for feedback when the next is taken


def interpreted_and_compiled_agree(subject: CheckContext) -> None:
    """Check that interpreted and compiled kernels write the same values, in every round.

    The check plays a learner, a simulation, and a policy with pending decisions. Values may differ
    if an integer exceeds 64 bits, or if a variable is an integer in one branch and a float in
    another. If something that the policy uses cannot be interpreted, there is only a warning.
    """
    try:
        _compare_learners(subject)
        _compare_engines(subject)
        for mode in pending_modes(subject.policy):
            _compare_pending(subject, mode)
    except NotInterpretedError as error:
        warnings.warn(f"not compared with compiled code: {error}", stacklevel=2)


def _compare_learners(subject: CheckContext) -> None:
    games = _make_both(subject.start_game)
    # Both games are compared after each round, since the first difference causes later ones.
    for t in range(1, subject.horizon + 1):
        if games[0][0].is_done:
            break
        for learner, environment in games:
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
            for learner, environment in games
        ]
        _refuse_difference(subject, f"round {t} of a learner", *groups)


def _compare_engines(subject: CheckContext) -> None:
    groups = [
        {"a metric": dict(zip(subject.metrics, values, strict=True))}
        for values in _make_both(subject.simulate_metrics)
    ]
    _refuse_difference(subject, f"a simulation of {subject.horizon} rounds", *groups)


def _compare_pending(subject: CheckContext, mode: str) -> None:
    games = _make_both(lambda: (PolicyWithPending(subject, mode), subject.environment(), []))
    for t in range(1, subject.horizon + 1):
        for policy, environment, rows in games:
            rows.append(policy.ask(environment, rows))
            # Feedback is told out of order, as in a study.
            if len(rows) > _MOST_PENDING:
                policy.tell(rows.pop(t % _MOST_PENDING))
        groups = [
            {
                "the decision": policy.decision_views,
                "the state": policy.views,
                "the stream": {"rng": policy.stream_position},
            }
            for policy, _, _ in games
        ]
        _refuse_difference(subject, f"round {t} with decisions pending ({mode!r})", *groups)


def _make_both(make: Callable[[], Any]) -> list[Any]:
    """Return what a function makes with compiled kernels, and with interpreted ones."""
    results = []
    for is_interpreted in (False, True):
        with interpreted(is_interpreted):
            results.append(make())
    return results


def _refuse_difference(
    subject: CheckContext, where: str, compiled_groups: Groups, interpreted_groups: Groups
) -> None:
    """Refuse arrays of compiled and interpreted kernels, by group and name, that differ."""
    for group, arrays in compiled_groups.items():
        for name, compiled in arrays.items():
            in_python = interpreted_groups[group][name]
            # NaN agrees with NaN: another check refuses policies that make it.
            is_different = (compiled != in_python) & ~(np.isnan(compiled) & np.isnan(in_python))
            for index in np.argwhere(np.atleast_1d(is_different)).tolist():
                values = (np.atleast_1d(a)[tuple(index)].item() for a in (compiled, in_python))
                raise AssertionError(
                    f"{subject.policy}: interpreted and compiled kernels differ in {where}: "
                    f"{group}, {name}{index}, is {next(values)} compiled, and {next(values)} "
                    "interpreted"
                )
