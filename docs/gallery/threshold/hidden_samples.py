"""
What hidden samples cost
========================

The regret of ``SurvivalThompson`` if every sample is seen, and if samples that reach the
threshold stay hidden.
"""

import matplotlib.pyplot as plt

from keyhole import simulate
from keyhole.threshold import Problem, SurvivalThompson

reach = [[0.9, 0.8, 0.2], [0.7, 0.6, 0.5], [0.8, 0.5, 0.3]]  # probability to reach level 1, 2, 3
policy = SurvivalThompson()
figure, axes = plt.subplots(layout="constrained")
for feedback, label in (("uncensored", "all are seen"), ("censored", "some stay hidden")):
    curves = simulate(
        Problem(reach, feedback=feedback),
        [policy],
        horizon=10_000,
        replications=200,
        checkpoints={"count": 30},
    )
    axes.plot(curves.checkpoints, curves.mean(policy, "regret"), label=label)
axes.set(xlabel="round", ylabel="regret", ylim=(0, None))
axes.legend(title="samples")
# Figure: Regret by round: where some samples stay hidden, it is almost half as large again.
