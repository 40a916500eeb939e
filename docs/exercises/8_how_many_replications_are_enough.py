"""
8. How many replications are enough?
====================================

*All settings: common random numbers.* Two policies are compared in a simulation. Each has a mean regret with
a confidence interval, and the two intervals overlap. Does that mean that more replications are needed to
tell which policy is better? And how many do you save if both policies meet the same random numbers?

Each policy of a simulation meets the same rewards in replication 1, the same in replication 2, and so
on. ``values`` returns a policy's metric in each replication.
"""

import numpy as np

from keyhole import simulate
from keyhole.thresholding import APT, LSA, Problem, RoundRobin

problem = Problem(means=[0.2, 0.25, 0.3, 0.45, 0.55, 0.7, 0.8], threshold=0.5)
policies = {"APT": APT(), "LSA": LSA(), "equally often": RoundRobin()}
curves = simulate(problem, policies, horizon=500, replications=2000)
regret = {name: curves.values(name, "aggregate_regret")[-1] for name in curves.labels}

# %%
# Hint
# ----
#
# The variance of a difference is the sum of both variances, less twice the covariance. Compute the standard
# deviation of the difference within a replication, and that of the difference between replications that
# have nothing to do with each other (``values[::2] - others[1::2]``). By the square of their ratio fewer
# replications do. ``curves.paired`` gives the interval of the difference.

# %%
# Solution
# --------

few = simulate(problem, policies, horizon=500, replications=200, seed=3)


def interval(values):
    """Return the mean and the half-width of its 95 % interval."""
    return values.mean(), 1.96 * values.std(ddof=1) / np.sqrt(len(values))


for name in ("APT", "LSA"):
    mean, half = interval(few.values(name, "aggregate_regret")[-1])
    print(f"{name}: {mean:.3f}, from {mean - half:.3f} to {mean + half:.3f}")
paired = few.paired("LSA", "APT", metric="aggregate_regret", round=500)
print(f"LSA - APT: {paired.difference:.3f}, from {paired.low:.3f} to {paired.high:.3f}")

# %%
# The intervals of the means overlap, and that of the difference is clear of 0. Two intervals say how precisely
# *each* mean is known, and may overlap although the means differ. Above all they forget that both policies
# had good luck and bad luck in the same replications.
# The correlation of the two says how much they share, and the standard deviations what that saves.

pairs = [("LSA", "APT"), ("LSA", "equally often"), ("APT", "equally often")]
savings = {}
print(f"{'':20} {'correlation':>11} {'paired':>7} {'unrelated':>9} {'replications':>12}")
for one, other in pairs:
    correlation = np.corrcoef(regret[one], regret[other])[0, 1]
    paired = (regret[one] - regret[other]).std()
    unrelated = (regret[one][::2] - regret[other][1::2]).std()
    savings[one, other] = (unrelated / paired) ** 2
    print(
        f"{one + ' - ' + other:20} {correlation:11.2f} {paired:7.2f} {unrelated:9.2f}"
        f" {savings[one, other]:10.1f} x"
    )

# %%
# The last column says how many times as many replications unrelated runs would need for the same interval.
# It depends on the pair: much is saved where two policies do nearly the same, and err on the same items. That
# is just where it is needed, since such a difference is small.
#
# How small a difference can one see with 2,000 replications? Put LSA beside itself with another parameter:

alike = simulate(
    problem,
    {"1.35": LSA(alpha=1.35), "1.4": LSA(alpha=1.4)},
    horizon=500,
    replications=2000,
)
one, other = (alike.values(name, "aggregate_regret")[-1] for name in alike.labels)
unrelated = (one[::2] - other[1::2]).std()
savings["alike"] = (unrelated / (one - other).std()) ** 2
print(alike.paired("1.35", "1.4", metric="aggregate_regret", round=500))
print(f"unrelated runs would need {savings['alike']:.1f} times as many replications")

# %%
# To go on
# --------
#
# Common random numbers need that replication 7 of one policy meets the rewards that replication 7 of the
# other meets, although they pull arms in another order. How would you make that so? (:doc:`/randomness` says
# how it is done here.) Can pairing ever make an interval wider?
