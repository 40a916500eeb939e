"""Declaration of a figure: a metric, such as the reward lost, against a parameter of problems."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from keyhole.papers.claims.bound_registry import BOUNDS
from keyhole.papers.claims.bounds import BoundName, check_bound
from keyhole.papers.entry_references import Checkpoint, MetricName, PolicyName, ProblemName
from keyhole.play.plan import Plan
from keyhole.results.curve_chart import Scale
from keyhole.results.curves import Curves
from keyhole.results.estimate import Estimate


class ParameterFigure(BaseModel):
    """A figure of a metric against a number that differs between problems."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    title: str
    x_label: str  # what the number is, with its unit
    # the number of each problem, by key; at least two
    x: Annotated[dict[ProblemName, float], Field(min_length=2)]
    # labels; by default all
    policies: Annotated[list[PolicyName], Field(min_length=1)] | None = None
    metric: MetricName | None = None  # by default the entry's first
    round: Checkpoint | None = None  # at which checkpoint; by default the last of each problem
    x_scale: Scale = "linear"
    y_scale: Scale = "linear"  # linear, too, where a mean has no logarithm
    bound: BoundName | None = None  # of the first policy, drawn beside the curves

    @model_validator(mode="after")
    def _check_logarithms(self) -> Self:
        if self.x_scale == "log" and min(self.x.values()) <= 0:
            raise ValueError(f"x must be above 0 on a logarithmic axis, got {min(self.x.values())}")
        return self

    def estimates(
        self, curves: Mapping[str, Curves], metric: str
    ) -> dict[str, list[tuple[float, Estimate]]]:
        """Return by policy the points of its curve: each x, in rising order, and the mean there."""
        points = sorted((x, key) for key, x in self.x.items())
        labels = self.policies or curves[points[0][1]].labels
        return {
            label: [(x, self._mean(curves[key], label, metric)) for x, key in points]
            for label in labels
        }

    def mean_scale(self, points: Mapping[str, Sequence[tuple[float, Estimate]]]) -> Scale:
        """Return the scale of the means: linear where one of them has no logarithm."""
        means = (found.value for line in points.values() for _, found in line)
        return self.y_scale if min(means) > 0 else "linear"

    def check_bound(self, plan: Plan) -> None:
        """Refuse a bound of another setting, or one that is not finite where it is drawn."""
        if self.bound is not None:
            check_bound(self.bound, self._bounded(plan), plan, [self._round(plan)])

    def bound_values(self, plans: Mapping[str, Plan]) -> list[tuple[float, float]]:
        """Return the points of the bound: each x, in rising order, and the value there."""
        return [
            (x, BOUNDS[self.bound or ""](plan.problem, policy, self._round(plan), plan.horizon))
            for x, key in sorted((x, key) for key, x in self.x.items())
            for plan in [plans[key]]
            for policy in [plan.policies[self._bounded(plan)]]
        ]

    def _bounded(self, plan: Plan) -> str:
        return self.policies[0] if self.policies else next(iter(plan.policies))

    def _round(self, plan: Plan) -> int:
        return plan.checkpoints[-1] if self.round is None else self.round

    def _mean(self, curves: Curves, label: str, metric: str) -> Estimate:
        c = -1 if self.round is None else curves.checkpoints.index(self.round)
        return curves.estimates(label, metric)[c]
