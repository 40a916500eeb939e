"""Sleeping arms: see who is awake, pull one of them, earn as much as possible."""

from keyhole_sleeping.policies import AUER, Uniform
from keyhole_sleeping.problem import Problem
from keyhole_sleeping.setting import SETTING, Policy
from keyhole_sleeping.sources import SOURCES

__all__ = ["AUER", "SETTING", "SOURCES", "Policy", "Problem", "Uniform"]
