"""Spec entries (in a file that describes an experiment) for a problem of limited runs.

Such a problem is arms (things that can be run, such as solvers), and the limits of time, say, at
which their runs may be stopped.
"""

from typing import Final

from keyhole.resource.cost_functions import FUNCTIONS
from keyhole.resource.joint_distributions import BetaExponential, Replay, TruncatedNormal
from keyhole.resource.paper_instances import replica, three_models
from keyhole.resource.problem import Problem
from keyhole.resource.synthetic_portfolio import portfolio
from keyhole.spec_values import ProblemFactory, list_of, tagged_union_reader

PROBLEM_FACTORIES: Final = {
    "arms": ProblemFactory(
        "for each arm the name of a distribution of reward and consumption, and its parameters",
        Problem,
        read=list_of(tagged_union_reader(BetaExponential, TruncatedNormal, Replay)),
        further_readers=FUNCTIONS,
    ),
    "replica": ProblemFactory(
        "a replica of the paper's: PosCorr, NegCorr, Indep or LowCensoring", replica
    ),
    "portfolio": ProblemFactory(
        "made-up solvers with heavy-tailed run times: scattered, alike or lone", portfolio
    ),
    "three_models": ProblemFactory(
        "the paper's working example: a promise that is strict, or soft", three_models
    ),
}
