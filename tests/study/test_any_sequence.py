"""After any sequence of operations a study does what a plain model of it does."""

import os
import uuid

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    precondition,
    rule,
    run_state_machine_as_test,
)

from keyhole.study import DifferentFeedbackError, PendingDecisionError, Study
from keyhole.thresholding import APT, LSA
from tests.reference.thresholding import APT as SlowAPT
from tests.reference.thresholding import LSA as SlowLSA
from tests.study.studies import Clock, check_rebuilt_states_agree, labels, state_of

POLICIES = {
    LSA(): SlowLSA(0.5, 1.35),
    LSA(alpha=0.5): SlowLSA(0.5, 0.5),
    APT(epsilon=0.1): SlowAPT(0.5, 0.1),
}
SEQUENCES = "KEYHOLE_TEST_SEQUENCES"
"""How many of them the slow test tries on each database, if not its own numbers."""
REWARDS = st.sampled_from([0, 1, True, 0.25, 0.1])


class Model:
    """A study as one would write it on a napkin."""

    def __init__(self, after, seconds, decisions, pending):
        self.after, self.seconds, self.decisions, self.pending = after, seconds, decisions, pending
        self.policy = LSA()
        self.arms = ["a", "b", "c"]
        self.tally = {arm: (0.0, 0.0) for arm in self.arms}
        self.asked, self.open, self.returned, self.told, self.keys = {}, {}, [], {}, {}
        self.expired, self.rounds = set(), 0
        self.learnt = []  # decisions and rewards, and whether these were assumed

    def learn(self, id, reward, *, is_assumed=False):
        self.learnt.append((id, reward, is_assumed))
        pulls, total = self.tally[self.asked[id]]
        self.tally[self.asked[id]] = (pulls + 1.0, total + float(reward))

    def correct(self, id, reward):
        self.told[id] = float(reward)
        learnt, self.learnt = self.learnt, []
        self.tally = dict.fromkeys(self.tally, (0.0, 0.0))
        for other, told, is_assumed in learnt:
            is_corrected = other == id and not is_assumed
            self.learn(other, reward if is_corrected else told, is_assumed=is_assumed)

    def expire(self, id):
        if self.after == "ask_again" and self.asked[id] in self.arms:
            if id not in self.returned:
                self.returned.append(id)
            return
        del self.open[id]
        self.expired.add(id)
        if self.after == "no_reward":
            self.learn(id, 0, is_assumed=True)

    def expire_all(self, now):
        for id, (at, since) in list(self.open.items()):
            if id in self.returned:
                continue
            late = self.seconds is not None and now - at > self.seconds
            many = self.decisions is not None and self.rounds - since >= self.decisions
            if late or many:
                self.expire(id)
            elif at <= now:
                break

    def retire(self, arm):
        self.arms.remove(arm)
        for id in [id for id in self.returned if self.asked[id] == arm]:
            self.returned.remove(id)
            del self.open[id]

    def choose(self, excluded):
        """Return the arm that the policy pulls, after imputing feedback on a copy."""
        copy = dict(self.tally)
        for id in self.open if self.pending == "impute" else ():
            arm = self.asked[id]
            if arm in self.arms:
                pulls, total = copy[arm]
                copy[arm] = (pulls + 1.0, total + (total / pulls if pulls else 0.5))
        arms = [arm for arm in self.arms if arm not in excluded]
        pulls, totals = zip(*(copy[arm] for arm in arms), strict=True)
        return arms[POLICIES[self.policy].choose(list(pulls), list(totals))]

    def ask(self, now, excluded):
        """Return the arm, and the id if it is one that was handed out before."""
        self.expire_all(now)
        for id in [id for id in self.returned if self.asked[id] not in excluded][:1]:
            self.returned.remove(id)
            del self.open[id]
            self.open[id] = (now, self.rounds)
            return self.asked[id], id
        if self.pending == "wait" and self.open:
            return None, None
        return self.choose(excluded), None

    def hand_out(self, id, arm, now):
        self.rounds += 1
        self.asked[id], self.open[id] = arm, (now, self.rounds)

    def tell(self, id, reward, now):
        """Return whether it is believed."""
        if self.after == "no_reward":
            self.expire_all(now)
        if id in self.told:
            return self.told[id] == float(reward)
        self.told[id] = float(reward)
        if id in self.open:
            del self.open[id]
            self.returned = [other for other in self.returned if other != id]
            self.learn(id, reward)
        elif self.after != "no_reward":
            self.learn(id, reward)
        return True


class Sequences(RuleBasedStateMachine):
    """Two studies of one database, and the model of both."""

    def __init__(self, address):
        super().__init__()
        self.address, self.clock, self.name = address, Clock(1e6), uuid.uuid4().hex
        self.studies = []

    @initialize(
        after=st.sampled_from(["forget", "ask_again", "no_reward"]),
        seconds=st.sampled_from([None, 10.0]),
        decisions=st.sampled_from([None, 1, 3]),
        pending=st.sampled_from(["impute", "impute", "ignore", "wait"]),
    )
    def begin(self, after, seconds, decisions, pending):
        self.model = Model(after, seconds, decisions, pending)
        first = labels(
            self.address, self.name, pending=pending, timeout=seconds,
            timeout_decisions=decisions, on_timeout=after, clock=self.clock,
        )  # fmt: skip
        self.studies = [first, self.opened()]

    def opened(self):
        given = {} if self.address.startswith("postgresql") else {"durability": "process_crash"}
        return Study.open(self.address, self.name, clock=self.clock, **given)

    @rule(
        which=st.booleans(),
        key=st.sampled_from([None, None, "k", "l"]),
        places=st.lists(st.integers(0, 99), max_size=3),
    )
    def ask(self, which, key, places):
        study, now = self.studies[which], self.clock.now
        if key in self.model.keys:
            assert study.ask(key=key).id == self.model.keys[key]
            return
        excluded = {self.one_of(self.model.arms[1:] or "-", place) for place in places} - {"-"}
        arm, again = self.model.ask(now, excluded)
        if arm is None:
            with pytest.raises(PendingDecisionError):
                study.ask(key=key, exclude=list(excluded))
            return
        decision = study.ask(key=key, exclude=list(excluded))
        assert decision.arm == arm
        if again is None:
            assert decision.id not in self.model.asked
            self.model.hand_out(decision.id, arm, now)
        else:
            assert decision.id == again
        assert decision.round == 1 + list(self.model.asked).index(decision.id)
        if key:
            self.model.keys[key] = decision.id

    def one_of(self, ids, place):
        return list(ids)[place % len(ids)]

    @precondition(lambda self: self.model.open)
    @rule(which=st.booleans(), place=st.integers(0, 99), reward=REWARDS)
    def tell_what_is_open(self, which, place, reward):
        id = self.one_of(self.model.open, place)
        self.studies[which].tell(id, reward)
        assert self.model.tell(id, reward, self.clock.now)

    @precondition(lambda self: self.model.asked)
    @rule(which=st.booleans(), place=st.integers(0, 99), reward=REWARDS)
    def tell_anything(self, which, place, reward):
        id = self.one_of(self.model.asked, place)
        if self.model.tell(id, reward, self.clock.now):
            self.studies[which].tell(id, reward)
        else:
            with pytest.raises(DifferentFeedbackError):
                self.studies[which].tell(id, reward)

    @precondition(lambda self: self.model.told)
    @rule(which=st.booleans(), place=st.integers(0, 99), reward=REWARDS)
    def correct(self, which, place, reward):
        id = self.one_of(self.model.told, place)
        self.studies[which].correct(id, reward)
        self.model.correct(id, reward)

    @precondition(lambda self: self.model.asked)
    @rule(which=st.booleans(), place=st.integers(0, 99))
    def tell_nonsense(self, which, place):
        id = self.one_of(self.model.asked, place)
        with pytest.raises(ValueError, match="reward must lie in"):
            self.studies[which].tell(id, 7)
        if self.model.after == "no_reward":
            self.model.expire_all(self.clock.now)

    @precondition(lambda self: self.model.asked)
    @rule(which=st.booleans(), place=st.integers(0, 99))
    def expire(self, which, place):
        id = self.one_of(self.model.asked, place)
        if id in self.model.open:
            self.studies[which].expire(id)
            self.model.expire(id)
        else:
            with pytest.raises(ValueError, match="is settled"):
                self.studies[which].expire(id)

    @rule(seconds=st.sampled_from([0.5, 4.0, 11.0, -3.0, -100.0]))
    def let_time_pass(self, seconds):
        self.clock.now += seconds

    @rule(which=st.booleans())
    def add_an_arm(self, which):
        name = f"arm {len(self.model.tally)}"
        self.studies[which].add_arm(name)
        self.model.arms.append(name)
        self.model.tally[name] = (0.0, 0.0)

    @precondition(lambda self: len(self.model.arms) > 1)
    @rule(which=st.booleans(), place=st.integers(0, 99))
    def retire_an_arm(self, which, place):
        name = self.one_of(self.model.arms, place)
        self.studies[which].retire(name)
        self.model.retire(name)

    @precondition(lambda self: self.model.pending == "impute")
    @rule(which=st.booleans(), policy=st.sampled_from(list(POLICIES)))
    def change_the_policy(self, which, policy):
        self.studies[which].change_policy(policy)
        self.model.policy = policy

    @rule(which=st.booleans(), closed=st.booleans())
    def open_again(self, which, closed):
        if not closed:  # so that no snapshot is kept
            self.studies[which]._writer._state = None
        self.studies[which].close()
        self.studies[which] = self.opened()

    @rule(which=st.booleans())
    def look(self, which):
        labelled = self.studies[which].recommend()
        assert list(labelled) == self.model.arms
        assert self.studies[which].arms == tuple(self.model.arms)

    @rule(which=st.booleans())
    def check(self, which):
        study = self.studies[which]
        assert [d.id for d in study.pending] == list(self.model.open)
        state = state_of(study)
        state.arrays_to_save()
        tallies = [self.model.tally[arm] for arm in self.model.arms]
        both = zip(
            state.policy_state.state["pulls"], state.policy_state.state["totals"], strict=True
        )
        assert [tuple(pair) for pair in both] == tallies
        check_rebuilt_states_agree(study)

    def teardown(self):
        if len(self.studies) == 2:
            self.check(False)
            self.check(True)
        for study in self.studies:
            study.close()


def play(address, examples):
    run_state_machine_as_test(
        lambda: Sequences(address),
        settings=settings(
            max_examples=examples,
            stateful_step_count=30,
            deadline=None,
            derandomize=examples < 100,
            suppress_health_check=list(HealthCheck),
        ),
    )


@pytest.mark.parametrize(
    ("address", "examples"), [("sqlite", 8), ("postgres", 2)], indirect=["address"]
)
def test_a_study_does_what_a_plain_model_does(address, examples):
    play(address, examples)


@pytest.mark.slow
@pytest.mark.parametrize(
    # The server's tables and statements are the same: few sequences show that they are.
    ("address", "examples"),
    [("sqlite", 200), ("postgres", 30)],
    indirect=["address"],
)
def test_a_study_does_what_a_plain_model_does_however_long_one_tries(address, examples):
    play(address, int(os.environ.get(SEQUENCES, examples)))
