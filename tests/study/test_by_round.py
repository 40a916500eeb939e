"""Studies of a setting that learns by round, whose words no study knows: pumps and leaks."""

import pytest

from keyhole.contract.policy import Policy
from keyhole.contract.setting import Setting
from keyhole.contract.state_arrays import Field
from keyhole.policy import (
    RoundFeedback,
    SettingLearner,
    StudyRound,
    StudyVocabulary,
    fact,
    float_array,
    int_array,
)
from keyhole.study import Study
from keyhole.study.snapshot import make_snapshot, read_snapshot
from keyhole.validation import Range, check_integer
from tests.study.studies import check_rebuilt_states_agree, state_of

pytestmark = pytest.mark.interpreted


class Facts:
    arms = fact(int, ge=1, doc="number of pumps")
    seen = fact(int, ge=0, le=1, doc="whether a leak says at which pump it is")
    ledger = fact(int, ge=1, argument=None, default=1, doc="how many leaks there is room for")
    horizon = fact(int, ge=1, always=False, doc="rounds in all")


PUMPS = Setting(
    name="pumps",
    declarations=Facts,
    context={"pressure": Field("int64")},
    decision={"arm": Field("int64")},
    feedback={"leaks": Field("int64"), "places": Field("int64", ("ledger",))},
    report={"dry": Field("int64")},
    allowed=lambda p, arm: 0 <= arm < p.arms,
    by_round=True,
)


class Shift(StudyRound):
    """The leaks of a round."""

    taken = None
    leaks = 0

    def __init__(self, vocabulary, policy):
        super().__init__(vocabulary, policy)
        self.places = []

    def begin(self, context, decision):
        self.taken = [context["pressure"], decision["arm"]]

    def add_feedback(self, context, decision, feedback):
        self.leaks += feedback["leaks"]
        self.places += [decision["arm"]] * feedback["leaks"]

    def check_sum(self, values, rounds):
        check_integer("leaks", values["leaks"], Range(ge=0, le=9 * rounds))

    def add_sum(self, values):
        self.leaks += values["leaks"]

    def end(self, facts, state, feedback_count):
        if self.taken is None:
            return None
        pressure, arm = self.taken
        heard = {"leaks": self.leaks, "places": self.places}
        ledger = max(facts["ledger"], len(self.places))
        self.taken, self.leaks, self.places = None, 0, []
        return RoundFeedback({"pressure": pressure}, {"arm": arm}, heard, {"ledger": ledger})

    def longest_arrays(self, feedback_count):
        return {"ledger": 1 + 9 * feedback_count}

    def to_json(self):
        return {"taken": self.taken, "leaks": self.leaks, "places": self.places}

    def restore(self, content):
        vars(self).update(content)


class Words(StudyVocabulary):
    round_class = Shift

    def parse_context(self, *, pressure):
        return {"pressure": check_integer("pressure", pressure, Range(ge=1))}

    def format_context(self, context):
        return context

    @property
    def has_feedback(self):
        return bool(self.facts["seen"])

    @property
    def feedback_fields(self):
        return {"leaks": Field("int64")}

    def parse_feedback(self, context, decision, leaks):
        return {"leaks": check_integer("leaks", leaks, Range(ge=0))}

    def format_feedback(self, context, decision, feedback):
        return feedback

    def default_feedback(self, context, decision):
        return {"leaks": 0}

    @property
    def sum_fields(self):
        return {} if self.has_feedback else {"leaks": Field("int64")}

    def parse_sum(self, leaks):
        return {"leaks": check_integer("leaks", leaks, Range(ge=0))}

    def format_sum(self, values):
        return values

    def format_report(self, report, live):
        return self.arms[live[report["dry"].item()]]


class Plumber(Policy):
    """Runs the pump with the fewest leaks; leaks without a place are those of the last pump."""

    setting = PUMPS
    learner_class = SettingLearner
    vocabulary_class = Words

    class State:
        runs = int_array("arms")
        leaks = float_array("arms")
        leak_counts = float_array("ledger")  # as long as there is room for leaks

    def select(p, s):
        best = 0
        for arm in range(p.arms):
            if s.runs[arm] + s.leaks[arm] < s.runs[best] + s.leaks[best]:
                best = arm
        return best

    def update(p, s, t, arm, pressure, leaks, places):
        s.runs[arm] += 1
        if p.seen == 0:
            s.leaks[arm] += leaks * pressure
            return
        for i in range(leaks):
            s.leaks[places[i]] += pressure
            s.leak_counts[i] += 1.0

    def recommend(p, s, dry):
        dry[0] = 0
        for arm in range(p.arms):
            if s.leaks[arm] < s.leaks[dry[0]]:
                dry[0] = arm


def begun(path, *, seen, **facts):
    return Study.create(
        path, "s", Plumber(), ["a", "b", "c"], seen=seen, durability="process_crash", **facts
    )


def test_feedback_of_decisions_is_learnt_when_their_round_ends(tmp_path):
    with begun(tmp_path / "s.db", seen=1) as study:
        first = study.ask(pressure=2)
        second = study.ask(pressure=1)
        assert (first.arm, first.pressure, second.arm) == ("a", 2, "b")
        assert [decision.id for decision in study.pending] == [first.id, second.id]
        study.tell(first.id, leaks=3)  # three places: the arrays grow
        assert study.recommend() == "a"  # the round of the second decision has not ended
        assert study.ask(pressure=1).arm == "c"
        assert study.recommend() == "b"
        check_rebuilt_states_agree(study, {"pressure": 1})
        with pytest.raises(TypeError, match="tell_sum is for anonymous feedback; here each"):
            study.tell_sum(1)
        with pytest.raises(TypeError, match="does not support adding or retiring arms"):
            study.add_arm("d")


def test_sums_belong_to_the_round_in_which_they_are_told(tmp_path):
    path = tmp_path / "s.db"
    with begun(path, seen=0) as study:
        assert study.ask(pressure=1).arm == "a"
        assert study.pending == []
        study.tell_sum(leaks=2)
        study.tell_sum(1)
        for bad, message in ((10, r"leaks must lie in \[0, 9\], got 10"), (-1, "leaks must be")):
            with pytest.raises(ValueError, match=message):
                study.tell_sum(bad)
        with pytest.raises(TypeError, match="tell_sum takes leaks in this study: missing"):
            study.tell_sum(total=1)
    with Study.open(path, "s", policies=[Plumber], durability="process_crash") as study:
        assert [study.ask(pressure=1).arm for _ in range(3)] == ["b", "c", "b"]
        assert study.recommend() == "b"
        sums = [event for event in study.history().to_pylist() if event["event"] == "sum told"]
        assert [event["leaks"] for event in sums] == [2, 1]
        check_rebuilt_states_agree(study, {"pressure": 1})
        study.export(tmp_path / "s.jsonl")
    again = tmp_path / "again.db"
    with Study.restore(again, tmp_path / "s.jsonl", policies=[Plumber]) as study:
        assert study.recommend() == "b"
        study.export(tmp_path / "again.jsonl")
    assert (tmp_path / "again.jsonl").read_bytes() == (tmp_path / "s.jsonl").read_bytes()


def test_rounds_end_at_the_horizon(tmp_path):
    class Short(Plumber):
        needs = ("horizon",)

    with Study.create(
        tmp_path / "s.db", "s", Short(), ["a", "b"], seen=0, horizon=2, durability="process_crash"
    ) as study:
        study.ask(pressure=1)
        study.ask(pressure=1)
        with pytest.raises(RuntimeError, match="the horizon of 2 rounds has been reached"):
            study.ask(pressure=1)


def test_a_learner_of_any_setting_takes_no_feedback_of_rounds():
    learner = Plumber().learner(arms=3, seen=1)
    assert learner.ask(pressure=2) == 0
    with pytest.raises(TypeError, match=r"SettingLearner.tell must be defined: in .*to rounds"):
        learner.tell(leaks=1)
    learner.learn(leaks=1, places=[0])
    assert learner.state["leaks"].tolist() == [2, 0, 0]


def test_a_snapshot_with_longer_arrays_than_its_feedback_needs_is_not_used(tmp_path):
    with begun(tmp_path / "s.db", seen=1) as study:
        study.tell(study.ask(pressure=1).id, 3)
        study.ask(pressure=1)
        state, last = state_of(study), study.log()[-1]
        for ledger, is_believed in (
            (1 + 9 * state.feedback_count, True),
            (2 + 9 * state.feedback_count, False),
        ):
            state.policy_state = state.policy_state.with_facts({"ledger": ledger})
            found = read_snapshot(make_snapshot(state), last, [Plumber])
            assert (found is not None) == is_believed
