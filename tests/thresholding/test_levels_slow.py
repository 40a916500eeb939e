"""The levels of LSA in Set-up 1, to the precision of the longest run there is."""

import numpy as np
import pytest

from keyhole import simulate
from keyhole.thresholding import LSA, Problem

# ln(regret / K) of 400,000 runs of an independent program.
LEVELS = {200: -2.932, 400: -3.733, 600: -4.467, 800: -5.196, 1000: -5.907}


@pytest.mark.slow
def test_lsa_reaches_the_levels_of_an_independent_program():
    means = [0.2, 0.25, 0.3, 0.35, 0.45, 0.55, 0.65, 0.7, 0.75, 0.8]
    curves = simulate(
        Problem(means=means, threshold=0.5),
        {"LSA": LSA()},
        horizon=1000,
        replications=400_000,
        seed=11,
        checkpoints=list(LEVELS),
    )
    mean, error = (
        curves.mean("LSA", "aggregate_regret"),
        curves.std_error("LSA", "aggregate_regret"),
    )
    # Both runs are equally long, so the difference has the error of one times the root of 2; the
    # levels are rounded to three digits.
    allowed = 5 * np.sqrt(2) * error / mean + 0.0005
    assert (np.abs(np.log(mean / 10) - list(LEVELS.values())) < allowed).all()
