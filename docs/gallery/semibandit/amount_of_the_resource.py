"""
How much resource is enough?
============================

The smallest loss a round that any division allows, by the amount of the resource. Steps are
where one more place can be funded.
"""

import matplotlib.pyplot as plt
import numpy as np

from keyhole.semibandit import Problem

losses, thresholds = np.array([0.9, 0.6, 0.5, 0.3]), [0.7, 0.4, 0.35, 0.2]
amounts = np.linspace(0.05, 1.7, 200)
best = []
for amount in amounts:
    allocation = Problem(losses, thresholds, resource=amount).optimal_allocation
    best.append(losses[allocation < np.array(thresholds)].sum())

figure, axes = plt.subplots(layout="constrained")
axes.step(amounts, best)
axes.set(xlabel="resource", ylabel="loss a round", ylim=(0, None))
# Figure: Smallest loss a round by the amount of the resource: it falls in steps, to 0 where every
# place is funded.
