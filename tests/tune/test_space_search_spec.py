"""Entries of a spec that describe a parameter space, and the commands of its configurations."""

import pytest

from keyhole.tune import Spec
from tests.tune import work
from tests.tune.spaces import SPACE


def lacking(low, lower):
    """Succeed."""


BAD = {
    "a parameter without a field": (
        {"parameters": SPACE["parameters"] | {"phase": {"range": [0, 1], "default": 1}}},
        r"parameters.phase must be a field that the arm leaves open, .* add \{phase\}"),
    "a field without a parameter": (
        {"arm": [{"name": "sim", "command": "true {mean} {luby} {inc} {effort}"}]},
        r"arm 'sim': unknown field \{effort\}; known are .*"),
    "a parameter that is the arm's": (
        {"arm": [SPACE["arm"][0] | {"parameters": {"inc": 3}}]},
        "parameters.inc must be a field that the arm leaves open, got none"),
    "no parameter": ({"parameters": {}}, "parameters must be a table of parameters, got {}"),
    "forbidden alone": (
        {"parameters": None, "forbidden": [{"luby": "on"}]}, "parameters must be a table of para"),
    "a forbidden default": (
        {"forbidden": [{"luby": "on"}]}, r"forbidden\[0\] must allow the default configuration"),
    "two arms": (
        {"arm": [SPACE["arm"][0], {"name": "b", "command": "true"}]},
        "arm must be a single command with parameters, got 2"),
    "a number": (
        {"success": {"number": "([0-9]+)"}}, "success.number must be left out with parameters, "),
    "a scale": ({"success": {"scale": [0, 2]}}, "success.scale must be left out with parameters"),
    "a judgement at the limit": (
        {"success": {"pattern": "x", "at_limit": True}, "limits": 1}, "success.at_limit must be"),
    "a policy of lists": (
        {"policy": "RCUCB"}, "policy must be one of model, racing; got 'RCUCB'"),
    "a policy with a parameter": (
        {"policy": {"name": "racing", "speed": 1}}, "policy.speed is not known; known are name"),
    "two spaces": ({"space": "space.json"}, "parameters must be left out with space, a file of"),
    "the full cut-off of a list": (
        {"parameters": None, "objective": "full cut-off",
         "arm": [{"name": "a", "command": "true"}]}, r"'full cut-off' needs \[parameters\]"),
    "a function that is not there": (
        {"arm": [{"name": "f", "function": "tests.tune.work:absent"}]},
        r"arm\[0\].function: the arguments of tests.tune.work:absent cannot be read: .*'absent'"),
    "an argument that no run has": (
        {"arm": [{"name": "f", "function": lacking}], "parameters": {"low": {
            "categories": [1, 2], "default": 1}}},
        "arm 'f': the argument lower of its function must have a default or another name; all "
        "runs have instance, seed, limit, low .did you mean 'low'"),
    "an argument that may be inactive": (
        {"arm": [{"name": "f", "function": lacking}], "parameters": {
            "low": {"categories": [1, 2], "default": 1},
            "lower": {"range": [1, 2], "default": 2, "when": {"low": 2}}}},
        "arm 'f': the argument lower of its function must have a default"),
    "an argument that a function lacks": (
        {"arm": [{"name": "f", "function": work.works}], "limits": 1},
        "parameters.mean must be a field that the arm leaves open"),
}  # fmt: skip


@pytest.mark.parametrize(("change", "words"), BAD.values(), ids=BAD)
def test_a_bad_entry_is_named(change, words):
    table = {entry: value for entry, value in {**SPACE, **change}.items() if value is not None}
    with pytest.raises((ValueError, TypeError), match=words):
        Spec.from_table(table)


def test_a_spec_with_a_space_is_saved_and_read():
    spec = Spec.from_table({**SPACE, "policy": "racing", "forbidden": [{"luby": "off", "mean": 1}]})
    assert Spec.from_json(spec.as_json()).as_json() == spec.as_json()


@pytest.mark.parametrize(
    ("command", "parameters", "words"),
    [
        ("true -a={luby} -x {inc} {mean}", {"luby": "off", "inc": 1.5, "mean": 1},
         ["true", "-a=off", "-x", "1.5", "1"]),
        ("true -a={luby} -x {inc} {mean}", {"luby": "on", "mean": 1}, ["true", "-a=on", "1"]),
        ("true {luby} -x={inc} {mean}", {"luby": "on", "mean": 1}, ["true", "on", "1"]),
        ("true {luby} {mean} -v -- {inc:.2f}", {"luby": "on", "mean": 1},
         ["true", "on", "1", "-v", "--"]),
        ("true {luby} --x={mean} {inc}", {"luby": "on", "mean": 1}, ["true", "on", "--x=1"]),
    ],
)  # fmt: skip
def test_words_of_inactive_parameters_are_left_out(command, parameters, words):
    spec = Spec.from_table({**SPACE, "arm": [{"name": "sim", "command": command}]})
    assert spec.configure(parameters).format_command({}) == words
