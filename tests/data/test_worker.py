import os
import shutil
import subprocess
import sys
import uuid
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from keyhole.data.worker import JobError, Worker

# Jobs are found by name in the worker's process: they stand in a module that can be imported.
from tests.data import worker_jobs as jobs
from tests.runner.survivors import TAG, beats, clean, tagged, until

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="needs Linux or macOS")
LINUX = pytest.mark.skipif(sys.platform != "linux", reason="looks for processes in /proc")


@pytest.fixture
def tag(monkeypatch):
    """Mark all that is started meanwhile."""
    word = uuid.uuid4().hex
    monkeypatch.setenv(TAG, word)
    yield word
    clean(word)


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


def run_until_ended(worker, argument, noted):
    """Run a job that takes too long, with more time until it has got to where it notes that."""
    limit = 0.15
    while not noted.exists():
        limit *= 2.0
        assert limit < 200
        assert worker.run(argument, limit=limit) is None


@LINUX
def test_a_job_that_takes_too_long_is_ended_with_its_children(tmp_path, tag):
    noted = tmp_path / "started"
    with Worker(jobs.sleep_with_a_child) as worker:
        run_until_ended(worker, str(noted), noted)
        assert not tagged(tag)
        # The next job gets a new process.
        assert worker.run("", limit=60)[0] == "no sleep"


@LINUX
def test_closing_ends_the_process(tag):
    worker = Worker(jobs.double)
    worker.run(3, limit=60)
    assert tagged(tag)
    worker.close()
    assert not tagged(tag)
    worker.close()


def test_jobs_share_a_process_until_one_is_ended():
    with Worker(jobs.which_process) as worker:
        first, _ = worker.run(None, limit=60)
        assert worker.run(None, limit=60)[0] == first
        worker.close()
        assert worker.run(None, limit=60)[0] != first


def test_what_a_job_prints_does_not_get_into_its_answers(capfd):
    with Worker(jobs.shout) as worker:
        assert worker.run("hello", limit=60)[0] == "HELLO"
    assert "hello" in capfd.readouterr().err


def test_jobs_that_fail_say_how_and_the_next_is_done():
    with Worker(jobs.invert) as worker:
        with pytest.raises(RuntimeError, match="the job failed: ZeroDivisionError: division by"):
            worker.run(0, limit=60)
        assert worker.run(4, limit=60)[0] == 0.25
        with pytest.raises(JobError, match="the job's process ended by itself: exit status 3"):
            worker.run("exit", limit=60)
        assert worker.run(2, limit=60)[0] == 0.5


def test_a_process_that_cannot_be_prepared_says_why():
    with (
        Worker(jobs.double, jobs.fail) as worker,
        pytest.raises(RuntimeError, match="could not be prepared: ImportError: no such thing"),
    ):
        worker.run(1, limit=60)


def test_a_signal_and_an_exit_are_told_as_such():
    with (
        Worker(jobs.kill_itself) as worker,
        pytest.raises(JobError, match="ended by itself: signal SIGKILL"),
    ):
        worker.run(1, limit=60)
    with (
        Worker(jobs.leave) as worker,
        pytest.raises(JobError, match="the job failed: SystemExit: 5"),
    ):
        worker.run(5, limit=60)


def test_a_job_that_fails_says_after_how_long_and_not_at_length():
    with Worker(jobs.fail_after) as worker, pytest.raises(JobError) as caught:
        worker.run(0.2, limit=60)
    assert 0.2 <= caught.value.seconds < 60
    assert str(caught.value).startswith("the job failed: ValueError: xxx")
    assert len(str(caught.value)) < 600


PLAIN = [None, True, 3, 0.5, float("inf"), "\ud800 \n ü", [1, [2, {"a": None}]], "x" * 10**6]


def test_plain_results_come_back_as_they_are():
    with Worker(jobs.give_back) as worker:
        for value in PLAIN:
            result, _ = worker.run(value, limit=60)
            assert result == value
            assert type(result) is type(value)


@pytest.mark.parametrize(
    ("job", "kind"), [(jobs.a_set, "set"), (jobs.nested_set, "set"), (jobs.a_trap, "Trap")]
)
def test_other_results_are_refused_and_never_unpickled(tmp_path, monkeypatch, job, kind):
    monkeypatch.chdir(tmp_path)
    message = f"the result must be made of None, .*got a .*{kind}"
    with Worker(job) as worker, pytest.raises(JobError, match=message):
        worker.run(1, limit=60)
    assert not (tmp_path / "sprung").exists()


def test_a_job_whose_own_time_passed_the_limit_has_no_result(monkeypatch):
    with Worker(jobs.double) as worker:
        assert worker.run(2, limit=60)[0] == 4
        answer = worker._process.answer
        monkeypatch.setattr(
            worker._process, "answer", lambda limit: answer(limit) | {"seconds": 61}
        )
        assert worker.run(3, limit=60) is None
        monkeypatch.undo()
        assert worker.run(4, limit=60)[0] == 8


def test_threads_take_turns():
    with Worker(jobs.double) as worker, ThreadPoolExecutor(4) as threads:
        found = list(threads.map(lambda n: worker.run(n, limit=60)[0], range(40)))
    assert found == [2 * n for n in range(40)]


def test_an_answer_that_is_no_json_is_refused():
    with Worker(jobs.answer_in_the_worker_s_name) as worker:
        with pytest.raises(RuntimeError, match="the job's process must answer in JSON, got"):
            worker.run("\x80\x04K\x01.\n", limit=60)
        assert worker.run("", limit=60)[0] is None


@LINUX
def test_memory_is_limited_to_that_of_all_processes_together():
    with Worker(jobs.take, memory=100 << 20) as worker:
        assert worker.run(20 << 20, limit=60)[0] == 10 << 20
        with pytest.raises(JobError, match="more memory than the 104857600 bytes that it may"):
            worker.run(140 << 20, limit=60)
        assert worker.run(20 << 20, limit=60)[0] == 10 << 20


def test_preparing_has_a_limit_too():
    with Worker(jobs.double, jobs.hang, prepare_limit=0.25) as worker:
        for _ in range(2):
            with pytest.raises(RuntimeError, match=r"could not be prepared within 0\.25 s"):
                worker.run(1, limit=60)


def test_what_a_job_starts_reads_an_empty_input():
    with Worker(jobs.read_all) as worker:
        assert worker.run(None, limit=60)[0] == ""
        assert worker.run(None, limit=60)[0] == ""


def test_the_process_imports_no_more_than_the_job_needs():
    with Worker(jobs.modules) as worker:
        assert worker.run(None, limit=60)[0] == []


@LINUX
def test_orphans_in_other_sessions_are_ended_with_the_job(tmp_path, tag):
    noted = tmp_path / "started"
    with Worker(jobs.spawn_elsewhere_and_sleep) as worker:
        run_until_ended(worker, str(noted), noted)
        assert not tagged(tag)


@LINUX
@pytest.mark.skipif(shutil.which("cc") is None, reason="needs a C compiler")
def test_a_chain_of_short_lived_processes_is_ended_with_the_job(tmp_path):
    source = Path(__file__).parent.parent / "runner" / "hop.c"
    subprocess.run(["cc", "-O1", "-o", tmp_path / "hop", source], check=True)
    with Worker(jobs.hop) as worker:
        run_until_ended(worker, str(tmp_path / "hop"), tmp_path / "beat")
    goes_on = beats(tmp_path)
    (tmp_path / "beat").unlink()  # without which it ends
    assert not goes_on


@LINUX
def test_orphans_are_ended_when_the_job_s_process_dies(tmp_path, tag):
    with Worker(jobs.spawn_elsewhere_and_crash) as worker:
        with pytest.raises(JobError, match="ended by itself: signal SIGKILL"):
            worker.run(str(tmp_path / "started"), limit=60)
        assert not tagged(tag)


@LINUX
def test_what_a_job_leaves_running_is_ended_and_the_next_has_a_new_process(tmp_path, tag):
    with Worker(jobs.spawn_elsewhere) as worker:
        first, _ = worker.run(str(tmp_path / "a"), limit=60)
        assert not tagged(tag)
        second, _ = worker.run(str(tmp_path / "b"), limit=60)
        assert first != second


@LINUX
def test_closing_waits_for_nobody_who_holds_the_answers(tmp_path, tag):
    worker = Worker(jobs.hold_the_answers)
    assert worker.run(str(tmp_path / "started"), limit=60)[0] == "done"
    worker.close()
    assert not tagged(tag)


@LINUX
def test_all_is_ended_when_the_holder_is_killed(tmp_path, tag):
    noted, root = tmp_path / "started", Path(__file__).parent.parent.parent
    script = (
        "import sys\n"
        "from keyhole.data.worker import Worker\n"
        "from tests.data import worker_jobs as jobs\n"
        "Worker(jobs.spawn_elsewhere_and_sleep).run(sys.argv[1], limit=600)\n"
    )
    search = os.pathsep.join([str(root), *filter(None, sys.path)])
    holder = subprocess.Popen(
        [sys.executable, "-c", script, str(noted)], env=os.environ | {"PYTHONPATH": search}
    )
    assert until(noted.exists)
    holder.kill()
    holder.wait()
    assert until(lambda: not tagged(tag))


def of_the_script(n):
    return n


def test_jobs_that_cannot_be_found_or_pickled_are_refused_when_the_worker_is_made(monkeypatch):
    monkeypatch.setattr(of_the_script, "__module__", "__main__")
    with pytest.raises(ValueError, match=r"job must be a function of a module .*got of_the_script"):
        Worker(of_the_script)
    with pytest.raises(TypeError, match="job must be something that can be pickled"):
        Worker(lambda n: n)
    with pytest.raises(TypeError, match="job must be a function, got 3"):
        Worker(3)
    with pytest.raises(ValueError, match="prepare_limit must"):
        Worker(jobs.double, prepare_limit=0)
    with Worker(jobs.double) as worker:
        with pytest.raises(TypeError, match="argument must be something that can be pickled"):
            worker.run(lambda: 1, limit=60)
        assert worker.run(2, limit=60)[0] == 4


@pytest.mark.parametrize("limit", [0, -1, float("nan"), "5", 1e18])
def test_bad_limits_are_named(limit):
    with Worker(jobs.double) as worker, pytest.raises((TypeError, ValueError), match="limit must"):
        worker.run(1, limit=limit)
