"""
3. Why not ask about the most doubtful item?
============================================

*Thresholding setting.* Ten items have unknown shares of yes, and you have 2,000 labels to find out which
are above one half. Clear items need few labels. So it seems sensible to ask always about the item that
is the most doubtful: whose average is closest to one half. How good is this rule, against asking
about all items equally often?

The rule is a policy of one line.
"""

from keyhole import simulate
from keyhole.thresholding import LSA, IndexPolicy, Problem, RoundRobin


class MostDoubtful(IndexPolicy):
    """Ask about the item whose average is closest to the threshold."""

    def index(p, pulls: float, total: float) -> float:
        return -abs(total / pulls - p.threshold)


problem = Problem(means=[0.1, 0.2, 0.3, 0.4, 0.45, 0.55, 0.6, 0.7, 0.8, 0.9], threshold=0.5)

# %%
# Hint
# ----
#
# Simulate both rules, and plot ``"aggregate_regret"`` (the mean number of wrong items) over
# the labels. Then look at how often each item was asked in one run: ``learner.state["pulls"]`` has it.

# %%
# Solution
# --------

curves = simulate(
    problem,
    {"most doubtful": MostDoubtful(), "equally often": RoundRobin(), "LSA": LSA()},
    horizon=2000,
    replications=500,
    checkpoints={"count": 40},
)
curves.plot("aggregate_regret")
# Figure: Logarithm of the share of pictures on the wrong side by the number of answers: asking
# about the most doubtful one does not lower it at all.

# %%
# The rule learns nothing, however many labels it gets. One run shows why:

import random

random.seed(1)
learner = MostDoubtful().learner(arms=10, threshold=0.5)
for _ in range(2000):
    item = learner.ask()
    learner.tell(random.random() < problem.means[item])
asked = learner.state["pulls"]
print("labels of each item:", asked.astype(int).tolist())

# %%
# After one label each every average is 0 or 1, and no item is closer to one half than another. The first
# one that gets both a yes and a no is the most doubtful, and stays so: all later labels go to it, while
# the others are judged by a single label. The rule takes *few labels* for *no doubt*.
#
# ``LSA`` asks for the most doubtful item, too, but measures doubt by the squared distance from the threshold
# *times the number of labels* (and adds half the logarithm of that number). So an item with few labels is
# in doubt wherever its average lies, and every item is asked again sooner or later. What does that save
# against asking equally often?

lost = {name: curves.mean(name, "aggregate_regret") for name in curves.labels}
needed = curves.checkpoints[(lost["LSA"] <= lost["equally often"][-1]).argmax()]
print(f"LSA is as good with {needed} labels as 'equally often' with 2,000")

# %%
# To go on
# --------
#
# Repair the rule with one more term: which? Does it help to begin with ten labels for each item? Compare
# your rule with ``LSA`` by ``curves.paired``.
