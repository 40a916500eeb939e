"""Policies that divide a resource among arms (places where losses may occur), one file each.

An arm has no loss if it gets the amount that it needs, its threshold. Some policies know the
thresholds; the others find them by trial.
"""

from keyhole.semibandit.policies.csbdt import CSBDT
from keyhole.semibandit.policies.csbdt_ucb import CSBDTUCB
from keyhole.semibandit.policies.csbst import CSBST
from keyhole.semibandit.policies.cts import CTS
from keyhole.semibandit.policies.escb import ESCB
from keyhole.semibandit.policies.mpts import MPTS
from keyhole.semibandit.policies.sdcb import SDCB
from keyhole.semibandit.policies.threshold_thompson import ThresholdThompson

__all__ = ["CSBDT", "CSBDTUCB", "CSBST", "CTS", "ESCB", "MPTS", "SDCB", "ThresholdThompson"]
