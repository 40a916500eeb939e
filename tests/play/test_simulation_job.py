import pytest

import keyhole.play.simulation_job
from keyhole.play.simulation_job import SimulationJob, run_locally
from keyhole.play.simulation_plan import Plan
from keyhole.thresholding import Problem, RoundRobin

PROBLEM = Problem(means=[0.2, 0.45, 0.7], threshold=0.5)


def job(replications, horizon=100, left=None):
    plan = Plan.make(PROBLEM, [RoundRobin()], horizon=horizon, checkpoints=None, seed=3)
    return SimulationJob(plan, "RoundRobin()", replications, left or [range(replications)])


def test_the_first_block_is_small_until_a_speed_is_measured():
    it = job(10**6)
    assert not it.is_duration_known
    assert it.take_next_block(10.0) == range(10_000)  # a million rounds
    it.record_duration(range(10_000), 0.5)
    assert it.take_next_block(10.0) == range(10_000, 210_000)
    assert it.rounds_left == 100 * 790_000


@pytest.mark.parametrize(("threads", "count"), [(1, 96), (2, 96), (4, 96), (5, 80)])
def test_parts_are_whole_groups_for_all_who_play_at_once(threads, count):
    it = job(1000)
    it.record_duration(range(10), 1.0)
    it.remaining = [range(1000)]
    assert len(it.take_next_block(10.0, threads)) == count


def test_every_thread_has_a_replication_where_one_takes_long():
    it = job(100)
    it.record_duration(range(1), 1000.0)
    assert len(it.take_next_block(10.0, 3)) == 3


def test_what_was_played_before_is_stepped_over():
    it = job(100, left=[range(5), range(90, 95)])
    assert [it.take_next_block(10.0), it.take_next_block(10.0)] == [range(5), range(90, 95)]
    assert it.remaining == []


def test_a_block_is_no_larger_than_a_message(monkeypatch):
    monkeypatch.setattr(keyhole.play.simulation_job, "_MOST_VALUES", 100)
    it = job(10**6)
    assert len(it.take_next_block(10.0)) == 48


def test_progress_is_that_of_all_blocks(monkeypatch):
    monkeypatch.setattr(keyhole.play.simulation_job, "FIRST_ROUNDS", 1000)
    monkeypatch.setattr(keyhole.play.simulation_job, "_BLOCK_SECONDS", 0.0)
    told, kept = [], []

    def keep(job, part, values):
        kept.append((part.start, part.stop))

    run_locally(job(20, left=[range(4, 20)]), keep, 1, lambda *said: told.append(said))
    assert kept == [(4, 12), *((first, first + 1) for first in range(12, 20))]
    assert [played for _, played, _ in told] == sorted(played for _, played, _ in told)
    assert told[-1] == ("RoundRobin()", 2000, 2000)
