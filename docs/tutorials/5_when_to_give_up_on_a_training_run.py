"""
When to give up on a training run?
==================================

A random forest can be trained with few trees or many, on some of the features or all, on half of the
data or all of it: 36 configurations. A good one takes longer, and a run that takes too long is not
worth waiting for. Which configuration should be trained, and after which time should it be ended?

The runs are recorded: 40 of each configuration, with the accuracy and the seconds of each.
"""

from keyhole.data import load_forest_runs

runs = load_forest_runs()
print(len(runs.arms), "configurations, such as:", runs.arms[0])

# %%
# A configuration is an *arm*, and each decision is an arm and a time *limit*. A run that ends within
# the limit earns its reward less the cost of its time; a run that is ended earns nothing and costs a
# penalty, and nobody learns what it would have earned: the :doc:`resource setting </resource>`.

import matplotlib.pyplot as plt
import numpy as np

figure, axes = plt.subplots(layout="constrained")
for seconds, rewards in zip(runs.consumptions, runs.rewards):
    axes.plot(np.median(seconds), np.mean(rewards), "o", color="tab:blue")
axes.set(xscale="log", xlabel="median seconds of a run", ylabel="mean reward (1 - error)")
# Figure: Each point is a configuration, its mean reward by its median time, on a logarithmic axis:
# ten times the time raises it by less than 0.1.

# %%
# Slow configurations are better, but not by much: beyond some point time is not worth it. How much a
# second costs is for the user to say. Here it costs as much as the whole error, 1, whether the run
# ends or is ended.
#
# Compare policies
# ----------------
#
# ``FixedLimit`` learns which configuration is best, with the largest limit for all: what one does
# without thinking about limits. The others learn limits, too.

from keyhole import simulate
from keyhole.resource import RCUCB, FixedLimit, HazardThompson, Power

limits = [0.01, 0.015, 0.02, 0.03, 0.04, 0.06, 0.08, 0.12, 0.16]  # seconds
cost = Power(slope=1.0)
problem = runs.problem(limits, cost=cost, penalty=cost)
curves = simulate(
    problem,
    {
        "the full limit, always": FixedLimit(limit=0.16),
        "RCUCB": RCUCB(),
        "HazardThompson": HazardThompson(),
    },
    horizon=10_000,
    replications=20,
    checkpoints={"count": 40},
)
curves.plot("regret")
# Figure: Regret by round: only HazardThompson becomes nearly flat, so that learning limits as it
# does pays.

# %%
# The curve of ``HazardThompson`` soon becomes nearly flat: it has found a good pair. That of ``RCUCB``
# still rises, and that of the full limit most of all, since each run that takes long is paid for.
#
# Decide
# ------
#
# The learner names a configuration and a limit, and is told reward and seconds, or that the limit was
# exceeded. Here a recorded run is drawn.

import random

random.seed(1)
learner = HazardThompson().learner(
    arms=len(runs.arms), limits=limits, cost=cost, penalty=cost, seed=1
)
for _ in range(10_000):
    arm, limit = learner.ask()
    run = random.randrange(40)
    seconds = runs.consumptions[arm][run]
    if seconds > limit:
        learner.tell(exceeded=True)
    else:
        learner.tell(runs.rewards[arm][run], seconds)

arm, limit = learner.recommend()
print(f"{runs.arms[arm]}: at most {limit:g} seconds")

# %%
# **The decision**: this configuration, ended after this time. At this price a small forest wins, and
# its limit cuts off only its slowest runs; what limits saved is the time of the large forests that
# had to be tried. To tune real programs, which Keyhole
# starts and ends by itself, write a file instead of a loop: :doc:`/tune`.
