"""The spec of an experiment, from a TOML file: which policies are simulated on which problem."""

import re
import tomllib
from collections.abc import Iterable, Mapping
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Final, Literal, Self

import tomli_w
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError

from keyhole.contract.policy import Policy
from keyhole.contract.problem import Problem
from keyhole.experiment import sweep_points
from keyhole.experiment.objects_from_spec import (
    WORKER_ENTRIES,
    make_policy,
    make_problem,
    make_workers,
)
from keyhole.experiment.setting_registry import BUILT_IN, find_setting, setting_names
from keyhole.files import read_text_file
from keyhole.play.simulation_plan import MOST_CHECKPOINTS, Plan, SimulatedWorkers, SpacingKind
from keyhole.spec_values import join_errors, list_errors, plain_value, unknown_name_error
from keyhole.validation import DEFAULT_SEED, SEED_RANGE, check_line

Count = Annotated[int, Field(ge=1, le=2**53, strict=True)]
"""A count that a float represents exactly."""


def _check_one_line(text: str) -> str:
    """Return a text; refuse one with line ends or control characters."""
    if text:
        check_line("", text)  # `list_errors` puts the field before the message
    return text


def _check_paragraphs(text: str) -> str:
    """Return a text; refuse one with control characters other than line ends and tabs."""
    _check_one_line(re.sub(r"[\n\r\t]", " ", text))
    return text


class Spacing(BaseModel):
    """Evenly spaced checkpoints.

    Attributes
    ----------
    count : int
        The number of checkpoints, from 1 to 100,000; fewer remain if rounding makes some equal.
    spacing : {"linear", "log"}
        Whether checkpoints are evenly spaced in rounds or in their logarithm. The last checkpoint
        is the horizon.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)
    count: Annotated[int, Field(ge=1, le=MOST_CHECKPOINTS, strict=True)]
    spacing: SpacingKind = "linear"


class FigureAxes(BaseModel):
    """The axes of figures.

    Attributes
    ----------
    x : {"linear", "log"}
        The scale of rounds.
    y : {"linear", "log"}, optional
        The scale of means; by default each metric is drawn as its environment declares.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)
    x: Literal["linear", "log"] = "linear"
    y: Literal["linear", "log"] | None = None


_MODELS: Final[dict[str, type[BaseModel]]] = {"checkpoints": Spacing, "figure": FigureAxes}
# The text that follows "must" in errors of these entries.
_EXPECTATIONS: Final = {
    "checkpoints": "be a list of rounds, or a table with a count",
    "policy": "be a list of tables, each headed [[policy]] with two brackets",
}


class Spec(BaseModel):
    """The spec of an experiment: a problem, policies, horizon, replications and checkpoints.

    Attributes
    ----------
    name : str
        A short name: like the title, a line without control characters.
    title : str
        A line for figures and reports; by default it is made from the name.
    notes : str
        Text for readers of the report; paragraphs are separated by empty lines.
    seed : int
        The seed of all random numbers, from 0 to below 2**63.
    replications, horizon : int
        The numbers of replications and of rounds, from 1 to 2**53.
    checkpoints : list of int, or Spacing
        The rounds after which metrics are taken; by default the horizon alone.
    details : bool
        Whether to keep the metrics that are details; see `keyhole.simulate`.
    workers : int, default 1
        The number of simulated workers, up to 65,536. Each policy may have its own `workers`,
        `duration` and `pending` beside its parameters: see `keyhole.simulate`.
    duration : dict, optional
        The distribution of durations: a table ``{distribution = "Exponential", mean = 1}``.
    pending : {"impute", "ignore", "wait"}, optional
        How policies treat pending decisions.
    figure : FigureAxes
        The table ``[figure]``.
    problem : dict
        The table ``[problem]``.
    policy : list of dict
        The tables ``[[policy]]``.
    sweep : dict of list, optional
        The table ``[sweep]``: the values of each varied entry; see `points`.
    folder : Path
        The folder from which relative paths in the spec start; it is no entry of the spec.

    Examples
    --------
    >>> spec = Spec.from_text('''
    ... name = "small"
    ... replications = 10
    ... horizon = 100
    ... [problem]
    ... setting = "thresholding"
    ... means = [0.2, 0.7]
    ... threshold = 0.5
    ... [[policy]]
    ... name = "LSA"
    ... ''')
    >>> spec.plan.checkpoints, list(spec.plan.policies)
    ((100,), ['LSA(alpha=1.35)'])
    """

    model_config = ConfigDict(extra="forbid", frozen=True, ser_json_inf_nan="constants")
    name: Annotated[str, Field(min_length=1), AfterValidator(_check_one_line)]
    title: Annotated[str, AfterValidator(_check_one_line)] = ""
    notes: Annotated[str, AfterValidator(_check_paragraphs)] = ""
    seed: Annotated[int, Field(ge=SEED_RANGE.ge, lt=SEED_RANGE.lt, strict=True)] = DEFAULT_SEED
    replications: Count
    horizon: Count
    checkpoints: Spacing | list[Annotated[int, Field(strict=True)]] | None = None
    details: Annotated[bool, Field(strict=True)] = False
    workers: Annotated[int, Field(ge=1, le=2**16, strict=True)] = 1
    duration: dict[str, Any] | None = None
    pending: str | None = None
    figure: FigureAxes = FigureAxes()
    problem: dict[str, Any]
    policy: Annotated[list[dict[str, Any]], Field(min_length=1)]
    sweep: dict[str, list[Any]] | None = None
    # The folder is in no table and no digest: a spec that is moved with its files stays equal.
    folder: Annotated[Path, Field(exclude=True)] = Path()

    @classmethod
    def from_file(cls, path: str | Path) -> Self:
        """Read a spec from a TOML file; errors name file, field and value."""
        path = Path(path)
        text = read_text_file(path)
        try:
            return cls.from_text(text, folder=path.parent)
        except ValueError as error:
            raise ValueError(f"{path}: {error}") from error

    @classmethod
    def from_text(cls, text: str, *, folder: Path = Path()) -> Self:
        """Read a spec from TOML text."""
        try:
            return cls.from_table(tomllib.loads(text), folder=folder)
        except tomllib.TOMLDecodeError as error:
            raise ValueError(f"not valid TOML: {error}") from error
        except RecursionError:
            raise ValueError("not valid TOML: lists or tables are nested too deeply") from None

    @classmethod
    def from_table(cls, table: Mapping[str, Any], *, folder: Path = Path()) -> Self:
        """Make a spec from a dict that has the form of a TOML file."""
        names = [name for name in cls.model_fields if name != "folder"]
        errors = [_add_hint(unknown_name_error(name, names)) for name in table if name not in names]
        entries = {name: v for name, v in table.items() if v is not None and name in names}
        try:
            entries = {name: plain_value(name, v) for name, v in entries.items()}
            if "sweep" in entries:
                sweep_points.check_sweep(entries["sweep"])
                # The model may require entries that vary as a whole: their first values stand in.
                entries |= sweep_points.first_swept_values(entries["sweep"])
            spec = cls(**entries, folder=folder)
        except TypeError as error:
            raise ValueError(str(error)) from None
        except RecursionError:
            raise ValueError("lists or tables must not be nested so deeply") from None
        except ValidationError as error:
            errors += list_errors(error, _MODELS, _EXPECTATIONS)
        if errors:
            raise ValueError(join_errors(errors))
        _ = spec.points  # checks the problem and the policies of each point
        return spec

    def table(self) -> dict[str, Any]:
        """Return the spec as a dict, from which `from_table` makes an equal one."""
        # These entries are left out if they have their defaults, so that a spec has the same digest
        # whether or not it writes them.
        default_names = {
            name
            for name in ("title", "notes", "details", "figure", "workers")
            if getattr(self, name) == type(self).model_fields[name].default
        }
        return self.model_dump(mode="json", exclude_none=True, exclude=default_names)

    def to_toml(self) -> str:
        """Return the spec as TOML text, from which `from_text` makes an equal one."""
        return tomli_w.dumps(self.table())

    @cached_property
    def points(self) -> tuple[sweep_points.Point, ...]:
        """The points of the sweep; without a sweep, the spec itself is the only one.

        The points are all combinations of the values in the table ``[sweep]``, in its order; the
        last entry varies the fastest. The default label of a policy is its name with the parameters
        that are equal at all points.
        """
        if self.sweep is None:
            _ = self.plan  # makes problem and policies, which check the rest
            return (sweep_points.Point({}, self),)
        points = []
        for values, table in sweep_points.point_tables(self.table(), self.folder):
            with sweep_points.prefix_errors_with_point(values):
                points.append(
                    sweep_points.Point(values, type(self).from_table(table, folder=self.folder))
                )
        return tuple(points)

    @cached_property
    def plan(self) -> Plan:
        """The plan of the experiment; with a sweep, each point has a plan of its own."""
        if self.sweep is not None:
            raise ValueError(f"a spec with [sweep] has {len(self.points)} plans: see its points")
        problem, policies = self._make_problem_and_policies()
        entry = self.checkpoints
        checkpoints = entry.model_dump() if isinstance(entry, Spacing) else entry
        return Plan.make(
            problem,
            policies,
            horizon=self.horizon,
            checkpoints=checkpoints,
            seed=self.seed,
            details=self.details,
            workers=self._make_workers(policies),
        )

    def _make_workers(self, labels: Iterable[str]) -> dict[str, SimulatedWorkers]:
        """Return the simulated workers of each policy, by label."""
        shared_entries = {name: getattr(self, name) for name in WORKER_ENTRIES}
        workers = {}
        for i, (label, entry) in enumerate(zip(labels, self.policy, strict=True)):
            policy_entries = {name: entry[name] for name in WORKER_ENTRIES if name in entry}
            try:
                workers[label] = make_workers(shared_entries | policy_entries)
            except (TypeError, ValueError) as error:
                # An error in an entry that all policies share must not be blamed on one of them.
                path = f"policy[{i}]." if policy_entries else ""
                raise ValueError(f"{path}{error}") from error
        return workers

    def _make_problem_and_policies(self) -> tuple[Problem, dict[str, Policy]]:
        """Return the problem, and the policies by label; raise all of their errors at once."""
        errors: list[Exception] = []
        policies: dict[str, Policy] = {}
        try:
            problem = make_problem(self.problem, self.folder)
        except (TypeError, ValueError, FileNotFoundError) as error:
            errors.append(error)
        # The policies of an unknown setting are unknown, too.
        entries = self.policy if self.problem.get("setting") in setting_names() else ()
        for i, entry in enumerate(entries):
            try:
                label, policy = self._make_policy(entry)
                if label in policies:
                    raise ValueError(f"label must differ between policies, got {label!r} twice")
                policies[label] = policy
            except (TypeError, ValueError, FileNotFoundError) as error:
                errors.append(ValueError(f"policy[{i}].{error}"))
                errors[-1].__cause__ = error
        if errors:
            texts = [_add_hint(error) for error in errors]
            # A single error without a hint keeps its type.
            if len(texts) == 1 and texts[0] == str(errors[0]):
                raise errors[0]
            raise ValueError(join_errors(texts)) from errors[0]
        return problem, policies

    def _make_policy(self, entry: Mapping[str, Any]) -> tuple[str, Policy]:
        """Return the label and the policy of a table ``[[policy]]``."""
        table = {name: value for name, value in entry.items() if name not in WORKER_ENTRIES}
        label = table.pop("label", None)
        policy = make_policy(table, self.problem["setting"], self.folder)
        return repr(policy) if label is None else check_line("label", label), policy


def _add_hint(error: Exception) -> str:
    """Return an error's message; if it names an entry of another table, add which table."""
    path, separator, _ = str(error).partition(" is not known;")
    table, _, entry = path.rpartition(".")
    factories = [item for name in BUILT_IN for item in find_setting(name).problem_factories.items()]
    names_by_location: dict[str, Iterable[str]] = {
        "at the top, above all tables": Spec.model_fields,
        **{f"in [{table_name}]": model.model_fields for table_name, model in _MODELS.items()},
        "in [problem]": ["setting", *(n for key, item in factories for n in (key, *item.entries))],
    }
    for location, names in names_by_location.items():
        if separator and entry in names and location != f"in [{table}]":
            return f"{error}; it belongs {location}"
    return str(error)
