"""Claims (statements of a paper) that the mean of a metric is below, or above, a bound."""

import math
from collections.abc import Mapping, Sequence
from typing import Annotated, Literal

from pydantic import AfterValidator

from keyhole.papers.claims.base import Finding, Result, Rounds, format_round
from keyhole.papers.claims.bound_registry import BOUNDS
from keyhole.papers.claims.claimed_ranges import is_inside
from keyhole.papers.claims.negative_control import ControlledClaim
from keyhole.papers.claims.verdict_numbers import format_compared, number_of
from keyhole.papers.entry_references import PolicyName, ProblemName
from keyhole.play.plan import Plan
from keyhole.results.estimate import Estimate, format_estimate
from keyhole.validate import check_choice


def _check_bound_name(name: str) -> str:
    return check_choice("bound", name, BOUNDS)


BoundName = Annotated[str, AfterValidator(_check_bound_name)]
"""A name in `BOUNDS`."""


def check_bound(name: str, policy: str, plan: Plan, rounds: Sequence[int]) -> None:
    """Refuse a bound of another setting, or one that has no finite value at some round."""
    setting = plan.problem.setting.name
    if name.partition(".")[0] != setting:
        raise ValueError(
            f"bound must be one of the setting {setting!r}, as the problem is, got {name!r}"
        )
    # Evaluated when the file is read: a bound may be undefined or infinite at small rounds, which
    # would otherwise surface after hours of simulation.
    for t in rounds:
        try:
            value = BOUNDS[name](plan.problem, plan.policies[policy], t, plan.horizon)
        except ValueError as error:
            raise ValueError(f"bound {name!r} {format_round(t)}: {error}") from error
        if not math.isfinite(value):
            raise ValueError(f"bound {name!r} must be finite {format_round(t)}, got {value}")


def bound_of(name: str, policy: str, result: Result, round: int) -> float:
    """Return the value of a policy's bound at a checkpoint."""
    horizon = result.curves.checkpoints[-1]
    return BOUNDS[name](result.problem, result.policies.get(policy), round, horizon)


class Bounded(ControlledClaim):
    """The mean of a metric of a policy stays at or below a bound of the setting, or at or above it.

    The claim holds if at every round the 95 % interval lies on the right side, and does not hold
    if at some round the mean is significantly on the other (adjusted by Holm over the rounds).
    The negative control is held to the bound of the policy.
    """

    kind: Literal["below-bound", "above-bound"]
    policy: PolicyName
    problem: ProblemName
    bound: BoundName  # a name in `BOUNDS`
    rounds: Rounds | None = None  # at which checkpoints; by default at all

    @property
    def needs_negative_control(self) -> bool:
        """Always true: a bound may be so loose that every policy keeps it."""
        return True

    def check(self, plan: Plan) -> None:
        """Refuse a bound of another setting, or one that has no finite value at some round."""
        check_bound(self.bound, self.policy, plan, self.rounds or plan.checkpoints)

    def judge_policy(self, results: Mapping[str, Result], policy: str) -> Finding:
        """Compare the mean with the bound, round by round."""
        result = results[self.problem]
        rounds = self.rounds or result.curves.checkpoints
        found, distances = [], []
        for t in rounds:
            number = result.estimate(policy, self.metric, t)
            # The bound of the claimed policy, also for the negative control.
            value = bound_of(self.bound, self.policy, result, t)
            low, high = (-math.inf, value) if self.kind == "below-bound" else (value, math.inf)
            found.append((number, low, high))
            distances.append((_standard_errors_inside(number, low, high), t, number, value))
        nearest = min(range(len(rounds)), key=lambda i: distances[i][0])
        _, t, number, value = distances[nearest]
        numbers = [
            number_of(f"mean {format_round(t)}", *ranged)
            for t, ranged in zip(rounds, found, strict=True)
        ]
        detail = (
            f"{format_round(t)}: {number}, the bound is {format_estimate(value, abs(value) / 100)}"
        )
        if len(found) > 1:
            detail = (
                f"{len(found)} rounds compared; nearest to the bound (in standard errors) {detail}"
            )
        return Finding(is_inside(found), detail, format_compared(numbers, [numbers[nearest]]))


def _standard_errors_inside(number: Estimate, low: float, high: float) -> float:
    """Return how far a number is inside a range, in standard errors; negative outside."""
    distance = min(number.value - low, high - number.value)
    # Without an error the estimate is exact, and so is the side of the bound on which it lies.
    return distance / number.error if number.error > 0 else math.copysign(math.inf, distance)
