import numpy as np
import pytest

from keyhole import simulate
from keyhole.thresholding import BoundCoverageProblem, RoundRobin, bounds
from tests.lengths import short_or_long
from tests.thresholding.cases import bernoulli

HORIZON = 300
RUNS = short_or_long(40, 200)


def ever_outside(means, radii):
    """Return in how many runs a running mean leaves 1/2 by more than a radius, up to each t."""
    return (np.abs(means - 0.5) > radii).cumsum(axis=1) > 0


@pytest.mark.interpreted
def test_means_that_leave_the_bounds_are_counted():
    problem = BoundCoverageProblem([0.5], a=3.5, b=4.0)
    assert 0.9 < problem.failure < 1
    checkpoints = [1, 20, HORIZON]
    curves = simulate(
        problem,
        {"it": RoundRobin()},
        horizon=HORIZON,
        checkpoints=checkpoints,
        replications=RUNS,
        seed=4,
    )
    draws = [[bernoulli([0.5], 4, run)(0, n) for n in range(HORIZON)] for run in range(RUNS)]
    t = np.arange(1, HORIZON + 1)
    means = np.cumsum(draws, axis=1) / t
    radii = bounds.confidence_sequence(t, HORIZON, a=problem.a, b=problem.b)
    maximal = bounds.maximal_inequality(t, HORIZON, failure=problem.failure)
    expected = {
        "lemma_19_misses": ever_outside(means, radii),
        "third_width_misses": ever_outside(means, radii / 3),
        "maximal_misses": ever_outside(means, maximal),
    }
    for metric, outside in expected.items():
        found = curves.values("it", metric)
        assert np.array_equal(found, outside[:, np.array(checkpoints) - 1].T)
    assert 0 < curves.mean("it", "third_width_misses")[-1] < 1
    narrower = (radii < maximal).cumsum() / t
    for c, checkpoint in enumerate(checkpoints):
        assert curves.values("it", "narrower_share")[c] == pytest.approx(narrower[checkpoint - 1])
        ratio = radii[checkpoint - 1] / maximal[checkpoint - 1]
        assert curves.values("it", "radius_ratio")[c] == pytest.approx(ratio)


@pytest.mark.interpreted
def test_a_miss_of_any_arm_is_a_miss():
    one, four = (
        simulate(
            BoundCoverageProblem([0.5] * k, a=12, b=1),
            {"it": RoundRobin()},
            horizon=short_or_long(150, 400),
            replications=short_or_long(60, 400),
        )
        for k in (1, 4)
    )
    misses = [curves.mean("it", "third_width_misses")[-1] for curves in (one, four)]
    assert 0.0 < misses[0] < misses[1] < 1.0


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: BoundCoverageProblem([0.5], a=1, b=1),
            "a must be larger: with b = 1, .*; got 1",
        ),
        (lambda: BoundCoverageProblem([0.5], a=0, b=1), "a must be above 0, got 0"),
        (
            lambda: BoundCoverageProblem([1.5], a=9, b=1),
            r"means\[0\] must lie in \[0, 1\], got 1.5",
        ),
    ],
)
def test_bad_input_is_named(make, message):
    with pytest.raises(ValueError, match=message):
        make()
