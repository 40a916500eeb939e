"""How a spec describes a problem."""

from typing import Final

from keyhole.reading import Source
from keyhole_sleeping.problem import Problem

SOURCES: Final = {"means": Source("the mean reward of each arm, in [0, 1]", Problem)}
