"""How a spec describes a problem of this room."""

from typing import Final

from keyhole.reading import Source
from keyhole.threshold.problem import Problem

SOURCES: Final = {
    "survival": Source("for each arm the chances to reach level 1, 2, ..., m", Problem),
    "mass": Source("for each arm the chances of the levels 0, 1, ..., m", Problem.from_mass),
    "samples": Source(
        "recorded samples, from 0 to the number of levels: a list for each arm", Problem.replay
    ),
}
