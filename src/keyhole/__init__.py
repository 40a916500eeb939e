"""Bandits that decide from partial feedback, compiled, from simulation to production."""

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from keyhole.contract.policy import parameter
from keyhole.metric import Metric
from keyhole.play.learner import Learner
from keyhole.play.simulation import simulate
from keyhole.results.curves import Curves
from keyhole.results.estimate import Paired

if TYPE_CHECKING:
    from keyhole import (
        data,
        delayed,
        laws,
        policy,
        resource,
        semibandit,
        stochastic,
        study,
        testing,
        threshold,
        thresholding,
    )
    from keyhole.experiment import load_run

__all__ = [
    "Curves",
    "Learner",
    "Metric",
    "Paired",
    "data",
    "delayed",
    "laws",
    "load_run",
    "parameter",
    "policy",
    "resource",
    "semibandit",
    "simulate",
    "stochastic",
    "study",
    "testing",
    "threshold",
    "thresholding",
]

# What costs time to import is imported when it is first asked for: reading a run needs Parquet and
# specs, half a second that simulating does not.
_LATER: Final = set(__all__) - set(globals())


def __getattr__(name: str) -> Any:
    if name == "load_run":
        return import_module("keyhole.experiment").load_run
    if name in _LATER:
        return import_module(f"keyhole.{name}")
    raise AttributeError(f"module 'keyhole' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
