import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from keyhole import simulate
from keyhole.play.interactive_environment import InteractiveEnvironment
from keyhole.threshold import DKWUCB, KMUCB, KaplanMeierUCB, PerThresholdUCB, Problem, bounds
from tests.threshold.cases import FIVE, drive, sampler, thresholds_of

pytestmark = pytest.mark.interpreted

PAIR = [[0.9, 0.5, 0.2], [0.7, 0.6, 0.4]]


@settings(max_examples=40)
@given(st.lists(st.floats(0, 1, width=16), min_size=2, max_size=8).filter(lambda v: sum(v) > 0))
def test_mass_and_survival_describe_the_same_distribution(weights):
    mass = np.array(weights) / sum(weights)
    problem = Problem.from_mass([mass], feedback="censored")
    for j in range(1, len(mass)):
        assert problem.survival[0, j - 1] == pytest.approx(mass[j:].sum(), abs=1e-12)


def test_best_arms_and_gaps():
    problem = Problem(PAIR, feedback="uncensored")
    assert problem.best.tolist() == [0, 1, 1]
    assert problem.gaps[0].tolist() == pytest.approx([0.0, 0.1, 0.2])
    assert len(problem.ties) == 0
    assert Problem([[1.0, 0.5], [1.0, 0.2]], feedback="censored").ties.tolist() == [1]


@pytest.mark.parametrize("n", [4_000, pytest.param(20_000, marks=pytest.mark.slow)])
@pytest.mark.parametrize(
    "problem",
    [
        Problem(PAIR, feedback="uncensored"),
        Problem.replay([[0, 1, 3, 3], [2, 2, 0]], 3, feedback="uncensored"),
    ],
    ids=["tabled", "replayed"],
)
def test_samples_follow_the_survival_functions(problem, n):
    environment = InteractiveEnvironment(problem, horizon=n)
    for arm in range(2):
        values = np.empty(n)
        for i in range(n):
            environment.observe()
            values[i] = environment.respond({"arm": arm})["value"].item()
        for j in (1, 2, 3):
            chance = problem.survival[arm, j - 1]
            error = np.sqrt(chance * (1 - chance) / n)
            assert abs((values >= j).mean() - chance) <= 5 * error


def test_censored_feedback_never_shows_more_than_the_threshold():
    seen = {}
    for feedback in ("censored", "uncensored"):
        problem = Problem(FIVE, feedback=feedback)
        environment, pairs = InteractiveEnvironment(problem, seed=3, horizon=500), []
        for t in range(500):
            c = environment.observe()["threshold"].item()
            pairs.append((c, environment.respond({"arm": t % 5})["value"].item()))
        seen[feedback] = pairs
    for (c, cut), (same, value) in zip(seen["censored"], seen["uncensored"], strict=True):
        assert c == same
        assert cut == min(c, value)
    assert any(value > c for c, value in seen["uncensored"])


def test_the_environment_draws_what_the_tests_draw():
    problem = Problem(FIVE, feedback="uncensored")
    environment, sample = (
        InteractiveEnvironment(problem, seed=4, replication=2, horizon=40),
        sampler(FIVE, 4, 2),
    )
    for n in range(40):
        environment.observe()
        assert environment.respond({"arm": 3})["value"].item() == sample(3, n)


def test_regret_and_share_are_what_the_pulls_come_to():
    problem = Problem(PAIR, feedback="censored", order={"given": [1, 3, 2, 3, 1, 1]})
    curves = simulate(problem, [PerThresholdUCB()], horizon=6, replications=1, seed=8)
    # Each threshold's first pull is of arm 0, its second of arm 1; the third at 1 is of arm 0,
    # unless arm 0 failed and arm 1 did not.
    environment = InteractiveEnvironment(problem, seed=8, horizon=6)
    learner = PerThresholdUCB().learner(arms=2, levels=3, feedback="censored", seed=8)
    regret = reached = 0.0
    for c in [1, 3, 2, 3, 1, 1]:
        assert environment.observe()["threshold"].item() == c
        arm = learner.ask(threshold=c)
        value = environment.respond({"arm": arm})["value"].item()
        regret += max(row[c - 1] for row in PAIR) - PAIR[arm][c - 1]
        reached += value >= c
        learner.tell(**({"censored": True} if value >= c else {"value": value}))
    assert curves.mean("PerThresholdUCB()", "regret")[-1] == pytest.approx(regret)
    assert curves.mean("PerThresholdUCB()", "reached_share")[-1] == reached / 6


@pytest.mark.parametrize("feedback", ["censored", "uncensored"])
def test_details_are_what_a_learner_sees(feedback):
    problem, rounds = Problem(PAIR, feedback=feedback, order="cyclic"), 90
    curves = simulate(
        problem, [PerThresholdUCB()], horizon=rounds, replications=2, seed=8, details=True
    )
    thresholds, sample = thresholds_of(problem, rounds, 8, 1), sampler(PAIR, 8, 1)
    learner = PerThresholdUCB().learner(arms=2, levels=3, feedback=feedback)
    asked = drive(learner, problem, thresholds, sample)
    pulls, wrong, reward, whole = [0, 0], [0, 0], 0, 0
    for c, arm in zip(thresholds, asked, strict=True):
        value = sample(arm, pulls[arm])
        pulls[arm] += 1
        wrong[arm] += PAIR[arm][c - 1] < max(row[c - 1] for row in PAIR)
        reward += value >= c
        whole += feedback == "uncensored" or value < c

    def last(metric):
        return curves.values("PerThresholdUCB()", metric)[-1, 1]

    assert [last("pulls[0]"), last("pulls[1]")] == pulls
    assert [last("wrong_pulls[0]"), last("wrong_pulls[1]")] == wrong
    assert last("cumulative_reward") == reward == rounds * last("reached_share")
    assert last("observations") == whole


def test_misses_are_counted_by_the_widths_of_the_lemmas():
    problem, rounds = Problem(FIVE, feedback="uncensored"), 400
    curves = simulate(problem, [DKWUCB()], horizon=rounds, replications=40, seed=2, details=True)
    for r in range(5):
        thresholds, sample = thresholds_of(problem, rounds, 2, r), sampler(FIVE, 2, r)
        learner = DKWUCB().learner(arms=5, levels=10, feedback="uncensored", horizon=rounds)
        drive(learner, problem, thresholds, sample)
        survival, support = learner.estimates()
        off = np.abs(survival - problem.survival)
        width = np.array([bounds.sample_width(row, 0.05) for row in support])
        found = [
            curves.values("DKWUCB()", metric)[-1, r]
            for metric in ("lemma_3_misses", "hoeffding_misses", "lemma_4_misses")
        ]
        expected = [(off >= width).any(axis=1).mean(), (off >= width).mean()]
        assert found == pytest.approx([*expected, (off >= 2 * width).mean()])
    assert 0 < curves.mean("DKWUCB()", "lemma_3_misses")[-1] < 0.2


def test_recommended_arms_that_are_not_best_are_counted():
    problem = Problem([[1.0, 1.0, 0.0], [0.0, 0.0, 0.0]], feedback="uncensored", order="cyclic")
    curves = simulate(problem, [KaplanMeierUCB()], horizon=60, replications=4, checkpoints=[1, 60])
    assert curves.mean("KaplanMeierUCB()", "wrong_best").tolist() == [0.0, 0.0]
    turned = Problem([[0.0, 0.0, 0.0], [1.0, 1.0, 0.0]], feedback="uncensored", order="cyclic")
    curves = simulate(turned, [KaplanMeierUCB()], horizon=60, replications=4, checkpoints=[1, 60])
    assert curves.mean("KaplanMeierUCB()", "wrong_best").tolist() == [2.0, 0.0]


def test_distributions_that_differ_by_rounding_tie():
    # Each distribution lies on {1, 2, 3}: level 1 is reached for certain, though the sums say 1 -
    # 1e-16.
    mass = [[0, 0.1, 0.2, 0.7], [0, 0.25, 0.25, 0.5]]
    problem = Problem.from_mass(mass, feedback="censored", order="cyclic")
    assert problem.survival[:, 0].tolist() == [1.0, 1.0]
    assert problem.ties.tolist() == [1]
    assert problem.gaps[:, 0].tolist() == [0.0, 0.0]
    with pytest.warns(UserWarning, match="never gets beyond level 1"):
        curves = simulate(problem, [KMUCB()], horizon=60, replications=2)
    assert curves.mean("KMUCB()", "wrong_best")[-1] <= 2.0
    lone = Problem([[0.1 + 0.2], [0.3]], feedback="censored")
    assert lone.ties.tolist() == [1]


@settings(max_examples=40)
@given(st.lists(st.floats(0, 1, width=16), min_size=2, max_size=8).filter(lambda v: sum(v) > 0))
def test_survival_from_mass_never_rises(weights):
    mass = np.array(weights) / sum(weights)
    survival = Problem.from_mass([mass], feedback="censored").survival[0]
    assert (np.diff(survival) <= 0).all()
    assert survival[0] == 1 - mass[0]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: Problem([[0.5, 0.6]], feedback="censored"),
            r"survival\[0\] must not rise, got 0\.6 at level 2 after 0\.5",
        ),
        (
            lambda: Problem([[0.5], [1.2]], feedback="censored"),
            r"survival\[1\]\[0\] must lie in \[0, 1\], got 1\.2",
        ),
        (
            lambda: Problem([[0.5, 0.1], [0.5]], feedback="censored"),
            r"survival\[1\] must have as many levels as survival\[0\], 2; got 1",
        ),
        (lambda: Problem([], feedback="censored"), "survival must have at least one arm"),
        (
            lambda: Problem({"a"}, feedback="censored"),
            "survival must be a list with an entry for each arm, got {'a'",
        ),
        (lambda: Problem(PAIR, feedback="cut"), "feedback must be one of uncensored, censored"),
        (lambda: Problem(PAIR, feedback="censored", order="random"), "order must be one of iid,"),
        (
            lambda: Problem.from_mass([[0.5, 0.4]], feedback="censored"),
            r"mass\[0\] must sum to 1, got 0\.9",
        ),
        (lambda: Problem.from_mass([[1.0]], feedback="censored"), "mass must .* got only level 0"),
        (
            lambda: Problem.replay([[0, 4]], 3, feedback="censored"),
            r"samples\[0\]\[1\] must lie in \[0, 3\], got 4",
        ),
        (
            lambda: Problem.replay([[0.5]], 3, feedback="censored"),
            r"samples\[0\]\[0\] must be a whole number, got 0\.5",
        ),
    ],
)
def test_bad_input_is_named(make, message):
    with pytest.raises((TypeError, ValueError), match=message):
        make()
