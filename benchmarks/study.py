"""Studies: rate and CPU time of durable decisions, replay of a log, memory, and many arms.

The rate of pairs of ask and tell depends on the disk. Their CPU time does not, and is best compared
with that of the database alone for the same rows.
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
from keyhole.study.events import ASKED, TOLD
from keyhole.study.operations import new_id
from keyhole.study.state import State
from keyhole.thresholding import LSA

ARMS = [f"arm {i}" for i in range(10)]
PROCESSES = 4
SERVER = "KEYHOLE_TEST_POSTGRES"
"""Environment variable with the address of a database in which a schema `keyhole` is created."""


@contextmanager
def study(address, **given):
    """Create a study with a new name."""
    made = Study.create(address, f"benchmark {time.time_ns()}", LSA(), ARMS, threshold=0.5, **given)
    with made:
        yield made


def pairs(study, count):
    """Ask and tell a number of times."""
    for _ in range(count):
        study.tell(study.ask().id, 1.0)


def time_pairs(study, count, repeats):
    """Return the smallest CPU time per pair and the largest rate of pairs, over repetitions."""
    pairs(study, count // 10 + 1)
    used, spent = [], []
    for _ in range(repeats):
        before, began = time.process_time(), time.perf_counter()
        pairs(study, count)
        used.append(time.process_time() - before)
        spent.append(time.perf_counter() - began)
    return min(used) / count * 1e6, count / min(spent)


def time_sqlite(path, count, repeats):
    """Return the CPU time of SQLite alone for the rows of a pair, in two transactions."""
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


def rate_of_threads(study, threads, count):
    """Return the rate of pairs per second with a number of threads."""
    each = max(1, count // threads)
    workers = [threading.Thread(target=pairs, args=(study, each)) for _ in range(threads)]
    began = time.perf_counter()
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    return threads * each / (time.perf_counter() - began)


def run_process(address, name, seconds, ready, go, found):
    """Ask and tell for a number of seconds, and report the number of pairs."""
    with Study.open(address, name) as here:
        pairs(here, 1)
        ready.release()
        go.wait()
        done, until = 0, time.perf_counter() + seconds
        while done == 0 or time.perf_counter() < until:
            pairs(here, 1)
            done += 1
        found.put(done)


def rate_of_processes(study, address, processes, seconds):
    """Return the rate of pairs with several processes, and the slowest over the fastest."""
    kind = multiprocessing.get_context("spawn")
    ready, go, found = kind.Semaphore(0), kind.Event(), kind.Queue()
    given = (address, study.name, seconds, ready, go, found)
    workers = [kind.Process(target=run_process, args=given) for _ in range(processes)]
    for worker in workers:
        worker.start()
    for _ in workers:
        ready.acquire()
    go.set()
    done = [found.get() for _ in workers]
    for worker in workers:
        worker.join()
    return sum(done) / seconds, min(done) / max(done)


def make_log(study, count):
    """Yield a log of `count` events, with the feedback right after each decision."""
    study.tell(study.ask().id, 1.0)
    asked, told = study.log()
    for i in range(count // 2):
        id, at = new_id(1.7e9 + i), 1.7e9 + i
        yield stored.Row(2 * i + 1, ASKED, id, None, at, pack("<d", i + 1) + asked.body[8:])
        yield stored.Row(2 * i + 2, TOLD, id, None, at, told.body)


def time_replay(address, size):
    """Time the replay of a long log, and opening it without and with a snapshot."""
    events = 2 * size.horizon * max(1, size.replications // 10)
    with study(address, durability="process_crash") as small:
        rows = list(make_log(small, events))
        store = stored.open_store(address, durability="process_crash")
        number = store.create("long", small._writer.definition_bytes, 1.0)
        for at in range(0, len(rows), 50_000):
            store.begin(number, at)
            store.commit(number, rows[at : at + 50_000])
        store.close()
        before = time.process_time()
        State(small.definition).apply_all(rows)
        value = time.process_time() - before
    yield Row(f"study: replay {events:,} events", value, "s", "below 1", value < 1)
    for what, target in (("their log", None), ("a snapshot", 0.1)):
        before = time.process_time()
        with Study.open(address, "long", durability="process_crash") as long:
            long.ask()
            value = time.process_time() - before
        goal, met = ("", None) if target is None else (f"below {target:g}", value < target)
        yield Row(f"study: open them from {what}", value, "s", goal, met)
    with study(address) as short, Study.open(address, "long") as long:
        pairs(short, 1)
        value = (time_look(long, size.repeats) - time_look(short, size.repeats)) * 1e3
    yield Row(f"study: a look at {events:,} events, none new, less one at 2", value, "ms",
              "at most 5", value <= 5)  # fmt: skip


def time_look(study, repeats):
    """Return the smallest CPU time of a look at means, chances and summary, after the first."""
    used = []
    for _ in range(repeats + 1):
        before = time.process_time()
        study.means(), study.explain_intervals(), study.best_chances(), str(study)
        used.append(time.process_time() - before)
    return min(used[1:])


def measure_pending(address, size):
    """Measure the memory of a pending decision."""
    with study(address, durability="process_crash") as here:
        pairs(here, 10)
        tracemalloc.start()
        before, count = tracemalloc.get_traced_memory()[0], 10 * size.horizon
        for _ in range(count):
            here.ask()
        value = (tracemalloc.get_traced_memory()[0] - before) / count
        tracemalloc.stop()
    yield Row("study: a pending decision", value, "bytes", "at most 300", value <= 300)


def many_arms(folder, size):
    """Time arms that are added and retired, as ratios that must stay small."""
    few, many = 300 * size.repeats, 3000 * size.repeats
    took = {
        count: time_adding_arm(f"{folder}/{count}.db", count, size.repeats) for count in (few, many)
    }
    value = took[many] / took[few]
    name = f"study: add an arm and ask, {many:,} arms / {few:,}"
    yield Row(name, value, "", "at most 20", value <= 20)
    took = {
        retired: time_pairs_beside_pending(f"{folder}/{retired}.db", few, retired, size.repeats)
        for retired in (0, 1)
    }
    value = took[1] / took[0]
    name = f"study: ask + tell, {few:,} pending, one arm retired / none"
    yield Row(name, value, "", "at most 3", value <= 3)


def make_study(address, arms):
    """Create a study with a number of arms, and ask and tell twice."""
    names = [f"arm {i}" for i in range(arms)]
    study = Study.create(address, "arms", LSA(), names, threshold=0.5, durability="process_crash")
    pairs(study, 2)
    return study


def time_adding_arm(address, arms, repeats):
    """Return the smallest CPU time to add an arm and ask."""
    used = []
    with make_study(address, arms) as study:
        for i in range(repeats):
            before = time.process_time()
            study.add_arm(f"new {i}")
            study.ask()
            used.append(time.process_time() - before)
    return min(used)


def time_pairs_beside_pending(address, pending, retired, repeats):
    """Return the smallest CPU time of a pair with pending decisions and retired arms."""
    used = []
    with make_study(address, 100) as study:
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
    """Yield rows for one database: CPU time of a pair, rates with threads and processes."""
    count, repeats = 2 * size.horizon, size.repeats
    most, threads, processes = targets
    with study(address) as here:
        used, rate = time_pairs(here, count, repeats)
        target = "" if most is None else f"at most {most}"
        met = None if most is None else used <= most
        yield Row(f"{name}: ask + tell, CPU time", used, "us", target, met)
        yield Row(f"{name}: ask + tell", rate, "pairs/s", "10,000 where the disk allows")
        value = max(rate_of_threads(here, 32, 8 * count) for _ in range(max(2, repeats // 2)))
        yield Row(f"{name}: 32 threads", value, "pairs/s", f"{threads:,}", value >= threads)
        value, share = rate_of_processes(here, address, PROCESSES, size.horizon / 300)
        yield Row(
            f"{name}: {PROCESSES} processes", value, "pairs/s", f"{processes:,}", value >= processes
        )
        yield Row(f"{name}: the slowest of them / the fastest", share, "", "0.5", share >= 0.5)


def rows(size):
    """Yield all lines of studies."""
    with tempfile.TemporaryDirectory() as folder:
        address = str(Path(folder) / "studies.db")
        yield from database("SQLite", address, size, (50, 20_000, 5_000))
        value = time_sqlite(address, 2 * size.horizon, size.repeats)
        yield Row("SQLite alone: two rows, CPU time", value, "us")
        with study(address, durability="process_crash") as here:
            used, rate = time_pairs(here, 2 * size.horizon, size.repeats)
        yield Row("SQLite, not flushed: ask + tell, CPU time", used, "us")
        yield Row("SQLite, not flushed: ask + tell", rate, "pairs/s")
        yield from time_replay(address, size)
        yield from measure_pending(address, size)
        yield from many_arms(folder, size)
    if os.environ.get(SERVER):
        yield from database("PostgreSQL", os.environ[SERVER], size, (None, 12_000, 1_000))
