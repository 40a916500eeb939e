"""
Means that one may look at every day
====================================

The mean feedback of each option of a study so far, with intervals that hold at all times at
once.
"""

import random
import tempfile

from keyhole.stochastic import ThompsonSampling
from keyhole.study import Study

random.seed(2)
chances = {"round": 0.1, "square": 0.2, "oval": 0.4}
with tempfile.TemporaryDirectory() as folder:
    study = Study.create(f"{folder}/buttons.db", "buttons", ThompsonSampling(), list(chances))
    for _ in range(400):
        decision = study.ask()
        study.tell(decision.id, random.random() < chances[decision.arm])
    study.plot("mean")
    study.close()
# Figure: Mean reward of each option by decision, with intervals that narrow for what is chosen
# often: in the end that of the oval button is above the others.
