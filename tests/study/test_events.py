"""Events that no study can have written are refused before they reach a kernel."""

import math
import sqlite3
import struct
from contextlib import closing, suppress
from dataclasses import replace

import pytest

from keyhole.delayed import ODAAF
from keyhole.resource import RCUCB, Power
from keyhole.study import DamagedError, Study
from keyhole.study.events import (
    ARM_ADDED,
    ARM_RETIRED,
    ASKED,
    ASKED_AGAIN,
    CORRECTED,
    EXPIRED,
    POLICY_CHANGED,
    SUM_TOLD,
    TOLD,
    TOLD_LATE,
    TOLD_TOO_LATE,
)
from keyhole.study.operations import new_id
from keyhole.study.storage import Row, open_store
from keyhole.threshold import KaplanMeierUCB
from tests.study.studies import ARMS, labels

NEW, OTHER = new_id(1.0), new_id(2.0)


@pytest.fixture
def path(tmp_path):
    """Return a study with a settled decision, a pending one, and a retired arm."""
    with labels(tmp_path / "s.db") as study:
        study.tell(study.ask().id, 1)
        study.ask()
        study.retire("c")
    with closing(sqlite3.connect(tmp_path / "s.db")) as db, db:
        db.execute("DELETE FROM snapshot")
    return tmp_path / "s.db"


def append(path, *rows, name="labels"):
    """Add events with right checksums, as whoever can write to the file may."""
    with closing(open_store(path)) as store:
        study = store.find(name)[0]
        new_rows = store.begin(study, 0)
        first = len(new_rows) + 1
        store.commit(study, [row._replace(seq=seq) for seq, row in enumerate(rows, first)])


def refusal(path, row, name="labels", ids=None):
    """Return what is said of a study that has one more event."""
    with closing(open_store(path)) as store:
        asked = [r.decision for r in store.read(store.find(name)[0]) if r.kind == ASKED]
    row = row._replace(
        decision={"settled": asked[0], "pending": asked[-1]}.get(row.decision, row.decision)
    )
    append(path, row, name=name)
    with closing(Study.open(path, name)) as study:
        with pytest.raises(DamagedError) as first:
            study.recommend()
        with pytest.raises(DamagedError) as second:
            study.ask()
    assert str(first.value) == str(second.value)
    assert "\n" not in str(first.value)
    return str(first.value)


def event(kind, decision, body, key=None, at=2.0):
    return Row(0, kind, decision, key, at, body)


def asked(t=3.0, arm=1, more=b"\0" * 16):
    return struct.pack("<dq", t, arm) + more


def late(t=1.0, at=1.0, arm=0, reward=1.0):
    return struct.pack("<ddqd", t, at, arm, reward)


REWARD = struct.pack("<d", 1.0)
EVENTS = {
    "an unknown kind": (event(77, NEW, b""), "its kind is 77, which is unknown"),
    "a negative kind": (event(-1, NEW, b""), "its kind is -1"),
    "another round": (event(ASKED, NEW, asked(t=9.0)), "round must be 3"),
    "a huge round": (event(ASKED, NEW, asked(t=1e300)), "round must be 3"),
    "no round": (event(ASKED, NEW, asked(t=math.nan)), "round must be 3"),
    "a huge arm": (event(ASKED, NEW, asked(arm=2_000_000_000)), "malformed"),
    "one arm too many": (event(ASKED, NEW, asked(arm=3)), "malformed"),
    "a negative arm": (event(ASKED, NEW, asked(arm=-1)), "decision is not allowed"),
    "a retired arm": (event(ASKED, NEW, asked(arm=2)), "decision is not allowed"),
    "a short decision": (event(ASKED, NEW, asked()[:-1]), "it must have 32 bytes, got 31"),
    "excluded arms that never were": (event(ASKED, NEW, asked() + b"x"), "must be in use"),
    "an excluded arm that is retired": (event(ASKED, NEW, asked() + b"\4"), "must be in use"),
    "excluded arms in more bytes": (event(ASKED, NEW, asked() + b"\1\0"), "must be in use"),
    "no excluded arm, in a byte": (event(ASKED, NEW, asked() + b"\0"), "must be in use"),
    "the decision's own arm excluded": (
        event(ASKED, NEW, asked() + b"\2"),
        "must not be about an arm that it excludes",
    ),
    "a pending id": (event(ASKED, "pending", asked()), "decision must be a new id"),
    "no id": (event(ASKED, "x", asked()), "decision must be a new id"),
    "no decision": (event(TOLD, None, REWARD), "decision must be given or absent"),
    "nobody's feedback": (event(TOLD, OTHER, REWARD), "decision must be a pending one"),
    "feedback twice": (event(TOLD, "settled", REWARD), "decision must be a pending one"),
    "a key of feedback": (event(TOLD, "pending", REWARD, key="k"), "has no key"),
    "no feedback": (event(TOLD, "pending", b""), "malformed"),
    "a huge reward": (event(TOLD, "pending", struct.pack("<d", 1e300)), "reward must "),
    "a negative reward": (event(TOLD, "pending", struct.pack("<d", -1.0)), "reward must "),
    "no number": (event(TOLD, "pending", struct.pack("<d", math.nan)), "reward must "),
    "an infinite reward": (event(TOLD, "pending", struct.pack("<d", math.inf)), "reward must "),
    "long feedback": (event(TOLD, "pending", REWARD * 2), "its feedback is invalid"),
    "a body of what is given up": (event(EXPIRED, "pending", REWARD), "it must have no bytes"),
    "again what is not": (event(ASKED_AGAIN, "pending", b""), "one to ask again"),
    "late, but pending": (event(TOLD_LATE, "pending", late()), "must be a settled one"),
    "a correction of what is pending": (event(CORRECTED, "pending", late()), "must be a settled"),
    "a corrected reward": (event(CORRECTED, "settled", late(reward=2.0)), "reward must "),
    "a correction of no arm": (event(CORRECTED, "settled", late(arm=7)), "malformed"),
    "late of no arm": (event(TOLD_LATE, "settled", late(arm=7)), "malformed"),
    "late of no round": (event(TOLD_LATE, "settled", late(t=0.5)), "round must be from 1 to 2"),
    "late of a later round": (
        event(TOLD_LATE, "settled", late(t=9.0)),
        "round must be from 1 to 2",
    ),
    "late at no time": (event(TOLD_LATE, "settled", late(at=math.nan)), "its time must be"),
    "late reward": (event(TOLD_LATE, "settled", late(reward=2.0)), "reward must "),
    "kept": (event(TOLD_TOO_LATE, "settled", late()), "late feedback of this kind needs another"),
    "a sum": (event(SUM_TOLD, None, struct.pack("<dd", 1.0, 1.0)), "is for anonymous feedback"),
    "an arm twice": (event(ARM_ADDED, None, b"a"), "arm must be new, but 'a' is an arm"),
    "an arm of no letters": (event(ARM_ADDED, None, b"\xff\xfe"), "utf-8"),
    "an arm without a name": (event(ARM_ADDED, None, b""), "arm must"),
    "no such arm": (event(ARM_RETIRED, None, b"x"), "arm must be"),
    "an arm retired twice": (event(ARM_RETIRED, None, b"c"), "arm must be"),
    "no time": (event(ASKED, NEW, asked(), at=math.inf), "its time must be"),
    "before all time": (event(ASKED, NEW, asked(), at=-1.0), "its time must be"),
}


@pytest.mark.parametrize(("row", "why"), EVENTS.values(), ids=list(EVENTS))
def test_what_no_study_writes_is_refused(path, row, why):
    said = refusal(path, row)
    assert "event 5 of study 'labels' in " in said
    assert why in said


@pytest.mark.parametrize(
    ("body", "why"),
    [
        (b"{}", "does not say its format"),
        (b"[]", "does not say its format"),
        (b"\xff", "not JSON"),
        (b'{"format": 9}', "in a format that keyhole"),
        (b'{"format": 2}', "is damaged: KeyError"),
        (b'{"format": 2, "policy": 3, "module": []}', "study"),
        (b"[" * 10**6, "not JSON"),
    ],
)
def test_a_change_of_policy_that_cannot_be_read_is_refused(path, body, why):
    append(path, event(POLICY_CHANGED, None, body))
    with closing(Study.open(path, "labels")) as study, pytest.raises(ValueError, match=why) as said:
        study.ask()
    assert "\n" not in str(said.value)
    with closing(Study.open(path, "labels")) as study, suppress(DamagedError):
        study.history()


@pytest.mark.parametrize(
    ("policy", "facts", "rows", "why"),
    [
        (
            ODAAF(expected_delay=2),
            {"horizon": 2, "feedback": "anonymous"},
            [event(SUM_TOLD, None, struct.pack("<dd", 1.0, 1.0))],
            "total must ",
        ),
        (
            ODAAF(expected_delay=2),
            {"horizon": 1, "feedback": "anonymous"},
            [event(ASKED, NEW, asked(t=1.0)), event(ASKED, OTHER, asked(t=2.0))],
            "at most the horizon, 1",
        ),
        (
            KaplanMeierUCB(),
            {"levels": 3, "feedback": "censored", "horizon": 9},
            [event(ASKED, NEW, struct.pack("<dqq", 1.0, 2**62, 1) + b"\0" * 16)],
            "threshold must ",
        ),
        (
            RCUCB(),
            {"limits": [1.0], "cost": Power(slope=0.1), "penalty": Power(slope=0.1)},
            [event(ASKED, NEW, struct.pack("<dqd", 1.0, 1, math.inf) + b"\0" * 16)],
            "is not allowed",
        ),
    ],
)
@pytest.mark.filterwarnings("ignore:.* gives up no arm")
@pytest.mark.interpreted
def test_each_setting_refuses_its_own(tmp_path, policy, facts, rows, why):
    path = tmp_path / "s.db"
    Study.create(path, "x", policy, ARMS, **facts).close()
    append(path, *rows, name="x")
    with closing(Study.open(path, "x")) as study, pytest.raises(DamagedError, match=why):
        study.ask()


@pytest.mark.interpreted
def test_late_feedback_is_of_a_decision_that_was_allowed(tmp_path):
    path = tmp_path / "s.db"
    functions = {"cost": Power(slope=0.1), "penalty": Power(slope=0.1)}
    with Study.create(path, "x", RCUCB(), ARMS, limits=[1.0], **functions) as study:
        first = study.ask()
        study.tell(first.id, 0.5, 0.5)
        study.ask()
    late = struct.pack("<ddqd", 1.0, 1.0, 0, 7.0) + struct.pack("<ddq", 0.5, 0.5, 0)
    append(path, event(TOLD_LATE, first.id, late), name="x")
    message = "its decision is not allowed"
    with closing(Study.open(path, "x")) as study, pytest.raises(DamagedError, match=message):
        study.ask()


def test_a_change_of_policy_that_changes_more_is_refused(path):
    with closing(Study.open(path, "labels")) as study:
        other = replace(study.definition, seed=7)
    append(path, event(POLICY_CHANGED, None, other.to_bytes()))
    with closing(Study.open(path, "labels")) as study:
        for call in (study.ask, study.recommend):
            with pytest.raises(DamagedError, match="must leave arms, rule, seed and units"):
                call()


@pytest.mark.parametrize("arm", [-1, 3])
def test_a_decision_of_no_arm_is_not_shown(path, tmp_path, arm):
    append(path, event(ASKED, NEW, struct.pack("<dq", 3.0, arm) + b"\0" * 16))
    with closing(Study.open(path, "labels")) as study:
        for look in (study.history, lambda: study.export(tmp_path / "out.jsonl")):
            with pytest.raises(DamagedError, match=r"event 5 of study 'labels' .* is damaged"):
                look()


@pytest.mark.parametrize("look", [Study.history, lambda study: study.export("none.jsonl")])
def test_a_sum_where_there_are_none_is_damage_in_histories_too(path, look):
    append(path, event(SUM_TOLD, None, b""))
    said = r"event 5 of study 'labels'.*a sum is for anonymous"
    with Study.open(path, "labels") as study, pytest.raises(DamagedError, match=said):
        look(study)
