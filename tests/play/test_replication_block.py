import dataclasses

import numpy as np
import pytest

from keyhole.play.policy_simulation_job import ReplicationBlock


@pytest.fixture
def block():
    """Return a block and its bytes."""
    values = np.random.default_rng(1).random((2, 3, 5))
    it = ReplicationBlock("plan", "label", 8, ("regret", "pulls[0]", "pulls[1]"), 2, 5)
    data = it.to_bytes(values)
    assert (it.from_bytes(data) == values).all()
    return it, data


@pytest.mark.parametrize(
    "other",
    [
        {"plan": "another plan"},
        {"label": "another policy"},
        {"first": 0},
        {"metrics": ("regret", "pulls[1]", "pulls[0]")},
        {"checkpoints": 5, "replications": 2},
        {"replications": 4},
        {"replications": 6},
    ],
    ids=str,
)
def test_the_block_of_something_else_is_not_taken(block, other):
    it, data = block
    assert dataclasses.replace(it, **other).from_bytes(data) is None


def test_no_byte_of_a_block_can_change_unseen():
    it = ReplicationBlock("plan", "label", 0, ("regret", "pulls"), 1, 1)
    data = it.to_bytes(np.array([[[0.5], [3.0]]]))
    for place, old in enumerate(data):
        changed = bytearray(data)
        # Each bit, and small numbers.
        for new in {*range(32), *(old ^ 1 << bit for bit in range(8))} - {old}:
            changed[place] = new
            assert it.from_bytes(bytes(changed)) is None


def test_what_was_cut_off_or_went_on_is_not_taken(block):
    it, data = block
    for damaged in (b"", data[:-1], data + b"x", b"\n", b"{}\n", data[200:]):
        assert it.from_bytes(damaged) is None


def test_what_came_back_damaged_is_refused_with_its_place(block):
    it, data = block
    with pytest.raises(ValueError, match="replications 8 to 12 of label were damaged"):
        it.read(data[:-1])


def test_numbers_keep_their_bits(block):
    it, _ = block
    values = np.array([[[-0.0, 5e-324, 1e308, 0.1, 2.0**53]] * 3] * 2)
    assert it.from_bytes(it.to_bytes(values)).tobytes() == values.tobytes()
