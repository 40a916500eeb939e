"""
Which customers order again?
============================

A shop can write to one group of new customers a day: those whose first order had one item, two,
three, or four and more. Some order again, after days or months. The till shows only how many repeat
orders arrived that day, and not whose they are. Which group should get the letters?

The data are of a real shop, CDNOW, with the recorded delays. (They are observed, and no experiment:
that a group orders again more often does not say that letters make it do so.)
"""

from keyhole.data import load_cdnow

conversions = load_cdnow()
print(conversions)

# %%
# A group is an *arm*; a reward of 1 is an order within 90 days, and arrives when it is made; what is
# seen is the sum of a day: the :doc:`delayed setting </delayed>` with anonymous feedback.

import matplotlib.pyplot as plt
import numpy as np

problem = conversions.problem(within=90)
figure, (upper, lower) = plt.subplots(2, 1, figsize=(4.2, 5.6), layout="constrained")
upper.bar(conversions.arms, problem.means)
upper.set(xlabel="items in the first order", ylabel="share that orders again")
for group, delays in zip(conversions.arms, conversions.delays):
    inside = np.sort(delays[delays <= 90])
    lower.plot(inside, np.arange(1, len(inside) + 1) / len(inside), label=group)
lower.set(xlabel="days until the next order", ylabel="share of those within 90 days")
lower.legend(title="items")
# Figure: Above, the share that orders again: it is largest for four items and more. Below, the
# share of these orders by day: the curves are nearly the same, so that delays hardly depend on the
# group.

# %%
# On average an order comes after about a month. The delays hardly depend on the group, which is what
# policies for sums need; :doc:`/findings/delay_by_arm` shows what happens otherwise.
#
# Compare policies
# ----------------
#
# ``RegressionUCB`` is told roughly how long orders take. What if we guess badly? The last two are told
# a third and three times the true delay.

from keyhole import simulate
from keyhole.delayed import ODAAF, RegressionUCB

curves = simulate(
    problem,
    {
        "told 30 days: ODAAF": ODAAF(expected_delay=30),
        "told 30 days: RegressionUCB": RegressionUCB(expected_delay=30),
        "told 10 days: RegressionUCB": RegressionUCB(expected_delay=10),
        "told 90 days: RegressionUCB": RegressionUCB(expected_delay=90),
    },
    horizon=20_000,
    replications=100,
    checkpoints={"count": 40},
)
curves.plot("regret")
# Figure: Regret by round: that of ODAAF, with the right delay, is far above that of RegressionUCB,
# even with a wrong one.

# %%
# The guess matters less than the method.
#
# Decide
# ------
#
# A round is a letter. The learner says to which group; orders that arrive until the next letter are
# told as a sum. A queue plays the customers.

import random

random.seed(1)
due = [0] * 21_000
learner = RegressionUCB(expected_delay=30).learner(arms=4, feedback="anonymous")
for letter in range(20_000):
    group = learner.ask()
    delay = random.choice(conversions.delays[group])
    if delay <= 90:
        due[letter + int(delay)] += 1
    learner.tell(due[letter])
print(learner)

# %%
# **The decision**: write to those with four items and more. The others were tried often enough to say
# so, and no more. Where the shop can tell whose order it is, do not throw that away: with named
# feedback ``QPMD(base=ThompsonSampling())`` learns several times as fast (:doc:`/delayed`).
