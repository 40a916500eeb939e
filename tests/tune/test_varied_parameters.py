"""Labels of the arms of grids, and effects of their parameters."""

import json

import numpy as np
import pytest

from keyhole.tune import SavedTune, Spec
from keyhole.tune.charts import gain_chart
from keyhole.tune.report import write_report
from keyhole.tune.run_time_effects import effects_table
from keyhole.tune.summary import tried_table, tune_as_json
from keyhole.tune.varied_parameters import label_arms
from tests.tune.trial_records import record


def spec_of(*grids, names=("toy", "other"), limits=(1.0,)):
    tables = zip(names, grids, strict=False)
    arms = [{"name": name, "command": "true", "grid": grid} for name, grid in tables]
    return Spec.from_table({"name": "try", "arm": arms, "limits": list(limits)})


SIX = {"restart": [30, 50], "decay": [0.5, 0.95], "phase": ["on", "off"], "effort": [1]}


def test_a_label_has_the_parameters_that_differ():
    labels, explanation = label_arms(spec_of({"jobs": [1, 2], "effort": [3]}, {"aim": ["sat"]}))
    assert labels == ["toy jobs=1", "toy jobs=2", "other aim=sat"]
    assert explanation == ""


def test_labels_that_a_legend_would_cut_have_the_values_alone():
    labels, explanation = label_arms(spec_of(SIX, {"aim": ["sat", "unsat"]}))
    assert labels[:3] == ["toy 30 0.5 on", "toy 30 0.5 off", "toy 30 0.95 on"]
    assert labels[8:] == ["other sat", "other unsat"]
    assert explanation == (
        "Arms of toy are named by their restart, decay, phase. "
        "Arms of other are named by their aim."
    )


def test_a_parameter_that_an_arm_lacks_is_a_dash():
    rows = [{"mode": "fast"}, {"mode": "careful", "iterations": 5}]
    arm = {"name": "solve", "command": "true", "parameters": rows}
    labels, _ = label_arms(Spec.from_table({"arm": [arm], "limits": [1]}))
    assert labels == ["solve fast -", "solve careful 5"]


def test_arms_whose_labels_would_be_equal_keep_their_names():
    arms = [
        {"name": "a", "command": "true", "grid": {"x": [1, 2], "y": [3]}},
        {"name": "a x=1", "command": "true"},
    ]
    spec = Spec.from_table({"arm": arms, "limits": [1]})
    assert label_arms(spec) == (["a x=1 y=3", "a x=2 y=3", "a x=1"], "")


def test_figures_and_tables_have_the_labels_and_data_the_names(tmp_path, no_figures):
    spec = spec_of(SIX)
    tune = SavedTune(tmp_path, spec, [record("ok", 0.1, 1.0, name) for name in spec.names])
    labels, explanation = label_arms(spec)
    assert {curve.label for curve in gain_chart(tune).curves} == set(labels)
    assert explanation in gain_chart(tune).caption
    assert {row[0] for row in tried_table(tune)[1]} == set(labels)
    assert {arm["arm"] for arm in tune_as_json(tune)["arms"]} == set(spec.names)
    page = write_report(tune).read_text()
    assert explanation in page[page.index('id="tried"') :]
    assert f"Run {tune.best().arm} for at most 1 s" in page


@pytest.fixture
def tune(tmp_path):
    """Return a tune in which `phase` makes runs four times as long, and `decay` does nothing."""
    spec = spec_of({"phase": ["on", "off"], "decay": [0.5, 0.9]}, {"aim": ["sat", "unsat"]})
    rng = np.random.default_rng(4)
    runs = []
    # One arm was run less than the others, and some runs were stopped.
    for arm, count in zip(spec.arms, (60, 60, 60, 5, 5, 0), strict=True):
        mean = 0.15 if arm.parameters.get("phase") == "on" else 0.6
        for seconds in mean * rng.lognormal(0.0, 0.5, count):
            outcome = "ok" if seconds < 1.0 else "out of time"
            runs.append(record(outcome, min(seconds, 1.0), 1.0, arm.name))
    return SavedTune(tmp_path, spec, runs)


def test_effects_are_those_of_the_parameters_of_a_grid_of_several(tune):
    effects = {(effect.parameter, effect.level): effect for effect in tune.effects()}
    assert list(effects) == [
        ("toy phase", "on"), ("toy phase", "off"), ("toy decay", "0.5"), ("toy decay", "0.9"),
    ]  # fmt: skip
    on, off = (effects["toy phase", value].log_time for value in ("on", "off"))
    assert on.low < -np.log(2.0) < on.high < 0.0  # four times, by halves around the mean
    assert off.value == pytest.approx(-on.value)
    decay = effects["toy decay", "0.9"].log_time
    assert decay.low < 0.0 < decay.high
    assert SavedTune(tune.folder, tune.spec, []).effects() == []


def test_the_table_of_effects_has_times(tune):
    head, rows = effects_table(tune.effects(), "arms")
    assert head == ["parameter", "value", "arms run", "run time, times the mean"]
    assert [row[:3] for row in rows[:2]] == [["toy phase", "on", "2"], ["toy phase", "off", "2"]]
    assert float(rows[0][3].split()[0]) * float(rows[1][3].split()[0]) == pytest.approx(
        1.0, abs=0.03
    )


def test_parameters_that_the_runs_cannot_tell_apart_have_wide_intervals(tmp_path):
    spec = spec_of({"phase": ["on", "off"], "decay": [0.5, 0.9]})
    assert tune_as_json(SavedTune(tmp_path, spec, []))["effects"] == []
    runs = [record("ok", seconds, 1.0, spec.names[number])
            for number, seconds in ((0, 0.1), (3, 0.4)) for _ in range(30)]  # fmt: skip
    effects = SavedTune(tmp_path, spec, runs).effects()
    assert len(effects) == 4
    for effect in effects:
        assert effect.log_time.low < 0.0 < effect.log_time.high
    runs = [record("ok", 0.1, 1.0, spec.names[number]) for number in (0, 3, 1)]
    effects_data = json.loads(json.dumps(tune_as_json(SavedTune(tmp_path, spec, runs))))["effects"]
    assert [(effect["parameter"], effect["level"]) for effect in effects_data] == [
        ("phase", "on"), ("phase", "off"), ("decay", "0.5"), ("decay", "0.9"),
    ]  # fmt: skip


def test_the_report_says_what_each_parameter_did(tune, no_figures):
    page = write_report(tune).read_text()
    assert page.index('id="tried"') < page.index('id="effects"') < page.index('id="survival"')
    assert "What each parameter did" in page
