"""Real commands under learnt limits: which to run, and when to give up on it."""

from keyhole.tune.records import Record
from keyhole.tune.spec import Spec
from keyhole.tune.tune import Best, Pair, Tune
from keyhole.tune.tuner import Tuner

__all__ = ["Best", "Pair", "Record", "Spec", "Tune", "Tuner"]
