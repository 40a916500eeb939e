"""Entry: a published experiment as a TOML file, with the claims that it should confirm."""

from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Final, Self

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    PrivateAttr,
    ValidationError,
    model_validator,
)

from keyhole.contract.problem import Problem
from keyhole.experiment import Spec, setting_registry
from keyhole.pages.line_chart import ScaleName
from keyhole.pages.page import Table
from keyhole.papers import entry_files
from keyhole.papers.claims import Claim
from keyhole.papers.claims.bounds import BoundName, check_bound, plan_bound
from keyhole.papers.claims.kinds import check_claim, read_claims
from keyhole.papers.claims.statistics import as_list
from keyhole.papers.field_types import (
    Checkpoint,
    MetricName,
    PolicyName,
    ProblemName,
    Question,
    TableModel,
    refuse_unknown_names,
)
from keyhole.papers.verdicts import Setup
from keyhole.play.simulation_plan import Plan
from keyhole.results.curves import Curves
from keyhole.results.estimate import Estimate
from keyhole.spec_values import error_message
from keyhole.validation import check_choice


class ParameterFigure(TableModel):
    """A figure of a metric against a number that differs between problems."""

    title: str
    x_label: str  # the meaning of the number, with its unit
    # the number of each problem, by the problem's key; at least two problems
    x: Annotated[dict[ProblemName, float], Field(min_length=2)]
    # the labels of the policies that are drawn; by default all
    policies: Annotated[list[PolicyName], Field(min_length=1)] | None = None
    metric: MetricName | None = None  # by default the entry's first
    x_scale: ScaleName = "linear"
    y_scale: ScaleName = "linear"  # if some mean is 0 or below, always linear
    bound: BoundName | None = None  # a bound of the first policy, drawn beside the curves

    @model_validator(mode="after")
    def _check_logarithms(self) -> Self:
        if self.x_scale == "log" and min(self.x.values()) <= 0:
            raise ValueError(f"x must be above 0 on a logarithmic axis, got {min(self.x.values())}")
        return self

    def points_by_policy(
        self, curves: Mapping[str, Curves], metric: str
    ) -> dict[str, list[tuple[float, Estimate]]]:
        """Return the points of each policy by label, in rising order of x: x and the final mean."""
        keys_by_x = sorted((x, key) for key, x in self.x.items())
        return {
            label: [(x, curves[key].estimates(label, metric)[-1]) for x, key in keys_by_x]
            for label in self.policies or curves[keys_by_x[0][1]].labels
        }

    def axis_scale(self, points: Mapping[str, Sequence[tuple[float, Estimate]]]) -> ScaleName:
        """Return the scale of the axis of means, which is linear if some mean has no logarithm."""
        means = (estimate.value for line in points.values() for _, estimate in line)
        return self.y_scale if min(means) > 0 else "linear"

    def check_bound(self, plan: Plan) -> None:
        """Refuse a bound of another setting, and a bound that is not finite at the horizon."""
        if self.bound is not None:
            check_bound(self.bound, self._policy_of_bound(plan), plan, [plan.horizon])

    def bound_points(self, plans: Mapping[str, Plan]) -> list[tuple[float, float]]:
        """Return the points of the bound's curve: every x, in rising order, with the bound."""
        points = []
        for x, key in sorted((x, key) for key, x in self.x.items()):
            plan = plans[key]
            bound = plan_bound(self.bound or "", self._policy_of_bound(plan), plan, plan.horizon)
            points.append((x, bound))
        return points

    def _policy_of_bound(self, plan: Plan) -> str:
        """Return the label of the policy whose bound is drawn: the first."""
        return self.policies[0] if self.policies else next(iter(plan.policies))


DRAWING_NAMES: Final = ("resource.runs", "resource.gains", "resource.refinement")
"""Every drawing that an entry may name: its setting, a dot, and its name."""


class ProblemFigure(TableModel):
    """A figure that draws some problems side by side."""

    title: str
    draw: Annotated[str, AfterValidator(lambda name: check_choice("draw", name, DRAWING_NAMES))]
    problems: Annotated[list[ProblemName], Field(min_length=1)]  # the keys of the problems
    # the names of the arms; by default their indices
    names: Annotated[list[str], Field(default_factory=list)]
    note: str = ""  # the caption

    def check(self, where: str, problems: Mapping[str, Any]) -> None:
        """Refuse a problem of another setting, and a list of names without one for each arm."""
        setting = self.draw.partition(".")[0]
        for key, problem in problems.items():
            if problem.setting.name != setting:
                raise ValueError(
                    f"{where}.draw must be a drawing of {problem.setting.name!r}, the setting of "
                    f"{key!r}, got {self.draw!r}"
                )
            if self.names and len(self.names) != problem.arms:
                raise ValueError(
                    f"{where}.names must have {problem.arms} entries, one for each arm of "
                    f"{key!r}, got {len(self.names)}"
                )


Means = Annotated[list[float], BeforeValidator(lambda means: as_list(means)), Field(min_length=1)]
"""The means at some rounds; for a single round, a number may stand for the list."""


class PublishedValues(TableModel):
    """Means of one metric that a paper prints, or that can be read off its figures."""

    source: str  # where the paper has the means, and how exactly it shows them
    metric: MetricName | None = None  # by default the entry's first
    rounds: list[Checkpoint] | None = None  # by default the last checkpoint of each problem
    # the means by problem and policy
    values: Annotated[dict[ProblemName, dict[PolicyName, Means]], Field(min_length=1)]

    @model_validator(mode="after")
    def _check_lengths(self) -> Self:
        # Without rounds there is one number, for the last checkpoint.
        count = len(self.rounds or [0])
        for problem, means in self.values.items():
            for policy, numbers in means.items():
                if len(numbers) != count:
                    raise ValueError(
                        f"values.{problem}.{policy} must have one number for each round, {count}, "
                        f"got {len(numbers)}"
                    )
        return self

    def table(self, titles: Mapping[str, str], curves: Mapping[str, Curves], metric: str) -> Table:
        """Return the table of these means beside ours, given titles and results by problem."""
        all_means = [means for table in self.values.values() for means in table.values()]
        # As in a printed column, all numbers have as many decimals as the number with the most.
        decimals = max(len(f"{x:g}".partition(".")[2]) for means in all_means for x in means)
        rows = []
        for problem, means in self.values.items():
            results = curves[problem]
            metric_title = results.metric(metric).title
            for policy, numbers in means.items():
                estimates = results.estimates(policy, metric)
                estimate_at = dict(zip(results.checkpoints, estimates, strict=True))
                name = f"{titles[problem]}: {policy}"
                for t, x in zip(self.rounds or [results.checkpoints[-1]], numbers, strict=True):
                    rows.append([name, f"{t:,}", f"{x:,.{decimals}f}", str(estimate_at[t])])
        head = ["problem and policy", "T", "the paper", "found [95 % interval]"]
        return Table(f"{metric_title}: {self.source}", head, rows)


SCALES: Final = ("quick", "paper")


class EntryProblem(TableModel):
    """One problem of an entry."""

    title: str  # the problem's name in figures and reports
    note: str = ""  # a sentence that describes the problem
    horizon: int
    checkpoints: list[int] | None = None  # by default evenly spread, as many as the scale says
    problem: entry_files.TomlTable  # as in a spec's table ``[problem]``
    duration: entry_files.TomlTable | None = None  # as in a spec
    # the labels of the policies to run, in the order in which they are shown; by default all
    policies: Annotated[list[str], Field(min_length=1)] | None = None
    # parameters that replace a policy's own on this problem, by the policy's label
    parameters: Annotated[dict[str, entry_files.TomlTable], Field(default_factory=dict)]


class RunSize(TableModel):
    """Numbers of replications and checkpoints at a scale."""

    replications: int  # for each pair of policy and problem
    checkpoints: int = 1  # for problems that do not list their own


class Entry(TableModel):
    """A reproduction: problems, policies, and claims about them.

    Its file may `include` files of the same folder, whose problems and policies the entry then has,
    too. A table `use` may have a list `problems` and a list `policies`: the entry then keeps only
    the problems, or the policies, that are listed.

    Examples
    --------
    >>> entry = Entry.load("tao2019-setup1")
    >>> list(entry.problems), entry.scales["paper"].replications
    (['setup1'], 5000)
    >>> entry.spec("setup1", "quick").plan.checkpoints[-1]
    1000
    """

    name: str
    title: str
    question: Question = ""  # its answer is yes if the claims hold
    source: str
    setup: Setup = "ours"  # the `setup` of claims that give none
    about: str = ""  # a description for the report
    seed: int = 1  # of all runs
    metrics: Annotated[list[MetricName], Field(min_length=1)]  # to show, most important first
    ratio_to: str | None = None  # a policy: the report also divides the other means by its mean
    scales: dict[str, RunSize]  # "quick" and "paper"
    problems: dict[str, EntryProblem]
    policies: list[entry_files.TomlTable]  # as in a spec's tables ``[[policy]]``, with labels
    parameter_figures: Annotated[list[ParameterFigure], Field(default_factory=list)]
    problem_figures: Annotated[list[ProblemFigure], Field(default_factory=list)]
    published: Annotated[list[PublishedValues], Field(default_factory=list)]
    claims: Annotated[list[Claim], Field(default_factory=list)]
    _file: Path | None = PrivateAttr(None)  # the file of a user's entry; None for shipped entries
    # all metrics that the file names, so that a problem records the same metrics whether or not
    # `with_problems` has left out claims and figures
    _file_metrics: tuple[str, ...] = PrivateAttr(())

    @property
    def identifier(self) -> str:
        """The entry's name, or the path of a user's file: the argument of `find` for this entry."""
        return self.name if self._file is None else str(self._file)

    def command(self, scale: str) -> str:
        """Return the command that runs the entry; a user's own file is named without its folder."""
        return f"keyhole reproduce {Path(self.identifier).name} --scale {scale}"

    @property
    def heading(self) -> str:
        """The question that the claims answer, or the title if there is no question."""
        return self.question or self.title

    @property
    def paper(self) -> str:
        """The paper that the entry is about, one of `PAPERS`; empty if it is about no paper."""
        if self._file is not None:
            return ""
        return entry_files.ENTRY_FILES.get(self.name, "").rpartition("/")[0]

    @classmethod
    def find(cls, identifier: str) -> Self:
        """Read a shipped entry by name, or a user's own by its path, which ends with ``.toml``.

        Raises
        ------
        FileNotFoundError, ValueError
            If there is no such entry, or its file is not valid.
        """
        if not identifier.endswith(".toml"):
            return cls.load(identifier)
        path = Path(identifier).resolve()
        if not path.is_file():
            raise FileNotFoundError(f"there is no file {identifier}")
        return cls.from_file(path.parent, path.name, path.stem)

    @classmethod
    def load(cls, name: str) -> Self:
        """Read a shipped entry by name."""
        return cls._read_unchecked(entry_files.entry_path(name), name)[0]

    @classmethod
    def from_file(cls, folder: Path, file: str, name: str) -> Self:
        """Read and check a user's own entry, whose included files are in the same folder."""
        path = folder / file
        entry, claims = cls._read_unchecked(path, name)
        entry._file = path
        try:
            entry._check_contents(claims)
        except ValueError as error:
            raise ValueError(f"{path.name}: {error}") from error
        return entry

    @classmethod
    def _read_unchecked(cls, path: Path, name: str) -> tuple[Self, list[tuple[str, Claim]]]:
        """Return an entry without checking it, and its claims with their positions for errors.

        `_check_contents` makes all problems, which takes seconds; tests check the shipped entries.
        """
        table = entry_files.read_tables(path)
        tables = table.pop("claims", [])
        try:
            entry = cls.model_validate({"name": name} | table)
            placed_claims = read_claims(tables, entry.metrics[0], entry.setup, name, path.parent)
            entry = entry.model_copy(update={"claims": [claim for _, claim in placed_claims]})
            entry._file_metrics = entry.metric_names  # a property of `TableModel`
            return entry, placed_claims
        except ValidationError as error:
            raise ValueError(f"{path.name}: {error_message(error)}") from None
        except ValueError as error:
            raise ValueError(f"{path.name}: {error}") from error

    def _check_contents(self, claims: list[tuple[str, Claim]]) -> None:
        """Refuse problems that cannot be made, unknown names, and unfit figures and claims."""
        # Plans are kept: many claims are about one problem, which may take seconds to make.
        plans_of = cache(self._plans_by_scale)
        for problem in self.problems:
            plans_of(problem)
        if self.ratio_to is not None:
            check_choice("ratio_to", self.ratio_to, entry_files.policies_by_label(self.policies))
        for i, figure in enumerate(self.parameter_figures):
            completed = figure.model_copy(update={"metric": figure.metric or self.metrics[0]})
            refuse_unknown_names(f"parameter_figures[{i}]", completed, self.problems, plans_of)
            for plan in (plan for key in figure.x for plan in plans_of(key).values()):
                figure.check_bound(plan)
        for i, published in enumerate(self.published):
            refuse_unknown_names(f"published[{i}]", published, self.problems, plans_of)
        for i, drawing in enumerate(self.problem_figures):
            where = f"problem_figures[{i}]"
            refuse_unknown_names(where, drawing, self.problems, plans_of)
            plans = {key: next(iter(plans_of(key).values())) for key in drawing.problems}
            drawing.check(where, {key: plan.problem for key, plan in plans.items()})
        for where, claim in claims:
            check_claim(where, claim, self.problems, plans_of)

    def _plans_by_scale(self, problem: str) -> dict[str, Plan]:
        """Return the experiments on a problem by scale."""
        try:
            return {scale: self.spec(problem, scale).plan for scale in self.scales}
        except (TypeError, ValueError) as error:
            raise ValueError(f"problems.{problem}: {error}") from error

    def with_problems(self, *problems: str) -> Self:
        """Return the entry with only some problems, and the claims and figures that need no others.

        `problem_keys` (of `TableModel`) are the problems that a claim or a figure names.
        """
        subset = {key: self.problems[key] for key in problems}
        lists = {
            field: [item for item in getattr(self, field) if subset.keys() >= {*item.problem_keys}]
            for field in ("claims", "parameter_figures", "problem_figures", "published")
        }
        return self.model_copy(update={"problems": subset} | lists)

    def spec(self, problem: str, scale: str) -> Spec:
        """Return the experiment on a problem, given its key, at the scale "quick" or "paper"."""
        check_choice("scale", scale, self.scales)
        size = self.scales[scale]
        entry_problem = self.problems[problem]
        table = {
            "name": f"{self.name}/{problem}",
            "title": entry_problem.title,
            "seed": self.seed,
            "replications": size.replications,
            "horizon": entry_problem.horizon,
            "checkpoints": entry_problem.checkpoints or {"count": size.checkpoints},
            "details": self._has_detail_metric(entry_problem),
            "duration": entry_problem.duration,
            "problem": entry_problem.problem,
            "policy": self._policies_of(problem),
        }
        folder = Path()
        if self._file is not None:
            folder = self._file.parent
        return Spec.from_table(table, folder=folder)

    def _has_detail_metric(self, entry_problem: EntryProblem) -> bool:
        """Return whether the entry names a metric that the problem records only on request."""
        setting = entry_problem.problem.get("setting")
        if setting not in setting_registry.setting_names():
            return False  # the spec will refuse the unknown setting
        metrics = setting_registry.find_setting(setting).metrics
        names = {name.partition("[")[0] for name in (*self.metric_names, *self._file_metrics)}
        return any(metrics[name].detail for name in names & metrics.keys())

    def _policies_of(self, problem: str) -> list[entry_files.TomlTable]:
        """Return the policies to run on a problem, with their parameters on this problem."""
        entry_problem = self.problems[problem]
        by_label = entry_files.policies_by_label(self.policies)
        where = f"problems.{problem}"
        policies = entry_files.select_keys(f"{where}.policies", by_label, entry_problem.policies)
        for label, parameters in entry_problem.parameters.items():
            check_choice(f"{where}.parameters", label, policies)
            policies[label] = policies[label] | parameters
        return list(policies.values())


def problem(entry: str, problem: str | None = None) -> Problem:
    """Return the problem of an entry, such as a paper's set-up, to simulate your policies on.

    Parameters
    ----------
    entry : str
        The entry's name (``keyhole reproduce --list``), or the path of an entry of your own.
    problem : str, optional
        The key of one of its problems; needed if it has several.

    Raises
    ------
    FileNotFoundError, ValueError
        If there is no such entry or problem, or if no problem is named and the entry has several.

    Examples
    --------
    >>> problem("tao2019-setup1").means[:2]
    array([0.2 , 0.25])
    """
    source = Entry.find(entry)
    if problem is None and len(source.problems) > 1:
        raise ValueError(
            f"problem must be given, since {entry} has several: {', '.join(source.problems)}"
        )
    if problem is None:
        problem = next(iter(source.problems))
    check_choice("problem", problem, source.problems)
    return source.spec(problem, next(iter(source.scales))).plan.problem
