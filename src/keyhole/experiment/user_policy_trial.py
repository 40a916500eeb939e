"""Short trial of users' own policies in Python: compiled code does not notice what they do wrong.

It reads and writes beyond arrays, compares with NaN, and takes a recommendation that was not filled
for one that was.
"""

import warnings
from collections.abc import Iterable
from contextlib import suppress
from time import perf_counter
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from keyhole.contract.policy import Policy
from keyhole.contract.problem import Problem
from keyhole.interrupts import replaced_errors
from keyhole.kernels.interpreted_mode import interpreted
from keyhole.kernels.interpreter.error_explanation import NotInterpretedError
from keyhole.play.learner import Learner
from keyhole.status_output import redirect_prints

if TYPE_CHECKING:
    from keyhole.testing import CheckContext

_ROUNDS: Final = 200
_SECONDS: Final = 2.0
"""Rounds that would take longer are left out: a policy may be slow in Python."""
_SECONDS_IN_ALL: Final = 20.0
"""Policies after that are not tried: a sweep may have many."""
_MOST_ARMS: Final = 1000
"""With more arms a single round may take long in Python."""
_UNFILLED: Final = {"float64": np.nan, "int64": np.iinfo(np.int64).min}
"""What a recommendation holds before the policy writes it."""


class Candidate(NamedTuple):
    """A policy of a user's file, and the simulation that it is for."""

    name: str  # FILE.py:CLASS
    policy: Policy
    problem: Problem
    horizon: int
    where: str  # in messages, such as "before the run"


def try_user_policies(candidates: Iterable[Candidate]) -> None:
    """Try each policy with each of its parameters and each number of arms that it plays."""
    tried, ends = set(), perf_counter() + _SECONDS_IN_ALL
    for one in candidates:
        # Not `repr(policy)`, which rounds numbers and may be the user's.
        key = one.name, repr(one.policy.parameters()), one.problem.fact("arms")
        if key not in tried and perf_counter() < ends:
            tried.add(key)
            try_user_policy(*one)


def try_user_policy(name: str, policy: Policy, problem: Problem, horizon: int, where: str) -> None:
    """Play the first rounds of a policy of a user's file in Python, and check what it returns.

    Raises a ValueError that names the policy, says `where` it failed, and what it did. A policy
    that cannot be played in Python, or has more than 1,000 arms here, is not tried.
    """
    from keyhole.testing import CheckContext  # here, since few runs have a user's policy

    arms = int(problem.fact("arms"))
    if arms > _MOST_ARMS:
        return
    # The policy knows the whole horizon, as in the simulation, though only some rounds are played.
    context, rounds = CheckContext(policy, problem, horizon), max(_ROUNDS, 2 * arms)

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
        redirect_prints(),
        warnings.catch_warnings(),
    ):
        warnings.simplefilter("ignore")
        _play(context, rounds)


def _play(context: "CheckContext", rounds: int) -> None:
    learner, environment = context.learner(), context.environment()
    ends = perf_counter() + _SECONDS
    for _ in context.play_rounds(learner, environment):
        if learner.rounds == rounds or perf_counter() > ends:
            break
    is_whole = learner.is_done or learner.rounds == context.horizon
    recommendation = _recommend(learner, is_whole)
    if recommendation is not None:
        environment.score(recommendation)  # which reads what an arm's number points to


def _recommend(learner: Learner, is_whole: bool) -> dict[str, Any] | None:
    """Return the learner's recommendation; refuse one with NaN, or not written as a whole.

    Before the end of its game a policy may have nothing to say of some arms, for which None is
    returned: then only an array of which it writes nothing is refused.
    """
    for view in learner._report.values():
        view[...] = _UNFILLED[view.dtype.name]
    found, is_complete = learner._recommend(), True
    for name, values in found.items():
        unfilled = _UNFILLED[values.dtype.name]
        is_missing = np.isnan(values) if np.isnan(unfilled) else values == unfilled
        is_complete &= not is_missing.any()
        if is_missing.any() if is_whole else is_missing.all():
            place = "".join(f"[{i}]" for i in np.argwhere(is_missing)[0])
            raise ValueError(
                f"{type(learner.policy).__name__}.recommend must write a number into every entry "
                f"of {name}; after round {learner.rounds} {name}{place} is NaN or was not written"
            )
    return found if is_complete else None
