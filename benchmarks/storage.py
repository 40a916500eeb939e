"""Rates of durable commits to a store: ``python -m benchmarks.storage [ADDRESS]``.

Without an address it uses a new file.
"""

import os
import sys
import tempfile
import time
from pathlib import Path

from keyhole.study.storage import Row, open_store

SECONDS = 2.0
BODY = b"x" * 60


def time_commits(store, size=1):
    """Return the rate of transactions of `size` rows per second, and the CPU time of each in us."""
    study = store.create(f"benchmark {time.time_ns()}", b"", 0.0)
    seq = done = 0
    begun, used = time.perf_counter(), time.process_time()
    while time.perf_counter() < begun + SECONDS:
        store.begin(study, seq)
        rows = [row(seq + k) for k in range(1, size + 1)]
        store.commit(study, rows)
        seq += size
        done += 1
    wall, used = time.perf_counter() - begun, time.process_time() - used
    return done / wall, 1e6 * used / done


def row(seq):
    """Return a row like those of studies, with two for each decision."""
    return Row(seq, 1, f"{seq // 2:026d}", None, 1.8e9, BODY)


def time_reading(store, rows=200_000):
    """Return the number of rows read per second."""
    study = store.create(f"benchmark {time.time_ns()}", b"", 0.0)
    store.begin(study, 0)
    store.commit(study, [row(seq) for seq in range(1, rows + 1)])
    begun = time.perf_counter()
    assert sum(1 for _ in store.read(study)) == rows
    return rows / (time.perf_counter() - begun)


def time_flush(folder):
    """Return the us of an fdatasync after a byte, a lower bound for durable transactions."""
    descriptor = os.open(Path(folder) / "synced", os.O_WRONLY | os.O_CREAT)
    begun = time.perf_counter()
    for _ in range(200):
        os.write(descriptor, b"x")
        os.fdatasync(descriptor)
    os.close(descriptor)
    return (time.perf_counter() - begun) / 200 * 1e6


def main():
    with tempfile.TemporaryDirectory() as folder:
        address = sys.argv[1] if len(sys.argv) > 1 else str(Path(folder) / "studies.db")
        levels = ["power_loss"] if "://" in address else ["power_loss", "process_crash"]
        print(f"fdatasync: {time_flush(folder):.0f} us")
        for durability in levels:
            store = open_store(address, durability=durability)
            for size in (1, 16):
                rate, used = time_commits(store, size)
                print(f"{durability}, {size:2} rows: {rate:7.0f}/s, {used:5.1f} us CPU")
            print(f"read: {time_reading(store):.3g} rows/s")
            store.close()


if __name__ == "__main__":
    main()
