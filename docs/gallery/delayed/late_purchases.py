"""
Purchases that come late
========================

Recorded customers of a shop: which kind of customer buys again within 90 days, where the
purchases arrive with their recorded delays?
"""

from keyhole import simulate
from keyhole.data import cdnow
from keyhole.delayed import ODAAF, RegressionUCB

curves = simulate(
    cdnow(within=90),
    [ODAAF(expected_delay=30), RegressionUCB(expected_delay=30)],
    horizon=50_000,
    replications=50,
    checkpoints={"count": 40},
)
curves.plot("regret")
