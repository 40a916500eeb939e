"""
Regret by round
===============

Three buttons that are clicked with a probability of 4, 5 and 7 %: the regret of each policy,
with 95 % intervals.
"""

from keyhole import simulate
from keyhole.stochastic import KLUCB, MOSS, UCB1, Problem, ThompsonSampling

problem = Problem(means=[0.04, 0.05, 0.07])
curves = simulate(
    problem,
    [UCB1(), MOSS(), KLUCB(), ThompsonSampling()],
    horizon=20_000,
    replications=200,
    checkpoints={"count": 40, "spacing": "log"},
)
curves.plot("regret", x="log")
# Figure: Regret by round, on a logarithmic axis: Thompson sampling ends lowest, and UCB1 highest.
