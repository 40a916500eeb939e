"""
Gain by limit
=============

What a run earns on average, less its costs, by the limit at which it is stopped. The line
marks the limit of the best pair of an arm and a limit.
"""

import matplotlib.pyplot as plt

from keyhole.resource import BetaExponential, Power, Problem
from keyhole.resource.plots import draw_gains

problem = Problem(
    arms=[BetaExponential(a=5, b=5 + 3 * k, rate=1 - 0.3 * k) for k in range(3)],
    limits=[0.1, 0.4, 0.7, 1.0],
    cost=Power(slope=0.1),
    penalty=Power(slope=0.1, factor=0.2, power=4),
)
figure, axes = plt.subplots(layout="constrained")
draw_gains(problem, axes, names=["quick", "usual", "careful"])
# Figure: Gain of three arms by the limit: a long limit is best for quick, and a short one for
# careful.
