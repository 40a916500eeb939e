"""Labels of the arms of grids, and effects of their parameters."""

import json

import pytest

from keyhole.tune import SavedTune, Spec
from keyhole.tune.charts import gain_chart
from keyhole.tune.grids import effects_table, estimate_effects, label_arms
from keyhole.tune.report import write_report
from keyhole.tune.summary import arms_table, tune_as_json
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
    assert {row[0] for row in arms_table(tune)[1]} == set(labels)
    assert {arm["arm"] for arm in tune_as_json(tune)["arms"]} == set(spec.names)
    page = write_report(tune).read_text()
    assert explanation in page[page.index('id="arms"') :]
    assert f"Run {tune.best().arm} for at most 1 s" in page


def test_the_table_of_gains_begins_with_the_largest(tmp_path, no_figures):
    spec = spec_of({"jobs": [1, 2, 3]})
    runs = [record("ok", seconds, 1.0, f"toy jobs={jobs}")
            for jobs, seconds in ((1, 0.9), (3, 0.1)) for _ in range(20)]  # fmt: skip
    page = write_report(SavedTune(tmp_path, spec, runs)).read_text()
    table = page[page.index("Gain of a run (") :]
    places = [table.index(f"toy jobs={jobs}<") for jobs in (3, 1, 2)]
    assert places == sorted(places)


@pytest.fixture
def played(tmp_path):
    """Return a tune in which `phase` decides, and `decay` does nothing; one arm was not run."""
    spec = spec_of({"phase": ["on", "off"], "decay": [0.5, 0.9]}, {"aim": ["sat", "unsat"]})
    runs = []
    for arm in spec.arms[:5]:
        seconds = 0.1 if arm.parameters.get("phase") == "on" else 0.7
        runs += [record("ok", seconds, 1.0, arm.name) for _ in range(30)]
    return SavedTune(tmp_path, spec, runs)


def test_effects_are_means_over_arms_less_the_mean_of_all(played):
    effects = {(e.parameter, e.value): e for e in estimate_effects(played)}
    # Of a command with one parameter the table of arms says as much.
    assert list(effects) == [("phase", "on"), ("phase", "off"), ("decay", "0.5"), ("decay", "0.9")]
    means = played.gains.draws.mean(axis=0)[:4, 0]  # on 0.5, on 0.9, off 0.5, off 0.9
    on = effects["phase", "on"]
    assert (on.arms, on.tried, on.runs) == (2, 2, 60)
    assert on.gain.value == pytest.approx(means[:2].mean())
    assert on.effect.value == pytest.approx(means[:2].mean() - means.mean())
    assert on.effect.low > 0.2
    nothing = effects["decay", "0.9"].effect
    assert nothing.low < 0.0 < nothing.high
    assert effects["phase", "off"].effect.value == pytest.approx(-on.effect.value)


def test_a_value_that_was_not_run_has_no_effect(tmp_path):
    spec = spec_of({"phase": ["on", "off"], "decay": [0.5, 0.9]})
    tune = SavedTune(tmp_path, spec, [record("ok", 0.1, 1.0, spec.names[0])])
    head, rows = effects_table(tune)
    assert rows[1] == ["phase", "off", "0 of 2", "0", "", ""]
    assert len(head) == 6
    assert json.loads(json.dumps(tune_as_json(tune)))["effects"][1]["gain"] is None
    assert tune_as_json(SavedTune(tmp_path, spec, []))["effects"] == []


def test_the_report_says_what_each_parameter_did(played, no_figures):
    page = write_report(played).read_text()
    assert page.index('id="arms"') < page.index('id="effects"') < page.index('id="gains"')
    assert "What each parameter did" in page


def test_parameters_of_several_commands_are_told_apart(tmp_path):
    grid = {"a": [1, 2], "b": [1, 2]}
    spec = spec_of(grid, grid)
    runs = [record("ok", 0.1, 1.0, name) for name in spec.names]
    _, rows = effects_table(SavedTune(tmp_path, spec, runs))
    assert [row[0] for row in rows[::2]] == ["toy a", "toy b", "other a", "other b"]
