"""
An interval that holds at any time
==================================

Whoever looks at a mean every day needs a wider interval than one who looks once: the confidence
sequence holds after all rounds at once, with 95 % confidence.
"""

import matplotlib.pyplot as plt
import numpy as np

from keyhole.confidence_sequences import beta_mixture_interval

clicks = (np.random.default_rng(1).random(3000) < 0.3).cumsum()
rounds = np.arange(1, 3001)
means = clicks / rounds
low, high = np.transpose(list(map(beta_mixture_interval, rounds, clicks)))
once = 1.96 * np.sqrt(means * (1 - means) / rounds)

figure, axes = plt.subplots(layout="constrained")
axes.plot(rounds, means, label="mean of the clicks so far")
axes.fill_between(rounds, low, high, alpha=0.2, label="at all times at once")
axes.fill_between(rounds, means - once, means + once, alpha=0.4, label="at one time only")
axes.axhline(0.3, color="black", linewidth=1)
axes.set(xscale="log", xlabel="visitors", ylabel="share that clicks", ylim=(0, 1))
axes.legend()
# Figure: Share of clicks so far and two intervals around it: the one for all times at once is the
# wider one.
