"""How a spec describes a problem of this room."""

from typing import Final

from keyhole.reading import Source
from keyhole.stochastic.problem import Problem

SOURCES: Final = {
    "means": Source("the mean reward of each arm, in [0, 1]", Problem),
    "samples": Source("recorded rewards: a list for each arm", Problem.replay),
}
