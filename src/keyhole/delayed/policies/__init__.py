"""Policies for rewards that arrive late (rules that choose an option a round), one file each."""

from keyhole.delayed.policies.delayed_ucb1 import DelayedUCB1
from keyhole.delayed.policies.naive_phases import NaivePhases
from keyhole.delayed.policies.odaaf import ODAAF
from keyhole.delayed.policies.odaafb import ODAAFB
from keyhole.delayed.policies.odaafv import ODAAFV
from keyhole.delayed.policies.qpmd import QPMD
from keyhole.delayed.policies.regression_ucb import RegressionUCB

__all__ = ["ODAAF", "ODAAFB", "ODAAFV", "QPMD", "DelayedUCB1", "NaivePhases", "RegressionUCB"]
