from collections import Counter

import numpy as np
import pytest

from keyhole import simulate
from keyhole.threshold import KaplanMeierUCB, Problem
from keyhole.threshold.threshold_sequences import (
    adversarial,
    cyclic,
    given,
    iid,
    optimistic,
    parse_sequence,
)
from tests.threshold.cases import thresholds_of

pytestmark = pytest.mark.interpreted

LEVELS = [[0.9, 0.7, 0.5, 0.3]]


def shown(order, rounds, replication=0):
    problem = Problem(LEVELS, feedback="censored", order=order)
    return thresholds_of(problem, rounds, 7, replication)


def test_stages_have_the_horizon_over_the_levels_and_the_last_takes_the_rest():
    rising = [1] * 5 + [2] * 5 + [3] * 5 + [4] * 7
    assert shown(adversarial(), 22) == rising
    assert shown(optimistic(), 22) == [5 - level for level in rising]


def test_with_fewer_rounds_than_levels_a_stage_is_a_round():
    assert shown(adversarial(), 3) == [1, 2, 3]
    assert shown(optimistic(), 3) == [4, 3, 2]


def test_every_block_of_a_cyclic_order_is_a_permutation_of_its_own():
    found = np.array(shown(cyclic(), 4000)).reshape(-1, 4)
    assert (np.sort(found, axis=1) == [1, 2, 3, 4]).all()
    kinds = Counter(map(tuple, found.tolist()))
    assert len(kinds) == 24
    expected, error = 1000 / 24, np.sqrt(1000 / 24)
    assert all(abs(n - expected) < 5 * error for n in kinds.values())
    assert shown(cyclic(), 40, 1) != shown(cyclic(), 40, 0)


def test_drawn_thresholds_follow_their_chances():
    chances, n = np.array([0.5, 0.0, 0.2, 0.3]), 20_000
    counts = np.bincount(shown(iid(chances), n), minlength=5)[1:]
    assert (np.abs(counts / n - chances) <= 5 * np.sqrt(chances * (1 - chances) / n)).all()
    even = np.bincount(shown("iid", n), minlength=5)[1:] / n
    assert (np.abs(even - 0.25) < 5 * np.sqrt(0.25 * 0.75 / n)).all()


def test_a_given_sequence_limits_the_horizon():
    assert shown(given([3, 1, 1, 4]), 4) == [3, 1, 1, 4]
    problem = Problem(LEVELS, feedback="censored", order={"given": [3, 1]})
    with pytest.raises(ValueError, match=r"horizon must be at most 2, .* got 3"):
        simulate(problem, [KaplanMeierUCB()], horizon=3, replications=1)


def test_orders_can_be_written_in_a_spec():
    assert parse_sequence("adversarial") == adversarial()
    assert parse_sequence({"iid": [0.25, 0.75]}) == iid([0.25, 0.75])
    assert (
        repr(parse_sequence({"given": [2, 1, 3, 1, 1, 1, 1, 2]}))
        == "given([2, 1, 3, 1, 1, 1, ...])"
    )
    assert repr(cyclic()) == "cyclic()"


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: iid([0.5, 0.6]), r"probabilities must sum to 1, got 1\.1"),
        (lambda: iid([1.5, -0.5]), r"probabilities\[0\] must lie in \[0, 1\], got 1\.5"),
        (lambda: given([]), "sequence must be a list of at least one threshold"),
        (lambda: given([1, 0]), r"sequence\[1\] must be at least 1, got 0"),
        (lambda: given([1, 2.5]), r"sequence\[1\] must be"),
        (
            lambda: parse_sequence("sorted"),
            "order must be one of iid, adversarial, optimistic, cyclic",
        ),
        (lambda: parse_sequence(3), "order must be a name, or one name with its value, got 3"),
        (lambda: shown({"given": [1, 5]}, 2), r"order\[1\] must lie in \[1, 4\], got 5"),
        (lambda: shown(iid([1.0]), 2), "order must have one probability for each of 4 levels"),
    ],
)
def test_bad_input_is_named(make, message):
    with pytest.raises((TypeError, ValueError), match=message):
        make()
