"""
Which limit, for which arm?
===========================

The regret of policies that choose what to run and when to give up on it.
"""

from keyhole import simulate
from keyhole.resource import RCUCB, BetaExponential, HazardThompson, Power, Problem, ReductionUCB

problem = Problem(
    arms=[BetaExponential(a=5, b=5 + k, rate=1 - 0.03 * k) for k in range(3)],
    limits=[0.1, 0.4, 0.7, 1.0],
    cost=Power(slope=0.1),
    penalty=Power(slope=0.1, factor=0.2, power=4),
)
curves = simulate(
    problem,
    [RCUCB(), ReductionUCB(), HazardThompson()],
    horizon=10_000,
    replications=50,
    checkpoints={"count": 40},
)
curves.plot("regret")
# Figure: Regret by round: HazardThompson has the smallest of the three.
