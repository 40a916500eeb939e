"""Experiments from a file to a report."""

from keyhole.experiment.runner import run
from keyhole.experiment.spec import Spec
from keyhole.experiment.store import Run, load_run, open_run

__all__ = ["Run", "Spec", "load_run", "open_run", "run"]
