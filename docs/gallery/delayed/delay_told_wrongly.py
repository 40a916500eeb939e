"""
What if the delay is told wrongly?
==================================

The regret of ``RegressionUCB`` by the expected delay that it is told: mean and worst of 200 runs.
A number that is too large costs regret in proportion; one that is too small makes bad runs worse.
"""

import matplotlib.pyplot as plt

from keyhole import simulate
from keyhole.delayed import Poisson, Problem, RegressionUCB

told = [5, 10, 25, 50, 100, 250, 500]
policies = {str(delay): RegressionUCB(expected_delay=delay) for delay in told}
problem = Problem(means=[0.4, 0.6], delay=Poisson(50))
curves = simulate(problem, policies, horizon=50_000, replications=200)

figure, axes = plt.subplots(layout="constrained")
axes.plot(told, [curves.mean(label, "regret")[-1] for label in policies], "o-", label="mean")
axes.plot(
    told, [curves.tail(label, "regret").worst for label in policies], "x--", label="worst run"
)
axes.axvline(50, color="black", linewidth=1)
axes.set(xscale="log", yscale="log", xlabel="delay told (the true one is 50)", ylabel="regret")
axes.legend()
# Figure: Mean and worst regret of 200 runs by the delay that the policy is told: both are
# smallest at half the true delay.
