"""A test suite that hangs now and then, more often with more parallel jobs.

python suite.py SEED JOBS
"""

import random
import sys
import threading
import time

TESTS, SECONDS = 8, 0.06
HANGS = 0.1  # probability of a deadlock per thread


def run(rng: random.Random, tests: int) -> None:
    """Run some tests, one after the other."""
    for _ in range(tests):
        time.sleep(rng.uniform(0.5, 1.5) * SECONDS)


def main(seed: str, jobs: int) -> None:
    """Run the suite."""
    rng = random.Random(seed)
    if rng.random() < HANGS * jobs:
        threading.Semaphore(0).acquire()  # a deadlock
    threads = [
        threading.Thread(target=run, args=(random.Random(f"{seed} {job}"), TESTS // jobs))
        for job in range(jobs)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    print(f"{TESTS} passed")


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
