"""Measurement of the rounds that a policy plays in a second, to forecast how long a run takes."""

import math
from collections.abc import Callable
from time import perf_counter
from typing import Final

from keyhole.drivers.engine import LANES
from keyhole.play.plan import Plan
from keyhole.play.thread_executor import make_simulators, simulate_replications

_FIRST_ROUNDS: Final = 1_000_000  # as in the first block of a run
_LONG_RUN_FACTOR: Final = 3.0  # a run that is longer than the span is measured for 3 spans
_STUCK_SECONDS: Final = 30.0  # without a round: the kernel may be in an endless loop
_LEAST_POWER: Final = 1.15  # a growth of time by less than this power of the rounds is noise
_MOST_POWER: Final = 2.0


class _TimeIsUpError(Exception):
    """Raised to end a measurement."""


def measure_seconds_per_round(
    plan: Plan,
    label: str,
    seconds: float,
    *,
    replications: int,
    threads: int = 1,
    clock: Callable[[], float] = perf_counter,
) -> float:
    """Simulate a policy for a span of time; return the seconds per round with so many threads.

    Compilation does not count. Only the beginning of a run that is longer than the span is
    measured; if rounds get slower, the rest is extrapolated by the same power of the rounds. The
    result is infinite if no round ends within half a minute.

    Parameters
    ----------
    plan : Plan
        The experiment.
    label : str
        The label of the policy.
    seconds : float
        About how long to simulate.
    replications : int
        How many the run has: few are simulated in smaller groups.
    threads : int, default 1
        How many threads run at once, which slow each other down.
    clock : callable, optional
        Returns the time in seconds.
    """
    make_simulators(plan, label)  # compile before the clock starts
    rounds = plan.rounds(plan.policies[label])
    group = LANES * threads
    count = min(replications, max(1, _FIRST_ROUNDS // (rounds * group)) * group)
    at_once = min(count, group)  # replications of a group advance together, round by round
    trace = [(0.0, 0)]
    began = clock()
    before = 0

    def watch(_label: str, played: int, _total: int) -> None:
        spent, done = clock() - began, before + played
        trace.append((spent, done))
        # Later rounds may be slower, so the beginning of a long run is measured for longer.
        span = _LONG_RUN_FACTOR * seconds if done < at_once * rounds else seconds
        if spent >= (span if done else _STUCK_SECONDS):
            raise _TimeIsUpError

    try:
        while clock() - began < seconds:
            simulate_replications(plan, label, range(count), threads=threads, report=watch)
            before += count * rounds
    except _TimeIsUpError:
        pass
    return _extrapolate(trace, at_once * rounds)


def _extrapolate(trace: list[tuple[float, int]], whole: int) -> float:
    """Return seconds per round from (seconds, rounds); `whole` is the rounds of one group."""
    spent, played = trace[-1]
    if not played:
        return math.inf
    # Time is taken to grow as a power of the rounds: its exponent is the slope from half of the
    # rounds to the last one, in logarithms.
    half = [(s, n) for s, n in trace if 0 < n <= played / 2]
    if played >= whole or not half:
        return spent / played
    power = math.log(spent / half[-1][0]) / math.log(played / half[-1][1])
    power = min(power, _MOST_POWER) if power > _LEAST_POWER else 1.0
    return float(spent / played * (whole / played) ** (power - 1.0))
