from types import SimpleNamespace

import numpy as np

from keyhole.experiment.result_cache import merge_blocks, read_blocks, write_block
from keyhole.play.simulation_job import SimulationJob

JOB = SimulationJob(SimpleNamespace(metrics=("regret",), checkpoints=(1,)), "policy", 8)
vars(JOB)["digest"] = "plan"


def write(folder, first, stop):
    """Write a block in which the value of each replication is its number."""
    values = np.arange(first, stop, dtype=np.float64).reshape(1, 1, -1)
    block = range(first, stop)
    write_block(folder, "name", block, JOB.encode_block(block, values))


def test_blocks_are_joined_in_order(tmp_path):
    write(tmp_path, 3, 8)
    write(tmp_path, 0, 3)
    found = merge_blocks(read_blocks(tmp_path, "name", JOB), 8)
    assert found.ravel().tolist() == list(range(8))


def test_blocks_that_overlap_count_once(tmp_path):
    """Two programs that cut the replications otherwise may have left them."""
    write(tmp_path, 0, 4)
    write(tmp_path, 2, 6)
    write(tmp_path, 4, 8)
    found = read_blocks(tmp_path, "name", JOB)
    assert [part for part, _ in found] == [range(4), range(4, 8)]
    assert merge_blocks(found, 8).ravel().tolist() == list(range(8))


def test_blocks_beyond_the_replications_are_left_out(tmp_path):
    write(tmp_path, 0, 4)
    write(tmp_path, 4, 9)
    assert [part for part, _ in read_blocks(tmp_path, "name", JOB)] == [range(4)]
