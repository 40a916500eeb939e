"""Spec of a tune: commands, inputs, time limits and costs, read from a TOML file and checked."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Final, Literal, Self

import numpy as np
from pydantic import BaseModel, ConfigDict, Field
from pydantic_core import to_jsonable_python

from keyhole.contract.policy import Policy
from keyhole.durations import to_seconds
from keyhole.experiment import setting_registry
from keyhole.files import read_toml
from keyhole.resource import HazardUCB
from keyhole.resource.cost_functions import Power, check_increasing
from keyhole.runner import MEMORY_RANGE
from keyhole.spec_values.error_messages import check_entries
from keyhole.tune.arms import ARM_ENTRIES, Arm, Scalar, check_table, parse_arms, read_fields
from keyhole.tune.configspace_json import read_config_space
from keyhole.tune.instances import Instance, parse_instances
from keyhole.tune.parameter_space import ParameterSpace
from keyhole.tune.success_rule import SuccessRule
from keyhole.validation import (
    DEFAULT_SEED,
    SEED_RANGE,
    Range,
    check_choice,
    check_distinct,
    check_integer,
    check_line,
    check_number,
    check_vector,
    short_repr,
)

FULL_CUT_OFF: Final = "full cut-off"
"""Objective PAR10 with which only the full cut-off is recommended; runs may be given up earlier."""
_PRESETS: Final = {"PAR2": 2.0, "PAR10": 10.0, "value": 2.0, FULL_CUT_OFF: 10.0}
"""By name, how many full cut-offs a run without success counts as."""
_COST_ENTRIES: Final = ("cost_per_second", "cost_of_giving_up")
_check_cost: Final = partial(check_number, allowed=Range(ge=0))


@dataclass(frozen=True)
class CostModel:
    """Costs of a run, in the unit of the reward.

    Attributes
    ----------
    cost_per_second : float
        Cost of each second of a run.
    cost_of_giving_up : float
        Additional cost of a run that reaches its limit.
    preset : str
        Name of the preset, or "".
    """

    cost_per_second: Annotated[float, _check_cost]
    cost_of_giving_up: Annotated[float, _check_cost] = 0.0
    preset: str = ""

    @classmethod
    def from_entry(cls, value: object, cutoff: float, span: float) -> "CostModel":
        r"""Make a cost model of the entry ``objective``: a preset, or a table.

        `cutoff` is the full cut-off in seconds, and `span` the largest reward less the least one.
        With ``"PAR10"`` a success is worth nine full cut-offs T of time. So a run with the limit T
        gains :math:`9 - PAR_{10} / T` cut-offs, where PAR10 is the time of a success, or 10 T if
        the run reaches the limit. A run that fails or is given up earlier costs only its time.
        """
        if isinstance(value, str):
            factor = _PRESETS[check_choice("objective", value, _PRESETS)]
            return cls(span / ((factor - 1.0) * cutoff), 0.0, value)
        if not isinstance(value, Mapping) or not value:
            presets = " or ".join(map(repr, _PRESETS))
            raise TypeError(
                f"objective must be {presets}, or a table such as {{ cost_per_second = 0.01 }}, "
                f"got {short_repr(value)}"
            )
        check_entries("objective", value, _COST_ENTRIES)
        no_costs = dict.fromkeys(_COST_ENTRIES, 0.0)
        costs = cls(**read_fields(cls, "objective", {**no_costs, **value}))
        if costs.cost_per_second * cutoff > span:
            raise ValueError(
                f"objective.cost_per_second must be at most {span / cutoff:g}, or a run at the "
                f"largest limit costs more than the best reward, got {costs.cost_per_second:g}"
            )
        return costs

    @property
    def cost(self) -> Power:
        """Cost of a run as a function of its seconds."""
        return Power(slope=self.cost_per_second)

    def penalty(self, least_reward: float) -> Power:
        """Return the cost of a run that reaches its limit, as a function of the limit.

        The run earns the least reward, which is taken off the cost of the seconds and of giving up.
        """
        return Power(slope=self.cost_per_second, constant=self.cost_of_giving_up - least_reward)

    def as_json(self) -> str | dict[str, float]:
        """Return the entry ``objective`` of a spec."""
        return self.preset or {
            "cost_per_second": self.cost_per_second,
            "cost_of_giving_up": self.cost_of_giving_up,
        }


SPACE_ENTRIES: Final = ("parameters", "forbidden", "space")
SearchRule = Literal["model", "racing"]
_RULES: Final[tuple[SearchRule, ...]] = ("model", "racing")
_SUCCESS_WITH_SPACE: Final = {"number": "", "scale": (0.0, 1.0), "at_limit": False}


@dataclass(frozen=True)
class SpaceSearchSpec:
    """Spec of the search of a parameter space: the space, and the rule that decides.

    Attributes
    ----------
    space : ParameterSpace
        The parameters of the only command.
    rule : {"model", "racing"}
        Whether a model of run times decides, or racing with adaptive capping.
    is_deterministic : bool
        Whether the command takes no ``{seed}``. A configuration is then run on an instance once.
    """

    space: ParameterSpace
    rule: SearchRule
    is_deterministic: bool

    @classmethod
    def from_table(cls, table: Mapping[str, Any], arms: Sequence[Arm], folder: Path) -> Self:
        """Read the entries of a spec; `arms` are its commands, and `folder` is its folder."""
        space = _parse_space(table, folder)
        if len(arms) > 1:
            raise ValueError(
                f"arm must be a single command with parameters, got {len(arms)}; to choose among "
                "programs, make the program a parameter"
            )
        rule = table.get("policy", "model")
        if isinstance(rule, Mapping):
            check_entries("policy", rule, ("name",))
            rule = rule.get("name")
        fields = [*arms[0].open_fields(), *arms[0].arguments]
        if "**" in fields:
            fields += space.names
        for name in space.names:
            # The arm itself fills the field of one of its own parameters.
            if name in arms[0].parameters or name not in fields:
                raise ValueError(
                    f"parameters.{name} must be a field that the arm leaves open, got none: add "
                    f"{{{name}}}, or leave the parameter out"
                )
        return cls(space, check_choice("policy", rule, _RULES), "seed" not in fields)

    def check_success(self, success: SuccessRule) -> None:
        """Refuse a success rule with other rewards than 0 and 1, or with `at_limit`."""
        for entry, required in _SUCCESS_WITH_SPACE.items():
            if (value := getattr(success, entry)) != required:
                raise ValueError(
                    f"success.{entry} must be left out with parameters, since configurations are "
                    f"compared by the success and the time of runs alone, got {short_repr(value)}"
                )

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """Return the search from its entry in a saved spec."""
        space = data["space"]
        return cls(**{**data, "space": ParameterSpace(space["parameters"], space["forbidden"])})


def _parse_space(table: Mapping[str, Any], folder: Path) -> ParameterSpace:
    if "space" not in table:
        return ParameterSpace(table.get("parameters", {}), table.get("forbidden", ()))
    for entry in ("parameters", "forbidden"):
        if entry in table:
            raise ValueError(f"{entry} must be left out with space, a file of ConfigSpace")
    return ParameterSpace(*read_config_space(folder / check_line("space", table["space"])))


DEFAULT_POLICY: Final = HazardUCB.from_parameters({})
"""Policy of a spec without the entry ``policy``."""

_DEFAULTS: Final = {"name": "tune", "notes": "", "seed": DEFAULT_SEED, "memory": None, "cores": 1,
                    "clock": "wall", "environment": {}, "policy": None, "grace": 0,
                    "success": {}, "objective": "PAR2"}  # fmt: skip
_ENTRIES: Final = ("arm", "instances", "limits", *_DEFAULTS, *SPACE_ENTRIES)
_RANGE_ENTRIES: Final = ("from", "to", "count")
_BYTES: Final = {"B": 1, "kB": 10**3, "KB": 10**3, "MB": 10**6, "GB": 10**9,
                 "KiB": 2**10, "MiB": 2**20, "GiB": 2**30}  # fmt: skip
_SIZE: Final = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([a-zA-Z]+)\s*")
_LEAST_LIMIT: Final = 0.001  # seconds: nothing starts faster


def _parse_memory(path: str, value: object) -> int | None:
    if value is None:
        return None
    if isinstance(value, str) and (match := _SIZE.fullmatch(value)):
        unit = check_choice(f"{path}: its unit", match[2], _BYTES)
        # Fractions are exact: 0.1 GB in floating point may be a byte more or less.
        return check_integer(path, int(Fraction(match[1]) * _BYTES[unit]), MEMORY_RANGE)
    if isinstance(value, str):
        raise ValueError(
            f"{path} must be a number and a unit such as '2 GiB', got {short_repr(value)}"
        )
    return check_integer(f"{path} in bytes", value, MEMORY_RANGE)


def _check_environment(path: str, value: object) -> dict[str, str]:
    if not isinstance(value, Mapping) or not all(isinstance(v, str) for v in value.values()):
        raise TypeError(f"{path} must be a table of strings, got {short_repr(value)}")
    for name, text in value.items():
        if not name or "=" in name or "\0" in name + text:
            raise ValueError(f"{path}.{name} must have a name without '=', and no NUL character")
    return dict(value)


def _check_text(path: str, value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{path} must be a string, got {short_repr(value)}")
    return value


def _parse_policy(path: str, value: object) -> Policy | None:
    if value is None or isinstance(value, Policy):
        return value
    table = {"name": value} if isinstance(value, str) else value
    if not isinstance(table, Mapping) or "name" not in table:
        raise TypeError(f"{path} must be a name, or a table with a name, got {short_repr(value)}")
    policies = setting_registry.find_setting("resource").policies
    policy_class = policies[check_choice(f"{path}.name", table["name"], policies)]
    if needs := ", ".join(policy_class.needs):
        raise ValueError(f"{path}.name must be a policy that does not need {needs}, which a tune "
                         f"does not know, got {table['name']!r}")  # fmt: skip
    return policy_class.from_parameters({k: v for k, v in table.items() if k != "name"})


def _check_grace(path: str, value: object) -> float:
    return check_number(path, to_seconds(path, value), Range(ge=0))


@dataclass(frozen=True)
class Spec:
    """Spec of a tune: commands, limits, instances, and the objective.

    Attributes
    ----------
    name : str
        Name of the tune.
    arms : tuple of Arm
        The commands.
    limits : tuple of float
        Time limits in seconds, increasing; the last is the full cut-off.
    instances : tuple of Instance
        The inputs of the commands.
    success : SuccessRule
        When a run has succeeded.
    objective : CostModel
        Costs of seconds and of giving up.
    seed : int
        Seed of the order of instances, and of the policy.
    memory : int, optional
        Memory limit of a run in bytes.
    cores : int
        Number of cores of a run.
    clock : {"wall", "cpu"}
        Whether limits are in wall time, or in CPU time of all processes of a run.
    environment : mapping
        Variables that are added to the environment of a run.
    policy : Policy, optional
        A policy of the setting `resource`; by default the best in our benchmarks.
    notes : str
        Text for the report.
    folder : Path
        Working directory of commands; relative paths start there.
    grace : float
        Seconds between SIGTERM at the limit and SIGKILL; 0 for SIGKILL at once.
    search : SpaceSearchSpec, optional
        The parameter space of the only command, and how it is searched; None for a list of
        commands.
    """

    name: Annotated[str, check_line]
    arms: tuple[Arm, ...]
    limits: tuple[float, ...]
    instances: tuple[Instance, ...]
    success: SuccessRule
    objective: CostModel
    seed: Annotated[int, partial(check_integer, allowed=SEED_RANGE)] = DEFAULT_SEED
    memory: Annotated[int | None, _parse_memory] = None
    cores: Annotated[int, partial(check_integer, allowed=Range(ge=1))] = 1
    clock: Annotated[str, partial(check_choice, allowed=("wall", "cpu"))] = "wall"
    environment: Annotated[Mapping[str, str], _check_environment] = field(default_factory=dict)
    policy: Annotated[Policy | None, _parse_policy] = None
    notes: Annotated[str, _check_text] = ""
    folder: Path = Path()
    grace: Annotated[float, _check_grace] = 0.0
    search: SpaceSearchSpec | None = None

    @classmethod
    def from_file(cls, path: str | Path) -> Self:
        """Read a spec; errors name the file."""
        path = Path(path)
        table = read_toml(path)
        try:
            return cls.from_table({"name": path.stem, **table}, folder=path.parent)
        except (TypeError, ValueError) as error:
            raise ValueError(f"{path}: {error}") from error

    @classmethod
    def from_table(cls, table: Mapping[str, object], *, folder: str | Path = Path()) -> Self:
        """Make a spec of a dict with the entries of a file; ``function`` may be a function."""
        if not isinstance(table, Mapping):
            raise TypeError(f"table must be a mapping, got {short_repr(table)}")
        _refuse_entries_below_headings(table)
        check_table("", table, _ENTRIES, ["arm", "limits"])
        # Absolute, since a later call may come from another working folder.
        folder = Path(folder).resolve()
        has_space = any(entry in table for entry in SPACE_ENTRIES)
        arms = parse_arms(table["arm"], has_space=has_space)
        search = None
        if has_space:
            search = SpaceSearchSpec.from_table(table, arms, folder)
            table = {**table, "policy": None}  # `search` has the rule of the entry
        spec = cls(
            arms=arms,
            instances=parse_instances(table.get("instances"), folder),
            folder=folder,
            search=search,
            **_parse_values({**_DEFAULTS, **table}),
        )
        spec.success.check_limits(spec.limits)
        if search is not None:
            search.check_success(spec.success)
        elif spec.objective.preset == FULL_CUT_OFF:
            raise ValueError(f"objective {FULL_CUT_OFF!r} needs [parameters], got commands alone")
        spec._check_arms(has_instances="instances" in table)
        return spec

    def _check_arms(self, *, has_instances: bool) -> None:
        """Make a command line of each arm once, so that errors show before the first run."""
        fields = self.fields(self.instances[0], 1, self.limits[0])
        # Without the entry `instances`, {instance} is refused as an unknown field.
        if not has_instances:
            del fields["instance"]
        examples = self.arms
        if self.search is not None:
            space = self.search.space
            # All parameters are given, so that each word of a command is checked. A function gets
            # only those that are always active, since it must do without the others.
            values = space.unconditional if self.arms[0].function else space.all_defaults
            examples = (self.configure(values),)
        for arm in examples:
            arm.check(f"arm {arm.name!r}", fields, self.folder, self.environment.get("PATH"))
            if arm.function and self.clock == "cpu":
                raise ValueError(f"clock must be 'wall' for functions, such as {arm.name!r}")
            if arm.function and (self.grace or self.success.at_limit):
                raise ValueError(
                    "grace and success.at_limit must be left out for functions, such as "
                    f"{arm.name!r}, whose result is what they return within the limit"
                )

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the arms."""
        return tuple(arm.name for arm in self.arms)

    @property
    def has_varying_rewards(self) -> bool:
        """Whether successes may earn different rewards; otherwise each earns the largest one."""
        # In a parameter space, functions return only whether they succeeded.
        returns_rewards = any(arm.function for arm in self.arms) and self.search is None
        return bool(self.success.number) or returns_rewards

    def check_new(self) -> None:
        """Refuse shell syntax in a new tune; a tune that an earlier version began may have it."""
        for arm in self.arms:
            if arm.shell_error:
                raise ValueError(arm.shell_error)

    def facts(self) -> dict[str, Any]:
        """Return the quantities known to the policy, as arguments of `Study.create`."""
        least_reward = self.success.least_reward
        return {
            "limits": list(self.limits),
            "cost": self.objective.cost,
            "penalty": self.objective.penalty(least_reward),
            "scale": (least_reward, self.success.scale[1]),
        }

    def fields(self, instance: Instance, seed: int, limit: float) -> dict[str, object]:
        """Return the fields of a run, without the parameters of its arm."""
        return {"instance": instance.name, "seed": seed, "limit": limit, **instance.columns}

    def configure(self, parameters: Mapping[str, Scalar]) -> Arm:
        """Return the command of a parameter space with the parameters of a configuration."""
        names = self.search.space.names if self.search else ()
        return self.arms[0].configure(parameters, [n for n in names if n not in parameters])

    def as_json(self) -> dict[str, object]:
        """Return the spec as JSON data, with files resolved to lists of instances."""
        policy = self.policy
        entries: dict[str, object] = to_jsonable_python(
            replace(self, policy=None),
            exclude={"arms": {"__all__": {"shell_error", "arguments"}}},
            fallback=lambda space: space.as_json(),
        )
        return entries | {
            "objective": self.objective.as_json(),
            "policy": policy and {"name": type(policy).__name__, **policy.parameters()},
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """Return the spec from the data of `as_json`; data of 0.2.0 have fewer entries."""
        saved_tables = _SavedTables(arms=data["arms"], instances=data["instances"])
        for name, table in saved_tables:
            check_distinct(name, [entry.name for entry in table])
        # Only the names of arms must be lines of text: names of files need not be UTF-8.
        for arm in saved_tables.arms:
            check_line("arms", arm.name)
        search = data.get("search")
        return cls(
            arms=saved_tables.arms,
            instances=saved_tables.instances,
            folder=Path(_check_text("folder", data["folder"])),
            search=search and SpaceSearchSpec.from_json(search),
            **_parse_values({"grace": 0, **data}),
        )


class _SavedTables(BaseModel):
    """The tables of `Spec.as_json` that have another form in a spec file."""

    model_config = ConfigDict(extra="forbid")
    arms: Annotated[tuple[Arm, ...], Field(min_length=1)]
    instances: Annotated[tuple[Instance, ...], Field(min_length=1)]


def _refuse_entries_below_headings(table: Mapping[str, object]) -> None:
    """Refuse an entry that stands below a heading, where TOML takes it for one of that table."""
    arms = table.get("arm")
    tables = [(f"[{name}]", table.get(name)) for name in ("success", "objective")]
    if isinstance(arms, list | tuple):
        tables += [("[[arm]]", arm) for arm in arms]
    for heading, inner_table in tables:
        if not isinstance(inner_table, Mapping):
            continue
        for entry in inner_table:
            if entry in _ENTRIES and entry not in ARM_ENTRIES:
                raise ValueError(
                    f"{entry} must stand above all headings such as [[arm]], got it below {heading}"
                )


def _parse_limits(value: object) -> tuple[float, ...]:
    if isinstance(value, Mapping):
        value = _parse_range(value)
    elif isinstance(value, int | float | str) and not isinstance(value, bool):
        value = [value]
    for text in value if isinstance(value, list) else ():
        if isinstance(text, str):
            raise TypeError(f"limits must be numbers of seconds, such as 1, got {short_repr(text)}")
    limits = check_increasing("limits", check_vector("limits", value, Range(ge=_LEAST_LIMIT)))
    return tuple(limits.tolist())


def _parse_range(table: Mapping[str, object]) -> list[float]:
    """Return limits that increase geometrically between two ends."""
    check_table("limits", table, _RANGE_ENTRIES, _RANGE_ENTRIES)
    low = check_number("limits.from", table["from"], Range(ge=_LEAST_LIMIT))
    high = check_number("limits.to", table["to"], Range(gt=low))
    count = check_integer("limits.count", table["count"], Range(ge=2, le=1000))
    points = np.geomspace(low, high, count)
    # The ends stay exactly as given. Limits between them are rounded, since they are printed.
    inner_limits = [float(f"{point:.4g}") for point in points[1:-1]]
    return [low, *inner_limits, high]


def _parse_values(table: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values of the entries that spec files and saved specs have in the same form."""
    limits = _parse_limits(table["limits"])
    success = SuccessRule.from_table(table["success"])
    objective = CostModel.from_entry(table["objective"], limits[-1], success.reward_span)
    values = {"limits": limits, "success": success, "objective": objective}
    return values | read_fields(Spec, "", table)
