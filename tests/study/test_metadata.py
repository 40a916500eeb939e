"""Metadata of decisions is kept beside the log, and can be erased while the log stays whole."""

import json
import sqlite3
from contextlib import closing

import pytest

from keyhole.study import DamagedError, Study, backup, check_database, copy_intact_events
from tests.study.studies import Clock, check_rebuilt_states_agree, labels

pytestmark = pytest.mark.interpreted

ANN = {"who": "ann", "where": "Zürich", "version": [1, 2.5, None]}


def kept(study):
    """Return the metadata of each decision, and of each time that it was asked again."""
    table = study.history().to_pylist()
    return [(row["decision"], json.loads(row["metadata"])) for row in table if row.get("metadata")]


def test_metadata_is_in_the_history_and_not_in_the_log(address):
    with labels(address) as study:
        first = study.ask(metadata=ANN, key="k")
        study.ask()
        second = study.ask(metadata={})
        study.tell(first, 1)
        assert study.ask(metadata={"who": "bob"}, key="k") == first  # the first one stays
        assert kept(study) == [(first.id, ANN), (second.id, {})]
        assert not any(b"ann" in row.body for row in study.log())
        check_rebuilt_states_agree(study)
    with Study.open(address, "labels") as study:
        assert kept(study) == [(first.id, ANN), (second.id, {})]


def test_who_erases_metadata_still_learns_what_others_have_asked(address):
    with labels(address) as study, Study.open(address, "labels") as other:
        study.ask(metadata=ANN)
        theirs = [other.ask(), other.ask()]
        assert study.erase_metadata() == 1
        study.ask()  # gets a number of its own
        assert [row.decision for row in study.log()][1:3] == [decision.id for decision in theirs]


def test_metadata_is_erased_for_some_decisions_or_all(address):
    with labels(address) as study, labels(address, "other") as other:
        asked = [study.ask(metadata={"who": str(number)}) for number in range(4)]
        theirs = other.ask(metadata=ANN)
        rows = study.log()
        assert study.erase_metadata([asked[0], asked[2].id]) == 2
        assert study.erase_metadata([asked[0].id, theirs.id]) == 0
        assert [id for id, _ in kept(study)] == [asked[1].id, asked[3].id]
        study.tell(asked[3], 1)
        assert study.erase_metadata() == 2
        assert "metadata" not in study.history().column_names
        assert study.log()[:4] == rows
        assert kept(other) == [(theirs.id, ANN)]
        study.ask(metadata={"who": "again"})
        assert len(kept(study)) == 1
    assert check_database(address).is_whole


def test_what_is_erased_is_not_in_the_file(tmp_path):
    path = tmp_path / "s.db"
    with labels(path) as study:
        study.ask(metadata={"who": "somebody in particular"})
    assert b"in particular" in path.read_bytes()
    with Study.open(path, "labels") as study:
        study.erase_metadata()
    assert b"in particular" not in path.read_bytes()


def test_whoever_is_asked_again_has_metadata_of_his_own(tmp_path):
    clock = Clock()
    given = {"timeout": 10, "on_timeout": "ask_again", "clock": clock}
    with labels(tmp_path / "s.db", **given) as study:
        first = study.ask(metadata={"who": "ann"})
        clock.now += 11
        assert study.ask(metadata={"who": "bob"}).id == first.id
        assert kept(study) == [(first.id, {"who": "ann"}), (first.id, {"who": "bob"})]
        assert study.erase_metadata([first]) == 2


def test_metadata_goes_with_exports_backups_and_what_is_saved_of_a_damaged_log(tmp_path):
    path = tmp_path / "s.db"
    with labels(path) as study:
        study.tell(study.ask(metadata=ANN), 1)
        study.ask(metadata={"who": "bob"})
        expected = kept(study)
        study.export(tmp_path / "log.jsonl")
        backup(path, tmp_path / "backup.db")
    with Study.restore(tmp_path / "t.db", tmp_path / "log.jsonl") as study:
        assert kept(study) == expected
    with Study.open(tmp_path / "backup.db", "labels") as study:
        assert kept(study) == expected
    copy_intact_events(path, "labels", 2, tmp_path / "saved.db")
    with Study.open(tmp_path / "saved.db", "labels") as study:
        assert kept(study) == expected[:1]


@pytest.mark.parametrize(
    ("metadata", "error", "message"),
    [
        ([1], TypeError, r"^metadata must be a JSON object, got \[1\]$"),
        ("ann", TypeError, "^metadata must be a JSON object, got 'ann'$"),
        ({1: 2}, TypeError, "^metadata must be a JSON object, got {1: 2}$"),
        ({"a": (1,)}, TypeError, "^metadata must be a JSON object, got "),
        ({"a": {1}}, ValueError, "^metadata must be a JSON object, got "),
        ({"a": float("nan")}, ValueError, "^metadata must be a JSON object, got "),
        ({"a": "\ud800"}, ValueError, "^metadata must be a JSON object, got "),
        (
            {"a": "é" * 500},
            ValueError,
            "^metadata must have at most 1,000 bytes",
        ),
    ],
)
def test_metadata_that_is_no_small_json_object_is_refused(tmp_path, metadata, error, message):
    with labels(tmp_path / "s.db") as study:
        with pytest.raises(error, match=message):
            study.ask(metadata=metadata)
        assert study.log() == []
        study.ask(metadata={"a": "é" * 495})


def test_an_id_that_is_none_is_refused_when_metadata_is_erased(tmp_path):
    with labels(tmp_path / "s.db") as study:
        study.ask(metadata=ANN)
        with pytest.raises(ValueError, match=r"^an id must be that of a decision .*, got 'ann'$"):
            study.erase_metadata(["ann"])
        assert len(kept(study)) == 1


def test_a_decision_that_was_not_taken_leaves_no_metadata(tmp_path):
    with labels(tmp_path / "s.db", pending="wait") as study:
        study.ask()
        with pytest.raises(RuntimeError, match="waits"):
            study.ask(metadata=ANN)
        study.tell(study.pending[0], 1)
        study.ask(metadata={"who": "bob"})
        assert [metadata for _, metadata in kept(study)] == [{"who": "bob"}]


def test_altered_metadata_is_named_when_it_is_exported(tmp_path):
    path = tmp_path / "s.db"
    with labels(path) as study:
        study.ask(metadata=ANN)
    with closing(sqlite3.connect(path)) as db, db:
        db.execute("UPDATE metadata SET body = '{'")
    with Study.open(path, "labels") as study:
        with pytest.raises(DamagedError, match=r"event 1 of study 'labels' .* malformed"):
            study.export(tmp_path / "log.jsonl")
        study.erase_metadata()
        study.export(tmp_path / "log.jsonl")
