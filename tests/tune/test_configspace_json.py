"""Files of ConfigSpace are read as spaces; what cannot be expressed is refused by name."""

import json

import pytest

from keyhole.tune.configspace_json import read_config_space
from keyhole.tune.parameter_space import ParameterSpace

# As ConfigSpace 1.2.2 writes it.
FILE = {
    "name": "solver",
    "hyperparameters": [
        {"type": "categorical", "name": "a", "choices": ["x", "y", "z"], "default_value": "y"},
        {"type": "constant", "name": "k", "value": 3, "meta": None},
        {"type": "ordinal", "name": "o", "sequence": ["s", "m", "l"], "default_value": "m"},
        {
            "type": "uniform_float", "name": "b", "lower": 0.1, "upper": 10.0,
            "default_value": 1.0, "log": True, "meta": None,
        },
        {
            "type": "uniform_int", "name": "c", "lower": 1, "upper": 100,
            "default": 10, "log": False, "q": None,
        },
    ],
    "conditions": [
        {"type": "EQ", "child": "b", "parent": "a", "value": "x"},
        {
            "type": "AND",
            "child": "c",
            "conditions": [
                {"type": "IN", "child": "c", "parent": "a", "values": ["x", "y"]},
                {"type": "NEQ", "child": "c", "parent": "a", "value": "y"},
                {"type": "GT", "child": "c", "parent": "o", "value": "s"},
            ],
        },
    ],
    "forbiddens": [
        {
            "type": "AND",
            "clauses": [
                {"type": "EQUALS", "name": "a", "value": "x"},
                {"type": "IN", "name": "o", "values": ["m", "l"]},
            ],
        },
        {"type": "EQUALS", "name": "a", "value": "z"},
    ],
    "format_version": 0.4,
}  # fmt: skip


def read(tmp_path, data):
    path = tmp_path / "space.json"
    path.write_text(data if isinstance(data, str) else json.dumps(data))
    return ParameterSpace(*read_config_space(path))


def test_a_file_is_read_as_the_tables_of_a_spec(tmp_path):
    space = read(tmp_path, FILE)
    assert space.default == {"a": "y", "k": 3, "o": "m"}
    assert space.as_json() == {
        "parameters": {
            "a": {"categories": ["x", "y", "z"], "default": "y"},
            "k": {"categories": [3], "default": 3},
            "o": {"ordinals": ["s", "m", "l"], "default": "m"},
            "b": {
                "range": [0.1, 10.0], "integer": False, "log": True, "default": 1.0,
                "when": {"a": ["x"]},
            },
            "c": {
                "range": [1, 100], "integer": True, "log": False, "default": 10,
                "when": {"a": ["x"], "o": ["m", "l"]},
            },
        },
        "forbidden": [{"a": ["x"], "o": ["m", "l"]}, {"a": ["z"]}],
    }  # fmt: skip


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ("[1", "space must be a JSON file of ConfigSpace, got"),
        ({"hyperparameters": [{"name": "a"}]}, "space must be a JSON file of ConfigSpace"),
        (
            {"hyperparameters": [{"type": "normal_float", "name": "a"}]},
            "type of a must be one of uniform_float",
        ),
        (
            {"hyperparameters": [{**FILE["hyperparameters"][0], "name": "a-b"}]},
            "parameters.a-b must be",
        ),
        (
            {**FILE, "conditions": [{"type": "OR", "child": "b", "parent": "a"}]},
            "type of the condition of b must be one of AND, EQ, IN, NEQ, LT, GT; got 'OR'",
        ),
        (
            {**FILE, "conditions": [{"type": "LT", "child": "b", "parent": "c", "value": 5}]},
            "type of the condition of b must be EQ or IN, since c is a number",
        ),
        (
            {**FILE, "forbiddens": [{"type": "RELATION"}]},
            "type of a forbidden clause must be one of AND, EQUALS, IN",
        ),
    ],
)
def test_what_a_spec_cannot_say_is_refused(tmp_path, data, message):
    with pytest.raises(ValueError, match=message):
        read(tmp_path, data)
