"""
Rewards and times of runs
=========================

Each point is a run: how long it takes, and what it earns. A limit, such as the line at 1, cuts off
all runs to its right.
"""

import matplotlib.pyplot as plt

from keyhole.resource import BetaExponential, Power, Problem
from keyhole.resource.plots import draw_runs

problem = Problem(
    arms=[BetaExponential(a=5, b=5 + 3 * k, rate=1 - 0.3 * k) for k in range(3)],
    limits=[0.1, 0.4, 0.7, 1.0],
    cost=Power(slope=0.1),
    penalty=Power(slope=0.1, factor=0.2, power=4),
)
figure, axes = plt.subplots(layout="constrained")
draw_runs(problem, axes, runs=100, names=["quick", "usual", "careful"])
axes.axvline(1.0, color="black", linewidth=1)
axes.set_xscale("log")
# Figure: Time and reward of 100 runs of each arm: the line is a limit, and runs to its right
# would be stopped.
