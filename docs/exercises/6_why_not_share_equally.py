"""
6. Why not share equally?
=========================

*Semi-bandit setting: a resource with thresholds.* Two patrols are to be divided among nine cities, in any
parts. A city is safe on a day if it has at least half a patrol, and with less it is as unsafe as with
none. (The events are recorded, of 2019. That half a patrol is enough is an assumption.) Dividing equally
seems to be fair, and a cautious start. How many events a year does it prevent, against the best
division? And how does that change as the two patrols are divided among fewer cities?
"""

import numpy as np

from keyhole.data import load_crimes

events = load_crimes("cities")
share_of_days = events.losses.mean(axis=0)
enough = np.full(len(events.places), 0.5)
print(dict(zip(events.places, share_of_days.round(2).tolist())))

# %%
# Hint
# ----
#
# If the patrols are divided equally among the k cities with most events, each has 2 / k. Which k prevents how
# many days with an event? Then let the cities need different amounts: which cities should be covered,
# those with most events, or those with most events for what they need?

# %%
# Solution
# --------

import matplotlib.pyplot as plt


def prevented(allocation, enough):
    """Return the days a year on which an event is prevented, over all cities."""
    return 365 * share_of_days[allocation >= enough].sum()


by_events = np.argsort(-share_of_days)
divided = []
for k in range(1, len(events.places) + 1):
    allocation = np.zeros(len(events.places))
    allocation[by_events[:k]] = 2 / k
    divided.append(prevented(allocation, enough))

figure, axes = plt.subplots(layout="constrained")
axes.bar(range(1, len(divided) + 1), divided)
axes.set(
    xlabel="cities among which two patrols are divided equally", ylabel="events prevented a year"
)

best = int(np.argmax(divided)) + 1
print(f"among {best} cities: {divided[best - 1]:.0f} a year; among {best + 1}: {divided[best]:.0f}")
# Figure: Events prevented in a year by the number of cities among which two patrols are divided:
# with more than four, none has enough.

# %%
# There is a cliff. One city too many, and *nothing* is prevented anywhere: every city has a little less
# than enough. And nobody is told how much was lacking, since all that is seen is that events happen.
# Sharing equally is no cautious start here: no division prevents less.
#
# Now let cities need different amounts (made up, in the order of their names).

from keyhole.semibandit import solve_knapsack

needs = np.array([0.9, 0.5, 0.2, 0.4, 0.7, 0.2, 0.8, 0.2, 0.1])


def cover_in_order(order):
    """Give cities what they need, in this order, as long as it lasts."""
    allocation, left = np.zeros(len(needs)), 2.0
    for city in order:
        if needs[city] <= left + 1e-9:
            allocation[city] = needs[city]
            left -= needs[city]
    return allocation


divisions = {
    "shared equally": np.full(len(needs), 2 / len(needs)),
    "most events first": cover_in_order(by_events),
    "most events for the need first": cover_in_order(np.argsort(-share_of_days / needs)),
    "best": np.where(solve_knapsack(share_of_days, needs, 2.0), needs, 0.0),
}
for name, allocation in divisions.items():
    print(f"{name:31} {prevented(allocation, needs):4.0f} events prevented a year")

# %%
# The best division is a *knapsack problem*: each city is worth its events and weighs what it needs, and
# to take cities in any order may miss it. A policy has to learn values and weights at the same time, from
# events alone, and loses some in doing so: a city that is safe teaches nothing about its events, and to
# find out how little is enough, one has to give too little.

from keyhole import simulate
from keyhole.data import patrols_problem
from keyhole.semibandit import ThresholdThompson

problem = patrols_problem("cities", thresholds=needs.tolist(), resource=2)
curves = simulate(
    problem, {"learnt": ThresholdThompson()}, horizon=3650, replications=50, checkpoints=[365, 3650]
)
lost = curves.mean("learnt", "regret")
print(f"ThresholdThompson loses {lost[0]:.0f} events against the best in the first year,")
print(f"and {(lost[1] - lost[0]) / 9:.0f} in each of the next nine")

# %%
# To go on
# --------
#
# With how many patrols does sharing equally become the best? Let a city with a part of what it needs prevent
# the same part of its events: is there still a cliff, and is the best division another one?
