"""
Learning which carrier to take
==============================

Policies that choose a carrier for a random deadline, on recorded flights.
"""

from keyhole import simulate
from keyhole.data import flights_problem
from keyhole.threshold import AnytimeDKWUCB, PerThresholdUCB, SurvivalThompson

curves = simulate(
    flights_problem("DCA", feedback="uncensored"),
    [PerThresholdUCB(), AnytimeDKWUCB(), SurvivalThompson()],
    horizon=20_000,
    replications=50,
    checkpoints={"count": 40},
)
curves.plot("regret")
# Figure: Regret by round: the policies that learn about all deadlines at once end far below a
# bandit for each deadline.
