"""The checks that every policy passes, as the parameters of a test that is interpreted."""

import pytest

from keyhole.testing import CHECKS as ALL
from keyhole.testing.checks import works_for_any_number_of_arms
from keyhole.testing.interpreted import interpreted_and_compiled_agree

COMPILED = (
    works_for_any_number_of_arms,  # plays too many rounds to be interpreted
    interpreted_and_compiled_agree,
)
INTERPRETED = tuple(check for check in ALL if check not in COMPILED)


def parameters(*marks):
    """Return all checks; those that compile have these marks."""
    interpreted = [pytest.param(check, id=check.__name__) for check in INTERPRETED]
    compiled = [pytest.param(check, id=check.__name__, marks=marks) for check in COMPILED]
    return interpreted + compiled


CHECKS = parameters(pytest.mark.compiled)
OF_VARIANTS = parameters(pytest.mark.compiled, pytest.mark.slow)
"""The same for policies that differ from others in their base or their problem alone."""
