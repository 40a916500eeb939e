"""Declarations of the figures of an entry (a reproduced experiment), and of published values."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Final, Self

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from keyhole.pages.table import Table
from keyhole.papers.claims.bounds import BOUNDS, BoundName, check_bound
from keyhole.papers.entry_references import Checkpoint, MetricName, PolicyName, ProblemName
from keyhole.play.plan import Plan
from keyhole.results.curve_chart import Scale
from keyhole.results.curves import Curves
from keyhole.results.estimate import Estimate
from keyhole.validate import check_choice


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


DRAWING_NAMES: Final = ("resource.runs", "resource.gains", "resource.refinement")
"""Every drawing that an entry may name, by its setting and its own name."""


class ProblemFigure(BaseModel):
    """Declaration of a figure of problems."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    title: str
    draw: Annotated[str, AfterValidator(lambda name: check_choice("draw", name, DRAWING_NAMES))]
    problems: Annotated[list[ProblemName], Field(min_length=1)]  # keys; each has a panel of its own
    # of the arms; by default their indices
    names: Annotated[list[str], Field(default_factory=list)]
    note: str = ""  # a sentence on what it shows

    def check(self, where: str, problems: Mapping[str, Any]) -> None:
        """Refuse problems of another setting, and names that are not one for each arm."""
        setting = self.draw.partition(".")[0]
        for key, problem in problems.items():
            if problem.setting.name != setting:
                raise ValueError(
                    f"{where}.draw must be a drawing of the setting {problem.setting.name!r}, as "
                    f"{key!r} is, got {self.draw!r}"
                )
            if self.names and len(self.names) != problem.arms:
                raise ValueError(
                    f"{where}.names must have {problem.arms} entries, one for each arm of "
                    f"{key!r}, got {len(self.names)}"
                )


Means = Annotated[
    list[float],
    BeforeValidator(lambda means: means if isinstance(means, list) else [means]),
    Field(min_length=1),
]
"""Means at each of some rounds; of one round alone, a number may stand for the list."""


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
                if len(given) != count:
                    raise ValueError(
                        f"values.{problem}.{policy} must have one number for each round, {count}, "
                        f"got {len(given)}"
                    )
        return self

    def table(self, titles: Mapping[str, str], curves: Mapping[str, Curves], metric: str) -> Table:
        """Return the table of the numbers beside ours, given the titles and results of problems."""
        every = [x for table in self.values.values() for means in table.values() for x in means]
        # One number of decimals in the whole column, as papers print it.
        places = max(len(f"{x:g}".partition(".")[2]) for x in every)  # as many as any has
        rows = []
        for problem, means in self.values.items():
            found = curves[problem]
            metric_title = found.metric(metric).title
            for policy, given in means.items():
                ours = dict(zip(found.checkpoints, found.estimates(policy, metric), strict=True))
                name = f"{titles[problem]}: {policy}"
                for t, x in zip(self.rounds or [found.checkpoints[-1]], given, strict=True):
                    rows.append([name, f"{t:,}", f"{x:,.{places}f}", str(ours[t])])
        head = ["problem and policy", "T", "the paper", "found [95 % interval]"]
        return Table(f"{metric_title}: {self.source}", head, rows)
