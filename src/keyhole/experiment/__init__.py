"""Experiments: specs (TOML files), their runs, run folders and reports."""

from keyhole.experiment.run_folder import RunFolder, load_run, open_run
from keyhole.experiment.runner import run
from keyhole.experiment.spec import Spec

__all__ = ["RunFolder", "Spec", "load_run", "open_run", "run"]
