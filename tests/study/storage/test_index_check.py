"""A damaged entry of a table or an index never lets a decision be told or handed out twice."""

import re
import shutil
import sqlite3
from contextlib import closing

import pytest

from keyhole.study import DamagedError, DifferentFeedbackError, Study
from tests.study.damage import flip
from tests.study.studies import Clock, labels


@pytest.fixture(scope="module")
def settled(tmp_path_factory):
    """Return a file with settled decisions, covered by a snapshot, and the ids by key."""
    path = tmp_path_factory.mktemp("settled") / "s.db"
    clock, ids = Clock(1e9), {}
    with labels(path, clock=clock) as study:
        for n in range(9):
            clock.now += n % 3
            ids[f"client-{n}"] = study.ask(key=f"client-{n}").id
        for n, id in enumerate(ids.values()):
            if n % 3 == 0:
                study.expire(id)
            study.tell(id, 1)
    return path, ids


def altered(path, word, tmp_path, bit):
    """Yield copies of a file, each with one bit of one occurrence of a word altered."""
    copy = tmp_path / "s.db"
    for found in re.finditer(word.encode(), path.read_bytes()):
        shutil.copy(path, copy)
        flip(copy, 8 * (found.start() + len(word) - 2) + bit)
        yield copy


def seqs(path):
    with closing(sqlite3.connect(path)) as db:
        return db.execute("SELECT seq FROM event ORDER BY seq").fetchall()


@pytest.mark.parametrize("bit", [0, 3, 6])
def test_nothing_is_told_twice_of_a_decision_whose_entries_are_damaged(settled, tmp_path, bit):
    path, ids = settled
    for id in list(ids.values())[:2]:
        outcomes = []
        for copy in altered(path, id, tmp_path, bit):
            before = seqs(copy)
            with Study.open(copy, "labels") as study:
                for call in (study.tell, lambda id, _, study=study: study.expire(id)):
                    with pytest.raises(
                        (DamagedError, DifferentFeedbackError, ValueError)
                    ) as refused:
                        call(id, 0.25)
                    assert "\n" not in str(refused.value)
                    outcomes.append(refused.type)
            assert seqs(copy) == before
        assert outcomes.count(DamagedError) >= len(outcomes) // 2 >= 2


@pytest.mark.parametrize("bit", [0, 3, 6])
def test_a_key_whose_entries_are_damaged_gets_no_other_decision(settled, tmp_path, bit):
    path, _ = settled
    for key in ("client-0", "client-4", "client-8"):
        for copy in altered(path, key, tmp_path, bit):
            before = seqs(copy)
            with Study.open(copy, "labels") as study, pytest.raises(DamagedError):
                study.ask(key=key)
            assert seqs(copy) == before


def test_new_keys_and_unknown_ids_are_told_from_damaged_ones(settled, tmp_path):
    path, ids = settled
    shutil.copy(path, tmp_path / "s.db")
    with Study.open(tmp_path / "s.db", "labels") as study:
        for key in ("client", "client-00", "client-9", "a", "z"):
            decision = study.ask(key=key)
            assert study.ask(key=key) == decision
        id = ids["client-4"]
        unknown = id[:-1] + ("0" if id[-1] != "0" else "1")
        with pytest.raises(ValueError, match="id must be that of a decision of this study"):
            study.tell(unknown, 1)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ("DELETE FROM event WHERE kind = 2 AND seq = 11", "it is settled, but the event"),
        ("DELETE FROM event WHERE seq = 2", "the first of its events, and no other,"),
    ],
)
def test_a_decision_without_all_its_events_is_damaged(settled, tmp_path, change, said):
    path, ids = settled
    shutil.copy(path, tmp_path / "s.db")
    with closing(sqlite3.connect(tmp_path / "s.db")) as db, db:
        (seq,) = db.execute(
            "SELECT seq FROM event WHERE decision = ? AND kind = 2", (ids["client-1"],)
        ).fetchone()
        db.execute(change.replace("11", str(seq)))
    with (
        Study.open(tmp_path / "s.db", "labels") as study,
        pytest.raises(DamagedError, match=f"decision {ids['client-1']} of.*{said}"),
    ):
        study.tell(ids["client-1"], 0.25)
