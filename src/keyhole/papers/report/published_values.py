"""Published values: means that a paper prints, for a table beside ours."""

from collections.abc import Mapping
from typing import Annotated, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from keyhole.pages.table import Table
from keyhole.papers.entry_references import Checkpoint, MetricName, PolicyName, ProblemName
from keyhole.results.curves import Curves

Means = float | Annotated[list[float], Field(min_length=1)]
"""A mean, or one for each of several rounds."""


class PublishedValues(BaseModel):
    """Means of one metric that a paper prints, or that can be read off its figures."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    source: str  # their place in the paper, and how well they could be read
    metric: MetricName | None = None  # by default the entry's first
    rounds: list[Checkpoint] | None = None  # by default the last of each problem
    # by problem and policy
    values: Annotated[dict[ProblemName, dict[PolicyName, Means]], Field(min_length=1)]

    @model_validator(mode="after")
    def _one_for_each_round(self) -> Self:
        count = len(self.rounds or [0])
        for problem, means in self.values.items():
            for policy, given in means.items():
                if len(_as_list(given)) != count:
                    raise ValueError(
                        f"values.{problem}.{policy} must have one number for each round, {count}, "
                        f"got {len(_as_list(given))}"
                    )
        return self

    def table(self, titles: Mapping[str, str], curves: Mapping[str, Curves], metric: str) -> Table:
        """Return the table of the numbers beside ours, given the titles and results of problems."""
        every = [
            x for means in self.values.values() for one in means.values() for x in _as_list(one)
        ]
        # One number of decimals in the whole column, as papers print it.
        places = max(len(f"{x:g}".partition(".")[2]) for x in every)  # as many as any has
        rows = []
        for problem, means in self.values.items():
            found = curves[problem]
            metric_title = found.metric(metric).title
            for policy, given in means.items():
                ours = dict(zip(found.checkpoints, found.estimates(policy, metric), strict=True))
                for t, x in zip(
                    self.rounds or [found.checkpoints[-1]], _as_list(given), strict=True
                ):
                    rows.append(
                        [f"{titles[problem]}: {policy}", f"{t:,}", f"{x:,.{places}f}", str(ours[t])]
                    )
        head = ["problem and policy", "T", "the paper", "found [95 % interval]"]
        return Table(f"{metric_title}: {self.source}", head, rows)


def _as_list(given: Means) -> list[float]:
    return given if isinstance(given, list) else [given]
