"""Samples of a space respect conditions and forbidden combinations; errors name the entry."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from keyhole.tune.parameter_space import ParameterSpace

SWITCH = {"categories": ["on", "off"], "default": "on"}
NUMBER = {"range": [0, 2], "default": 1}


@st.composite
def spaces(draw):
    """Draw a space in which each parameter may depend on the one before, and some are forbidden."""
    table, last, allowed = {}, None, []
    for number in range(draw(st.integers(1, 4))):
        name = f"p{number}"
        if draw(st.booleans()):
            values = draw(st.lists(st.integers(0, 9), min_size=3, max_size=5, unique=True))
            table[name] = {"ordinals": values, "default": values[0]}
            values = values[1:]
        else:
            low = draw(st.integers(1, 5))
            table[name] = {
                "range": [low, low + draw(st.integers(2, 6))],
                "integer": True,
                "log": draw(st.booleans()),
                "default": low,
            }
            values = [low + 1]
        if last and draw(st.booleans()):
            table[name]["when"] = {last: draw(st.sampled_from(allowed))}
        last, allowed = name, [table[name]["default"], *values]
    forbidden = []
    if draw(st.booleans()):
        forbidden = [
            {name: table[name].get("ordinals", table[name].get("range"))[-1] for name in table}
        ]
    return table, forbidden


def is_active(name, values, table):
    conditions = table[name].get("when", {}).items()
    return all(parent in values and values[parent] == value for parent, value in conditions)


@given(spaces(), st.integers(0, 2**32))
def test_samples_have_the_active_parameters_and_nothing_forbidden(drawn, seed):
    table, forbidden = drawn
    space = ParameterSpace(table, forbidden)
    rng = np.random.default_rng(seed)
    for _ in range(20):
        values = space.sample(rng)
        space.check(values)
        assert set(values) == {name for name in table if is_active(name, values, table)}
        assert not any(clause.items() <= values.items() for clause in forbidden)
        for name, value in values.items():
            low, high = table[name].get("range", (-99, 99))
            assert value in table[name].get("ordinals", [value])
            assert low <= value <= high
        levels = zip(space.levels, space.encode(values), strict=True)
        assert [name for (name, _), is_level in levels if is_level] == list(values)


@given(spaces())
def test_a_finite_space_lists_each_configuration_once(drawn):
    space = ParameterSpace(*drawn)
    listed = {json.dumps(values, sort_keys=True) for values in space.configurations}
    assert len(listed) == len(space.configurations)
    rng = np.random.default_rng(0)
    assert {json.dumps(space.sample(rng), sort_keys=True) for _ in range(200)} <= listed


@given(spaces())
def test_a_space_is_the_same_from_its_json(drawn):
    space = ParameterSpace(*drawn)
    again = ParameterSpace(**json.loads(json.dumps(space.as_json())))
    assert again.configurations == space.configurations
    assert again.default == space.default


def test_a_range_is_sampled_evenly_and_a_log_range_by_its_logarithm():
    space = ParameterSpace({
        "flat": {"range": [1, 3], "integer": True, "default": 1},
        "log": {"range": [0.01, 100], "log": True, "default": 1},
    })  # fmt: skip
    rng = np.random.default_rng(1)
    samples = [space.sample(rng) for _ in range(3000)]
    counts = [sum(values["flat"] == k for values in samples) for k in (1, 2, 3)]
    assert counts == pytest.approx([1000] * 3, abs=120)
    assert np.median([values["log"] for values in samples]) == pytest.approx(1, abs=0.3)
    levels = np.array([space.encode(values) for values in samples])
    assert levels.sum(axis=0) == pytest.approx([1000] * 6, abs=120)
    assert space.levels[3:5] == [("log", "0.01 to 0.215443"), ("log", "0.215443 to 4.64159")]


def test_a_default_is_written_as_its_value_in_the_list():
    space = ParameterSpace({"a": {"ordinals": [1, 2, 3], "default": 2.0}})
    assert str(space.default) == "{'a': 2}"


def test_a_parameter_of_an_inactive_one_is_inactive():
    space = ParameterSpace({
        "c": {**NUMBER, "when": {"b": ["on", "off"]}},
        "b": {**SWITCH, "when": {"a": "off"}},
        "a": SWITCH,
    })  # fmt: skip
    assert space.names == ("a", "b", "c")
    assert space.default == {"a": "on"}
    assert space.all_defaults == {"a": "on", "b": "on", "c": 1}
    with pytest.raises(ValueError, match="parameters must be a configuration that is allowed"):
        space.check({"a": "on", "c": 1})


@pytest.mark.parametrize(
    ("table", "forbidden", "message"),
    [
        ({}, [], "parameters must be a table of parameters, got {}"),
        ({"seed": SWITCH}, [], "parameters.seed must be an identifier other than instance, seed"),
        ({"a": 1}, [], "parameters.a must be a table with one of range, categories, ordinals"),
        ({"a": {**SWITCH, **NUMBER}}, [], "parameters.a must be a table with one of range"),
        ({"a": {**SWITCH, "log": True}}, [], "parameters.a.log is not known"),
        ({"a": {"range": [0, 1]}}, [], "parameters.a.default must be given"),
        ({"a": {**NUMBER, "default": 3}}, [], r"a.default must lie in \[0, 2\], got 3"),
        ({"a": {**NUMBER, "range": [2, 0]}}, [], "a.range must be two numbers that rise"),
        (
            {"a": {**NUMBER, "log": True}},
            [],
            "a.range must be two numbers that rise, from",
        ),
        ({"a": {**NUMBER, "range": [-1e308, 1e308]}}, [], r"a.range\[0\] must lie in"),
        ({"a": {"ordinals": [*range(501)], "default": 1}}, [], "at most 500 values in all"),
        ({"a": {**NUMBER, "integer": 1}}, [], "a.integer must be true or false, got 1"),
        ({"a": {**NUMBER, "integer": True, "default": 0.5}}, [], "a.default must be a whole"),
        ({"a": {**SWITCH, "categories": "on"}}, [], "a.categories must be a list of values"),
        ({"a": {**SWITCH, "categories": ["on", "on"]}}, [], "a.categories must differ"),
        ({"a": {**SWITCH, "categories": ["on", None]}}, [], "must be strings or numbers, got None"),
        ({"a": {**SWITCH, "categories": ["on"]}}, [], "at least two configurations, got one"),
        ({"a": {**SWITCH, "when": {"b": 1}}}, [], "parameters.a.when.b is not known; known are a"),
        ({"a": {**SWITCH, "when": {"a": "on"}}}, [], "a.when must not depend on itself, got a > a"),
        (
            {"a": {**SWITCH, "when": {"b": "x"}}, "b": SWITCH},
            [],
            "parameters.a.when.b must be one of 'on', 'off', got 'x'",
        ),
        ({"a": SWITCH}, {"a": "on"}, "forbidden must be a list of tables"),
        ({"a": SWITCH}, [{"b": "on"}], r"forbidden\[0\].b is not known; known are a"),
        (
            {"a": SWITCH, "b": NUMBER},
            [{"b": 2.5}],
            r"forbidden\[0\].b must lie in \[0, 2\], got 2.5",
        ),
        (
            {"a": SWITCH, "b": {**NUMBER, "integer": True}},
            [{"b": 2.0}],
            r"forbidden\[0\].b must be a whole number, got 2.0",
        ),
        ({"a": SWITCH}, [{"a": "on"}], r"forbidden\[0\] must allow the default configuration"),
        ({"a": SWITCH}, [{"a": "off"}], "must allow at least two configurations, got one"),
        (
            {"a": {"range": [0, 9000], "integer": True, "default": 0}, "b": NUMBER},
            [{"a": list(range(1, 9001))}],
            "forbidden must allow some of 1,000 random configurations, got none",
        ),
    ],
)
def test_errors_name_the_entry_the_value_and_what_is_allowed(table, forbidden, message):
    with pytest.raises((TypeError, ValueError), match=message):
        ParameterSpace(table, forbidden)


def test_numbers_of_a_narrow_range_differ():
    space = ParameterSpace({"x": {"range": [1e6, 1e6 + 0.3], "default": 1e6}})
    rng = np.random.default_rng(1)
    assert len({space.sample(rng)["x"] for _ in range(100)}) == 100
