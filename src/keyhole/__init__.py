"""Bandits that decide from partial feedback, compiled, from simulation to production."""

from typing import TYPE_CHECKING, Any

from keyhole.contract.policy import parameter
from keyhole.metric import Metric
from keyhole.play.learner import Learner
from keyhole.play.simulation import simulate
from keyhole.results.curves import Curves
from keyhole.results.estimate import Paired

if TYPE_CHECKING:
    from keyhole.experiment import load_run

__all__ = ["Curves", "Learner", "Metric", "Paired", "load_run", "parameter", "simulate"]


def __getattr__(name: str) -> Any:
    # Reading a run needs Parquet and specs: half a second that simulating does not.
    if name == "load_run":
        from keyhole.experiment import load_run

        return load_run
    raise AttributeError(f"module 'keyhole' has no attribute {name!r}")
