"""Short trial of users' own policies in Python: compiled code does not notice what they do wrong.

It reads and writes beyond arrays, compares with NaN, and takes a recommendation that was not filled
for one that was.
"""

import warnings
from contextlib import suppress
from time import perf_counter
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from keyhole.contract.policy import Policy
from keyhole.contract.problem import Problem
from keyhole.interrupts import replaced_errors
from keyhole.kernels.interpreted_mode import interpreted
from keyhole.kernels.interpreter.error_explanation import NotInterpretedError
from keyhole.play.learner import Learner

if TYPE_CHECKING:
    from keyhole.testing import CheckContext

_ROUNDS: Final = 200
_SECONDS: Final = 2.0
"""Rounds that would take longer are left out: a policy may be slow in Python."""
_MOST_ARMS: Final = 1000
"""With more arms a single round may take long in Python."""
_UNFILLED: Final = {"float64": np.nan, "int64": np.iinfo(np.int64).min}
"""What a recommendation holds before the policy writes it."""


def try_user_policy(name: str, policy: Policy, problem: Problem, horizon: int, where: str) -> None:
    """Play some rounds of a policy of a user's file in Python, and check what it returns.

    Raises a ValueError that names the policy, says `where` it failed, and what it did. A policy
    that cannot be played in Python, or has more than 1,000 arms here, is not tried.
    """
    from keyhole.testing import CheckContext  # here, since few runs have a user's policy

    arms = int(problem.fact("arms"))
    if arms > _MOST_ARMS:
        return
    context = CheckContext(policy, problem, min(horizon, max(_ROUNDS, 2 * arms)))

    def replace(error: BaseException) -> BaseException:
        if isinstance(error, NotInterpretedError):
            return error
        return ValueError(f"{name} fails {where}: {type(error).__name__}: {error}")

    # A user's policy may raise anything. Its cautions are for the whole simulation, which gives
    # them itself.
    with (
        suppress(NotInterpretedError),
        replaced_errors(replace),
        interpreted(),
        warnings.catch_warnings(),
    ):
        warnings.simplefilter("ignore")
        _play(context)


def _play(context: "CheckContext") -> None:
    learner, environment = context.learner(), context.environment()
    ends = perf_counter() + _SECONDS
    for _ in context.play_rounds(learner, environment):
        if perf_counter() > ends:
            break
    environment.score(_recommend(learner))


def _recommend(learner: Learner) -> dict[str, Any]:
    """Return the learner's recommendation; refuse one with NaN, or not written as a whole."""
    for view in learner._report.values():
        view[...] = _UNFILLED[view.dtype.name]
    found = learner._recommend()
    for name, values in found.items():
        unfilled = _UNFILLED[values.dtype.name]
        is_missing = np.isnan(values) if np.isnan(unfilled) else values == unfilled
        if is_missing.any():
            place = "".join(f"[{i}]" for i in np.argwhere(is_missing)[0])
            raise ValueError(
                f"{type(learner.policy).__name__}.recommend must write a number into every entry "
                f"of {name}; after round {learner.rounds} {name}{place} is NaN or was not written"
            )
    return found
