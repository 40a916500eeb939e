"""JSON files of the package ConfigSpace, read as the parameter tables of a spec."""

import json
import operator
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

from keyhole.files import read_results_file
from keyhole.validation import check_choice, short_repr

_TYPES: Final = ("uniform_float", "uniform_int", "categorical", "ordinal", "constant")
_OPERATORS: Final[Mapping[str, Callable[[int, int], bool]]] = {
    "NEQ": operator.ne,
    "LT": operator.lt,
    "GT": operator.gt,
}


def read_config_space(path: Path) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Return the tables ``[parameters]`` and ``forbidden`` of a JSON file of ConfigSpace.

    Ranges, categories, ordinals and constants are read; so are conditions on values, and forbidden
    combinations of values. The following are refused: distributions other than uniform ones,
    conditions joined by "or", conditions that a number is below, above or not equal to a value, and
    relations between parameters.
    """
    try:
        data = json.loads(read_results_file(path))
        table = {entry["name"]: _parameter_table(path, entry) for entry in data["hyperparameters"]}
        for condition in data.get("conditions", ()):
            table[condition["child"]]["when"] = _condition_table(path, condition, table)
        forbidden = [_clause_table(path, clause) for clause in data.get("forbiddens", ())]
    except (KeyError, TypeError, AttributeError, RecursionError, json.JSONDecodeError) as error:
        raise ValueError(
            f"space must be a JSON file of ConfigSpace, got {path}: {short_repr(error)}"
        ) from None
    return table, forbidden


def _parameter_table(path: Path, entry: Mapping[str, Any]) -> dict[str, Any]:
    entry_type = check_choice(f"{path}: type of {entry['name']}", entry["type"], _TYPES)
    if entry_type == "constant":
        return {"categories": [entry["value"]], "default": entry["value"]}
    # Version 0.4 of the format has `default_value`, and earlier ones have `default`.
    default = entry.get("default_value", entry.get("default"))
    if entry_type == "categorical":
        return {"categories": entry["choices"], "default": default}
    if entry_type == "ordinal":
        return {"ordinals": entry["sequence"], "default": default}
    return {
        "range": [entry["lower"], entry["upper"]],
        "integer": entry_type == "uniform_int",
        "log": entry.get("log", False),
        "default": default,
    }


def _condition_table(
    path: Path, condition: Mapping[str, Any], table: Mapping[str, Mapping[str, Any]]
) -> dict[str, list[Any]]:
    """Return the values that each parent must have for a parameter to be active."""
    if condition["type"] == "AND":
        allowed: dict[str, list[Any]] = {}
        for inner in condition["conditions"]:
            for parent, values in _condition_table(path, inner, table).items():
                allowed[parent] = [
                    value for value in values if value in allowed.get(parent, values)
                ]
        return allowed
    parent = condition["parent"]
    if condition["type"] in ("EQ", "IN"):
        return {parent: condition.get("values", [condition.get("value")])}
    name = f"{path}: type of the condition of {condition['child']}"
    compare = _OPERATORS[check_choice(name, condition["type"], ("AND", "EQ", "IN", *_OPERATORS))]
    choices = table[parent].get("ordinals", table[parent].get("categories", []))
    if condition["value"] not in choices:
        raise ValueError(f"{name} must be EQ or IN, since {parent} is a number or lacks the value")
    bound_rank = choices.index(condition["value"])
    return {parent: [value for rank, value in enumerate(choices) if compare(rank, bound_rank)]}


def _clause_table(path: Path, clause: Mapping[str, Any]) -> dict[str, list[Any]]:
    """Return the values of parameters that are forbidden together."""
    check_choice(f"{path}: type of a forbidden clause", clause["type"], ("AND", "EQUALS", "IN"))
    if clause["type"] == "AND":
        tables = [_clause_table(path, inner) for inner in clause["clauses"]]
        return {name: values for inner in tables for name, values in inner.items()}
    return {clause["name"]: clause.get("values", [clause.get("value")])}
