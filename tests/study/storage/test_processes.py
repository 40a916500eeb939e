"""Several processes, and processes that are killed."""

import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from contextlib import closing
from pathlib import Path

import pytest

from keyhole.study.storage import open_store

WRITER = Path(__file__).with_name("writer.py")


class Writers:
    """Processes that write; what they have said is kept."""

    def __init__(self, address):
        self.process = subprocess.Popen(
            [sys.executable, WRITER, address], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        self.acknowledged = {}
        self.rows = Counter()
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
        elif words[0] != b"dead":
            pid, seq, count = map(int, words)
            assert seq not in self.acknowledged
            self.acknowledged[seq] = (pid, count)
            self.rows[pid] += 1
        return True

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
    # Those that were killed may have written one more, which they had no time to acknowledge.
    assert len(written) - len(writers.acknowledged) <= len(writers.rows)


def test_each_process_has_its_turn(store, study, writers):
    first, second = writers.more(), writers.more()
    while not writers.rows[first] or not writers.rows[second]:
        writers.listen()
    before = Counter(writers.rows)
    while (writers.rows - before).total() < 400:
        writers.listen()
    shares = writers.rows - before
    assert min(shares[first], shares[second]) >= max(shares.values()) / 2
    writers.end()
    check(store, study, writers)


def test_what_was_acknowledged_survives_the_writer(store, study, writers):
    chance = random.Random(16)
    steady = writers.more()
    for _ in range(30):
        victim = writers.more()
        for _ in range(chance.randrange(2, 12)):
            writers.listen()
        busy = chance.random() / 500  # into the midst of the next rows
        until = time.perf_counter() + busy
        while time.perf_counter() < until:
            pass
        writers.kill(victim)
        seen = writers.rows[steady]
        while writers.rows[steady] < seen + 3:  # which the dead does not keep waiting
            assert writers.listen()
    writers.end()
    check(store, study, writers)


def test_many_may_open_a_new_store_at_once(address):
    writers = Writers(address)
    writers.process.stdin.write(b"a\nb\nc\nd\n")
    writers.end()
    with closing(open_store(address)) as store:
        assert sorted(name for name, _ in store.studies()) == list("abcd")
