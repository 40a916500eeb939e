"""
Where the labels go
===================

LSA spends its labels on the arms whose means are close to the threshold; the others are clear
after a few.
"""

import matplotlib.pyplot as plt
import numpy as np

from keyhole import simulate
from keyhole.thresholding import LSA, Problem, RoundRobin

means = np.linspace(0.1, 0.9, 17)
curves = simulate(
    Problem(means, threshold=0.5),
    [LSA(), RoundRobin()],
    horizon=2000,
    replications=200,
    details=True,
)
figure, axes = plt.subplots(layout="constrained")
for policy in curves.labels:
    pulls = [curves.mean(policy, f"pulls[{arm}]")[-1] for arm in range(len(means))]
    axes.plot(means, pulls, "o-", label=policy)
axes.set(xlabel="mean of the arm", ylabel="labels of 2,000", ylim=(0, 1100))
axes.legend()
# Figure: Labels by the mean of the arm: LSA spends most on arms near one half, RoundRobin the same
# on all.
