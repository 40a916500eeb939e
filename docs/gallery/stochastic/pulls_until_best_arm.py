"""
Pulls until the best arm is known
=================================

``BestArmStopping`` stops when it names the best arm with 95 % confidence. How many pulls that
takes varies from run to run; here are 500 runs.
"""

import matplotlib.pyplot as plt

from keyhole import simulate
from keyhole.stochastic import BestArmStopping, Problem

policy = BestArmStopping(delta=0.05)
curves = simulate(
    Problem([0.5, 0.4, 0.3]), [policy], horizon=20_000, replications=500, details=True
)
pulls = curves.values(policy, "rounds_used")[-1]

figure, axes = plt.subplots(layout="constrained")
axes.hist(pulls, bins=40)
axes.axvline(pulls.mean(), color="black", linestyle="--", label=f"mean {pulls.mean():,.0f}")
axes.set(xlabel="pulls until the policy stops", ylabel="runs of 500")
axes.legend()
# Figure: Pulls of 500 runs until the policy stops: they spread widely on both sides of their
# mean, the line.
