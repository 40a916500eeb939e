"""Claims that a metric stays on one side of a bound, and the bounds there are."""

import math
from abc import abstractmethod
from collections.abc import Callable
from typing import Annotated, Any, Final, Literal

from pydantic import AfterValidator

from keyhole.core.simulation import Plan
from keyhole.core.validate import choice
from keyhole.papers.claims.base import Finding, Result, Rounds, Single, when
from keyhole.papers.claims.estimate import Estimate, inside, mean_of
from keyhole.semibandit.bounds import csbst_bound
from keyhole.stochastic.bounds import theorem_1
from keyhole.threshold.bounds import (
    adversarial_lower_bound,
    dkwucb_bound,
    kmucb_bound,
    optim_bound,
)
from keyhole.thresholding.bounds import lsa_regret_bound

Bound = Callable[[Any, int, int], float]
"""The value of a bound, given a problem of its room, a round, and the horizon."""

BOUNDS: Final[dict[str, Bound]] = {
    # Of LSA with its default alpha, 1.35.
    "thresholding.theorem_1": lambda problem, round, horizon: lsa_regret_bound(problem.gaps, round),
    # Of HoeffdingUCB; as those below without its constant, and with the horizon that its confidence
    # depends on.
    "stochastic.theorem_1": lambda problem, round, horizon: theorem_1(problem.means, horizon),
    # Of CSBST with its default epsilon, 0.1, and delta = 1 / T.
    "semibandit.theorem_1": lambda problem, round, horizon: csbst_bound(problem, horizon, 0.1),
    "threshold.theorem_2": lambda problem, round, horizon: dkwucb_bound(problem, horizon),
    "threshold.theorem_3": lambda problem, round, horizon: adversarial_lower_bound(
        problem, horizon
    ),
    "threshold.theorem_4": lambda problem, round, horizon: optim_bound(problem, horizon),
    "threshold.theorem_5": lambda problem, round, horizon: kmucb_bound(problem, horizon),
}
"""Every bound, by the name of its room and its own."""


def _known(name: str) -> str:
    return choice("bound", name, BOUNDS)


class Bounded(Single):
    """The mean of a metric of a policy stays on one side of a bound.

    The claim holds if at every round the 95 % interval lies on the right side, and does not hold
    if at some round the mean is significantly on the other (adjusted by Holm over the rounds).

    Attributes
    ----------
    policy : str
        Its label.
    bound : str
        A name in `BOUNDS`.
    rounds : list of int, optional
        At which checkpoints; by default at all.
    """

    policy: str
    bound: Annotated[str, AfterValidator(_known)]
    rounds: Rounds | None = None

    def check(self, plan: Plan) -> None:
        """Refuse a bound of another room, or one that says nothing at some round."""
        room, setting = self.bound.partition(".")[0], plan.problem.setting.name
        if room != setting:
            raise ValueError(
                f"bound must be one of the setting {setting!r}, as {self.problem!r} is, "
                f"got {self.bound!r}"
            )
        for t in self.rounds or plan.checkpoints:
            try:
                value = BOUNDS[self.bound](plan.problem, t, plan.horizon)
            except ValueError as error:
                raise ValueError(f"bound {self.bound!r} {when(t)}: {error}") from error
            if not math.isfinite(value):
                raise ValueError(f"bound {self.bound!r} must be finite {when(t)}, got {value}")

    def judge_one(self, result: Result) -> Finding:
        """Compare the mean with the bound, round by round."""
        checkpoints = result.curves.checkpoints
        rounds = self.rounds or checkpoints
        found, distances = [], []
        for t in rounds:
            number = mean_of(result.values(self.policy, self.metric, t))
            value = BOUNDS[self.bound](result.problem, t, checkpoints[-1])
            low, high = self._side(value)
            found.append((number, low, high))
            distances.append((_room(number, low, high), t, number, value))
        _, t, number, value = min(distances, key=lambda distance: distance[0])
        return inside(found), (
            f"{len(found)} rounds compared; nearest to the bound (in standard errors) "
            f"{when(t)}: {number}, the bound is {value:.4g}"
        )

    @abstractmethod
    def _side(self, value: float) -> tuple[float, float]:
        """Return the range in which the mean must lie."""


def _room(number: Estimate, low: float, high: float) -> float:
    """Return how far a number is inside a range, in standard errors; negative outside."""
    room = min(number.value - low, high - number.value)
    return room / number.error if number.error > 0 else math.copysign(math.inf, room)


class BelowBound(Bounded):
    """The mean of a metric of a policy stays at or below a bound; see `Bounded`."""

    kind: Literal["below-bound"]

    def _side(self, value: float) -> tuple[float, float]:
        return -math.inf, value


class AboveBound(Bounded):
    """The mean of a metric of a policy stays at or above a bound; see `Bounded`."""

    kind: Literal["above-bound"]

    def _side(self, value: float) -> tuple[float, float]:
        return value, math.inf
