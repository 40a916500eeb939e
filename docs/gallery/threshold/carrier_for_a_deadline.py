"""
Which carrier for this deadline?
================================

Flights to Washington National: the best carrier depends on how late one may arrive.
"""

import matplotlib.pyplot as plt
import numpy as np

from keyhole.data import load_flights

times = load_flights("DCA")
deadlines = np.arange(60, -31, -2)
figure, axes = plt.subplots(layout="constrained")
for carrier, shares in zip(times.arms, times.met_shares(deadlines), strict=True):
    axes.plot(deadlines, shares, label=carrier)
axes.set(xlabel="deadline, minutes after the scheduled arrival", ylabel="share in time")
axes.set_ylim(0, 1)
axes.legend(title="carrier")
# Figure: Share of flights in time by deadline: the curves cross, so that US is best for late
# deadlines and 9E for early ones.
