"""Batches of beta variates equal single draws."""

import re
from types import FunctionType

import numpy as np
import pytest

from keyhole.draws.samplers import _draw_none_of_four, beta, beta_by_steps, betas
from keyhole.draws.streams import stream
from keyhole.kernels.kernel_decorators import kernel
from keyhole.policy import float_array, int_array
from keyhole.stochastic import Policy


@kernel
def one_by_one(rng, a, b, count, out):
    for i in range(count):
        out[i] = beta(rng, a[i], b[i])


@kernel
def step_by_step(rng, a, b, count, out):
    for i in range(count):
        out[i] = beta_by_steps(rng, a[i], b[i])


def shapes(count, scale, rng):
    return 1.0 + np.floor(rng.exponential(scale, count))


@pytest.mark.parametrize("other", [one_by_one, step_by_step])
@pytest.mark.parametrize("scale", [0.5, 30.0, 1e5, 1e12])
def test_they_are_the_same_bits_and_leave_the_stream_at_the_same_place(scale, other):
    rng = np.random.default_rng(1)
    for count in [*range(1, 20), 3000]:
        a, b = shapes(count, scale, rng), shapes(count, scale, rng)
        a[rng.random(count) < 0.1] = 0.3  # shapes below 1 are never the usual case
        here, there = stream(count), stream(count)
        ours, theirs = np.empty(count), np.empty(count)
        betas(here, a, b, count, ours)
        other(there, a, b, count, theirs)
        assert ours.tobytes() == theirs.tobytes()
        assert here[0] == there[0]


def test_entries_after_the_last_are_unchanged():
    out = np.full(7, 9.0)
    betas(stream(3), np.full(7, 2.0), np.full(7, 2.0), 5, out)
    assert (out[5:] == 9.0).all()


def test_the_polynomial_bound_lies_below_the_logarithms():
    y = np.linspace(-0.5, 10.0, 100_001)[1:]
    assert (np.log1p(y) - y + y**2 / 2 - y**3 / 3 >= -0.45 * y**4).all()


def test_vectors_of_another_type_are_refused_by_name():
    good, table = np.full(4, 2.0), np.full((4, 3), 2.0)
    for bad, kind in (
        (np.full(4, 2), "int64, 1d, C"),
        (table, "float64, 2d, C"),
        (table[:, 0], "float64, 1d, A"),
    ):
        words = f"vector of float64 whose numbers lie side by side, got array({kind})"
        for vectors in ((bad, good), (good, bad)):
            name = "ab"[vectors[1] is bad]
            with pytest.raises(TypeError, match=re.escape(f"betas: {name} must be a {words}")):
                betas(stream(1), *vectors, 4, np.empty(4))
        with pytest.raises(TypeError, match=re.escape(f"betas: out must be a {words}")):
            betas(stream(1), good, good, 4, bad)


def test_a_policy_with_integer_shapes_is_refused():
    class Counting(Policy):
        class State:
            ups = int_array("arms")
            drawn = float_array("arms")

        def select(p, s, rng):
            betas(rng, s.ups, s.drawn, p.arms, s.drawn)
            return 0

        def update(p, s, arm, reward):
            s.ups[arm] += 1

        def recommend(p, best):
            best[0] = 0

    with pytest.raises(TypeError, match=r"betas: a must be .* got array\(int64"):
        Counting().learner(arms=3)


def test_batches_work_without_vector_instructions(monkeypatch):
    slow = {"_draw_four": kernel(_draw_none_of_four)}
    copied = kernel(FunctionType(betas.py_func.__code__, betas.py_func.__globals__ | slow))
    rng = np.random.default_rng(2)
    a, b = shapes(30, 5.0, rng), shapes(30, 5.0, rng)
    here, there, ours, theirs = stream(1), stream(1), np.empty(30), np.empty(30)
    betas(here, a, b, 30, ours)
    copied(there, a, b, 30, theirs)
    assert ours.tobytes() == theirs.tobytes()
    assert here[0] == there[0]
