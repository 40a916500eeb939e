"""Several processes on one store, some of them killed."""

import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from contextlib import closing
from pathlib import Path

import psycopg
import pytest

from keyhole.study.storage import Row, open_store
from tests.study.server import START_TIMEOUT, Server

WRITER = Path(__file__).with_name("writer.py")


class Writers:
    """Processes that write; what they have said is kept."""

    def __init__(self, address):
        self.process = subprocess.Popen(
            [sys.executable, WRITER, address], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        self.acknowledged = {}
        self.rows = Counter()
        self.failures = 0
        self.alive = set()

    def more(self):
        """Let one more write; return its number."""
        self.process.stdin.write(b"labels\n")
        self.process.stdin.flush()
        known = set(self.alive)
        while self.alive == known:
            self.listen()
        return (self.alive - known).pop()

    def listen(self):
        """Listen to one line."""
        words = self.process.stdout.readline().split()
        if not words:
            return False
        if words[0] == b"born":
            self.alive.add(int(words[1]))
        elif words[0] == b"failed":
            self.failures += 1
        elif words[0] != b"dead":
            pid, seq, count = map(int, words)
            assert seq not in self.acknowledged
            self.acknowledged[seq] = (pid, count)
            self.rows[pid] += 1
        return True

    def listen_until(self, several, rows):
        """Listen until each of several has written so many more."""
        wanted = {pid: self.rows[pid] + rows for pid in several}
        while any(self.rows[pid] < wanted[pid] for pid in several):
            assert self.listen()

    def kill(self, pid):
        """Kill a writer."""
        os.kill(pid, signal.SIGKILL)
        self.alive.remove(pid)

    def end(self):
        """Kill all that are left, and listen to what they have said before."""
        if self.process.stdin.closed:
            return
        for pid in list(self.alive):
            self.kill(pid)
        self.process.stdin.close()
        while self.listen():
            pass
        self.process.stdout.close()
        self.process.wait()


@pytest.fixture
def study(store):
    return store.create("labels", b"", 0.0)


@pytest.fixture
def writers(address, study):
    writers = Writers(address)
    yield writers
    writers.end()


def check(store, study, writers):
    """Check that the log has no gaps and holds what was acknowledged, and each row once."""
    rows = list(store.read(study))
    assert [row.seq for row in rows] == list(range(1, len(rows) + 1))
    written = {row.seq: tuple(map(int, row.body.split())) for row in rows}
    assert len(set(written.values())) == len(written)
    assert writers.acknowledged.items() <= written.items()
    # Who was killed, or was not answered, may have written one more.
    assert len(written) - len(writers.acknowledged) <= len(writers.rows) + writers.failures


def find_queue(address, study):
    """Return how many processes wait in a study's queue, as the system or the server says."""
    if address.startswith("postgresql"):
        with psycopg.connect(address) as db:
            sql = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted"
            return db.execute(f"{sql} AND objid = {study}").fetchone()[0]
    if not Path("/proc/locks").exists():
        pytest.skip("looks into /proc")
    file = f":{os.stat(f'{address}-queue').st_ino} "
    lines = Path("/proc/locks").read_text().splitlines()
    return sum("-> FLOCK" in line and file in line for line in lines)


def test_each_process_gets_the_lock(address, store, study, writers):
    # How often each gets the lock depends on the processors; that all wait in the queue does not.
    # Those who try again and again instead may wait for ever.
    store.begin(study, 0)
    both = [writers.more(), writers.more()]
    until = time.monotonic() + START_TIMEOUT
    while find_queue(address, study) < len(both):
        assert time.monotonic() < until, "waited in vain"
        time.sleep(0.01)
    assert not writers.acknowledged
    store.commit(study, [Row(1, 1, None, None, 0.0, b"0 0")])
    writers.acknowledged[1] = (0, 0)
    writers.listen_until(both, 30)
    writers.end()
    check(store, study, writers)
    assert writers.failures == 0


@pytest.mark.parametrize("victims", [3, pytest.param(60, marks=pytest.mark.slow)])
def test_what_was_acknowledged_survives_the_writer(store, study, writers, victims):
    chance = random.Random(16)
    steady = writers.more()
    for _ in range(victims):
        victim = writers.more()
        for _ in range(chance.randrange(2, 12)):
            writers.listen()
        busy = chance.random() / 500  # into the midst of the next rows
        until = time.perf_counter() + busy
        while time.perf_counter() < until:
            pass
        writers.kill(victim)
        writers.listen_until([steady], 3)  # whom the dead does not keep waiting
    writers.end()
    check(store, study, writers)
    assert writers.failures == 0


@pytest.mark.parametrize("kills", [1, pytest.param(10, marks=pytest.mark.slow)])
def test_what_was_acknowledged_survives_the_server(server, database, kills):
    if not isinstance(server, Server):
        pytest.skip("the server is the user's own")
    with closing(open_store(database)) as store:
        study = store.create("labels", b"", 0.0)
    writers = Writers(database)
    several = [writers.more(), writers.more()]
    for _ in range(kills):
        writers.listen_until(several, 5)
        failures = writers.failures
        server.kill()
        server.start()
        while writers.failures == failures:  # they have written rows before that nobody has read
            assert writers.listen()
        writers.listen_until(several, 5)
    writers.end()
    with closing(open_store(database)) as store:
        check(store, study, writers)


def test_many_may_open_a_new_store_at_once(address):
    writers = Writers(address)
    writers.process.stdin.write(b"a\nb\nc\nd\n")
    writers.end()
    with closing(open_store(address)) as store:
        assert sorted(name for name, _ in store.studies()) == list("abcd")
