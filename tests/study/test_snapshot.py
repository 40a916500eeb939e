"""Snapshots are used only if they fit the log."""

import hashlib
import json
import math
import sqlite3
import struct
from contextlib import closing

import pytest

from keyhole.study import Study, group_commit
from keyhole.study import snapshot as snapshot_module
from keyhole.study.storage import open_store
from tests.study.studies import fingerprint, labels, state_of


@pytest.fixture
def path(tmp_path):
    """Return the path of a study with a snapshot."""
    with labels(tmp_path / "studies.db") as study:
        for reward in (1, 0, 1, 0.5):
            study.tell(study.ask().id, reward)
        study.ask()
    return tmp_path / "studies.db"


@pytest.fixture
def expected(path):
    """Return the state that it is of."""
    return opened_state(path)


def opened_state(path):
    study = Study.open(path, "labels")
    expected = fingerprint(state_of(study))
    study._writer.store.close()  # no snapshot is written
    return expected


def kept(path):
    store = open_store(path)
    found = store.snapshot(1)
    store.close()
    return found


def whole(path):
    """Return the snapshot with the digest of the event that it stands for."""
    with sqlite3.connect(path) as db:
        found = db.execute("SELECT seq, body, digest FROM snapshot").fetchone()
    db.close()
    return found


def keep(path, seq, body):
    with sqlite3.connect(path) as db:
        db.execute("UPDATE snapshot SET seq = ?, body = ?", (seq, body))
    db.close()


def read_events(monkeypatch):
    """Return a list of how many events each opening applies."""
    seen = []
    take = group_commit.State.apply_all

    def counting(self, events):
        events = list(events)
        seen.append(len(events))
        return take(self, events)

    monkeypatch.setattr(group_commit.State, "apply_all", counting)
    return seen


def test_closing_keeps_a_snapshot_from_which_a_study_goes_on(path, expected, monkeypatch):
    seen = read_events(monkeypatch)
    assert opened_state(path) == expected
    assert sum(seen) == 0


def test_whatever_byte_is_altered_the_log_is_used_instead(path, expected, monkeypatch):
    seq, body = kept(path)
    seen = read_events(monkeypatch)
    for place in range(0, len(body), 97):
        keep(path, seq, body[:place] + bytes([body[place] ^ 1]) + body[place + 1 :])
        assert opened_state(path) == expected
    assert sum(seen) == 9 * len(range(0, len(body), 97))


@pytest.mark.parametrize("cut", [0, 1, 31, 32, 33, 100])
def test_a_snapshot_that_was_cut_short_is_not_used(path, expected, cut):
    seq, body = kept(path)
    keep(path, seq, body[:cut])
    assert opened_state(path) == expected


@pytest.mark.parametrize("seq", [0, 1, 8, 10, 10**6])
def test_a_snapshot_of_another_place_in_the_log_is_not_used(path, expected, seq):
    keep(path, seq, kept(path)[1])
    assert opened_state(path) == expected


def test_a_snapshot_of_a_longer_log_is_not_used(path):
    snapshot = whole(path)
    with sqlite3.connect(path) as db:
        db.execute("DELETE FROM event WHERE seq > 5")
        db.execute("UPDATE tail SET seq = 5")  # as in an older copy
    db.close()
    with Study.open(path, "labels") as study:
        assert state_of(study).seq == 5
        study.ask()
    # The log grows to the same length again, with other events.
    with Study.open(path, "labels") as study:
        while state_of(study).seq < snapshot[0]:
            study.ask()
        expected = fingerprint(state_of(study))
    assert whole(path)[2] != snapshot[2]
    with sqlite3.connect(path) as db:
        db.execute("UPDATE snapshot SET seq = ?, body = ?, digest = ?", snapshot)
    db.close()
    assert opened_state(path) == expected


def forged(body, change):
    """Return a snapshot in which something is changed, with the checksum that it then has."""
    definition, words, rows, policy_state = snapshot_module._split_sections(body[32:])
    said = json.loads(words)
    parts = change(said) or {}
    parts = {
        "head": definition,
        "words": json.dumps(said).encode(),
        "rows": rows,
        "mind": policy_state,
    } | parts
    content = b"".join(len(part).to_bytes(8, "little") + part for part in parts.values())
    return hashlib.sha256(content).digest() + content


@pytest.mark.parametrize(
    "change",
    [
        lambda said: said["facts"].update(arms=10**12),
        lambda said: said["facts"].update(arms=-1),
        lambda said: said["facts"].update(threshold=0),
        lambda said: said.update(live=[0, 1, 7]),
        lambda said: said.update(live=[0, 0, 1]),
        lambda said: said.update(live=[-1, 0, 1]),
        lambda said: said.update(arms=[]),
        lambda said: said.update(arms=["a", "b", 3]),
        lambda said: said.update(rounds=-1),
        lambda said: said.update(told="all"),
        lambda said: said.update(open=["x"] * 9),
        lambda said: said.update(returned=["x"]),
        lambda said: said.update(renewed={said["open"][0]: 10**9}),
        lambda said: {"rows": struct.pack("<ddq", 5.0, 1.0, 2_000_000_000)},
        lambda said: {"rows": struct.pack("<ddq", 5.0, 1.0, -1)},
        lambda said: {"rows": struct.pack("<ddq", math.nan, 1.0, 0)},
        lambda said: {"rows": struct.pack("<ddq", 5.0, math.inf, 0)},
        lambda said: {"rows": b"x"},
        lambda said: {"mind": b"x" * 16},
        lambda said: {"head": b"{}"},
        lambda said: {"words": b"[]"},
        lambda said: {"more": b""},
    ],
)
def test_a_forged_snapshot_that_no_study_can_have_is_not_used(path, expected, change):
    seq, body = kept(path)
    keep(path, seq, forged(body, lambda said: None))
    assert opened_state(path) == expected
    keep(path, seq, forged(body, change))
    with closing(Study.open(path, "labels")) as study:
        store = study._writer.store
        found = store.snapshot(1)
        last = next(store.read(1, seq - 1, 1))
        assert snapshot_module.read_snapshot(found[1], last, ()) is None
        assert fingerprint(state_of(study)) == expected


def test_a_snapshot_of_other_code_is_not_used(path, expected, monkeypatch):
    monkeypatch.setattr("keyhole.study.state.PolicyState.kernel_digest", "other")
    assert opened_state(path) == expected


def test_snapshots_are_taken_now_and_then(tmp_path, monkeypatch):
    monkeypatch.setattr(group_commit, "_SNAPSHOT_EVERY", 5)
    with labels(tmp_path / "studies.db") as study:
        for _ in range(12):
            study.ask()
        assert kept(tmp_path / "studies.db")[0] == 10


def test_a_snapshot_that_cannot_be_written_harms_nobody(tmp_path, monkeypatch):
    monkeypatch.setattr(group_commit, "_SNAPSHOT_EVERY", 1)
    with labels(tmp_path / "studies.db") as study:
        monkeypatch.setattr(study._writer.store, "_execute_and_commit", no_room)
        assert [study.ask().arm for _ in range(3)] == ["a", "b", "c"]


def no_room(*_):
    raise sqlite3.OperationalError("database or disk is full")
