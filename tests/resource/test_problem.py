import math
from itertools import product

import numpy as np
import pytest
from scipy import stats
from scipy.integrate import dblquad, quad

from keyhole import simulate
from keyhole.draws.samplers import exponential
from keyhole.draws.streams import uniform
from keyhole.play.interactive_environment import InteractiveEnvironment
from keyhole.resource import (
    RCUCB,
    BetaExponential,
    CustomDistribution,
    PiecewiseLinear,
    Power,
    Problem,
    Replay,
    Steps,
    TruncatedNormal,
    ZoomingRCUCB,
)
from tests.resource.cases import COST, GRIDS, PENALTY, reconstructed_problem

pytestmark = pytest.mark.interpreted

# How many draws: bounds follow from it.
FEW_OR_MANY = [
    pytest.param(1_000, id="few"),
    pytest.param(20_000, marks=pytest.mark.slow, id="many"),
]


def triangle(rng, numbers):
    """Draw a consumption of density 2x on [0, 1], scaled; the reward follows it."""
    consumption = math.sqrt(uniform(rng))
    return numbers[1] * consumption + (1 - numbers[1]) * uniform(rng), numbers[0] * consumption


def triangle_distribution(scale, weight, draw=triangle):
    return CustomDistribution(
        draw,
        numbers=[scale, weight],
        density=lambda x: np.where(x <= scale, 2 * x / scale**2, 0.0),
        mean_reward=lambda x: weight * x / scale + (1 - weight) / 2,
        landmarks=[scale],
    )


DISTRIBUTIONS = {
    "positive": TruncatedNormal((0.4, 0.8), ((0.0625, 0.088), (0.088, 0.5))),
    "negative": TruncatedNormal((0.7, 0.3), ((0.09, -0.02), (-0.02, 0.04))),
    "narrow": TruncatedNormal((0.5, 0.31), ((0.01, 0.0), (0.0, 1e-6))),
    "nearly a line": TruncatedNormal((0.5, 0.5), ((0.09, 0.0899), (0.0899, 0.09))),
    "independent": BetaExponential(2, 5, 3),
    "short": BetaExponential(0.5, 0.5, 400),
    "own": triangle_distribution(0.8, 0.3),
    "measured": Replay([0.1, 0.9, 0.5, 1.0], [0.2, 0.2, 0.6, 1.7]),
}
LIMITS = [0.2, 0.35, 0.6, 1.0]


def drawn(problem, draws, arm=0, limit=None):
    """Return reward, consumption and whether the limit was exceeded, for many runs."""
    environment = InteractiveEnvironment(problem, seed=6)
    answers = np.empty((draws, 3))
    limit = problem.limits[-1] if limit is None else limit
    for i in range(draws):
        answer = environment.respond({"arm": arm, "limit": limit})
        answers[i] = [answer[name][()] for name in ("reward", "consumption", "exceeded")]
    return answers.T


# What pairs are worth.


@pytest.mark.parametrize("draws", FEW_OR_MANY)
@pytest.mark.parametrize("distribution", DISTRIBUTIONS.values(), ids=DISTRIBUTIONS)
def test_the_environments_runs_are_worth_what_quadrature_says(distribution, draws):
    whole = Problem([distribution], [50.0], Power(), Power())
    reward, used, exceeded = drawn(whole, draws)
    assert not exceeded.any()
    problems = [Problem([distribution], LIMITS, COST, PENALTY, continuous=c) for c in (False, True)]
    for problem, (place, limit) in product(problems, enumerate(LIMITS)):
        within = used <= limit
        worth = np.where(within, reward - COST(used), -PENALTY(limit))
        error = max(worth.std() / math.sqrt(draws), 1e-9)
        assert abs(worth.mean() - problem.gains[0, place]) < 5 * error
        share = problem.censoring[0, place]
        spread = math.sqrt(share * (1 - share) / draws) + 1e-9
        assert abs((~within).mean() - share) < 5 * spread


def plain_gain(distribution, limit, cost, penalty):
    """Integrate equation (2) over the joint density with SciPy."""
    (a, b), (c, d), (e, f) = distribution.mean, *np.linalg.inv(distribution.covariance).tolist()

    def density(r, x):  # without its factor, which falls out
        return math.exp(-0.5 * (c * (r - a) ** 2 + (d + e) * (r - a) * (x - b) + f * (x - b) ** 2))

    def part(top, value):
        return dblquad(
            lambda r, x: value(r, x) * density(r, x), 0, top, 0, 1, epsabs=1e-9, epsrel=1e-9
        )[0]

    mass = part(
        distribution.mean[1] + 8 * math.sqrt(distribution.covariance[1, 1]), lambda r, x: 1.0
    )
    net, within = (
        part(limit, lambda r, x: r - cost(x)) / mass,
        part(limit, lambda r, x: 1.0) / mass,
    )
    return net - penalty(limit) * (1 - within)


@pytest.mark.parametrize("name", ["positive", "negative"])
def test_gains_of_truncated_normal_arms_are_the_double_integral(name):
    problem = Problem([DISTRIBUTIONS[name]], LIMITS, COST, PENALTY)
    for place, limit in [(0, LIMITS[0]), (-1, LIMITS[-1])]:
        expected = plain_gain(DISTRIBUTIONS[name], limit, lambda x: 0.1 * x, PENALTY)
        assert problem.gains[0, place] == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("rate", [0.1, 1.0, 50.0, 3e4])
def test_gains_of_independent_arms_have_the_closed_form(rate):
    problem = Problem([BetaExponential(3, 2, rate)], LIMITS, COST, PENALTY)
    for place, limit in enumerate(LIMITS):
        x = rate * limit
        within = -math.expm1(-x)
        spent = 0.1 * (1 - math.exp(-x) * (1 + x)) / rate
        expected = 0.6 * within - spent - PENALTY(limit) * math.exp(-x)
        assert problem.gains[0, place] == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("cost", [Steps([0.3, 0.5], [0, 0.2, 0.9]), Power(factor=1, power=0.3)])
def test_costs_that_jump_or_are_steep_are_integrated(cost):
    problem = Problem([BetaExponential(3, 2, 2)], LIMITS, cost, PENALTY)
    for place, limit in enumerate(LIMITS):
        spent, _ = quad(
            lambda x: float(cost(x)) * 2 * math.exp(-2 * x),
            0,
            limit,
            points=[0.3, 0.5],
            epsabs=1e-11,
            limit=400,
        )
        expected = -0.6 * math.expm1(-2 * limit) - spent - PENALTY(limit) * math.exp(-2 * limit)
        assert problem.gains[0, place] == pytest.approx(expected, abs=1e-7)


def test_measured_runs_are_averaged():
    problem = Problem([DISTRIBUTIONS["measured"]], LIMITS, COST, PENALTY)
    first = (0.1 + 0.9 - 2 * 0.02) / 4
    assert problem.gains[0].tolist() == pytest.approx(
        [
            first - PENALTY(0.2) / 2,
            first - PENALTY(0.35) / 2,
            first + (0.5 - 0.06) / 4 - PENALTY(0.6) / 4,
            first + (0.5 - 0.06) / 4 - PENALTY(1.0) / 4,
        ]
    )


def test_par10_is_a_special_case():
    # Ten times the cut-off counts for a run that does not end: nothing else is earned or lost.
    runtimes = stats.gamma(2, scale=0.3).rvs(2000, random_state=1)
    problem = Problem([Replay(np.zeros(2000), runtimes)], LIMITS, Power(slope=1), Power(slope=10))
    for place, limit in enumerate(LIMITS):
        par10 = np.where(runtimes <= limit, runtimes, 10 * limit).mean()
        assert -problem.gains[0, place] == pytest.approx(par10)
    exact = Problem([BetaExponential(1e-6, 1e6, 2)], LIMITS, Power(slope=1), Power(slope=10))
    for place, limit in enumerate(LIMITS):
        ended, _ = quad(lambda x: x * 2 * math.exp(-2 * x), 0, limit)
        par10 = ended + 10 * limit * math.exp(-2 * limit)
        assert -exact.gains[0, place] == pytest.approx(par10, abs=1e-8)


def test_a_plain_bandit_is_a_special_case():
    arms = [Replay([1, 0, 0], [1, 1, 1]), Replay([1, 1, 0], [1, 1, 1])]
    problem = Problem(arms, [1.0], Power(), Power())
    assert problem.gains[:, 0].tolist() == pytest.approx([1 / 3, 2 / 3])
    assert problem.censoring.tolist() == [[0.0], [0.0]]


@pytest.mark.parametrize(
    ("instance", "grid", "limit", "censored"),
    [
        ("PosCorr", "main", 0.82, 0.6103),
        ("PosCorr", "small", 0.9, 0.5595),
        ("PosCorr", "large", 0.8622, 0.5836),
        ("NegCorr", "main", 0.82, 0.7611),
        ("NegCorr", "small", 0.9, 0.7196),
        ("NegCorr", "large", 0.8278, 0.7572),
        ("Indep", "main", 0.82, 0.4404),
        ("Indep", "small", 0.9, 0.4066),
        ("Indep", "large", 0.8622, 0.4222),
    ],
)
def test_the_calibrated_instances_have_the_optimum_they_were_made_for(
    instance, grid, limit, censored
):
    problem = reconstructed_problem(instance, grid)
    arm, best = problem.best_pair
    assert arm == 0
    assert best == pytest.approx(limit, abs=5e-5)
    place = GRIDS[grid].tolist().index(best)
    assert problem.censoring[0, place] == pytest.approx(censored, abs=1e-4)


def test_the_optimal_gains_of_the_calibrated_instances():
    found = [reconstructed_problem(name).best_gain for name in ("PosCorr", "NegCorr", "Indep")]
    assert found == pytest.approx([0.0298, 0.0426, 0.1840], abs=5e-5)
    best = reconstructed_problem("Indep").gains.max(axis=1)
    expected = [0.184, 0.152, 0.125, 0.104, 0.086, 0.071, 0.058, 0.047, 0.038, 0.030]
    assert best == pytest.approx(expected, abs=5e-4)


# Every limit.


@pytest.mark.parametrize(
    "penalty",
    [PENALTY, Steps([0.25, 0.6], [0.0, 0.1, 0.4]), PiecewiseLinear([0, 0.5, 2], [0.1, 0.1, 0.5])],
    ids=repr,
)
@pytest.mark.parametrize("distribution", DISTRIBUTIONS.values(), ids=DISTRIBUTIONS)
def test_the_table_of_gains_is_exact_to_the_promised_digits(distribution, penalty):
    problem = Problem([distribution], LIMITS, COST, penalty, continuous=True)
    gap = problem.environment.gap
    truth = type("Truth", (), problem.truth())
    jumps = [0.2, 0.25, 0.25 + 1e-9, 0.6, 0.6 + 1e-9, 1.0]
    for limit in np.concatenate([np.random.default_rng(0).uniform(1e-6, 1, 100), jumps]):
        lost = problem.best_gain - problem.gain(0, float(limit))
        assert gap(truth, 0, limit) == pytest.approx(lost, abs=2e-7)
        assert lost > -1e-9


def test_the_best_of_all_limits_is_found():
    problem = reconstructed_problem("Indep", continuous=True)
    arm, limit = problem.best_pair
    assert arm == 0
    # Exp(1) at mean reward 1/2: the derivative of the gain vanishes.
    slope = (0.5 - 0.1 * limit + PENALTY(limit)) - (0.1 + 0.8 * limit**3)
    assert abs(slope) < 1e-4
    assert problem.best_gain > reconstructed_problem("Indep", "large").best_gain


def test_the_best_limit_may_be_none_at_all():
    problem = Problem([BetaExponential(1, 9, 0.1)], [1.0], COST, Power(slope=2), continuous=True)
    assert problem.best_pair == (0, 0.0)
    assert problem.best_gain == 0.0


def test_the_best_limit_of_measured_runs_is_one_of_them():
    problem = Problem([DISTRIBUTIONS["measured"]], [2.0], COST, Power(slope=0.3), continuous=True)
    worth = [problem.gain(0, x) for x in (0.2, 0.6, 1.7)]
    assert problem.best_pair[1] == (0.2, 0.6, 1.7)[int(np.argmax(worth))]
    assert problem.best_gain == max(worth)


# What the environment answers.


def test_a_run_yields_the_same_whatever_the_limit():
    problem = reconstructed_problem("NegCorr", arms=2)
    wide, narrow = drawn(problem, 500, 1), drawn(problem, 500, 1, limit=problem.limits[3])
    seen = narrow[2] == 0
    assert 20 < seen.sum() < 480
    assert np.array_equal(wide[:2, seen], narrow[:2, seen])
    assert (wide[1, ~seen & (wide[2] == 0)] > problem.limits[3]).all()
    assert not narrow[:2, ~seen].any()


def test_a_run_that_takes_its_limit_is_within_it():
    problem = Problem([Replay([1.0], [0.5])], [0.25, 0.5, 1.0], COST, PENALTY)
    for limit, exceeded in ((0.25, 1), (0.5, 0), (1.0, 0)):
        answer = InteractiveEnvironment(problem).respond({"arm": 0, "limit": limit})
        assert answer["exceeded"] == exceeded
        assert answer["consumption"] == (0.0 if exceeded else 0.5)


@pytest.mark.parametrize("draws", FEW_OR_MANY)
@pytest.mark.parametrize(
    "distribution", [DISTRIBUTIONS["positive"], DISTRIBUTIONS["negative"]], ids=repr
)
def test_truncated_normal_runs_have_the_distribution(distribution, draws):
    reward, used, _ = drawn(Problem([distribution], [50.0], Power(), Power()), draws)
    assert ((reward >= 0) & (reward <= 1) & (used >= 0)).all()
    plain = np.random.default_rng(1).multivariate_normal(
        distribution.mean, distribution.covariance, 200_000
    )
    plain = plain[(plain[:, 0] >= 0) & (plain[:, 0] <= 1) & (plain[:, 1] >= 0)]
    for ours, theirs in ((reward, plain[:, 0]), (used, plain[:, 1]), (reward * used, None)):
        other = plain[:, 0] * plain[:, 1] if theirs is None else theirs
        assert stats.ks_2samp(ours, other).pvalue > 1e-6


def test_replayed_runs_come_in_pairs_equally_often():
    both, draws = [DISTRIBUTIONS["own"], DISTRIBUTIONS["measured"]], 4_000
    reward, used, _ = drawn(Problem(both, [9.0], COST, PENALTY), draws, arm=1)
    pairs = list(zip([0.1, 0.9, 0.5, 1.0], [0.2, 0.2, 0.6, 1.7], strict=True))
    found = [((reward == r) & (used == c)).sum() for r, c in pairs]
    assert sum(found) == draws
    assert stats.chisquare(found).pvalue > 1e-6


def test_arms_of_all_distributions_stand_side_by_side():
    problem = Problem(list(DISTRIBUTIONS.values()), LIMITS, COST, PENALTY)
    curves = simulate(problem, {"it": RCUCB()}, horizon=500, replications=4)
    assert curves.mean("it", "regret")[-1] < 500 * problem.gaps.mean()


# How it prints, and what is refused.


def test_it_prints_in_short():
    assert repr(reconstructed_problem("Indep", "small", arms=1)) == (
        "Problem(1 arm, 3 limits up to 0.9, cost=Power(slope=0.1), "
        "penalty=Power(slope=0.1, factor=0.2, power=4))"
    )
    assert "any limit up to 1" in repr(reconstructed_problem("Indep", continuous=True))
    assert repr(DISTRIBUTIONS["own"]) == "CustomDistribution(triangle, numbers=[0.8, 0.3])"


def too_rich(rng, numbers):
    return 2 * uniform(rng), exponential(rng)


def negative(rng, numbers):
    return uniform(rng), -exponential(rng)


def with_distribution(distribution):
    return lambda: Problem([distribution], [1.0], COST, PENALTY)


ARM = BetaExponential(5, 5, 1)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Problem([], [1.0], COST, PENALTY), "arms must have at least one entry, got none"),
        (
            lambda: Problem(ARM, [1.0], COST, PENALTY),
            "arms must be a list of distributions, got Beta",
        ),
        (with_distribution(0.5), r"arms\[0\] must be a distribution, such as .*, got 0.5"),
        (lambda: Problem([ARM], [], COST, PENALTY), "limits must have at least one entry"),
        (lambda: Problem([ARM], [0.5, 0.2], COST, PENALTY), "limits must rise, got 0.2 after 0.5"),
        (lambda: Problem([ARM], [0.5, 0.5], COST, PENALTY), "limits must rise, got 0.5 after 0.5"),
        (lambda: Problem([ARM], [0, 0.5], COST, PENALTY), r"limits\[0\] must be above 0, got 0"),
        (lambda: Problem([ARM], [-1.0], COST, PENALTY), r"limits\[0\] must be above 0, got -1"),
        (lambda: Problem([ARM], 1.0, COST, PENALTY), "limits must be a list of numbers, got 1.0"),
        (
            lambda: Problem([ARM], [1.0], COST, PENALTY, continuous=1),
            "continuous must be True or False, got 1",
        ),
        (
            lambda: Problem([ARM], [1.0], 0.1, PENALTY),
            r"cost must be a function, such as Power\(slope=0.1\), got 0.1",
        ),
        (
            lambda: Problem([ARM], [1.0, 20.0], COST, PENALTY),
            r"cost must lie in \[0, 1\] up to the largest limit, got 2 at 20",
        ),
        (
            lambda: Problem([ARM], [1.0], lambda x: 1 - x, PENALTY),
            "cost must not fall, got .* at 0.000244141 after 1 at 0",
        ),
        (
            lambda: Problem([ARM], [1.0], COST, lambda x: -x),
            r"penalty\(0.000244141\) must be at least 0, got -0.000244140625",
        ),
        (
            lambda: Problem([ARM], [1e90], Power(), Power(factor=1, power=9)),
            r"penalty\(1e\+90\) must be a finite number, got inf",
        ),
        (lambda: Power(slope=-1), "slope must be at least 0, got -1"),
        (lambda: Power(factor=1, power=0), "power must be above 0, got 0"),
        (lambda: Steps([0.5], [0.3, 0.1]), "values must not fall, got 0.1 after 0.3"),
        (lambda: Steps([0.5, 0.5], [0, 0, 0]), "points must rise, got 0.5 after 0.5"),
        (lambda: Steps([0.5], [0.3]), "values must have 2 entries, got 1"),
        (lambda: PiecewiseLinear([0, 1], [0.3, 0.1]), "values must not fall, got 0.1 after 0.3"),
        (lambda: PiecewiseLinear([0.1, 1], [0.1, 0.3]), r"points\[0\] must be 0, got 0.1"),
        (lambda: PiecewiseLinear([0, 1], [0.1]), "values must have 2 entries, got 1"),
        (
            lambda: TruncatedNormal((0.5, 0.5), ((1, 2), (2, 1))),
            r"covariance must be symmetric and positive definite, got \[\[1.0, 2.0\], \[2.0, 1.0",
        ),
        (lambda: TruncatedNormal((0.5, 0.5), ((1, 0.1), (0.2, 1))), "must be symmetric and pos"),
        (lambda: TruncatedNormal((0.5, 0.5), ((1, math.nan), (math.nan, 1))), "positive definite"),
        (lambda: TruncatedNormal((0.5, 0.5), (1, 1)), r"covariance must have shape \(2, 2\), got"),
        (lambda: TruncatedNormal((0.5,), np.eye(2)), "mean must have 2 entries, got 1"),
        (
            lambda: TruncatedNormal((9.0, 0.5), np.eye(2)),
            "must leave at least a thousandth of the mass .*, got ",
        ),
        (
            lambda: TruncatedNormal((0.5, -30.0), np.eye(2)),
            "must leave at least a thousandth of the mass .*, got 0",
        ),
        (lambda: BetaExponential(0, 1, 1), "a must be at least 1e-06, got 0"),
        (lambda: BetaExponential(1, 1, 0), "rate must be above 0, got 0"),
        (lambda: Replay([0.5, 1.5], [1, 1]), r"rewards\[1\] must lie in \[0, 1\], got 1.5"),
        (lambda: Replay([0.5], [-1]), r"consumptions\[0\] must be at least 0, got -1"),
        (lambda: Replay([0.5], [1, 2]), "consumptions must have 1 entries, got 2"),
        (
            lambda: triangle_distribution(1.0, 0.5, too_rich),
            r"a reward returned by draw must lie in \[0, 1\], got 1",
        ),
        (
            lambda: triangle_distribution(1.0, 0.5, negative),
            "a consumption returned by draw must be at least 0, got -",
        ),
        (
            lambda: CustomDistribution(
                triangle,
                numbers=[2.0, 0.5],
                density=lambda x: np.exp(-x),
                mean_reward=lambda x: 0.5 + 0 * x,
            ),
            "density must be that of the consumptions returned by draw: up to their median, 1.4.*",
        ),
        (
            lambda: reconstructed_problem("Indep").gain(10, 0.5),
            r"arm must lie in \[0, 10\), got 10",
        ),
        (
            lambda: reconstructed_problem("Indep").gain(0, 2.0),
            r"limit must lie in \(0, 1\], got 2.0",
        ),
        (
            lambda: simulate(
                reconstructed_problem("Indep"), [ZoomingRCUCB()], horizon=9, replications=1
            ),
            "continuous must be True for ZoomingRCUCB",
        ),
    ],
)
def test_bad_input_is_named(make, message):
    with pytest.raises((TypeError, ValueError), match=message):
        make()
