"""
Which subject line sells?
=========================

A shop writes to its customers, with one of three subject lines. Who buys does so hours or days later,
most never buy, and several programs are involved: one sends letters, another hears of sales. Which
subject line should be used, while all this goes on and programs come and go?

Make a study
------------

A *study* keeps decisions in a database, here a file. A decision that is not told within a week is
given up. ``clock`` is only for this page, on which days have to pass quickly; without it the study
takes the time of the system.
"""

import tempfile
from pathlib import Path

from keyhole.stochastic import OptimisticThompson
from keyhole.study import Study

folder = tempfile.TemporaryDirectory()
file = Path(folder.name, "letters.db")
day = 24 * 3600
now = 20_000.0 * day

study = Study.create(
    file,
    "subjects",
    OptimisticThompson(),
    ["Good morning", "20 % off", "News from us"],
    timeout=7 * day,
    on_timeout="forget",
    clock=lambda: now,
)

# %%
# Ask and tell
# ------------
#
# ``ask`` hands out a decision with an ``id``, which goes with the letter. Decisions are *pending* until
# they are told; any number may be.

first, second, third = study.ask(), study.ask(), study.ask()
for decision in (first, second, third):
    print(decision.arm)
print(len(study.pending), "are pending")

# %%
# The first customer has bought something.

study.tell(first.id, 1)
print(len(study.pending), "are pending")

# %%
# Tell from another process
# -------------------------
#
# The program that hears of sales is another one. It needs the file and the ``id``, and may be a script,
# a cron job, or the command line. Here the command is run as a process of its own.

import subprocess
import sys

command = [sys.executable, "-m", "keyhole", "study", "tell", str(file), "subjects", second.id]
subprocess.run([*command, "reward=0"], check=True)
print(len(study.pending), "is pending")

# %%
# Open it again
# -------------
#
# The program that sends letters is restarted, or the machine is. Nothing is lost: open the study, and
# it knows what is pending.

study.close()
study = Study.open(file, "subjects", clock=lambda: now)
print([decision.arm for decision in study.pending], "is pending")

# %%
# Feedback that never comes, or comes late
# ----------------------------------------
#
# Nine days later the third letter has no feedback. At the next ``ask`` it *expires*: it is not waited for
# any more, and with ``on_timeout="forget"`` it teaches the policy nothing.

now += 9 * day
fourth = study.ask()
print("the third is pending:", third.id in [decision.id for decision in study.pending])

# %%
# But late is not never: on the tenth day the customer buys. With ``"forget"`` late feedback counts.
# (With ``"no_reward"`` the decision would have counted as no sale, and the late sale would only be
# recorded.)

now += 1 * day
study.tell(third.id, 1)
study.tell(fourth.id, 0)

# %%
# A customer whose address does not exist need not be waited for: ``expire`` gives up one decision at once.

fifth = study.ask()
study.expire(fifth.id)

# %%
# Let it run
# ----------
#
# Eight weeks follow, with twenty letters a day. A customer buys with a probability that the study does
# not know, after one to five days. Who has not bought by then will not, and is told as 0.

import random

random.seed(1)
chances = {"Good morning": 0.1, "20 % off": 0.3, "News from us": 0.15}
due = []  # day, id, reward
for today in range(56):
    now += 1 * day
    for letter in [letter for letter in due if letter[0] == today]:
        study.tell(letter[1], letter[2])
    for _ in range(20):
        decision = study.ask()
        buys = random.random() < chances[decision.arm]
        due.append((today + (random.randint(1, 5) if buys else 5), decision.id, int(buys)))

# %%
# Sales are told sooner here than the lack of a sale, so that for some days the means are too high: of the
# letters of yesterday only the good news has come. To be fair to all, tell both after the same time.
#
# Look at it
# ----------
#
# Printed, a study shows each arm with its mean.

print(str(study).replace(f"{folder.name}/", ""))

# %%
# Beside the means it would show intervals that hold whenever one looks, had no decision expired: nobody
# knows what came of the fifth letter, and if letters were forgotten *because* nothing was sold, the means
# would be too high.

# %%
# The plot shows when the policy began to prefer a subject line.

study.plot()
# Figure: Letters so far for each subject line: after some 300, nearly all are for the one that
# sells best.

# %%
# The history is a table with one row for each event: what was handed out, told or expired, and when.

history = study.history()
print(history.num_rows, "rows with", history.column_names)

# %%
# Recommend
# ---------

best = study.recommend()
print(best)
study.close()
folder.cleanup()

# %%
# **The decision**: the subject line above. The study may go on with fewer letters, or with a new line
# (``study.add_arm``). To be told when the winner is proved, use ``BestArmStopping``: the tutorial
# on stopping does. Several machines need PostgreSQL in the place of the file. All of this, and what
# a study survives, is in :doc:`/studies`.
