"""Real commands under learnt limits: which to run, and when to give up on it."""

from keyhole.tune.spec import Spec
from keyhole.tune.trial_log import TrialRecord
from keyhole.tune.tune import Best, CommandLimit, Tune
from keyhole.tune.tuner import Tuner

__all__ = ["Best", "CommandLimit", "Spec", "TrialRecord", "Tune", "Tuner"]
