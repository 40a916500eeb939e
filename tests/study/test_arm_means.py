import pytest

from keyhole.confidence_sequences import beta_mixture_interval
from keyhole.delayed import ODAAF
from keyhole.resource import RCUCB
from keyhole.semibandit import CSBDT
from keyhole.stochastic import UCB1
from keyhole.study import Study

pytestmark = pytest.mark.interpreted


def tell(study, rewards):
    for reward in rewards:
        study.tell(study.ask(), reward)


def test_means_have_intervals_in_the_units_of_the_study(tmp_path):
    with Study.create(tmp_path / "s.db", "s", UCB1(), ["a"], scale=(1, 5)) as study:
        assert study.means() == {"a": {}}
        assert "holds the arm's mean" not in str(study)
        tell(study, [1, 5, 2, 4, 4])
        mean = study.means()["a"]["reward"]
        assert (mean.told, mean.mean) == (5, pytest.approx(3.2))
        low, high = beta_mixture_interval(5, 2.75)
        assert mean.interval == pytest.approx((1 + 4 * low, 1 + 4 * high))
        assert str(mean) == "3.2 [1.3, 4.9]"
        assert "a    5          5     3.2 [1.3, 4.9]\n[low, high] holds" in str(study)
        assert "holds the arm&#39;s mean at all times" in study._repr_html_()


@pytest.mark.parametrize("on_timeout", ["forget", "no_reward"])
def test_decisions_that_expired_leave_means_without_intervals(tmp_path, on_timeout):
    """Who tells only successes would else see a mean of 1 that seems certain."""
    with Study.create(tmp_path / "s.db", "s", UCB1(), ["a"], on_timeout=on_timeout) as study:
        tell(study, [1, 1])
        assert study.means()["a"]["reward"].interval is not None
        study.expire(study.ask())
        assert study.means()["a"]["reward"].interval is None
        assert not study.plot("mean").collections
        assert str(study).endswith(
            "Means have no intervals: 1 decision expired, and only other feedback was told."
        )


def test_feedback_that_comes_late_completes_what_was_told(tmp_path):
    with Study.create(tmp_path / "s.db", "s", UCB1(), ["a"], on_timeout="forget") as study:
        late, lost = study.ask(), study.ask()
        study.expire(late)
        study.tell(late, 1)
        assert study.means()["a"]["reward"].interval is not None
        study.expire(lost)
        assert study.means()["a"]["reward"].interval is None
        assert "1 decision expired" in study.explain_intervals()


def test_decisions_that_are_asked_again_are_told_in_the_end(tmp_path):
    with Study.create(tmp_path / "s.db", "s", UCB1(), ["a"], on_timeout="ask_again") as study:
        study.expire(study.ask())
        tell(study, [1])
        assert study.means()["a"]["reward"].interval is not None


def test_decisions_about_a_retired_arm_are_not_asked_again(tmp_path):
    with Study.create(tmp_path / "s.db", "s", UCB1(), ["a", "b"], on_timeout="ask_again") as study:
        tell(study, [1, 1])
        lost = study.ask()
        study.expire(lost)
        assert study.means()[lost.arm]["reward"].interval is not None  # it is asked again
        study.retire(lost.arm)
        assert study.means()[lost.arm]["reward"].interval is None


def test_means_that_depend_on_the_decision_have_no_intervals(tmp_path):
    facts = {"limits": [1.0], "cost": lambda x: 0.0 * x, "penalty": lambda x: 0.0 * x}
    with Study.create(tmp_path / "s.db", "s", RCUCB(alpha=0.1), ["a"], **facts) as study:
        study.tell(study.ask(), reward=0.5, consumption=0.25)
        means = study.means()["a"]
        assert {name: (mean.mean, mean.interval) for name, mean in means.items()} == {
            "reward": (0.5, None),
            "consumption": (0.25, None),
        }
        assert str(study).endswith("in the setting 'resource' they depend on the decisions.")


def test_long_logs_are_left_unread_if_asked_for(tmp_path):
    with Study.create(tmp_path / "s.db", "s", UCB1(), ["a"]) as study:
        tell(study, [1])
        assert study.means(most_events=1) is None
        assert study.means(most_events=2)["a"]["reward"].told == 1


def test_arms_for_which_there_is_no_feedback(tmp_path):
    with Study.create(tmp_path / "s.db", "s", UCB1(), ["a", "b", "c"]) as study:
        first, second = study.ask(), study.ask()
        assert study.arms_without_feedback() == ["a", "b", "c"]
        study.tell(second, 1)
        study.expire(first)  # forgotten: the policy learns nothing
        assert study.arms_without_feedback() == ["a", "c"]
        study.retire("a")
        study.add_arm("d")
        assert study.arms_without_feedback() == ["c", "d"]
        assert study.arms_without_feedback(most_events=0) == ["c", "d"]  # all were read


def test_a_reward_that_is_assumed_at_the_timeout_is_feedback(tmp_path):
    with Study.create(tmp_path / "s.db", "s", UCB1(), ["a", "b"], on_timeout="no_reward") as study:
        study.expire(study.ask())
        assert study.arms_without_feedback() == ["b"]


def test_an_allocation_is_about_all_arms(tmp_path):
    with Study.create(tmp_path / "s.db", "s", CSBDT(), ["a", "b"], resource=1.0) as study:
        assert study.arms_without_feedback() == ["a", "b"]
        study.tell(study.ask(), ["a"])
        assert study.arms_without_feedback() == []


def test_a_sum_is_about_all_arms_and_gives_no_means(tmp_path):
    policy, facts = ODAAF(expected_delay=2), {"horizon": 500, "feedback": "anonymous"}
    with Study.create(tmp_path / "s.db", "s", policy, ["a", "b"], **facts) as study:
        study.ask()
        assert study.arms_without_feedback() == ["a", "b"]
        assert "no means" in study.explain_intervals()
        study.tell_sum(1)
        assert study.arms_without_feedback() == []
        assert "no means" in study.explain_intervals()
