"""Sleeping bandit: in each round some arms are awake, and one of them is pulled for a reward."""

from keyhole_sleeping.policies import AUER, Uniform
from keyhole_sleeping.problem import PROBLEM_FACTORIES, Problem
from keyhole_sleeping.setting import SETTING, Policy

__all__ = ["AUER", "PROBLEM_FACTORIES", "SETTING", "Policy", "Problem", "Uniform"]
