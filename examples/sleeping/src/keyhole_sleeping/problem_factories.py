"""Problem factories: functions that make this setting's problems from a spec."""

from typing import Final

from keyhole.spec_values import ProblemFactory
from keyhole_sleeping.problem import Problem

PROBLEM_FACTORIES: Final = {"means": ProblemFactory("means of all arms, in [0, 1]", Problem)}
