import numpy as np
import pytest

from keyhole import simulate
from keyhole.delayed import (
    QPMD,
    Constant,
    DelayedUCB1,
    Geometric,
    NaivePhases,
    Poisson,
    Problem,
    Uniform,
)
from keyhole.play.interactive_environment import InteractiveEnvironment
from tests.delayed.cases import make_sampler

pytestmark = pytest.mark.interpreted


def list_arrivals(problem, rounds, seed=5):
    """Return what arrives in each round while arms are pulled in turn, as the environment says."""
    environment, found = InteractiveEnvironment(problem, seed=seed, horizon=rounds), []
    for t in range(rounds):
        environment.observe()
        got = environment.respond({"arm": t % problem.arms})
        n = int(got["count"])
        pairs = list(zip(got["sources"][:n].tolist(), got["rewards"][:n].tolist(), strict=True))
        found.append((float(got["total"]), pairs))
    return found


@pytest.mark.parametrize("delay", [Constant(0), Uniform(0, 9), Geometric(30.0)], ids=repr)
def test_rewards_arrive_after_their_delay(delay):
    rounds = 300
    named = Problem([0.3, 0.8], delay, feedback="named")
    due = {}
    draw = make_sampler(named, 5, 0)
    for t in range(1, rounds + 1):
        arm = (t - 1) % 2
        reward, wait = draw(arm, (t - 1) // 2)
        due.setdefault(t + int(wait), []).append((arm, reward))
    found = list_arrivals(named, rounds)
    for t in range(1, rounds + 1):
        assert found[t - 1][1] == due.get(t, [])
        assert found[t - 1][0] == sum(reward for _, reward in due.get(t, []))
    anonymous = list_arrivals(Problem([0.3, 0.8], delay), rounds)
    assert [total for total, _ in anonymous] == [total for total, _ in found]
    assert all(pairs == [] for _, pairs in anonymous)


def test_regret_is_that_of_generated_rewards():
    problem = Problem([0.2, 0.7], Constant(10_000), feedback="named")
    curves = simulate(problem, [DelayedUCB1()], horizon=100, replications=3)
    assert curves.mean("DelayedUCB1()", "regret")[-1] == pytest.approx(50 * 0.5)
    assert curves.mean("DelayedUCB1()", "eliminated_at")[-1] == 101
    assert curves.mean("DelayedUCB1()", "phase")[-1] == 0


def test_recorded_pairs_keep_their_delay():
    problem = Problem.replay([[1.0, 0.5], [0.25]], [[3, 0], [1]], feedback="named")
    assert problem.means.tolist() == [0.75, 0.25]
    found = list_arrivals(problem, 400)
    for _, pairs in found:
        assert all(reward in (1.0, 0.5, 0.25) for _, reward in pairs)
    assert sum(len(pairs) for _, pairs in found) >= 395


def test_memory_does_not_grow_with_the_delay():
    for mean in (5, 5_000):
        problem = Problem([0.2, 0.7], Geometric(mean), feedback="named")
        curves = simulate(problem, [QPMD()], horizon=500, replications=4)
        assert np.isfinite(curves.mean("QPMD(base=UCB1())", "regret")).all()


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Problem([0.5, 1.2], Constant(1)), r"means\[1\] must lie in \[0, 1\], got 1\.2"),
        (lambda: Problem([0.5], 3), "delay must be a distribution, such as .*; got 3"),
        (
            lambda: Problem([0.5], {"distribution": "Posson"}),
            "delay.distribution must be one of .*'Poisson'",
        ),
        (
            lambda: Problem([0.5], {"distribution": "Uniform", "low": 1}),
            "delay.high must be given for Uniform",
        ),
        (
            lambda: Problem([0.5], {"distribution": "Poisson", "mean": 1}),
            "delay: each parameter of Poisson must be one of expected; got 'mean'",
        ),
        (
            lambda: Problem([0.5], {"distribution": "Poisson", "expected": -1}),
            r"delay\.expected must lie in",
        ),
        (lambda: Problem([0.5], Constant(1), feedback="nmed"), "feedback must be one of anonymous"),
        (lambda: Problem.replay([[1.5]], [[0]]), r"rewards\[0\]\[0\] must lie in \[0, 1\]"),
        (lambda: Problem.replay([[1]], [[-1]]), r"delays\[0\]\[0\] must lie in"),
        (lambda: Problem.replay([[1]], [[0.5]]), r"delays\[0\]\[0\] must be a whole number"),
        (lambda: Problem.replay([[1, 0]], [[1]]), r"delays\[0\] must have 2 entries, got 1"),
        (lambda: Problem.replay([[1]], []), "delays must have the arms of rewards, 0; got "),
    ],
)
def test_bad_input_is_named(make, message):
    with pytest.raises((TypeError, ValueError), match=message):
        make()


@pytest.mark.slow
@pytest.mark.compiled
def test_policies_learn_through_the_delay():
    problem = Problem([0.3, 0.8], Poisson(20), feedback="named")
    curves = simulate(problem, [QPMD(), DelayedUCB1()], horizon=5000, replications=100)
    for label in curves.labels:
        assert curves.mean(label, "regret")[-1] < 0.05 * 5000 * 0.5


def test_details_are_what_was_earned_seen_and_pulled():
    means, rounds = [0.3, 0.8], 400
    for feedback in ("anonymous", "named"):
        problem = Problem(means, Constant(3), feedback=feedback)
        curves = simulate(
            problem, [NaivePhases(bound=3)], horizon=rounds, replications=6, details=True
        )
        values = {name: curves.values(curves.labels[0], name)[-1] for name in curves.metrics}
        pulls = values["pulls[0]"] + values["pulls[1]"]
        assert (pulls == rounds).all()
        assert values["regret"] == pytest.approx(0.5 * values["pulls[0]"])
        expected = 0.3 * values["pulls[0]"] + 0.8 * values["pulls[1]"]
        assert np.abs(values["cumulative_reward"] - expected).max() < 5 * 0.5 * rounds**0.5
        assert (values["observations"] == (rounds if feedback == "anonymous" else rounds - 3)).all()


def test_estimate_errors_are_in_units_of_half_the_tolerance():
    policy = NaivePhases(bound=0)
    n = policy.phase_lengths(2000, 2)
    curves = simulate(
        Problem([1.0, 0.75], Constant(0)),
        {"it": policy},
        horizon=2000,
        checkpoints=[2 * n[0] - 1, 2 * n[0], 2 * n[1]],
        replications=50,
        details=True,
    )
    best, worse = (curves.values("it", f"estimate_errors[{arm}]") for arm in (0, 1))
    assert (best == 0).all()
    assert (worse[0] == 0).all()
    for phase in (1, 2):
        pulls = n[phase - 1]
        totals = pulls * (0.75 + worse[phase] * 0.5 ** (phase + 1))
        other = pulls * (0.75 - worse[phase] * 0.5 ** (phase + 1))
        whole = np.minimum(np.abs(totals - totals.round()), np.abs(other - other.round()))
        assert whole.max() < 1e-9
        assert 0 < worse[phase].max() < 2
