"""Arms that come and go, many of them: the same decisions, and no work that grows with them."""

from collections import Counter

import pytest

from keyhole.stochastic import UCB1
from keyhole.study import Study
from keyhole.study.arms import Arms
from keyhole.study.definition import TimeoutRule
from keyhole.study.log_state import DecisionRowCodec
from keyhole.study.state import PolicyState
from keyhole.thresholding import LSA
from tests.study.studies import Clock, check_rebuilt_states_agree, labels, state_of

MANY = [f"arm {number}" for number in range(120)]


@pytest.fixture
def calls(monkeypatch):
    """Count the calls of what takes time for each arm or decision."""
    found = Counter()

    def watch(home, name):
        original = getattr(home, name)

        def counted(*given, **named):
            found[name] += 1
            return original(*given, **named)

        monkeypatch.setattr(home, name, counted)

    for home, name in (
        (PolicyState, "with_arms"),
        (DecisionRowCodec, "with_positions"),
        (DecisionRowCodec, "unpack_row"),
        (TimeoutRule, "is_overdue"),
    ):
        watch(home, name)
    return found


def test_arms_have_numbers_for_good_and_positions_by_use():
    arms = Arms(["a", "b", "c"])
    assert not arms.has_retired_arms
    arms.retire("b")
    arms.add("d")
    assert arms.has_retired_arms
    assert arms.names == ["a", "b", "c", "d"]
    assert arms.names_in_use == ("a", "c", "d")
    assert arms.numbers_in_use.tolist() == [0, 2, 3]
    assert arms.positions.tolist() == [0, -1, 1, 2]
    assert [arms.is_in_use(number) for number in range(4)] == [True, False, True, True]
    other = Arms(["z"])
    other.restore(arms.names, arms.numbers_in_use.tolist())
    assert other.names == arms.names
    assert other.numbers_in_use.tolist() == arms.numbers_in_use.tolist()


@pytest.mark.parametrize(
    ("in_use", "message"),
    [([0, 0], "each arm in use must be listed once"), ([0, 2], r"an arm in use must .*, got 2")],
)
def test_arms_that_cannot_be_are_refused(in_use, message):
    with pytest.raises(ValueError, match=message):
        Arms(["z"]).restore(["a", "b"], in_use)


def test_a_name_that_is_none_is_refused_in_a_line(tmp_path):
    with labels(tmp_path / "s.db", arms=[f"arm {number}" for number in range(3000)]) as study:
        study.retire("arm 7")
        for name, hint in (("arm 3x", r" \(did you mean 'arm 3"), ("arm 7", "")):
            message = f"name must be one of arm 0, .* more; got '{name}'{hint}"
            with pytest.raises(ValueError, match=message) as raised:
                study.retire(name)
            assert len(str(raised.value)) < 1500


def test_many_arms_are_added_all_or_none(tmp_path):
    with labels(tmp_path / "s.db") as study:
        for names, error, message in (
            (["d", "a"], ValueError, "name must be new, but 'a' is an arm"),
            (["d", "d"], ValueError, "names must differ, got 'd' twice"),
            (["d", ""], ValueError, "name must not be empty"),
            ("def", TypeError, "names must be a sequence of names, got 'def'"),
            ({"d", "e"}, TypeError, "names must be a sequence of names, got {'"),
            ({"d": 1}, TypeError, "names must be a sequence of names, got {'d': 1}"),
            (3, TypeError, "names must be a sequence of names, got 3"),
        ):
            with pytest.raises(error, match=message):
                study.add_arms(names)
        assert study.log() == []
        study.add_arms(name for name in "def")
        assert study.arms == ("a", "b", "c", "d", "e", "f")
        assert [row.body for row in study.log()] == [b"d", b"e", b"f"]
        check_rebuilt_states_agree(study)


def test_the_policy_is_given_other_arms_once_for_all_that_came_and_went(tmp_path, calls):
    path = tmp_path / "s.db"
    with labels(path, "other", arms=MANY[:3]) as study:
        study.tell(study.ask().id, 1)
        for name in MANY[3:]:
            study.add_arm(name)
        for name in MANY[:60]:
            study.retire(name)
        assert calls["with_arms"] == 0
        asked = [study.ask().arm for _ in range(4)]
        assert calls["with_arms"] == 1
        study._writer._snapshot_seq = 10**9  # no snapshot
        study._writer._state = None
    calls.clear()
    with Study.open(path, "other", durability="process_crash") as study:
        assert study.ask().arm not in asked
        assert calls["with_arms"] == 1
        check_rebuilt_states_agree(study)


@pytest.mark.parametrize(("policy", "facts"), [(UCB1(), {}), (LSA(), {"threshold": 0.5})])
def test_an_ask_costs_no_work_for_each_decision_when_an_arm_was_retired(
    tmp_path, calls, policy, facts
):
    with Study.create(
        tmp_path / "s.db", "s", policy, MANY, durability="process_crash", **facts
    ) as study:
        pending = [study.ask().id for _ in range(80)]
        study.retire("arm 100")
        study.tell(pending[0], 1)
        calls.clear()
        study.ask()
        assert calls["with_positions"] + calls["unpack_row"] <= 3
        check_rebuilt_states_agree(study)


def test_decisions_to_be_handed_out_again_are_not_looked_at_by_each_ask(tmp_path, calls):
    clock = Clock()
    with labels(
        tmp_path / "s.db",
        arms=MANY,
        timeout=10,
        on_timeout="ask_again",
        clock=clock,
        durability="process_crash",
    ) as study:
        first = [study.ask().id for _ in range(60)]
        clock.now += 11
        study.ask()  # all have been waited for; one of them is handed out again
        assert list(state_of(study).to_ask_again) == first[1:]
        calls.clear()
        again = [study.ask().id for _ in range(20)]
        assert again == first[1:21]
        assert calls["is_overdue"] <= 2 * 20
        check_rebuilt_states_agree(study)


def test_names_that_look_alike_are_told_once_where_they_come_in(tmp_path):
    path = tmp_path / "s.db"
    told = r"^'red' and 'red\\u200b' look alike, but are two names"
    with pytest.warns(UserWarning, match=told) as caught:
        study = Study.create(path, "s", UCB1(), ["red", "red\u200b"])
    assert len(caught) == 1
    with study, pytest.warns(UserWarning, match=r"and '\\ufeffred' look alike"):
        study.add_arm("\ufeffred")
    with Study.open(path, "s") as study:  # without a warning, which would be an error here
        assert study.arms == ("red", "red\u200b", "\ufeffred")
    with pytest.warns(UserWarning, match=r"^'s' and 's\\u200b' look alike"):
        Study.create(path, "s\u200b", UCB1(), ["a", "b"]).close()
