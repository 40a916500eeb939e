"""A test suite that hangs now and then, the more often the more tests run side by side.

python suite.py SEED JOBS
"""

import random
import sys
import threading
import time

TESTS, SECONDS = 8, 0.06
HANGS = 0.1  # the chance of a deadlock, for each thread


def run(rng: random.Random, tests: int) -> None:
    """Run some tests, one after the other."""
    for _ in range(tests):
        time.sleep(rng.uniform(0.5, 1.5) * SECONDS)


def main(seed: str, jobs: int) -> None:
    """Run the suite."""
    rng = random.Random(seed)
    if rng.random() < HANGS * jobs:
        threading.Semaphore(0).acquire()  # somebody waits for somebody who waits
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
