"""Running commands: overhead over `subprocess.run`, and the delay of a kill at the limit."""

import statistics
import subprocess
import time

from benchmarks.measure import Row
from keyhole.runner import KILL_MECHANISMS, CommandRunner

COMMAND = ["true"]
LIMIT = 0.05


def run_subprocess():
    subprocess.run(COMMAND, stdin=subprocess.DEVNULL, capture_output=True, check=True)


def milliseconds(call, count):
    """Return the median milliseconds per call."""
    spent = []
    for _ in range(count + 1):
        began = time.perf_counter()
        call()
        spent.append(time.perf_counter() - began)
    return statistics.median(spent[1:]) * 1e3


def time_mechanism(mechanism, size):
    """Yield rows for a mechanism, none where it does not work."""
    try:
        runner = CommandRunner(mechanism)
    except OSError:
        return
    with runner:
        value = milliseconds(lambda: runner.run(COMMAND, limit=60), 10 * size.repeats)
        yield Row(f"run true: {mechanism}", value, "ms")
        late = milliseconds(lambda: runner.run(["sleep", "60"], limit=LIMIT), size.repeats)
        yield Row(f"all ended after a limit: {mechanism}", late - LIMIT * 1e3, "ms")


def rows(size):
    """Yield all lines."""
    yield Row("run true: subprocess.run", milliseconds(run_subprocess, 10 * size.repeats), "ms")
    for mechanism in KILL_MECHANISMS:
        yield from time_mechanism(mechanism, size)
