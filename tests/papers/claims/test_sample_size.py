import math

import pytest

from keyhole.papers.claims.claim import replications_needed
from keyhole.papers.claims.statistics import LEVEL
from keyhole.papers.verdicts import Number
from tests.papers.made_up import COMMON, make_claim, result


def at_most(value, reach, limit):
    return Number("x", value, value - reach, value + reach, 0.2, at_most=limit)


def test_half_the_interval_takes_four_times_as_many():
    assert replications_needed([at_most(1.0, 0.5, 1.25)], 100) == 400
    assert replications_needed([at_most(1.5, 0.5, 1.25)], 100) == 400  # contradicts as well


def test_all_must_be_clear_to_hold_and_one_is_enough_not_to():
    near, far = at_most(1.0, 0.5, 1.25), at_most(1.0, 0.5, 1.1)
    assert replications_needed([near, far], 100) == 2500
    beyond = at_most(1.3, 0.5, 1.1)
    assert replications_needed([near, far, beyond], 100) == 625


def test_comparisons_of_which_some_suffice_have_no_estimate():
    enough = Number("larger for", 1.0, 1.0, 1.0, None, at_least=2.0)
    assert replications_needed([at_most(1.0, 0.5, 1.25), enough], 100) == 400
    assert replications_needed([at_most(1.0, 0.5, 1.25)] * 2 + [enough], 100) is None


def test_claims_that_ask_for_replications_say_how_many():
    claim = make_claim(
        COMMON
        | {"kind": "not-better", "policy": "us", "others": ["a"], "rounds": [20], "runs": 5000}
    )
    found = claim.verdict({"made-up": result({"us": [1, 1], "a": [1, 1]})})
    assert (found.status, found.replications, found.needed) == ("undecided", 400, 5000)


@pytest.mark.parametrize(
    "number",
    [
        at_most(1.0, 0.1, 1.25),  # clear
        Number("count", 3.0, 3.0, 3.0, None, at_least=4.0),  # known
        at_most(1.0, 0.5, 1.0),  # on the edge
        at_most(1.0, 0.5, 1.0 + 1e-9),  # nobody runs so many
        at_most(1.0, math.inf, 1.25),  # one replication
        Number("said only", 1.0, 0.0, 2.0),
    ],
)
def test_a_number_without_information_has_no_estimate(number):
    assert replications_needed([number], 100) is None


def test_the_estimated_replications_mostly_decide():
    """A mean of 1 with spread 4 against a limit of 1.5: about 256 for an interval of 0.5."""
    assert LEVEL == 0.05
    reach = 1.96 * 4 / math.sqrt(50)
    assert replications_needed([at_most(1.0, reach, 1.5)], 50) == math.ceil((1.96 * 4 / 0.5) ** 2)
