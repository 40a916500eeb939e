"""Bandits that decide from partial feedback, compiled, from simulation to production.

A bandit *policy* chooses among options again and again, and sees only the outcomes of its choices.
With Keyhole, policies are compared in simulations, and take decisions for programs.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from keyhole import (
        data,
        delayed,
        distributions,
        policy,
        resource,
        semibandit,
        stochastic,
        study,
        testing,
        threshold,
        thresholding,
        tune,
    )
    from keyhole.contract.policy import parameter
    from keyhole.experiment import load_run
    from keyhole.kernels.interpreted_mode import interpreted
    from keyhole.metric import Metric
    from keyhole.play.learner import Learner
    from keyhole.play.simulation import StoppingTimes, simulate, stopping_times
    from keyhole.results.curves import Curves
    from keyhole.results.estimate import PairedDifference

    __version__: str

__all__ = [
    "Curves", "Learner", "Metric", "PairedDifference", "StoppingTimes", "data", "delayed",
    "distributions", "interpreted", "load_run", "parameter", "policy", "resource", "semibandit",
    "simulate", "stochastic", "stopping_times", "study", "testing", "threshold", "thresholding",
    "tune",
]  # fmt: skip

# Each name is imported when it is first used, so that commands without simulation start fast.
_DEFINING_MODULES: Final = {
    "Curves": "results.curves",
    "Learner": "play.learner",
    "Metric": "metric",
    "PairedDifference": "results.estimate",
    "StoppingTimes": "play.simulation",
    "interpreted": "kernels.interpreted_mode",
    "load_run": "experiment",
    "parameter": "contract.policy",
    "simulate": "play.simulation",
    "stopping_times": "play.simulation",
}

import_module("keyhole.former_names")  # makes former names of modules work


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import version

        return version("keyhole")
    if name in _DEFINING_MODULES:
        return getattr(import_module(f"keyhole.{_DEFINING_MODULES[name]}"), name)
    if name in __all__:
        return import_module(f"keyhole.{name}")
    raise AttributeError(f"module 'keyhole' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
