"""
Which carrier for this deadline?
================================

Four carriers flew from New York to Washington National in 2013: Endeavor Air (code 9E), ExpressJet
(EV), Envoy Air (MQ) and US Airways (US). A traveller has to be there by a certain time, sometimes
half an hour after the scheduled arrival, sometimes before it. Which carrier is most likely to be in
time, and does that depend on how tight it is?
"""

from keyhole.data import load_flights

times = load_flights("DCA")
print(times)

# %%
# A carrier is an *arm*. In every round there is a deadline, the *threshold*, and the reward is 1 if
# the flight meets it: the :doc:`threshold setting </threshold>`.

import matplotlib.pyplot as plt
import numpy as np

deadlines = np.arange(90, -40, -5)
figure, axes = plt.subplots(layout="constrained")
for carrier, shares in zip(times.arms, times.met_shares(deadlines)):
    axes.plot(deadlines, shares, label=carrier)
axes.set(xlabel="deadline, in minutes after the schedule", ylabel="share of flights in time")
axes.legend()
# Figure: Share of flights in time by deadline: the curves cross, so that the best carrier depends
# on the deadline.

# %%
# The curves cross: US is best if there is an hour to spare, and 9E if the flight has to be early. So
# one bandit for all deadlines would be wrong for some, and one for each deadline would have to learn
# everything anew. Policies of this setting use what a flight says about *all* deadlines: a flight 12
# minutes late would also have met a deadline of 15 minutes.
#
# Compare policies
# ----------------

from keyhole import simulate
from keyhole.data import flights_problem
from keyhole.threshold import AnytimeDKWUCB, PerThresholdUCB, SurvivalThompson

problem = flights_problem("DCA", feedback="uncensored")
curves = simulate(
    problem,
    {
        "one bandit each": PerThresholdUCB(),
        "AnytimeDKWUCB": AnytimeDKWUCB(),
        "SurvivalThompson": SurvivalThompson(),
    },
    horizon=20_000,
    replications=50,
    checkpoints={"count": 40},
)
curves.plot("regret")
# Figure: Regret by round: the two policies that learn from all deadlines at once end far below one
# bandit for each deadline.

# %%
# The regret is the number of deadlines that the best carrier for each would have met in addition.
# Learning from all deadlines at once saves most of it.
#
# If lateness is known only of flights that were late, as from complaints, the feedback is *censored*;
# ``flights_problem("DCA")`` without ``feedback`` is that problem, and ``SurvivalThompson`` plays it as well.
#
# Decide
# ------
#
# The learner is told the deadline of this traveller, as the number of the threshold, from 0 for the
# most generous, and afterwards how many deadlines the flight has met.

import random

random.seed(1)
minutes = [60, 30, 15, 0, -15]
learner = SurvivalThompson().learner(
    arms=len(times.arms), levels=len(minutes), feedback="uncensored", seed=1
)
for _ in range(5000):
    number = random.randint(1, len(minutes))
    carrier = learner.ask(threshold=number)
    late = random.choice(times.minutes[carrier])
    learner.tell(sum(late <= deadline for deadline in minutes))

# %%
# What has been learnt: the share of flights in time, by carrier and deadline, and how many flights of
# the carrier it rests on.

shares, flown = learner.estimates()
for deadline, column, count in zip(minutes, shares.T, flown.T):
    best = int(column.argmax())
    print(
        f"{deadline:4} minutes: {times.arms[best]}, in time {column[best]:.0%} ({count[best]:.0f} flights)"
    )

# %%
# **The decision**: the carrier in each line. For your own times, :doc:`/real_data` says how to make
# thresholds of deadlines; for bookings by many programs at once keep the learner in a
# :doc:`study </studies>`.
