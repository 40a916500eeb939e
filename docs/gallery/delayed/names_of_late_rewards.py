"""
What is it worth to know the arm of a late reward?
==================================================

``QPMD`` is told the arm of each late reward, and leaves the choice to a *base* policy. With
Thompson sampling as its base it has the least regret: from sums alone, that of ``RegressionUCB`` is
two to four times, and that of ``ODAAF`` at least 70 times as large. The base matters, too: with
``UCB1``, the default, ``QPMD`` is no better than ``RegressionUCB``.
"""

import matplotlib.pyplot as plt

from keyhole import simulate
from keyhole.delayed import ODAAF, QPMD, Poisson, Problem, RegressionUCB
from keyhole.stochastic import ThompsonSampling

delays = [10, 30, 100, 300]
policies = {
    "ODAAF, told sums": ("anonymous", ODAAF),
    "QPMD of UCB1, told the arms": ("named", lambda delay: QPMD()),
    "RegressionUCB, told sums": ("anonymous", RegressionUCB),
    "QPMD of Thompson sampling, told the arms": (
        "named",
        lambda delay: QPMD(base=ThompsonSampling()),
    ),
}
figure, axes = plt.subplots(figsize=(4.2, 4.4), layout="constrained")
for label, (feedback, make_policy) in policies.items():
    regrets = []
    for delay in delays:
        problem = Problem([0.4, 0.6], Poisson(delay), feedback=feedback)
        curves = simulate(problem, [make_policy(delay)], horizon=50_000, replications=100)
        regrets.append(curves.mean(curves.labels[0], "regret")[-1])
    axes.plot(delays, regrets, "o-", label=label)
axes.set(xscale="log", yscale="log", xlabel="expected delay", ylabel="regret")
figure.legend(loc="outside lower center")
# Figure: Regret by the expected delay: QPMD with names and Thompson sampling is lowest.
# RegressionUCB with sums is about as good as QPMD with names and UCB1, and ODAAF is far above all.
