"""The conformance test: what every policy must do, ours and yours."""

from keyhole.testing.checks import CHECKS, Trial, check_policy

__all__ = ["CHECKS", "Trial", "check_policy"]
