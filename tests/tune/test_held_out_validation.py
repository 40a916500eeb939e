"""Validation of a tune of a parameter space on instances that it has not used."""

from dataclasses import replace

import pytest

from keyhole.tune import Spec, Tuner, load_tune
from tests.tune.conftest import Simulated
from tests.tune.spaces import SPACE

HELD = [f"held {number}" for number in range(8)]


@pytest.fixture
def folder(tmp_path):
    """Return a tune folder with 40 runs."""
    Tuner(Spec.from_table(SPACE), tmp_path, executors=Simulated).run(runs=40)
    return tmp_path


def validate(folder, instances, changed=None):
    executor = Simulated(changed)
    tuner = Tuner(load_tune(folder).spec, folder, executors=lambda: executor)
    return tuner.validate(instances), executor.commands


def test_the_recommended_parameters_are_compared_with_the_default(folder):
    rows, commands = validate(folder, HELD)
    estimates = load_tune(folder).estimates()
    assert list(rows) == list(estimates)
    assert rows["recommended"].parameters == estimates["recommended"].parameters
    assert {row.runs for row in rows.values()} == {len(HELD)}
    default = rows["default, full cut-off"]
    assert default.gain_over_default.value == 0.0
    difference = rows["recommended"].gain.value - default.gain.value
    assert rows["recommended"].gain_over_default.value == pytest.approx(difference)
    # The default is run once on each, with its longest limit.
    assert len(commands) == len(HELD) * len({row.configuration for row in rows.values()})
    gains = []
    for name in HELD:
        run = Simulated().run(["true", "0.5", name, "on"], 1.0)
        gains.append((run.outcome == "ok") - min(run.seconds, 1.0))
    assert default.gain.value == pytest.approx(sum(gains) / len(gains))


def test_a_validation_goes_on_where_it_was(folder):
    first, _ = validate(folder, HELD[:4])
    rows, commands = validate(folder, HELD)
    assert first["recommended"].runs == 4
    assert rows["recommended"].runs == len(HELD)
    assert {command[2] for command, *_ in commands} == set(HELD[4:])
    assert validate(folder, HELD)[1] == []


def test_an_instance_with_two_names_counts_once(folder):
    path = str(load_tune(folder).spec.folder / "x")
    validate(folder, ["x", "y", "z"])
    rows, commands = validate(folder, [path, "./y"])
    assert (rows["recommended"].runs, commands) == (3, [])
    rows, _ = validate(folder, ["w", f"{path}/../w", "v"])
    assert rows["recommended"].runs == 5


def test_a_run_that_is_lost_is_made_again(folder):
    def lose_the_first(number, result):
        return replace(result, outcome="lost") if number == 1 else result

    with pytest.warns(UserWarning, match="a run does not count and is repeated"):
        rows, _ = validate(folder, HELD, lose_the_first)
    assert rows["recommended"].runs == len(HELD)


def test_instances_of_the_tune_are_refused(folder):
    with pytest.raises(ValueError, match=r"must not be instances of the tune, .* got '\./a'"):
        validate(folder, ["x", "./a", "b"])
    assert load_tune(folder).validation() == {}


def test_a_list_of_commands_is_not_validated(tmp_path, spec):
    Tuner(spec, tmp_path, executors=Simulated).run(runs=3)
    with pytest.raises(ValueError, match=r"with \[parameters\] in its spec, got one of a list"):
        Tuner(spec, tmp_path, executors=Simulated).validate(HELD)
