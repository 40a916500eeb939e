"""Declaration of a figure: a metric, such as the reward lost, against a parameter of problems."""

from collections.abc import Mapping
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from keyhole.papers.entry_name_checks import Checkpoint, MetricName, PolicyName, ProblemName
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

    def _mean(self, curves: Curves, label: str, metric: str) -> Estimate:
        c = -1 if self.round is None else curves.checkpoints.index(self.round)
        return curves.estimates(label, metric)[c]
