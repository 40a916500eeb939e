"""The policies of the thresholding bandit, one file an algorithm."""

from keyhole.thresholding.policies.lsa import LSA

__all__ = ["LSA"]
