"""The state is that of the log; with one decision at a time it is a learner's."""

import random

import pytest

from keyhole.delayed import ODAAF, QPMD, DelayedUCB1
from keyhole.resource import RCUCB, HazardThompson, HazardUCB, Power
from keyhole.semibandit import CSBDT, CSBST
from keyhole.stochastic import KLUCB, UCB1, ThompsonSampling
from keyhole.study import Study
from keyhole.threshold import KaplanMeierThompson, KaplanMeierUCB
from keyhole.thresholding import APT, LSA
from tests.lengths import short_or_long
from tests.study.studies import (
    ARMS,
    Clock,
    apply_log,
    check_rebuilt_states_agree,
    fingerprint,
    state_of,
)

pytestmark = pytest.mark.interpreted

COSTS = {"cost": Power(slope=0.1), "penalty": Power(slope=0.2)}
DELAYED = {"horizon": 1000, "feedback": "anonymous"}


def flipped(rng, decision, *_):
    return {"reward": float(rng.random() < 0.3 + 0.2 * ARMS.index(decision.arm))}


def sampled(rng, decision):
    value = rng.randrange(4)
    return {"censored": True} if value >= decision.threshold else {"value": value}


def lost(rng, decision):
    return {"losses": [arm for arm in ARMS if rng.random() > decision.allocation[arm]]}


def ran(rng, decision):
    used = rng.random()
    if used > decision.limit:
        return {"exceeded": True}
    return {"reward": rng.random(), "consumption": used}


def at_some_threshold(rng):
    return {"threshold": rng.randint(1, 3)}


def of_nothing(rng):
    return {}


SAMPLES = {"levels": 3, "feedback": "censored", "horizon": 1000}
SETTINGS = [
    (LSA(), {"threshold": 0.5}, of_nothing, flipped),
    (APT(epsilon=0.1), {"threshold": 0.5}, of_nothing, flipped),
    (UCB1(), {}, of_nothing, flipped),
    (KLUCB(), {}, of_nothing, flipped),
    (ThompsonSampling(), {}, of_nothing, flipped),
    (KaplanMeierUCB(), SAMPLES, at_some_threshold, sampled),
    (KaplanMeierThompson(), SAMPLES, at_some_threshold, sampled),
    (CSBDT(), {"resource": 2.0}, of_nothing, lost),
    (CSBST(), {"resource": 2.0}, of_nothing, lost),
    (RCUCB(), {"limits": [0.3, 0.6, 1.0], **COSTS}, of_nothing, ran),
    (HazardUCB(), {"limits": [0.3, 0.6, 1.0], **COSTS}, of_nothing, ran),
    (HazardThompson(), {"limits": [0.3, 0.6, 1.0], **COSTS}, of_nothing, ran),
]


def begun(path, policy, facts, **given):
    return Study.create(
        path, "s", policy, ARMS, durability="process_crash", seed=7, **given, **facts
    )


def for_learner(told):
    """Return feedback as learners take it."""
    if "losses" in told:
        return {"losses": [arm in told["losses"] for arm in ARMS]}
    return told


@pytest.mark.parametrize(
    ("policy", "facts", "asked", "told"), SETTINGS, ids=lambda x: type(x).__name__
)
def test_one_at_a_time_the_decisions_are_a_learners(tmp_path, policy, facts, asked, told):
    rng = random.Random(3)
    learner = policy.learner(arms=len(ARMS), seed=7, **facts)
    with begun(tmp_path / "s.db", policy, facts, clock=Clock()) as study:
        for _ in range(short_or_long(30, 60)):
            context = asked(rng)
            decision = study.ask(**context)
            same_decision(decision, learner.ask(**context))
            feedback = told(rng, decision)
            study.tell(decision.id, **feedback)
            learner.tell(**for_learner(feedback))
            if rng.random() < 0.1:
                study.recommend()
        state = state_of(study)
        state.arrays_to_save()
        learnt_state = learner._make_saved_learner().arrays["state"]
        for name, learnt in learnt_state.items():  # what is not scratch
            assert state.policy_state.state[name].tolist() == learnt.tolist(), name
        check_rebuilt_states_agree(study, asked(rng))


def same_decision(decision, taken):
    if "allocation" in decision.words:
        assert list(decision.allocation.values()) == taken.tolist()
    elif "limit" in decision.words:
        assert (ARMS.index(decision.arm), decision.limit) == taken
    else:
        assert ARMS.index(decision.arm) == taken


@pytest.mark.parametrize("policy", [QPMD(), DelayedUCB1()], ids=lambda x: type(x).__name__)
def test_named_late_feedback_is_learnt_as_by_a_learner(tmp_path, policy):
    rng = random.Random(3)
    learner = policy.learner(arms=len(ARMS), seed=7, feedback="named", horizon=1000)
    with begun(tmp_path / "s.db", policy, {"feedback": "named", "horizon": 1000}) as study:
        waiting = []
        for _ in range(short_or_long(70, 150)):
            waiting.append(study.ask())
            assert ARMS.index(waiting[-1].arm) == learner.ask()
            arrived = [one for one in waiting if rng.random() < 0.2]
            waiting = [one for one in waiting if one not in arrived]
            rewards = [float(rng.random() < 0.5) for _ in arrived]
            for one, reward in zip(arrived, rewards, strict=True):
                study.tell(one.id, reward)
            learner.tell([(ARMS.index(a.arm), r) for a, r in zip(arrived, rewards, strict=True)])
            if rng.random() < 0.08:  # go on from a snapshot
                study.close()
                study = Study.open(tmp_path / "s.db", "s")
        check_rebuilt_states_agree(study)
        study.close()


def test_sums_are_learnt_as_by_a_learner(tmp_path):
    rng, policy = random.Random(3), ODAAF(expected_delay=2)
    learner = policy.learner(arms=len(ARMS), seed=7, **DELAYED)
    with begun(tmp_path / "s.db", policy, DELAYED) as study:
        for _ in range(100):
            assert ARMS.index(study.ask().arm) == learner.ask()
            total = float(rng.random() < 0.5)
            learner.tell(total)
            study.tell_sum(total)
        check_rebuilt_states_agree(study)


@pytest.mark.parametrize(
    ("policy", "pending"),
    [
        (LSA(), "impute"),
        (LSA(), "ignore"),
        (KLUCB(), "impute"),
        (ThompsonSampling(), "ignore"),
        pytest.param(UCB1(), "impute", marks=pytest.mark.slow),
        pytest.param(ThompsonSampling(), "impute", marks=pytest.mark.slow),
    ],
    ids=lambda x: x if isinstance(x, str) else type(x).__name__,
)
def test_with_decisions_in_flight_the_state_is_the_log(tmp_path, policy, pending):
    rng = random.Random(4)
    facts = {"threshold": 0.5} if isinstance(policy, LSA) else {}
    clock, steps = Clock(), short_or_long(42, 120)
    with begun(tmp_path / "s.db", policy, facts, pending=pending, clock=clock) as study:
        arms, waiting = [*ARMS], []
        for i in range(steps):
            clock.now += rng.random()
            if waiting and rng.random() < 0.5:
                one = waiting.pop(rng.randrange(len(waiting)))
                study.tell(one.id, rng.random())  # between 0 and 1: learning may draw
            else:
                waiting.append(study.ask())
            if i == steps // 3:
                study.add_arm("d")
                arms.append("d")
            if i == steps // 2:
                study.retire("b")
            if i % 10 == 9:
                check_rebuilt_states_agree(study)
        assert "d" in study.arms
        assert "b" not in study.arms


@pytest.mark.parametrize("second", [0.0, 1.0, 0.5])
def test_open_decisions_are_as_old_as_their_seconds_consume(tmp_path, second):
    clock, facts = Clock(1e9), {"limits": [0.3, 0.6, 1.0], **COSTS}
    with begun(tmp_path / "s.db", HazardUCB(), facts, time_unit=second, clock=clock) as study:
        for _ in range(3):
            study.ask()
            clock.now += 2.0
        state = state_of(study)
        rows = state.decisions.kernel_rows(
            state.pending.values(), clock.now, state.definition.time_unit
        )
        assert rows[:, 1].tolist() == [6.0 * second, 4.0 * second, 2.0 * second]


@pytest.mark.parametrize(
    "policy", [HazardUCB(), HazardThompson(), RCUCB(alpha=0.1)], ids=lambda x: type(x).__name__
)
def test_without_seconds_open_decisions_have_not_exceeded_their_limits(tmp_path, policy):
    rng, clock, facts = random.Random(5), Clock(1e9), {"limits": [0.3, 0.6, 1.0], **COSTS}
    unaged = begun(tmp_path / "s.db", policy, facts, clock=clock)
    newborn = begun(tmp_path / "other.db", policy, facts, time_unit=1.0, clock=Clock())
    waiting = []
    for i in range(short_or_long(30, 60)):
        clock.now += rng.expovariate(0.1)
        one, other = unaged.ask(), newborn.ask()
        assert (one.arm, one.limit) == (other.arm, other.limit)
        waiting.append((one, other))
        if len(waiting) > i % 8:
            one, other = waiting.pop(rng.randrange(len(waiting)))
            told = ran(rng, one)
            unaged.tell(one.id, **told)
            newborn.tell(other.id, **told)
        if i % 15 == 14:
            check_rebuilt_states_agree(unaged)
            unaged.close()
            unaged = Study.open(tmp_path / "s.db", "s", clock=clock)
    unaged.close()
    newborn.close()


def test_a_snapshot_knows_how_many_rewards_are_held(tmp_path):
    # Otherwise the queues would be written beyond their end.
    with begun(tmp_path / "s.db", QPMD(), {"feedback": "named"}) as study:
        waiting = [study.ask() for _ in range(400)]
        for one in waiting[:200]:
            study.tell(one.id, 1)
        study.ask()
    with Study.open(tmp_path / "s.db", "s") as study:
        for one in waiting[200:]:
            study.tell(one.id, 0)
        study.ask()
        check_rebuilt_states_agree(study)


def test_a_long_log_is_learnt_in_pieces(tmp_path, monkeypatch):
    monkeypatch.setattr("keyhole.study.state.MAX_BATCH_SIZE", 3)
    with begun(tmp_path / "s.db", LSA(), {"threshold": 0.5}) as study:
        waiting = [study.ask() for _ in range(20)]
        for one in waiting:
            study.tell(one.id, 1)
        piecewise = fingerprint(apply_log(study.definition, study.log(), ()))
        monkeypatch.setattr("keyhole.study.state.MAX_BATCH_SIZE", 1000)
        assert fingerprint(apply_log(study.definition, study.log(), ())) == piecewise
        assert fingerprint(state_of(study)) == piecewise


def test_a_gap_in_a_log_is_an_error(tmp_path):
    with begun(tmp_path / "s.db", LSA(), {"threshold": 0.5}) as study:
        study.ask()
        study.ask()
        log = study.log()
        with pytest.raises(ValueError, match="the log has a gap: event 2 follows 0"):
            apply_log(study.definition, log[1:], ())
