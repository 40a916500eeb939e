"""What is to be tuned: a TOML file, checked."""

import re
import tomllib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any, Final, Self

import numpy as np

from keyhole.contract.policy import Policy
from keyhole.experiment import settings
from keyhole.resource import HazardUCB
from keyhole.resource.cost_functions import check_increasing
from keyhole.runner import LEAST_MEMORY
from keyhole.spec_values import unknown_name_error
from keyhole.tune.command import Arm, arms_of
from keyhole.tune.cost import CostModel
from keyhole.tune.instances import Instance, instances_of
from keyhole.tune.success_rule import SuccessRule
from keyhole.validate import (
    Range,
    check_choice,
    check_integer,
    check_line,
    check_number,
    check_seed,
    check_vector,
    short_repr,
)

DEFAULT_POLICY: Final = HazardUCB.from_parameters({})
"""Who decides, unless a spec says otherwise."""

_ENTRIES: Final = ("name", "notes", "arm", "instances", "limits", "success", "objective", "seed",
                   "memory", "cores", "clock", "environment", "policy")  # fmt: skip
_CLOCKS: Final = ("wall", "cpu")
_BYTES: Final = {"B": 1, "kB": 10**3, "KB": 10**3, "MB": 10**6, "GB": 10**9,
                 "KiB": 2**10, "MiB": 2**20, "GiB": 2**30}  # fmt: skip
_SIZE: Final = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([a-zA-Z]+)\s*")
_LEAST_LIMIT: Final = 0.001  # seconds: nothing starts faster


@dataclass(frozen=True)
class Spec:
    """What is to be tuned.

    Attributes
    ----------
    name : str
        What it is called.
    arms : tuple of Arm
        The commands.
    limits : tuple of float
        When to give up, in seconds, rising; the last is the full cut-off.
    instances : tuple of Instance
        What the commands are run on.
    success : Success
        What counts as success.
    objective : Worth
        What seconds and giving up cost.
    seed : int
        Of the draws of instances, and of the policy.
    memory : int, optional
        How many bytes a run may hold.
    cores : int
        How many cores a run gets.
    clock : {"wall", "cpu"}
        What seconds are: of a clock, or of processors, of all that a run has started.
    environment : mapping
        Further variables of the environment.
    policy : Policy, optional
        Who decides, of the room of resources; by default what does best by our measurements.
    notes : str
        What a reader of the report should know.
    folder : Path
        Where commands are run, and what paths are relative to.
    """

    name: str
    arms: tuple[Arm, ...]
    limits: tuple[float, ...]
    instances: tuple[Instance, ...]
    success: SuccessRule
    objective: CostModel
    seed: int = 0
    memory: int | None = None
    cores: int = 1
    clock: str = "wall"
    environment: Mapping[str, str] = field(default_factory=dict)
    policy: Policy | None = None
    notes: str = ""
    folder: Path = Path()

    @classmethod
    def from_file(cls, path: str | Path) -> Self:
        """Read a spec; errors name the file."""
        path = Path(path)
        try:
            table = tomllib.loads(path.read_text(encoding="utf-8"))
        except FileNotFoundError:
            raise FileNotFoundError(f"there is no file {path}") from None
        except RecursionError:
            raise ValueError(f"{path} is not valid TOML: it is nested too deeply") from None
        except (OSError, UnicodeDecodeError) as error:
            raise ValueError(f"{path} cannot be read: {error}") from error
        except tomllib.TOMLDecodeError as error:
            raise ValueError(f"{path} is not valid TOML: {error}") from error
        try:
            return cls.from_table({"name": path.stem, **table}, folder=path.parent)
        except (TypeError, ValueError) as error:
            raise ValueError(f"{path}: {error}") from error

    @classmethod
    def from_table(cls, table: Mapping[str, Any], *, folder: Path = Path()) -> Self:
        """Make a spec of a dict of the same form; a ``function`` may be one itself."""
        for entry in table:
            if entry not in _ENTRIES:
                raise unknown_name_error(entry, _ENTRIES)
        for entry in ("arm", "limits"):
            if entry not in table:
                raise ValueError(f"{entry} must be given")
        folder = folder.resolve()
        limits = _limits(table["limits"])
        success = SuccessRule.of(table.get("success", {}))
        spec = cls(
            name=check_line("name", table.get("name", "tune")),
            arms=arms_of(table["arm"]),
            limits=limits,
            instances=instances_of(table.get("instances"), folder),
            success=success,
            objective=CostModel.of(table.get("objective", "PAR2"), limits[-1], success.span),
            seed=check_seed(table.get("seed", 0)),
            memory=_memory(table.get("memory")),
            cores=check_integer("cores", table.get("cores", 1), Range(ge=1)),
            clock=check_choice("clock", table.get("clock", "wall"), _CLOCKS),
            environment=_environment(table.get("environment", {})),
            policy=_policy(table.get("policy")),
            notes=_text("notes", table.get("notes", "")),
            folder=folder,
        )
        fields = spec.fields(spec.instances[0], 1, limits[0])
        if "instances" not in table:
            del fields["instance"]
        for arm in spec.arms:
            arm.check(f"arm {arm.name!r}", fields, folder, spec.environment.get("PATH"))
            if arm.function and spec.clock == "cpu":
                raise ValueError(f"clock must be 'wall' for functions, such as {arm.name!r}")
        return spec

    @property
    def names(self) -> tuple[str, ...]:
        """Those of the arms."""
        return tuple(arm.name for arm in self.arms)

    def facts(self) -> dict[str, Any]:
        """Return what a policy is told beforehand, as `Study.create` takes it."""
        least = self.success.least
        return {
            "limits": list(self.limits),
            "cost": self.objective.cost,
            "penalty": self.objective.penalty(least),
            "scale": (least, self.success.scale[1]),
        }

    def fields(self, instance: Instance, seed: int, limit: float) -> dict[str, Any]:
        """Return the fields of a run, but an arm's own."""
        return {"instance": instance.name, "seed": seed, "limit": limit, **instance.columns}

    def as_json(self) -> dict[str, Any]:
        """Return all that decides what a tune is, resolved: no file is needed to read it."""
        return {
            "name": self.name,
            "arms": [
                {
                    "name": arm.name,
                    "command": list(arm.command),
                    "parameters": dict(arm.parameters),
                    "function": arm.function,
                }
                for arm in self.arms
            ],
            "limits": list(self.limits),
            "instances": [asdict(one) for one in self.instances],
            "success": self.success.as_json(),
            "objective": self.objective.as_json(),
            "seed": self.seed,
            "memory": self.memory,
            "cores": self.cores,
            "clock": self.clock,
            "environment": dict(self.environment),
            "policy": self.policy
            and {"name": type(self.policy).__name__, **self.policy.parameters()},
            "notes": self.notes,
            "folder": str(self.folder),
        }

    @classmethod
    def from_json(cls, said: Mapping[str, Any]) -> Self:
        """Return the spec that `as_json` said, now or before entries were renamed."""
        if "worth" in said:
            said = {**said, "objective": _objective_from_worth(said["worth"])}
        success, limits = SuccessRule.of(said["success"]), tuple(said["limits"])
        return cls(
            name=said["name"],
            arms=tuple(Arm(**{**arm, "command": tuple(arm["command"])}) for arm in said["arms"]),
            limits=limits,
            instances=tuple(Instance(**one) for one in said["instances"]),
            success=success,
            objective=CostModel.of(said["objective"], limits[-1], success.span),
            seed=said["seed"],
            memory=said["memory"],
            cores=said["cores"],
            clock=said["clock"],
            environment=said["environment"],
            policy=_policy(said["policy"]),
            notes=said["notes"],
            folder=Path(said["folder"]),
        )


def _objective_from_worth(worth: Any) -> Any:
    """Return what earlier versions wrote as ``worth``, with the names of today."""
    names = {"second": "cost_per_second", "giving_up": "cost_of_giving_up"}
    if not isinstance(worth, Mapping):
        return worth
    return {names.get(name, name): value for name, value in worth.items()}


def _limits(value: Any) -> tuple[float, ...]:
    if isinstance(value, Mapping):
        value = _range(value)
    elif isinstance(value, int | float) and not isinstance(value, bool):
        value = [value]
    found = check_increasing("limits", check_vector("limits", value, Range(ge=_LEAST_LIMIT)))
    return tuple(found.tolist())


def _range(table: Mapping[str, Any]) -> Any:
    """Return limits from one to another, each as many times the one before."""
    wanted = ("from", "to", "count")
    for entry in table:
        if entry not in wanted:
            raise unknown_name_error(f"limits.{entry}", wanted)
    for entry in wanted:
        if entry not in table:
            raise ValueError(f"limits.{entry} must be given")
    low = check_number("limits.from", table["from"], Range(ge=_LEAST_LIMIT))
    high = check_number("limits.to", table["to"], Range(gt=low))
    count = check_integer("limits.count", table["count"], Range(ge=2, le=1000))
    points = np.geomspace(low, high, count)
    rounded = [float(f"{point:.4g}") for point in points[1:-1]]
    return [low, *rounded, high]


def _memory(value: Any) -> int | None:
    if isinstance(value, str) and (found := _SIZE.fullmatch(value)):
        unit = check_choice("memory: its unit", found[2], _BYTES)
        return check_integer("memory", int(Fraction(found[1]) * _BYTES[unit]), LEAST_MEMORY)
    if isinstance(value, str):
        raise ValueError(f"memory must be as '2 GiB', got {short_repr(value)}")
    return None if value is None else check_integer("memory", value, LEAST_MEMORY)


def _environment(value: Any) -> dict[str, str]:
    if not isinstance(value, Mapping) or not all(isinstance(v, str) for v in value.values()):
        raise TypeError(f"environment must be a table of texts, got {short_repr(value)}")
    for name, text in value.items():
        if not name or "=" in name or "\0" in name + text:
            raise ValueError(f"environment.{name} must have a name without =, and no character 0")
    return dict(value)


def _text(name: str, value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{name} must be a text, got {short_repr(value)}")
    return value


def _policy(value: Any) -> Policy | None:
    if value is None or isinstance(value, Policy):
        return value
    table = {"name": value} if isinstance(value, str) else value
    if not isinstance(table, Mapping) or "name" not in table:
        raise TypeError(f"policy must be a name, or a table with a name, got {short_repr(value)}")
    known = settings.find_setting("resource").policies
    kind = known[check_choice("policy.name", table["name"], known)]
    if kind.needs:
        listed = ", ".join(kind.needs)
        raise ValueError(f"policy.name must be of one that need not be told {listed}, which a tune "
                         f"does not know, got {table['name']!r}")  # fmt: skip
    return kind.from_parameters({k: v for k, v in table.items() if k != "name"})
