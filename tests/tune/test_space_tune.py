"""Tunes of a parameter space: the log decides what is run next, also after a kill."""

import shutil
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest

from keyhole.data import load_aslib
from keyhole.tune import SavedTune, Spec, Tuner, load_tune
from keyhole.tune.report import write_report
from keyhole.tune.saved_tune import write_scenario
from keyhole.tune.summary import configurations_table
from keyhole.tune.trial_log import RUNS_FILE
from keyhole.tune.tuner import make_dry_run
from keyhole.tune.warm_start import read_warm_start
from tests.tune import work
from tests.tune.conftest import Simulated
from tests.tune.spaces import SMALL, SMALL_COMMAND, SPACE, decisions

LIST = {"arm": [{"name": "a", "command": "true {instance}"}], "limits": [1]}


def run(out, runs, changed=None, **options):
    spec = Spec.from_table({**SPACE, **options.pop("entries", {})})
    return Tuner(spec, out, executors=lambda: Simulated(changed)).run(runs=runs, **options)


@pytest.mark.parametrize("policy", ["model", "racing"])
def test_after_a_kill_at_any_run_the_next_decision_is_the_same(tmp_path, policy):
    entries = {"policy": policy}
    expected = decisions(run(tmp_path / "whole", 40, entries=entries))
    lines = (tmp_path / "whole" / RUNS_FILE).read_bytes().splitlines(keepends=True)
    for count in range(1, 40, 4):
        folder = shutil.copytree(tmp_path / "whole", tmp_path / f"{count}")
        # The last line is cut, as by a kill while it was written.
        (folder / RUNS_FILE).write_bytes(b"".join(lines[:count]) + lines[count][:50])
        assert decisions(run(folder, count + 1, entries=entries)) == expected[: count + 1]


def test_a_run_that_expired_changes_no_decision_after_a_kill(tmp_path):
    def lose_some(number, result):
        return replace(result, outcome="lost") if number % 3 == 0 else result

    with pytest.warns(UserWarning, match="a run does not count and is repeated"):
        expected = decisions(run(tmp_path / "whole", 20, lose_some))
    lines = (tmp_path / "whole" / RUNS_FILE).read_bytes().splitlines(keepends=True)
    shutil.copytree(tmp_path / "whole", tmp_path / "cut")
    (tmp_path / "cut" / RUNS_FILE).write_bytes(b"".join(lines[:12]))
    count = len(load_tune(tmp_path / "cut").runs)
    assert decisions(run(tmp_path / "cut", count + 1)) == expected[: count + 1]


def test_several_workers_run_each_pair_once(tmp_path):
    run(tmp_path, 60, workers=2)
    tune = run(tmp_path, 90, workers=2)
    pairs = [(r.configuration, r.instance) for r in tune.runs]
    assert len(pairs) == len(set(pairs)) == 90
    assert tune.best().incumbent.gain.value > tune.best().default_at_cutoff.gain.value


def test_the_default_is_run_first_and_inactive_parameters_are_not_recorded(tmp_path):
    tune = run(tmp_path, 30)
    assert tune.runs[0].parameters == {"mean": 0.5, "luby": "on"}
    assert all(("inc" in r.parameters) == (r.parameters["luby"] == "off") for r in tune.runs)


def test_a_small_space_ends_when_all_was_run(tmp_path):
    with pytest.warns(UserWarning, match="nothing is left to be run: the space has 2 config"):
        tune = run(tmp_path, 100, entries={"parameters": SMALL, "arm": SMALL_COMMAND})
    assert len(tune.runs) == 2 * len(SPACE["instances"])


def test_with_the_full_cut_off_as_the_objective_it_is_recommended(tmp_path):
    tune = run(tmp_path, 40, entries={"objective": "full cut-off"})
    best = tune.best()
    assert best.incumbent.limit == best.default.limit == 1.0
    names = [row[0] for row in configurations_table(tune, tune.estimates())[1]]
    assert names[:2] == ["recommended", "default, full cut-off"]


def test_a_function_gets_its_active_parameters(tmp_path):
    spec = Spec.from_table({
        "arm": [{"name": "f", "function": work.needs}], "limits": [1, 5],
        "parameters": {"low": {"categories": [1, 2], "default": 1},
                       "high": {"range": [1, 2], "default": 2, "when": {"low": 2}}},
    })  # fmt: skip
    tune = Tuner(spec, tmp_path / "out").run(runs=4)
    assert {run.outcome for run in tune.runs} == {"ok"}
    number = {
        "arm": [{"name": "f", "function": work.works}], "instances": ["0.5"], "limits": [5],
        "parameters": {"factor": {"range": [0.5, 1], "default": 0.5}},
    }  # fmt: skip
    with pytest.raises(ValueError, match=r"must return True, None or False, got 0\.25"):
        Tuner(Spec.from_table(number), tmp_path / "number").run(runs=2)


def test_failed_configurations_do_not_end_a_tune_and_no_success_is_said_first(tmp_path):
    def fail(number, result):
        return replace(result, outcome="ok", code=1)

    with pytest.raises(RuntimeError, match="runs failed, of 20 configurations; the last, of"):
        run(tmp_path / "all", 100, fail)
    count = len(load_tune(tmp_path / "all").runs)
    with pytest.raises(RuntimeError, match=f"^all {count + 1} runs failed, of 2"):
        run(tmp_path / "all", 100, fail)
    assert len(load_tune(tmp_path / "all").runs) == count + 1
    tune = run(tmp_path / "few", 15, fail)
    assert {run.outcome for run in tune.runs} == {"failed"}
    page = write_report(tune).read_text()
    assert "No run has succeeded: there is no evidence for any command." in page


def test_runs_are_made_on_an_executor(tmp_path):
    spec = Spec.from_table({**SPACE, "instances": ["a", "b"]})
    with ThreadPoolExecutor(2) as pool:
        tune = Tuner(spec, tmp_path).run(runs=4, workers=2, on=pool)
    assert {run.outcome for run in tune.runs} == {"ok"}


def test_a_warm_start_knows_the_configurations_of_the_earlier_tune(tmp_path):
    earlier = run(tmp_path / "earlier", 60)
    log = tmp_path / "earlier" / RUNS_FILE
    # Names of instances may be names of files, which need not be UTF-8.
    log.write_text(log.read_text().replace('"instance": "f"', '"instance": "f\\udc80"'))
    entries = {"instances": ["a", "b", "x", "y"]}
    run(tmp_path / "warm", 6, entries=entries, warm_start=tmp_path / "earlier", weight=0.5)
    shutil.rmtree(tmp_path / "earlier")  # its runs were copied
    for folder, weight in ((tmp_path / "earlier", 1.0), (tmp_path / "none", 0.5)):
        options = {"warm_start": folder, "weight": weight}
        with pytest.raises(ValueError, match=r"has begun with \('.*/earlier', 0\.5\): warm_s"):
            run(tmp_path / "warm", 12, entries=entries, **options)
    run(tmp_path / "cold", 2)
    with pytest.raises(ValueError, match="has begun with no warm start: warm_start and weight"):
        run(tmp_path / "cold", 12, warm_start=tmp_path / "warm")
    with pytest.raises(ValueError, match=r"weight must be left out without warm_start, got 0\.5"):
        run(tmp_path / "warm", 12, entries=entries, weight=0.5)
    tune = run(tmp_path / "warm", 12, entries=entries, warm_start=tmp_path / "earlier", weight=0.5)
    parameters = [r.parameters for r in earlier.runs]
    assert tune.best().incumbent.parameters in parameters
    assert len(tune.runs) == 12


def test_a_warm_start_adds_the_default_of_a_new_parameter_where_it_is_active(tmp_path):
    earlier = run(tmp_path / "earlier", 40)
    assert {r.parameters["luby"] for r in earlier.runs} == {"on", "off"}
    new = {
        "phase": {"ordinals": [0, 1, 2], "default": 2},
        "first": {"range": [1, 9], "integer": True, "default": 3, "when": {"luby": "off"}},
    }
    command = SPACE["arm"][0]["command"] + " {phase} -f {first}"
    entries = {
        "parameters": {**SPACE["parameters"], **new},
        "arm": [{"name": "sim", "command": command}],
    }
    run(tmp_path / "warm", 3, entries=entries, warm_start=tmp_path / "earlier")
    warm_runs = read_warm_start(tmp_path / "warm").runs
    for warm_run, earlier_run in zip(warm_runs, earlier.runs, strict=True):
        added = {"phase": 2} | ({"first": 3} if earlier_run.parameters["luby"] == "off" else {})
        assert warm_run.parameters == earlier_run.parameters | added


def test_a_warm_start_says_how_many_runs_do_not_fit(tmp_path):
    earlier = run(tmp_path / "earlier", 40)
    narrow = {**SPACE["parameters"], "luby": {"categories": ["on", "new"], "default": "on"}}
    narrow["inc"] = {**narrow["inc"], "when": {"luby": "new"}}
    count = sum(r.parameters["luby"] == "on" for r in earlier.runs)
    assert 0 < count < 40
    with pytest.warns(UserWarning, match=f"^{count} of 40 earlier runs fit this space$"):
        run(tmp_path / "warm", 3, entries={"parameters": narrow}, warm_start=tmp_path / "earlier")


_NARROW = {"parameters": {**SPACE["parameters"], "mean": {"range": [3, 4], "default": 3}}}


@pytest.mark.parametrize(
    ("entries", "options", "words"),
    [
        ({}, {"weight": 2}, r"weight must lie in \(0, 1\], got 2"),
        (_NARROW, {}, "warm_start must have runs of configurations of this space, got none in 6"),
        (
            {"parameters": SMALL, "arm": SMALL_COMMAND},
            {},
            "start: parameters.luby is not known",
        ),
        (LIST | {"parameters": None}, {}, "warm_start needs a spec with parameters"),
        (
            {"clock": "cpu"},
            {},
            "have the clock of .*: clock was 'wall' in .*/earlier, is now 'cpu';",
        ),
        ({"success": {"codes": [10]}}, {}, r": success.codes was \(0,\) in .*, is now \(10,\); ch"),
        ({"success": {"pattern": "a"}}, {}, "success.pattern was '' in .*, is now 'a'; change the"),
    ],
)
def test_a_bad_warm_start_is_refused(tmp_path, entries, options, words):
    run(tmp_path / "earlier", 6)
    table = {k: v for k, v in {**SPACE, **entries}.items() if v is not None}
    tuner = Tuner(Spec.from_table(table), tmp_path / "out", executors=Simulated)
    with pytest.raises(ValueError, match=words):
        tuner.run(runs=3, warm_start=tmp_path / "earlier", **options)
    assert not (tmp_path / "out").exists()


def test_a_warm_start_may_list_the_same_codes_in_another_order(tmp_path):
    run(tmp_path / "earlier", 6, entries={"success": {"codes": [0, 10]}})
    entries = {"success": {"codes": [10, 0]}}
    run(tmp_path / "warm", 3, entries=entries, warm_start=tmp_path / "earlier")
    assert load_tune(tmp_path / "warm").spec.success.codes == (10, 0)


def test_a_damaged_log_is_named(tmp_path):
    run(tmp_path, 8)
    text = (tmp_path / RUNS_FILE).read_text()
    for old, new, words in (
        ('"configuration": 0', '"configuration": null', "must have a configuration and an inst"),
        ('"luby": "on"', '"luby": "off"', "must have the parameters of configuration 0"),
    ):
        (tmp_path / RUNS_FILE).write_text(text.replace(old, new))
        with pytest.raises(ValueError, match=rf"{RUNS_FILE}: run 1 {words}"):
            load_tune(tmp_path).best()
    for content, words in (
        ('{"weight": 1}', "folder must be given"),
        ('{"weight": 1', "Expecting ',' delimiter"),
        ('{"folder": "a", "weight": 2, "earlier_count": 1, "runs": []}', "weight must"),
        ('{"folder": "a", "weight": 1, "earlier_count": 1, "runs": [{}]}', "runs"),
    ):
        (tmp_path / "warm_start.json").write_text(content)
        with pytest.raises(ValueError, match=rf"warm_start\.json is damaged: .*{words}"):
            load_tune(tmp_path).best()


def test_tunes_are_exported_and_shown(tmp_path):
    tune = run(tmp_path / "out", 30)
    assert repr(tune).startswith("SavedSpaceTune(space: ")
    assert "recommended" in tune._repr_html_()
    assert tune.plot().get_legend_handles_labels()[1][0] == "recommended"
    columns = tune.to_pandas().columns
    assert {"parameters.mean", "parameters.inc", "outcome"} <= set(columns)
    write_scenario(tune, tmp_path / "scenario")
    assert "configuration 0" in load_aslib(tmp_path / "scenario").solvers
    with pytest.raises(ValueError, match=r"tune of a list of commands, got one with \[par"):
        SavedTune.load(tmp_path / "out")


@pytest.mark.parametrize("instances", [["a"], ["a", "b"]])
def test_a_dry_run_of_a_small_space_shows_what_there_is(instances):
    entries = {"parameters": SMALL, "arm": SMALL_COMMAND, "instances": instances}
    trials = make_dry_run(Spec.from_table({**SPACE, **entries}), 10)
    assert 1 <= len(trials) <= 4
    assert trials[0][2] == ["true", "0.5", instances[0]] or len(instances) > 1
