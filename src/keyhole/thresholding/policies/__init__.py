"""Policies of the thresholding bandit (rules that choose the arm to pull next), one file each."""

from keyhole.thresholding.policies.apt import APT
from keyhole.thresholding.policies.known_gaps import KnownGaps
from keyhole.thresholding.policies.lsa import LSA
from keyhole.thresholding.policies.optkg import OptKG
from keyhole.thresholding.policies.ucbe import UCBE
from keyhole.thresholding.policies.uniform import Uniform

__all__ = ["APT", "LSA", "UCBE", "KnownGaps", "OptKG", "Uniform"]
