"""How a spec describes a problem of this room."""

from typing import Final

from keyhole.reading import Source, list_of, one_of
from keyhole.resource.functions import FUNCTIONS
from keyhole.resource.instances import replica, three_models
from keyhole.resource.laws import BetaExponential, Replay, TruncatedNormal
from keyhole.resource.portfolios import portfolio
from keyhole.resource.problem import Problem

SOURCES: Final = {
    "arms": Source(
        "for each arm a table: the name of a law of reward and consumption, its parameters",
        Problem,
        read=list_of(one_of(BetaExponential, TruncatedNormal, Replay)),
        reads=FUNCTIONS,
    ),
    "replica": Source("a replica of the paper's: PosCorr, NegCorr, Indep or LowCensoring", replica),
    "portfolio": Source(
        "made-up solvers with heavy-tailed run times: scattered, alike or lone", portfolio
    ),
    "three_models": Source(
        "the paper's working example: a promise that is strict, or soft", three_models
    ),
}
