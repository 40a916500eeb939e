import os
import subprocess
import sys
import time

import pytest

from keyhole.data.worker import Worker

# Jobs are found by name in the worker's process: they stand in modules that it can import.
from tests.data import worker_jobs as jobs


@pytest.fixture(autouse=True)
def importable(monkeypatch):
    root = os.path.dirname(os.path.dirname(os.path.dirname(__file__)))
    monkeypatch.setenv("PYTHONPATH", root)


def gone(pid):
    """Return whether a process has ended, waiting for it for a while."""
    for _ in range(200):
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return True
        if _is_zombie(pid):
            return True
        time.sleep(0.05)
    return False


def _is_zombie(pid):
    done = subprocess.run(["ps", "-o", "stat=", "-p", str(pid)], capture_output=True, text=True)
    return done.stdout.strip().startswith("Z")


def test_a_job_is_done_and_timed():
    with Worker(jobs.double, jobs.prepare) as worker:
        for n in (3, 4):
            result, seconds = worker.run(n, limit=60)
            assert result == 2 * n
            assert 0 <= seconds < 60


def test_preparing_counts_for_no_job():
    with Worker(jobs.double, jobs.prepare_slowly) as worker:
        result, seconds = worker.run(3, limit=20)
        assert result == 6
        assert seconds < 0.5 * jobs.SLOW


@pytest.mark.skipif(sys.platform == "win32", reason="looks at processes as POSIX has them")
def test_a_job_that_takes_too_long_is_ended_with_its_children(tmp_path):
    noted = tmp_path / "pids"
    with Worker(jobs.sleep_with_a_child) as worker:
        began = time.perf_counter()
        assert worker.run(str(noted), limit=5) is None
        assert time.perf_counter() - began < 60
        own, child = map(int, noted.read_text().split())
        assert gone(own)
        assert gone(child)
        # The next job gets a new process.
        assert worker.run("", limit=60)[0] == "no sleep"


@pytest.mark.skipif(sys.platform == "win32", reason="looks at processes as POSIX has them")
def test_closing_ends_the_process():
    worker = Worker(jobs.own_pid)
    pid, _ = worker.run(None, limit=60)
    worker.close()
    assert gone(pid)
    worker.close()


def test_what_a_job_prints_does_not_get_into_its_answers(capfd):
    with Worker(jobs.shout) as worker:
        assert worker.run("hello", limit=60)[0] == "HELLO"
    assert "hello" in capfd.readouterr().err


def test_jobs_that_fail_say_how_and_the_next_is_done():
    with Worker(jobs.invert) as worker:
        with pytest.raises(RuntimeError, match="the job failed: ZeroDivisionError: division by"):
            worker.run(0, limit=60)
        assert worker.run(4, limit=60)[0] == 0.25
        with pytest.raises(RuntimeError, match="the job's process ended by itself"):
            worker.run("exit", limit=60)
        assert worker.run(2, limit=60)[0] == 0.5


def test_a_process_that_cannot_be_prepared_says_why():
    with (
        Worker(jobs.double, jobs.fail) as worker,
        pytest.raises(RuntimeError, match="could not be prepared: ImportError: no such thing"),
    ):
        worker.run(1, limit=60)


@pytest.mark.parametrize("limit", [0, -1, float("nan"), "5"])
def test_bad_limits_are_named(limit):
    with Worker(jobs.double) as worker, pytest.raises((TypeError, ValueError), match="limit must"):
        worker.run(1, limit=limit)
