"""Experiments: files (specs) that describe simulations, their runs, run folders and reports.

A simulation plays *policies* (rules that choose among options) on a *problem* (the options).
"""

from keyhole.experiment.run_folder import RunFolder, load_run, open_run
from keyhole.experiment.runner import run
from keyhole.experiment.spec import Spec

__all__ = ["RunFolder", "Spec", "load_run", "open_run", "run"]
