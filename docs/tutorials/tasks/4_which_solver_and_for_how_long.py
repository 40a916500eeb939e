"""
Which solver, and for how long?
===============================

Two small programs place queens on a chessboard so that none attacks another. Both decide at random in
places: a run may end at once or get lost for a long time, and then it is better to give up and begin
anew. Which program should be run, and when should it be given up?

The programs
------------

Both are ordinary scripts: they take the size of the board and a seed, print a solution, and end with
exit code 0. Yours may be any commands, in any language.
"""

import sys
import tempfile
from pathlib import Path

folder = tempfile.TemporaryDirectory()
search = Path(folder.name, "search.py")
search.write_text(
    '''
import random, sys

size, rng = int(sys.argv[1]), random.Random(sys.argv[2])

def place(rows):
    """Place row after row, each in a random order; go back where no column is free."""
    if len(rows) == size:
        return rows
    for column in rng.sample(range(size), size):
        if all(column != other and abs(column - other) != len(rows) - row
               for row, other in enumerate(rows)):
            found = place([*rows, column])
            if found:
                return found

print(place([]))
'''
)
repair = Path(folder.name, "repair.py")
repair.write_text(
    '''
import random, sys

size, rng = int(sys.argv[1]), random.Random(sys.argv[2])
columns = rng.sample(range(size), size)

def attacks(row, column):
    return sum(other == column or abs(other - column) == abs(row - at)
               for at, other in enumerate(columns) if at != row)

while True:
    """Move a queen that is attacked to where the fewest attack it."""
    attacked = [row for row in range(size) if attacks(row, columns[row])]
    if not attacked:
        break
    row = rng.choice(attacked)
    columns[row] = min(range(size), key=lambda column: (attacks(row, column), rng.random()))

print(columns)
'''
)

# %%
# What is to be learnt
# --------------------
#
# A tune has *arms*, which are commands, and time *limits*; the last limit is the full cut-off. What a
# success is worth against a second is for you to say: ``PAR2`` makes it worth the full cut-off. With
# ``clock = "cpu"`` seconds are those of the processor, which other programs on the machine hardly change.
# The same entries may stand in a file ``queens.toml``, for ``keyhole tune queens.toml --out out``.

from keyhole.tune import Spec, Tuner

spec = Spec.from_table(
    {
        "name": "queens",
        "arm": [
            {
                "name": "search",
                "command": [sys.executable, "-I", "-S", str(search), "36", "{seed}"],
            },
            {
                "name": "repair",
                "command": [sys.executable, "-I", "-S", str(repair), "36", "{seed}"],
            },
        ],
        "limits": [0.05, 0.1, 0.2, 0.4, 0.8],
        "objective": "PAR2",
        "clock": "cpu",
    }
)

# %%
# Run it
# ------
#
# The tuner runs one command after the other, each with a new seed, and kills what exceeds its limit.
# A run says something of all limits: one that took 0.12 seconds exceeds a limit of 0.1, and keeps to one
# of 0.2. Here there are 60 runs; ``budget=`` limits the seconds in their place.

tune = Tuner(spec, Path(folder.name, "out")).run(runs=60)
print(tune.best())

# %%
# The first line is the answer. The *gain* is what a run is worth, in successes, after its seconds are paid
# for. Times are measured, so that all numbers differ each time, and the answer may differ, too: of two
# pairs that are nearly as good, either may be named. The third line says how sure the answer is, and is
# careful: the answer is right more often than that.
#
# Look at it
# ----------
#
# The gain of a run by its time limit, with 95 % intervals; the recommended pair has a circle.

tune.plot()
# Figure: Gain of a run by its time limit, with 95 % intervals: the circle marks the pair to take,
# and where bands overlap, more runs are needed to be sure.

# %%
# On every machine this is certain: what exceeded its limit was killed, no run counts twice, and both programs
# were tried. The log has every run.

from collections import Counter

for (program, outcome), runs in sorted(
    Counter((run.arm, run.outcome) for run in tune.runs).items()
):
    print(f"{program}, {outcome}: {runs}")

# %%
# More runs make it surer. The number is that of all calls together: the runs that were made are not made
# again, also after Ctrl-C or a crash.

tune = Tuner(spec, Path(folder.name, "out")).run(runs=90)
print(len(tune.runs), "runs;", str(tune.best()).splitlines()[0])
folder.cleanup()

# %%
# **The decision**: the command and the limit of the last line. Where it is still open, spend more: ``keyhole
# tune report out`` says on a page roughly how many runs would halve the possible loss. Instances,
# memory limits, success by a pattern in the output, and other machines: :doc:`/tune`.
