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
    best = load_tune(folder).best()
    assert [row.entrant.name for row in rows[:3]] == [
        "recommended", "default", "default, full cut-off",
    ]  # fmt: skip
    assert rows[0].entrant.parameters == best.incumbent.parameters
    assert {row.instances for row in rows} == {len(HELD)}
    assert rows[2].gain_over_default.value == 0.0
    difference = rows[0].gain.value - rows[2].gain.value
    assert rows[0].gain_over_default.value == pytest.approx(difference)
    # The default is run once on each, with its longest limit.
    configurations = {str(row.entrant.parameters) for row in rows}
    assert len(commands) == len(HELD) * len(configurations)


def test_a_gain_is_that_of_the_run_under_the_limit_of_the_row(folder):
    default = validate(folder, HELD)[0][2]
    gains = []
    for name in HELD:
        run = Simulated().run(["true", "0.5", name, "on"], 1.0)
        gains.append((run.outcome == "ok") - min(run.seconds, 1.0))
    assert default.gain.value == pytest.approx(sum(gains) / len(gains))


def test_a_validation_goes_on_where_it_was(folder):
    first, _ = validate(folder, HELD[:4])
    rows, commands = validate(folder, HELD)
    assert first[0].instances == 4
    assert rows[0].instances == len(HELD)
    assert {command[2] for command, *_ in commands} == set(HELD[4:])
    assert validate(folder, HELD)[1] == []


def test_a_run_that_is_lost_is_made_again(folder):
    def lose_the_first(number, result):
        return replace(result, outcome="lost") if number == 1 else result

    with pytest.warns(UserWarning, match="a run does not count and is repeated"):
        rows, _ = validate(folder, HELD, lose_the_first)
    assert rows[0].instances == len(HELD)


def test_instances_of_the_tune_are_refused(folder):
    with pytest.raises(ValueError, match=r"must be none of those of the tune, .* got '\./a'"):
        validate(folder, ["x", "./a", "b"])
    assert load_tune(folder).validation() == []


def test_a_list_of_commands_is_not_validated(tmp_path, spec):
    Tuner(spec, tmp_path, executors=Simulated).run(runs=3)
    with pytest.raises(ValueError, match="must be opened with"):
        Tuner(spec, tmp_path, executors=Simulated).validate(HELD)
