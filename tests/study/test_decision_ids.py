"""Decision ids."""

import pytest

from keyhole.study.events import is_decision_id
from keyhole.study.operations import new_id


def test_ids_differ():
    assert len({new_id(1.0) for _ in range(1000)}) == 1000


def test_ids_are_in_the_order_of_time_to_the_millisecond():
    times = [0.0, 0.002, 1.0, 1.7e9, 2.0**37]
    ids = [new_id(now) for now in times]
    assert ids == sorted(ids)


@pytest.mark.parametrize("now", [-1.0, 0.0, 1e12, 1e300])
def test_whatever_the_time_an_id_has_the_form_of_one(now):
    assert is_decision_id(new_id(now))


@pytest.mark.parametrize("text", [None, 3, "", "0" * 25, "0" * 27, "0" * 25 + "i", "0" * 25 + "\n"])
def test_what_is_no_id_is_told_apart(text):
    assert not is_decision_id(text)
