import os
import signal
import socket
import subprocess
import sys
import threading
import warnings
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from keyhole.runner import KILL_MECHANISMS, RUN_OUTCOMES, CommandRunner
from keyhole.runner import command_runner as module
from keyhole.runner.helper.framing import encode_frame
from tests.runner.survivors import TAG, helpers_of, tagged, until

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="needs POSIX")
LINUX = pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")
LONG = 60.0  # seconds that nothing here takes, unless it hangs


@pytest.fixture(scope="module", params=KILL_MECHANISMS)
def runner(request):
    try:
        one = CommandRunner(request.param)
    except OSError as error:
        pytest.skip(str(error))
    with one:
        yield one


@pytest.fixture(scope="module")
def any_runner():
    """Return one runner of the mechanism that this system has: for what is the same with all."""
    with CommandRunner() as one:
        yield one


def python(script):
    return [sys.executable, "-I", "-S", "-c", script]


def test_a_command_that_ends_well_is_ok(runner):
    run = runner.run(["sh", "-c", "echo out; echo err >&2"], limit=LONG)
    assert (run.outcome, run.code, run.signal, run.left, run.reason) == ("ok", 0, None, 0, "")
    assert run.output == b"out\nerr\n"
    assert 0 < run.seconds < LONG
    assert 0 <= run.cpu < LONG
    assert 2**20 < run.memory < 2**30


@pytest.mark.parametrize(
    ("script", "code", "number"),
    [
        ("exit 3", 3, None),
        ("kill -KILL $$", None, signal.SIGKILL),
        ("kill -XCPU $$", None, signal.SIGXCPU),  # as by an `ulimit -t` of its own
        ("nonesuch_9", 127, None),
    ],
)
def test_another_code_or_a_signal_is_a_failure(runner, script, code, number):
    run = runner.run(["sh", "-c", script], limit=LONG)
    assert (run.outcome, run.code, run.signal) == ("failed", code, number)


def test_a_run_beyond_its_limit_is_out_of_time(runner):
    run = runner.run(["sleep", "600"], limit=0.2)
    assert (run.outcome, run.code, run.signal, run.left) == ("out of time", None, None, 0)
    assert run.seconds >= 0.2


@pytest.mark.parametrize(
    ("command", "words", "reason"),
    [
        (["nonesuch_9"], {}, "No such file or directory: nonesuch_9"),
        (["/"], {}, "Permission denied: /"),
        (["./\udcff"], {}, "No such file or directory: ./\udcff"),
        (["true"], {"folder": "/nonesuch_9"}, "No such file or directory: /nonesuch_9"),
    ],
)
def test_a_command_that_cannot_start_has_a_reason(runner, command, words, reason):
    run = runner.run(command, limit=LONG, **words)
    assert (run.outcome, run.reason, run.code, run.output) == ("could not start", reason, None, b"")


def test_cpu_time_is_limited(runner):
    run = runner.run(python("while True: pass"), limit=LONG, cpu=0.1)
    assert run.outcome == "out of time"
    assert run.cpu >= 0.1


def test_a_limit_may_exceed_the_largest_rlimit(runner):
    assert runner.run(["true"], limit=1e300, cpu=1e300).outcome == "ok"


@LINUX
def test_cpu_time_is_the_sum_over_all_processes(runner):
    script = """if True:
        import os, time
        def burn():
            while time.process_time() < .1: pass
        if os.fork() == 0:
            burn()
            os._exit(0)
        burn()
        os.wait()
    """
    run = runner.run(python(script), limit=LONG)
    assert run.outcome == "ok"
    assert run.cpu > 0.19
    assert runner.run(python(script), limit=LONG, cpu=0.15).outcome == "out of time"


@LINUX
def test_memory_is_the_sum_over_all_processes(runner):
    script = """if True:
        import os, time
        for _ in range(3):
            if os.fork() == 0:
                kept = b"x" * (40 << 20)
                time.sleep(600)
        os.wait()
    """
    run = runner.run(python(script), limit=LONG, memory=80 << 20)
    assert run.outcome == "out of memory"
    assert run.memory > 80 << 20
    assert run.seconds < LONG  # it was ended before it slept that long
    assert run.left == 3 or runner.mechanism == "group"


@LINUX
def test_a_short_memory_peak_of_one_process_is_measured(runner):
    run = runner.run(python("x = b'x' * (64 << 20)"), limit=LONG, memory=48 << 20)
    assert run.outcome == "out of memory"
    assert run.memory > 48 << 20


@LINUX
def test_unused_address_space_is_not_counted(runner):
    script = "import mmap; mmap.mmap(-1, 1 << 33, flags=mmap.MAP_PRIVATE | 0x4000)"
    run = runner.run(python(script), limit=LONG, memory=64 << 20)
    assert run.outcome == "ok", run


def test_the_standard_input_is_empty(any_runner):
    assert any_runner.run(["cat"], limit=LONG).outcome == "ok"


@pytest.mark.parametrize("size", [0, 1, 65_536])
def test_start_and_end_of_the_output_are_kept(any_runner, size):
    run = any_runner.run(python("print('a' * 100_000, end='z')"), limit=LONG, output=size)
    assert run.outcome == "ok"
    half = size // 2
    between = b"\n... %d bytes ...\n" % (100_001 - 2 * half)
    everything = b"a" * 100_000 + b"z"
    kept = everything[:half] + between + everything[100_001 - half :]
    assert run.output == (kept if half else b"")


def test_short_output_is_kept_whole(any_runner):
    text = "é\udcff\0\n" * 10
    script = f"import sys; sys.stdout.buffer.write({os.fsencode(text)!r})"
    run = any_runner.run(python(script), limit=LONG, output=200)
    assert run.output == os.fsencode(text)


def test_a_run_has_its_own_folder_and_environment(runner, tmp_path):
    run = runner.run(["pwd"], limit=LONG, folder=tmp_path)
    assert run.output.decode().strip() == str(tmp_path.resolve())
    run = runner.run(["env"], limit=LONG, environment={"A": "b", "PATH": os.environ["PATH"]})
    assert b"A=b\n" in run.output
    assert b"HOME=" not in run.output
    assert runner.run(["pwd"], limit=LONG).output.decode().strip() == os.getcwd()


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="pins nothing to processors")
def test_a_run_may_be_pinned_to_a_processor(runner):
    for core in os.sched_getaffinity(0):
        script = "import os; print(os.sched_getaffinity(0))"
        run = runner.run(python(script), limit=LONG, cores=[core])
        assert run.output == b"{%d}\n" % core


def test_signal_handling_of_the_caller_is_not_inherited():
    everything = signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, everything)
    ignored = signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    try:
        with CommandRunner() as runner:
            assert runner.run(["sh", "-c", "sleep 0.01 & wait"], limit=LONG).outcome == "ok"
            assert runner.run(["sleep", "600"], limit=0.05).outcome == "out of time"
    finally:
        signal.signal(signal.SIGCHLD, ignored)
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)


def test_pids_differ_from_run_to_run(runner):
    """Programs make file names of their PIDs, which differ outside of a namespace."""
    numbers = [runner.run(["sh", "-c", "echo $$"], limit=LONG).output for _ in range(5)]
    assert len(set(numbers)) == 5


def test_the_end_of_a_fork_does_not_stop_the_runner_of_its_parent(any_runner):
    with warnings.catch_warnings(action="ignore"):  # of threads, which this child leaves alone
        pid = os.fork()
    if pid == 0:
        any_runner.close()
        os._exit(0)
    os.waitpid(pid, 0)
    assert any_runner.run(["true"], limit=LONG).outcome == "ok"


@pytest.mark.parametrize("name", ["TERM", "PIPE"])  # the second is ignored by every Python
def test_signals_have_their_default_actions(name):
    number = getattr(signal, f"SIG{name}")
    previous = signal.pthread_sigmask(signal.SIG_BLOCK, [number])
    try:
        with CommandRunner() as runner:
            run = runner.run(["sh", "-c", f"kill -{name} $$; sleep 600"], limit=LONG)
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, previous)
    assert (run.outcome, run.signal) == ("failed", number)


def test_processes_left_are_counted(runner):
    run = runner.run(["sh", "-c", "sleep 600 & sleep 600 &"], limit=LONG)
    assert run.outcome == "ok"
    assert run.left == (1 if runner.mechanism == "group" else 2)


def test_outcomes_and_description_are_complete(runner):
    assert runner.run(["true"], limit=LONG).outcome in RUN_OUTCOMES
    assert runner.description.startswith(f"{runner.mechanism}: ")


def test_many_short_runs_leave_no_descriptors_open(any_runner):
    def files():
        return len(os.listdir("/dev/fd"))

    any_runner.run(["true"], limit=LONG)
    before = files()
    for _ in range(10):
        assert any_runner.run(["true"], limit=LONG).outcome == "ok"
    assert files() == before


def test_only_the_passed_files_are_inherited(runner, tmp_path):
    with (tmp_path / "a").open("w") as first, (tmp_path / "b").open("w") as second:
        os.set_inheritable(first.fileno(), True)
        script = "echo one >&3; echo two >&4; ls /dev/fd/ | wc -w"
        passed = [first.fileno(), second.fileno()]
        run = runner.run(["sh", "-c", script], limit=LONG, passed=passed)
        assert int(run.output) == 5 + 1  # (ls has its own)
        assert runner.run(["sh", "-c", "ls /dev/fd/ | wc -w"], limit=LONG).output.split() == [b"4"]
    assert (tmp_path / "a").read_text() + (tmp_path / "b").read_text() == "one\ntwo\n"


def test_a_file_that_is_not_open_is_an_error_and_the_next_run_is_done(any_runner):
    with pytest.raises(OSError, match="Bad file descriptor"):
        any_runner.run(["true"], limit=LONG, passed=[1000])
    assert any_runner.run(["true"], limit=LONG).outcome == "ok"


def test_runners_work_side_by_side():
    with ThreadPoolExecutor(4) as threads:

        def work(number):
            with CommandRunner() as runner:
                return [runner.run(["echo", f"{number}"], limit=LONG).output for _ in range(2)]

        found = list(threads.map(work, range(4)))
    assert found == [[b"%d\n" % number] * 2 for number in range(4)]


def test_runs_of_several_threads_are_serialised(any_runner):
    with ThreadPoolExecutor(4) as threads:
        found = list(threads.map(lambda n: any_runner.run(["echo", str(n)], limit=LONG), range(12)))
    assert [run.output for run in found] == [b"%d\n" % n for n in range(12)]


def test_close_kills_the_run_of_another_thread():
    runner, tag = CommandRunner(), f"close-{os.getpid()}"
    with ThreadPoolExecutor(1) as threads:
        words = {"environment": {TAG: tag}}
        waiting = threads.submit(runner.run, ["/bin/sleep", "600"], limit=600, **words)
        assert until(lambda: tagged(tag))
        runner.close()
        run = waiting.result(LONG)
    assert (run.outcome, run.reason) == ("lost", "the runner was closed")
    assert not tagged(tag)
    with pytest.raises(ValueError, match="the runner must be open"):
        runner.run(["true"], limit=LONG)
    runner.close()


def test_a_runner_that_is_closed_while_its_helper_is_replaced_runs_nothing(monkeypatch):
    one = CommandRunner()
    one._helper.stop()
    one._helper = None
    made, start = [], module.Helper

    def closed_meanwhile(mechanism):
        one.close()
        made.append(start(mechanism))
        return made[0]

    monkeypatch.setattr(module, "Helper", closed_meanwhile)
    run = one.run(["true"], limit=LONG)
    assert (run.outcome, run.reason) == ("lost", "the runner was closed")
    assert made[0]._process.poll() is not None


class Interrupted(Exception):
    pass


def test_an_interrupt_kills_the_run_and_the_runner_stays_usable():
    def interrupt(*_):
        raise Interrupted

    tag, before = f"interrupt-{os.getpid()}", signal.signal(signal.SIGUSR1, interrupt)
    try:
        with CommandRunner() as runner:

            def when_it_runs():
                until(lambda: tagged(tag))
                signal.pthread_kill(threading.main_thread().ident, signal.SIGUSR1)

            other = threading.Thread(target=when_it_runs)
            other.start()
            with pytest.raises(Interrupted):
                runner.run(["/bin/sleep", "600"], limit=600, environment={TAG: tag})
            other.join()
            assert not tagged(tag)
            assert runner.run(["true"], limit=LONG).outcome == "ok"
    finally:
        signal.signal(signal.SIGUSR1, before)


@LINUX
def test_a_helper_that_is_killed_loses_its_run_and_is_replaced(runner):
    if runner.mechanism == "group":
        pytest.skip("the same for all")
    tag = f"helper-{os.getpid()}-{runner.mechanism}"
    with ThreadPoolExecutor(1) as threads, CommandRunner(runner.mechanism) as one:
        before = set(helpers_of(os.getpid()))
        words = {"environment": {TAG: tag}}
        waiting = threads.submit(one.run, ["/bin/sleep", "600"], limit=600, **words)
        assert until(lambda: tagged(tag))
        os.kill(one._helper._process.pid, signal.SIGKILL)
        run = waiting.result(LONG)
        assert run.outcome == "lost"
        assert until(lambda: not tagged(tag))  # the kernel ends a namespace after its helper
        assert one.run(["true"], limit=LONG).outcome == "ok"
        assert before


@LINUX
def test_a_run_cannot_write_an_answer_for_its_init(runner):
    """The run opens all descriptors of its init that it may, and writes its own answer."""
    words = {"outcome": "ok", "seconds": 0.01}
    script = f"""if True:
        import os
        for file in os.listdir(f"/proc/{{os.getppid()}}/fd"):
            name = f"/proc/{{os.getppid()}}/fd/{{file}}"
            try:
                if not os.readlink(name).startswith("/"):
                    os.write(os.open(name, os.O_WRONLY | os.O_NONBLOCK), {encode_frame(words)!r})
            except OSError:
                pass
        os._exit(3)
    """
    assert [runner.run(python(script), limit=LONG).code for _ in range(2)] == [3, 3]


@LINUX
@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may do anything")
def test_a_run_cannot_open_files_of_its_supervisors(runner):
    script = "import os; open(f'/proc/{os.getppid()}/mem')"
    assert b"PermissionError" in runner.run(python(script), limit=LONG).output


@LINUX
@pytest.mark.parametrize(
    ("script", "limit", "outcome"),
    [
        ("os.kill(init, signal.SIGSTOP)", 0.3, "out of time"),
        # What is traced has not gone before its tracer (PTRACE_SEIZE; refused, but to root).
        ("trace(0x4206, init, 0, 0); os.kill(init, signal.SIGKILL)", LONG, "lost"),
    ],
    ids=["stopped", "traced and killed"],
)
def test_a_run_whose_init_is_stopped_is_killed(monkeypatch, script, limit, outcome):
    """In a namespace, an init ignores such signals."""
    boot = "from helper import server; server._ANSWER_SECONDS = 0.1; server.main()"
    monkeypatch.setattr(
        module, "_BOOTSTRAP", f"import sys; sys.path.insert(0, sys.argv[1]); {boot}"
    )
    start = "import ctypes, os, signal, time; trace = ctypes.CDLL(None).ptrace; init = os.getppid()"
    with CommandRunner("subreaper") as one:
        run = one.run(python(f"{start}; {script}; time.sleep({LONG})"), limit=limit)
        assert run.outcome == outcome
        assert run.seconds < LONG / 2
        assert one.run(["true"], limit=LONG).outcome == "ok"


@LINUX
def test_a_run_that_stops_the_helper_is_lost(monkeypatch):
    monkeypatch.setattr(module, "_ANSWER_SECONDS", 0.5 - LONG)
    monkeypatch.setattr(module, "_SHUTDOWN_SECONDS", 0.1)
    script = """if True:
        import os, signal
        with open(f"/proc/{os.getppid()}/stat") as file:
            helper = int(file.read().rpartition(")")[2].split()[1])
        os.kill(helper, signal.SIGSTOP)
    """
    with ThreadPoolExecutor(1) as threads, CommandRunner("subreaper") as one:
        assert threads.submit(one.run, python(script), limit=LONG).result(LONG).outcome == "lost"
        monkeypatch.setattr(module, "_ANSWER_SECONDS", LONG)
        assert one.run(["true"], limit=LONG).outcome == "ok"


@pytest.mark.parametrize(
    ("command", "words", "error", "message"),
    [
        ("true", {}, TypeError, "command must be a list of at least one word, got 'true'"),
        ([], {}, TypeError, "command must be a list of at least one word, got"),
        ([1], {}, TypeError, r"command\[0\] must be a text, got 1"),
        (["a\0"], {}, ValueError, r"command\[0\] must have no null characters"),
        (["\ud800"], {}, ValueError, r"command\[0\] must be a text that can be encoded"),
        (["true"], {"passed": [-1]}, ValueError, "passed must be at least 0, got -1"),
        (["true"], {"limit": 0}, ValueError, "limit must be above 0"),
        (["true"], {"memory": 1000}, ValueError, "memory must be at least 2"),
        (["true"], {"cpu": -1}, ValueError, "cpu must be above 0"),
        (["true"], {"grace": -1}, ValueError, "grace must be at least 0"),
        (["true"], {"output": -1}, ValueError, "output must"),
        (["true"], {"folder": 3}, TypeError, "folder must be a text, got 3"),
        (["true"], {"environment": ["A"]}, TypeError, "environment must be a mapping"),
        (["true"], {"environment": {"A=B": ""}}, ValueError, "environment must have names"),
        (["true"], {"environment": {"A": 1}}, TypeError, r"environment\['A'\] must be a text"),
        (["true"], {"cores": []}, ValueError, "cores must have at least one entry"),
        (["true"], {"cores": [-1]}, ValueError, "cores must be among .*; got -1"),
    ],
)
def test_bad_requests_are_named(any_runner, command, words, error, message):
    with pytest.raises(error, match=message):
        any_runner.run(command, **{"limit": LONG} | words)


def test_an_unknown_mechanism_is_named():
    with pytest.raises(ValueError, match=r"mechanism must be one of namespace, .*did you mean"):
        CommandRunner("namespaces")


@LINUX
def test_cpu_time_of_unreaped_children_is_sampled(runner):
    """The kernel drops the usage of a child whose parent ignores SIGCHLD."""
    script = """if True:
        import os, signal, time
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)
        if os.fork() == 0:
            while time.process_time() < 0.3: pass
            os._exit(0)
        try:
            os.wait()
        except ChildProcessError:
            pass
    """
    run = runner.run(python(script), limit=LONG)
    assert run.outcome == "ok"
    assert run.cpu > 0.1


STOPS_ITSELF = """if True:
    import os, signal, time
    def stop(*_):
        print("best 7", flush=True)
        os._exit(3)
    signal.signal(signal.SIGTERM, stop)
    print("best 1", flush=True)
    while True:
        {work}
"""


def test_a_command_may_print_in_its_grace(runner):
    run = runner.run(python(STOPS_ITSELF.format(work="time.sleep(0.01)")), limit=1, grace=LONG)
    assert (run.outcome, run.code, run.signal) == ("out of time", 3, None)
    assert run.output == b"best 1\nbest 7\n"
    assert run.seconds < LONG


def test_a_limit_of_cpu_time_has_a_grace_too(runner):
    run = runner.run(python(STOPS_ITSELF.format(work="pass")), limit=LONG, cpu=0.2, grace=LONG)
    assert (run.outcome, run.code, run.output) == ("out of time", 3, b"best 1\nbest 7\n")


def test_nothing_outlives_the_grace(runner):
    script = """if True:
        import os, signal, time
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        os.fork()
        while True: time.sleep(600)
    """
    tag = f"grace-{os.getpid()}-{runner.mechanism}"
    run = runner.run(python(script), limit=1, grace=0.3, environment={**os.environ, TAG: tag})
    assert (run.outcome, run.code, run.signal) == ("out of time", None, None)
    assert run.seconds >= 1.3
    assert tagged(tag) == []


def test_children_may_end_in_the_grace_after_the_main_process(runner):
    script = """if True:
        import os, signal, time
        def stop(*_):
            time.sleep(0.2)
            os.write(1, b"best 9")
            os._exit(0)
        if os.fork() == 0:
            signal.signal(signal.SIGTERM, stop)
        time.sleep(600)
    """
    # Of a group, nobody may wait for the child that has ended; then all of the grace is waited.
    grace = 5 if runner.mechanism == "group" else LONG
    run = runner.run(python(script), limit=1, grace=grace)
    assert (run.outcome, run.signal, run.output) == ("out of time", signal.SIGTERM, b"best 9")


@LINUX
def test_memory_is_limited_in_the_grace(runner):
    script = """if True:
        import signal, time
        kept = []
        signal.signal(signal.SIGTERM, lambda *_: kept.append(b"x" * (64 << 20)))
        while True:
            time.sleep(0.01)
    """
    run = runner.run(python(script), limit=0.3, grace=LONG, memory=48 << 20)
    assert run.outcome == "out of memory"
    assert run.seconds < LONG


@LINUX
def test_processes_are_measured_after_an_unmount_of_proc():
    script = """if True:
        import ctypes, os, time
        while ctypes.CDLL(None).umount2(b"/proc", 2) == 0:
            pass
        assert not os.path.exists("/proc/self")
        for _ in range(3):
            if os.fork() == 0:
                kept = b"x" * (40 << 20)
                time.sleep(600)
        os.wait()
    """
    try:
        one = CommandRunner("namespace")
    except OSError as error:
        pytest.skip(str(error))
    with one:
        run = one.run(python(script), limit=LONG, memory=80 << 20)
    if b"AssertionError" in run.output:
        pytest.skip("/proc may not be unmounted here")
    assert run.outcome == "out of memory"


def test_a_relative_folder_begins_at_the_working_folder(any_runner, tmp_path, monkeypatch):
    (tmp_path / "inner").mkdir()
    monkeypatch.chdir(tmp_path)
    run = any_runner.run(["pwd", "-P"], limit=LONG, folder="inner")
    assert run.output.decode().strip() == str((tmp_path / "inner").resolve())


def test_a_helper_whose_runner_has_gone_prints_nothing():
    ours, theirs = socket.socketpair()
    ours.close()
    folder = str(Path(module.__file__).parent)
    words = [folder, str(theirs.fileno()), str(os.getpid()), "group"]
    command = [sys.executable, "-I", "-S", "-c", module._BOOTSTRAP, *words]
    with theirs:
        ended = subprocess.run(
            command, pass_fds=[theirs.fileno()], capture_output=True, timeout=LONG
        )
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, b"", b"")
