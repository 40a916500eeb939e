"""A whole database is checked, and the intact events of a damaged study are saved."""

import random
import shutil
import sqlite3
import struct
from contextlib import closing

import psycopg
import pytest

from keyhole.study import DamagedError, Study, check_database, copy_intact_events
from keyhole.study.events import (
    ARM_ADDED,
    ARM_RETIRED,
    ASKED,
    CORRECTED,
    EXPIRED,
    POLICY_CHANGED,
    SUM_TOLD,
    TOLD,
    TOLD_LATE,
    TOLD_TOO_LATE,
)
from keyhole.study.operations import new_id
from keyhole.study.storage import Row
from keyhole.thresholding import LSA
from tests.study.damage import append, flip, forget_snapshots, outcome, read_everything, use
from tests.study.studies import Clock, labels
from tests.study.test_log_export import eventful, everywhere


@pytest.fixture
def path(tmp_path):
    """Return a file with two studies: in one everything has happened, in the other little."""
    eventful(tmp_path / "s.db").close()
    with labels(tmp_path / "s.db", "other") as other:
        other.ask()
    return tmp_path / "s.db"


def damage(path, sql):
    with closing(sqlite3.connect(path)) as db, db:
        db.execute(sql)


def test_a_whole_database_is_found_whole(path):
    found = check_database(path)
    assert found.is_whole
    assert list(map(str, found.studies)) == [
        "labels: 17 events, all whole",
        "other: 1 event, all whole",
    ]
    assert [one.name for one in check_database(path, "other").studies] == ["other"]
    with pytest.raises(ValueError, match="name must be a study of"):
        check_database(path, "others")


@pytest.mark.interpreted
def test_every_setting_is_found_whole(tmp_path):
    for study, _ in everywhere(tmp_path):
        study.close()
    assert check_database(tmp_path / "settings.db").is_whole


def test_a_damaged_study_is_named_with_what_is_whole(path):
    damage(path, "UPDATE event SET at = at + 1 WHERE study = 1 AND seq = 9")
    first, second = check_database(path).studies
    assert (first.events, first.whole, second.damage) == (17, 8, "")
    assert str(first).startswith("labels: damaged: event 9 of study 'labels' in ")
    assert str(first).endswith("; 8 of 17 events are whole")


@pytest.mark.parametrize(
    ("sql", "why"),
    [
        ("DELETE FROM event WHERE seq = 17", "event 17 .* it is missing; .*16 of 17"),
        ("UPDATE study SET head = X'7b7d' WHERE id = 1", "the definition of study 'labels'"),
    ],
)
def test_what_else_is_damaged_is_named(path, sql, why):
    damage(path, sql)
    (first, _) = check_database(path).studies
    with pytest.raises(AssertionError, match=why):
        raise AssertionError(first)


def test_a_snapshot_of_another_state_is_found(path):
    with closing(sqlite3.connect(path)) as db, db:
        body = db.execute("SELECT body FROM snapshot WHERE study = 1").fetchone()[0]
        with labels(path.parent / "t.db") as other:
            for _ in range(17):
                other.ask()
        with closing(sqlite3.connect(path.parent / "t.db")) as theirs:
            body = theirs.execute("SELECT body FROM snapshot").fetchone()[0]
        db.execute("UPDATE snapshot SET body = ? WHERE study = 1", (body,))
    assert "the snapshot is not the state after event 17" in str(check_database(path).studies[0])


def test_events_that_a_snapshot_stands_for_are_read_by_who_reads_all(path):
    """The table of what is read when, in docs/studies.md."""
    damage(path, "UPDATE event SET at = at + 1 WHERE study = 1 AND seq = 9")
    with Study.open(path, "labels") as study:
        study.tell(study.ask().id, True)
        study.recommend()
        every = (
            study.history,
            lambda: study.export(path.parent / "e"),
            lambda: study.replay(LSA()),
        )
        for read_all in every:
            with pytest.raises(DamagedError, match="event 9 of study 'labels'"):
                read_all()
    assert "event 9 " in check_database(path).studies[0].damage
    forget_snapshots(path)
    with Study.open(path, "labels") as study, pytest.raises(DamagedError, match="event 9 "):
        study.ask()


def test_damaged_pages_are_found(path):
    pages = path.read_bytes()
    with closing(sqlite3.connect(path)) as db:
        (root,) = db.execute(
            "SELECT rootpage FROM sqlite_master WHERE name = 'event_decision'"
        ).fetchone()
    place = pages.index(b"01", (root - 1) * 4096 + 200)  # an id in the index
    path.write_bytes(pages[:place] + b"X" + pages[place + 1 :])
    found = check_database(path)
    assert not found.is_whole
    assert "event_decision" in found.damage


def test_ids_are_used_once(path):
    with closing(Study.open(path, "labels")) as study:
        settled = next(row for row in study.log() if row.kind == ASKED)
    append(path, [settled._replace(key=None, body=struct.pack("<dq", 8.0, 0) + b"\0" * 16)])
    assert "decision must be a new id" in str(check_database(path).studies[0])


@pytest.mark.parametrize("kind", [TOLD_LATE, CORRECTED])
def test_later_feedback_must_repeat_the_decision_as_it_was_asked(tmp_path, kind):
    path = tmp_path / "s.db"
    with labels(path, clock=Clock(2.0)) as study:
        asked = study.ask().id
        study.expire(asked)
    for decision, asked_at in ((new_id(2.0), 2.0), (asked, 1.0)):
        copy = shutil.copy(path, tmp_path / f"{asked_at}.db")
        body = struct.pack("<ddqd", 1.0, asked_at, 0, 1.0)
        append(copy, [Row(0, kind, decision, None, 2.0, body)])
        (check,) = check_database(copy).studies
        assert check.whole == 2
        assert check.damage.endswith(f"its decision differs from what was asked as '{decision}'")


def test_what_is_whole_is_saved_and_goes_on(path, tmp_path):
    damage(path, "UPDATE event SET at = at + 1 WHERE study = 1 AND seq = 9")
    before = path.read_bytes()
    with pytest.raises(ValueError, match=r"event must lie in \[0, 8\], got 9"):
        copy_intact_events(path, "labels", 9, tmp_path / "new.db")
    assert not (tmp_path / "new.db").exists()
    found = copy_intact_events(path, "labels", 8, tmp_path / "new.db")
    assert (found.events, found.whole) == (17, 8)
    assert path.read_bytes() == before
    assert check_database(tmp_path / "new.db").is_whole
    with Study.open(tmp_path / "new.db", "labels") as study:
        assert len(study.log()) == 8
        study.ask()
    with pytest.raises(ValueError, match="name must be new"):
        copy_intact_events(path, "labels", 0, tmp_path / "new.db")


def test_a_server_is_checked_and_saved(database, tmp_path):
    with labels(database) as study:
        for _ in range(4):
            study.tell(study.ask().id, 1)
        assert check_database(database).is_whole
    with psycopg.connect(database) as db:
        db.execute("UPDATE keyhole.event SET kind = 3 WHERE seq = 6")
    (found,) = check_database(database).studies
    assert (found.events, found.whole) == (8, 5)
    copy_intact_events(database, "labels", 5, tmp_path / "new.db")
    with Study.open(tmp_path / "new.db", "labels") as study:
        assert len(study.log()) == 5


def flips(path, name, times, seed):
    """Return what comes of so many bits, each flipped by itself in a copy of a file."""
    expected = read_everything(shutil.copy(path, path.parent / "copy.db"), name)
    draw, found = random.Random(seed), {}
    for _ in range(times):
        copy = path.parent / "flipped.db"
        shutil.copy(path, copy)
        flip(copy, draw.randrange(8 * copy.stat().st_size))
        what = outcome(copy, name, expected)
        found[what] = found.get(what, 0) + 1
        for rest in path.parent.glob("flipped.db*"):
            rest.unlink()
    return found


def test_no_flipped_bit_gives_another_log(tmp_path):
    with labels(tmp_path / "s.db") as study:
        for i in range(60):
            study.tell(study.ask(key=f"key {i}").id, i % 2)
        study.ask()
    forget_snapshots(tmp_path / "s.db")
    found = flips(tmp_path / "s.db", "labels", 24, seed=1)
    assert set(found) == {"refused", "the same"}
    assert found["refused"] > 2


@pytest.mark.slow
@pytest.mark.parametrize("snapshot", [True, False])
def test_no_flipped_bit_of_many_gives_another_log(tmp_path, snapshot):
    eventful(tmp_path / "s.db").close()
    with Study.open(tmp_path / "s.db", "labels") as study:
        for i in range(60):  # in a small file, more of the bits that are flipped mean something
            study.tell(study.ask(key=f"key {i}").id, i % 2)
    if not snapshot:
        forget_snapshots(tmp_path / "s.db")
    found = flips(tmp_path / "s.db", "labels", 500, seed=2)
    assert set(found) == {"refused", "the same"}


def hostile_rows(draw, count, asked):
    """Yield rows that no study writes, of all kinds, with numbers that no study has."""
    kinds = (
        ASKED,
        TOLD,
        EXPIRED,
        TOLD_LATE,
        TOLD_TOO_LATE,
        SUM_TOLD,
        ARM_ADDED,
        ARM_RETIRED,
        POLICY_CHANGED,
        4,
        0,
        11,
        -3,
        2**40,
    )
    floats = (0.0, -0.0, 1.0, 3.0, -1.0, 1e300, -1e300, 5e-324, *map(float, ("nan", "inf", "-inf")))
    integers = (0, 1, 2, 3, 5, -1, 2_000_000_000, 2**63 - 1, -(2**63), 10**5)
    for _ in range(count):
        size = draw.choice((0, 1, 2, 4, 4, 5, 7))
        cells = [
            struct.pack("<d", draw.choice(floats))
            if draw.random() < 0.5
            else struct.pack("<q", draw.choice(integers))
            for _ in range(size)
        ]
        body = b"".join(cells)
        if draw.random() < 0.3:
            body = draw.choice((body[:-1], body + b"\xff", draw.randbytes(40), b"[" * 10**5, b"{}"))
        if draw.random() < 0.3:  # nearly right
            body = struct.pack("<dq", 3.0, draw.choice(integers)) + b"\0" * 16
        decision = draw.choice((None, "", "x", asked, asked, new_id(1.0), "\U0001f600" * 26))
        at = draw.choice((1.0, 1.0, 1.0, *floats[:8]))
        yield Row(0, draw.choice(kinds), decision, draw.choice((None, None, "k", "a\nb")), at, body)


@pytest.fixture
def small(tmp_path):
    """Return a file with a study of two decisions, and the id of the pending one."""
    with labels(tmp_path / "s.db") as study:
        study.tell(study.ask().id, 1)
        id = study.ask().id
    forget_snapshots(tmp_path / "s.db")
    return tmp_path / "s.db", id


def test_hostile_rows_are_refused_or_harmless(small, tmp_path):
    path, id = small
    for row in hostile_rows(random.Random(3), 10, id):
        copy = shutil.copy(path, tmp_path / "hostile.db")
        append(copy, [row])
        said = use(copy, "labels")
        assert not any("\n" in line for line in said)
        assert len(said) == 9
        for rest in tmp_path.glob("hostile.db*"):
            rest.unlink()


def test_a_damaged_study_does_not_come_back_later(path):
    damage(path, "UPDATE event SET kind = 3 WHERE seq = 2")
    forget_snapshots(path)
    with closing(Study.open(path, "labels")) as study:
        for _ in range(2):
            with pytest.raises(DamagedError, match="event 2 of study 'labels'"):
                study.ask()
