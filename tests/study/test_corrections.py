"""A study whose feedback was corrected is one that was told so from the beginning."""

import json
import random
import struct

import pytest

from keyhole.resource import HazardUCB
from keyhole.stochastic import KLUCB, UCB1, ImprovedUCB, ThompsonSampling
from keyhole.study import DifferentFeedbackError, Study, check_database
from keyhole.study.events import CORRECTED
from keyhole.study.storage import Row
from keyhole.threshold import KaplanMeierUCB
from keyhole.thresholding import APT, LSA, PerArmStopping
from tests.study.studies import Clock, check_rebuilt_states_agree, labels, state_of
from tests.study.test_events import append
from tests.study.test_exclude import LIMITS
from tests.study.test_state import SAMPLES, at_some_threshold, begun, of_nothing, ran, sampled

pytestmark = pytest.mark.interpreted


def fraction(rng, decision):
    return {"reward": rng.choice([0.0, 1.0, 0.25])}


def told_otherwise(study, path, corrected):
    """Return a study of the same events, but told what is corrected from the beginning."""
    study.export(path.with_suffix(".jsonl"))
    header, *lines = map(json.loads, path.with_suffix(".jsonl").read_text().splitlines())
    events = [event for event in lines if event["event"] != "corrected"]
    for event in events:
        if event["event"] in ("told", "told late") and event["decision"] in corrected:
            common = {name: event[name] for name in ("at", "event", "decision")}
            event.clear()
            event.update(common, **corrected[common["decision"]])
    for seq, event in enumerate(events, 1):
        event["seq"] = seq
    header["events"] = len(events)
    text = "".join(json.dumps(line) + "\n" for line in [header, *events])
    path.with_suffix(".jsonl").write_text(text)
    return Study.restore(path, path.with_suffix(".jsonl"))


@pytest.mark.parametrize(
    ("policy", "facts", "pending", "context", "feedback"),
    [
        (LSA(), {"threshold": 0.5}, "impute", of_nothing, fraction),
        (APT(), {"threshold": 0.5}, "ignore", of_nothing, fraction),
        (PerArmStopping(), {"threshold": 0.5}, "impute", of_nothing, fraction),
        (UCB1(), {}, "wait", of_nothing, fraction),
        (KLUCB(), {}, "impute", of_nothing, fraction),
        (ThompsonSampling(), {}, "ignore", of_nothing, fraction),
        (ThompsonSampling(), {}, "impute", of_nothing, fraction),
        (KaplanMeierUCB(), SAMPLES, "impute", at_some_threshold, sampled),
        (HazardUCB(), LIMITS, "impute", of_nothing, ran),
    ],
    ids=lambda value: value if isinstance(value, str) else type(value).__name__,
)
def test_a_corrected_study_is_one_that_was_told_so_at_once(
    tmp_path, policy, facts, pending, context, feedback
):
    rng, clock, told, corrected = random.Random(8), Clock(), [], {}
    with begun(tmp_path / "s.db", policy, facts, pending=pending, clock=clock) as study:
        for number in range(24):
            told.append(study.ask(**context(rng)))
            study.tell(told[-1], **feedback(rng, told[-1]))
            if number % 6 == 5:
                decision = rng.choice(told)
                corrected[decision.id] = feedback(rng, decision)
                study.correct(decision, **corrected[decision.id])
                check_rebuilt_states_agree(study, context(rng))
        words = context(rng)
        with told_otherwise(study, tmp_path / "other.db", corrected) as other:
            here, there = state_of(study), state_of(other)
            assert here.arrays_to_save() == there.arrays_to_save()
            assert here.pending == there.pending
            assert here.feedback_count == there.feedback_count
            assert study.recommend() == other.recommend()
            assert study.means() == other.means()
            assert study.settled == other.settled
            assert study.explain_intervals() == other.explain_intervals()
            assert study.ask(**words).words == other.ask(**words).words
    assert check_database(tmp_path / "s.db").is_whole


def test_what_was_told_stays_in_the_log_beside_its_correction(address):
    with labels(address) as study, Study.open(address, "labels") as other:
        first, second = study.ask(), study.ask()
        study.tell(first, 1)
        other.tell(second, 0)
        assert other.recommend()["a"]
        study.correct(first, 0)
        other.correct(second.id, reward=True)
        study.correct(second.id, 1)  # the same once more
        rows = study.history().to_pylist()[2:]
        assert [(row["event"], row["decision"], row["reward"]) for row in rows] == [
            ("told", first.id, 1.0), ("told", second.id, 0.0),
            ("corrected", first.id, 0.0), ("corrected", second.id, 1.0),
        ]  # fmt: skip
        assert study.recommend() == other.recommend() == {"a": False, "b": True, "c": True}
        assert str(study.means()["a"]["reward"]).startswith("0.00 ")
        check_rebuilt_states_agree(study)


def test_a_correction_is_corrected_and_told_again(tmp_path):
    with labels(tmp_path / "s.db") as study:
        decision = study.ask()
        study.tell(decision, 1)
        for reward in (0, 1, 0.25):
            study.correct(decision, reward)
            before = study.log()
            study.tell(decision, reward)
            study.correct(decision, reward)
            assert study.log() == before
        with pytest.raises(DifferentFeedbackError, match=r"was told {'reward': 0.25} before"):
            study.tell(decision, 1)
        assert study.means()[decision.arm]["reward"].mean == 0.25
        assert study.means()[decision.arm]["reward"].told == 1


def test_only_a_decision_that_was_told_is_corrected(tmp_path):
    with labels(tmp_path / "s.db") as study:
        decision = study.ask()
        for id, message in (
            (decision, f"^id must be of a decision that was told; {decision.id} is pending"),
            ("x", "^id must be that of a decision of this study, got 'x'$"),
            ("0" * 26, "^id must be that of a decision of this study, got "),
        ):
            with pytest.raises(ValueError, match=message):
                study.correct(id, 1)
        study.expire(decision)
        with pytest.raises(ValueError, match=f"was told; {decision.id} has expired$"):
            study.correct(decision, 1)
        study.tell(decision, 1)  # late
        with pytest.raises(ValueError, match=r"^reward must lie in"):
            study.correct(decision, 7)
        with pytest.raises(TypeError, match="reward"):
            study.correct(decision)
        study.correct(decision, 0)
        assert study.means()["a"]["reward"].mean == 0
        check_rebuilt_states_agree(study)


def test_feedback_that_came_too_late_is_corrected_and_still_not_counted(tmp_path):
    clock = Clock()
    given = {"timeout": 10, "on_timeout": "no_reward", "clock": clock}
    with labels(tmp_path / "s.db", **given) as study:
        first, second = study.ask(), study.ask()
        study.tell(second, 1)
        clock.now += 11
        study.tell(first, 1)
        study.correct(first, 0.25)
        assert study.means()["a"]["reward"].mean == 0
        study.correct(second, 0)
        assert study.recommend()["b"] is False
        check_rebuilt_states_agree(study)
    assert check_database(tmp_path / "s.db").is_whole


def test_a_policy_that_relies_on_its_own_decisions_is_refused_by_name(tmp_path):
    with begun(tmp_path / "s.db", ImprovedUCB(), {"horizon": 100}) as study:
        decision = study.ask()
        study.tell(decision, 1)
        with pytest.raises(
            ValueError, match=r"^correct needs a policy .* \(off_policy\), got Impr"
        ):
            study.correct(decision, 0)
        assert len(study.log()) == 2


def test_a_verdict_that_rests_on_mistakes_is_taken_back(tmp_path):
    with labels(tmp_path / "s.db", policy=PerArmStopping(), arms=["a", "b"]) as study:
        while not study.is_done:
            study.tell(study.ask(), 1)
        decision = next(row.decision for row in study.log() if row.kind == 1)
        study.correct(decision, 0)
        assert not study.is_done
        assert study.settled == {"b": "above"}
        assert study.ask().arm == "a"
        check_rebuilt_states_agree(study)


def test_corrections_go_with_changes_of_policy_and_arms(tmp_path):
    with labels(tmp_path / "s.db") as study:
        decisions = [study.ask() for _ in range(6)]
        for decision in decisions:
            study.tell(decision, 1)
        study.correct(decisions[0], 0)
        study.change_policy(APT(epsilon=0.1))
        study.add_arm("d")
        study.correct(decisions[1], 0)
        study.retire("c")
        study.change_policy(PerArmStopping())
        study.correct(decisions[2], 0.25)  # of a retired arm
        study.tell(study.ask(), 1)
        means = {name: by_word["reward"].mean for name, by_word in study.means().items()}
        assert means == {"a": 0.5, "b": 0.5, "c": 0.625, "d": 1.0}
        study.export(tmp_path / "log.jsonl")
        with Study.restore(tmp_path / "t.db", tmp_path / "log.jsonl") as other:
            assert other.log() == study.log()
            assert state_of(other).arrays_to_save() == state_of(study).arrays_to_save()
        assert study.replay(LSA()).asked == 7
    assert check_database(tmp_path / "s.db").is_whole
    with Study.open(tmp_path / "s.db", "labels") as study:
        assert {name: m["reward"].mean for name, m in study.means().items()} == means


def test_a_snapshot_from_before_a_correction_is_not_used(tmp_path):
    path = tmp_path / "s.db"
    with labels(path) as study:
        decision = study.ask()
        study.tell(decision, 1)
    with Study.open(path, "labels") as study:  # from a snapshot
        study.correct(decision, 0)
        study._writer._snapshot_seq = 10**9  # no other one
    assert check_database(path).is_whole
    with Study.open(path, "labels") as study:
        assert study.recommend()["a"] is False


def test_a_correction_of_what_nobody_told_is_found_by_a_check(tmp_path):
    path = tmp_path / "s.db"
    with labels(path, clock=Clock(2.0)) as study:
        decision = study.ask()
        study.expire(decision)
    body = struct.pack("<ddqd", 1.0, 2.0, 0, 1.0)
    append(path, Row(0, CORRECTED, decision.id, None, 2.0, body))
    (check,) = check_database(path).studies
    assert check.whole == 2
    assert check.damage.endswith("of which nothing was told")
