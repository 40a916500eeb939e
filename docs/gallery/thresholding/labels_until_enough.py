"""
How many labels are enough?
===========================

A rule that stops asks for many labels where the answer is hard, and for few where it is easy. A
fixed budget must suffice for the hard ones.
"""

import matplotlib.pyplot as plt

from keyhole import simulate
from keyhole.thresholding import PerArmStopping, Problem

policy = PerArmStopping(delta=0.05, tolerance=0.05)
gaps = [0.05, 0.1, 0.15, 0.2, 0.3, 0.4]
labels = []
for gap in gaps:
    problem = Problem([0.5 - gap, 0.5 + gap], threshold=0.5)
    curves = simulate(problem, [policy], horizon=5000, replications=500, details=True)
    labels.append(curves.mean(policy, "rounds_used")[-1] / 2)

figure, axes = plt.subplots(layout="constrained")
axes.plot(gaps, labels, "o-")
axes.set(xlabel="distance of the means from the threshold", ylabel="labels an arm", yscale="log")
# Figure: Labels an arm by the distance of the means from the threshold: half the distance takes
# some three times the labels.
