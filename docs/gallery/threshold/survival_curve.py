"""
Survival curve of censored times
================================

The estimator of Kaplan and Meier: the share of orders that take longer than a time, although
some were still open when the data were taken.
"""

import matplotlib.pyplot as plt
import numpy as np

from keyhole.threshold import KaplanMeierEstimator

random = np.random.default_rng(3)
times, seen_until = random.exponential(20, 80), random.uniform(0, 50, 80)
estimate = KaplanMeierEstimator(durations=np.minimum(times, seen_until), events=times <= seen_until)
places = np.linspace(0, 45, 400)

figure, axes = plt.subplots(layout="constrained")
axes.step(places, [estimate.at(t) for t in places], where="post", label="Kaplan-Meier, 80 orders")
axes.plot(places, np.exp(-places / 20), "k--", label="true share")
axes.set(xlabel="minutes", ylabel="share that takes longer", ylim=(0, 1))
axes.legend()
# Figure: Estimated and true share of orders that take longer than a time: the estimate falls in
# steps, close to the truth until few orders are left.
