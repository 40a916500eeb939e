"""A tune folder that version 0.2.0 wrote is read and resumed with the same results.

See tests/saved/README.md.
"""

import dataclasses
import json
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from keyhole.study import Study
from keyhole.tune import SavedTune, Spec, Tuner
from tests.tune.conftest import Simulated

SAVED = Path(__file__).parents[1] / "saved"
EXPECTED = json.loads((SAVED / "tune.json").read_text())
MORE = 8


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("KEYHOLE_INTERPRET", "1")  # a tuner has threads
    return shutil.copytree(SAVED / "tune", tmp_path / "tune")


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"cores": []}, "cores must be a whole number"),
        ({"limits": ["../../x", 1.0]}, "limits must be numbers of seconds"),
        ({"limits": [1.0, 0.1]}, "limits must"),
        ({"arms": [1.5]}, r"arms\[0\] must be"),
        ({"arms": [{"name": "a", "parameters": "<b>"}]}, r"arms\[0\].parameters must be"),
        ({"arms": [{"name": "a", "nice": 3}]}, r"arms\[0\].nice"),
        ({"arms": [{"name": "a"}, {"name": "a"}]}, "arms must"),
        ({"arms": []}, "arms must"),
        ({"instances": [{"name": None}]}, r"instances\[0\].name must be"),
        ({"name": 3}, "name must be"),
        ({"folder": []}, "folder must be"),
        ({"environment": {"A": 1}}, "environment must be"),
    ],
)
def test_an_entry_of_another_form_is_named(folder, change, words):
    spec = json.loads((folder / "tune.json").read_text())
    (folder / "tune.json").write_text(json.dumps(spec | change))
    with pytest.raises(ValueError, match=rf"tune.json is damaged: {words}"):
        SavedTune.load(folder)


def test_an_entry_that_is_missing_or_nested_too_deeply_is_named(folder):
    spec = json.loads((folder / "tune.json").read_text())
    (folder / "tune.json").write_text(json.dumps({n: v for n, v in spec.items() if n != "clock"}))
    with pytest.raises(ValueError, match=r"tune.json is damaged: it has no entry 'clock'"):
        SavedTune.load(folder)
    (folder / "tune.json").write_text("[" * 100_000)
    with pytest.raises(ValueError, match=r"tune.json is damaged: "):
        SavedTune.load(folder)


def facts_of(run):
    """Return the values of a record without times and random ids."""
    return [run.round, run.arm, run.limit, run.instance, run.seed, run.seconds, run.reward,
            run.code, run.reason, run.output, run.memory]  # fmt: skip


def rounded(value):
    """Return rounded values: processors may differ in the last digits."""
    if isinstance(value, tuple):
        return [rounded(one) for one in value]
    return float(f"{value:.9g}") if isinstance(value, float) else value


def read_facts(folder):
    """Return the values of a tune in the order of fields, without names, which may change."""
    tune = SavedTune.load(folder)
    with Study.open(folder / "study.db", "tune") as study:
        events = [[row.kind, row.body.hex()] for row in study.log()]
        recommended = study.recommend()
    kinds = sorted({run.outcome for run in tune.runs})
    return json.loads(
        json.dumps(
            {
                "runs": [facts_of(run) for run in tune.runs],
                "outcomes": [kinds.index(run.outcome) for run in tune.runs],
                "done over": [facts_of(run) for run in tune.expired],
                "best": rounded(dataclasses.astuple(tune.best())),
                "pairs": [
                    rounded(dataclasses.astuple(tune.estimate_pair(arm, limit)))
                    for arm in (0, 1)
                    for limit in (0, 1, 2)
                ],
                "events": events,
                "recommended": recommended,
                "instances": [one.name for one in tune.spec.instances],
                "notes": tune.spec.notes,
            }
        )
    )


@pytest.mark.parametrize("more", [{"version": 9}, {"retries": 3}], ids=str)
def test_a_folder_of_a_newer_version_is_left_alone(folder, more):
    path, spec = folder / "tune.json", SavedTune.load(folder).spec
    path.write_text(json.dumps(json.loads(path.read_text()) | more))
    before = {file: file.read_bytes() for file in folder.iterdir()}
    for attempt in (lambda: SavedTune.load(folder), lambda: Tuner(spec, folder).run(runs=99)):
        with pytest.raises(ValueError, match=rf"does not know \({next(iter(more))}\): open it"):
            attempt()
    assert {file: file.read_bytes() for file in folder.iterdir()} == before


def test_nothing_is_written_beside_a_study_of_a_newer_version(folder):
    spec = dataclasses.replace(SavedTune.load(folder).spec, notes="other notes")
    with closing(sqlite3.connect(folder / "study.db")) as database:
        database.execute("PRAGMA user_version = 99")
        database.commit()
    before = (folder / "tune.json").read_bytes()
    with pytest.raises(ValueError, match="was written by a newer Keyhole"):
        Tuner(spec, folder).run(runs=99)
    assert (folder / "tune.json").read_bytes() == before


def test_a_saved_tune_is_opened_with_its_runs(folder):
    assert read_facts(folder) == EXPECTED["found"]


def test_a_saved_spec_round_trips(folder):
    spec = SavedTune.load(folder).spec
    assert Spec.from_json(json.loads(json.dumps(spec.as_json()))) == spec


def test_a_saved_tune_can_be_resumed(folder):
    assert resume(folder) == EXPECTED["went_on"]
    assert len(SavedTune.load(folder).expired) == len(EXPECTED["found"]["done over"])


def resume(folder):
    """Resume a tune with its own spec; return the new runs and the best pair."""
    spec = SavedTune.load(folder).spec
    runs = len(EXPECTED["found"]["runs"])
    tune = Tuner(spec, folder, executors=Simulated).run(runs=runs + MORE)
    more = [facts_of(run) for run in tune.runs[runs:]]
    best = rounded(dataclasses.astuple(tune.best()))
    return json.loads(json.dumps({"runs": more, "best": best}))
