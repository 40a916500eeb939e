"""What an entry shows over several of its problems: a metric against a number."""

from collections.abc import Mapping
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from keyhole.results.curves import Curves
from keyhole.results.estimate import Estimate


class Overview(BaseModel):
    """A figure of a metric against a number that differs between problems.

    Attributes
    ----------
    title : str
        Its title.
    x_label : str
        What the number is, with its unit.
    x : dict of str to float
        The number of each problem, by key; at least two.
    policies : list of str, optional
        Labels; by default all.
    metric : str, optional
        By default the entry's first.
    round : int, optional
        At which checkpoint; by default the last of each problem.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)
    title: str
    x_label: str
    x: Annotated[dict[str, float], Field(min_length=2)]
    policies: Annotated[list[str], Field(min_length=1)] | None = None
    metric: str | None = None
    round: int | None = None

    def estimates(
        self, curves: Mapping[str, Curves], metric: str
    ) -> dict[str, list[tuple[float, Estimate]]]:
        """Return the means to draw.

        Parameters
        ----------
        curves : mapping of str to Curves
            The results, by problem.
        metric : str
            Which metric.

        Returns
        -------
        dict of str to list of (float, Estimate)
            By policy: x, rising, and the mean there.
        """
        points = sorted((x, key) for key, x in self.x.items())
        labels = self.policies or curves[points[0][1]].labels
        return {
            label: [(x, self._mean(curves[key], label, metric)) for x, key in points]
            for label in labels
        }

    def _mean(self, curves: Curves, label: str, metric: str) -> Estimate:
        c = -1 if self.round is None else curves.checkpoints.index(self.round)
        return curves.estimates(label, metric)[c]
