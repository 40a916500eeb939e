"""
Patrols for recorded crime
==========================

Two patrols are divided among cities, on recorded events. ``CSBST`` knows that all places need the
same amount; ``ThresholdThompson`` learns an amount for each.
"""

from keyhole import simulate
from keyhole.data import patrols_problem
from keyhole.semibandit import CSBST, ThresholdThompson

problem = patrols_problem("cities", thresholds=0.5, resource=2)
curves = simulate(
    problem,
    {"CSB-ST": CSBST(), "Thompson": ThresholdThompson()},
    horizon=2000,
    replications=100,
    checkpoints={"count": 40},
)
curves.plot("regret")
# Figure: Regret by round: both curves flatten, and CSB-ST, which knows more, ends below.
