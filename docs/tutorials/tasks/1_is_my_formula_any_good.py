"""
Is my formula any good?
=======================

A colleague finds the formula of UCB1 too cautious, and proposes another: to the mean of a button's
clicks add a bonus that shrinks with the number of its own trials, and depends on nothing else. Is it
better than the shipped policies, can it be trusted, and what happens when it goes wrong?

Write the formula down
----------------------

A policy that pulls the arm with the largest index needs only that index. ``parameter`` declares what
can be chosen, with its range.
"""

import math

from keyhole import parameter
from keyhole.stochastic import IndexPolicy


class FixedBonus(IndexPolicy):
    """Add to the mean of an arm a bonus that depends on its pulls alone."""

    width: float = parameter(default=1.0, gt=0, doc="bonus of an arm with one pull")

    def index(p, pulls: float, total: float) -> float:
        mean = total / pulls
        bonus = p.width / math.sqrt(pulls)
        return mean + bonus


# %%
# Check it
# --------
#
# ``check_policy`` plays the policy on a problem, with all that can go wrong in a program: saved and
# loaded in the middle, several decisions pending, rewards that are refused, 1,000 arms. It also
# compares the compiled policy with the same one run by Python, bit by bit. It returns nothing if all
# is well.

from keyhole.stochastic import Problem
from keyhole.testing import check_policy

problem = Problem(means=[0.3, 0.4, 0.5])
check_policy(FixedBonus(), problem)

# %%
# A formula with a mistake is refused, and the message says where. This one divides by the number of
# pulls of an arm less one, which is 0 after the first pull.


class Mistaken(IndexPolicy):
    def index(p, pulls: float, total: float) -> float:
        return total / pulls + int(1 / (pulls - 1))


try:
    check_policy(Mistaken(), problem)
except Exception as error:
    print(f"{type(error).__name__}: {str(error).rpartition(' (')[0]}")

# %%
# Compare it with shipped policies
# --------------------------------

from keyhole import simulate
from keyhole.stochastic import KLUCB, UCB1, OptimisticThompson

curves = simulate(
    problem,
    {
        "UCB1": UCB1(),
        "KL-UCB": KLUCB(),
        "OptimisticThompson": OptimisticThompson(),
        "mine": FixedBonus(),
    },
    horizon=5000,
    replications=1000,
    checkpoints={"count": 40},
)
curves.plot("regret")
# Figure: Regret by round: the mean of the new formula, "mine", is among the lowest, and its band
# is wide, since its runs differ.

# %%
# On average it loses less than UCB1 and KL-UCB. A mean hides how the runs differ, however. So look at
# all of them: how many clicks were lost in the median run, and in the worst of a hundred?

import numpy as np

print(f"{'':20} {'mean':>6} {'median':>7} {'1 in 100':>9}")
for name in curves.labels:
    lost = curves.values(name, "regret")[-1]
    print(f"{name:20} {lost.mean():6.0f} {np.median(lost):7.0f} {np.quantile(lost, 0.99):9.0f}")

# %%
# The median of ours is the best by far, and its worst runs are terrible: they lose about what one
# loses by showing the second-best button for ever.
#
# Look inside a run that went wrong
# ---------------------------------
#
# First find such a run. A learner plays the policy one decision at a time, here with clicks drawn by
# Python's ``random``, so that the same seed plays the same run again.

import random


def play(seed, rounds=1000, interpreted=False):
    """Play one run; return which button was shown in each round."""
    clicks = random.Random(seed)
    learner = FixedBonus().learner(arms=3, interpreted=interpreted)
    shown = []
    for _ in range(rounds):
        shown.append(learner.ask())
        learner.tell(clicks.random() < problem.means[shown[-1]])
    return shown


wrong = next(seed for seed in range(1000) if 2 not in play(seed)[500:])
last = max(turn for turn, arm in enumerate(play(wrong)) if arm == 2)
print(f"run {wrong}: the best button, arm 2, is not shown again after round {last}")

# %%
# Compiled code has no place where a debugger could stop. With ``interpreted=True`` Python runs the
# same lines with the same results, and any debugger works: set a breakpoint in an editor, write
# ``breakpoint()`` into the formula, or start ``python -m pdb`` with this script. There one would type
# the commands after ``(Pdb)``; on this page they come from a text, so that the page can be built.

import inspect
import io
import pdb
import sys
from pathlib import Path


class ScriptedPdb(pdb.Pdb):
    """Python's debugger with commands from a text; it prints them as if they were typed."""

    def precmd(self, line):
        print(line)
        return super().precmd(line)

    def format_stack_entry(self, frame_lineno, lprefix=": "):
        folder = Path(frame_lineno[0].f_code.co_filename).parent
        return super().format_stack_entry(frame_lineno, lprefix).replace(f"{folder}/", "")


# %%
# The breakpoint is in the last line of the formula, for an arm that was shown five times without a
# click. *continue* goes there, *p* prints what the formula has computed, *up 2* goes past a check to
# the caller, which knows the arm and the counts of all others, and *quit* ends the session.

lines, first = inspect.getsourcelines(FixedBonus.index)
commands = """\
continue
p pulls, total, mean, round(bonus, 3)
up 2
p arm, s.pulls.tolist(), s.totals.tolist()
quit
"""
debugger = ScriptedPdb(stdin=io.StringIO(commands), stdout=sys.stdout, nosigint=True, readrc=False)
debugger.set_break(
    inspect.getsourcefile(FixedBonus.index),
    first + len(lines) - 1,
    cond="pulls == 5 and total == 0",
)
try:
    debugger.runcall(play, wrong, interpreted=True)
except pdb.bdb.BdbQuit:
    print("the debugger has ended, and the run with it")

# %%
# The best button had bad luck: five times shown, no click. Its index is then the bonus alone.
# And there it stays, since the index of a button changes only when the button is shown. Once the
# index of another button settles above it, that button is shown for ever, and nothing brings the best
# one back. In UCB1 the bonus of a button grows slowly as long as it is *not*
# shown, so that every button gets another chance some day. That is what the caution was for.
#
# A wider bonus makes it rarer, and costs clicks in all other runs:

widths = [0.5, 1.0, 2.0]
curves = simulate(
    problem,
    {f"width {width:g}": FixedBonus(width=width) for width in widths},
    horizon=5000,
    replications=1000,
)
for name in curves.labels:
    lost = curves.values(name, "regret")[-1]
    stuck = (lost > 0.09 * 5000).mean()
    print(f"{name}: {np.median(lost):.0f} clicks lost in the median, {stuck:.1%} of the runs stuck")

# %%
# **The decision**: do not use the formula for 5,000 visitors, however good its mean is; take
# ``OptimisticThompson``, whose mean is as low and whose worst runs are harmless. For a test with some
# hundred visitors the formula would do. Policies with a state of their own, and what a kernel may do,
# are in :doc:`/contract`; more on debuggers is in :doc:`/interpreted`. ``keyhole new policy NAME``
# writes a file to begin with, and its test.
