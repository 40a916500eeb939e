"""Processes come, work, fork, close and are killed: nothing that was answered is lost."""

import os
import random
import select
import signal
import sqlite3
import subprocess
import sys
import time
from collections import Counter
from contextlib import closing, suppress
from pathlib import Path

import pytest

from keyhole.study import Study
from keyhole.study.storage import open_store
from tests.study.campaign import reward_of
from tests.study.studies import check_rebuilt_states_agree, labels

SCRIPT = Path(__file__).with_name("campaign.py")
ENOUGH = 300  # seconds in which nothing more is answered: somebody hangs
WORKERS = 3

pytestmark = [
    pytest.mark.skipif(not hasattr(os, "fork"), reason="the system has no fork"),
    pytest.mark.timeout(4 * ENOUGH),  # who hangs is found before, and says where
]


class Journals:
    """What was answered, as far as it was written down to its end."""

    def __init__(self, folder):
        self.folder, self.lines, self._read = folder, [], Counter()

    def read(self):
        """Read what is new; return how many lines there are."""
        for journal in self.folder.glob("journal-*"):
            with journal.open("rb") as file:
                file.seek(self._read[journal])
                new = file.read()
            whole = new[: new.rfind(b"\n") + 1]
            self._read[journal] += len(whole)
            self.lines += [line.split(" ", 1) for line in whole.decode().splitlines()]
        return len(self.lines)

    def wait(self, more):
        """Wait until so many more lines are there."""
        wanted, last, since = self.read() + more, 0, time.monotonic()
        while (found := self.read()) < wanted:
            if found > last:
                last, since = found, time.monotonic()
            assert time.monotonic() - since < ENOUGH, "nothing gets on"
            time.sleep(0.01)

    def of(self, word):
        """Return what was said with a word."""
        return [rest for first, rest in self.lines if first == word]


def campaign(address, folder, kills):
    """Kill workers at random; return the journals."""
    chance, journals = random.Random(kills), Journals(folder)
    first = subprocess.Popen(
        [sys.executable, "-W", "ignore", SCRIPT, address, folder],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )

    def begin(seed):
        print(seed, file=first.stdin, flush=True)
        return int(first.stdout.readline().split()[1])

    try:
        workers = [begin(n) for n in range(WORKERS)]
        for kill in range(kills):
            journals.wait(chance.randrange(4, 40))
            time.sleep(chance.random() * 0.02)  # into the midst of something
            place = chance.randrange(WORKERS)
            os.kill(workers[place], signal.SIGKILL)
            workers[place] = begin(WORKERS + kill)
        journals.wait(20)
        for pid in workers:
            os.kill(pid, signal.SIGKILL)
        first.stdin.close()
        assert first.wait(ENOUGH) == 0  # it ends as programs do
        check_nobody_is_left(first)
    except (AssertionError, subprocess.TimeoutExpired) as error:
        error.add_note(tracebacks(first, folder))
        raise
    finally:
        end(first)
    journals.read()
    return journals


def wait_for_the_dead(address):
    """Wait until what was begun is committed: a server goes on when its client has died."""
    with closing(open_store(address)) as store:
        store.begin(store.find("labels")[0], 0)
        store.rollback()


def check_nobody_is_left(first):
    """Wait for the children of those that were killed: each ends by itself."""
    # All of them have inherited the pipe, which ends with the last of them.
    ended, _, _ = select.select([first.stdout], [], [], ENOUGH)
    assert ended, "somebody hangs whose parent is gone"
    assert first.stdout.read() == ""


def end(first):
    """End all processes of a campaign."""
    with suppress(ProcessLookupError):  # nobody is left
        os.killpg(first.pid, signal.SIGKILL)
    first.wait()
    first.stdout.close()


def tracebacks(first, folder):
    """Return where all processes of a campaign are."""
    with suppress(ProcessLookupError):
        os.killpg(first.pid, signal.SIGUSR1)
    found, until = folder / "tracebacks", time.monotonic() + 30
    while not found.read_text() and time.monotonic() < until:
        time.sleep(0.01)
    time.sleep(1)  # for those that write more slowly
    return found.read_text()


def check(address, journals):
    """Compare the log with what was answered, and with a plain model of what it says."""
    assert journals.of("wrong") == []
    wait_for_the_dead(address)
    with Study.open(address, "labels") as study:
        log, events = study.log(), study.history().to_pylist()
        assert [row.seq for row in log] == list(range(1, len(log) + 1))
        arms, asked, pending, told, expired = ["a", "b", "c"], {}, {}, set(), set()
        for event in events:
            what, id = event["event"], event["decision"]
            if what == "asked":
                assert id not in asked
                assert event["arm"] in arms
                asked[id] = pending[id] = event["arm"]
            elif what in ("told", "told late"):
                assert id not in told
                assert event["reward"] == reward_of(id)
                assert (id in pending) == (what == "told")
                told.add(id)
                pending.pop(id, None)
            elif what == "expired":
                expired.add(id)
                del pending[id]
            elif what == "arm added":
                arms.append(event["arm"])
            else:
                assert what == "arm retired"
                arms.remove(event["arm"])
        handed_out = [words.split(" ", 1) for words in journals.of("asked")]
        assert max(Counter(id for id, _ in handed_out).values()) == 1
        assert {id: arm for id, arm in handed_out}.items() <= asked.items()
        assert set(journals.of("told")) <= told
        assert set(journals.of("expired")) <= expired
        names = {event["arm"] for event in events if event["event"] == "arm added"}
        assert set(journals.of("retired")) <= set(journals.of("added")) <= names
        assert study.arms == tuple(arms)
        assert [decision.id for decision in study.pending] == list(pending)
        check_rebuilt_states_agree(study)
    if not address.startswith("postgresql"):
        with closing(sqlite3.connect(address)) as db:
            assert db.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    return len(handed_out)


@pytest.fixture
def folder(tmp_path):
    made = tmp_path / "journals"
    made.mkdir()
    return made


@pytest.mark.parametrize(
    ("address", "kills"), [("sqlite", 6), ("postgres", 2)], indirect=["address"]
)
def test_nothing_is_lost_when_processes_come_fork_close_and_are_killed(address, kills, folder):
    labels(address).close()
    assert check(address, campaign(address, folder, kills)) >= 2 * kills


@pytest.mark.slow
@pytest.mark.parametrize(
    ("address", "kills"), [("sqlite", 300), ("postgres", 100)], indirect=["address"]
)
def test_nothing_is_lost_in_a_long_campaign(address, kills, folder):
    labels(address).close()
    assert check(address, campaign(address, folder, kills)) >= 2 * kills


HANGING = """
import faulthandler, os, signal, sys, time
def hang():
    os.write(begun, b"!")
    time.sleep(600)
faulthandler.register(signal.SIGUSR1, open(sys.argv[1], "a"))
wait, begun = os.pipe()
if not os.fork():
    hang()
os.read(wait, 1)
"""


def test_a_campaign_fails_on_children_that_hang_and_says_where(folder, monkeypatch):
    monkeypatch.setattr(sys.modules[__name__], "ENOUGH", 0.01)
    first = subprocess.Popen(
        [sys.executable, "-W", "ignore", "-c", HANGING, folder / "tracebacks"],
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        assert first.wait() == 0
        with pytest.raises(AssertionError, match="somebody hangs"):
            check_nobody_is_left(first)
        assert "in hang" in tracebacks(first, folder)
    finally:
        end(first)
