"""
Labels of a crowd
=================

Indigo Bunting or Blue Grosbeak? Volunteers label pictures, and a policy chooses which picture
is labelled next: the logarithm of the share of wrong answers, by the number of labels.
"""

from keyhole import simulate
from keyhole.data import crowd_problem
from keyhole.thresholding import APT, LSA, PooledKG, RoundRobin

problem = crowd_problem("bluebirds")
curves = simulate(
    problem,
    [RoundRobin(), APT(), LSA(), PooledKG()],
    horizon=2000,
    replications=100,
    checkpoints={"count": 40},
)
curves.plot("aggregate_regret")
# Figure: Logarithm of the share of wrong answers by the number of labels: LSA and PooledKG end
# lowest.
