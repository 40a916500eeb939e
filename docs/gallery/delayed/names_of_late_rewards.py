"""
What is it worth to know the arm of a late reward?
==================================================

The regret of ``QPMD``, which is told the arm of each late reward, grows slowly with the delay.
From sums alone, that of ``ODAAF`` is more than ten times as large, and grows faster; that of
``RegressionUCB`` is about that of ``QPMD``.
"""

import matplotlib.pyplot as plt

from keyhole import simulate
from keyhole.delayed import ODAAF, QPMD, Poisson, Problem, RegressionUCB

delays = [10, 30, 100, 300]
policies = {
    "QPMD, told the arms": ("named", lambda delay: QPMD()),
    "ODAAF, told sums": ("anonymous", ODAAF),
    "RegressionUCB, told sums": ("anonymous", RegressionUCB),
}
figure, axes = plt.subplots(layout="constrained")
for label, (feedback, make_policy) in policies.items():
    regrets = []
    for delay in delays:
        problem = Problem([0.4, 0.6], Poisson(delay), feedback=feedback)
        curves = simulate(problem, [make_policy(delay)], horizon=50_000, replications=100)
        regrets.append(curves.mean(curves.labels[0], "regret")[-1])
    axes.plot(delays, regrets, "o-", label=label)
axes.set(xscale="log", yscale="log", xlabel="expected delay", ylabel="regret")
axes.legend()
# Figure: Regret by the expected delay: RegressionUCB with sums is about as good as QPMD with
# names, and both are far below ODAAF.
