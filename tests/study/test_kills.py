"""Nothing that was acknowledged is lost when the server is killed; processes: `test_campaign`."""

import multiprocessing
import os
import random
import signal
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from keyhole.study import Study
from keyhole.study.events import ASKED, TOLD
from keyhole.study.storage import StoreError, open_store
from tests.study.studies import check_rebuilt_states_agree, labels

WORKERS = 3


def acknowledged(folder):
    """Return the lines of all journals that were written to their end."""
    return [
        line.split()
        for journal in sorted(folder.glob("journal-*"))
        for line in journal.read_text().splitlines(keepends=True)
        if line.endswith("\n")
    ]


def check_nothing_is_lost(address, folder):
    """Compare the log with what was acknowledged; return how much that was."""
    said = acknowledged(folder)
    with Study.open(address, "labels") as study:
        log = study.log()
        assert [row.seq for row in log] == list(range(1, len(log) + 1))
        asked = [row.decision for row in log if row.kind == ASKED]
        told = {row.decision: row.body for row in log if row.kind == TOLD}
        handed_out = [words[1] for words in said if words[0] == "asked"]
        assert max(Counter(asked).values()) == 1
        assert max(Counter(handed_out).values()) == 1
        assert set(handed_out) <= set(asked)
        formatter = {row["decision"]: row["reward"] for row in study.history().to_pylist()
                  if row["event"] == "told"}  # fmt: skip
        for words in said:
            if words[0] == "told":
                assert formatter[words[1]] == float(words[2])
        assert len(told) == len(formatter)
        check_rebuilt_states_agree(study)
    return len(said)


def until(folder, lines):
    """Wait until so much was acknowledged."""
    deadline = time.monotonic() + 600
    while len(acknowledged(folder)) < lines:
        assert time.monotonic() < deadline, "nothing gets on"
        time.sleep(0.01)


@pytest.fixture
def folder(tmp_path):
    made = tmp_path / "journals"
    made.mkdir()
    return made


def kill_the_server(server, address, folder, kills):
    if not hasattr(server, "kill"):
        pytest.skip("the server is the user's own")
    labels(address).close()
    stop, rng = threading.Event(), random.Random(kills)
    threads = [
        threading.Thread(target=work_here, args=(address, folder / f"journal-{n}", n, stop))
        for n in range(WORKERS)
    ]
    for thread in threads:
        thread.start()
    try:
        done = 0
        for _ in range(kills):
            until(folder, done + 10)
            time.sleep(rng.random() * 0.05)
            server.kill()
            done = len(acknowledged(folder))
            server.start()
        until(folder, done + 10)
    finally:
        stop.set()
        for thread in threads:
            thread.join()
    assert check_nothing_is_lost(address, folder) >= 10 * (kills + 1)


def work_here(address, journal, seed, stop):
    """Ask and tell until told to stop, and write down what was acknowledged, once it was."""
    rng, mine = random.Random(seed), []
    study = None
    with Path(journal).open("a", buffering=1) as file:
        while not stop.is_set():
            try:
                study = study or Study.open(address, "labels")
                if len(mine) < 3:
                    mine.append(study.ask().id)
                    file.write(f"asked {mine[-1]}\n")
                else:
                    id, reward = mine[0], rng.randrange(2)
                    study.tell(id, reward)
                    mine.pop(0)
                    file.write(f"told {id} {reward}\n")
            except StoreError:
                time.sleep(0.01)
            except ValueError as error:  # it was told, but the answer was lost
                assert "before" in str(error)  # noqa: PT017
                mine.pop(0)
    study.close()


def test_nothing_is_lost_when_the_server_is_killed(server, database, folder):
    kill_the_server(server, database, folder, 1)


@pytest.mark.slow
def test_nothing_is_lost_when_the_server_is_killed_20_times(server, database, folder):
    kill_the_server(server, database, folder, 20)


def stop_in_my_turn(address):
    """Take the lock of the study, and be stopped as by `kill -STOP`."""
    store = open_store(address)
    store.begin(store.find("labels")[0], 0)
    os.kill(os.getpid(), signal.SIGSTOP)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system has no fork")
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
def test_a_writer_that_is_stopped_blocks_no_reader_and_nobody_once_it_is_gone(address):
    with labels(address) as study:
        study.ask()
        fork = multiprocessing.get_context("fork")
        stopped = fork.Process(target=stop_in_my_turn, args=(address,), daemon=True)
        stopped.start()
        os.waitid(os.P_PID, stopped.pid, os.WSTOPPED | os.WNOWAIT)
        assert len(study.pending) == 1
        with ThreadPoolExecutor(1) as pool:
            asked = pool.submit(study.ask)
            stopped.kill()
            assert asked.result(60).arm == "b"
        stopped.join()
