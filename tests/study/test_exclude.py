"""Decisions without some arms are those that the policy would take had these been retired."""

import random

import pytest

from keyhole.delayed import DelayedUCB1
from keyhole.resource import RCUCB, HazardThompson, HazardUCB, Power
from keyhole.semibandit import CSBDT
from keyhole.stochastic import KLUCB, UCB1, BestArmStopping, ImprovedUCB, ThompsonSampling
from keyhole.stochastic import RoundRobin as Alternation
from keyhole.study import Study, StudyDoneError, backup
from keyhole.threshold import KaplanMeierThompson, KaplanMeierUCB, SurvivalThompson
from keyhole.thresholding import (
    APT,
    LSA,
    LUCBG,
    FalseDiscoveryStopping,
    FamilywiseStopping,
    HDoC,
    KnownGaps,
    OptKG,
    PerArmStopping,
    PooledKG,
    RoundRobin,
)
from tests.study.studies import Clock, check_rebuilt_states_agree, labels, state_of
from tests.study.test_state import COSTS, SAMPLES, at_some_threshold, of_nothing, ran, sampled

pytestmark = pytest.mark.interpreted

ARMS = ("a", "b", "c", "d", "e")
LIMITS = {"limits": [0.3, 0.6, 1.0], **COSTS}


def rewarded(rng, decision):
    return {"reward": float(rng.random() < 0.2 + 0.15 * ARMS.index(decision.arm))}


def made(path, policy, facts, **given):
    given.setdefault("durability", "process_crash")
    return Study.create(path, "s", policy, ARMS, seed=3, **given, **facts)


def work(study, rng, context, feedback, decisions=25):
    """Ask and tell, so that some decisions are pending; exclude an arm now and then."""
    waiting = []
    for number in range(decisions):
        excluded = rng.sample(ARMS, 2) if number % 4 == 3 else None
        waiting.append(study.ask(exclude=excluded, **context(rng)))
        assert waiting[-1].arm not in (excluded or ())
        while len(waiting) > 3 or (waiting and study.definition.pending == "wait"):
            decision = waiting.pop(rng.randrange(len(waiting)))
            study.tell(decision, **feedback(rng, decision))


def stream_after(study):
    """Return the policy's random stream after the last decision."""
    state, last = state_of(study), study.log()[-1]
    return state.decisions.stream_of_event(last.body)


@pytest.mark.parametrize(
    ("policy", "facts", "pending", "context", "feedback"),
    [
        (LSA(), {"threshold": 0.5}, "impute", of_nothing, rewarded),
        (LSA(), {"threshold": 0.5}, "ignore", of_nothing, rewarded),
        (APT(epsilon=0.1), {"threshold": 0.5}, "wait", of_nothing, rewarded),
        (PerArmStopping(), {"threshold": 0.5}, "impute", of_nothing, rewarded),
        (UCB1(), {}, "impute", of_nothing, rewarded),
        (KLUCB(), {}, "ignore", of_nothing, rewarded),
        (ThompsonSampling(), {}, "ignore", of_nothing, rewarded),
        (ThompsonSampling(), {}, "impute", of_nothing, rewarded),
        (RCUCB(), LIMITS, "impute", of_nothing, ran),
        (HazardUCB(), LIMITS, "impute", of_nothing, ran),
        (HazardThompson(), LIMITS, "ignore", of_nothing, ran),
    ],
    ids=lambda value: value if isinstance(value, str) else type(value).__name__,
)
def test_an_excluded_arm_is_as_one_that_has_just_been_retired(
    tmp_path, policy, facts, pending, context, feedback
):
    rng, clock = random.Random(5), Clock()
    with made(tmp_path / "s.db", policy, facts, pending=pending, clock=clock) as study:
        for number in range(6):
            work(study, rng, context, feedback, 5)
            excluded, words = rng.sample(ARMS, number % 4 + 1), context(rng)
            backup(tmp_path / "s.db", tmp_path / f"{number}.db")
            arrays = state_of(study).arrays_to_save()[16:]
            decision = study.ask(exclude=excluded, **words)
            stream = stream_after(study)
            with Study.open(tmp_path / f"{number}.db", "s", clock=clock) as other:
                for name in excluded:
                    other.retire(name)
                expected = other.ask(**words)
                assert decision.words == expected.words
                assert stream == stream_after(other)
            assert study.arms == ARMS
            if pending != "impute":  # a decision of all arms may write into the state
                assert state_of(study).arrays_to_save()[16:] == arrays
            study.tell(decision, **feedback(rng, decision))
            check_rebuilt_states_agree(study, words)


@pytest.mark.parametrize(
    ("policy", "facts", "context", "feedback"),
    [
        *[
            (policy, {"threshold": 0.5}, of_nothing, rewarded)
            for policy in (
                OptKG(), PooledKG(), HDoC(), LUCBG(), FamilywiseStopping(),
                FalseDiscoveryStopping(),
            )
        ],
        (Alternation(), {}, of_nothing, rewarded),
        (BestArmStopping(), {}, of_nothing, rewarded),
        (KaplanMeierUCB(), SAMPLES, at_some_threshold, sampled),
        (KaplanMeierThompson(), SAMPLES, at_some_threshold, sampled),
        (SurvivalThompson(), SAMPLES, at_some_threshold, sampled),
    ],
    ids=lambda value: type(value).__name__,
)  # fmt: skip
def test_a_policy_whose_arms_cannot_change_may_leave_some_out(
    tmp_path, policy, facts, context, feedback
):
    rng = random.Random(6)
    with made(tmp_path / "s.db", policy, facts, clock=Clock()) as study:
        work(study, rng, context, feedback)
        for arm in ARMS:
            others = [name for name in ARMS if name != arm]
            if arm not in study.settled:
                assert study.ask(exclude=others, **context(rng)).arm == arm
        check_rebuilt_states_agree(study, context(rng))


@pytest.mark.parametrize(
    ("policy", "facts", "message"),
    [
        (ImprovedUCB(), {"horizon": 100}, r"^exclude must be empty: Impr.* \(off_policy\)$"),
        (
            RoundRobin(),
            {"threshold": 0.5},
            "^exclude must be empty: Round.*: `select` writes `turn`",
        ),
        (DelayedUCB1(), {"horizon": 100, "feedback": "named"}, r"^exclude must be empty: Delayed"),
        (CSBDT(), {"resource": 1.0}, "^exclude must be empty: what CSBDT.* is about all arms$"),
        (
            KnownGaps(),
            {"threshold": 0.5, "gaps": [0.1] * 5},
            "^exclude must be empty: what KnownGaps.* knows in advance, is about all arms$",
        ),
    ],
    ids=lambda value: type(value).__name__,
)
def test_a_policy_that_cannot_leave_arms_out_is_refused_by_name(tmp_path, policy, facts, message):
    with made(tmp_path / "s.db", policy, facts) as study:
        with pytest.raises(TypeError, match=message):
            study.ask(exclude=["a"])
        study.ask(exclude=[])
        assert len(study.log()) == 1


@pytest.mark.parametrize(
    ("exclude", "error", "message"),
    [
        (["a", "x"], ValueError, r"^an arm of exclude must be one of a, b, d, e; got 'x'"),
        ([1], ValueError, r"^an arm of exclude must be one of a, b, d, e; got 1"),
        (["a", "b", "d", "e"], StudyDoneError, "^exclude must leave an arm that is not settled"),
        ("a", TypeError, "^exclude must be a sequence of names, got 'a'$"),
        ({"a": 1}, TypeError, r"^exclude must be a sequence of names, got {'a': 1}$"),
    ],
)
def test_what_cannot_be_excluded_is_refused(tmp_path, exclude, error, message):
    with made(tmp_path / "s.db", UCB1(), {}) as study:
        study.retire("c")
        with pytest.raises(error, match=message):
            study.ask(exclude=exclude)
        assert len(study.log()) == 1
        assert study.ask(exclude=["a", "b", "c", "d", "b"]).arm == "e"  # c has been retired
        assert study.ask(exclude={"a", "b", "e"}).arm == "d"


def test_a_decision_to_ask_again_goes_to_whoever_does_not_exclude_it(tmp_path):
    clock = Clock()
    given = {"timeout": 10, "on_timeout": "ask_again", "clock": clock}
    with labels(tmp_path / "s.db", **given) as study:
        first, second = study.ask(), study.ask()
        clock.now += 11
        assert study.ask(exclude=[first.arm]).id == second.id
        assert study.to_ask_again == [first.id]
        assert study.ask(exclude=[first.arm]).arm not in (first.arm, second.arm)
        assert study.ask().id == first.id
        check_rebuilt_states_agree(study)


def test_whoever_excludes_all_arms_that_are_not_settled_is_done_alone(tmp_path):
    with labels(tmp_path / "s.db", policy=PerArmStopping()) as study:
        while set(study.settled) < {"a", "b"}:
            decision = study.ask(exclude=["c"])
            study.tell(decision, decision.arm == "a")
        with pytest.raises(StudyDoneError, match=r"^exclude must leave an arm that is not settled"):
            study.ask(exclude=["c"])
        assert not study.is_done
        assert study.ask(exclude=["a"]).arm == "c"


def test_the_decision_of_a_key_is_not_one_that_is_excluded(tmp_path):
    with labels(tmp_path / "s.db") as study:
        first = study.ask(key="k", exclude=["a"])
        assert study.ask(key="k", exclude=["a"]) == first
        with pytest.raises(ValueError, match=r"^key must be new: the decision of 'k' is about an"):
            study.ask(key="k", exclude=[first.arm])
        assert len(study.log()) == 1


def test_history_and_exports_have_the_excluded_arms(tmp_path):
    with labels(tmp_path / "s.db") as study:
        for excluded in (["c", "a"], ["b"], None):
            study.tell(study.ask(exclude=excluded), 1)
        study.retire("b")
        study.ask(exclude=["c"])
        asked = [row for row in study.history().to_pylist() if row["event"] == "asked"]
        assert [row["excluded"] for row in asked] == [["a", "c"], ["b"], None, ["c"]]
        study.export(tmp_path / "log.jsonl")
        with Study.restore(tmp_path / "t.db", tmp_path / "log.jsonl") as other:
            assert other.log() == study.log()
        replay = study.replay(LSA())  # under the same exclusions
        assert replay.agreed == replay.asked == 4


def twice(path, labellers, decisions, *, excludes):
    """Return how many times a labeller is given a picture again."""
    pictures = [f"picture {number}" for number in range(100)]
    rng, repeats = random.Random(7), 0
    with labels(path, arms=pictures) as study:
        given = [[] for _ in range(labellers)]
        for number in range(decisions):
            had = given[number % labellers]
            decision = study.ask(exclude=had if excludes else None)
            repeats += decision.arm in had
            had.append(decision.arm)
            study.tell(decision, rng.random() < 0.2 + 0.6 * (pictures.index(decision.arm) % 2))
    return repeats


@pytest.mark.slow
def test_no_labeller_is_given_a_picture_twice(tmp_path):
    assert twice(tmp_path / "with.db", 20, 1500, excludes=True) == 0
    assert twice(tmp_path / "without.db", 20, 1500, excludes=False) > 100


def test_an_arm_that_nobody_has_run_stays_the_next_one_when_others_are_retired(tmp_path):
    facts = {"limits": [1.0], "cost": Power(), "penalty": Power()}
    with made(tmp_path / "s.db", RCUCB(), facts, pending="ignore") as study:
        for _ in range(3):
            study.tell(study.ask(), reward=0.5, consumption=0.5)
        study.retire("a")
        study.retire("b")
        assert study.ask().arm == "d"
        assert study.ask(exclude=["c", "d"]).arm == "e"


def test_a_study_goes_on_when_the_arm_pulled_last_is_retired(tmp_path):
    with made(tmp_path / "s.db", KLUCB(), {}) as study:
        for _ in range(20):
            decision = study.ask()
            study.tell(decision, decision.arm == "e")
        assert decision.arm == "e"
        for arm in "abc":
            study.retire(arm)
        assert study.ask().arm == "e"
        assert study.ask(exclude=["e"]).arm == "d"
