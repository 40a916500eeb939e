"""A test suite with a test that hangs now and then; nothing is needed to run it.

    python suite.py SEED [--each]

With `--each` every test has a process of its own, and is started once more if it takes longer than
half a second.
"""

import random
import subprocess
import sys
import time

HANGS = 0.2  # the share of runs
OWN = 0.5  # seconds that a test may take in a process of its own


def test_addition(rng: random.Random) -> None:
    """Be quick."""
    assert 1 + 1 == 2


def test_sleep(rng: random.Random) -> None:
    """Take a while."""
    time.sleep(rng.uniform(0.02, 0.1))


def test_race(rng: random.Random) -> None:
    """Wait for somebody who waits for us, now and then."""
    if rng.random() < HANGS:
        time.sleep(3600)


TESTS = {test.__name__: test for test in (test_addition, test_sleep, test_race)}


def main(seed: str, *words: str) -> None:
    """Run the suite, or one of its tests."""
    if words and words[0] in TESTS:
        TESTS[words[0]](random.Random(f"{seed} {words[0]}"))
        return
    for name in TESTS:
        if "--each" not in words:
            TESTS[name](random.Random(f"{seed} {name}"))
            continue
        for attempt in range(10):
            command = [sys.executable, "-I", "-S", __file__, f"{seed}.{attempt}", name]
            try:
                subprocess.run(command, timeout=OWN, check=True)
                break
            except subprocess.TimeoutExpired:
                print(f"{name} is started once more")
    print(f"{len(TESTS)} passed")


if __name__ == "__main__":
    main(*sys.argv[1:])
