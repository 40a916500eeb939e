import numpy as np
import pytest

from keyhole import simulate
from keyhole.play.interactive_environment import InteractiveEnvironment
from keyhole.semibandit import CSBST, CTS, MPTS, Problem
from tests.semibandit.cases import losses_of, shown

pytestmark = pytest.mark.interpreted

MEANS, THRESHOLDS = [0.9, 0.89, 0.87, 0.58, 0.3], [0.7, 0.7, 0.7, 0.6, 0.35]
DAYS = [[0, 1, 1], [0, 0, 1], [0, 1, 1], [1, 0, 0], [1, 1, 1]]


def test_losses_show_where_too_little_was_given():
    problem = Problem(MEANS, THRESHOLDS, resource=2)
    environment = InteractiveEnvironment(problem, seed=3)
    given = np.array([0.7, 0.7 - 5e-10, 0.7 - 2e-9, 0.0, 0.34])
    seen, regret = np.zeros(5), 0.0
    for t in range(1, 301):
        environment.observe()
        losses = environment.respond({"allocation": given})["losses"]
        assert losses.tolist() == shown(problem, given, losses_of(problem, 3, 0, t))
        seen += losses
        regret += 0.87 + 0.58 + 0.3 - problem.least_loss
    assert seen[:2].tolist() == [0, 0]
    error = 5 * np.sqrt(0.25 / 300)
    assert np.all(np.abs(seen[2:] / 300 - MEANS[2:]) < error)
    score = environment.score(
        {"estimates": [0.7, 0.65, 0.7, 0.6, 1.0], "searched": 17, "refuted": 2}
    )
    assert score == pytest.approx(
        {
            "regret": regret,
            "threshold_rounds": 17,
            "threshold_error": 0.65,
            "too_low": 1,
            "refuted": 2,
            "cumulative_loss": seen.sum(),
            "observations": 3 * 300,
            "resource_spent": 300 * given.sum(),
            **{f"pulls[{arm}]": 0 if arm == 3 else 300 for arm in range(5)},
            **{f"estimates[{arm}]": e for arm, e in enumerate([0.7, 0.65, 0.7, 0.6, 1.0])},
        }
    )


def test_the_optimum_residual_and_gamma():
    problem = Problem(MEANS, THRESHOLDS, resource=2.02)
    assert problem.optimal.tolist() == [True, True, False, True, False]
    assert problem.optimal_allocation.tolist() == [0.7, 0.7, 0, 0.6, 0]
    assert problem.least_loss == pytest.approx(1.17)
    assert problem.residual == pytest.approx(0.02)
    assert problem.gamma == pytest.approx(0.004)
    assert problem.worst_regret == pytest.approx(0.9 + 0.89 + 0.58)
    assert Problem(MEANS, THRESHOLDS, resource=2).gamma == 0
    assert not problem.common
    assert Problem(MEANS, 0.7, resource=2).common


def test_days_are_drawn_whole_each_equally_often():
    problem = Problem.replay(DAYS, 0.9, resource=0.5)
    assert problem.mean_losses.tolist() == [0.4, 0.6, 0.8]
    environment, seen = InteractiveEnvironment(problem, seed=1), []
    for _ in range(2000):
        environment.observe()
        seen.append(tuple(environment.respond({"allocation": np.zeros(3)})["losses"].tolist()))
    for day in set(map(tuple, DAYS)):
        share = DAYS.count(list(day)) / len(DAYS)
        assert abs(seen.count(day) / 2000 - share) < 5 * np.sqrt(share * (1 - share) / 2000)
    assert set(seen) == {tuple(map(float, day)) for day in DAYS}


@pytest.mark.filterwarnings("ignore:.* to each arm that it funds")
def test_recorded_days_come_in_order_and_end():
    problem = Problem.replay(DAYS, [0.5, 0.5, 0.4], resource=0.9, order="recorded")
    assert problem.rounds == 5
    environment, regret = InteractiveEnvironment(problem), 0
    for day in DAYS:
        environment.observe()
        losses = environment.respond({"allocation": np.array([0.5, 0, 0.4])})["losses"]
        assert losses.tolist() == [0, day[1], 0]
        regret += day[1] - day[0]  # the best for all days funds arms 1 and 2
    assert (
        environment.score({"estimates": [1, 1, 1], "searched": 0, "refuted": 0})["regret"] == regret
    )
    curves = simulate(problem, {"it": MPTS(m=1)}, horizon=5, replications=3)
    assert np.all(np.abs(curves.values("it", "regret")) <= 3 * 5)
    with pytest.raises(ValueError, match="horizon must be at most 5"):
        simulate(problem, {"it": MPTS(m=1)}, horizon=6, replications=3)


@pytest.mark.filterwarnings("ignore:.* to each arm that it funds")
def test_details_are_those_of_what_was_played():
    problem = Problem(MEANS, THRESHOLDS, resource=2.02)
    policies = {"CTS": CTS(), "MP-TS": MPTS(m=3)}
    curves = simulate(problem, policies, horizon=200, replications=5, details=True)
    for label in policies:
        pulls = sum(curves.values(label, f"pulls[{arm}]")[-1] for arm in range(5))
        assert np.all(curves.values(label, "observations")[-1] == 5 * 200 - pulls)
        assert np.all(curves.values(label, "refuted")[-1] == 0)
        assert np.all(curves.values(label, "resource_spent")[-1] <= 2.02 * 200 + 1e-9)
        saved = curves.values(label, "regret")[-1] + 200 * problem.least_loss
        assert np.all(abs(curves.values(label, "cumulative_loss")[-1] - saved) < 5 * 200**0.5)


def test_a_wrong_report_changes_nothing():
    learner, other = (CSBST().learner(arms=4, resource=2, seed=1) for _ in range(2))
    with pytest.raises(RuntimeError, match="tell must follow an ask"):
        learner.tell([0, 0, 0, 0])
    assert learner.ask().tolist() == learner.ask().tolist() == other.ask().tolist()
    for wrong, message in (
        ([0, 0, 0], "losses must have 4 entries, got 3"),
        ([0, 0, 0.5, 0], r"losses\[2\] must be 0 or 1, got 0.5"),
        ([0, 2, 0, 0], r"losses\[1\] must lie in \[0, 1\], got 2"),
        ([0, "1", 0, 0], r"losses\[1\] must be a number, got '1'"),
        (1, "losses must be a list of numbers, got 1"),
    ):
        with pytest.raises((TypeError, ValueError), match=message):
            learner.tell(wrong)
    learner.tell([0, 1, 0, 1])
    other.tell([0, 1, 0, 1])
    assert learner.ask().tolist() == other.ask().tolist()


def test_what_is_known_is_shown():
    text = repr(CTS().learner(arms=2, resource=1, thresholds=[0.5, 0.6]))
    assert "2 arms, resource 1, 2 thresholds" in text
    assert "arm 1: takes 0.6, 0 losses in 0 unfunded rounds" in text
    text = repr(MPTS(m=1).learner(arms=3, resource=1))
    assert "arm 0: takes 0.5" in text
    learner = CSBST().learner(arms=4, resource=2)
    assert "search of up to 28 rounds: trying 0.6667 on 3 arms, 0 of 14 rounds" in repr(learner)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Problem([], 0.5, 1), "mean_losses must have at least one entry"),
        (lambda: Problem([1.2], 0.5, 1), r"mean_losses\[0\] must lie in \[0, 1\], got 1.2"),
        (lambda: Problem([0.5], 0, 1), r"thresholds must lie in \(0, 1\], got 0"),
        (lambda: Problem([0.5], [1.2], 1), r"thresholds\[0\] must lie in \(0, 1\], got 1.2"),
        (lambda: Problem([0.5], [0.5, 0.5], 1), "thresholds must have 1 entries"),
        (lambda: Problem([0.5], 0.5, 0), r"resource must lie in \(0, .*, got 0"),
        (lambda: Problem([0.5], 0.5, float("inf")), "resource must"),
        (lambda: Problem.replay([], 0.5, 1), "losses must have at least one day"),
        (lambda: Problem.replay([[0, 1], [1]], 0.5, 1), r"losses\[1\] must have 2 entries"),
        (lambda: Problem.replay([[0, 0.5]], 0.5, 1), r"losses\[0\]\[1\] must be 0 or 1, got 0.5"),
        (lambda: Problem.replay([[0, 1]], 0.5, 1, order="date"), "order must be one of drawn"),
    ],
)
def test_bad_input_is_named(make, message):
    with pytest.raises((TypeError, ValueError), match=message):
        make()


def test_regret_is_what_is_to_be_expected_of_the_arms_that_were_left_alone():
    problem = Problem(mean_losses=[0.2, 0.5, 0.8], thresholds=[0.5] * 3, resource=1.0)
    curves = simulate(problem, {"it": MPTS(m=1)}, horizon=60, replications=4, details=True)
    pulls = np.array([curves.values("it", f"pulls[{arm}]")[-1] for arm in range(3)])
    expected = problem.mean_losses @ (60 - pulls) - 60 * problem.least_loss
    assert curves.values("it", "regret")[-1] == pytest.approx(expected)
