"""
Which carrier is punctual, and when do we know?
===============================================

A company books many flights from New York to Washington National, and wants to settle on one of four
carriers, Endeavor Air (code 9E), ExpressJet (EV), Envoy Air (MQ) or US Airways (US): the one that
arrives most often on time or early. It can try them for as long as it likes. How does it lose little
while it tries, and when does it know enough to stop?
"""

from keyhole.data import load_flights

times = load_flights("DCA")
shares = dict(zip(times.arms, times.met_shares([0])[:, 0].tolist()))
print({carrier: round(share, 3) for carrier, share in shares.items()})

# %%
# A carrier is an *arm*, and a punctual flight a *reward* of 1, seen at once: the classical bandit, the
# :doc:`stochastic setting </stochastic>`.
#
# Lose little
# -----------
#
# The *regret* is how many punctual flights are lost against always booking the best carrier.

from keyhole import simulate
from keyhole.stochastic import UCB1, OptimisticThompson, Problem, RoundRobin

problem = Problem(means=list(shares.values()))
curves = simulate(
    problem,
    {"in turn": RoundRobin(), "UCB1": UCB1(), "OptimisticThompson": OptimisticThompson()},
    horizon=10_000,
    replications=200,
    checkpoints={"count": 40},
)
curves.plot("regret")
# Figure: Regret by round: booking in turn loses the same in every round, OptimisticThompson soon
# hardly any.

# %%
# ``OptimisticThompson`` books the wrong carriers rarely. But it never says that it is done.
#
# Name the best one
# -----------------
#
# ``BestArmStopping`` gives up carriers that are proved not to be the best, and stops when one is left.
# The chance that it gives up the best one is at most ``delta``, however often one looks.

from keyhole.stochastic import BestArmStopping, TopTwoThompson

policy = BestArmStopping(base=TopTwoThompson(), delta=0.05)
curves = simulate(problem, {"stopping": policy}, horizon=20_000, replications=200)
flights = curves.values("stopping", "rounds_used")[-1]

import matplotlib.pyplot as plt

figure, axes = plt.subplots(layout="constrained")
axes.hist(flights, bins=30)
axes.set(xlabel="flights until the best carrier is proved", ylabel="runs of 200")
# Figure: Runs by the number of flights until the proof: most need 1,000 to 4,000, a few many more.

# %%
# Most runs stop after 1,000 to 4,000 flights, and a few need far more: how long a proof takes is
# random, so that no number of flights is fixed in advance.
#
# Decide
# ------
#
# Flights are drawn from those recorded, one at a time.

import random

random.seed(1)
learner = policy.learner(arms=len(times.arms), seed=1)
while not learner.is_done:
    carrier = learner.ask()
    learner.tell(random.choice(times.minutes[carrier]) <= 0)

print(learner.settled, "after", learner.rounds, "flights")

# %%
# **The decision**: the carrier that is settled as the best. A smaller ``delta`` costs more flights. If
# the winner need not be proved, and flights lost while trying count, stay with
# ``OptimisticThompson``; :doc:`/which_policy` compares them all. More on when to stop:
# :doc:`/stopping`.
