"""Space of the parameters of a command: ranges, categories, conditions, forbidden combinations."""

import itertools
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from graphlib import CycleError, TopologicalSorter
from typing import Any, Final, Self

import numpy as np

from keyhole.contract.state_arrays import FloatArray
from keyhole.spec_values.error_messages import check_entries
from keyhole.tune.arms import Scalar, check_field_table, check_nonempty_list, check_table
from keyhole.validation import Range, check_flag, check_integer, check_number, short_repr

_DOMAINS: Final = {
    "range": ("range", "default", "when", "integer", "log"),
    "categories": ("categories", "default", "when"),
    "ordinals": ("ordinals", "default", "when"),
}
"""Entries that a parameter's table may have, by the entry that has its values."""
_MAX_LISTED: Final = 10_000
"""More configurations than this are not listed."""
_CHECKED_SAMPLES: Final = 1_000  # random configurations, one of which must be allowed
_MAX_LEVELS: Final = 500  # of all parameters: each has an effect in the model
_ENDS: Final = Range(ge=-(2.0**53), le=2.0**53)
_LEAST_LOG_END: Final = 1e-15
_LEVELS: Final = 3
"""Levels into which a range is divided."""
Values = tuple[Scalar, ...]


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
    is_integer, is_log : bool
        Whether a number is whole, and whether it is sampled on a logarithmic scale.
    when : mapping of str to tuple
        Values that other parameters must have for this parameter to be active.
    """

    default: Scalar
    values: Values
    low: float
    high: float
    is_integer: bool
    is_log: bool
    when: Mapping[str, Values]

    @classmethod
    def from_table(cls, path: str, table: object) -> Self:
        """Make a parameter of a table of a spec."""
        domains = [entry for entry in _DOMAINS if isinstance(table, Mapping) and entry in table]
        if len(domains) != 1 or not isinstance(table, Mapping):
            raise TypeError(
                f"{path} must be a table with one of {', '.join(_DOMAINS)}, got {short_repr(table)}"
            )
        domain = domains[0]
        check_table(path, table, _DOMAINS[domain], ["default"])
        values = _parse_list(f"{path}.{domain}", table[domain])
        when = _parse_choices(f"{path}.when", table["when"]) if "when" in table else {}
        if domain != "range":
            # The default becomes the equal entry of the list: 2.0 equals 2, but is another word of
            # a command.
            default = next((v for v in values if v == table["default"]), table["default"])
            return cls(default, values, 0.0, 0.0, False, False, when)
        is_integer = check_flag(f"{path}.integer", table.get("integer", False))
        is_log = check_flag(f"{path}.log", table.get("log", False))
        check = check_integer if is_integer else check_number
        ends = [check(f"{path}.range[{i}]", end, _ENDS) for i, end in enumerate(values)]
        if len(ends) != 2 or ends[0] >= ends[1] or (is_log and ends[0] < _LEAST_LOG_END):
            least_text = f", from {_LEAST_LOG_END:g} on" if is_log else ""
            raise ValueError(
                f"{path}.range must be two numbers that rise{least_text}, got {list(values)}"
            )
        default = check(f"{path}.default", table["default"])
        return cls(default, (), ends[0], ends[1], is_integer, is_log, when)

    def check(self, path: str, value: object) -> None:
        """Refuse a value that the parameter cannot have; `path` names the value in the error."""
        if not self.values:
            check = check_integer if self.is_integer else check_number
            check(path, value, Range(ge=self.low, le=self.high))
        elif value not in self.values:
            choices = ", ".join(map(repr, self.values))
            raise ValueError(f"{path} must be one of {choices}, got {short_repr(value)}")

    @cached_property
    def _ends(self) -> tuple[float, float]:
        """Ends between which a number is drawn."""
        # Half a unit is added at either end, so that the ends are drawn as often as other numbers.
        margin = 0.5 if self.is_integer else 0.0
        return self.low - margin, self.high + margin

    def value_at(self, share: float) -> Scalar:
        """Return the value below which a share of all values lies; `share` is in [0, 1)."""
        if self.values:
            return self.values[int(share * len(self.values))]
        low, high = self._ends
        number = low * (high / low) ** share if self.is_log else low + share * (high - low)
        # Six digits, or more in a narrow range: a person can read and type the command line.
        shared_digits = int(math.log10(max(-self.low, self.high) / (self.high - self.low)))
        digits = 6 + max(shared_digits, 0)
        rounded = round(number) if self.is_integer else float(f"{number:.{digits}g}")
        return min(max(rounded, self.low), self.high)

    def level_index(self, value: Any) -> int:
        """Return the index in `level_names` of a value, or of the third of a range that has it."""
        if self.values:
            return self.values.index(value)
        low, high = self._ends
        share = (value - low) / (high - low)
        if self.is_log:
            share = math.log(value / low) / math.log(high / low)
        return min(int(share * _LEVELS), _LEVELS - 1)

    @cached_property
    def level_names(self) -> list[str]:
        """Names of the values, or of the thirds of the range."""
        if self.values:
            return list(map(str, self.values))
        ends = [*(self.value_at(k / _LEVELS) for k in range(_LEVELS)), self.high]
        return [f"{low:g} to {high:g}" for low, high in itertools.pairwise(ends)]

    def finite_values(self) -> Sequence[Scalar] | None:
        """Return all values; None if they are not finitely many."""
        if self.is_integer:
            return range(int(self.low), int(self.high) + 1)
        return self.values or None


class ParameterSpace:
    """Space of all configurations of a command.

    Parameters
    ----------
    parameters : mapping
        The table ``[parameters]`` of a spec: a table for each parameter.
    forbidden : sequence of mappings
        Combinations that must not be run. Each has a value, or a list of values, for some
        parameters.

    Attributes
    ----------
    names : tuple of str
        All parameters, each after those on which it depends.
    default : dict
        The default configuration: its active parameters.

    Examples
    --------
    >>> space = ParameterSpace({
    ...     "luby": {"categories": ["on", "off"], "default": "on"},
    ...     "inc": {"range": [1.1, 4], "default": 2, "when": {"luby": "off"}},
    ... })
    >>> space.default
    {'luby': 'on'}
    >>> space.sample(np.random.default_rng(1))
    {'luby': 'off', 'inc': 3.85634}
    """

    def __init__(self, parameters: object, forbidden: object = ()) -> None:
        table = check_field_table("parameters", parameters, "a table of parameters", min_count=1)
        if isinstance(forbidden, str) or not isinstance(forbidden, Sequence):
            raise TypeError(f"forbidden must be a list of tables, got {short_repr(forbidden)}")
        self._json: dict[str, Any] = {"parameters": table, "forbidden": list(forbidden)}
        self._definitions = {
            name: ParameterDefinition.from_table(f"parameters.{name}", entries)
            for name, entries in table.items()
        }
        self._forbidden = [
            _parse_choices(f"forbidden[{i}]", choices) for i, choices in enumerate(forbidden)
        ]
        for name, definition in self._definitions.items():
            self._check_values(f"parameters.{name}.when", definition.when)
            definition.check(f"parameters.{name}.default", definition.default)
        for number, choices in enumerate(self._forbidden):
            self._check_values(f"forbidden[{number}]", choices)
        self.names: tuple[str, ...] = self._sort_by_conditions()
        self.default: dict[str, Scalar] = self._drop_inactive(self.all_defaults)
        self._check_default_and_size()

    def as_json(self) -> dict[str, object]:
        """Return the space as JSON data: the tables of a spec."""
        return dict(self._json)

    @property
    def all_defaults(self) -> dict[str, Scalar]:
        """Defaults of all parameters, also of those that are inactive in `default`."""
        return {name: definition.default for name, definition in self._definitions.items()}

    @property
    def unconditional(self) -> dict[str, Scalar]:
        """Defaults of the parameters that each configuration has."""
        return {name: d.default for name, d in self._definitions.items() if not d.when}

    def sample(self, rng: np.random.Generator) -> dict[str, Scalar]:
        """Draw a configuration: its active parameters, and no forbidden combination."""
        while self._find_forbidden(values := self._sample_unchecked(rng)) is not None:
            pass
        return values

    def _sample_unchecked(self, rng: np.random.Generator) -> dict[str, Scalar]:
        shares = dict(zip(self.names, rng.random(len(self.names)).tolist(), strict=True))
        return self._drop_inactive(
            {name: self._definitions[name].value_at(share) for name, share in shares.items()}
        )

    @cached_property
    def configurations(self) -> list[dict[str, Scalar]]:
        """All configurations; none if they are infinitely many, or may be more than 10,000."""
        choices = [self._definitions[name].finite_values() for name in self.names]
        sizes = [len(values) if values else math.inf for values in choices]
        if math.prod(sizes) > _MAX_LISTED:
            return []
        rows = (
            self._drop_inactive(dict(zip(self.names, row, strict=True)))
            for row in itertools.product(*filter(None, choices))
        )
        unique = {configuration_key(row): row for row in rows if self._find_forbidden(row) is None}
        return list(unique.values())

    def complete(self, values: Mapping[str, Scalar], names: set[str]) -> dict[str, Scalar]:
        """Return `values` with the default of each parameter of `names` that is active."""
        active = self._drop_inactive({**self.all_defaults, **values})
        return {**values, **{name: active[name] for name in active if name in names}}

    def check(self, values: Mapping[str, Scalar]) -> None:
        """Refuse values that are no configuration of this space."""
        self._check_values("parameters", {name: (value,) for name, value in values.items()})
        active = self._drop_inactive({**self.all_defaults, **values})
        if active.keys() != values.keys() or self._find_forbidden(values) is not None:
            got = short_repr(dict(values))
            raise ValueError(f"parameters must be a configuration that is allowed, got {got}")

    @cached_property
    def levels(self) -> list[tuple[str, str]]:
        """All levels: pairs of a parameter and the name of a value, or of a third of its range."""
        return [
            (name, level) for name in self.names for level in self._definitions[name].level_names
        ]

    def encode(self, values: Mapping[str, Scalar]) -> FloatArray:
        """Return 1 for each of the `levels` that a configuration has, and 0 for the others."""
        features: list[float] = []
        for name in self.names:
            definition = self._definitions[name]
            indicators = [0.0] * len(definition.level_names)
            if name in values:
                indicators[definition.level_index(values[name])] = 1.0
            features += indicators
        return np.array(features)

    def _drop_inactive(self, values: Mapping[str, Scalar]) -> dict[str, Scalar]:
        active: dict[str, Scalar] = {}
        for name in self.names:  # a parameter comes after those on which it depends
            conditions = self._definitions[name].when.items()
            if all(active.get(parent) in allowed for parent, allowed in conditions):
                active[name] = values[name]
        return active

    def _find_forbidden(self, values: Mapping[str, Scalar]) -> int | None:
        """Return the number of the first forbidden combination that a configuration has."""
        for number, choices in enumerate(self._forbidden):
            if all(values.get(name) in forbidden for name, forbidden in choices.items()):
                return number
        return None

    def _check_values(self, path: str, choices: Mapping[str, Values]) -> None:
        """Refuse unknown parameters, and values that parameters cannot have."""
        check_entries(path, choices, self._definitions)
        for name, values in choices.items():
            for value in values:
                self._definitions[name].check(f"{path}.{name}", value)

    def _sort_by_conditions(self) -> tuple[str, ...]:
        """Return the names, each after those that its `when` names; refuse a cycle."""
        parents = {name: definition.when for name, definition in self._definitions.items()}
        try:
            return tuple(TopologicalSorter(parents).static_order())
        except CycleError as error:
            cycle = error.args[1]
            raise ValueError(
                f"parameters.{cycle[0]}.when must not depend on itself, got {' > '.join(cycle)}"
            ) from None

    def _check_default_and_size(self) -> None:
        """Refuse a forbidden default, too many levels, and a space with nothing to choose from."""
        if (number := self._find_forbidden(self.default)) is not None:
            got = short_repr(self._json["forbidden"][number])
            raise ValueError(f"forbidden[{number}] must allow the default configuration, got {got}")
        level_count = len(self.levels)
        if level_count > _MAX_LEVELS:
            raise ValueError(
                f"parameters must have at most {_MAX_LEVELS} values in all, of which a range has "
                f"{_LEVELS}, got {level_count:,}"
            )
        if len(self.configurations) == 1:
            raise ValueError("parameters must allow at least two configurations, got one")
        rng = np.random.default_rng(0)
        samples = (self._sample_unchecked(rng) for _ in range(_CHECKED_SAMPLES))
        if all(self._find_forbidden(values) is not None for values in samples):
            raise ValueError(
                f"forbidden must allow some of {_CHECKED_SAMPLES:,} random configurations, got none"
            )


def configuration_key(values: Mapping[str, Scalar]) -> str:
    """Return a text that is the same for equal configurations."""
    return json.dumps(dict(values), sort_keys=True)


def _parse_list(path: str, value: object) -> Values:
    values = tuple(check_nonempty_list(path, value, "a list of values"))
    for entry in values:
        if not isinstance(entry, str | int | float) or "\0" in str(entry):
            raise TypeError(f"{path} must be strings or numbers, got {short_repr(entry)}")
    if len(set(values)) < len(values):
        raise ValueError(f"{path} must differ, got {short_repr(value)}")
    return values


def _parse_choices(path: str, table: object) -> dict[str, Values]:
    """Return the values of each parameter in a table, which has a value or a list for each."""
    if not isinstance(table, Mapping) or not table:
        raise TypeError(f"{path} must be a table of values of parameters, got {short_repr(table)}")
    choices = {}
    for name, value in table.items():
        values = [value] if isinstance(value, str | int | float) else value
        choices[name] = _parse_list(f"{path}.{name}", values)
    return choices
