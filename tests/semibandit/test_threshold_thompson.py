"""ThresholdThompson: its posterior, its bounds after many rounds, and where it finds thresholds."""

import math
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from keyhole import simulate
from keyhole.contract.state_arrays import Layout, declared_fields
from keyhole.semibandit import Problem, ThresholdThompson
from keyhole.semibandit.threshold_posterior import (
    PIECES,
    ThresholdPosterior,
    allocation_in_piece,
    begin_posterior,
    learn_loss,
    learn_no_loss,
    piece_mass,
    piece_start,
    threshold_quantile,
)

pytestmark = pytest.mark.interpreted


def prior(resource=2.0):
    """Return the state of one arm of which nothing is known."""
    layout, sizes = Layout(declared_fields(ThresholdPosterior), ["arms"]), {"arms": 1}
    state = SimpleNamespace(**layout.views(np.zeros(layout.size(sizes)), sizes))
    begin_posterior(state, 0, resource)
    return state


def learn(state, amount, loss):
    (learn_loss if loss else learn_no_loss)(state, 0, amount)


def log_likelihood(threshold, rounds):
    """Return ln P(rounds | threshold), with the mean loss integrated out, from its definition."""
    if any(loss and amount >= threshold for amount, loss in rounds):
        return -math.inf
    losses = sum(loss for _, loss in rounds)
    clears = sum(not loss for amount, loss in rounds if amount < threshold)
    return math.lgamma(1 + losses) + math.lgamma(1 + clears) - math.lgamma(2 + losses + clears)


AMOUNTS = (0.0, 0.1, 0.25, 1 / 3, 0.5, 0.7, 0.9, 1.0)
rounds_seen = st.lists(st.tuples(st.sampled_from(AMOUNTS), st.booleans()), max_size=60)


@settings(max_examples=40)
@given(rounds=rounds_seen, threshold=st.sampled_from(AMOUNTS[1:]))
def test_the_posterior_is_that_of_bayes_while_no_pieces_are_merged(rounds, threshold):
    state, told = prior(), []
    for amount, loss in rounds:
        told.append((amount, loss and amount < threshold))
        learn(state, *told[-1])
    ends = state.ends[0, : state.pieces[0]]
    first = log_likelihood(ends[0], told)
    for piece, end in enumerate(ends):
        assert piece_start(state, 0, piece) < end
        exact = math.exp(log_likelihood(end, told) - first)
        assert state.weights[0, piece] == pytest.approx(exact, rel=1e-9)
    assert state.lows[0] == max((amount for amount, loss in told if loss), default=0)


@settings(max_examples=40)
@given(
    rounds=st.lists(st.tuples(st.floats(0, 1), st.booleans()), min_size=20, max_size=60),
    threshold=st.floats(0.05, 1),
)
def test_pieces_stay_in_order_and_few_when_they_are_split_and_merged(rounds, threshold):
    state = prior()
    for amount, loss in rounds:
        learn(state, amount, loss and amount < threshold - 1e-9)
        assert 1 <= state.pieces[0] <= PIECES
        ends = state.ends[0, : state.pieces[0]]
        assert np.all(np.diff([state.lows[0], *ends]) > 0)
        assert ends[-1] == 1
        assert state.lows[0] < threshold
        assert state.weights[0, 0] == 1
        assert state.further[0, 0] == 0
        assert np.all(np.diff(state.further[0, : state.pieces[0]]) >= 0)


@pytest.mark.parametrize("mean", [0.001, 0.5, 0.999])
def test_weights_neither_vanish_nor_overflow(mean):
    state, rng = prior(0.5), np.random.default_rng(1)
    # Against the rules, means change, and what was sufficient no longer is.
    for k in range(6000):
        amount = (0.0, 0.2, 0.4, 0.9)[int(rng.integers(4))]
        chance = mean if k < 3000 else 1 - mean
        learn(state, amount, rng.random() < chance * (amount == 0 or k > 5000))
        weights = state.weights[0, : state.pieces[0]]
        assert np.all((weights > 0) & (weights <= 1))
    learn(state, 1.0, True)
    assert state.pieces[0] == 1
    assert 0 < piece_mass(state, 0, 0) < 1e-8


def test_what_is_reported_is_enough_with_the_probability_asked_for():
    state = prior()
    for _ in range(4):
        learn(state, 0.0, True)
    for _ in range(2):
        learn(state, 0.5, False)
    # Above 1/2 the density is B(5, 3) / B(5, 1) = 1/21 of that below.
    assert threshold_quantile(state, 0, 0.05) == 0.5
    assert threshold_quantile(state, 0, 0.04) == 1.0


@pytest.mark.parametrize(
    ("low", "high", "plan", "expected"),
    [
        (0.2, 0.6, 0, 0.5),
        (0.2, 0.6, 1, 1 / 2),
        (0.3, 0.4, 1, 1 / 3),
        (0.34, 0.4, 1, 0.385),
        (0.33, 0.37, 2, 0.35),
        (0.2, 0.6, 2, 0.5),
        (0.0, 1.0, 2, 1.0),
        (0.123, 0.124, 2, 0.124),
        (0.4, 0.4 + 1e-9, 2, 0.4 + 1e-9),
    ],
)
def test_parts_of_the_resource_and_round_numbers_are_found(low, high, plan, expected):
    assert allocation_in_piece(low, high, 0.25, 1.0, 4, plan) == pytest.approx(expected, abs=1e-12)


def test_an_allocation_is_kept_but_for_a_loss_that_shows_something_new():
    learner, rng = ThresholdThompson().learner(arms=5, resource=1.0), np.random.default_rng(2)
    kept, changes, most, last = 0, 0, np.zeros(5), None
    for t in range(1, 901):
        asked = learner.ask()
        if kept:
            kept -= 1
            assert np.all(asked == last), t
        else:
            kept = t // 200
            changes += t > 400 and np.any(asked != last)
        losses = (asked < 0.4) & (rng.random(5) < 0.5)
        if np.any(losses & (asked > most + 1e-9)):
            kept = 0
        most, last = np.maximum(most, losses * asked), asked
        learner.tell(losses)
    assert 20 < changes < 250


@pytest.mark.slow
@pytest.mark.compiled
@pytest.mark.parametrize(
    ("means", "thresholds", "resource"),
    [
        ([0.7, 0.65, 0.6, 0.5, 0.45], 0.4, 2.0),
        ([0.6, 0.5, 0.8], 1 / 3, 1.0),
        ([0.8, 0.6, 0.7, 0.5, 0.3], [0.25, 0.35, 0.4, 0.6, 0.15], 1.0),
    ],
)
def test_equal_and_round_thresholds_that_fill_the_resource_are_nearly_always_found(
    means, thresholds, resource
):
    problem, replications = Problem(means, thresholds, resource), 400
    assert problem.residual == pytest.approx(0, abs=1e-9)
    curves = simulate(
        problem, {"it": ThresholdThompson()}, horizon=4000, replications=replications,
        checkpoints=[2000, 4000], seed=7,
    )  # fmt: skip
    middle, end = curves.values("it", "regret")
    # An allocation that leaves out one of the arms for good would lose .3 to .5 a round. Of the
    # third problem 1 run in 400 does; the bound is 5 standard errors above.
    lost = np.mean(end - middle > 0.05 * 2000)
    assert lost <= 1 / 400 + 5 * math.sqrt(1 / 400 / replications)
    assert np.median(end - middle) < 10


@pytest.mark.slow
@pytest.mark.compiled
def test_reports_are_too_low_as_rarely_as_delta_says_if_the_prior_is_right():
    rng, delta, low = np.random.default_rng(4), 0.1, []
    for seed in range(300):
        problem = Problem(rng.uniform(0, 1, 3), rng.uniform(0.001, 1, 3), resource=1.2)
        policy = ThresholdThompson(delta=delta)
        curves = simulate(problem, {"it": policy}, horizon=100, replications=1, seed=seed)
        low.append(curves.mean("it", "too_low")[-1] / 3)
    # Arms of one problem are not independent: the standard error is that of the problems' shares.
    assert 0 < np.mean(low) <= delta + 5 * np.std(low, ddof=1) / math.sqrt(len(low))


@pytest.mark.slow
@pytest.mark.compiled
def test_sevenths_that_fill_the_resource_are_not_found():
    problem = Problem([0.8, 0.6, 0.7], [1 / 7, 2 / 7, 4 / 7], resource=1)
    curves = simulate(
        problem, {"it": ThresholdThompson()}, horizon=4000, replications=10,
        checkpoints=[2000, 4000], seed=7,
    )  # fmt: skip
    middle, end = curves.values("it", "regret")
    assert np.all(end - middle > 0.5 * 2000)
