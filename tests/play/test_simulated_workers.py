"""Several workers: decisions are open for a while, and are told in any order."""

import numpy as np
import pytest

from keyhole import simulate
from keyhole.delayed import DelayedUCB1
from keyhole.delayed import Problem as Delayed
from keyhole.delayed.delay_distributions import Constant as Rounds
from keyhole.distributions.busy_times import Constant, Consumption, Exponential, Scaled
from keyhole.draws.samplers import exponential
from keyhole.draws.streams import WORKERS, stream
from keyhole.policy import float_array, uniform
from keyhole.resource import RCUCB
from keyhole.semibandit import ESCB
from keyhole.semibandit import Problem as Patrols
from keyhole.stochastic import KLUCB, UCB1, ImprovedUCB, ThompsonSampling
from keyhole.stochastic import Problem as Classical
from keyhole.threshold import AnytimeKaplanMeierUCB
from keyhole.threshold import Problem as Levels
from keyhole.thresholding import LSA, Policy, Problem, RoundRobin
from tests.reference.parallel import play
from tests.resource.cases import reconstructed_problem
from tests.stochastic.cases import FIVE, bernoulli, reference_of

pytestmark = pytest.mark.interpreted


class Tossing(Policy):
    """Labels an arm by a coin that it tosses when it learns."""

    pending = ("ignore",)

    class State:
        coin = float_array("arms")

    def select(p, t):
        return t % p.arms

    def update(p, s, rng, arm):
        s.coin[arm] = uniform(rng)

    def recommend(p, s, labels):
        for arm in range(p.arms):
            labels[arm] = s.coin[arm] > 0.5


LABELS = Problem(means=[0.2, 0.45, 0.7], threshold=0.5)
SETTINGS = [
    pytest.param(LSA(), LABELS, marks=pytest.mark.compiled),
    (Tossing(), LABELS),
    (ThompsonSampling(), Classical([0.3, 0.6, 0.4], distribution="beta", concentration=2)),
    (RCUCB(), reconstructed_problem("Indep", "small", arms=3)),
    (ESCB(m=1), Patrols(mean_losses=[0.2, 0.5, 0.8], thresholds=[0.5] * 3, resource=1.0)),
]


@pytest.mark.interpreted
@pytest.mark.parametrize(("policy", "problem"), SETTINGS, ids=lambda one: type(one).__name__)
def test_one_worker_decides_as_if_decisions_took_no_time(policy, problem):
    asked = {"horizon": 60, "checkpoints": [40, 60], "replications": 6, "details": True}
    alone = simulate(problem, {"it": policy}, **asked)
    for pending in (*policy.pending, "wait"):
        timed = simulate(problem, {"it": policy}, duration=Exponential(), pending=pending, **asked)
        assert timed.metrics == (*alone.metrics, "clock")
        for metric in alone.metrics:
            assert np.array_equal(timed.values("it", metric), alone.values("it", metric))


def test_who_waits_takes_one_decision_at_a_time():
    asked = {"horizon": 100, "replications": 8, "duration": Exponential(mean=3)}
    alone = simulate(LABELS, {"it": LSA()}, **asked)
    waiting = simulate(LABELS, {"it": LSA()}, workers=8, pending="wait", **asked)
    for metric in alone.metrics:
        assert np.array_equal(alone.values("it", metric), waiting.values("it", metric))


def pulled(policy, problem, rounds, **how):
    """Return which arm each decision of replication 0 was, and the clock after it."""
    curves = simulate(
        problem, {"it": policy}, horizon=rounds, checkpoints=range(1, rounds + 1), replications=1,
        seed=7, details=True, **how,
    )  # fmt: skip
    pulls = [curves.values("it", f"pulls[{arm}]")[:, 0] for arm in range(problem.arms)]
    steps = np.diff(np.array(pulls), axis=1, prepend=0)
    return steps.argmax(axis=0).tolist(), curves.values("it", "clock")[:, 0]


@pytest.mark.parametrize(
    ("policy", "pending", "workers"),
    [
        (UCB1(), "impute", 1),
        (UCB1(), "impute", 20),
        (KLUCB(), "impute", 3),
        (ThompsonSampling(), "ignore", 3),
        (ThompsonSampling(), "ignore", 20),
    ],
    ids=repr,
)
def test_the_reference_takes_the_same_decisions(policy, pending, workers):
    rng, rounds = stream(7, 0, WORKERS), 100
    arms, clocks = play(
        reference_of(policy, 5, rounds, 7),
        bernoulli(FIVE, 7, 0),
        lambda t, arm, reward: (0.2 + 1.8 * reward) * exponential(rng),
        workers=workers,
        impute=pending == "impute",
        rounds=rounds,
    )
    how = {"workers": workers, "pending": pending, "duration": Scaled(rewards=[0.2, 2])}
    found, clock = pulled(policy, Classical(FIVE), rounds, **how)
    assert found == arms
    assert clock == pytest.approx(clocks)


def test_equal_times_are_told_in_the_order_of_the_decisions():
    arms, clocks = play(
        reference_of(UCB1(), 5, 60, 7), bernoulli(FIVE, 7, 0), lambda t, arm, reward: 1.0,
        workers=4, impute=True, rounds=60,
    )  # fmt: skip
    found, clock = pulled(UCB1(), Classical(FIVE), 60, workers=4)
    assert found == arms
    assert clock.tolist() == clocks == [1 + t // 4 for t in range(60)]


@pytest.mark.compiled
def test_results_do_not_depend_on_threads_or_on_who_else_plays():
    asked = {"horizon": 200, "replications": 20, "workers": 5, "duration": Exponential()}
    one = simulate(LABELS, {"it": LSA()}, threads=1, **asked)
    other = simulate(LABELS, {"it": LSA(), "other": RoundRobin()}, threads=3, **asked)
    for metric in one.metrics:
        assert np.array_equal(one.values("it", metric), other.values("it", metric))


def test_a_checkpoint_waits_for_all_that_is_open():
    # With as many workers as decisions nothing is told before the checkpoint, and all is then.
    curves = simulate(
        LABELS,
        {"it": RoundRobin()},
        horizon=300,
        replications=20,
        workers=300,
        duration=Constant(5),
    )
    alone = simulate(LABELS, {"it": RoundRobin()}, horizon=300, replications=20)
    assert curves.mean("it", "clock") == [5]
    assert np.array_equal(
        curves.values("it", "aggregate_regret"), alone.values("it", "aggregate_regret")
    )


@pytest.mark.compiled
def test_a_context_belongs_to_its_decision():
    problem = Levels([[0.9, 0.6, 0.5, 0.1], [0.8, 0.7, 0.3, 0.25]], feedback="censored")
    asked = {"horizon": 400, "replications": 50, "workers": 6, "duration": Exponential()}
    curves = simulate(problem, {"it": AnytimeKaplanMeierUCB()}, **asked)
    alone = simulate(problem, {"it": AnytimeKaplanMeierUCB()}, **asked | {"workers": 1})
    assert alone.mean("it", "regret")[-1] < curves.mean("it", "regret")[-1]
    assert curves.mean("it", "regret")[-1] < 1.3 * alone.mean("it", "regret")[-1]


def test_a_run_takes_what_it_consumes_up_to_its_limit():
    problem = reconstructed_problem("Indep", "small", arms=3)
    asked = {"horizon": 100, "replications": 8, "duration": Consumption()}
    for workers in (1, 4):
        curves = simulate(problem, {"it": RCUCB()}, workers=workers, checked=True, **asked)
        assert 0 < curves.mean("it", "clock")[-1] < 0.9 * 100


REFUSED = [
    ({"workers": 0}, "workers must lie in .1, 65536., got 0"),
    ({"workers": 2.5}, "workers must be a whole number"),
    ({"pending": "imput"}, r"pending must be .*got 'imput' \(did you mean 'impute'\?\)"),
    ({"duration": 3}, "duration must be a distribution, such as .*got 3"),
    ({"workers": 2, "duration": Consumption()}, "fits the setting 'thresholding'.* no limit"),
    ({"duration": Scaled(arms=[1, 2])}, "arms of the duration must be 3 factors, got 2"),
]


@pytest.mark.parametrize(("how", "message"), REFUSED, ids=lambda one: str(one)[:30])
def test_what_is_not_allowed_is_refused(how, message):
    with pytest.raises((TypeError, ValueError), match=message):
        simulate(LABELS, [LSA()], horizon=10, replications=1, **how)


def test_what_a_policy_cannot_do_is_refused():
    words = r"^pending must be 'ignore' or 'wait' for RoundRobin\(\), got 'impute'$"
    with pytest.raises(ValueError, match=words):
        simulate(LABELS, [RoundRobin()], horizon=10, replications=1, workers=2, pending="impute")
    problem = Classical([0.2, 0.4])
    curves = simulate(problem, [ImprovedUCB()], horizon=10, replications=1, workers=2)
    assert curves.mean("ImprovedUCB()", "clock") == [10]  # it waits, unless told otherwise


def test_there_are_no_workers_where_rounds_are_time():
    problem = Delayed([0.2, 0.4], delay=Rounds(2), feedback="named")
    with pytest.raises(ValueError, match="workers must be 1 in the setting 'delayed', got 2"):
        simulate(problem, [DelayedUCB1()], horizon=10, replications=1, workers=2)


def test_the_nth_decision_takes_equally_long_for_every_policy():
    asked = {"horizon": 50, "replications": 5, "workers": 6, "duration": Exponential()}
    curves = simulate(LABELS, {"a": LSA(), "b": RoundRobin()}, **asked)
    assert np.array_equal(curves.values("a", "clock"), curves.values("b", "clock"))
