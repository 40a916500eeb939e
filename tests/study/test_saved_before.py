"""Databases and exports that version 0.2.0 wrote still open: see tests/saved/README.md."""

import hashlib
import json
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from keyhole.study import PendingDecisionError, Study, check_database
from keyhole.study.storage import open_store
from tests.study.studies import Clock, check_rebuilt_states_agree
from tests.study.test_vocabulary import Champion

pytestmark = pytest.mark.interpreted

SAVED = Path(__file__).parents[1] / "saved" / "studies"
EXPECTED = json.loads((SAVED / "expected.json").read_text())
NOW = 1.7e9
OWN = [Champion]


def told_of(one):
    """Return what a decision says, as JSON."""
    return [as_json(dict(one.words)), one.round, one.at.timestamp(), str(one.until)]


def as_json(value):
    return json.loads(json.dumps(value, default=str))


def digest_of(rows):
    """Return a digest of all that rows of a log hold; not of ids, which are drawn."""
    parts = [repr((row.seq, row.kind, row.key, row.at, row.body)) for row in rows]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()


def history_of(study):
    """Return the history as JSON, and by what word each kind of event goes in it."""
    rows = study.history().to_pylist()
    words = {(row.pop("event"), one.kind) for row, one in zip(rows, study.log(), strict=True)}
    assert len(words) == len({word for word, _ in words}) == len({kind for _, kind in words})
    return as_json(rows)


def asked(study, context):
    """Return what a study decides, and at which event it did first if it is handed out again."""
    before = {row.decision: row.seq for row in study.log() if row.kind == 1}
    try:
        one = study.ask(**context)
    except PendingDecisionError:
        return ["waits"]
    return [*told_of(one), before.get(one.id)]


def found(study):
    """Return what there is to see of a study that was opened."""
    recommends = study.definition.vocabulary(study.arms).has_recommendation()
    return {
        "policy": str(study.policy),
        "arms": list(study.arms),
        "seed": study.definition.seed,
        "units": list(study.definition.scale),
        "recommended": as_json(study.recommend()) if recommends else None,
        "open": [[one.id, *told_of(one)] for one in study.pending],
        "kinds": [row.kind for row in study.log()],
        "log": digest_of(study.log()),
    }


def went_on(study, clock, context, feedback):
    """Go on with a study; return what it decides on the way, and what its log holds then.

    First many are open at a time, then time passes in which some of them, then all, have been
    waited for long enough; feedback is told of open ones, and at last of the one given up last.
    """
    clock.now = max((row.at for row in study.log()), default=NOW)
    steps = []
    for wait in (0, 0, 0, 0, 0, 1.5, 1.5, 1.5, 2, 2, 7, 0, 1000, 0, 0):
        clock.now += wait
        steps.append(asked(study, context))
        if feedback and study.pending and len(steps) > 8 and len(steps) % 2:
            study.tell(study.pending[-1].id, **feedback)
    if feedback:
        gone = [row.decision for row in study.log() if row.kind == 3]
        for id in gone[-1:]:
            study.tell(id, **feedback)
    after = found(study)
    del after["open"], after["seed"], after["units"]
    return {"steps": steps, **after}


@pytest.fixture
def file(tmp_path):
    return Path(shutil.copy(SAVED / "studies.db", tmp_path / "studies.db"))


def definitions(file):
    with closing(sqlite3.connect(file)) as db:
        return db.execute("SELECT name, head FROM study ORDER BY name").fetchall()


@pytest.mark.parametrize("name", list(EXPECTED))
def test_a_study_has_its_history_and_goes_on_as_it_would_have(name, file, tmp_path):
    expected, clock = EXPECTED[name], Clock(NOW)
    before = definitions(file)
    with Study.open(file, name, policies=OWN, clock=clock) as study:
        assert found(study) == expected["found"]
        assert history_of(study) == expected["history"]
        check_rebuilt_states_agree(study, expected["context"])
        result = as_json(went_on(study, clock, expected["context"], expected["feedback"]))
        assert result == expected["went_on"]
    with Study.open(file, name, policies=OWN) as study:
        assert digest_of(study.log()) == expected["went_on"]["log"]
    assert definitions(file) == before  # their bytes are under a checksum


@pytest.mark.parametrize("name", list(EXPECTED))
def test_what_was_exported_is_the_same_study(name, file, tmp_path):
    path = tmp_path / "new.db"
    Study.restore(path, SAVED / f"{name}.jsonl", policies=OWN).close()
    clock, expected = Clock(NOW), EXPECTED[name]
    with (
        Study.open(path, name, policies=OWN, clock=clock) as here,
        Study.open(file, name, policies=OWN) as there,
    ):
        assert found(here) == expected["found"]
        assert here.log() == there.log()
        here.export(tmp_path / "log.jsonl")
        lines = [
            [json.loads(text) for text in (folder / file).read_text().splitlines()[1:]]
            for folder, file in ((tmp_path, "log.jsonl"), (SAVED, f"{name}.jsonl"))
        ]
        for line in (*lines[0], *lines[1]):
            del line["event"]
            line.pop("head", None)
        assert lines[0] == lines[1]
        result = as_json(went_on(here, clock, expected["context"], expected["feedback"]))
        assert result == expected["went_on"]


def test_the_database_is_whole_and_has_a_snapshot(file):
    assert {name for name, _ in definitions(file)} == set(EXPECTED)
    assert check_database(file, policies=OWN).is_whole
    with closing(sqlite3.connect(file)) as db:
        kept = db.execute("SELECT study FROM snapshot").fetchall()
    assert kept
    with closing(open_store(file)) as store:
        for (study,) in kept:
            seq, _ = store.snapshot(study)
            assert 0 < seq <= store.check_tail(study)
