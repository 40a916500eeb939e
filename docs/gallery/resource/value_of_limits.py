"""
Full limit or a learnt one?
===========================

The gap between running everything to the end and learning when to give up, by the cost of time.
"""

import matplotlib.pyplot as plt

from keyhole import simulate
from keyhole.resource import BetaExponential, FixedLimit, HazardThompson, Power, Problem

slopes = [0.1, 0.2, 0.4, 0.8]
regrets: dict[str, list[float]] = {"full limit": [], "learnt limit": []}
for slope in slopes:
    problem = Problem(
        arms=[BetaExponential(a=5, b=5 + k, rate=1 - 0.03 * k) for k in range(3)],
        limits=[0.1, 0.4, 0.7, 1.0],
        cost=Power(slope=slope),
        penalty=Power(slope=slope),
    )
    policies = {"full limit": FixedLimit(limit=1.0), "learnt limit": HazardThompson()}
    curves = simulate(problem, policies, horizon=5000, replications=50)
    for label in policies:
        regrets[label].append(curves.mean(label, "regret")[-1])

figure, axes = plt.subplots(layout="constrained")
for label, values in regrets.items():
    axes.plot(slopes, values, "o-", label=label)
axes.set(xlabel="cost of a unit of time", ylabel="regret after 5,000 runs", ylim=(0, None))
axes.legend()
# Figure: Regret by the cost of time: with the full limit it grows with the cost, with a learnt
# limit it stays small.
