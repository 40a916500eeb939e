"""
Which subject line sells?
=========================

A shop writes to its customers, with one of three subject lines. Who buys does so hours or days later,
most never buy, and several programs are involved: one sends letters, another hears of sales. Which
subject line should be used, while all this goes on and programs come and go?

Make a study
------------

A *study* keeps decisions in a database, here a file. Nobody reports that a customer did not buy. So a
decision of which no sale is told within a week counts as none: ``on_timeout="no_reward"``. (The default,
``"forget"``, is for outcomes that got lost; it would compare the lines by their buyers alone.) ``clock``
is only for this page, on which days have to pass quickly; without it the study takes the time of the
system.
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
    on_timeout="no_reward",
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
# a cron job, or the command line. Here it is the command, which tells that the second customer has
# bought too, as a process of its own.

import subprocess
import sys

command = [sys.executable, "-m", "keyhole", "study", "tell", str(file), "subjects", second.id]
subprocess.run([*command, "reward=1"], check=True)
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
# any more, and the policy learns that nothing was sold.

now += 9 * day
fourth = study.ask()
print("the third is pending:", third.id in [decision.id for decision in study.pending])

# %%
# On the tenth day the customer buys after all. That is recorded, and does not count: a study is about
# sales within a week, of all letters alike, however long one waits for some. If later sales matter, choose
# a longer timeout.

now += 1 * day
study.tell(third.id, 1)
print(study.history()["event"].to_pylist()[-1])

# %%
# Who has closed the account will not buy: ``expire`` counts one decision as no sale at once.

study.expire(fourth.id)

# %%
# Let it run
# ----------
#
# Eight weeks follow, with twenty letters a day. A customer buys with a probability that the study does
# not know, after one to five days. Sales are told; nothing is told of those who do not buy.

import random

random.seed(1)
chances = {"Good morning": 0.1, "20 % off": 0.3, "News from us": 0.15}
due = []  # day, id
for today in range(56):
    now += 1 * day
    for letter in [letter for letter in due if letter[0] == today]:
        study.tell(letter[1], 1)
    for _ in range(20):
        decision = study.ask()
        if random.random() < chances[decision.arm]:
            due.append((today + random.randint(1, 5), decision.id))

# %%
# Look at it
# ----------
#
# A letter of the last week may still sell, and is known to have sold before it is known not to have. Wait
# a week, and ask once more, before you compare the lines.

now += 8 * day
study.ask()
print(str(study).replace(f"{folder.name}/", ""))

# %%
# The plot shows when the policy began to prefer a subject line.

study.plot()
# Figure: Letters so far for each subject line: after some 250, nearly all are for the one that
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
