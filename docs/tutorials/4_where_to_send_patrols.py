"""
Where to send patrols?
======================

.. index:: ! poachers, ! rangers, ! patrols

Two patrols are to be divided among nine cities, also in parts of a day. An event in a city shows that
too little was there; where enough was there, nothing happens, and nobody learns by how much it was
more than enough. How should they be divided?

The events of 2019 are recorded, day by day. How much is enough is not in any data: here it is half
a patrol for each city, which the policies do not know.
"""

from keyhole.data import load_crimes

events = load_crimes("cities")
print(events)

# %%
# A city is an *arm*; a day on which an event would happen is a *loss*, and is seen only if the
# city's share was below its *threshold*: the :doc:`semi-bandit setting </semibandit>`.

import matplotlib.pyplot as plt

figure, axes = plt.subplots(layout="constrained")
shares = events.losses.mean(axis=0)
order = shares.argsort()  # bars are drawn from below
axes.barh([events.places[place] for place in order], shares[order])
axes.set(xlabel="share of days with an event")
# Figure: Share of days with an event in each city: those with the longest bars gain most from a
# patrol.

# %%
# With half a patrol each, two patrols are enough for four of nine cities: the four at the top, with
# most events.
#
# Compare policies
# ----------------
#
# ``CSBST`` knows that all cities need the same. ``ThresholdThompson`` knows nothing, and learns an
# amount for each. Dividing equally is what one does without learning.

from keyhole import simulate
from keyhole.data import patrols_problem
from keyhole.semibandit import CSBST, ThresholdThompson

problem = patrols_problem("cities", thresholds=0.5, resource=2)
curves = simulate(
    problem,
    {"CSB-ST": CSBST(), "ThresholdThompson": ThresholdThompson()},
    horizon=2000,
    replications=100,
    checkpoints={"count": 40},
)
curves.plot("regret")
# Figure: Regret by round: both curves become nearly flat, that of CSB-ST lower, since it knows
# that all cities need the same.
covered = problem.mean_losses[problem.optimal_allocation > 0].sum()
print(f"divided equally, no city has enough, and the regret is {2000 * covered:,.0f}")

# %%
# Both curves soon become nearly flat: from then on the right cities have enough. CSB-ST, which
# knows more, gets there earlier; both lose about a hundredth of what dividing equally loses.
#
# Decide
# ------
#
# Every morning the learner says who gets how much; every evening it is told where something happened.
# The recorded days are gone through again and again.

learner = CSBST().learner(arms=len(events.places), resource=2)
for day in range(2000):
    shares = learner.ask()
    today = events.losses[day % len(events.losses)]
    learner.tell([int(lost and share < 0.5) for lost, share in zip(today, shares)])

for place, share in sorted(zip(events.places, learner.ask()), key=lambda pair: -pair[1]):
    print(f"{place:15} {share:.2f}")

# %%
# **The decision**: the four cities with shares above. If amounts may differ from city to city, use
# ``ThresholdThompson``; how it fails is in its docstring. For data of your own,
# ``keyhole.data.read_daily_counts_csv`` reads a table of day, place and events.
