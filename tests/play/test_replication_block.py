from types import SimpleNamespace

import numpy as np
import pytest

from keyhole.play.simulation_job import SimulationJob

METRICS = ("regret", "pulls[0]", "pulls[1]")
BLOCK = range(8, 13)


def make_job(digest="plan", label="label", metrics=METRICS, checkpoints=2):
    job = SimulationJob(SimpleNamespace(metrics=metrics, checkpoints=range(checkpoints)), label, 13)
    vars(job)["digest"] = digest
    return job


@pytest.fixture
def block():
    """Return a job and the bytes of a block of it."""
    values = np.random.default_rng(1).random((2, 3, 5))
    job = make_job()
    data = job.encode_block(BLOCK, values)
    assert (job.decode_block(BLOCK, data) == values).all()
    return job, data


@pytest.mark.parametrize(
    "other",
    [
        {"digest": "another plan"},
        {"label": "another policy"},
        {"metrics": ("regret", "pulls[1]", "pulls[0]")},
        {"checkpoints": 5},
    ],
    ids=str,
)
def test_the_block_of_something_else_is_not_taken(block, other):
    assert make_job(**other).decode_block(BLOCK, block[1]) is None


@pytest.mark.parametrize("other", [range(5), range(8, 12), range(8, 14)], ids=str)
def test_other_replications_are_not_taken(block, other):
    job, data = block
    assert job.decode_block(other, data) is None


def test_a_block_of_other_checkpoints_and_as_many_values_is_not_taken(block):
    assert make_job(checkpoints=5).decode_block(range(8, 10), block[1]) is None


def test_no_byte_of_a_block_can_change_unseen():
    job = make_job(metrics=("regret", "pulls"), checkpoints=1)
    data = job.encode_block(range(1), np.array([[[0.5], [3.0]]]))
    for place, old in enumerate(data):
        changed = bytearray(data)
        # Each bit, and small numbers.
        for new in {*range(32), *(old ^ 1 << bit for bit in range(8))} - {old}:
            changed[place] = new
            assert job.decode_block(range(1), bytes(changed)) is None


def test_what_was_cut_off_or_went_on_is_not_taken(block):
    job, data = block
    for damaged in (b"", data[:-1], data + b"x", b"\n", b"{}\n", data[200:]):
        assert job.decode_block(BLOCK, damaged) is None


def test_numbers_keep_their_bits(block):
    job, _ = block
    values = np.array([[[-0.0, 5e-324, 1e308, 0.1, 2.0**53]] * 3] * 2)
    assert job.decode_block(BLOCK, job.encode_block(BLOCK, values)).tobytes() == values.tobytes()
