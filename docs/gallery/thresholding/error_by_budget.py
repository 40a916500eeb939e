"""
Errors by budget
================

Seven arms, of which those with a mean of at least one half are to be found: the mean number of
wrong answers by the number of labels.
"""

from keyhole import simulate
from keyhole.thresholding import APT, LSA, Problem, RoundRobin

curves = simulate(
    Problem(means=[0.2, 0.25, 0.3, 0.45, 0.55, 0.7, 0.8], threshold=0.5),
    [LSA(), APT(), RoundRobin()],
    horizon=2000,
    replications=1000,
    checkpoints={"count": 40},
)
curves.plot("aggregate_regret", y="log")
# Figure: Wrong answers by the number of labels, on a logarithmic axis: LSA and APT fall much
# faster than RoundRobin.
