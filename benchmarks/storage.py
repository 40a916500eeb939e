"""How fast rows become durable: ``python -m benchmarks.storage [ADDRESS]`` (a new file without)."""

import os
import sys
import tempfile
import time
from pathlib import Path

from keyhole.study.storage import Row, open_store

SECONDS = 2.0
BODY = b"x" * 60


def commits(store, size=1):
    """Return commits a second and processor time of each, in us: of `size` rows, one process."""
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
    """Return a row like those of studies: a decision has two."""
    return Row(seq, 1, f"{seq // 2:026d}", None, 1.8e9, BODY)


def reading(store, rows=200_000):
    """Return rows read a second."""
    study = store.create(f"benchmark {time.time_ns()}", b"", 0.0)
    store.begin(study, 0)
    store.commit(study, [row(seq) for seq in range(1, rows + 1)])
    begun = time.perf_counter()
    assert sum(1 for _ in store.read(study)) == rows
    return rows / (time.perf_counter() - begun)


def flush(folder):
    """Return how long a flush of a byte takes on a disk, in us: what no store goes below."""
    descriptor = os.open(Path(folder) / "flush", os.O_WRONLY | os.O_CREAT)
    begun = time.perf_counter()
    for _ in range(200):
        os.write(descriptor, b"x")
        os.fdatasync(descriptor)
    os.close(descriptor)
    return (time.perf_counter() - begun) / 200 * 1e6


def main():
    with tempfile.TemporaryDirectory() as folder:
        address = sys.argv[1] if len(sys.argv) > 1 else str(Path(folder) / "studies.db")
        ways = ["power_loss"] if "://" in address else ["power_loss", "crash"]
        print(f"a flush here: {flush(folder):.0f} us")
        for survives in ways:
            store = open_store(address, durability=survives)
            for size in (1, 16):
                rate, used = commits(store, size)
                print(f"survives a {survives}, {size:2} rows: {rate:7.0f}/s, {used:5.1f} us CPU")
            print(f"reading: {reading(store):.3g} rows/s")
            store.close()


if __name__ == "__main__":
    main()
