"""
Bad runs beside the mean
========================

The share of runs whose regret is at most so large. A policy with a small mean may still have a
few runs that are bad.
"""

import matplotlib.pyplot as plt
import numpy as np

from keyhole import simulate
from keyhole.stochastic import KLUCB, OptimisticThompson, Problem, ThompsonSampling

policies = [KLUCB(), ThompsonSampling(), OptimisticThompson()]
curves = simulate(Problem([0.5, 0.45, 0.4]), policies, horizon=5000, replications=1000)

figure, axes = plt.subplots(layout="constrained")
for policy in policies:
    regrets = np.sort(curves.values(policy, "regret")[-1])
    axes.step(regrets, np.arange(1, 1001) / 1000, label=str(policy))
axes.set(xlabel="regret after 5,000 rounds", ylabel="share of runs", ylim=(0, 1))
axes.legend()
# Figure: Share of the runs whose regret is at most so large: every policy has a few runs far to
# the right of the others.
