"""
5. Whose sales are these?
=========================

*Delayed setting: anonymous sums.* Two letters sell differently: of the customers who get letter A one in five
buys, of those who get letter B three in five. A letter is sent every round, purchases come some twenty
rounds later, and the till shows only how many came in each round, and not whose they are. You send A, B,
A, B and so on, and credit the purchases of a round to the letter of that round. After 20,000 letters: how
much better does B look?

The function below sends letters in a given order and returns the purchases of each round.
"""

import numpy as np

rng = np.random.default_rng(1)
CHANCES = np.array([0.2, 0.6])
MEAN_DELAY = 20


def send(letters):
    """Send a letter a round, 0 or 1; return how many purchases arrive in each round."""
    rounds = np.arange(len(letters))
    buys = rng.random(len(letters)) < CHANCES[letters]
    arrives = rounds + rng.geometric(1 / MEAN_DELAY, size=len(letters))
    inside = buys & (arrives < len(letters))
    return np.bincount(arrives[inside], minlength=len(letters))


alternating = np.arange(20_000) % 2
print("purchases in the first rounds:", send(alternating)[:40].tolist())

# %%
# Hint
# ----
#
# First credit each round to its letter. Then send the letters in blocks: A for a while, then B for a while.
# How does the result depend on the length of a block, and what if the first rounds of each block are not
# counted at all?

# %%
# Solution
# --------


def credited(block, wait=0, letters=20_000):
    """Return the purchases per round of each letter, sent in blocks of which the first rounds do not count."""
    rounds = np.arange(letters)
    order = rounds // block % 2
    purchases = send(order)
    counts = rounds % block >= wait
    return np.array([purchases[counts & (order == letter)].mean() for letter in (0, 1)])


print(f"{'blocks of':>10} {'A':>6} {'B':>6} {'B - A':>7}")
for block in (1, 10, 100, 1000):
    a, b = credited(block)
    print(f"{block:10} {a:6.2f} {b:6.2f} {b - a:7.2f}")
print(f"{'in truth':>10} {CHANCES[0]:6.2f} {CHANCES[1]:6.2f} {CHANCES[1] - CHANCES[0]:7.2f}")

# %%
# If letters alternate, both look the same. More letters do not help: this is no noise, but the wrong
# letter is credited as often as the right one. In blocks that are long against the delay most purchases
# fall into a block of their own letter. Those that do not are in its first rounds, so do not count these.

import matplotlib.pyplot as plt

waits = np.arange(0, 85, 5)
seen = np.array([np.diff(credited(100, wait, letters=200_000))[0] for wait in waits])
figure, axes = plt.subplots(layout="constrained")
axes.plot(waits, seen, "o-")
axes.axhline(CHANCES[1] - CHANCES[0], color="black", linewidth=1)
axes.set(
    xlabel="rounds at the beginning of each block of 100 that are not counted",
    ylabel="how much better B looks",
    ylim=(0, None),
)
# Figure: How much better B looks by the number of rounds that are left out: it nears the true
# difference, the line, as more are.

# %%
# Waiting is the price of sums. That is why policies for them play in phases, and why each phase is longer
# than the one before: the share that is lost by waiting then goes to nothing. Where each purchase can be
# told with its letter, there is nothing to wait for, and nothing to credit wrongly.
#
# There is another way: to play as one likes, and find out by regression which order of letters explains the
# purchases. ``RegressionUCB`` does that, if it is told roughly how long purchases take.

from keyhole import simulate
from keyhole.delayed import ODAAF, Geometric, Problem, RegressionUCB

problem = Problem(means=CHANCES.tolist(), delay=Geometric(MEAN_DELAY), feedback="anonymous")
curves = simulate(
    problem,
    {
        "phases": ODAAF(expected_delay=MEAN_DELAY),
        "regression": RegressionUCB(expected_delay=MEAN_DELAY),
    },
    horizon=20_000,
    replications=50,
)
for name in curves.labels:
    print(f"{name:11} {curves.mean(name, 'regret')[-1]:5.0f} purchases lost")

# %%
# To go on
# --------
#
# Let every purchase come after exactly 21 rounds. What does the till say now, if letters alternate? Then choose
# each letter by a coin, with the delays of above: can the same records tell more, if each purchase is credited
# to the letters of *earlier* rounds, by how likely it comes from them?
