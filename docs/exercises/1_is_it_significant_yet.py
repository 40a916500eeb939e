"""
1. Is it significant yet?
=========================

*Stochastic setting: when to stop.* A page is changed, and nothing gets better or worse: a visitor clicks
with probability one half, as before. An analyst looks every day, with ten new visitors each, computes the
usual 95 % interval (the mean, give or take 1.96 standard errors), and stops as soon as it excludes one
half. In how many of 100 such tests does the analyst report a difference that is not there?

Guess first. Then compute it for tests of 100 days, and find an interval with which one may look daily.
"""

import numpy as np

rng = np.random.default_rng(1)
tests, days, visitors = 1000, 100, 10
clicks = rng.binomial(visitors, 0.5, size=(tests, days)).cumsum(axis=1)  # up to each day
shown = visitors * np.arange(1, days + 1)
print("clicks up to the last day, of five tests:", clicks[:5, -1])

# %%
# Hint
# ----
#
# Compute for each test and day whether the interval excludes one half. That this happens on the *last*
# day has a chance of 5 %; ``np.logical_or.accumulate(..., axis=1)`` says whether it has happened by a day.
# For an interval that holds on all days at once, see ``keyhole.confidence_sequences``.

# %%
# Solution
# --------
#
# The usual interval, day by day:

means = clicks / shown
errors = np.sqrt(means * (1 - means) / shown)
excludes = np.abs(means - 0.5) > 1.96 * errors
ever = np.logical_or.accumulate(excludes, axis=1)
print(f"looked at once, on the last day: {excludes[:, -1].mean():.1%} of the tests are misled")
print(f"looked at every day:             {ever[:, -1].mean():.1%}")

# %%
# Each day is another chance to be misled, and the analyst stops at the first. The days are not
# independent, or it would be worse still. But there is no end to it: as the test goes on the share grows
# to one, by the law of the iterated logarithm.
#
# A *confidence sequence* is made so that the chance of it *ever* missing the mean is 5 %.

from functools import cache

from keyhole.confidence_sequences import beta_mixture_interval


@cache
def misses_half(shown, clicks):
    """Return whether the interval that holds at any time excludes one half."""
    low, high = beta_mixture_interval(shown, clicks)
    return not low <= 0.5 <= high


sequence_excludes = np.array(
    [[misses_half(int(n), int(s)) for n, s in zip(shown, row)] for row in clicks]
)
sequence_ever = np.logical_or.accumulate(sequence_excludes, axis=1)
print(f"confidence sequence, looked at every day: {sequence_ever[:, -1].mean():.1%}")

import matplotlib.pyplot as plt

figure, axes = plt.subplots(layout="constrained")
axes.plot(np.arange(1, days + 1), ever.mean(axis=0), label="usual interval")
axes.plot(np.arange(1, days + 1), sequence_ever.mean(axis=0), label="confidence sequence")
axes.axhline(0.05, color="black", linewidth=1, linestyle="--", label="5 %")
axes.set(xlabel="day", ylabel="share of tests misled by this day", ylim=(0, None))
axes.legend()
# Figure: Share of tests that were misled by a day: for the usual interval it grows far beyond 5 %,
# for the confidence sequence it stays below.

# %%
# The price is width. On the last day the sequence is wider than the usual interval by a factor of

low, high = beta_mixture_interval(int(shown[-1]), int(shown[-1]) // 2)
print(f"{(high - low) / (2 * 1.96 * np.sqrt(0.25 / shown[-1])):.2f}")

# %%
# To go on
# --------
#
# What if the analyst looks only once a week? How many looks does it take until one test in five is misled?
# What a policy that stops makes of this is in :doc:`/stopping`.
