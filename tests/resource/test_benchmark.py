"""The yardsticks of the benchmark do the same work as Keyhole."""

import numpy as np
import pytest

from benchmarks import resource
from keyhole import simulate
from keyhole.resource import RCUCB


@pytest.mark.parametrize("kind", ["python", "numpy"])
def test_yardsticks_do_the_same_work(kind):
    horizon = 200
    curves = simulate(
        resource.problem(), {"it": RCUCB()}, horizon=horizon, replications=2000, seed=2
    )
    if kind == "numpy":
        sample = resource.numpy_rcucb(horizon, 2000, 0)
    else:
        sample = np.array([resource.python_rcucb(horizon, seed) for seed in range(40)])
    error = np.hypot(
        sample.std(ddof=1) / np.sqrt(len(sample)), curves.std_error("it", "regret")[-1]
    )
    assert abs(sample.mean() - curves.mean("it", "regret")[-1]) < 5 * error
