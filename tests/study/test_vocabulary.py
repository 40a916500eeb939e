"""Studies in the words of settings of others: pairs of arms, words that studies use themselves."""

import pytest

from keyhole.policy import Policy, SettingLearner, float_array
from keyhole.study import SettingCodeError, Study, check_database
from tests.study.studies import Clock, check_rebuilt_states_agree
from tests.testing.test_vocabulary_checks import PAIRS, NamesNoArm, NothingWins, PairWords, TellsAt
from tests.toys import ArmsOnly

pytestmark = pytest.mark.interpreted


class Duels(ArmsOnly, Policy, abstract=True):
    setting = PAIRS
    learner_class = SettingLearner
    vocabulary_class = PairWords


class Champion(Duels):
    """Lets the arm that has won most often defend itself against the others in turn."""

    arms_change = True
    pending = ("ignore",)

    class State:
        wins = float_array("arms")

    def select(p, s, t):
        best = 0
        for arm in range(p.arms):
            if s.wins[arm] > s.wins[best]:
                best = arm
        rival = t % (p.arms - 1)
        return best, rival + 1 if rival >= best else rival

    def update(p, s, arm, rival, won):
        s.wins[arm if won == 1 else rival] += 1


def with_vocabulary(kind):
    return type("Other", (Champion,), {"vocabulary_class": kind, "__module__": __name__})()


def test_all_arms_of_a_decision_are_renumbered_when_arms_come_and_go(tmp_path):
    path = tmp_path / "s.db"
    arms = ["v", "w", "x", "y", "z"]
    with Study.create(path, "s", Champion(), arms, durability="process_crash") as study:
        asked = [study.ask() for _ in range(4)]
        assert {one.arm for one in asked} == {"v"}
        for _ in range(2):
            one = study.ask()
            study.tell(one.id, winner=one.rival)
        study.retire("v")
        study.add_arm("u")
        study.retire("x")
        told = next(one for one in asked if one.rival == "z")
        study.tell(told.id, winner="z")  # an arm of it is retired: not learnt
        pairs = [tuple(study.ask().words.values()) for _ in range(12)]
        assert {arm for pair in pairs for arm in pair} == {"w", "y", "z", "u"}
        assert all(arm != rival for arm, rival in pairs)
        one = study.pending[-1]
        study.tell(one.id, winner=one.rival)
        check_rebuilt_states_agree(study)
        study.export(tmp_path / "s.jsonl")
    assert check_database(path, policies=[Champion]).is_whole
    Study.restore(tmp_path / "t.db", tmp_path / "s.jsonl", policies=[Champion]).close()


def test_arms_do_not_change_where_their_fields_are_not_named(tmp_path):
    policy = with_vocabulary(NamesNoArm)
    with Study.create(
        tmp_path / "s.db", "s", policy, ["x", "y", "z"], durability="process_crash"
    ) as study:
        for call in (lambda: study.retire("x"), lambda: study.add_arm("w")):
            with pytest.raises(
                TypeError, match=r"NamesNoArm must name the fields that hold arms, as `arm_fields`"
            ):
                call()
        assert study.log() == []


def test_words_that_studies_use_themselves_are_refused(tmp_path):
    class Round(PairWords):
        def format_decision(self, context, decision):
            return {"round": 1} | super().format_decision(context, decision)

    class Anything(PairWords):
        def parse_feedback(self, context, decision, **words):
            return {"won": 1}

    for word, kind in (("at", TellsAt), ("round", Round)):
        with pytest.raises(ValueError, match=f"a vocabulary must not use the word '{word}'"):
            Study.create(
                tmp_path / "s.db",
                "s",
                with_vocabulary(kind),
                ["x", "y"],
                durability="process_crash",
            )
    policy = with_vocabulary(Anything)
    with Study.create(
        tmp_path / "s.db", "s", policy, ["x", "y"], durability="process_crash"
    ) as study:
        id = study.ask().id
        with pytest.raises(ValueError, match="a vocabulary must not use the word 'key'"):
            study.tell(id, key="x")
        assert len(study.log()) == 1


def test_a_default_that_cannot_be_told_is_an_error_of_the_setting(tmp_path):
    path, clock = tmp_path / "s.db", Clock()
    given = {"on_timeout": "no_reward", "timeout": 5, "durability": "process_crash", "clock": clock}
    with Study.create(path, "t", with_vocabulary(NothingWins), ["x", "y", "z"], **given) as study:
        study.ask()
        clock.now += 6
        message = (
            "vocabulary of setting 'pairs' failed .*: default_feedback is {'reward': 0.0}, "
            "which cannot be told: tell takes winner"
        )
        with pytest.raises(SettingCodeError, match=message):
            study.ask()
    with Study.create(path, "s", Champion(), ["x", "y", "z"], **given) as study:
        asked = study.ask()
        clock.now += 6
        study.ask()
        expired = next(one for one in study.history().to_pylist() if one["event"] == "expired")
        assert expired["winner"] == asked.rival
        check_rebuilt_states_agree(study)
