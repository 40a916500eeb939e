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
        assert "holds the arm&#x27;s mean at all times" in study._repr_html_()


def test_decisions_that_expired_leave_means_without_intervals(tmp_path):
    """Who tells only successes would else see a mean of 1 that seems certain."""
    with Study.create(tmp_path / "s.db", "s", UCB1(), ["a"], on_timeout="forget") as study:
        tell(study, [1, 1])
        assert study.means()["a"]["reward"].interval is not None
        study.expire(study.ask())
        assert study.means()["a"]["reward"].interval is None
        assert not study.plot("mean").collections
        assert str(study).endswith(
            "Means have no intervals: 1 decision expired without feedback, which may bias means."
        )


def test_rewards_of_0_that_are_assumed_count_as_if_they_were_told(tmp_path):
    path, arms, scale = tmp_path / "s.db", ["a", "b"], (1, 5)
    with (
        Study.create(path, "s", UCB1(), arms, on_timeout="no_reward", scale=scale) as study,
        Study.create(path, "by hand", UCB1(), arms, scale=scale) as by_hand,
    ):
        decisions, as_asked = [study.ask() for _ in range(6)], [by_hand.ask() for _ in range(6)]
        for decision, reward in zip(decisions, (1, 5, 1, 1, 5, 1), strict=True):
            by_hand.tell(as_asked.pop(0), reward)
            if reward == 5:
                study.tell(decision, 5)
            else:
                study.expire(decision)
        study.tell(decisions[0], 5)  # too late: the policy has learnt that it was nothing
        assert study.recommend() == by_hand.recommend()
        total = {arm: [0, 0.0] for arm in arms}
        for decision, reward in zip(decisions, (1, 5, 1, 1, 5, 1), strict=True):
            total[decision.arm][0] += 1
            total[decision.arm][1] += reward
        means = {arm: by_name["reward"] for arm, by_name in study.means().items()}
        for arm, (number, rewards) in total.items():
            assert (means[arm].told, means[arm].mean) == (number, rewards / number)
            low, high = beta_mixture_interval(number, (rewards - number) / 4)
            assert means[arm].interval == pytest.approx((1 + 4 * low, 1 + 4 * high))
        assert sum(mean.assumed for mean in means.values()) == 4
        assert "of these assumed" in str(study)
        assert "holds the arm's mean reward within the timeout at all times" in str(study)
        ends = {line.get_label(): line.get_ydata()[-1] for line in study.plot("mean").lines}
        assert ends == pytest.approx({arm: mean.mean for arm, mean in means.items()})


def test_successes_that_are_told_early_wait_for_the_failures_before_them(tmp_path):
    """Each mean is over decisions of which all is known: else it would begin at 1."""
    facts = {"timeout_decisions": 10, "on_timeout": "no_reward"}
    with Study.create(tmp_path / "s.db", "s", UCB1(), ["a"], **facts) as study:
        decisions = [study.ask() for _ in range(10)]
        for decision in decisions[3::4]:
            study.tell(decision, 1)
        assert study.means() == {"a": {}}
        assert (
            study.explain_intervals()
            == str(study).splitlines()[-1]
            == (
                "Means leave out the feedback of 2 decisions until all earlier decisions are "
                "settled, since successes are told before failures."
            )
        )
        study.tell(decisions[0], 1)
        assert study.means()["a"]["reward"].told == 1
        decisions += [study.ask() for _ in range(4)]  # two expire
        mean = study.means()["a"]["reward"]
        assert (mean.told, mean.mean, mean.assumed) == (4, 0.5, 2)
        assert mean.interval == beta_mixture_interval(4, 2)
        assert "the feedback of 1 decision until" in study.explain_intervals()


@pytest.mark.parametrize(
    ("facts", "asked", "is_said"),
    [({"timeout": 60}, 2, True), ({}, 2, False), ({}, 3, True), ({"timeout": 60}, 1, False)],
)
def test_what_pending_decisions_may_do_to_means_is_said_beside_them(
    tmp_path, facts, asked, is_said
):
    with Study.create(tmp_path / "s.db", "s", UCB1(), ["a"], **facts) as study:
        decisions = [study.ask() for _ in range(asked)]
        study.tell(decisions[0], 1)
        text = f"With {asked - 1} decision{'s' if asked > 2 else ''} pending, means are wrong if"
        assert (text in study.explain_intervals()) == is_said
        assert (text in str(study)) == is_said


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


def test_runs_without_a_reward_count_as_the_policy_learns_them(tmp_path):
    """The policy learns a reward of 0 of a run that failed or exceeded its limit."""
    facts = {"limits": [1.0], "cost": lambda x: 0.0 * x, "penalty": lambda x: 0.0 * x}
    facts |= {"on_timeout": "no_reward"}
    with Study.create(tmp_path / "s.db", "s", RCUCB(alpha=0.1), ["a"], **facts) as study:
        study.tell(study.ask(), reward=1, consumption=0.5)
        study.tell(study.ask(), exceeded=True)
        study.tell(study.ask(), consumption=0.25, failed=True)
        study.expire(study.ask())
        means = study.means()["a"]
        assert {name: (mean.told, mean.mean) for name, mean in means.items()} == {
            "reward": (4, 0.25),
            "consumption": (2, 0.375),
            "exceeded": (4, 0.5),
            "failed": (4, 0.25),
        }


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
