"""
7. First the solver, then the limit?
====================================

*Resource setting: arms and limits.* You have three solvers. Two are steady: they take about a second. The
third gambles: it takes a tenth of a second, or is lost. A solved instance is worth 1, and a second costs 0.8,
also one that is spent in vain; after 1.25 seconds a run is ended at the latest. One thing after the
other: first find the best solver, then the best time limit for it. Does that lead to the best pair?

The recorded times are made up, 200 for each solver; infinite is a run that never ends.
"""

import numpy as np

rng = np.random.default_rng(1)
SECOND, CUT_OFF = 0.8, 1.25
LIMITS = [0.05, 0.2, 0.5, 0.8, 1.1, CUT_OFF]
seconds = {
    "steady": rng.normal(1.0, 0.1, size=200).clip(0.7, 1.2),
    "steadier": rng.normal(1.0, 0.05, size=200).clip(0.7, 1.2),
    "gambling": np.where(rng.random(200) < 0.5, rng.normal(0.1, 0.02, size=200), np.inf),
}

# %%
# Hint
# ----
#
# The gain of a run with a limit is 1 if it ends within it, less 0.8 for each second that it takes, up to
# the limit. Compute the mean gain of each pair of solver and limit from the recorded times.

# %%
# Solution
# --------


def gain(solver, limit):
    """Return the mean gain of a run that is ended after the limit."""
    spent = np.minimum(seconds[solver], limit)
    return float(np.mean((seconds[solver] <= limit) - SECOND * spent))


print(f"{'limit':>10}" + "".join(f"{limit:8g}" for limit in LIMITS))
for solver in seconds:
    print(f"{solver:>10}" + "".join(f"{gain(solver, limit):8.2f}" for limit in LIMITS))

first_solver = max(seconds, key=lambda solver: gain(solver, CUT_OFF))
then_limit = max(LIMITS, key=lambda limit: gain(first_solver, limit))
first_limit = max(LIMITS, key=lambda limit: np.mean([gain(solver, limit) for solver in seconds]))
then_solver = max(seconds, key=lambda solver: gain(solver, first_limit))
pairs = [(solver, limit) for solver in seconds for limit in LIMITS]
best = max(pairs, key=lambda pair: gain(*pair))
for name, pair in {
    "first the solver, then its limit": (first_solver, then_limit),
    "first the limit, then the solver": (then_solver, first_limit),
    "both at once": best,
}.items():
    print(f"{name}: {pair[0]}, {pair[1]:g} s, gain {gain(*pair):.2f}")

# %%
# With the full time the gambling solver looks bad, since its lost runs cost the full time. So the first step
# throws away the winner: which solver is best depends on the limit. The other order is no better: the limit that
# is best on average over the solvers is one for solvers that nobody would choose.
#
# So a policy learns pairs of solver and limit. There are many pairs, but a run tells about more than its own:
# it also says what shorter limits would have brought. ``FixedLimit`` learns the solver alone.

from keyhole import simulate
from keyhole.data import MeasuredRuns
from keyhole.resource import FixedLimit, HazardUCB, Power

runs = MeasuredRuns(
    "made up",
    tuple(seconds),
    [np.isfinite(times).astype(float) for times in seconds.values()],
    [np.where(np.isfinite(times), times, 1e6) for times in seconds.values()],
)
cost = Power(slope=SECOND)
problem = runs.problem(LIMITS, cost=cost, penalty=cost)
curves = simulate(
    problem,
    {"always the full time": FixedLimit(limit=CUT_OFF), "solver and limit": HazardUCB()},
    horizon=2000,
    replications=50,
    checkpoints={"count": 40},
)
curves.plot("regret")
# Figure: Regret by round: learning the solver alone ends at more than ten times the regret of
# learning pairs of solver and limit.

# %%
# To go on
# --------
#
# How much may a second cost before the steady solver is not worth starting? What if a lost run may be started
# anew with another seed: which limit is then the best for the gambling solver?
