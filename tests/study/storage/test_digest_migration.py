"""Databases that version 2 wrote: see tests/saved/README.md."""

import json
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import psycopg
import pytest

from keyhole.study import DamagedError, Study
from keyhole.study.storage import open_store, schema
from tests.study.studies import Clock, check_rebuilt_states_agree

pytestmark = pytest.mark.interpreted

SAVED = Path(__file__).parents[2] / "saved" / "studies"
EXPECTED = json.loads((SAVED / "expected.json").read_text())


@pytest.fixture(params=["labels.db", "runs.db"])
def file(request, tmp_path):
    return Path(shutil.copy(SAVED / request.param, tmp_path / "studies.db"))


def on_a_server(file, database):
    """Put what is in a file of version 2 into a database of version 2."""
    with (
        closing(sqlite3.connect(file)) as old,
        psycopg.connect(database, autocommit=True) as new,
    ):
        new.execute("CREATE SCHEMA keyhole")
        new.execute("CREATE TABLE keyhole.version (version INTEGER NOT NULL)")
        new.execute("INSERT INTO keyhole.version VALUES (2)")
        for statement in schema.STEPS[0]:
            new.execute(statement.format_map(open_words()))
        for table in ("study", "event", "snapshot"):
            for row in old.execute(f"SELECT * FROM {table}"):
                given = "OVERRIDING SYSTEM VALUE" if table == "study" else ""
                values = ", ".join(["%s"] * len(row))
                new.execute(f"INSERT INTO keyhole.{table} {given} VALUES ({values})", row)
    return database


def open_words():
    from keyhole.study.storage.postgres import Postgres

    return Postgres.dialect


EVENTS = {"lapsed": "expired", "arrived": "sum told"}
"""What events were called before, and are called now."""


@pytest.fixture(params=["sqlite", "postgres"])
def old(request, file):
    if request.param == "sqlite":
        return str(file)
    return on_a_server(file, request.getfixturevalue("database"))


def test_each_study_goes_on(old, file, tmp_path):
    with closing(sqlite3.connect(file)) as db:
        names = [name for (name,) in db.execute("SELECT name FROM study")]
    assert names
    for name in names:
        expected = EXPECTED[name]
        with Study.open(old, name, clock=Clock(1.7e9 + 11)) as study:
            check_rebuilt_states_agree(study, expected["context"])
            study.export(tmp_path / "log.jsonl")
            here, then = (
                path.read_text().splitlines()[1:]
                for path in (tmp_path / "log.jsonl", SAVED / f"{name}.jsonl")
            )
            then = [event | {"event": EVENTS.get(event["event"], event["event"])}
                    for event in map(json.loads, then)]  # fmt: skip
            assert list(map(json.loads, here)) == then
            decided = [dict(study.ask(**expected["context"]).words) for _ in expected["next"]]
            assert decided == expected["next"]
        with Study.open(old, name) as study:
            assert len(study.log()) == len(here) + len(expected["next"])


def test_its_snapshot_is_still_used(old, monkeypatch):
    with closing(open_store(old)) as store:
        seq, _ = store.snapshot(1)
        assert seq == store.check_tail(1) > 0


def test_what_is_altered_afterwards_is_found(file):
    open_store(file).close()
    with closing(sqlite3.connect(file)) as db, db:
        db.execute("UPDATE event SET at = at + 1 WHERE seq = 3 AND study = 1")
    with closing(open_store(file)) as store, pytest.raises(DamagedError, match="event 3 of"):
        list(store.read(1))


def test_an_event_of_the_wrong_type_is_named(file):
    with closing(sqlite3.connect(file)) as db, db:
        db.execute("UPDATE event SET body = 'text' WHERE seq = 3 AND study = 1")
    before = file.read_bytes()
    with pytest.raises(ValueError, match="has a damaged event: a value has the wrong type"):
        open_store(file)
    with closing(sqlite3.connect(file)) as db:
        assert db.execute("PRAGMA user_version").fetchone() == (2,)
    assert before[:96] == file.read_bytes()[:96]


@pytest.mark.parametrize("name", list(EXPECTED))
def test_what_was_exported_is_restored(name, tmp_path):
    with Study.restore(tmp_path / "new.db", SAVED / f"{name}.jsonl") as study:
        check_rebuilt_states_agree(study, EXPECTED[name]["context"])
