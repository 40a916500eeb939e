"""Forks: nothing that was answered is lost, nobody hangs, and both sides go on."""

import gc
import multiprocessing
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager

import pytest

import keyhole.study
from keyhole.contract import kernel_compilation
from keyhole.contract.kernel_compilation import compiled_policy
from keyhole.kernels import compiler_fork_locks
from keyhole.study import (
    Study,
    backup,
    definition,
    group_commit,
    list_studies,
    log_export,
    study_summary,
)
from keyhole.study.events import ASKED, TOLD
from keyhole.study.storage import (
    Row,
    StoreError,
    fork_lock,
    open_store,
    sqlite_connection,
)
from keyhole.study.storage.fork_lock import FORK_LOCK
from keyhole.thresholding import LSA
from tests.forks import ENOUGH, in_child
from tests.processes import python
from tests.study.studies import check_rebuilt_states_agree, labels
from tests.study.test_replaced import fill

pytestmark = [
    pytest.mark.skipif(not hasattr(os, "fork"), reason="the system has no fork"),
    pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning"),
]
ROW = Row(1, 1, None, None, 0.0, b"")


def decide(study, times):
    """Ask and tell; return what was handed out."""
    ids = []
    for i in range(times):
        ids.append(study.ask().id)
        study.tell(ids[-1], i % 2)
    return ids


def decide_elsewhere(address, times):
    """Open a study for oneself and decide; return the ids in one line."""
    with Study.open(address, "labels") as study:
        found = " ".join(decide(study, times))
        study.recommend()
        return found


def send(address, times, pipe):
    """Send what `decide_elsewhere` returns."""
    pipe.send(decide_elsewhere(address, times))


@contextmanager
def threads_at_work(study, count=4, pause=0.002):
    """Let threads decide until the end; yield the list of what they were handed out."""
    ids, stop = [], threading.Event()

    def work():
        while not stop.wait(pause):  # long enough for others to work as well
            ids.extend(decide(study, 1))

    with ThreadPoolExecutor(count) as pool:
        at_work = [pool.submit(work) for _ in range(count)]
        try:
            yield ids
        finally:
            stop.set()
    for thread in at_work:
        thread.result(ENOUGH)


def check_all_is_there(address, ids):
    """Check that the log has each decision once, told once, and no gap."""
    with Study.open(address, "labels") as study:
        log = study.log()
        assert [row.seq for row in log] == list(range(1, len(log) + 1))
        for kind in (ASKED, TOLD):
            assert sorted(row.decision for row in log if row.kind == kind) == sorted(ids)
        check_rebuilt_states_agree(study)


def test_a_fork_while_threads_write_loses_nothing(address):
    with labels(address) as study:
        decide(study, 1)
        first = [row.decision for row in study.log() if row.kind == ASKED]
        with threads_at_work(study) as ids:
            found = [in_child(lambda: decide_elsewhere(address, 3)).split() for _ in range(3)]
            ids += decide(study, 3)
        study.recommend()
    check_all_is_there(address, [*first, *ids, *(id for some in found for id in some)])


# A server of forks is spawned itself, and then forks.
@pytest.mark.parametrize(
    "how", ["fork", "forkserver", pytest.param("spawn", marks=pytest.mark.slow)]
)
def test_processes_start_while_threads_write(tmp_path, how):
    context, address = multiprocessing.get_context(how), str(tmp_path / "s.db")
    # A new interpreter takes a thousand times as long to start as a fork does.
    crowd = {"count": 8} if how == "fork" else {"count": 2, "pause": 0.05}
    with labels(address) as study, threads_at_work(study, **crowd) as ids:
        pipes = [context.Pipe(duplex=False) for _ in range(2 if how == "fork" else 1)]
        processes = [
            context.Process(target=send, args=(address, 3, pipe), daemon=True) for _, pipe in pipes
        ]
        for process in processes:
            process.start()
        for (pipe, _), process in zip(pipes, processes, strict=True):
            assert pipe.poll(ENOUGH)
            ids += pipe.recv().split()
            process.join(ENOUGH)
    check_all_is_there(address, ids)


def test_many_threads_fork_at_once(tmp_path):
    address = str(tmp_path / "s.db")
    with labels(address) as study, threads_at_work(study, 2) as ids:
        with ThreadPoolExecutor(4) as pool:
            several = pool.map(lambda _: in_child(lambda: decide_elsewhere(address, 1)), range(4))
            found = list(several)
        ids += found
    check_all_is_there(address, ids)


def test_a_fork_of_a_fork_loses_nothing(tmp_path):
    address = str(tmp_path / "s.db")

    def child():
        with Study.open(address, "labels") as own:
            before = decide(own, 1)
            inner = in_child(lambda: decide_elsewhere(address, 1))
            return " ".join([*before, inner, *decide(own, 1)])

    with labels(address) as study:
        ids = [*decide(study, 1), *in_child(child).split(), *decide(study, 1)]
    check_all_is_there(address, ids)


def refusals(study, *addresses):
    """Return how a fork within a call is refused, and what it can do elsewhere."""
    said = []
    for call in (study.ask, study.recommend, *(lambda a=a: labels(a, "own") for a in addresses)):
        try:
            said.append(repr(call()))
        except (RuntimeError, OSError) as error:
            said.append(str(error))
    study.close()
    return "\n".join(said)


def check_refused(said, is_file):
    ask, look, same_file, other_file = said.splitlines()
    assert ask == look == "the study was opened by another process: open it again in this one"
    assert ("forked within a call" in same_file) == is_file
    assert other_file.startswith("Study(")


def test_a_fork_by_a_clock_does_not_hang_and_is_refused_the_file(address, tmp_path):
    said = []

    def clock():
        if begun and not said:
            said.append(in_child(lambda: refusals(study, address, str(tmp_path / "other.db"))))
        return 1000.0

    begun = []
    with labels(address, clock=clock) as study:
        begun.append(study)
        first = study.ask()
        study.tell(first.id, 1)
        check_refused(said[0], not address.startswith("postgresql"))
        assert in_child(lambda: Study.open(address, "labels").ask().arm) == "b"
    with Study.open(address, "labels") as again:
        assert [row.seq for row in again.log()] == [1, 2, 3]


def test_a_fork_by_a_signal_handler_goes_on_in_the_parent(tmp_path):
    address = str(tmp_path / "s.db")
    said = []

    def fork(*_):
        said.append(in_child(lambda: refusals(study, address, str(tmp_path / "other.db"))))

    before = signal.signal(signal.SIGUSR1, fork)
    try:
        with labels(address) as study:
            study._writer.submit(
                lambda transaction: (os.kill(os.getpid(), signal.SIGUSR1), transaction.now)
            )
            ids = decide(study, 2)
    finally:
        signal.signal(signal.SIGUSR1, before)
    check_refused(said[0], True)
    check_all_is_there(address, ids)


def test_a_child_that_returns_into_a_call_can_write_nothing(address):
    with labels(address) as study:
        found = []

        def return_twice(transaction):
            found.append(os.fork())
            transaction.write(8, None, b"d")  # adds an arm

        try:
            study._writer.submit(return_twice)
            code = 1
        except (StoreError, RuntimeError):
            code = 7
        if not found[0]:
            os._exit(code)
        assert os.waitstatus_to_exitcode(os.waitpid(found[0], 0)[1]) == 7
        assert study.arms == ("a", "b", "c", "d")
        assert [row.seq for row in study.log()] == [1]
        study.ask()


def test_a_fork_does_not_wait_for_ever_for_a_call_of_another_thread(tmp_path, monkeypatch):
    monkeypatch.setattr(fork_lock, "FORK_TIMEOUT", 0.01)
    address = str(tmp_path / "s.db")
    begun, go = threading.Event(), threading.Event()
    with labels(address) as study, ThreadPoolExecutor(1) as pool:
        call = pool.submit(study._writer.submit, lambda transaction: (begun.set(), go.wait(ENOUGH)))
        begun.wait()
        check_refused(in_child(lambda: refusals(study, address, str(tmp_path / "o.db"))), True)
        go.set()
        call.result(ENOUGH)
        ids = decide(study, 2)
    check_all_is_there(address, ids)


def test_a_fork_does_not_wait_for_who_queues(tmp_path):
    address = str(tmp_path / "s.db")
    with labels(address) as study, closing(open_store(address)) as other:
        number, _ = other.find("labels")
        other.begin(number, 0)
        with ThreadPoolExecutor(1) as pool:
            asked = pool.submit(study.ask)  # waits at the queue, for as long as it takes
            while not study._writer._leader:
                pass
            in_child(lambda: "here")
            other.rollback()
            assert asked.result(ENOUGH).arm == "a"


@pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="open files cannot be listed")
def test_a_child_keeps_no_queue_open_that_a_thread_was_just_opening(tmp_path, monkeypatch):
    opened, open_queue = threading.Event(), sqlite_connection.open_queue

    def open_slowly(path):
        queue = open_queue(path)
        opened.set()
        time.sleep(0.3)  # not noted yet: a fork that did not wait would come now
        return queue

    with labels(tmp_path / "a.db") as study, ThreadPoolExecutor(1) as pool:
        monkeypatch.setattr(sqlite_connection, "open_queue", open_slowly)
        asked = pool.submit(study.ask)
        assert opened.wait(ENOUGH)
        files = in_child(lambda: [os.path.realpath(f"/proc/self/fd/{n}") for n in range(64)])
        assert asked.result(ENOUGH).arm
    assert "a.db-queue" not in files


def test_a_thread_that_forks_may_use_studies_in_other_hooks(tmp_path):
    script = """
import os, sys
os.register_at_fork(before=lambda: study.ask(), after_in_parent=lambda: study.ask())
from keyhole.study import Study
from keyhole.thresholding import LSA
assert "concurrent.futures.thread" in sys.modules  # or its hooks may come while a fork waits
study = Study.create(sys.argv[1], "labels", LSA(), ["a", "b"], threshold=0.5)
pid = os.fork()
if not pid:
    os._exit(0)
os.waitpid(pid, 0)
study.ask()
study.close()
"""
    path = str(tmp_path / "s.db")
    subprocess.run([sys.executable, "-W", "ignore", "-c", script, path], check=True, timeout=ENOUGH)
    with Study.open(path, "labels") as study:
        assert len(study.log()) == 3


ENDING = """
import gc, os, sys
from keyhole.study.storage import Row, open_store
from keyhole.study import Study
row = Row(1, 1, None, None, 0.0, b"")
store = open_store(sys.argv[1])
at_work = open_store(sys.argv[1])
study, other = (store.create(name, b"", 0.0) for name in "ab")
at_work.begin(other, 0)
pid = os.fork()
if not pid:
    del store, at_work
    gc.collect()
    sys.exit(7)  # as any program ends: nothing of the parent's may be closed by that
assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 7
at_work.commit(other, [row])
store.begin(study, 0)
store.commit(study, [row])
at_work.begin(other, 1)
at_work.commit(other, [row._replace(seq=2)])
os.kill(os.getpid(), 9)
"""


def test_a_child_that_ends_as_programs_do_leaves_all_to_its_parent(address, tmp_path):
    ended = python("-c", ENDING, address, cwd=tmp_path)
    assert ended.returncode == -signal.SIGKILL, ended.stderr
    assert ended.stderr == ""
    with closing(open_store(address)) as store:
        assert [len(list(store.read(store.find(name)[0]))) for name in "ab"] == [1, 2]


HOLDING = """
import os, sys, time
from keyhole.study.storage import open_store
store = open_store(sys.argv[1])
store.begin(store.create("labels", b"", 0.0), 0)
if not os.fork():
    time.sleep(600)
print("forked", flush=True)
time.sleep(600)
"""


def test_a_child_does_not_hold_its_parents_lock_when_that_is_killed(address):
    parent = subprocess.Popen(
        [sys.executable, "-c", HOLDING, address], stdout=subprocess.PIPE, start_new_session=True
    )
    try:
        assert parent.stdout.readline() == b"forked\n"
        parent.kill()
        parent.wait()
        with closing(open_store(address)) as store, ThreadPoolExecutor(1) as pool:
            study, _ = store.find("labels")
            found = pool.submit(store.begin, study, 0)
            try:
                assert found.result(30) == []  # a server would let go after 60 seconds
            finally:
                os.killpg(parent.pid, signal.SIGKILL)
                found.result(ENOUGH)
            store.commit(study, [ROW])
    finally:
        parent.stdout.close()


def test_a_study_that_nobody_closed_is_of_no_concern_to_a_fork(tmp_path):
    address = str(tmp_path / "s.db")
    with labels(address) as study:
        gc.freeze()  # it takes long to look through all that is there without this
        abandoned = open_store(address)
        abandoned.begin(abandoned.find("labels")[0], 0)
        del abandoned
        gc.collect()
        gc.unfreeze()
        ids = [*in_child(lambda: decide_elsewhere(address, 1)).split(), *decide(study, 1)]
    check_all_is_there(address, ids)


@pytest.mark.parametrize(
    ("change", "look"),
    [("touched", "ask"), ("touched", "recommend"), ("touched", "list"), ("checkpoint", "ask")],
)
def test_the_children_of_who_is_idle_can_use_a_file_that_another_program_has_changed(
    tmp_path, change, look
):
    address = str(tmp_path / "s.db")
    with labels(address) as study:
        ids = decide(study, 2)
        study.recommend()
        if change == "touched":
            os.utime(address, (0, 0))
        else:
            with closing(sqlite3.connect(address)) as db:
                assert db.execute("PRAGMA wal_checkpoint").fetchone()[1] > 0
        if look == "list":
            assert list_studies(address) == ["labels"]
        elif look == "recommend":
            study.recommend()
        else:
            ids.append(study.ask().id)
            study.tell(ids[-1], 1)
        ids += in_child(lambda: decide_elsewhere(address, 1)).split()
        ids += decide(study, 1)
    check_all_is_there(address, ids)


def test_the_children_of_who_is_idle_are_refused_a_file_that_was_replaced(tmp_path):
    path, elsewhere = tmp_path / "s.db", tmp_path / "copy.db"
    with labels(path) as study:
        backup(path, elsewhere)
        fill(study)
        shutil.copyfile(elsewhere, path)
        said = in_child(lambda: refusals(study, path, tmp_path / "other.db"))
        assert "the file and the -wal beside it do not belong together" in said
        with pytest.raises(StoreError, match="do not belong together"):
            study.ask()
    assert path.read_bytes() == elsewhere.read_bytes()


def test_a_fork_while_a_thread_compiles_can_use_kernels(monkeypatch):
    monkeypatch.setitem(compiler_fork_locks._wait_for_compiler.keywords, "timeout", 0.01)
    monkeypatch.setattr(sys, "unraisablehook", lambda _: None)  # of what is not to be released
    begun, go = threading.Event(), threading.Event()

    def compile_slowly():
        with compiler_fork_locks._compiling:
            begun.set()
            go.wait(ENOUGH)

    with ThreadPoolExecutor(1) as pool:
        pool.submit(compile_slowly)
        begun.wait()
        try:
            assert in_child(lambda: compiler_fork_locks._compiling.acquire(timeout=10)) == "True"
        finally:
            go.set()


@pytest.fixture
def slow(monkeypatch):
    """What a thread does slowly: it goes on once a fork waits for threads that are at work."""
    found, are_others_at_work = Slow(), FORK_LOCK._is_another_thread_busy

    def look():
        are = are_others_at_work()
        if are:
            found.go.set()
        return are

    monkeypatch.setattr(FORK_LOCK, "_is_another_thread_busy", look)
    return found


class Slow:
    """Something that holds a lock until it may go on."""

    def __init__(self):
        self.begun, self.go, self.lock = threading.Event(), threading.Event(), threading.Lock()

    def wait(self):
        self.begun.set()
        assert self.go.wait(ENOUGH)

    def function(self, real):
        def slowly(*args, **given):
            with self.lock:
                self.wait()
                return real(*args, **given)

        return slowly

    def check(self, call, call_in_child):
        """Fork while a thread does it, and do it in the child."""
        with ThreadPoolExecutor(1) as pool:
            at_work = pool.submit(call)
            assert self.begun.wait(ENOUGH)
            try:
                in_child(call_in_child)
            finally:
                self.go.set()
            at_work.result(ENOUGH)


LOCKING = {  # what may take locks that a child would inherit locked, and where a study does so
    "create": (definition, "resolve_facts", lambda study, path: labels(f"{path}.db").close()),
    "open": (
        definition,
        "find_policy",
        lambda study, path: Study.open(study._storage, "labels").close(),
    ),
    "history": (log_export, "format_table", lambda study, path: study.history()),
    "export": (log_export, "write_export", lambda study, path: study.export(path)),
    "restore": (
        log_export,
        "read_export",
        lambda study, path: Study.restore(f"{path}.db", f"{path}.in"),
    ),
    "replay": (log_export, "replay_policy", lambda study, path: study.replay(LSA(), threshold=0.5)),
    "show": (study_summary, "summary_text", lambda study, path: str(study)),
    "close": (group_commit, "make_snapshot", lambda study, path: study.close()),
}


@pytest.mark.parametrize("what", LOCKING)
def test_a_fork_waits_for_locks_that_a_study_takes(what, slow, tmp_path, monkeypatch):
    (place, name, call), path = LOCKING[what], tmp_path / "of the parent"
    with labels(tmp_path / "s.db") as study:
        study.ask()
        for where in (path, tmp_path / "of the child"):
            study.export(f"{where}.in")
        monkeypatch.setattr(place, name, slow.function(getattr(place, name)))

        def child():
            with Study.open(tmp_path / "s.db", "labels") as own:
                own.ask()
                call(own, tmp_path / "of the child")

        slow.check(lambda: call(study, path), child)


def test_a_fork_waits_for_modules_that_a_study_imports(slow, tmp_path, monkeypatch):
    class Finder:
        @staticmethod
        def find_spec(name, *_):
            if name == "keyhole.study.log_export":
                slow.wait()

    with labels(tmp_path / "s.db") as study:
        monkeypatch.setattr(
            keyhole.study, "log_export", log_export
        )  # both are as they were in the end
        monkeypatch.delitem(sys.modules, "keyhole.study.log_export")
        monkeypatch.setattr(sys, "meta_path", [Finder, *sys.meta_path])

        def child():
            with Study.open(tmp_path / "s.db", "labels") as own:
                own.history()

        slow.check(study.history, child)


def test_a_fork_while_a_thread_finds_the_digest_of_a_policy_can_use_policies(
    slow, tmp_path, monkeypatch
):
    find = kernel_compilation.fingerprint
    with labels(tmp_path / "s.db"):

        def slowly(*args, **options):
            if threading.current_thread() is not threading.main_thread():
                slow.wait()
            return find(*args, **options)

        monkeypatch.setattr(kernel_compilation, "fingerprint", slowly)
        slow.check(
            lambda: compiled_policy(LSA).digest,
            lambda: decide_elsewhere(tmp_path / "s.db", 1),
        )


def test_an_operation_that_was_interrupted_before_it_began_holds_no_fork_up(tmp_path):
    """Ctrl-C may come when the lock is taken, and nothing is there yet that would give it back."""
    with labels(tmp_path / "s.db") as study, ThreadPoolExecutor(1) as pool:
        study.recommend()
        kept = []  # as a traceback keeps it; else it would be given back

        def begin():
            kept.append(FORK_LOCK.shared(study._replica))
            kept[-1].__enter__()
            return pool.submit(FORK_LOCK._is_another_thread_busy).result()

        assert begin()
        assert not pool.submit(FORK_LOCK._is_another_thread_busy).result()

        def decide_elsewhere():
            with Study.open(tmp_path / "s.db", "labels") as other:
                other.ask()

        begin()
        in_child(decide_elsewhere)
        begin()
        study.recommend()
        assert study._replica not in FORK_LOCK._operations
        assert len(study.log()) == 1


def test_a_file_that_is_put_where_a_lost_one_was_is_not_refused_to_children(tmp_path):
    """Of the first one a connection is open for ever: closing it would remove a log by its name."""
    path, first = tmp_path / "s.db", tmp_path / "first.db"
    with labels(path) as study:
        study.ask()
        for end in ("", "-wal", "-shm"):
            path.with_name(f"s.db{end}").rename(f"{first}{end}")
        labels(path).close()
        with pytest.raises(StoreError, match="the file was replaced"):
            study.ask()
        assert in_child(lambda: decide_elsewhere(path, 1))
