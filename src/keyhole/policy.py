"""What the author of a policy or a world imports, in one place."""

from keyhole.contract.base import WithBase
from keyhole.contract.memory import FloatArray, IntArray, counts, keys, per, real, whole
from keyhole.contract.policy import parameter
from keyhole.contract.world import World
from keyhole.draws.argmin import argmin, argmin_fill, argmin_set
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
from keyhole.kernels.link import Kernel
from keyhole.metric import Metric

__all__ = [
    "FloatArray",
    "IntArray",
    "Kernel",
    "Metric",
    "Stream",
    "WithBase",
    "World",
    "argmin",
    "argmin_fill",
    "argmin_set",
    "bernoulli",
    "beta",
    "binomial",
    "counts",
    "exponential",
    "gamma",
    "geometric",
    "keys",
    "normal",
    "parameter",
    "per",
    "poisson",
    "real",
    "seek",
    "uniform",
    "whole",
]
