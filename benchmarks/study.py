"""Studies: what a decision costs that outlives a power cut, and how fast a log is folded.

How many pairs there are a second is a matter of the disk. What the processor spends is not, and on
a busy machine it is best compared with what the database by itself spends on the same rows.
"""

import multiprocessing
import os
import sqlite3
import tempfile
import threading
import time
import tracemalloc
from contextlib import contextmanager
from pathlib import Path
from struct import pack

from benchmarks.measure import Row
from keyhole.study import Study
from keyhole.study import storage as stored
from keyhole.study.decision_ids import new_id
from keyhole.study.events import ASKED, TOLD
from keyhole.study.state import State
from keyhole.thresholding import LSA

ARMS = [f"arm {i}" for i in range(10)]
PROCESSES = 4
SERVER = "KEYHOLE_TEST_POSTGRES"
"""The address of a database in which a schema `keyhole` may be made, and left."""


@contextmanager
def study(address, **given):
    """Begin a study of a name that is new."""
    made = Study.create(address, f"benchmark {time.time_ns()}", LSA(), ARMS, threshold=0.5, **given)
    with made:
        yield made


def pairs(study, count):
    """Ask and tell."""
    for _ in range(count):
        study.tell(study.ask().id, 1.0)


def cost(study, count, repeats):
    """Return the least processor time and the most pairs a second, of several runs."""
    pairs(study, count // 10 + 1)
    used, spent = [], []
    for _ in range(repeats):
        before, began = time.process_time(), time.perf_counter()
        pairs(study, count)
        used.append(time.process_time() - before)
        spent.append(time.perf_counter() - began)
    return min(used) / count * 1e6, count / min(spent)


def bare(path, count, repeats):
    """Return what SQLite by itself needs for the rows of a pair, in two transactions."""
    db = sqlite3.connect(path, isolation_level=None)
    db.execute("PRAGMA synchronous = FULL")
    study, seq, used = time.time_ns(), 0, []
    for _ in range(repeats):
        before = time.process_time()
        for i in range(2 * count):
            db.execute("BEGIN IMMEDIATE")
            db.execute("SELECT body FROM event WHERE study = ? AND seq >= ?", (study, seq))
            seq += 1
            event = (study, seq, ASKED, f"{i // 2:026}", None, 1.0, b"x" * 40, b"d" * 16)
            db.execute("INSERT INTO event VALUES (?, ?, ?, ?, ?, ?, ?, ?)", event)
            db.execute("REPLACE INTO tail VALUES (?, ?)", (study, seq))
            db.execute("COMMIT")
        used.append(time.process_time() - before)
    db.close()
    return min(used) / count * 1e6


def from_threads(study, threads, count):
    """Return how many pairs a second come from so many threads."""
    each = max(1, count // threads)
    workers = [threading.Thread(target=pairs, args=(study, each)) for _ in range(threads)]
    began = time.perf_counter()
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    return threads * each / (time.perf_counter() - began)


def one_process(address, name, seconds, ready, go, found):
    """Ask and tell for some seconds."""
    with Study.open(address, name) as here:
        pairs(here, 1)
        ready.release()
        go.wait()
        done, until = 0, time.perf_counter() + seconds
        while done == 0 or time.perf_counter() < until:
            pairs(here, 1)
            done += 1
        found.put(done)


def from_processes(study, address, processes, seconds):
    """Return how many pairs a second come from so many processes, and the least share of one."""
    kind = multiprocessing.get_context("spawn")
    ready, go, found = kind.Semaphore(0), kind.Event(), kind.Queue()
    given = (address, study.name, seconds, ready, go, found)
    workers = [kind.Process(target=one_process, args=given) for _ in range(processes)]
    for worker in workers:
        worker.start()
    for _ in workers:
        ready.acquire()
    go.set()
    done = [found.get() for _ in workers]
    for worker in workers:
        worker.join()
    return sum(done) / seconds, min(done) / max(done)


def logged(study, count):
    """Return a log of so many events, each decision told at once."""
    study.tell(study.ask().id, 1.0)
    asked, told = study.log()
    for i in range(count // 2):
        id, at = new_id(1.7e9 + i), 1.7e9 + i
        yield stored.Row(2 * i + 1, ASKED, id, None, at, pack("<d", i + 1) + asked.body[8:])
        yield stored.Row(2 * i + 2, TOLD, id, None, at, told.body)


def time_replay(address, size):
    """Time the replay of a long log, and its opening without and with a snapshot."""
    events = 2 * size.horizon * max(1, size.replications // 10)
    with study(address, durability="process_crash") as small:
        rows = list(logged(small, events))
        store = stored.open_store(address, durability="process_crash")
        number = store.create("long", small._writer.definition_bytes, 1.0)
        for at in range(0, len(rows), 50_000):
            store.begin(number, at)
            store.commit(number, rows[at : at + 50_000])
        store.close()
        before = time.process_time()
        State(small.definition).apply_all(rows)
        value = time.process_time() - before
    yield Row(f"study: fold {events:,} events", value, "s", "below 1", value < 1)
    for what, target in (("their log", None), ("a snapshot", 0.1)):
        before = time.process_time()
        with Study.open(address, "long", durability="process_crash") as long:
            long.ask()
            value = time.process_time() - before
        goal, met = ("", None) if target is None else (f"below {target:g}", value < target)
        yield Row(f"study: open them from {what}", value, "s", goal, met)


def open_decisions(address, size):
    """Count the bytes of pending decisions."""
    with study(address, durability="process_crash") as here:
        pairs(here, 10)
        tracemalloc.start()
        before, count = tracemalloc.get_traced_memory()[0], 10 * size.horizon
        for _ in range(count):
            here.ask()
        value = (tracemalloc.get_traced_memory()[0] - before) / count
        tracemalloc.stop()
    yield Row("study: a decision in flight", value, "bytes", "at most 300", value <= 300)


def many_arms(folder, size):
    """Time arms that come and go, each as a ratio to what it must not depend on much."""
    few, many = 300 * size.repeats, 3000 * size.repeats
    took = {count: adding(f"{folder}/{count}.db", count, size.repeats) for count in (few, many)}
    value = took[many] / took[few]
    name = f"study: add an arm and ask, {many:,} arms / {few:,}"
    yield Row(name, value, "", "at most 20", value <= 20)
    took = {
        retired: telling_beside(f"{folder}/{retired}.db", few, retired, size.repeats)
        for retired in (0, 1)
    }
    value = took[1] / took[0]
    name = f"study: ask + tell, {few:,} pending, one arm retired / none"
    yield Row(name, value, "", "at most 3", value <= 3)


def begun(address, arms):
    """Begin a study of so many arms that asks and is told."""
    names = [f"arm {i}" for i in range(arms)]
    study = Study.create(address, "arms", LSA(), names, threshold=0.5, durability="process_crash")
    pairs(study, 2)
    return study


def adding(address, arms, repeats):
    """Return the least time in which an arm is added and a decision taken."""
    used = []
    with begun(address, arms) as study:
        for i in range(repeats):
            before = time.process_time()
            study.add_arm(f"new {i}")
            study.ask()
            used.append(time.process_time() - before)
    return min(used)


def telling_beside(address, pending, retired, repeats):
    """Return the least time of a pair beside pending decisions, with some arms retired."""
    used = []
    with begun(address, 100) as study:
        for _ in range(pending):
            study.ask()
        for i in range(retired):
            study.retire(f"arm {i}")
        for _ in range(repeats):
            before = time.process_time()
            pairs(study, 10)
            used.append(time.process_time() - before)
    return min(used)


def database(name, address, size, targets):
    """Time one database, a line a target: cost of a pair, pairs of threads, of processes."""
    count, repeats = 2 * size.horizon, size.repeats
    most, threads, processes = targets
    with study(address) as here:
        used, rate = cost(here, count, repeats)
        target = "" if most is None else f"at most {most}"
        met = None if most is None else used <= most
        yield Row(f"{name}: ask + tell, processor", used, "us", target, met)
        yield Row(f"{name}: ask + tell", rate, "pairs/s", "10,000 where the disk allows")
        value = max(from_threads(here, 32, 8 * count) for _ in range(max(2, repeats // 2)))
        yield Row(f"{name}: 32 threads", value, "pairs/s", f"{threads:,}", value >= threads)
        value, share = from_processes(here, address, PROCESSES, size.horizon / 300)
        yield Row(
            f"{name}: {PROCESSES} processes", value, "pairs/s", f"{processes:,}", value >= processes
        )
        yield Row(f"{name}: the slowest of them / the fastest", share, "", "0.5", share >= 0.5)


def rows(size):
    """Yield all lines of studies."""
    with tempfile.TemporaryDirectory() as folder:
        address = str(Path(folder) / "studies.db")
        yield from database("SQLite", address, size, (50, 20_000, 5_000))
        value = bare(address, 2 * size.horizon, size.repeats)
        yield Row("SQLite: by itself, two rows, processor", value, "us")
        with study(address, durability="process_crash") as here:
            used, rate = cost(here, 2 * size.horizon, size.repeats)
        yield Row("SQLite, not flushed: ask + tell, processor", used, "us")
        yield Row("SQLite, not flushed: ask + tell", rate, "pairs/s")
        yield from time_replay(address, size)
        yield from open_decisions(address, size)
        yield from many_arms(folder, size)
    if os.environ.get(SERVER):
        yield from database("PostgreSQL", os.environ[SERVER], size, (None, 12_000, 1_000))
