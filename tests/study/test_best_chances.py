"""The chance of each arm of a study to be the best, by the posterior of its policy."""

import pytest

from keyhole.stochastic import (
    UCB1,
    BestArmStopping,
    OptimisticThompson,
    RoundRobin,
    ThompsonSampling,
)
from keyhole.study import Study

pytestmark = pytest.mark.interpreted


def import_rewards(study, path, rows):
    path.write_text("arm,reward\n" + "".join(f"{arm},{reward}\n" for arm, reward in rows))
    study.import_csv(path)


@pytest.mark.parametrize(
    "policy",
    [ThompsonSampling(), OptimisticThompson(), BestArmStopping()],
    ids=lambda policy: type(policy).__name__,
)
def test_chances_are_exact(tmp_path, policy):
    """P(X > Y) of X ~ Beta(3, 1) and Y ~ Beta(1, 2): 9/10, by counting ranks of six uniforms."""
    with Study.create(tmp_path / "s.db", "s", policy, ["a", "b"]) as study:
        import_rewards(study, tmp_path / "p.csv", [("a", 1), ("b", 0), ("a", 1)])
        chances = study.best_chances()
        assert chances == {"a": pytest.approx(0.9, abs=1e-3), "b": pytest.approx(0.1, abs=1e-3)}
        assert "chance to be best: a 90.0 %, b 10.0 % (by the policy's posterior" in str(study)


def test_rewards_in_other_units_and_the_prior_count(tmp_path):
    policy = ThompsonSampling(a=2)
    with Study.create(tmp_path / "s.db", "s", policy, ["a", "b"], scale=(1, 5)) as study:
        assert study.best_chances() == {"a": pytest.approx(0.5), "b": pytest.approx(0.5)}
        import_rewards(study, tmp_path / "p.csv", [("a", 5)])
        # Beta(3, 1) against Beta(2, 1): the largest of five uniforms is one of the first three.
        assert study.best_chances()["a"] == pytest.approx(3 / 5, abs=1e-3)


def test_retired_arms_are_left_out_and_pending_decisions_are_said(tmp_path):
    with Study.create(tmp_path / "s.db", "s", ThompsonSampling(), ["a", "b", "c"]) as study:
        import_rewards(study, tmp_path / "p.csv", [("a", 1), ("c", 1)])
        study.retire("c")
        study.ask()
        assert study.best_chances() == {
            "a": pytest.approx(2 / 3, abs=1e-3), "b": pytest.approx(1 / 3, abs=1e-3)
        }  # fmt: skip
        assert "without 1 pending decision;" in str(study)


def test_narrow_and_wide_posteriors_are_compared(tmp_path):
    """One arm is nearly known to have the mean 3/4, of the other nothing is known."""
    with Study.create(tmp_path / "s.db", "s", ThompsonSampling(), ["a", "b"]) as study:
        import_rewards(study, tmp_path / "p.csv", [("a", 1), ("a", 1), ("a", 1), ("a", 0)] * 500)
        assert study.best_chances()["b"] == pytest.approx(0.25, abs=1e-3)


@pytest.mark.parametrize("policy", [UCB1(), BestArmStopping(base=RoundRobin())], ids=repr)
def test_without_a_posterior_there_are_none(tmp_path, policy):
    with Study.create(tmp_path / "s.db", "s", policy, ["a", "b"]) as study:
        study.tell(study.ask(), 1)
        assert study.best_chances() == {}
        assert "chance to be best" not in str(study)


def test_feedback_that_was_forgotten_leaves_none(tmp_path):
    with Study.create(tmp_path / "s.db", "s", ThompsonSampling(), ["a", "b"]) as study:
        study.tell(study.ask(), 1)
        study.expire(study.ask())
        assert study.best_chances() == {}
