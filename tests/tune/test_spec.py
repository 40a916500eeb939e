import copy

import pytest

from keyhole.resource import RCUCB
from keyhole.tune import Spec
from tests.tune.conftest import TABLE
from tests.tune.work import works

BAD = {
    "an entry whose name is no text": ({1: 2}, "^1 is not known; known are "),
    "an unknown entry": ({"limit": [1]}, "limit is not known; known are .*did you mean 'limits'"),
    "no arm": ({"arm": None}, "arm must be given"),
    "no limits": ({"limits": None}, "limits must be given"),
    "limits below an arm": (
        {"limits": None, "arm": [{"name": "a", "command": "true", "limits": [1]}]},
        r"limits must stand above all headings such as \[\[arm\]\], got it below \[\[arm\]\]"),
    "seed below success": (
        {"success": {"seed": 1}}, r"seed must stand above all headings .* below \[success\]"),
    "limits with a unit": (
        {"limits": ["1s"]}, "limits must be numbers of seconds, such as 1, got '1s'"),
    "a limit with a unit": (
        {"limits": "1s"}, "limits must be numbers of seconds, such as 1, got '1s'"),
    "a limit of 0": ({"limits": [0, 1]}, r"limits\[0\] must be at least 0.001, got 0"),
    "a grace below 0": ({"grace": -1}, "grace must be at least 0"),
    "a grace in words": ({"grace": "long"}, "grace must be like 90s, 30m, 2h or 1d12h, got 'long'"),
    "a judgement at several limits": (
        {"success": {"number": r"(\S+)", "at_limit": True}}, "at_limit must have one limit"),
    "a judgement by nothing": (
        {"success": {"at_limit": True}}, "at_limit needs success.pattern or success.number"),
    "a judgement that is a word": (
        {"success": {"at_limit": "yes"}}, "success.at_limit must be true or false, got 'yes'"),
    "a grace for a function": (
        {"arm": [{"name": "f", "function": "tests.tune.work:works"}], "grace": 1},
        "grace and success.at_limit must be left out for functions, such as 'f'"),
    "limits that fall": ({"limits": [2, 1]}, "limits must rise, got 1 after 2"),
    "a range without an end": ({"limits": {"from": 1, "count": 3}}, "limits.to must be given"),
    "a range that falls": (
        {"limits": {"from": 2, "to": 1, "count": 3}}, "limits.to must be above 2, got 1"),
    "an unknown word of a range": (
        {"limits": {"from": 2, "upto": 1}}, "limits.upto is not known; known are from, to, count"),
    "no instance": ({"instances": "*.nothing"}, "instances must be at least one file, got none"),
    "an empty list of instances": ({"instances": []}, "instances must be a pattern of files"),
    "an instance twice": ({"instances": ["a", "a"]}, "instances must differ, got 'a' twice"),
    "instances that a command needs": (
        {"instances": None}, r"unknown field \{instance\}; .* needs the entry instances"),
    "arms that are one": (
        {"arm": [{"name": "a", "command": "true"}] * 2}, "names of arms must differ, got 'a'"),
    "an arm without a command": (
        {"arm": [{"name": "a"}]}, r"arm\[0\] must have either a command or a function"),
    "an arm without a name": ({"arm": [{"command": "true"}]}, r"arm\[0\].name must be given"),
    "a misspelt entry of an arm": (
        {"arm": [{"name": "a", "comand": "true"}]}, r"arm\[0\].comand is not known; .*'command'"),
    "a missing binary": (
        {"arm": [{"name": "a", "command": "no-such-solver x"}]},
        "arm 'a': the program 'no-such-solver' was not found, or is not executable"),
    "an unknown field": (
        {"arm": [{"name": "a", "command": "true {instanse}"}]},
        r"arm 'a': unknown field \{instanse\}; known are \{instance\}, .*'instance'"),
    "a parameter without values": (
        {"arm": [{"name": "a", "command": "true {restart}"}]},
        r"unknown field \{restart\}; .* a parameter needs values: in "
        r"grid = \{ restart = \[1, 2\] \} of the arm, or in the table \[parameters\]"),
    "a text as a number": (
        {"arm": [{"name": "a", "command": "true {instance:d}"}]},
        "arm 'a': a field cannot be formatted: Unknown format code 'd'"),
    "a brace alone": (
        {"arm": [{"name": "a", "command": "true {"}]}, r"arm\[0\].command: .* write {{ for a lit"),
    "a quote alone": (
        {"arm": [{"name": "a", "command": "true '"}]}, r"arm\[0\].command must be quoted as in a"),
    "a parameter called as a field": (
        {"arm": [{"name": "a", "command": "true", "parameters": {"seed": 1}}]},
        r"arm\[0\].parameters.seed must be an identifier other than instance, seed, limit"),
    "a grid of no list": (
        {"arm": [{"name": "a", "command": "true", "grid": {"x": 1}}]},
        r"arm\[0\].grid.x must be a list of values, got 1"),
    "no exit code": ({"success": {"codes": [256]}}, "success.codes must be a list of exit codes"),
    "no expression": ({"success": {"pattern": "("}}, "success.pattern must be a regular expr"),
    "a number without a group": (
        {"success": {"number": "x"}}, r"success.number must have one group, in \(\), got 0"),
    "a scale that falls": ({"success": {"scale": [1, 0]}}, "success.scale must rise, got 1 and 0"),
    "an unknown preset": (
        {"objective": "PAR1"},
        "objective must be one of PAR2, PAR10, value, full cut-off; got 'PAR1'"),
    "seconds that cost too much": (
        {"objective": {"cost_per_second": 2}},
        "objective.cost_per_second must be at most 1, or a run at the largest limit costs more"),
    "memory without a unit": (
        {"memory": "2"}, "memory must be a number and a unit such as '2 GiB', got '2'"),
    "memory in another unit": ({"memory": "2 gallons"}, "memory: its unit must be one of B, kB"),
    "memory in bits": ({"memory": "2 Gb"}, "memory: its unit must be one of .*; got 'Gb'"),
    "more memory than there can be": ({"memory": "9" * 400 + " GiB"}, "memory must .*, got a"),
    "memory in which nothing runs": ({"memory": "16 MiB"}, r"memory must be at least 2\*\*25, got"),
    "a variable that is two": (
        {"environment": {"A=B": "c"}}, "environment.A=B must have a name without '='"),
    "a variable with character 0": (
        {"environment": {"A": "\0"}}, "environment.A must have .* no NUL character"),
    "a grid with line ends": (
        {"arm": [{"name": "a", "command": "true", "grid": {"x": ["a\nb"]}}]},
        "names of arms must have no control characters"),
    "a parameter with character 0": (
        {"arm": [{"name": "a", "command": "true", "parameters": {"x": "\0"}}]},
        r"arm\[0\].parameters.x must have no NUL character"),
    "a grid beyond all measure": (
        {"arm": [{"name": "a", "command": "true", "grid": dict.fromkeys("xyz", [0] * 1000)}]},
        r"arm\[0\].grid must make at most 10,000 arms, got 1,000,000,000"),
    "a conversion": (
        {"arm": [{"name": "a", "command": "true {instance!r}"}]},
        r"arm\[0\].command: \{instance\} must have no conversion, got !r"),
    "a number as a character": (
        {"arm": [{"name": "a", "command": "true {x:c}", "parameters": {"x": 2**40}}]},
        "arm 'a': a field cannot be formatted: "),
    "another clock": ({"clock": "sun"}, "clock must be one of wall, cpu; got 'sun'"),
    "a function with an argument that no run has": (
        {"arm": [{"name": "f", "function": works, "parameters": {"factors": 2}}]},
        "arm 'f': the argument factor of its function must have a default or another name; all "
        "runs have instance, seed, limit, factors .did you mean 'factors'"),
    "functions by the clock of processors": (
        {"clock": "cpu", "arm": [{"name": "f", "function": "math:exp"}]},
        "clock must be 'wall' for functions, such as 'f'"),
    "no core": ({"cores": 0}, "cores must be at least 1, got 0"),
    "a policy with a horizon": (
        {"policy": "ZoomingRCUCB"}, "policy.name must be a policy that does not need horizon"),
    "an unknown policy": ({"policy": "RCUCP"}, "policy.name must be one of .*'RCUCB'"),
}  # fmt: skip


@pytest.mark.parametrize(("change", "words"), BAD.values(), ids=BAD)
def test_a_bad_spec_is_refused_in_one_sentence(change, words):
    table = {name: value for name, value in (TABLE | change).items() if value is not None}
    with pytest.raises((TypeError, ValueError), match=words) as refused:
        Spec.from_table(table)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("table", [[1], "a", None])
def test_a_spec_must_be_a_mapping(table):
    with pytest.raises(TypeError, match="table must be a mapping, got"):
        Spec.from_table(table)


def test_a_spec_is_read_from_a_file_whose_name_it_has(tmp_path):
    (tmp_path / "mine.toml").write_text("limits = 2\n[[arm]]\nname = 'a'\ncommand = 'true'\n")
    spec = Spec.from_file(tmp_path / "mine.toml")
    assert (spec.name, spec.limits, spec.folder) == ("mine", (2.0,), tmp_path)
    assert spec.policy is None


@pytest.mark.parametrize("text", ["limits = = 2", "limits = " + "[" * 5000, "limits = [0]"])
def test_errors_name_the_file(tmp_path, text):
    (tmp_path / "mine.toml").write_text(text)
    with pytest.raises(ValueError, match=r"mine\.toml"):
        Spec.from_file(tmp_path / "mine.toml")
    with pytest.raises(FileNotFoundError, match="there is no file"):
        Spec.from_file(tmp_path / "yours.toml")


def test_a_range_of_limits_is_geometric():
    table = TABLE | {"limits": {"from": 0.01, "to": 1, "count": 5}}
    assert Spec.from_table(table).limits == (0.01, 0.03162, 0.1, 0.3162, 1.0)


def test_a_grid_makes_an_arm_of_each_combination():
    arm = {"name": "s", "command": "true {a} {b}", "grid": {"a": [1, 2], "b": ["x"]}}
    arms = Spec.from_table(TABLE | {"arm": [arm]}).arms
    assert [one.name for one in arms] == ["s a=1 b=x", "s a=2 b=x"]
    assert arms[1].format_command({}) == ["true", "2", "x"]


def test_a_list_of_parameters_makes_an_arm_of_each():
    arm = {"name": "s", "command": "true {a}", "parameters": [{"a": 1}, {"a": 0.5}]}
    arms = Spec.from_table(TABLE | {"arm": [arm]}).arms
    assert [one.format_command({})[1] for one in arms] == ["1", "0.5"]


def test_a_spec_round_trips_through_json():
    table = copy.deepcopy(TABLE) | {
        "memory": "1.5 GiB",
        "objective": {"cost_per_second": 0.5, "cost_of_giving_up": 0.25},
        "success": {"codes": [0, 3], "pattern": "yes", "number": "got (.*)", "scale": [-5, 5]},
        "policy": RCUCB(alpha=0.2),
        "environment": {"LANG": "C"},
    }
    spec = Spec.from_table(table)
    assert spec.memory == 3 * 2**29
    assert Spec.from_json(spec.as_json()).as_json() == spec.as_json()
    assert Spec.from_json(spec.as_json()).policy == RCUCB(alpha=0.2)


@pytest.mark.parametrize(("preset", "times"), [("PAR2", 2), ("PAR10", 10)])
def test_at_the_full_cut_off_a_gain_is_a_par_score(preset, times):
    spec = Spec.from_table(TABLE | {"objective": preset, "limits": [1, 20]})
    cost, penalty = spec.facts()["cost"], spec.facts()["penalty"]
    for done, seconds in ((1.0, 5.0), (0.0, 20.0)):
        gain = done - float(cost(seconds)) if done else -float(penalty(20.0))
        score = seconds / 20.0 if done else times
        assert (times - 1) * gain == pytest.approx(times - 1 - score)


def test_a_run_given_up_earns_the_least_reward():
    table = {
        "objective": {"cost_per_second": 0.5, "cost_of_giving_up": 2},
        "success": {"scale": [-5, 5]},
    }
    facts = Spec.from_table(TABLE | table).facts()
    assert float(facts["penalty"](1.0)) == 0.5 + 2 + 5
    assert facts["scale"] == (-5, 5)


@pytest.mark.parametrize("value", [0.12345678, 16777217.0, 12345.678, 1e-7, 10.0, 1e300])
def test_a_number_keeps_its_digits_in_a_command(value):
    arm = {"name": "s", "command": "true {a} {limit}", "parameters": {"a": value}}
    (arm,) = Spec.from_table(TABLE | {"arm": [arm]}).arms
    assert [float(word) for word in arm.format_command({"limit": value})[1:]] == [value, value]
    assert not arm.format_command({"limit": value})[1].endswith(".0")


def test_a_column_may_be_named_name(tmp_path):
    (tmp_path / "rows.csv").write_text("instance,name\na,joe\n")
    spec = Spec.from_table(TABLE | {"instances": {"csv": "rows.csv"}}, folder=tmp_path)
    assert Spec.from_json(spec.as_json()).instances == spec.instances


def test_a_program_is_searched_on_the_path_of_its_run(tmp_path):
    (tmp_path / "mine").write_text("#!/bin/sh\n")
    (tmp_path / "mine").chmod(0o755)
    arm, paths = {"name": "m", "command": "mine"}, {"PATH": str(tmp_path)}
    assert Spec.from_table(TABLE | {"arm": [arm], "environment": paths}).arms[0].command


def test_the_folder_may_be_a_text(tmp_path):
    (tmp_path / "x").write_text("#!/bin/sh\n")
    (tmp_path / "x").chmod(0o755)
    table = {"arm": [{"name": "x", "command": "./x"}], "limits": 1.0}
    assert Spec.from_table(table, folder=str(tmp_path)).folder == tmp_path.resolve()


def test_a_grace_is_seconds():
    values = {2: 2.0, "2s": 2.0, "1.5s": 1.5}
    for value, seconds in values.items():
        assert Spec.from_table(TABLE | {"grace": value}).grace == seconds
