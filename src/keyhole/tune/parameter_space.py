"""Space of the parameters of a command: ranges, categories, conditions, forbidden combinations."""

import itertools
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Final, Self

import numpy as np
from numpy.typing import NDArray

from keyhole.spec_values.error_messages import check_entries
from keyhole.tune.arms import RUN_FIELDS, Parameter
from keyhole.tune.config_space import read_config_space
from keyhole.validate import check_integer, check_number, short_repr, suggestion

_DOMAINS: Final = ("range", "categories", "ordinals")
_NUMBER_ENTRIES: Final = ("range", "default", "when", "integer", "log")
_LIST_ENTRIES: Final = ("categories", "ordinals", "default", "when")
_MAX_COUNT: Final = 10_000
"""More configurations than this are not counted."""
_CHECKED_SAMPLES: Final = 1_000
_MOST_LEVELS: Final = 3
"""Levels into which a range is divided in `ParameterSpace.encode`."""
Values = tuple[Parameter, ...]


@dataclass(frozen=True)
class ParameterDefinition:
    """One parameter: its values, its default, and when it is active.

    Attributes
    ----------
    default : str, int, float or bool
        Value of the default configuration.
    values : tuple
        Categories or ordinals; empty for a number.
    low, high : float
        Ends of the range of a number.
    is_integer, is_log, is_ordered : bool
        Whether a number is whole, whether it is sampled on a logarithmic scale, and whether values
        have an order.
    when : mapping of str to tuple
        Values of other parameters, of which each must hold for this parameter to be active.
    """

    default: Parameter
    values: Values = ()
    low: float = 0.0
    high: float = 0.0
    is_integer: bool = False
    is_log: bool = False
    is_ordered: bool = False
    when: Mapping[str, Values] = field(default_factory=dict)

    def __contains__(self, value: object) -> bool:
        """Return whether the parameter may have a value."""
        if self.values:
            return value in self.values
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        is_whole = is_number and float(value) == math.floor(value)  # type: ignore[arg-type]
        return is_number and self.low <= value <= self.high and (is_whole or not self.is_integer)  # type: ignore[operator]

    def __str__(self) -> str:
        """Return the allowed values in words that follow "must be"."""
        if self.values:
            return f"one of {', '.join(map(repr, self.values))}"
        return f"{'a whole' if self.is_integer else 'a'} number in [{self.low:g}, {self.high:g}]"

    def value_at(self, share: float) -> Parameter:
        """Return the value at a share of all values, in [0, 1)."""
        if self.values:
            return self.values[int(share * len(self.values))]
        # Each whole number has the cell of half a unit around it, so that both ends are as likely
        # as all others.
        margin = 0.5 if self.is_integer else 0.0
        low = self.low - margin
        high = self.high + margin
        number = low + share * (high - low)
        if self.is_log:
            number = low * (high / low) ** share
        # Six digits: a command line that a person can read, and type again.
        rounded = round(number) if self.is_integer else float(f"{number:.6g}")
        return min(max(rounded, self.low), self.high)

    def finite_values(self) -> Values | None:
        """Return all values; None for a number that is not whole, or with too many."""
        if self.values:
            return self.values
        if not self.is_integer or self.high - self.low >= _MAX_COUNT:
            return None
        return tuple(range(int(self.low), int(self.high) + 1))

    def levels(self) -> list[str]:
        """Return names of the levels: values, or thirds of a range."""
        values = self.finite_values()
        if values and (self.values or len(values) <= _MOST_LEVELS):
            return [str(value) for value in values]
        ends = [self.value_at(k / _MOST_LEVELS) for k in range(_MOST_LEVELS)] + [self.high]
        return [f"{low:g} to {high:g}" for low, high in itertools.pairwise(ends)]

    def level(self, value: Parameter) -> int:
        """Return the position of the level of a value."""
        values = self.finite_values()
        if values and (self.values or len(values) <= _MOST_LEVELS):
            return values.index(value)
        begins = [self.value_at(k / _MOST_LEVELS) for k in range(1, _MOST_LEVELS)]
        return sum(value >= begin for begin in begins)  # type: ignore[operator]


class ParameterSpace:
    """Space of all configurations of a command.

    Parameters
    ----------
    definitions : mapping of str to ParameterDefinition
        The parameters by name.
    forbidden : sequence of mappings
        Combinations that must not be run: for each parameter named the values that are forbidden
        together.

    Examples
    --------
    >>> space = ParameterSpace.from_table({
    ...     "luby": {"categories": ["on", "off"], "default": "on"},
    ...     "inc": {"range": [1.1, 4], "default": 2, "when": {"luby": "off"}},
    ... })
    >>> space.default
    {'luby': 'on'}
    >>> space.sample(np.random.default_rng(1))
    {'luby': 'off', 'inc': 3.85635}
    """

    def __init__(
        self,
        definitions: Mapping[str, ParameterDefinition],
        forbidden: Sequence[Mapping[str, Values]] = (),
    ) -> None:
        if not definitions:
            raise ValueError("parameters must have at least one parameter, got none")
        self._definitions = dict(definitions)
        self._forbidden = [dict(clause) for clause in forbidden]
        for name, definition in self._definitions.items():
            self._check_values(f"parameters.{name}.when", definition.when)
            if definition.default not in definition:
                raise ValueError(
                    f"parameters.{name}.default must be {definition}, "
                    f"got {short_repr(definition.default)}"
                )
        for number, clause in enumerate(self._forbidden):
            self._check_values(f"forbidden[{number}]", clause)
        self.names: tuple[str, ...] = self._sort_by_conditions()
        """Names of all parameters, each behind those on which it depends."""
        self.default: dict[str, Parameter] = self._drop_inactive(
            {name: self._definitions[name].default for name in self.names}
        )
        """The default configuration: its active parameters."""
        if (clause_number := self._find_forbidden(self.default)) is not None:
            raise ValueError(
                f"forbidden[{clause_number}] must not forbid the default configuration, "
                f"got {short_repr(self._forbidden[clause_number])}"
            )
        self._check_size()

    @property
    def all_defaults(self) -> dict[str, Parameter]:
        """Defaults of all parameters, also of those that are inactive in `default`."""
        return {name: self._definitions[name].default for name in self.names}

    @classmethod
    def from_table(cls, table: object, forbidden: object = ()) -> Self:
        """Make a space of the table ``[parameters]`` of a spec, and of its entry ``forbidden``."""
        if not isinstance(table, Mapping):
            raise TypeError(f"parameters must be a table, got {short_repr(table)}")
        for name in table:
            if not isinstance(name, str) or not name.isidentifier() or name in RUN_FIELDS:
                raise ValueError(
                    f"parameters.{name} must be an identifier other than {', '.join(RUN_FIELDS)}"
                )
        definitions = {
            name: _parse_definition(f"parameters.{name}", entries)
            for name, entries in table.items()
        }
        if isinstance(forbidden, str | Mapping) or not isinstance(forbidden, Sequence):
            raise TypeError(f"forbidden must be a list of tables, got {short_repr(forbidden)}")
        clauses = [_parse_values(f"forbidden[{i}]", clause) for i, clause in enumerate(forbidden)]
        return cls(definitions, clauses)

    @classmethod
    def from_config_space(cls, path: Path) -> Self:
        """Read a space of ConfigSpace from a JSON file."""
        return cls.from_table(*read_config_space(path))

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """Return the space of the data of `as_json`."""
        return cls.from_table(data["parameters"], data["forbidden"])

    def as_json(self) -> dict[str, object]:
        """Return the space as JSON data: the tables of a spec."""
        return {
            "parameters": {name: _definition_table(self._definitions[name]) for name in self.names},
            "forbidden": [
                {name: list(values) for name, values in clause.items()}
                for clause in self._forbidden
            ],
        }

    def sample(self, rng: np.random.Generator) -> dict[str, Parameter]:
        """Draw a configuration: its active parameters, and no forbidden combination."""
        while self._find_forbidden(values := self._sample_any(rng)) is not None:
            pass
        return values

    def _sample_any(self, rng: np.random.Generator) -> dict[str, Parameter]:
        shares = dict(zip(self.names, rng.random(len(self.names)).tolist(), strict=True))
        return self._drop_inactive(
            {name: self._definitions[name].value_at(share) for name, share in shares.items()}
        )

    @cached_property
    def _configurations(self) -> list[dict[str, Parameter]] | None:
        choices = [self._definitions[name].finite_values() for name in self.names]
        sizes = [len(values) if values else math.inf for values in choices]
        if math.prod(sizes) > _MAX_COUNT:
            return None
        rows = (
            self._drop_inactive(dict(zip(self.names, row, strict=True)))
            for row in itertools.product(*filter(None, choices))
        )
        unique = {configuration_key(row): row for row in rows if self._find_forbidden(row) is None}
        return list(unique.values())

    def count(self) -> int | None:
        """Return the number of configurations; None if it is infinite, or may exceed 10,000."""
        return None if self._configurations is None else len(self._configurations)

    def __iter__(self) -> Iterator[dict[str, Parameter]]:
        """Iterate over all configurations of a space that has a `count`."""
        return iter(self._configurations or ())

    def check(self, values: Mapping[str, Parameter]) -> None:
        """Refuse values that are no configuration of this space."""
        self._check_values("parameters", {name: (value,) for name, value in values.items()})
        active_names = self._drop_inactive(values)
        if len(active_names) != len(values) or self._is_incomplete(values):
            raise ValueError(f"parameters must be all that are active, got {short_repr(values)}")
        if self._find_forbidden(values) is not None:
            raise ValueError(f"parameters must not be forbidden, got {short_repr(values)}")

    def levels(self, name: str) -> list[str]:
        """Return names of the levels of a parameter: its values, or thirds of its range."""
        return self._definitions[name].levels()

    def encode(self, values: Mapping[str, Parameter]) -> NDArray[np.int64]:
        """Return the level of each parameter of a configuration; -1 where it is inactive."""
        return np.array(
            [
                self._definitions[name].level(values[name]) if name in values else -1
                for name in self.names
            ]
        )

    def _is_active(self, name: str, values: Mapping[str, Parameter]) -> bool:
        conditions = self._definitions[name].when.items()
        return all(values.get(parent) in allowed for parent, allowed in conditions)

    def _is_incomplete(self, values: Mapping[str, Parameter]) -> bool:
        return any(name not in values and self._is_active(name, values) for name in self.names)

    def _drop_inactive(self, values: Mapping[str, Parameter]) -> dict[str, Parameter]:
        active: dict[str, Parameter] = {}
        for name in self.names:  # those on which it depends come first
            if name in values and self._is_active(name, active):
                active[name] = values[name]
        return active

    def _find_forbidden(self, values: Mapping[str, Parameter]) -> int | None:
        """Return the number of the first forbidden combination that a configuration has."""
        for number, clause in enumerate(self._forbidden):
            if all(values.get(name) in choices for name, choices in clause.items()):
                return number
        return None

    def _check_values(self, path: str, table: Mapping[str, Values]) -> None:
        """Refuse unknown parameters, and values that they cannot have."""
        for name, values in table.items():
            if name not in self._definitions:
                raise ValueError(
                    f"{path}.{name} must be a parameter; known are {', '.join(self._definitions)}"
                    f"{suggestion(name, self._definitions)}"
                )
            for value in values:
                if value not in self._definitions[name]:
                    raise ValueError(
                        f"{path}.{name} must be {self._definitions[name]}, got {short_repr(value)}"
                    )

    def _sort_by_conditions(self) -> tuple[str, ...]:
        """Return the names, each behind those that its `when` names; refuse a circle."""
        sorted_names: list[str] = []
        open_names = list(self._definitions)
        while open_names:
            for name in open_names:
                if all(parent in sorted_names for parent in self._definitions[name].when):
                    break
            else:
                raise ValueError(
                    f"parameters.{open_names[0]}.when must not depend on itself, "
                    f"got a circle of {', '.join(open_names)}"
                )
            sorted_names.append(name)
            open_names.remove(name)
        return tuple(sorted_names)

    def _check_size(self) -> None:
        """Refuse a space with nothing to choose from."""
        if self.count() == 1:
            raise ValueError("parameters must allow at least two configurations, got one")
        rng = np.random.default_rng(0)
        samples = (self._sample_any(rng) for _ in range(_CHECKED_SAMPLES))
        if any(self._find_forbidden(values) is None for values in samples):
            return
        raise ValueError(
            f"forbidden must allow more than one in {_CHECKED_SAMPLES:,} random configurations"
        )


def configuration_key(values: Mapping[str, Parameter]) -> str:
    """Return a text that is the same for equal configurations."""
    return json.dumps(dict(values), sort_keys=True)


def _parse_definition(path: str, table: object) -> ParameterDefinition:
    if not isinstance(table, Mapping):
        raise TypeError(f"{path} must be a table, got {short_repr(table)}")
    domains = [entry for entry in _DOMAINS if entry in table]
    if len(domains) != 1:
        raise ValueError(f"{path} must have one of {', '.join(_DOMAINS)}, got {short_repr(table)}")
    check_entries(path, table, _NUMBER_ENTRIES if domains == ["range"] else _LIST_ENTRIES)
    if "default" not in table:
        raise ValueError(f"{path}.default must be given")
    when = _parse_values(f"{path}.when", table["when"]) if "when" in table else {}
    default = table["default"]
    if domains == ["range"]:
        return _parse_number(path, table, when)
    values = _parse_list(f"{path}.{domains[0]}", table[domains[0]])
    return ParameterDefinition(default, values, is_ordered=domains == ["ordinals"], when=when)


def _parse_number(
    path: str, table: Mapping[str, Any], when: Mapping[str, Values]
) -> ParameterDefinition:
    ends = table["range"]
    if not isinstance(ends, Sequence) or isinstance(ends, str) or len(ends) != 2:
        raise TypeError(f"{path}.range must be two numbers, got {short_repr(ends)}")
    for entry in ("integer", "log"):
        if not isinstance(flag := table.get(entry, False), bool):
            raise TypeError(f"{path}.{entry} must be true or false, got {short_repr(flag)}")
    check = check_integer if table.get("integer") else check_number
    low, high = (check(f"{path}.range[{i}]", end) for i, end in enumerate(ends))
    if low >= high:
        raise ValueError(f"{path}.range must rise, got {low:g} and {high:g}")
    if table.get("log") and low <= 0:
        raise ValueError(f"{path}.range must begin above 0 with log, got {low:g}")
    return ParameterDefinition(
        default=check(f"{path}.default", table["default"]),
        low=low,
        high=high,
        is_integer=table.get("integer", False),
        is_log=table.get("log", False),
        when=when,
    )


def _parse_list(path: str, value: object) -> Values:
    if not isinstance(value, Sequence) or isinstance(value, str) or not value:
        raise TypeError(f"{path} must be a list of values, got {short_repr(value)}")
    for entry in value:
        if not isinstance(entry, str | int | float):
            raise TypeError(f"{path} must be strings or numbers, got {short_repr(entry)}")
        if isinstance(entry, str) and "\0" in entry:
            raise ValueError(f"{path} must have no NUL character, got {short_repr(entry)}")
        if list(value).count(entry) > 1:
            raise ValueError(f"{path} must differ, got {short_repr(entry)} twice")
    return tuple(value)


def _parse_values(path: str, table: object) -> dict[str, Values]:
    """Return the values of each parameter that a table names: of each a value, or a list."""
    if not isinstance(table, Mapping) or not table:
        raise TypeError(f"{path} must be a table of values of parameters, got {short_repr(table)}")
    return {
        name: _parse_list(
            f"{path}.{name}", [value] if isinstance(value, str | int | float) else value
        )
        for name, value in table.items()
    }


def _definition_table(definition: ParameterDefinition) -> dict[str, object]:
    """Return the table of a spec that describes a parameter."""
    table: dict[str, object] = {"range": [definition.low, definition.high]}
    if definition.values:
        table = {"ordinals" if definition.is_ordered else "categories": list(definition.values)}
    for entry, flag in (("integer", definition.is_integer), ("log", definition.is_log)):
        if flag:
            table[entry] = True
    if definition.when:
        table["when"] = {name: list(values) for name, values in definition.when.items()}
    return table | {"default": definition.default}
