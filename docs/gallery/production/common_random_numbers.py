"""
What common random numbers save
===============================

All policies see the same random numbers, so their difference varies less than the difference of
two independent runs would: fewer replications are needed for the same answer.
"""

import matplotlib.pyplot as plt

from keyhole import simulate
from keyhole.thresholding import APT, LSA, Problem

problem = Problem(means=[0.2, 0.25, 0.3, 0.45, 0.55, 0.7, 0.8], threshold=0.5)
curves = simulate(problem, [LSA(), APT()], horizon=500, replications=5000)
lsa, apt = (curves.values(label, "aggregate_regret")[-1] for label in curves.labels)

figure, axes = plt.subplots(layout="constrained")
names = ["common random numbers", "independent runs"]
axes.bar(names, [(lsa - apt).std(), (lsa[::2] - apt[1::2]).std()])
axes.set_ylabel("standard deviation of the difference")
# Figure: Standard deviation of the difference of two policies: it is smaller with common random
# numbers.
