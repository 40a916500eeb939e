"""
Decisions of a study
====================

A study keeps decisions in a database. Its plot shows when the policy began to prefer an option.
"""

import random
import tempfile

from keyhole.stochastic import KLUCB
from keyhole.study import Study

random.seed(7)
chances = {"Buy": 0.05, "Order": 0.2, "Try": 0.3}
with tempfile.TemporaryDirectory() as folder:
    study = Study.create(f"{folder}/buttons.db", "buttons", KLUCB(), list(chances))
    for _ in range(400):
        decision = study.ask()
        study.tell(decision.id, random.random() < chances[decision.arm])
    study.plot()
    study.close()
# Figure: Decisions so far for each option: soon most are for Try, the best; Order is tried
# again now and then, and Buy, the worst, hardly ever.
