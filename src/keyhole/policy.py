"""What the author of a policy, a world or a setting imports, in one place."""

from keyhole.contract.base import WithBase
from keyhole.contract.facts import fact
from keyhole.contract.memory import (
    Field,
    FloatArray,
    IntArray,
    counts,
    keys,
    per,
    real,
    scratch,
    whole,
)
from keyhole.contract.policy import Policy, parameter
from keyhole.contract.setting import Setting
from keyhole.contract.world import Problem, World
from keyhole.draws.argmin import argmin, argmin_fill, argmin_set
from keyhole.draws.betas import betas
from keyhole.draws.samplers import (
    bernoulli,
    beta,
    binomial,
    exponential,
    gamma,
    geometric,
    normal,
    poisson,
)
from keyhole.draws.streams import Stream, seek, uniform
from keyhole.draws.unpulled import first_unpulled
from keyhole.kernels.link import Kernel
from keyhole.metric import PULLS, REGRET, REWARD, Metric
from keyhole.play.setting_learner import SettingLearner
from keyhole.play.study_vocabulary import RoundFeedback, StudyRound, StudyVocabulary

__all__ = [
    "PULLS",
    "REGRET",
    "REWARD",
    "Field",
    "FloatArray",
    "IntArray",
    "Kernel",
    "Metric",
    "Policy",
    "Problem",
    "RoundFeedback",
    "Setting",
    "SettingLearner",
    "Stream",
    "StudyRound",
    "StudyVocabulary",
    "WithBase",
    "World",
    "argmin",
    "argmin_fill",
    "argmin_set",
    "bernoulli",
    "beta",
    "betas",
    "binomial",
    "counts",
    "exponential",
    "fact",
    "first_unpulled",
    "gamma",
    "geometric",
    "keys",
    "normal",
    "parameter",
    "per",
    "poisson",
    "real",
    "scratch",
    "seek",
    "uniform",
    "whole",
]
