"""All policies of the setting: simulation, learner and reference agree."""

import math
from functools import cache
from types import SimpleNamespace

import numpy as np
import pytest

from keyhole import simulate
from keyhole.draws.streams import POLICY, stream, uniform
from keyhole.drivers.learner_step import PENDING
from keyhole.policy import Stream
from keyhole.resource import (
    OUP,
    RCUCB,
    AnytimeZoomingRCUCB,
    BetaExponential,
    FixedLimit,
    HazardThompson,
    HazardUCB,
    LeapsAndBounds,
    Power,
    Problem,
    ReductionThompson,
    ReductionUCB,
    Replay,
    Steps,
    StoOO,
    SuccessiveHalving,
    ZoomingRCUCB,
)
from keyhole.resource.policy_base import net_reward, scale_gain
from keyhole.resource.setting import limit_index
from keyhole.stochastic import KLUCB, UCB1, ThompsonSampling
from tests import interpreted_draws
from tests.lengths import short_or_long
from tests.reference import resource as reference
from tests.reference.resource import play
from tests.resource.cases import drive, learner_of, reconstructed_problem, runs_of
from tests.stochastic.cases import reference_of as base_of

pytestmark = pytest.mark.interpreted

ON_LISTS = (
    RCUCB(),
    RCUCB(alpha=1.5, gain_range=2),
    ReductionUCB(),
    ReductionUCB(alpha=1.5),
    ReductionThompson(),
    HazardThompson(),
    HazardThompson(focus=1, strength=0.5),
    HazardUCB(),
    HazardUCB(alpha=1, strength=2),
    HazardUCB(alpha=0),
    RCUCB(alpha=0),
    SuccessiveHalving(),
    SuccessiveHalving(share=0.6),
    LeapsAndBounds(),
    OUP(),
    OUP(epsilon=0.9, delta=0.99),
)
ON_ALL = (
    ZoomingRCUCB(lipschitz=8),
    ZoomingRCUCB(alpha=0.05, delta=0.3, refine=3, lipschitz=2, gain_range=2),
    ZoomingRCUCB(alpha=0.01, refine=5, lipschitz=1),
    AnytimeZoomingRCUCB(alpha=0.05, refine=3, lipschitz=4),
    AnytimeZoomingRCUCB(alpha=0.3, delta=0.999, lipschitz=8, gain_range=2),
    StoOO(alpha=0.02, lipschitz=8),
    StoOO(alpha=0.005, delta=0.3, refine=3, lipschitz=2),
)
RUNS = np.random.default_rng(4).random((2, 40))
PROBLEMS = {
    "positive correlation": reconstructed_problem("PosCorr", "small", arms=3),
    "negative correlation": reconstructed_problem("NegCorr", arms=2),
    "independent": reconstructed_problem("Indep", "small", arms=4),
    "one pair": Problem([BetaExponential(1, 1, 2)], [0.7], Power(), Power()),
    "measured runs, a penalty that jumps": Problem(
        [Replay(*RUNS), Replay(*RUNS[::-1])],
        [0.2, 0.5, 0.9],
        lambda x: x * x,
        Steps([0.5], [0.3, 0.95]),
    ),
}
SLOW = ("negative correlation", "independent")  # of kinds that the others have, too
IN_TURN = ("positive correlation", "one pair")  # every other policy leaves out the first


def each_with_problems(policies):
    """Return each policy with each problem; in `make test`, with two of them."""
    return [
        pytest.param(
            policy,
            problem,
            id=f"{policy}-{name}",
            marks=[pytest.mark.slow] if name in (*SLOW, IN_TURN[i % 2]) else [],
        )
        for i, policy in enumerate(policies)
        for name, problem in PROBLEMS.items()
    ]


HORIZON = short_or_long(60, 80)
SEED = 11


@cache
def everywhere(problem):
    """Return the same problem with every limit."""
    return Problem(
        problem.distributions, problem.limits, problem.cost, problem.penalty, continuous=True
    )


def reference_of(policy, problem, replication=0):
    """Return the reference implementation of a policy."""
    more = {}
    parameters = policy.parameters()
    if type(policy) in (ZoomingRCUCB, StoOO, SuccessiveHalving):
        more = {"horizon": HORIZON}
    if isinstance(policy, FixedLimit):
        parameters["base"] = base_of(policy.base, problem.arms, HORIZON, SEED)
    if isinstance(policy, (ReductionThompson, HazardThompson)):
        rng = stream(SEED, replication, POLICY)
        more = {"beta": lambda a, b: interpreted_draws.beta(rng, float(a), float(b))}
    if isinstance(policy, ReductionThompson):
        more["uniform"] = lambda: interpreted_draws.uniform(rng)
    return getattr(reference, type(policy).__name__)(
        arms=problem.arms,
        limits=problem.limits.tolist(),
        cost=cache(lambda x: float(problem.cost(x))),
        penalty=cache(lambda x: float(problem.penalty(x))),
        **parameters,
        **more,
    )


def agree(policy, problem):
    run = runs_of(problem, SEED, 0)
    asked, best = play(reference_of(policy, problem), run, HORIZON)
    learner = learner_of(policy, problem, HORIZON, SEED)
    assert drive(learner, run, HORIZON) == asked
    assert learner.recommend() == best
    gained = np.array([problem.best_gain - problem.gain(*pair) for pair in asked])
    curves = simulate(
        problem, {"it": policy}, horizon=HORIZON, replications=1, seed=SEED, details=True
    )
    found = {metric: curves.values("it", metric)[0, 0] for metric in curves.metrics}
    pulls, exceeded, earned, spent = {}, 0, 0.0, 0.0
    for arm, limit in asked:
        reward, used = run(arm, pulls.get(arm, 0))
        pulls[arm] = pulls.get(arm, 0) + 1
        exceeded += used > limit
        earned += reward * (used <= limit)
        spent += min(used, limit)
    assert found["cumulative_reward"] == pytest.approx(earned)
    assert found["time_spent"] == pytest.approx(spent)
    assert found["observations"] == HORIZON - exceeded
    assert found["mean_limit"] == pytest.approx(np.mean([limit for _, limit in asked]))
    for arm in range(problem.arms):
        assert found[f"pulls[{arm}]"] == pulls.get(arm, 0)
    # The gains of all limits are tabulated to 1e-7.
    near = 2e-7 if problem.continuous else 1e-9
    assert found["regret"] == pytest.approx(gained.sum(), abs=HORIZON * near)
    assert found["censored_share"] == pytest.approx(exceeded / HORIZON)
    on_best = [arm == problem.best_pair[0] for arm, _ in asked]
    assert found["best_arm_share"] == pytest.approx(np.mean(on_best))
    assert found["simple_regret"] == pytest.approx(
        problem.best_gain - problem.gain(*best), abs=near
    )
    if not problem.continuous:
        assert found["best_pair_share"] == pytest.approx(asked.count(problem.best_pair) / HORIZON)


@pytest.mark.parametrize(("policy", "problem"), each_with_problems(ON_LISTS))
def test_learner_and_engine_do_what_the_reference_does(policy, problem):
    agree(policy, problem)


@pytest.mark.parametrize(("policy", "problem"), each_with_problems([*ON_ALL, RCUCB()]))
def test_they_do_so_where_every_limit_may_be_chosen(policy, problem):
    agree(policy, everywhere(problem))


@pytest.mark.parametrize("base", [UCB1(), KLUCB(), ThompsonSampling()], ids=repr)
@pytest.mark.parametrize("name", ["positive correlation", "measured runs, a penalty that jumps"])
def test_one_limit_is_a_classical_bandit(name, base):
    problem = PROBLEMS[name]
    for limit in problem.limits[-1:]:
        agree(FixedLimit(limit=limit, base=base), problem)
    agree(FixedLimit(limit=0.37, base=base), everywhere(problem))


def test_a_limit_is_found_in_spite_of_rounding():
    problem = reconstructed_problem("Indep", arms=2)
    assert 0.46 not in problem.limits.tolist()
    for limit in np.round(problem.limits, 2):
        learner = learner_of(FixedLimit(limit=float(limit)), problem, None)
        assert learner.ask()[1] in problem.limits


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: RCUCB(alpha=-1), "alpha must be at least 0, got -1"),
        (lambda: RCUCB(gain_range=3), r"gain_range must lie in \(0, 2\], got 3"),
        (lambda: HazardThompson(focus=0.5), "focus must be at least 1, got 0.5"),
        (lambda: HazardUCB(strength=0), "strength must be above 0, got 0"),
        (lambda: SuccessiveHalving(share=2), r"share must lie in \(0, 1\], got 2"),
        (lambda: ZoomingRCUCB(refine=1), r"refine must lie in \[2, 64\], got 1"),
        (lambda: ZoomingRCUCB(refine=2.5), "refine must be a whole number, got 2.5"),
        (lambda: ZoomingRCUCB(delta=1), r"delta must lie in \(0, 1\), got 1"),
        (lambda: ZoomingRCUCB(lipschitz=-1), "lipschitz must be above 0, got -1"),
        (
            lambda: learner_of(ZoomingRCUCB(), PROBLEMS["one pair"], 10),
            "continuous must be True for ZoomingRCUCB, which chooses among all limits up to the "
            "largest, got False",
        ),
        (
            lambda: learner_of(ZoomingRCUCB(), everywhere(PROBLEMS["one pair"]), None),
            r"horizon \(rounds in all\) must be given",
        ),
        (
            lambda: learner_of(
                ZoomingRCUCB(lipschitz=1e5), everywhere(PROBLEMS["one pair"]), 10**6
            ),
            r"lipschitz must be smaller, got 100000: the grids may need \d+ points per arm, and "
            "1048576",
        ),
        (lambda: FixedLimit(limit=0), "limit must be above 0, got 0"),
        (lambda: FixedLimit(limit=1, base=RCUCB()), "base must be a policy of the setting 'stoc"),
        (
            lambda: learner_of(FixedLimit(limit=0.5), PROBLEMS["independent"], None),
            "limit must be one of 0.3, 0.6, 0.9, got 0.5",
        ),
        (
            lambda: learner_of(FixedLimit(limit=0.8), everywhere(PROBLEMS["one pair"]), None),
            "limit must be at most 0.7, got 0.8",
        ),
        (
            lambda: FixedLimit(limit=0.5).learner(
                arms=1, limits=[0.5, 1.0], cost=Power(slope=0.5), penalty=Power(slope=0.2)
            ),
            "penalty must be at least the cost at the limit, 0.25, for FixedLimit; got 0.1",
        ),
        (
            lambda: ReductionUCB().learner(
                arms=1, limits=[1.0], cost=Power(slope=0.5), penalty=Power(slope=0.2)
            ),
            "penalty must be at least the cost at the largest limit, 0.5, for ReductionUCB; "
            "got 0.2",
        ),
        (
            lambda: simulate(
                Problem([BetaExponential(1, 1, 1)], [1.0], Power(slope=0.5), Power()),
                [ReductionThompson()],
                horizon=2,
                replications=1,
            ),
            "penalty must be at least the cost at the largest limit, 0.5, for ReductionThompson",
        ),
    ],
)
def test_bad_input_is_named(make, message):
    with pytest.raises((TypeError, ValueError), match=message):
        make()


def test_a_limit_that_may_not_be_chosen_is_refused():
    class Outside(RCUCB):
        def select(p, t):
            return 0, 0.55

    with pytest.raises(ValueError, match="took a decision that the setting does not allow"):
        simulate(PROBLEMS["independent"], [Outside()], horizon=2, replications=1)
    simulate(everywhere(PROBLEMS["independent"]), [Wanders()], horizon=2, replications=1)


class Wanders(RCUCB):
    """Plays limits that are in no list, and never above the largest."""

    def select(p, t):
        return 0, 0.55


@pytest.mark.slow
@pytest.mark.compiled
@pytest.mark.parametrize("instance", ["PosCorr", "NegCorr", "Indep"])
def test_rcucb_has_less_regret_than_both_reductions_as_in_the_paper(instance):
    policies = {"RCUCB": RCUCB(), "UCB": ReductionUCB(), "Thompson": ReductionThompson()}
    curves = simulate(
        reconstructed_problem(instance), policies, horizon=30_000, replications=12, seed=3
    )
    for other in ("UCB", "Thompson"):
        gap = curves.paired("RCUCB", other, metric="regret", round=30_000)
        assert gap.high < 0, other
    censored = {label: curves.mean(label, "censored_share")[-1] for label in policies}
    assert censored["RCUCB"] < censored["Thompson"] < censored["UCB"]


class PlayedPairAlone(ReductionThompson):
    """Thompson sampling on pairs whose coin is tossed for the played pair alone."""

    def update(
        p,
        s,
        rng: Stream,
        arm: int,
        limit: float,
        reward: float,
        consumption: float,
        exceeded: int,
    ) -> None:
        """Toss one coin."""
        place = limit_index(p.limits, limit)
        s.plays[arm, place] += 1
        worth = -s.penalties[place]
        if exceeded == 0:
            worth = net_reward(p.cost, reward, consumption, exceeded)
        if uniform(rng) < scale_gain(worth, s.penalties[p.limit_count - 1]):
            s.successes[arm, place] += 1.0
        else:
            s.failures[arm, place] += 1.0


@pytest.mark.compiled
@pytest.mark.slow
@pytest.mark.parametrize("instance", ["PosCorr", "NegCorr", "Indep"])
def test_thompson_sampling_is_better_with_a_coin_for_every_limit_up_to_the_one_played(instance):
    policies = {"every": ReductionThompson(), "one": PlayedPairAlone()}
    curves = simulate(
        reconstructed_problem(instance, "main"), policies, horizon=10_000, replications=20, seed=1
    )
    gap = curves.paired("every", "one", metric="regret", round=10_000)
    assert gap.high < -20.0


def test_nothing_learnt_makes_no_recommendation_necessary():
    learner = learner_of(RCUCB(), PROBLEMS["independent"], None)
    assert "0 rounds" in repr(learner)
    assert math.isfinite(learner.ask()[1])


@pytest.mark.parametrize("policy", [RCUCB(), ReductionUCB()], ids=repr)
def test_ties_go_to_the_lowest_arm_and_then_to_the_smallest_limit(policy):
    learner = policy.learner(arms=2, limits=[0.5, 0.8, 1.0], cost=Power(), penalty=Power())
    first = 2 if isinstance(policy, RCUCB) else 6
    for _ in range(first):
        learner.ask()
        learner.tell(exceeded=True)
    assert learner.ask() == (0, 0.5)


@pytest.mark.parametrize("policy", [RCUCB(), ReductionUCB(), ReductionThompson()], ids=repr)
def test_an_arm_whose_first_run_never_came_back_is_run_again(policy):
    learner = policy.learner(arms=2, limits=[0.5, 1.0], cost=Power(), penalty=Power())
    for t in range(40):
        arm, _ = learner.ask()
        if t == 1:
            lost = arm
            learner._header[PENDING] = 0  # forgotten
            continue
        learner.tell(exceeded=True)
    assert learner.state["plays"][lost].sum() > 10


def test_a_run_that_is_open_has_outlived_its_age():
    made = {"arms": 1, "limits": [0.2, 0.4, 0.6], "cost": Power(), "penalty": Power(constant=1)}
    learner = RCUCB().learner(**made)
    for consumption in (0.1, 0.3):
        learner.ask()
        learner._decision["limit"][...] = 0.6
        learner.tell(reward=1, consumption=consumption)
    state = SimpleNamespace(**learner.state)
    known = SimpleNamespace(limits=np.array(made["limits"]), gain_range=1.0, alpha=0.5)
    RCUCB.impute(known, state, 0.25, 0, 0.6)
    assert state.told[0].tolist() == [3, 3, 3]
    assert state.over[0].tolist() == [2, 0, 0]  # it was one of two, and now it is two of three
    assert state.net[0].tolist() == [1, 3, 3]  # as of the run that was as old: it brought 1
