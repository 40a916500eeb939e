"""Programs of users that a type checker must accept, and what it must know of them."""

import math
from enum import Enum
from typing import assert_type

import numpy as np
import pandas as pd
from scipy import stats

from keyhole import (
    Curves,
    delayed,
    distributions,
    interpreted,
    parameter,
    resource,
    semibandit,
    simulate,
    stochastic,
    threshold,
    thresholding,
)
from keyhole.policy import FloatArray, IntArray, float_array, int_array
from keyhole.study import Decision, Study


class Bold(stochastic.IndexPolicy):
    """A formula with a parameter."""

    order: int = parameter(doc="must be given")
    width: float = parameter(default=2.0, gt=0, doc="of the interval")

    def index(p, pulls: float, total: float) -> float:
        return total / pulls + p.width * math.sqrt(p.order * p.arms / pulls)


class Colour(Enum):
    """Names of arms."""

    RED = 1
    BLUE = 2


class Turns(thresholding.Policy):
    """A state of its own."""

    class State:
        pulls: FloatArray = float_array("arms")
        totals: FloatArray = float_array("arms")
        turn: IntArray = int_array()

    def select(p, s: State, t: int) -> int:
        s.turn[0] = t
        return t % p.arms if p.threshold > 0.0 else 0

    def update(p, s: State, arm: int, reward: float) -> None:
        s.pulls[arm] += 1.0
        s.totals[arm] += reward


Bold(order=1)
Bold(width=1, order=2)
Turns()
thresholding.LSA()
thresholding.APT(epsilon=0.1)
threshold.KaplanMeierThompson(a=2)
resource.FixedLimit(limit=0.5, base=stochastic.UCB1())
resource.RCUCB()
delayed.QPMD(base=stochastic.KLUCB())

arms = Bold(order=1).learner(arms=3, scale=(1, 5))
assert_type(arms, stochastic.Learner)
assert_type(arms.ask(), int)
assert_type(arms.recommend(), int)
arms.tell(3)
arms.tell(True)

for names in (["red", ("dark", 2)], ("red", None), np.array([1, 2]), Colour):
    named = Bold(order=1).learner(arms=names, scale=(1, 5))
    named.ask().upper()
    named.tell(3)

with interpreted():
    assert_type(Turns().learner(arms=3, threshold=0.5, interpreted=True), thresholding.Learner)

above = Turns().learner(arms=3, threshold=0.5, seed=1)
assert_type(above, thresholding.Learner)
assert_type(above.ask(), int)
labels: list[bool] = above.recommend().tolist()

levels = threshold.KaplanMeierUCB().learner(arms=2, levels=3, feedback="censored")
assert_type(levels.ask(threshold=2), int)
levels.tell(censored=True)

runs = resource.RCUCB().learner(
    arms=2, limits=[1, 2], cost=resource.Power(slope=1), penalty=lambda limit: limit
)
assert_type(runs.ask(), tuple[int, float])
runs.tell(1.0, 0.5)

shares = semibandit.MPTS(m=1).learner(arms=2, resource=1.0, thresholds=[0.4, 0.6])
assert_type(shares, semibandit.Learner)
late = delayed.ODAAF(expected_delay=5).learner(arms=2, feedback="anonymous", horizon=100)
assert_type(late, delayed.Learner)

problem = stochastic.Problem(means=[0.2, 0.5])
stochastic.Problem({"red": 0.2, Colour.BLUE: stats.beta(2, 6)})
stochastic.Problem((0.2, stats.beta(2, 6), distributions.Beta(2, 6)))
stochastic.Problem(np.linspace(0.1, 0.9, 5))
thresholding.Problem(pd.Series([0.2, 0.5]), threshold=0.5)
semibandit.Problem([0.2, 0.5], 0.4, 1.0)
threshold.Problem(np.array([[0.9, 0.5]]), feedback="censored")
simulate(problem, [Bold(order=1)], horizon=9, replications=2, workers=2, pending="ignore")
curves = simulate(problem, [Bold(order=1)], horizon=10, replications=2)
assert_type(curves, Curves)
assert_type(curves.labels, tuple[str, ...])

with Study.create("items.db", "labels", stochastic.UCB1(), ["cat", "dog"]) as study:
    decision = study.ask()
    assert_type(decision, Decision)
    assert_type(decision.arm, str)
    study.tell(decision.id, 1)
    assert_type(decision.limit, float)
    assert_type(decision.threshold, int)
    assert_type(decision.allocation["cat"], float)
    own: object = decision.words["a word of a package's setting"]
