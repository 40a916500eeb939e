"""
Which of my pictures need more labels?
======================================

You have a file of labels: people looked at pictures of birds, and said whether they see a duck. What
does the file say already, which pictures need more labels, and how many should you buy?

The file
--------

A CSV file with a row for each label and the columns ``item`` and ``label`` is all that is needed;
further columns are ignored. Yours comes from a labelling tool. Here a part of some recorded labels is
written to a file, so that there is one: eight labels for each of 240 pictures.
"""

import csv
import random
import tempfile
from pathlib import Path

from keyhole.data import load_labels

random.seed(1)
recorded = load_labels("ducks")
folder = tempfile.TemporaryDirectory()
path = Path(folder.name, "labels.csv")
with path.open("w", newline="") as file:
    rows = csv.writer(file)
    rows.writerow(["item", "worker", "label"])
    for picture, ones, count in zip(recorded.items, recorded.ones, recorded.counts):
        answers = [1] * ones + [0] * (count - ones)
        for worker, label in enumerate(random.sample(answers, 8)):
            rows.writerow([f"picture {picture}", f"worker {worker}", label])

print("".join(path.read_text().splitlines(keepends=True)[:4]))

# %%
# Read it
# -------

from keyhole.data import read_labels_csv

labels = read_labels_csv(path)
print(labels)

# %%
# A row that cannot be right is refused, with its line.

damaged = Path(folder.name, "damaged.csv")
damaged.write_text("item,label\npicture 1,1\npicture 2,perhaps\n")
try:
    read_labels_csv(damaged)
except ValueError as error:
    print(str(error).replace(f"{folder.name}/", ""))

# %%
# What it says already
# --------------------
#
# A picture shows a duck if more than half of all people would say so. With eight labels the share of
# yes is a rough estimate. Its interval holds at all times at once, so that one may look, buy more
# labels, and look again.

import matplotlib.pyplot as plt

from keyhole.confidence_sequences import beta_mixture_interval

intervals = [beta_mixture_interval(n, ones) for n, ones in zip(labels.counts, labels.ones)]
clear = [not low <= 0.5 <= high for low, high in intervals]
print(sum(clear), "of", len(clear), "pictures are clear with eight labels each")

figure, axes = plt.subplots(layout="constrained")
for yes in range(9):
    low, high = beta_mixture_interval(8, yes)
    is_clear = not low <= 0.5 <= high
    colour = "tab:blue" if is_clear else "tab:orange"
    axes.plot([low, high], [yes, yes], "-", color=colour, linewidth=3)
    count = int((labels.ones == yes).sum())
    axes.annotate(f"{count} pictures", (high, yes), xytext=(6, -4), textcoords="offset points")
axes.axvline(0.5, color="black", linewidth=1)
axes.set(
    xlabel="share of all people who would say yes: 95 % interval at any time",
    ylabel="yes, of eight labels",
    xlim=(0, 1.2),
)
# Figure: Intervals of pictures by their number of yes: only the blue ones are on one side of the
# line, so that all others need more labels.

# %%
# How many more?
# --------------
#
# Your labels make a *problem*: a pull of a picture draws one of its labels. So policies can be
# compared on your own data before you buy anything. The regret counts pictures on the wrong side, by
# how far they are from one half.

from keyhole import simulate
from keyhole.data import crowd_problem
from keyhole.thresholding import LSA, RoundRobin

problem = crowd_problem(labels)
curves = simulate(
    problem,
    {"equally often": RoundRobin(), "LSA": LSA()},
    horizon=4000,
    replications=100,
    checkpoints={"count": 40},
)
curves.plot("aggregate_regret")
# Figure: Logarithm of the share of pictures on the wrong side by the number of labels: LSA falls
# faster, so that it needs fewer labels.

# %%
# Here eight labels stand for all people, so that this is a rough plan: it says which policy to take,
# and of what size the budget should be.
#
# Go on where the file ends
# -------------------------
#
# ``replay`` lets a learner learn the rows of the file as if it had asked for them. After that it asks
# for the picture whose next label is worth most. (For this the file is read once more, row by row.)

with path.open(newline="") as file:
    log = [(labels.items.index(row["item"]), int(row["label"])) for row in csv.DictReader(file)]

learner = LSA().learner(arms=labels.arms, threshold=0.5)
learner.replay(arms=[item for item, _ in log], rewards=[label for _, label in log])
asked = []
for _ in range(1440):
    item = learner.ask()
    learner.tell(random.random() < recorded.means[item])  # in real work, a person answers
    asked.append(item)

more = [asked.count(item) for item in range(labels.arms)]
print("pictures that got no further label:", more.count(0))
print("most further labels for one picture:", max(more))

# %%
# Was it worth the money? The recorded labels of all people tell. For comparison, about as many labels
# are spread equally, six more for each picture.


def count_wrong(is_duck):
    """Count the pictures that most people see differently."""
    return sum(said != (mean > 0.5) for said, mean in zip(is_duck, recorded.means) if mean != 0.5)


def spread_equally():
    """Return what six more labels for each picture would say."""
    more = [sum(random.random() < mean for _ in range(6)) for mean in recorded.means]
    return [ones + further > 7 for ones, further in zip(labels.ones, more)]


equally = [count_wrong(spread_equally()) for _ in range(20)]
print(count_wrong(labels.means > 0.5), "pictures on the wrong side with the labels of the file")
print(f"{sum(equally) / 20:.0f} with six more for each, on average of 20 times")
print(count_wrong(learner.recommend()), "with as many where LSA asks for them")
folder.cleanup()

# %%
# **The decision**: buy further labels where the learner asks for them, and leave clear pictures alone.
# ``PerArmStopping`` says when to end (:doc:`/stopping`), and a study lets many people answer at a time
# (:doc:`/studies`). A list of many labels to buy at once: :ref:`plan-from-a-log`. Numbers in place of labels, such as ratings or sales, are read by
# ``read_rewards_csv``, and times by ``ArrivalTimes``: :doc:`/real_data`.
