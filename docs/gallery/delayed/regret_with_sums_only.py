"""
Only late sums are seen
=======================

Two arms whose rewards arrive some 50 rounds late, summed up. The regret of the papers' rules
and of the regression.
"""

from keyhole import simulate
from keyhole.delayed import ODAAF, ODAAFB, Poisson, Problem, RegressionUCB

curves = simulate(
    Problem(means=[0.4, 0.6], delay=Poisson(50)),
    [
        ODAAF(expected_delay=50),
        ODAAFB(expected_delay=50, bound=150),
        RegressionUCB(expected_delay=50),
    ],
    horizon=50_000,
    replications=50,
    checkpoints={"count": 40},
)
curves.plot("regret")
# Figure: Regret by round: the regression ends far below the rules of the paper, of which ODAAFB,
# told a bound, is the better one.
