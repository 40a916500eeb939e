"""Group commit: threads, processes, interrupts and failures."""

import os
import sqlite3
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

import pytest

from keyhole.study import DifferentFeedbackError, Study, UnknownDecisionError, group_commit
from keyhole.study.events import ASKED, TOLD
from keyhole.study.storage import StoreError
from keyhole.thresholding import APT
from tests.processes import Forked
from tests.study.studies import Clock, check_rebuilt_states_agree, labels, state_of


def work(study, rounds, seed=0):
    """Ask and tell; return what was handed out."""
    mine = []
    for i in range(rounds):
        decision = study.ask()
        study.tell(decision.id, (i + seed) % 2)
        mine.append(decision.id)
    return mine


WORK_ELSEWHERE = """
import sys
from keyhole.study import Study
with Study.open(sys.argv[1], "labels") as study:
    for i in range(25):
        decision = study.ask()
        study.tell(decision.id, i % 2)
        print(decision.id)
"""


def check_all_is_there(study, ids):
    """Check that each was handed out once and told once, and nothing else happened."""
    assert len(set(ids)) == len(ids)
    for kind in (ASKED, TOLD):
        rows = [row.decision for row in study.log() if row.kind == kind]
        assert sorted(rows) == sorted(ids)
    check_rebuilt_states_agree(study)


def test_threads_share_a_study(address):
    with labels(address) as study:
        with ThreadPoolExecutor(32) as pool:
            ids = [id for found in pool.map(lambda n: work(study, 6, n), range(32)) for id in found]
        check_all_is_there(study, ids)


def test_processes_share_a_study(address, tmp_path):
    with labels(address) as study:
        with Forked("-c", WORK_ELSEWHERE, address, cwd=tmp_path) as other:
            ids = work(study, 25)
            done = other.finish()
        assert done.returncode == 0, done.stderr
        check_all_is_there(study, [*ids, *done.stdout.split()])


def test_two_studies_of_one_database_see_each_other(address):
    with labels(address) as study, Study.open(address, "labels") as other:
        first, second = study.ask(), other.ask()
        assert (first.arm, second.arm) == ("a", "b")
        other.tell(first.id, 1)
        study.tell(first.id, 1)
        with pytest.raises(DifferentFeedbackError):
            study.tell(first.id, 0)
        assert other.ask(key="k") == study.ask(key="k")
        study.add_arm("d")
        assert other.arms == ("a", "b", "c", "d")
        other.change_policy(APT(epsilon=0.1))
        assert repr(study.policy) == "APT(epsilon=0.1)"
        assert study.recommend() == other.recommend()
        check_rebuilt_states_agree(study)
        check_rebuilt_states_agree(other)


def test_the_same_told_by_many_at_once_is_told_once(tmp_path):
    with labels(tmp_path / "s.db") as study:
        ids = [study.ask().id for _ in range(5)]
        with ThreadPoolExecutor(16) as pool:
            list(pool.map(lambda i: study.tell(ids[i % 5], 1), range(80)))
        check_all_is_there(study, ids)


def test_told_differently_at_once_one_is_recorded(tmp_path):
    with labels(tmp_path / "s.db") as study:
        id = study.ask().id

        def tell(reward):
            try:
                study.tell(id, reward / 15)
            except DifferentFeedbackError:
                return 0
            return 1

        with ThreadPoolExecutor(16) as pool:
            assert sum(pool.map(tell, range(16))) == 1
        check_all_is_there(study, [id])


def test_one_key_asked_by_many_at_once_is_one_decision(tmp_path):
    with labels(tmp_path / "s.db") as study:
        with ThreadPoolExecutor(16) as pool:
            found = set(pool.map(lambda _: study.ask(key="k").id, range(64)))
        assert len(found) == 1
        assert len(study.log()) == 1


class Gate:
    """Holds up the first transaction, so that all others wait and are one group."""

    def __init__(self, study, others):
        self.study, self.others = study, others
        self.entered, self.go = threading.Event(), threading.Event()

    def __call__(self):
        """Let all others queue behind the first, then serve them."""

        def hold(_):
            self.entered.set()
            self.go.wait()

        with ThreadPoolExecutor(1 + len(self.others)) as pool:
            first = pool.submit(self.study._writer.submit, hold)
            self.entered.wait()
            waiting = []
            for i, other in enumerate(self.others):
                waiting.append(pool.submit(other))
                while len(self.study._writer._waiting) < i + 1:
                    pass
            self.go.set()
            first.exception()
        return waiting


def served(study, *calls):
    """Serve calls as one group, in their order; return what becomes of each.

    The thread that is held up takes what waits by then with it.
    """
    return Gate(study, calls)()


def test_a_refusal_harms_nobody_else_in_the_group(tmp_path):
    with labels(tmp_path / "s.db") as study:
        found = served(
            study, study.ask, lambda: study.tell("nope", 1), study.ask, lambda: study.add_arm("a")
        )
        assert [f.result().arm for f in (found[0], found[2])] == ["a", "b"]
        assert type(found[1].exception()) is UnknownDecisionError
        assert type(found[3].exception()) is ValueError
        check_rebuilt_states_agree(study)


def test_who_asks_after_a_change_of_policy_is_answered_by_the_new_one(tmp_path):
    with labels(tmp_path / "s.db") as study:
        for reward in (1, 0, 0, 1, 1):
            study.tell(study.ask().id, reward)
        found = served(
            study, study.ask, lambda: study.change_policy(APT(epsilon=0.1)), study.ask, study.ask
        )
        assert [f.exception() for f in found] == [None] * 4
        check_rebuilt_states_agree(study)
        log = study.log()
        fresh = Study.open(tmp_path / "s.db", "labels")
        change = next(row.seq for row in log if row.kind == 10)
        assert [row.seq for row in log] == list(range(1, 15))
        replay = fresh.replay(APT(epsilon=0.1)).decisions.to_pylist()
        assert all(row["asked"] == row["would_ask"] for row in replay[-2:])
        assert change == 12
        fresh.close()


def full(*_):
    raise sqlite3.OperationalError("database or disk is full")


def test_after_a_commit_that_failed_all_is_as_before(tmp_path, monkeypatch):
    with labels(tmp_path / "s.db") as study:
        first = study.ask()
        with monkeypatch.context() as patch:
            patch.setattr(study._writer.store, "_add_rows", full)
            for call in (study.ask, lambda: study.tell(first.id, 1), lambda: study.add_arm("d")):
                with pytest.raises(StoreError, match="database or disk is full"):
                    call()
            found = served(study, study.ask, study.ask, lambda: study.tell(first.id, 1))
            assert all(type(f.exception()) is StoreError for f in found)
        assert len(study.log()) == 1
        assert study.ask().arm == "b"
        study.tell(first.id, 1)
        check_rebuilt_states_agree(study)


def test_a_full_disk_leaves_a_study_as_it_was(tmp_path):
    with labels(tmp_path / "s.db") as study:
        first = study.ask()
        db = study._writer.store._db
        (pages,) = db.execute("PRAGMA page_count").fetchone()
        db.execute(f"PRAGMA max_page_count = {pages}")
        done = 0
        with pytest.raises(StoreError, match="full; make room on the disk"):  # noqa: PT012
            while study.ask():
                done += 1
        # The connection was made anew, and with it there is room again.
        assert len(study.log()) == 1 + done
        study.tell(first.id, 1)
        study.ask()
        check_rebuilt_states_agree(study)


def test_a_lock_that_is_lost_while_a_group_is_served_fails_it_whole(tmp_path, monkeypatch):
    with labels(tmp_path / "s.db") as study:
        study.ask()

        def lose(*_):
            raise sqlite3.OperationalError("disk I/O error")

        with monkeypatch.context() as patch:
            patch.setattr(study._writer.store, "_query", lose)
            with pytest.raises(StoreError, match="disk I/O error"):
                study.ask(key="k")
        assert study.ask().arm == "b"
        assert len(study.log()) == 2
        check_rebuilt_states_agree(study)


def test_a_driver_that_fails_otherwise_ends_with_one_clear_error(tmp_path, monkeypatch):
    """Such as an encoding that a driver does not know; the transaction went on without the lock."""
    with labels(tmp_path / "s.db") as study:
        study.ask()

        def lose(*_):
            raise UnicodeEncodeError("latin-1", "k", 0, 1, "ordinal not in range")

        with monkeypatch.context() as patch:
            patch.setattr(study._writer.store, "_query", lose)
            found = served(study, study.ask, lambda: study.ask(key="k"))
        for one in found:
            assert type(one.exception()) is StoreError
            assert "the database driver failed (UnicodeEncodeError" in str(one.exception())
        assert study.ask().arm == "b"
        check_rebuilt_states_agree(study)


def test_an_interrupted_thread_leaves_a_study_that_works(tmp_path, monkeypatch):
    with labels(tmp_path / "s.db") as study:

        def interrupted(*_):
            raise KeyboardInterrupt

        with monkeypatch.context() as patch:
            patch.setattr(study._writer.store, "_add_rows", interrupted)
            with pytest.raises(KeyboardInterrupt):
                study.ask()
        assert study.ask().arm == "a"
        assert len(study.log()) == 1
        assert not study._writer._waiting
        check_rebuilt_states_agree(study)


class Interruption:
    """Raises `KeyboardInterrupt` before the n-th line of `group_commit` in this thread."""

    def __init__(self, n):
        self.left, self.where = n, ""

    def __enter__(self):
        sys.settrace(self.trace)

    def __exit__(self, *_):
        sys.settrace(None)

    def trace(self, frame, event, _):
        if frame.f_code.co_filename != group_commit.__file__:
            return None
        if event == "line":
            self.left -= 1
            if self.left == 0:
                self.where = f"{frame.f_code.co_name}, line {frame.f_lineno}"
                raise KeyboardInterrupt
        return self.trace


class Crowd:
    """Threads that ask and tell; two of them wait when a transaction first begins."""

    def __init__(self, study, monkeypatch):
        self.study, self.known = study, []
        self.begin = study._writer.store.begin
        monkeypatch.setattr(study._writer.store, "begin", self.begin_among_others)
        self.threads = []

    def work(self):
        left = 2
        while left:
            with suppress(StoreError):  # whoever led was interrupted
                id = self.study.ask().id
                self.known.append(id)
                left -= 1
                self.study.tell(id, 1)

    def start(self):
        waiting = self.study._writer._waiting
        for _ in range(2):
            before = len(waiting)
            self.threads.append(threading.Thread(target=self.work, daemon=True))
            self.threads[-1].start()
            while len(waiting) == before:
                pass

    def begin_among_others(self, *study):
        if not self.threads:
            tracer = sys.gettrace()
            sys.settrace(None)
            self.start()
            sys.settrace(tracer)
        return self.begin(*study)

    def end(self):
        for _ in range(2 - len(self.threads)):
            self.threads.append(threading.Thread(target=self.work, daemon=True))
            self.threads[-1].start()
        for thread in self.threads:
            thread.join(60)
            if thread.is_alive():
                return False
        return True


def test_a_leader_that_is_interrupted_anywhere_holds_nobody_up(tmp_path, monkeypatch):
    monkeypatch.setattr(group_commit, "_POLL_INTERVAL", 0.05)
    with labels(tmp_path / "s.db") as study:
        check_interruptions(study, monkeypatch)


def check_interruptions(study, monkeypatch):
    known, n, reached = [], 0, True
    while reached:
        n += 1
        with monkeypatch.context() as patch:
            crowd = Crowd(study, patch)
            interruption = Interruption(n)
            with suppress(KeyboardInterrupt), interruption:
                known.append(study.ask().id)
            reached = bool(interruption.where)
            assert crowd.end(), interruption.where
        known += crowd.known
        assert len(crowd.known) == 4, interruption.where
        assert not study._writer._leader, interruption.where
        study.tell(study.ask().id, 1)
    assert n > 50
    assert set(known) <= {row.decision for row in study.log()}
    check_rebuilt_states_agree(study)


def test_a_policy_that_fails_leaves_a_study_that_works(tmp_path, monkeypatch):
    with labels(tmp_path / "s.db") as study:
        study.ask()
        with monkeypatch.context() as patch:
            patch.setattr("keyhole.study.state.PolicyState._run_kernel", lambda *_: 0)
            with pytest.raises(ValueError, match="took a decision that the setting does not allow"):
                study.ask()
            assert study._writer._state is None  # it is ahead of the log
        assert study.ask().arm == "b"
        check_rebuilt_states_agree(study)


def test_an_operation_that_fails_half_way_writes_nothing(tmp_path, monkeypatch):
    clock = Clock()
    with labels(tmp_path / "s.db", timeout=10, clock=clock) as study:
        first = study.ask()
        clock.now += 11
        with monkeypatch.context() as patch:
            patch.setattr("keyhole.study.state.PolicyState._run_kernel", lambda *_: 0)
            with pytest.raises(ValueError, match="took a decision that the setting does not allow"):
                study.ask()  # once `first` has expired
        assert len(study.log()) == 1
        assert study.pending == [first]
        check_rebuilt_states_agree(study)


def test_a_clock_that_fails_harms_only_while_it_does(tmp_path):
    clock = Clock()
    with labels(tmp_path / "s.db", clock=clock) as study:
        for now in (float("nan"), -1.0, 1e300, float("inf")):
            clock.now = now
            with pytest.raises(ValueError, match="clock must return the seconds since 1970, got"):
                study.ask()
        clock.now = 5.0
        study.ask()
        check_rebuilt_states_agree(study)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system has no fork")
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
def test_a_fork_opens_a_study_again(tmp_path):
    with labels(tmp_path / "s.db") as study:
        study.ask()
        child = os.fork()
        if child == 0:
            code = 1
            try:
                for call in (study.ask, study.log):
                    with pytest.raises(RuntimeError, match="opened by another process"):
                        call()
                study.close()
                with Study.open(tmp_path / "s.db", "labels") as own:
                    own.ask()
                code = 0
            finally:
                os._exit(code)
        assert os.waitpid(child, 0)[1] == 0
        study.ask()
        assert state_of(study).rounds == 3
        check_rebuilt_states_agree(study)


def test_a_log_that_has_become_shorter_is_accepted_when_it_is_opened_again(tmp_path):
    with labels(tmp_path / "s.db") as study:
        for _ in range(4):
            study.ask()
        with sqlite3.connect(tmp_path / "s.db") as db:
            db.execute("DELETE FROM event WHERE seq > 2")
            db.execute("UPDATE tail SET seq = 2")  # as in an older copy
        db.close()
        with pytest.raises(StoreError, match="event 4 of study 1 had been read and is missing"):
            study.ask()
        for call in (study.ask, study.recommend):
            with pytest.raises(StoreError, match="open the study again"):
                call()
        with Study.open(tmp_path / "s.db", "labels") as again:
            assert again.ask().round == 3
            check_rebuilt_states_agree(again)
