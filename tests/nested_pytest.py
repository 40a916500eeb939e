"""Pytest in a process of its own, for the tests of others."""

import pytest

from tests.processes import python

INTERPRETED_PYTEST = """
import sys

import pytest

from keyhole.testing import policy_checks

compares = "interpreted_and_compiled_agree"
policy_checks.CHECKS = tuple(it for it in policy_checks.CHECKS if it.__name__ != compares)
sys.exit(pytest.main(sys.argv[1:]))
"""
INTERPRETED_OR_COMPILED = (False, pytest.param(True, marks=pytest.mark.slow))


def run_pytest(compiled, *words, cwd, env):
    """Run pytest; kernels are interpreted, and compared with no compiled ones, or as users do."""
    words = ("-q", "-p", "no:cacheprovider", *words)
    if compiled:
        return python("-m", "pytest", *words, cwd=cwd, env=env)
    env = {**env, "KEYHOLE_INTERPRET": "1"}
    return python("-c", INTERPRETED_PYTEST, *words, cwd=cwd, env=env)
