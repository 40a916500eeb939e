"""The table ``[sweep]`` of a spec: the entries that it varies, and their combinations (points)."""

import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from copy import deepcopy
from dataclasses import dataclass, fields
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, cast

from keyhole.contract.policy import Policy
from keyhole.experiment.objects_from_spec import WORKER_ENTRIES, find_policy_class, make_policy
from keyhole.validation import check_choice, short_repr, suggestion

if TYPE_CHECKING:
    from keyhole.experiment.spec import Spec

Table = dict[str, Any]
EntryPath = tuple[str | int, ...]
"""The path of an entry: ``policy[0].alpha`` is ("policy", 0, "alpha")."""

SWEEPABLE_ENTRIES: Final = (
    "seed", "replications", "horizon", "checkpoints", "details", "workers", "duration", "pending",
    "problem", "policy",
)  # fmt: skip
"""The entries of a spec that a sweep may vary, as a whole or in part."""

_MOST_POINTS: Final = 10_000
_UNSWEEPABLE_ENTRIES: Final = ("name", "label")  # entries of a policy
# No leading zeros, so that an entry has one name only: policy[1], not policy[01].
_STEP: Final = re.compile(r"(?:^|\.)([A-Za-z_][\w-]*)|\[(0|[1-9]\d{0,8})\]")
_BARE_KEY: Final = re.compile(r"[A-Za-z0-9_-]+")


@dataclass(frozen=True)
class Point:
    """One experiment of a sweep: the values of the varied entries, and the spec with them."""

    values: Table
    spec: "Spec"

    def __str__(self) -> str:
        """Return the values, as ``horizon = 100, policy.alpha = 1``."""
        return format_point_values(self.values)


def format_point_values(values: Mapping[str, Any]) -> str:
    """Return the values of a point on a line."""
    return ", ".join(f"{name} = {_short_value(value)}" for name, value in values.items())


def _short_value(value: Any) -> str:
    return value_to_toml(value) if isinstance(value, dict) else short_repr(value)


def value_to_toml(value: Any) -> str:
    """Return a value in TOML on one line.

    Examples
    --------
    >>> print(value_to_toml({"name": "APT", "epsilon": 0.1, "arms": [True, 1]}))
    {name = "APT", epsilon = 0.1, arms = [true, 1]}
    """
    if isinstance(value, dict):
        keys = (key if _BARE_KEY.fullmatch(key) else value_to_toml(key) for key in value)
        pairs = zip(keys, map(value_to_toml, value.values()), strict=True)
        return f"{{{', '.join(f'{key} = {entry}' for key, entry in pairs)}}}"
    if isinstance(value, list):
        return f"[{', '.join(map(value_to_toml, value))}]"
    if isinstance(value, float):
        return repr(value)  # TOML has "inf", which JSON would write as "Infinity"
    return json.dumps(value, ensure_ascii=False)


def check_sweep(sweep: Any) -> None:
    """Refuse a table ``[sweep]`` with an invalid name or list, or with too many points."""
    if not isinstance(sweep, Mapping) or not sweep:
        raise ValueError(f"sweep must be a table with at least one entry, got {short_repr(sweep)}")
    for name, values in sweep.items():
        field = f'sweep."{name}"'
        if isinstance(values, Mapping) and values:
            raise TypeError(
                f"{field} must be a list of values, got a table; {_quote_hint(name, values)}"
            )
        parse_path(name)
        if not isinstance(values, list):
            raise TypeError(f"{field} must be a list of values, got {short_repr(values)}")
        if not values:
            raise ValueError(f"{field} must have at least one entry, got none")
        keys = set()
        for value in values:
            if (key := _hashable_key(value)) in keys:
                raise ValueError(
                    f"{field} must have each value once, got {short_repr(value)} twice"
                )
            keys.add(key)
        _check_finite(field, values)
    if count_points(sweep) > _MOST_POINTS:
        raise ValueError(
            f"sweep must have at most {_MOST_POINTS:,} points, since all are checked before the "
            f"first is simulated; got {count_points(sweep):,}"
        )


def _quote_hint(name: str, values: Any) -> str:
    """Return the hint to quote a name, whose parts TOML has read as nested tables."""
    while isinstance(values, Mapping) and values:
        step, values = next(iter(values.items()))
        name += f".{step}"
    return f'quote a name with a dot: "{name}" = {short_repr(values)}'


def _check_finite(field: str, value: Any) -> None:
    """Refuse NaN and infinity, which JSON cannot represent."""
    if isinstance(value, Mapping):
        for name, entry in value.items():
            _check_finite(f"{field}.{name}", entry)
    elif isinstance(value, list):
        for i, entry in enumerate(value):
            _check_finite(f"{field}[{i}]", entry)
    elif isinstance(value, float) and not math.isfinite(value):
        raise ValueError(f"{field} must be a finite number, got {value}")


def parse_path(name: str) -> EntryPath:
    """Return the steps of a name such as ``policy[0].alpha``; refuse what no sweep can vary."""
    matches = list(_STEP.finditer(name))
    if "".join(step[0] for step in matches) != name or not name:
        raise ValueError(f"sweep must have names such as policy[0].alpha, got {short_repr(name)}")
    steps = tuple(step[1] or int(step[2]) for step in matches)
    check_choice("sweep: the varied entry", steps[0], SWEEPABLE_ENTRIES)
    if steps == ("policy",):
        raise ValueError("sweep.policy must name a policy, policy[0], or a parameter, policy.alpha")
    # A policy is one line through all points in figures, so its name and label stay the same.
    if steps[0] == "policy" and steps[-1] in _UNSWEEPABLE_ENTRIES:
        raise ValueError(
            f"sweep must not vary {steps[-1]}, got {short_repr(name)}; write a [[policy]] for each"
        )
    return steps


def first_swept_values(sweep: Mapping[str, Sequence[Any]]) -> Table:
    """Return the entries of a spec that vary as a whole, each with its first value."""
    return {name: values[0] for name, values in sweep.items() if name in SWEEPABLE_ENTRIES}


def count_points(sweep: Mapping[str, Sequence[Any]]) -> int:
    """Return the number of points of a sweep."""
    return math.prod(map(len, sweep.values()))


def iterate_points(sweep: Mapping[str, Sequence[Any]]) -> Iterator[Table]:
    """Yield the values of each point: all combinations, in which the last entry varies fastest."""
    for values in product(*sweep.values()):
        yield dict(zip(sweep, values, strict=True))


def problem_table_at(table: Table, values: Table) -> Table:
    """Return the table ``[problem]`` at a point."""
    entries = {name: v for name, v in values.items() if parse_path(name)[0] == "problem"}
    # Only entries of policies need the folder of the spec.
    return cast(Table, _table_at_point(table, entries, Path())["problem"])


def point_tables(table: Table, folder: Path) -> Iterator[tuple[Table, Table]]:
    """Yield the values and the spec table of each point, with labels common to all points."""
    points = list(iterate_points(table["sweep"]))
    table_without_sweep = {name: entry for name, entry in table.items() if name != "sweep"}
    specs = []
    for values in points:
        with prefix_errors_with_point(values):
            specs.append(_table_at_point(table_without_sweep, values, folder))
    # A policy has one label, and is one line, in all figures: the label may name only parameters
    # that are equal at all points.
    labels = [_common_label(folder, specs, i) for i in range(len(table_without_sweep["policy"]))]
    for values, spec in zip(points, specs, strict=True):
        for entry, label in zip(spec["policy"], labels, strict=True):
            if label is not None:
                entry.setdefault("label", label)
        yield values, spec


@contextmanager
def prefix_errors_with_point(values: Table) -> Iterator[None]:
    """Prefix errors with the values of a point."""
    try:
        yield
    except (TypeError, ValueError, FileNotFoundError) as error:
        raise ValueError(f"at {format_point_values(values)}: {error}") from error


def _table_at_point(table: Table, values: Table, folder: Path) -> Table:
    """Return a spec table in which the entries that vary have the values of a point.

    Shorter paths, such as ``problem``, are set before longer paths, such as ``problem.threshold``.
    """
    result = deepcopy(table)
    name_by_path: dict[EntryPath, str] = {}  # of the entries set so far
    # Policies come after the problem, since its setting decides which parameters a policy has.
    for name in sorted(values, key=_path_sort_key):
        steps = parse_path(name)
        value = values[name]
        is_policy = steps[0] == "policy" and len(steps) == 2 and isinstance(steps[1], int)
        if (is_policy or steps == ("problem",)) and not isinstance(value, dict):
            raise TypeError(f"{name} must be a table, got {short_repr(value)}")
        paths = [steps]
        if _is_for_all_policies(steps):
            positions = _positions_with_parameter(result, name, str(steps[1]), folder)
            paths = [("policy", position, *steps[1:]) for position in positions]
        for path in paths:
            # A longer path may set an entry of a table that a shorter path has set, but only if
            # that table lacks the entry: otherwise the order of the paths would decide.
            for table_path, table_name in name_by_path.items():
                entry = path[len(table_path) :]
                if path == (*table_path, *entry) and _has_entry(values[table_name], entry):
                    raise ValueError(f"sweep must set each entry once, got {table_name} and {name}")
            _set_entry(result, path, value)
            name_by_path[path] = name
    return result


def _path_sort_key(name: str) -> tuple[bool, int]:
    """Return a sort key: policies come after the problem, longer paths after shorter paths."""
    steps = parse_path(name)
    return steps[0] == "policy", len(steps) + _is_for_all_policies(steps)


def _is_for_all_policies(steps: EntryPath) -> bool:
    """Return whether a path means a parameter of every policy that has it."""
    return steps[0] == "policy" and isinstance(steps[1], str)


def _has_entry(value: Any, steps: EntryPath) -> bool:
    """Return whether a value has an entry at a path."""
    try:
        for step in steps:
            value = value[step]
    except (LookupError, TypeError):
        return False
    return True


def _positions_with_parameter(table: Table, name: str, parameter: str, folder: Path) -> list[int]:
    """Return the positions of the policies that have a parameter; refuse it if no policy has it."""
    all_parameters: dict[str, None] = {}
    positions = []
    for i, entry in enumerate(table["policy"]):
        # The table of any policy may have entries on simulated workers.
        parameters = [*WORKER_ENTRIES]
        if isinstance(entry.get("name"), str):
            try:
                policy_class = find_policy_class(
                    entry["name"], str(table["problem"].get("setting")), folder
                )
            except (TypeError, ValueError, OSError) as error:
                raise ValueError(f"policy[{i}].{error}") from error
            parameters += [field.name for field in fields(cast(Any, policy_class))]
        all_parameters |= dict.fromkeys(parameters)
        if parameter in parameters:
            positions.append(i)
    if not positions:
        raise ValueError(
            f'sweep."{name}" must be a parameter of a policy: one of {", ".join(all_parameters)}'
            f"{suggestion(parameter, all_parameters)}"
        )
    return positions


def _set_entry(table: Any, steps: EntryPath, value: Any) -> None:
    """Set the entry of a table at a path."""
    path = ""
    for depth, step in enumerate(steps):
        if isinstance(step, int):
            if not isinstance(table, list) or step >= len(table):
                size = f"has {len(table)} entries" if isinstance(table, list) else "is no list"
                raise ValueError(f"{path}[{step}] cannot be varied: {path} {size}")
            path += f"[{step}]"
        else:
            if not isinstance(table, dict):
                raise ValueError(f"{path} must be a table if its {step} is varied")
            path += f".{step}" if path else step
        if depth == len(steps) - 1:
            # The value is copied: if a longer path sets an entry of it, the value must not change
            # at other points.
            table[step] = deepcopy(value)
        # A missing table is refused: a new table would have no other entries.
        elif isinstance(step, str) and step not in table:
            raise ValueError(f"{path} must be given if an entry of it is varied")
        else:
            table = table[step]


def _common_label(folder: Path, specs: Sequence[Table], position: int) -> str | None:
    """Return the label of a policy for all points; None if it keeps its default labels.

    The label has the parameters that are equal at all points. Invalid policies are refused later.
    """
    # A sweep has up to 10,000 points but few distinct policies: each is made once.
    policies_by_key: dict[Any, Policy | None] = {}
    for spec in specs:
        entry = spec["policy"][position]
        setting = spec["problem"].get("setting")
        if (key := _hashable_key([entry, setting])) not in policies_by_key:
            policies_by_key[key] = None
            parameters = {n: v for n, v in entry.items() if n not in ("label", *WORKER_ENTRIES)}
            # The error is raised, with the point's values, when the spec of that point is made.
            with suppress(TypeError, ValueError, OSError):
                policies_by_key[key] = make_policy(parameters, setting, folder)
    policies = [policy for policy in policies_by_key.values() if policy is not None]
    # A policy that is the same at all points keeps its default label. A policy whose class varies
    # has a label for each class.
    names = {type(policy).__name__ for policy in policies}
    if len(names) != 1 or len({repr(policy) for policy in policies}) == 1:
        return None
    first_texts, *other_texts = [_parameter_texts(policy) for policy in policies]
    common_texts = [text for text in first_texts if all(text in texts for texts in other_texts)]
    return f"{names.pop()}({', '.join(common_texts)})"


def _parameter_texts(policy: Policy) -> list[str]:
    """Return the parameters of a policy as in its label: alpha=1."""
    names = [field.name for field in fields(cast(Any, policy))]
    return [f"{name}={repr(getattr(policy, name)).removesuffix('.0')}" for name in names]


def _hashable_key(value: Any) -> Any:
    """Return a hashable key of a value; equal values have equal keys."""
    if isinstance(value, dict):
        return "table", *sorted((name, _hashable_key(entry)) for name, entry in value.items())
    return ("list", *map(_hashable_key, value)) if isinstance(value, list) else value
