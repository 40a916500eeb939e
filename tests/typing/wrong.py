"""Programs of users that a type checker must refuse, at each line that says so."""

from keyhole import (
    delayed,
    parameter,
    resource,
    semibandit,
    simulate,
    stochastic,
    threshold,
    thresholding,
)
from keyhole.study import Study


class Bold(stochastic.IndexPolicy):
    """A formula with a parameter."""

    order: int = parameter(doc="must be given")
    width: float = parameter(2.0, gt=0)  # refused

    def index(p, pulls: float, total: float) -> float:
        return p.widht * total / pulls  # refused


class Needy(thresholding.IndexPolicy):
    """Reads what it has not asked for."""

    def index(p, pulls: float, total: float) -> float:
        return total / pulls - p.threshhold  # refused


stochastic.UCB1(nonsense=3)  # refused
stochastic.UCB1(3)  # refused
stochastic.ThompsonSampling(a="x")  # refused
stochastic.ThompsonSampling(c=1)  # refused
thresholding.LSA(beta=2)  # refused
resource.FixedLimit()  # refused
resource.FixedLimit(limit=1, base=3)  # refused
Bold()  # refused
Bold(order="two")  # refused

thresholding.LSA().learner(arms=3)  # refused
thresholding.LSA().learner(3, 0.5)  # refused
stochastic.UCB1().learner(arms=3, threshold=0.5)  # refused
stochastic.UCB1().learner(arms="three")  # refused
stochastic.UCB1().learner(arms=2).tell("good")  # refused
stochastic.UCB1().learner(arms=2).tell(0, 1)  # refused
stochastic.UCB1().learner(arms=2).ask(threshold=1)  # refused
threshold.KaplanMeierUCB().learner(arms=2, levels=3, feedback="censored").ask()  # refused

threshold.SurvivalThompson().learner(arms=2, levels=3, feedback="censord")  # refused
delayed.ODAAF(expected_delay=5).learner(arms=2, feedback="unnamed", horizon=100)  # refused
stochastic.Problem(means=0.2)  # refused
thresholding.Problem(means=0.2, threshold=0.5)  # refused
semibandit.Problem(0.2, [0.4], 1.0)  # refused
threshold.Problem(0.2, feedback="censored")  # refused
threshold.Problem([[0.9, 0.2]], feedback="hidden")  # refused

problem = stochastic.Problem(means=[0.2, 0.5])
simulate(problem, [stochastic.UCB1()], horizon=9, replications=2, pending="imput")  # refused
simulate(problem, ["UCB1"], horizon=10, replications=2)  # refused
simulate(problem, [stochastic.UCB1()], horizon=10, runs=2)  # refused
simulate(problem, [stochastic.UCB1()], horizon=10, replications=2, seed=None)  # refused

study = Study.create("items.db", "labels", stochastic.UCB1(), ["cat", "dog"])
study.ask().arm + 1  # refused
unknown = study.ask().arms  # refused
Study.create("b.db", "b", stochastic.UCB1(), ["cat"], pending="imput")  # refused
Study.create("c.db", "c", stochastic.UCB1(), ["cat"], on_timeout="never")  # refused
Study.open("c.db", "c", durability="fire")  # refused
