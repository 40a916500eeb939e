"""Tune real commands: learn which command to run, and at which time limit to stop it."""

from keyhole.tune.recommendation import (
    Best,
    BestConfiguration,
    CommandLimitEstimate,
    ConfigurationEstimate,
)
from keyhole.tune.saved_tune import SavedRuns, SavedSpaceTune, SavedTune, load_tune
from keyhole.tune.spec import Spec
from keyhole.tune.trial_log import TrialRecord
from keyhole.tune.tuner import Executor, Tuner

__all__ = ["Best", "BestConfiguration", "CommandLimitEstimate", "ConfigurationEstimate", "Executor",
           "SavedRuns", "SavedSpaceTune", "SavedTune", "Spec", "TrialRecord", "Tuner",
           "load_tune"]  # fmt: skip
