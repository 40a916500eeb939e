"""Rows that are read are those that were written, or are named as damaged."""

from contextlib import closing

import pytest

from keyhole.study.storage import DamagedError, Row, open_store
from keyhole.study.storage.store import next_digest

ROWS = [
    Row(1, 1, "0" * 26, "first", 1.5, bytes(range(40))),
    Row(2, 1, "1" * 26, None, 2.5, b"asked"),
    Row(3, 2, "0" * 26, None, 3.5, b"told"),
    Row(4, 2, "1" * 26, "last", 4.5, b""),
]
# Each alters an event, and which event is found to be damaged.
DAMAGE = {
    "a body": ("UPDATE event SET body = {bytes} WHERE seq = 2", 2),
    "a kind": ("UPDATE event SET kind = 3 WHERE seq = 2", 2),
    "a time": ("UPDATE event SET at = 2.25 WHERE seq = 2", 2),
    "a decision": ("UPDATE event SET decision = 'x' WHERE seq = 3", 3),
    "a decision that is gone": ("UPDATE event SET decision = NULL WHERE seq = 3", 3),
    "a key": ("UPDATE event SET key = 'x' WHERE seq = 1", 1),
    "a checksum": ("UPDATE event SET digest = {bytes} WHERE seq = 4", 4),
    "a row": ("DELETE FROM event WHERE seq = 2", 2),
    "the first row": ("DELETE FROM event WHERE seq = 1", 1),
    "the last row": ("DELETE FROM event WHERE seq = 4", 4),
    "all rows": ("DELETE FROM event", 1),
    "two rows": (
        "UPDATE event SET seq = 9 WHERE seq = 2; UPDATE event SET seq = 2 WHERE seq = 3;"
        " UPDATE event SET seq = 3 WHERE seq = 9",
        2,
    ),
    "how many there are": ("UPDATE tail SET seq = 6", 5),
}


@pytest.fixture
def alter(store, raw):
    """Return a function that does what no store does."""
    words = {"bytes": "X'00'" if store.dialect["value"] == "?" else "'x00'::bytea"}
    prefix = store.dialect["schema"]

    def execute(sql):
        for name in ("event", "tail", "study"):
            for operation in ("UPDATE ", "DELETE FROM "):
                sql = sql.replace(operation + name, operation + prefix + name)
        for statement in sql.format_map(words).split(";"):
            raw.execute(statement)

    return execute


@pytest.fixture
def study(store):
    number = store.create("labels", b"head", 1.5, ROWS[:2])
    store.begin(number, 0)
    store.commit(number, ROWS[2:])
    return number


@pytest.mark.parametrize(("sql", "seq"), DAMAGE.values(), ids=list(DAMAGE))
def test_damage_is_found_and_named(store, study, alter, address, sql, seq):
    alter(sql)
    found = pytest.raises(DamagedError, match=rf"event {seq} of study .labels. .* is damaged: ")
    with closing(open_store(address)) as other, found:
        list(other.read(study))
    assert not DamagedError.later


@pytest.mark.parametrize("what", ["a body", "a kind", "a row", "the first row", "two rows"])
def test_who_catches_up_finds_it(store, study, alter, what):
    sql, seq = DAMAGE[what]
    alter(sql)
    for catch_up in (store.events_after, store.begin):
        with pytest.raises(DamagedError, match=f"event {seq} of"):
            catch_up(study, 0)
    store.begin(study, 4)  # the lock was given back
    store.rollback()


def test_what_has_changed_since_it_was_read_is_found(store, study, alter):
    store.events_after(study, 0)
    alter(DAMAGE["a checksum"][0])
    with pytest.raises(
        DamagedError, match=r"event 4 .* it differs from the event that was read before"
    ):
        store.events_after(study, 4)


def test_an_event_that_is_looked_up_is_checked(store, study, alter):
    assert store.events_of_decision(study, "0" * 26) == [ROWS[0], ROWS[2]]
    assert store.find_by_key(study, "last") == ROWS[3]
    alter("UPDATE event SET body = {bytes} WHERE seq = 3")
    with pytest.raises(DamagedError, match="event 3"):
        store.events_of_decision(study, "0" * 26)
    alter("UPDATE event SET at = 0.5 WHERE seq = 4")
    with pytest.raises(DamagedError, match="event 4"):
        store.find_by_key(study, "last")
    alter("DELETE FROM event WHERE seq = 3")
    with pytest.raises(DamagedError, match="event 4"):
        store.find_by_key(study, "last")


def test_a_slice_is_checked(store, study, alter, monkeypatch):
    monkeypatch.setattr("keyhole.study.storage.store._READ_BATCH_SIZE", 2)
    assert list(store.read(study)) == ROWS
    assert list(store.read(study, 1, 2)) == ROWS[1:3]
    assert list(store.read(study, 9)) == []
    alter(DAMAGE["a row"][0])
    with pytest.raises(DamagedError, match="event 2"):
        list(store.read(study))
    with pytest.raises(DamagedError, match="event 2"):
        list(store.read(study, 2))


@pytest.mark.parametrize("field", ["name = 'other'", "at = 1.25", "head = {bytes}"])
def test_a_definition_is_checked(store, study, alter, field):
    alter(f"UPDATE study SET {field}")
    with pytest.raises(DamagedError, match="the definition of study"):
        store.find("other" if "name" in field else "labels")


def test_a_snapshot_is_of_the_events_that_it_was_made_of(store, study, alter):
    store.save_snapshot(study, 4, b"state")
    assert store.snapshot(study) == (4, b"state")
    alter(DAMAGE["a checksum"][0])
    assert store.snapshot(study) is None


def test_the_same_events_have_other_digests_in_another_study(store, study):
    other = store.create("other", b"head", 1.5, ROWS)
    sql = "SELECT digest FROM {schema}event WHERE study = {value}".format_map(store.dialect)
    mine, theirs = ({row[0] for row in store._query(sql, (n,))} for n in (study, other))
    assert len(mine | theirs) == 8


def test_an_older_version_that_is_still_open_adds_nothing(store, study, raw):
    old = (  # it knows of no digests
        "INSERT INTO {schema}event (study, seq, kind, at, body)"
        " SELECT study, 5, kind, at, body FROM {schema}event WHERE seq = 4"
    )
    with pytest.raises(store.driver_errors):
        raw.execute(old.format_map(store.dialect))
    assert list(store.read(study)) == ROWS


def test_no_two_events_are_digested_alike():
    rows = [
        Row(1, 1, None, None, 1.0, b""),
        Row(1, 1, "", None, 1.0, b""),
        Row(1, 1, None, "", 1.0, b""),
        Row(1, 1, "a", "b", 1.0, b""),
        Row(1, 1, "ab", None, 1.0, b""),
        Row(1, 1, None, "a", 1.0, b"b"),
        Row(1, 1, None, None, 1.0, b"ab"),
        Row(1, 2, None, None, 1.0, b""),
        Row(2, 1, None, None, 1.0, b""),
        Row(1, 1, None, None, 2.0, b""),
    ]
    assert (
        len({next_digest(before, row) for before in (b"0" * 16, b"1" * 16) for row in rows}) == 20
    )
