"""
2. Why are the averages too low?
================================

*Stochastic setting: adaptively collected data.* Three adverts are equally good: each is clicked by half of
those who see it. A bandit policy shows them 200 times. Afterwards the average of each advert's clicks is
computed, and this is repeated for many runs. The mean of those averages must be one half, since each
single click has that chance. Must it?

The function below plays a policy and returns how often each advert was shown, and its clicks.
"""

import random

import numpy as np

from keyhole.stochastic import RoundRobin, ThompsonSampling


def play(policy, seed, chance=0.5, rounds=200):
    """Return how often each of three adverts was shown, and how often it was clicked."""
    clicks = random.Random(seed)
    learner = policy.learner(arms=3, seed=seed)
    shown, clicked = np.zeros(3, int), np.zeros(3, int)
    for _ in range(rounds):
        arm = learner.ask()
        reward = clicks.random() < chance
        learner.tell(reward)
        shown[arm] += 1
        clicked[arm] += reward
    return shown, clicked


print(play(ThompsonSampling(), seed=1))

# %%
# Hint
# ----
#
# Compare ``ThompsonSampling`` with ``RoundRobin``, which shows the adverts in turn. Then look at the averages of
# adverts that were shown rarely, and at those of adverts that were shown often.

# %%
# Solution
# --------

runs = 400
averages = {}
for name, policy in (("in turn", RoundRobin()), ("ThompsonSampling", ThompsonSampling())):
    shown, clicked = map(np.array, zip(*(play(policy, seed) for seed in range(runs))))
    seen = shown > 0
    averages[name] = shown[seen], clicked[seen] / shown[seen]
    mean, deviation = averages[name][1].mean(), averages[name][1].std()
    error = deviation / np.sqrt(seen.sum())
    print(f"{name:17} mean of the averages: {mean:.3f}, give or take {1.96 * error:.3f}")

# %%
# Under Thompson sampling the averages are too low, although every click is fair. An advert with bad luck
# at first is shown rarely from then on, so that its low average stays. An advert with good luck is shown
# often, and its average comes down to the truth. Bad luck is kept, and good luck is corrected.

import matplotlib.pyplot as plt

figure, axes = plt.subplots(layout="constrained")
axes.plot(*averages["ThompsonSampling"], ".", alpha=0.4)
axes.axhline(0.5, color="black", linewidth=1)
axes.set(xlabel="how often the advert was shown", ylabel="average of its clicks", xscale="log")
# Figure: Each point is an advert of a run, its average by how often it was shown: where it was
# shown seldom, its average is mostly below the truth, the line.

# %%
# This is no peculiarity of Thompson sampling: Nie, Tian, Taylor and Zou (*Why adaptively collected data have
# negative bias and how to correct for it*, 2018) prove it for policies that pull an arm the more, the
# better it did. The arms that were dropped look worse than they are, so that the lead of the winner is
# overestimated.
#
# An interval that holds at any time is not misled: its promise is about every arm, whatever decides how
# often it is pulled.

from keyhole.confidence_sequences import beta_mixture_interval

missed = 0
for shown, average in zip(*averages["ThompsonSampling"]):
    low, high = beta_mixture_interval(int(shown), round(shown * average))
    missed += not low <= 0.5 <= high
print(
    f"intervals that miss one half: {missed / len(averages['ThompsonSampling'][0]):.1%}, allowed 5 %"
)

# %%
# To go on
# --------
#
# Weight each advert by how often it was shown, that is, divide all clicks of all runs by all showings. Why
# is the bias gone? What happens with ``UCB1``, and with adverts of 0.1, 0.5 and 0.9?
