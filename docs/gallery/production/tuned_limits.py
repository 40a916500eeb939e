"""
When to give up on a command
============================

A tune runs real commands, here two that wait for a random time, and estimates the gain of each
by time limit.
"""

import sys
import tempfile

from keyhole.tune import Spec, Tuner

waits = "import random, time; time.sleep(random.choice([{}]))"
spec = Spec.from_table(
    {
        "arm": [
            {"name": "steady", "command": [sys.executable, "-c", waits.format("0.02, 0.04")]},
            {"name": "gamble", "command": [sys.executable, "-c", waits.format("0, 0, 2")]},
        ],
        "limits": [0.05, 0.1, 0.2, 0.4],
    }
)
with tempfile.TemporaryDirectory() as folder:
    Tuner(spec, folder).run(runs=40).plot()
# Figure: Estimated gain of a run of each command by time limit, with intervals, and the best pair
# of a command and a limit.
