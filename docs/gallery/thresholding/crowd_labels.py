"""
Labels of a crowd
=================

Which images show the bird? Volunteers label images, and a policy chooses which image is
labelled next: the share of wrong answers by the number of labels that were bought.
"""

from keyhole import simulate
from keyhole.data import crowd
from keyhole.thresholding import APT, LSA, PooledKG, Uniform

problem = crowd("bluebirds")
curves = simulate(
    problem,
    [Uniform(), APT(), LSA(), PooledKG()],
    horizon=2000,
    replications=100,
    checkpoints={"count": 40},
)
curves.plot("aggregate_regret")
