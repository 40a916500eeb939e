"""The public interface of studies, and what it refuses."""

import copy
import os
import pickle
import random
import uuid
from datetime import UTC, datetime, timedelta

import numpy as np
import pyarrow as pa
import pytest

from keyhole.delayed import ODAAF, QPMD
from keyhole.resource import RCUCB, Power
from keyhole.semibandit import CSBDT
from keyhole.stochastic import UCB1, ImprovedUCB
from keyhole.study import (
    Decision,
    DifferentFeedbackError,
    PendingDecisionError,
    Study,
    UnknownArmError,
    UnknownDecisionError,
    list_studies,
)
from keyhole.study.storage import open_store
from keyhole.threshold import KaplanMeierUCB
from keyhole.thresholding import APT, LSA
from tests.study.studies import ARMS, Clock, check_rebuilt_states_agree, labels, state_of


@pytest.fixture
def path(tmp_path):
    return tmp_path / "studies.db"


@pytest.fixture
def study(path):
    with labels(path, clock=Clock()) as study:
        yield study


def refuses(study, call, error, match):
    """Check that a call is refused in one line, and that nothing has changed."""
    before = study.log()
    with pytest.raises(error, match=match) as caught:
        call()
    assert type(caught.value) is error
    assert "\n" not in str(caught.value)
    assert study.log() == before
    check_rebuilt_states_agree(study)


# Asking and telling.


def test_decisions_in_flight_differ(study):
    assert [study.ask().arm for _ in range(3)] == ["a", "b", "c"]


def test_feedback_comes_in_any_order(study):
    decisions = [study.ask() for _ in range(3)]
    for decision in reversed(decisions):
        study.tell(decision.id, decision.arm == "b")
    assert study.recommend() == {"a": False, "b": True, "c": False}
    assert study.pending == []


def test_both_databases_take_the_same_decisions(address):
    with labels(address) as study:
        for reward in (1, 0, 1, True, False, np.bool_(1), 0.5, np.float32(1)):
            decision = study.ask()
            study.tell(decision.id, reward)
        arms = [event["arm"] for event in study.history().to_pylist() if event["arm"]]
        assert arms == ["a", "b", "c", "a", "b", "c", "a", "a"]
        check_rebuilt_states_agree(study)


def test_a_decision_says_when_and_until_when(path):
    with labels(path, timeout=60, clock=Clock(1000.5)) as study:
        decision = study.ask()
    assert decision.at == datetime(1970, 1, 1, 0, 16, 40, 500_000, tzinfo=UTC)
    assert decision.until == decision.at + timedelta(seconds=60)
    assert decision.round == 1
    assert decision.as_json() == {
        "id": decision.id,
        "arm": "a",
        "round": 1,
        "at": "1970-01-01T00:16:40.500000+00:00",
        "until": "1970-01-01T00:17:40.500000+00:00",
    }


def test_a_decision_has_no_other_words(study):
    with pytest.raises(AttributeError, match="a decision has arm, id, round, at, until; not limit"):
        study.ask().limit  # noqa: B018


@pytest.mark.parametrize(
    "copied", [copy.copy, copy.deepcopy, lambda d: pickle.loads(pickle.dumps(d))]
)
def test_a_copy_of_a_decision_is_the_same(study, copied):
    decision = study.ask()
    other = copied(decision)
    assert other == decision
    assert {decision: 1}[other] == 1
    assert other.arm == decision.arm


def test_ids_are_in_the_order_of_time(path):
    clock = Clock()
    with labels(path, clock=clock) as study:
        ids = []
        for _ in range(5):
            ids.append(study.ask().id)
            clock.now += 0.002
    assert ids == sorted(ids)


def test_open_decisions_are_listed_as_they_were_handed_out(study):
    decisions = [study.ask() for _ in range(3)]
    study.tell(decisions[1].id, 1)
    assert study.pending == [decisions[0], decisions[2]]


def test_the_same_question_gets_the_same_answer(study):
    first = study.ask(key="k")
    assert study.ask(key="k") == first
    study.tell(first.id, 1)
    assert study.ask(key="k") == first
    assert study.ask(key="l") != first
    assert len(study.log()) == 3


def test_a_key_is_of_one_study(path, study):
    with labels(path, "other") as other:
        assert other.ask(key="k").id != study.ask(key="k").id


@pytest.mark.interpreted
def test_a_key_is_of_one_question(path):
    with Study.create(
        path, "k", KaplanMeierUCB(), ARMS, levels=3, feedback="censored", horizon=10
    ) as study:
        decision = study.ask(threshold=2, key="k")
        assert study.ask(threshold=2, key="k") == decision
        with pytest.raises(ValueError, match="key must be new for another context, got 'k'"):
            study.ask(threshold=3, key="k")


@pytest.mark.parametrize(
    ("key", "error"),
    [("", ValueError), ("a\nb", ValueError), ("\ud800", ValueError), (3, TypeError)],
)
def test_a_key_stands_on_one_line(study, key, error):
    refuses(study, lambda: study.ask(key=key), error, "key must")


def test_keys_and_names_fit_into_the_index_of_either_database(address):
    rng = random.Random(0)
    long = ["".join(chr(rng.randrange(0x20000, 0x2A6D0)) for _ in range(n)) for n in (500, 501)]
    with labels(address, long[0]) as study:
        first = study.ask(key=long[0])
        assert study.ask(key=long[0]) == first
        said = "key must have at most 500 characters, got 501"
        refuses(study, lambda: study.ask(key=long[1]), ValueError, said)
        assert study.ask().id != first.id
    with pytest.raises(ValueError, match="name must have at most 500 characters, got 501"):
        labels(address, long[1])


@pytest.mark.parametrize("scale", [None, (0, 5)])
def test_a_negative_zero_is_zero(path, scale):
    with Study.create(path, "zero", UCB1(), ARMS, **({"scale": scale} if scale else {})) as study:
        id = study.ask().id
        study.tell(id, -0.0)
        study.tell(id, 0.0)  # told twice
        assert str(study.history()["reward"].to_pylist()) == "[None, 0.0]"


def test_told_twice_is_told_once(study):
    decision = study.ask()
    study.tell(decision.id, 1)
    study.tell(decision.id, reward=True)
    assert len(study.log()) == 2


def test_told_otherwise_is_a_conflict(study):
    decision = study.ask()
    study.tell(decision.id, 1)
    refuses(
        study,
        lambda: study.tell(decision.id, 0),
        DifferentFeedbackError,
        rf"{decision.id} was told \{{'reward': 1.0\}} before, and cannot be told other feedback",
    )


@pytest.mark.parametrize("id", ["nope", "", 3, None, "0" * 26, "a" * 26, "\ud800" * 26, [], {}])
def test_an_id_that_was_never_handed_out_is_refused(study, id):
    study.ask()
    refuses(
        study,
        lambda: study.tell(id, 1),
        UnknownDecisionError,
        "id must be that of a decision of this",
    )
    refuses(
        study,
        lambda: study.expire(id),
        UnknownDecisionError,
        "id must be that of a decision of this",
    )


def test_an_id_of_another_study_is_refused(path, study):
    with labels(path, "other") as other:
        id = other.ask().id
    refuses(
        study,
        lambda: study.tell(id, 1),
        UnknownDecisionError,
        "id must be that of a decision of this",
    )


@pytest.mark.parametrize(
    ("reward", "error", "match"),
    [
        (1.5, ValueError, r"reward must lie in \[0, 1\], got 1.5"),
        (-0.1, ValueError, r"reward must lie in \[0, 1\], got -0.1"),
        (float("nan"), ValueError, "reward must lie in .*got nan"),
        ("1", TypeError, "reward must be a number, got '1'"),
        (None, TypeError, "reward must be a number, got None"),
        ([1], TypeError, r"reward must be a number, got \[1\]"),
    ],
)
def test_a_reward_that_is_none_is_refused(study, reward, error, match):
    decision = study.ask()
    refuses(study, lambda: study.tell(decision.id, reward), error, match)


def test_fields_that_the_setting_does_not_have_are_refused(study):
    id = study.ask().id
    for call in (
        lambda: study.tell(id),
        lambda: study.tell(id, rewrad=1),
        lambda: study.tell(id, 1, 2),
        lambda: study.tell(id, 1, reward=1),
    ):
        refuses(study, call, TypeError, "tell takes reward in this study[:;] ")
    refuses(
        study, lambda: study.ask(threshold=2), TypeError, "ask takes nothing in this study: got"
    )


def test_sums_are_for_feedback_without_names(study):
    refuses(
        study, lambda: study.tell_sum(1.0), TypeError, "tell_sum is for anonymous feedback; here"
    )


# Beginning and opening.


def begun(path, **given):
    """Begin a study that is to be refused."""
    return Study.create(
        path, given.pop("name", "s"), given.pop("policy", LSA()), given.pop("arms", ARMS),
        **({"threshold": 0.5} | given),
    )  # fmt: skip


@pytest.mark.parametrize(
    ("given", "error", "match"),
    [
        ({"name": ""}, ValueError, "name must not be empty"),
        ({"name": "a\n"}, ValueError, "name must have no control characters"),
        ({"policy": LSA}, TypeError, r"policy must be a policy such as LSA\(\), got"),
        ({"policy": "LSA"}, TypeError, "policy must be a policy"),
        ({"arms": "abc"}, TypeError, "arms must be a sequence of names, got 'abc'"),
        ({"arms": 3}, TypeError, "arms must be a sequence of names, got 3"),
        ({"arms": {"a", "b"}}, TypeError, "arms must be a sequence of names, got {'"),
        ({"arms": {"a": 1}}, TypeError, "arms must be a sequence of names, got {'a': 1}"),
        ({"arms": pa.table({"a": [1]})}, TypeError, "arms must be .* data frame .* columns a$"),
        ({"arms": []}, ValueError, "arms must have at least one entry, got none"),
        ({"arms": ["a", "a"]}, ValueError, "arms must differ, got 'a' twice"),
        ({"arms": ["a", 1]}, TypeError, r"arms\[1\] must be a text, got 1"),
        ({"arms": ["a", ""]}, ValueError, r"arms\[1\] must not be empty"),
        ({"threshold": 1.5}, ValueError, "threshold must"),
        ({"treshold": 0.5}, TypeError, "treshold"),
        ({"pending": "hope"}, ValueError, "pending must be one of impute, ignore, wait"),
        ({"timeout": 0}, ValueError, "timeout must"),
        ({"timeout": float("inf")}, ValueError, "timeout must"),
        ({"timeout": 1e300}, ValueError, "timeout must"),
        ({"timeout": "long"}, ValueError, "timeout must be like 90s, 30m, 2h or 1d12h, got 'long'"),
        ({"timeout": timedelta(0)}, ValueError, "timeout must"),
        ({"timeout_decisions": 0}, ValueError, "timeout_decisions must be at least 1, got 0"),
        ({"timeout_decisions": 1.5}, TypeError, "timeout_decisions must be a whole number"),
        (
            {"on_timeout": "hope"},
            ValueError,
            "on_timeout must be one of forget, ask_again, no_reward",
        ),
        ({"seed": -1}, ValueError, "seed must"),
        ({"seed": 2**63}, ValueError, "seed must"),
        ({"time_unit": -1}, ValueError, "time_unit must be at least 0, got -1"),
        ({"durability": "fire"}, ValueError, "durability must be one of power_loss, process_crash"),
        ({"clock": lambda: float("nan")}, ValueError, "clock must return the seconds since 1970"),
        ({"clock": lambda: -1.0}, ValueError, "clock must return the seconds since 1970"),
    ],
)
def test_a_study_that_cannot_be_is_not_begun(path, given, error, match):
    labels(path, "there").close()
    with pytest.raises(error, match=match):
        begun(path, **given)
    store = open_store(path)
    assert [name for name, _ in store.studies()] == ["there"]
    store.close()


@pytest.mark.parametrize("storage", [3, None, b"x"])
def test_a_storage_is_a_path_or_an_address(storage):
    with pytest.raises(TypeError, match="storage must be a path or an address"):
        begun(storage)
    with pytest.raises(TypeError, match="storage must be a path or an address"):
        Study.open(storage, "s")


def test_a_policy_that_cannot_impute_is_not_made_to(path):
    with pytest.raises(ValueError, match=r"pending must be 'wait' for ImprovedUCB.*got 'impute'"):
        Study.create(path, "s", ImprovedUCB(), ARMS, horizon=10, pending="impute")


def test_to_open_what_is_not_there_makes_nothing(path):
    with pytest.raises(ValueError, match=r"storage must be an existing file, got '.*studies.db'"):
        Study.open(path, "labels")
    assert os.listdir(path.parent) == []


def test_an_unknown_study_is_refused_with_the_nearest(path, study):
    with pytest.raises(ValueError, match="did you mean 'labels'"):
        Study.open(path, "lables")


@pytest.mark.parametrize("name", ["a", "b", "c"])
def test_feedback_of_a_retired_arm_teaches_nothing_wherever_the_arm_stood(path, name):
    with labels(path) as study:
        open_ = {decision.arm: decision.id for decision in (study.ask(), study.ask(), study.ask())}
        study.retire(name)
        before = state_of(study).arrays_to_save()
        study.tell(open_[name], 1)
        assert state_of(study).arrays_to_save() == before
        check_rebuilt_states_agree(study)


@pytest.mark.interpreted
def test_a_policy_of_ones_own_is_found_when_it_is_named(path):
    class Mine(LSA):
        """A policy that nobody can import."""

    begun(path, policy=Mine()).close()
    with pytest.raises(ValueError, match=r"Mine.*is not known here; give its class"):
        Study.open(path, "s")
    with Study.open(path, "s", policies=[Mine]) as study:
        assert repr(study.policy) == "Mine(alpha=1.35)"


def test_a_study_is_changed_to_a_policy_of_ones_own(path, study):
    class Mine(LSA):
        """A policy that nobody can import."""

    study.tell(study.ask().id, 1)
    study.change_policy(Mine())
    assert study.ask().arm == "b"
    assert repr(study.policy) == "Mine(alpha=1.35)"


def test_a_closed_study_is_no_longer_used(path):
    study = labels(path)
    study.close()
    study.close()
    for call in (study.ask, study.recommend, study.log, study.history, lambda: study.retire("a")):
        with pytest.raises(RuntimeError, match="the study was closed: open it again"):
            call()


def test_a_pickled_study_is_opened_again(path):
    with labels(path, clock=Clock()) as study:
        decision = study.ask()
        with pickle.loads(pickle.dumps(study)) as other:
            assert other.pending == [decision]
            assert other._durability == "process_crash"
            assert other._writer.clock.now == 1000.0
            other.tell(decision.id, 1)
        assert study.pending == []


def test_a_study_is_printed_as_where_it_is(path, study):
    assert repr(study) == f"Study({str(path)!r}, 'labels')"


def test_a_printed_study_does_not_show_a_password(study):
    study._storage = "postgresql://me:secret@host/x"  # the address with which it was opened
    study._writer.store.where = "postgresql://me@host/x"  # the same for messages
    for text in (repr(study), str(study), study._repr_html_()):
        assert "me@host" in text
        assert "secret" not in text


# Arms and policies that change.


def test_a_new_arm_comes_first(study):
    for _ in range(6):
        study.tell(study.ask().id, 1)
    study.add_arm("d")
    assert study.arms == ("a", "b", "c", "d")
    assert study.ask().arm == "d"
    check_rebuilt_states_agree(study)


def test_a_retired_arm_is_never_chosen_and_still_told(study):
    first = study.ask()
    study.retire("a")
    assert study.arms == ("b", "c")
    assert {study.ask().arm for _ in range(6)} == {"b", "c"}
    study.tell(first.id, 1)
    assert set(study.recommend()) == {"b", "c"}
    assert {study.ask().arm for _ in range(6)} == {"b", "c"}
    check_rebuilt_states_agree(study)


@pytest.mark.parametrize(
    ("name", "error", "match"),
    [
        ("a", ValueError, "name must be new, but 'a' is an arm"),
        ("", ValueError, "name must not be empty"),
        ("\ud800", ValueError, "name must have no control characters"),
        (3, TypeError, "name must be a text, got 3"),
    ],
)
def test_an_arm_that_cannot_be_added_is_refused(study, name, error, match):
    refuses(study, lambda: study.add_arm(name), error, match)


def test_a_retired_name_is_not_given_again(study):
    study.retire("a")
    refuses(study, lambda: study.add_arm("a"), ValueError, "'a' was retired, for good")
    refuses(study, lambda: study.retire("a"), UnknownArmError, "name must be one of b, c; got 'a'")


@pytest.mark.parametrize("name", ["d", "", 3, None])
def test_an_arm_that_is_not_there_cannot_be_retired(study, name):
    refuses(study, lambda: study.retire(name), UnknownArmError, "name must be one of a, b, c; got")


def test_the_last_arm_stays(study):
    study.retire("a")
    study.retire("b")
    refuses(study, lambda: study.retire("c"), ValueError, "'c' is the last arm")


@pytest.mark.interpreted
def test_a_policy_whose_arms_are_fixed_says_so(path):
    with Study.create(path, "s", ImprovedUCB(), ARMS, horizon=10) as study:
        for call in (lambda: study.add_arm("d"), lambda: study.retire("a")):
            refuses(study, call, TypeError, "ImprovedUCB.* does not support adding or")


def test_another_policy_has_learnt_the_same(path, study):
    with labels(path, "other", policy=APT(epsilon=0.1)) as other:
        for reward in (1, 0, 1, 1, 0, 0, 1):
            decision = study.ask()
            study.tell(decision.id, reward)
        study.change_policy(APT(epsilon=0.1))
        assert repr(study.policy) == "APT(epsilon=0.1)"
        assert state_of(study).arrays_to_save() != state_of(other).arrays_to_save()
        check_rebuilt_states_agree(study)
        assert study.ask().round == 8
        check_rebuilt_states_agree(study)


def test_policies_change_again_and_again(study):
    for policy in (APT(epsilon=0.1), LSA(alpha=2), LSA()):
        open_ = study.ask()
        study.change_policy(policy)
        study.add_arm(uuid.uuid4().hex)
        study.tell(open_.id, 1)
        check_rebuilt_states_agree(study)
    assert study.policy == LSA()


@pytest.mark.parametrize(
    ("policy", "facts", "error", "match"),
    [
        (UCB1(), {}, ValueError, "policy must be of the setting 'thresholding', got UCB1"),
        (LSA(), {"treshold": 0.1}, ValueError, "a fact must be one of"),
        (LSA(), {"threshold": 0.7}, ValueError, "threshold must be 0.5 as before, got 0.7"),
        (LSA, {}, TypeError, "policy must be a policy such as"),
        ("LSA", {}, TypeError, "policy must be a policy such as"),
    ],
)
def test_a_policy_that_cannot_take_over_is_refused(study, policy, facts, error, match):
    study.ask()
    refuses(study, lambda: study.change_policy(policy, **facts), error, match)


def test_a_policy_that_learns_from_its_own_decisions_alone_takes_none_over(path):
    with Study.create(path, "s", UCB1(), ARMS) as study:
        study.change_policy(ImprovedUCB(), horizon=100)  # there is none yet
        study.tell(study.ask().id, 1)
        study.change_policy(UCB1())
        said = r"policy must be one that can learn from decisions of others \(off_policy\), got Imp"
        refuses(study, lambda: study.change_policy(ImprovedUCB(), horizon=100), ValueError, said)
    with Study.create(path, "own", ImprovedUCB(), ARMS, horizon=100) as study:
        study.tell(study.ask().id, 1)
        study.change_policy(ImprovedUCB())  # what it was
        check_rebuilt_states_agree(study)


def test_arms_are_no_fact_that_a_change_could_alter(study):
    refuses(study, lambda: study.change_policy(LSA(), arms=9), ValueError, "arms")


def test_a_decision_stands_for_its_id(path):
    with labels(path) as study:
        first, second = study.ask(), study.ask()
        study.tell(first, 1)
        study.expire(second)
        assert study.pending == []
        for wrong in (None, 3, first.words):
            refuses(
                study,
                lambda wrong=wrong: study.tell(wrong, 1),
                UnknownDecisionError,
                "id must be that",
            )


def test_the_studies_of_a_database_are_listed_and_none_is_made(path):
    with pytest.raises(ValueError, match="storage must be an existing file, got"):
        list_studies(path)
    labels(path).close()
    assert list_studies(path) == ["labels"]
    with pytest.raises(ValueError, match=r"such a study already; open it, or choose another name$"):
        labels(path)
    assert list_studies(path) == ["labels"]


# A policy that waits.


def test_a_policy_that_waits_takes_one_decision_at_a_time(path):
    with labels(path, pending="wait") as study:
        decision = study.ask()
        refuses(study, study.ask, PendingDecisionError, rf"waits for the feedback of {decision.id}")
        study.tell(decision.id, 1)
        assert study.ask().id != decision.id


# The vocabulary of each setting.


def test_samples_may_be_hidden(path):
    with Study.create(
        path, "s", KaplanMeierUCB(), ARMS, levels=3, feedback="censored", horizon=100
    ) as study:
        for threshold in (0, 4, 1.5, "2"):
            with pytest.raises((ValueError, TypeError), match="threshold must"):
                study.ask(threshold=threshold)
        refuses_in(study, lambda: study.ask(), TypeError, "ask takes threshold in this study")
        decision = study.ask(threshold=2)
        assert dict(decision.words) == {"threshold": 2, "arm": decision.arm}
        for call in (
            lambda: study.tell(decision.id),
            lambda: study.tell(decision.id, 2),
            lambda: study.tell(decision.id, 1, censored=True),
            lambda: study.tell(decision.id, 1.5),
            lambda: study.tell(decision.id, reward=1),
        ):
            with pytest.raises((ValueError, TypeError)):
                call()
        study.tell(decision.id, censored=True)
        study.tell(decision.id, censored=True)
        with pytest.raises(DifferentFeedbackError, match=r"was told {'censored': True} before"):
            study.tell(decision.id, 1)
        assert len(study.log()) == 2
        assert set(study.recommend()) == {1, 2, 3}
        check_rebuilt_states_agree(study, {"threshold": 1})


def refuses_in(study, call, error, match):
    with pytest.raises(error, match=match):
        call()


@pytest.mark.interpreted
def test_losses_are_told_by_name_of_arm(path):
    with Study.create(path, "s", CSBDT(), ARMS, resource=2.0) as study:
        decision = study.ask()
        assert list(decision.allocation) == list(ARMS)
        for losses in (["d"], "a", {"a": 1}, {"a": 2, "b": 0, "c": 0}, 3, [1, 0, 0], None):
            with pytest.raises((ValueError, TypeError), match="losses"):
                study.tell(decision.id, losses)
        study.tell(decision.id, ["a"])
        study.tell(decision.id, {"a": True, "b": -0.0, "c": 0})
        with pytest.raises(DifferentFeedbackError, match=r"was told {'losses': \['a'\]} before"):
            study.tell(decision.id, [])
        assert len(study.log()) == 2
        check_rebuilt_states_agree(study)


@pytest.mark.interpreted
def test_a_run_ends_in_one_of_three_ways(path):
    with Study.create(
        path, "s", RCUCB(), ARMS, limits=[0.5, 1.0], cost=Power(slope=0.1), penalty=Power(slope=0.2)
    ) as study:
        for told in (
            {"reward": 0.5, "consumption": 0.1},
            {"exceeded": True},
            {"consumption": 0.1, "failed": True},
        ):
            decision = study.ask()
            assert set(decision.words) == {"arm", "limit"}
            for bad in (
                {},
                {"reward": 0.5},
                {"reward": 0.5, "consumption": 2.0},
                {"reward": 0.5, "exceeded": True},
                {"failed": True},
                {"failed": True, "exceeded": True},
                {"failed": True, "reward": 1.0, "consumption": 0.1},
                {"reward": 2, "consumption": 0.1},
            ):
                with pytest.raises((ValueError, TypeError)):
                    study.tell(decision.id, **bad)
            study.tell(decision.id, **told)
            study.tell(decision.id, **told)
        assert len(study.log()) == 6
        check_rebuilt_states_agree(study)


@pytest.mark.interpreted
def test_named_feedback_is_told_by_its_decision(path):
    with Study.create(path, "s", QPMD(), ARMS, feedback="named") as study:
        decisions = [study.ask() for _ in range(6)]
        study.tell(decisions[3].id, 1)
        with pytest.raises(TypeError, match="here each decision is told by its id"):
            study.tell_sum(1)
        study.ask()
        study.tell(decisions[0].id, 0)
        check_rebuilt_states_agree(study)


@pytest.mark.interpreted
def test_nameless_feedback_is_told_as_a_sum(path):
    with Study.create(
        path, "s", ODAAF(expected_delay=2), ARMS, horizon=1000, feedback="anonymous"
    ) as study:
        refuses(study, lambda: study.tell_sum(1), ValueError, r"total must lie in \[0, 0\], got 1")
        decisions = [study.ask() for _ in range(3)]
        assert study.pending == []  # nobody can tell them
        study.tell_sum(1.5, rounds=3)
        study.tell_sum(-0.0)
        for total, error in ((1.6, ValueError), (-1, ValueError), ("1", TypeError)):
            refuses(study, lambda total=total: study.tell_sum(total), error, "total must")
        for rounds, error in ((0, ValueError), (1.5, TypeError), ("a", TypeError)):
            refuses(study, lambda rounds=rounds: study.tell_sum(0, rounds=rounds), error, "rounds")
        id = decisions[0].id
        refuses(
            study, lambda: study.tell(id, 1), TypeError, "anonymous feedback is told by tell_sum"
        )
        study.ask()
        study.tell_sum(2.5)
        check_rebuilt_states_agree(study)


def test_a_study_goes_on_beyond_the_horizon_of_a_policy_that_needs_none(path):
    with Study.create(
        path, "s", QPMD(), ARMS, feedback="named", durability="process_crash"
    ) as study:
        for _ in range(200):
            study.tell(study.ask().id, 1)
        assert len(study.log()) == 400


def test_a_decision_is_made_by_hand_for_comparison():
    at = datetime.now(UTC)
    assert Decision("x", {"arm": "a"}, 1, at) == Decision("x", {"arm": "a"}, 1, at)


def test_no_decision_is_taken_beyond_the_horizon(tmp_path):
    given = {"feedback": "anonymous", "horizon": 2, "durability": "process_crash"}
    with pytest.warns(UserWarning, match="phase"):
        study = Study.create(tmp_path / "one.db", "x", ODAAF(expected_delay=2), ["a", "b"], **given)
    study.ask(), study.ask()
    with pytest.raises(RuntimeError, match="the horizon of 2 rounds has been reached"):
        study.ask()
    study.close()


def test_what_was_chosen_for_open_decisions_outlives_a_change_of_policy(tmp_path):
    given = {"threshold": 0.5, "durability": "process_crash"}
    study = Study.create(tmp_path / "one.db", "x", LSA(), ["a", "b"], pending="wait", **given)
    study.change_policy(APT())
    study.ask()
    with pytest.raises(PendingDecisionError):
        study.ask()
    study.close()


def test_a_retired_arm_is_not_handed_out_again(path):
    clock = Clock()
    given = {
        "timeout": 10,
        "on_timeout": "ask_again",
        "clock": clock,
        "durability": "process_crash",
    }
    with Study.create(path, "x", UCB1(), ["bad", "good"], **given) as study:
        early, late = study.ask(), study.ask()
        assert (early.arm, late.arm) == ("bad", "good")
        study.expire(early.id)
        study.retire("bad")
        clock.now += 11
        assert [study.ask().arm for _ in range(3)] == ["good"] * 3
        study.tell(early.id, 1)  # late, but not lost
        check_rebuilt_states_agree(study)


@pytest.mark.parametrize(
    ("given", "error", "match"),
    [
        ({"clock": 3}, TypeError, "clock must return the time, as time.time does; got 3"),
        ({"tresholds": 1}, TypeError, "a study of UCB1.. takes .*; got 'tresholds'"),
    ],
)
def test_what_a_study_is_made_of_is_checked(path, given, error, match):
    with pytest.raises(error, match=match):
        Study.create(path, "x", UCB1(), ["a"], **given)


@pytest.mark.parametrize("storage", ["", ":memory:", "file:x.db"])
def test_what_is_no_path_makes_no_file(storage, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ValueError, match="storage must be the path of a file"):
        Study.create(storage, "x", UCB1(), ["a"])
    assert not list(tmp_path.iterdir())
