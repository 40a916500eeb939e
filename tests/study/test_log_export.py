"""The log in words: looked at, taken elsewhere, played again."""

import json
from datetime import UTC, datetime, timedelta

import pytest

from keyhole.delayed import ODAAF
from keyhole.resource import RCUCB, Power
from keyhole.semibandit import CSBDT
from keyhole.stochastic import UCB1, ImprovedUCB
from keyhole.study import Study
from keyhole.threshold import KaplanMeierUCB
from keyhole.thresholding import APT, LSA, RoundRobin
from tests.study.studies import (
    ARMS,
    Clock,
    check_rebuilt_states_agree,
    fingerprint,
    labels,
    state_of,
)

pytestmark = pytest.mark.interpreted


@pytest.fixture
def path(tmp_path):
    return tmp_path / "studies.db"


def eventful(path):
    """Return a study in which everything has happened that can."""
    clock = Clock()
    study = labels(path, timeout=10, clock=clock, arms=["cat", "dög", "owl"])
    first, second, third = study.ask(key="k"), study.ask(), study.ask()
    study.tell(second.id, 0.1 + 0.2)
    clock.now += 11
    study.ask()
    study.tell(first.id, 1)
    study.add_arm("ibis")
    study.tell(study.ask().id, 0)
    study.retire("owl")
    study.tell(third.id, 1)
    study.change_policy(APT(epsilon=0.1))
    study.tell(study.ask().id, True)
    study.ask()
    return study


def everywhere(tmp_path):
    """Yield a study of every setting, with its context."""
    path = tmp_path / "settings.db"
    study = Study.create(
        path, "levels", KaplanMeierUCB(), ARMS, levels=3, feedback="censored", horizon=99
    )
    for told in ({"censored": True}, {"value": 1}, {"value": 0}):
        study.tell(study.ask(threshold=2).id, **told)
    yield study, {"threshold": 2}
    study = Study.create(path, "semi", CSBDT(), ARMS, resource=2.0)
    for losses in ([], ["a", "c"], ["b"]):
        study.tell(study.ask().id, losses)
    yield study, {}
    study = Study.create(
        path, "runs", RCUCB(), ARMS, limits=[0.5, 1.0], cost=Power(slope=0.1),
        penalty=Power(slope=0.2), on_timeout="no_reward",
    )  # fmt: skip
    for told in (
        {"reward": 0.5, "consumption": 0.1},
        {"exceeded": True},
        {"consumption": 0.3, "failed": True},
    ):
        study.tell(study.ask().id, **told)
    study.expire(study.ask().id)
    yield study, {}
    study = Study.create(
        path, "sums", ODAAF(expected_delay=2), ARMS, horizon=1000, feedback="anonymous"
    )
    study.ask()
    study.ask()
    study.tell_sum(1.7, rounds=2)
    yield study, {}


def test_a_history_has_a_row_an_event(path):
    with eventful(path) as study:
        table = study.history()
    assert table["event"].to_pylist() == [
        "asked", "asked", "asked", "told", "expired", "expired", "asked", "told late", "arm added",
        "asked", "told", "arm retired", "told late", "policy changed", "asked", "told", "asked",
    ]  # fmt: skip
    assert table["seq"].to_pylist() == list(range(1, 18))
    assert table["arm"].to_pylist()[:3] == ["cat", "dög", "owl"]
    assert table["reward"].to_pylist()[3] == 0.1 + 0.2
    assert table["key"].to_pylist()[:2] == ["k", None]
    assert str(table["at"].type) == "timestamp[us, tz=UTC]"
    assert len(table.to_pandas()) == 17


def test_a_history_has_the_time_of_each_event(path):
    clock = Clock(1.75e9 + 0.25)
    with labels(path, clock=clock) as study:
        study.ask()
        clock.now += 90
        study.ask()
        times = study.history()["at"].to_pylist()
    begun = datetime.fromtimestamp(1.75e9 + 0.25, UTC)
    assert times == [begun, begun + timedelta(seconds=90)]


def test_a_study_without_events_has_a_history(path):
    with labels(path) as study:
        assert study.history().num_rows == 0


def test_every_setting_has_a_history(tmp_path):
    for study, _ in everywhere(tmp_path):
        table = study.history()
        assert table.num_rows == len(study.log())
        assert len(table.to_pandas()) == len(study.log())
        study.close()


def test_what_is_restored_is_the_same(path, tmp_path):
    with eventful(path) as study:
        study.export(tmp_path / "log.jsonl")
        with Study.restore(tmp_path / "other.db", tmp_path / "log.jsonl") as other:
            assert other.name == "labels"
            assert other.log() == study.log()
            assert other.definition == study.definition
            assert fingerprint(state_of(other)) == fingerprint(state_of(study))
            assert other.pending == study.pending
            assert other.recommend() == study.recommend()
            assert other.ask().arm == study.ask().arm
            assert other.ask(key="k").id == study.ask(key="k").id
            check_rebuilt_states_agree(other)


def test_every_setting_is_restored(tmp_path):
    for study, context in everywhere(tmp_path):
        study.export(tmp_path / "log.jsonl")
        with Study.restore(tmp_path / "other.db", tmp_path / "log.jsonl") as other:
            assert other.log() == study.log()
            check_rebuilt_states_agree(other, context)
        study.close()


def test_a_restored_study_may_have_another_name(path, tmp_path):
    with eventful(path) as study:
        study.export(tmp_path / "log.jsonl")
        with pytest.raises(ValueError, match="name must be new, got 'labels'"):
            Study.restore(path, tmp_path / "log.jsonl")
        with Study.restore(path, tmp_path / "log.jsonl", name="two") as other:
            assert other.log() == study.log()
            assert Study.open(path, "two").log() == study.log()


def altered(line, change):
    words = json.loads(line)
    change(words)
    return json.dumps(words)


@pytest.mark.parametrize(
    ("which", "change"),
    [
        (0, lambda words: words.pop("format")),
        (0, lambda words: words.update(version=4)),
        (0, lambda words: words.pop("head")),
        (0, lambda words: words.pop("name")),
        (0, lambda words: words.update(name=3)),
        (0, lambda words: words["head"].update(policy="Nobody")),
        (0, lambda words: words["head"].update(arms=["a"])),
        (0, lambda words: words["head"]["facts"].update(arms=9)),
        (0, lambda words: words["head"]["facts"].update(threshold=9)),
        (0, lambda words: words["head"].update(pending="hope")),
        (1, lambda words: words.update(seq=7)),
        (1, lambda words: words.update(seq="1")),
        (1, lambda words: words.update(event="asket")),
        (1, lambda words: words.update(arm="nobody")),
        (1, lambda words: words.update(at="noon")),
        (1, lambda words: words.update(at=float("nan"))),
        (1, lambda words: words.update(round=7)),
        (1, lambda words: words.update(decision="x")),
        (1, lambda words: words.update(decision=None)),
        (1, lambda words: words.update(key=3)),
        (1, lambda words: words.pop("stream")),
        (2, lambda words: words.update(key="k")),
        (4, lambda words: words.update(reward=7)),
        (4, lambda words: words.pop("reward")),
        (4, lambda words: words.update(decision="x")),
        (9, lambda words: words.update(arm="cat")),
        (12, lambda words: words.update(arm="nobody")),
        (14, lambda words: words["head"].update(policy="UCB1", module="keyhole.stochastic")),
    ],
)
def test_an_altered_export_is_refused_and_nothing_is_made(path, tmp_path, which, change):
    with eventful(path) as study:
        study.export(tmp_path / "log.jsonl")
    lines = (tmp_path / "log.jsonl").read_text().splitlines()
    lines[which] = altered(lines[which], change)
    (tmp_path / "bad.jsonl").write_text("\n".join(lines) + "\n")
    with pytest.raises(ValueError, match=r"bad.jsonl is not an exported study, or damaged: "):
        Study.restore(tmp_path / "other.db", tmp_path / "bad.jsonl")
    assert not (tmp_path / "other.db").exists()


@pytest.mark.parametrize(
    "content", ["", "{", "[]", "3\n", "\0", '{"format": "keyhole-study"}', "\xd8"]
)
def test_what_is_no_export_is_refused(tmp_path, content):
    (tmp_path / "bad.jsonl").write_bytes(content.encode("latin1", "replace"))
    with pytest.raises(ValueError, match=r"bad.jsonl is not an exported study, or damaged: "):
        Study.restore(tmp_path / "other.db", tmp_path / "bad.jsonl")


def test_the_policy_itself_would_have_asked_the_same(path):
    with labels(path) as study:
        waiting = [study.ask() for _ in range(3)]
        for i in range(20):
            study.tell(waiting.pop(i % 3).id, i % 2)
            waiting.append(study.ask())
        replay = study.replay(LSA())
        assert (replay.asked, replay.agreed) == (23, 23)
        assert repr(replay) == "LSA(alpha=1.35) would have taken 23 of 23 decisions"
        other = study.replay(APT(epsilon=0.2))
        assert other.agreed <= other.asked == 23
        assert other.decisions.column_names == ["decision", "round", "asked", "would_ask"]
        assert len(study.log()) == 43


def test_an_eventful_log_is_played_again(path):
    with eventful(path) as study:
        assert study.replay(LSA()).asked == 7
        with pytest.raises(ValueError, match="policy must be of the setting 'thresholding'"):
            study.replay(UCB1())
        with pytest.raises(TypeError, match=r"RoundRobin.* does not support adding or"):
            study.replay(RoundRobin())


def test_a_log_is_not_played_again_by_who_learns_from_its_own_decisions_alone(path):
    with Study.create(path, "s", UCB1(), ["a", "b"]) as study:
        assert study.replay(ImprovedUCB(), horizon=100).asked == 0
        study.tell(study.ask().id, 1)
        with pytest.raises(ValueError, match=r"of others \(off_policy\), got Impr"):
            study.replay(ImprovedUCB(), horizon=100)
    with Study.create(path, "own", ImprovedUCB(), ["a", "b"], horizon=100) as study:
        study.tell(study.ask().id, 1)
        assert study.replay(ImprovedUCB()).agreed == 1


def test_an_empty_log_is_played_again(path):
    with labels(path) as study:
        assert study.replay(LSA()).asked == 0


def test_an_export_that_was_cut_off_is_refused(tmp_path):
    with labels(tmp_path / "studies.db") as study:
        for _ in range(4):
            study.tell(study.ask().id, 1)
        study.export(tmp_path / "whole.jsonl")
    lines = (tmp_path / "whole.jsonl").read_text().splitlines(keepends=True)
    (tmp_path / "cut.jsonl").write_text("".join(lines[:6]))
    with pytest.raises(ValueError, match="it must have 8 events, as line 1 says, got 5"):
        Study.restore(tmp_path / "other.db", tmp_path / "cut.jsonl")


def test_an_export_that_lacks_an_event_is_refused(tmp_path):
    with labels(tmp_path / "studies.db") as study:
        for _ in range(4):
            study.tell(study.ask().id, 1)
        study.export(tmp_path / "whole.jsonl")
    first, *events = (tmp_path / "whole.jsonl").read_text().splitlines()
    del events[1]
    lines = [json.dumps(json.loads(first) | {"events": len(events)}), *events]
    (tmp_path / "bad.jsonl").write_text("".join(f"{line}\n" for line in lines))
    with pytest.raises(ValueError, match="the log has a gap: event 3 follows 1"):
        Study.restore(tmp_path / "other.db", tmp_path / "bad.jsonl")


def test_a_damaged_export_says_at_which_line(tmp_path):
    with labels(tmp_path / "studies.db") as study:
        study.tell(study.ask().id, 1)
        study.export(tmp_path / "whole.jsonl")
    first, second, _ = (tmp_path / "whole.jsonl").read_text().splitlines(keepends=True)
    (tmp_path / "bad.jsonl").write_text(first + second + "{}\n")
    with pytest.raises(ValueError, match="line 3"):
        Study.restore(tmp_path / "other.db", tmp_path / "bad.jsonl")


def test_an_export_may_be_saved_by_an_editor_on_windows(path, tmp_path):
    with eventful(path) as study:
        study.export(tmp_path / "log.jsonl")
        content = (tmp_path / "log.jsonl").read_bytes()
        (tmp_path / "log.jsonl").write_bytes(b"\xef\xbb\xbf" + content)
        with Study.restore(tmp_path / "other.db", tmp_path / "log.jsonl") as other:
            assert other.log() == study.log()
