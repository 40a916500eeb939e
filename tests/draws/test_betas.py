"""Many beta variates at once are those of one after the other."""

import numpy as np
import pytest

from keyhole.draws.betas import betas
from keyhole.draws.samplers import beta, beta_by_steps
from keyhole.draws.streams import stream
from keyhole.kernels.jit import kernel


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


def test_what_lies_behind_the_last_is_left_alone():
    out = np.full(7, 9.0)
    betas(stream(3), np.full(7, 2.0), np.full(7, 2.0), 5, out)
    assert (out[5:] == 9.0).all()


def test_the_bound_that_spares_logarithms_lies_below_what_they_say():
    y = np.linspace(-0.5, 10.0, 100_001)[1:]
    assert (np.log1p(y) - y + y**2 / 2 - y**3 / 3 >= -0.45 * y**4).all()
