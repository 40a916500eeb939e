import os
import shutil
import socket
import subprocess
import sys
import threading
import uuid
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from keyhole.runner import FunctionProcess, JobError, function_process_child

# Jobs are imported by the child process, and so are in a module of their own.
from tests.runner import process_jobs as jobs
from tests.runner.survivors import TAG, beats, clean, tagged, until

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="needs Linux or macOS")
LINUX = pytest.mark.skipif(sys.platform != "linux", reason="looks for processes in /proc")


@pytest.fixture
def tag(monkeypatch):
    """Mark all processes that the test starts."""
    word = uuid.uuid4().hex
    monkeypatch.setenv(TAG, word)
    yield word
    clean(word)


@pytest.fixture(scope="module")
def shared():
    """Return a process that calls jobs by their names."""
    with FunctionProcess(jobs.call) as process:
        yield process


def test_a_job_has_a_result_and_a_time():
    with FunctionProcess(jobs.double, jobs.prepare) as process:
        for n in (3, 4):
            result, seconds = process.run(n, limit=60)
            assert result == 2 * n
            assert 0 <= seconds < 60


def test_preparation_is_not_part_of_the_time_of_a_job():
    with FunctionProcess(jobs.double, jobs.prepare_slowly) as process:
        result, seconds = process.run(3, limit=20)
        assert result == 6
        assert seconds < 0.5 * jobs.SLOW


def run_until_killed(process, argument, noted):
    """Run a job beyond its limit, with longer limits until it has noted its start."""
    limit = 0.15
    while not noted.exists():
        limit *= 2.0
        assert limit < 200
        assert process.run(argument, limit=limit) is None


@LINUX
def test_a_job_beyond_its_limit_is_killed_with_its_children(tmp_path, tag):
    noted = tmp_path / "started"
    with FunctionProcess(jobs.sleep_with_a_child) as process:
        run_until_killed(process, str(noted), noted)
        assert not tagged(tag)
        # The next job gets a new process.
        assert process.run("", limit=60)[0] == "no sleep"


@LINUX
def test_close_kills_the_child(tag):
    process = FunctionProcess(jobs.double)
    process.run(3, limit=60)
    assert tagged(tag)
    process.close()
    assert not tagged(tag)
    process.close()


def test_jobs_share_a_child_until_it_is_closed():
    with FunctionProcess(jobs.which_process) as process:
        first, _ = process.run(None, limit=60)
        assert process.run(None, limit=60)[0] == first
        process.close()
        assert process.run(None, limit=60)[0] != first


def test_output_of_a_job_goes_to_standard_error(capfd):
    with FunctionProcess(jobs.shout) as process:
        assert process.run("hello", limit=60)[0] == "HELLO"
    assert "hello" in capfd.readouterr().err


def test_a_failed_job_has_a_message_and_the_next_is_done(shared):
    with pytest.raises(RuntimeError, match="the job failed: ZeroDivisionError: division by"):
        shared.run(["invert", 0], limit=60)
    assert shared.run(["invert", 4], limit=60)[0] == 0.25
    with pytest.raises(JobError, match="the job's process ended by itself: exit status 3"):
        shared.run(["invert", "exit"], limit=60)
    assert shared.run(["invert", 2], limit=60)[0] == 0.5


def test_a_failed_preparation_has_a_message():
    with (
        FunctionProcess(jobs.double, jobs.fail) as process,
        pytest.raises(RuntimeError, match="could not be prepared: ImportError: no such thing"),
    ):
        process.run(1, limit=60)


def test_a_signal_and_an_exit_are_distinguished(shared):
    with pytest.raises(JobError, match="ended by itself: signal SIGKILL"):
        shared.run(["kill_itself", 1], limit=60)
    with pytest.raises(JobError, match="the job failed: SystemExit: 5"):
        shared.run(["leave", 5], limit=60)


def test_a_failed_job_has_its_seconds_and_a_short_message(shared):
    with pytest.raises(JobError) as caught:
        shared.run(["fail_after", 0.2], limit=60)
    assert 0.2 <= caught.value.seconds < 60
    assert str(caught.value).startswith("the job failed: ValueError: xxx")
    assert len(str(caught.value)) < 600


PLAIN = [None, True, 3, 0.5, float("inf"), "\ud800 \n ü", [1, [2, {"a": None}]], "x" * 10**6]


def test_plain_results_are_returned_unchanged(shared):
    for value in PLAIN:
        result, _ = shared.run(["give_back", value], limit=60)
        assert result == value
        assert type(result) is type(value)


def test_other_results_are_refused_and_never_unpickled(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with FunctionProcess(jobs.call) as process:
        for job, kind in (("a_set", "set"), ("nested_set", "set"), ("a_trap", "Trap")):
            message = f"the result must be made of None, .*got a .*{kind}"
            with pytest.raises(JobError, match=message):
                process.run([job, 1], limit=60)
    assert not (tmp_path / "sprung").exists()


def test_a_job_whose_own_time_passed_the_limit_has_no_result(monkeypatch):
    with FunctionProcess(jobs.double) as process:
        assert process.run(2, limit=60)[0] == 4
        read_answer = process._child.read_answer
        monkeypatch.setattr(
            process._child, "read_answer", lambda limit: read_answer(limit)._replace(seconds=61)
        )
        assert process.run(3, limit=60) is None
        monkeypatch.undo()
        assert process.run(4, limit=60)[0] == 8


def test_jobs_of_several_threads_are_serialised(shared):
    with ThreadPoolExecutor(4) as threads:
        found = list(threads.map(lambda n: shared.run(["double", n], limit=60)[0], range(40)))
    assert found == [2 * n for n in range(40)]


def test_an_answer_that_is_not_json_is_refused():
    with FunctionProcess(jobs.write_an_answer) as process:
        with pytest.raises(RuntimeError, match="the job's process must answer in JSON, got"):
            process.run("\x80\x04K\x01.\n", limit=60)
        assert process.run("", limit=60)[0] is None


@LINUX
def test_the_memory_limit_is_for_all_processes_together():
    with FunctionProcess(jobs.take, memory=100 << 20) as process:
        assert process.run(20 << 20, limit=60)[0] == 10 << 20
        with pytest.raises(JobError, match="more memory than its limit of 104857600 bytes"):
            process.run(140 << 20, limit=60)
        assert process.run(20 << 20, limit=60)[0] == 10 << 20


def test_the_preparation_has_a_limit():
    with FunctionProcess(jobs.double, jobs.hang, prepare_limit=0.25) as process:
        for _ in range(2):
            with pytest.raises(RuntimeError, match=r"could not be prepared within 0\.25 s"):
                process.run(1, limit=60)


def test_processes_of_a_job_have_an_empty_standard_input(shared):
    for _ in range(2):
        assert shared.run(["read_all", None], limit=60)[0] == ""


def test_the_child_imports_only_the_standard_library():
    with FunctionProcess(jobs.modules) as process:
        assert process.run(None, limit=60)[0] == []


@LINUX
def test_orphans_in_other_sessions_are_killed_with_the_job(tmp_path, tag):
    noted = tmp_path / "started"
    with FunctionProcess(jobs.spawn_elsewhere_and_sleep) as process:
        run_until_killed(process, str(noted), noted)
        assert not tagged(tag)


@LINUX
@pytest.mark.skipif(shutil.which("cc") is None, reason="needs a C compiler")
def test_a_chain_of_short_lived_processes_is_killed_with_the_job(tmp_path):
    source = Path(__file__).parent.parent / "runner" / "hop.c"
    subprocess.run(["cc", "-O1", "-o", tmp_path / "hop", source], check=True)
    with FunctionProcess(jobs.hop) as process:
        run_until_killed(process, str(tmp_path / "hop"), tmp_path / "beat")
    goes_on = beats(tmp_path)
    (tmp_path / "beat").unlink()  # without which it ends
    assert not goes_on


@LINUX
def test_orphans_are_killed_when_the_child_dies(tmp_path, tag):
    with FunctionProcess(jobs.spawn_elsewhere_and_crash) as process:
        with pytest.raises(JobError, match="ended by itself: signal SIGKILL"):
            process.run(str(tmp_path / "started"), limit=60)
        assert not tagged(tag)


@LINUX
def test_processes_that_a_job_leaves_are_killed_and_the_next_has_a_new_child(tmp_path, tag):
    with FunctionProcess(jobs.spawn_elsewhere) as process:
        first, _ = process.run(str(tmp_path / "a"), limit=60)
        assert not tagged(tag)
        second, _ = process.run(str(tmp_path / "b"), limit=60)
        assert first != second


@LINUX
def test_close_does_not_wait_for_a_process_that_holds_the_channel(tmp_path, tag):
    process = FunctionProcess(jobs.hold_the_answers)
    assert process.run(str(tmp_path / "started"), limit=60)[0] == "done"
    process.close()
    assert not tagged(tag)


@LINUX
def test_all_processes_are_killed_when_the_parent_is_killed(tmp_path, tag):
    noted, root = tmp_path / "started", Path(__file__).parent.parent.parent
    script = (
        "import sys\n"
        "from keyhole.runner import FunctionProcess\n"
        "from tests.runner import process_jobs as jobs\n"
        "FunctionProcess(jobs.spawn_elsewhere_and_sleep).run(sys.argv[1], limit=600)\n"
    )
    search = os.pathsep.join([str(root), *filter(None, sys.path)])
    holder = subprocess.Popen(
        [sys.executable, "-c", script, str(noted)], env=os.environ | {"PYTHONPATH": search}
    )
    assert until(noted.exists)
    holder.kill()
    holder.wait()
    assert until(lambda: not tagged(tag))


def test_functions_without_a_module_are_sent_with_all_that_they_use():
    shift, values = 3, {"FACTOR": 2, "__name__": "__main__"}
    exec("def helper(n):\n    return n * FACTOR\ndef job(n):\n    return helper(n) + 1", values)
    for function, result in ((values["job"], 11), (lambda n: n + shift, 8)):
        with FunctionProcess(function) as process:
            assert process.run(5, limit=60)[0] == result


def test_jobs_that_cannot_be_pickled_are_refused():
    lock = threading.Lock()
    with pytest.raises(TypeError, match="job must be something that can be pickled"):
        FunctionProcess(lambda n: lock)
    with pytest.raises(TypeError, match="job must be a function, got 3"):
        FunctionProcess(3)
    with pytest.raises(ValueError, match="prepare_limit must"):
        FunctionProcess(jobs.double, prepare_limit=0)
    with FunctionProcess(jobs.double) as process:
        with pytest.raises(TypeError, match="argument must be something that can be pickled"):
            process.run(lock, limit=60)
        assert process.run(2, limit=60)[0] == 4


@pytest.mark.parametrize("limit", [0, -1, float("nan"), "5", 1e18])
def test_bad_limits_are_named(limit):
    errors = (TypeError, ValueError)
    with FunctionProcess(jobs.double) as process, pytest.raises(errors, match="limit must"):
        process.run(1, limit=limit)


def test_a_child_whose_parent_was_killed_prints_nothing():
    ours, theirs = socket.socketpair()
    ours.close()
    moves = """if True:
        import os, sys
        os.dup2(int(sys.argv[1]), 3)
        os.dup2(2, 4)
        os.execv(sys.argv[2], sys.argv[2:])
    """
    child = [sys.executable, "-P", function_process_child.__file__]
    with theirs:
        ended = subprocess.run(
            [sys.executable, "-c", moves, str(theirs.fileno()), *child],
            pass_fds=[theirs.fileno()],
            capture_output=True,
            timeout=600,
        )
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, b"", b"")
