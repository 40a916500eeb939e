"""
Which pictures show the bird?
=============================

Volunteers were shown 108 pictures of birds, and asked of each whether it shows an Indigo Bunting.
Their answers differ. Every answer costs money: which pictures does the majority hold to be Indigo
Buntings, with as few answers as possible?

The answers are recorded, 39 for each picture. So this page can ask as if they came one by one.
"""

from keyhole.data import load_labels

labels = load_labels("bluebirds")
print(labels)
print("first picture:", labels.ones[0], "of", labels.counts[0], "say yes")

# %%
# A picture is an *arm*, an answer is a *reward* of 1 or 0, and the question is which arms have a
# mean of at least one half: the :doc:`thresholding setting </thresholding>`. Hard pictures are those
# whose mean is near one half.

import matplotlib.pyplot as plt

figure, axes = plt.subplots(layout="constrained")
axes.hist(labels.means, bins=20)
axes.axvline(0.5, color="black", linewidth=1)
axes.set(xlabel="share of yes", ylabel="pictures")
# Figure: Pictures by the share of answers that say yes: most are far from one half, the line, so
# that a few answers are enough for them.

# %%
# Most pictures are clear, and a few answers would do. About twenty are near the threshold. To ask
# about all equally often is a waste on the clear ones.
#
# Compare policies
# ----------------
#
# A *policy* is a rule that says which picture to ask about next. ``RoundRobin`` asks about all in turn;
# ``APT`` and ``LSA`` ask more often about pictures that are still near the threshold. Before real money
# is spent, simulate: each policy has 2,000 answers in all, some 19 a picture, and the same random
# answers.

from keyhole import simulate
from keyhole.data import crowd_problem
from keyhole.thresholding import APT, LSA, RoundRobin

problem = crowd_problem("bluebirds")
curves = simulate(
    problem,
    {"equally often": RoundRobin(), "APT": APT(), "LSA": LSA()},
    horizon=2000,
    replications=200,
    checkpoints={"count": 40},
)
curves.plot("aggregate_regret")
# Figure: Logarithm of the share of pictures on the wrong side by the number of answers: LSA is the
# lowest, so that it needs the fewest answers.

# %%
# The curves are the logarithm of the share of pictures that end on the wrong side. LSA needs about half
# of the answers for the same share. Asking equally often zigzags: it matters where a turn ends.
#
# Decide
# ------
#
# A *learner* takes one decision at a time. It asks for a picture, and is told what the next volunteer
# says. Here the volunteer is drawn from the recorded answers; in real work it is a person.

import random

random.seed(1)
learner = LSA().learner(arms=len(labels.items), threshold=0.5)
for _ in range(2000):
    picture = learner.ask()
    says_yes = random.random() < labels.means[picture]
    learner.tell(says_yes)

shown = learner.recommend()
wrong = sum(is_shown != (mean >= 0.5) for is_shown, mean in zip(shown, labels.means))
print(
    sum(shown), "pictures show the bird;", wrong, "of 108 differ from the majority of all answers"
)

# %%
# How many answers are enough?
# ----------------------------
#
# With a fixed budget nobody knows how wrong the result is. ``PerArmStopping`` stands beside a policy
# and stops asking about a picture as soon as it is sure. Where the share of yes is less than
# ``tolerance=0.1`` from one half, either answer is allowed. With ``delta=0.05`` the expected share of
# pictures that are farther from it, and end on the wrong side, is at most 5 %.

from keyhole.thresholding import PerArmStopping

policy = PerArmStopping(base=LSA(), delta=0.05, tolerance=0.1)
learner = policy.learner(arms=len(labels.items), threshold=0.5)
while not learner.is_done:
    picture = learner.ask()
    learner.tell(random.random() < labels.means[picture])

answers = sorted(learner.state["pulls"])
print(
    f"{learner.rounds:,} answers: {answers[54]:.0f} for the median picture, at most {answers[-1]:.0f}"
)

# %%
# **The decision**: ask with ``PerArmStopping``, and stop when it is done. For your own pictures put
# the question to people in the place of ``random``, or keep the learner in a database that many of
# them answer at the same time: :doc:`/studies`. More on the guarantee: :doc:`/stopping`.
