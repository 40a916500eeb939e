"""How a spec describes a problem of this room."""

from typing import Final

from keyhole.reading import Source, list_of, one_of
from keyhole.resource.functions import Power, Steps, Table
from keyhole.resource.instances import replica, three_models
from keyhole.resource.laws import BetaExponential, Replay, TruncatedNormal
from keyhole.resource.problem import Problem

FUNCTIONS: Final = {name: one_of(Power, Steps, Table) for name in ("cost", "penalty")}
"""How the known functions of any problem are read."""

SOURCES: Final = {
    "arms": Source(
        "for each arm a table: the name of a law of reward and consumption, its parameters",
        Problem,
        read=list_of(one_of(BetaExponential, TruncatedNormal, Replay)),
        reads=FUNCTIONS,
    ),
    "replica": Source("a replica of the paper's: PosCorr, NegCorr, Indep or LowCensoring", replica),
    "three_models": Source(
        "the paper's working example: a promise that is strict, or soft", three_models
    ),
}
