"""Tune real commands: learn which command to run, and at which time limit to stop it."""

from keyhole.former_names import add_former_names
from keyhole.tune.recommendation import (
    Best,
    BestConfiguration,
    ConfigurationEstimate,
    PairEstimate,
)
from keyhole.tune.saved_tune import SavedRuns, SavedSpaceTune, SavedTune, load_tune
from keyhole.tune.spec import Spec
from keyhole.tune.trial_log import TrialRecord
from keyhole.tune.tuner import CommandExecutor, Tuner

__all__ = [
    "Best", "BestConfiguration", "CommandExecutor", "ConfigurationEstimate", "PairEstimate",
    "SavedRuns", "SavedSpaceTune", "SavedTune", "Spec", "TrialRecord", "Tuner", "load_tune",
]  # fmt: skip

add_former_names(__name__)
