"""
Deciding while feedback is still out
====================================

With several workers, a policy decides before it knows what came of its last decisions. That
costs some regret, and saves much time.
"""

import matplotlib.pyplot as plt

from keyhole import simulate
from keyhole.stochastic import KLUCB, Problem, ThompsonSampling

workers = [1, 4, 16, 64]
figure, axes = plt.subplots(layout="constrained")
for policy in (KLUCB(), ThompsonSampling()):
    regrets = []
    for number in workers:
        problem = Problem([0.3, 0.4, 0.5])
        curves = simulate(problem, [policy], horizon=3000, replications=300, workers=number)
        regrets.append(curves.mean(policy, "regret")[-1])
    axes.plot(workers, regrets, "o-", label=str(policy))
axes.set(xscale="log", xlabel="workers", ylabel="regret after 3,000 decisions", ylim=(0, None))
axes.legend()
# Figure: Regret of two policies by the number of workers: with 64 workers it is a few rewards
# larger than with one.
