"""How fast a policy is played: measured for a span of time, and for no longer."""

import math
from collections.abc import Callable
from time import perf_counter
from typing import Final

from keyhole.drivers.engine import LANES
from keyhole.play.plan import Plan

_FIRST_ROUNDS: Final = 1_000_000  # as in the first block of a run
_PATIENCE: Final = 3.0  # times the span, to see a run longer than it get slower
_IN_VAIN: Final = 30.0  # seconds without a round: the kernel may be in a loop without end
_STEADY: Final = 1.15  # below this power of the rounds, what was measured is noise
_STEEPEST: Final = 2.0


class _EnoughError(Exception):
    """The time is over."""


def measure_seconds_per_round(
    plan: Plan,
    label: str,
    seconds: float,
    *,
    replications: int,
    threads: int = 1,
    clock: Callable[[], float] = perf_counter,
) -> float:
    """Play one policy for a span of time; return how long a round takes, with so many threads.

    Compiling does not count. Of a run that is longer than the span the beginning is measured; if
    it gets slower, the rest is taken to do so by the same power of the rounds. If none ends within
    half a minute, it is infinity.

    Parameters
    ----------
    plan : Plan
        The experiment.
    label : str
        The policy's.
    seconds : float
        How long to play, about.
    replications : int
        How many there are: few are played in smaller groups.
    threads : int, default 1
        Threads at once: two are slower than one.
    clock : callable, optional
        Tells the time.
    """
    plan.simulators(label)
    rounds = plan.rounds(plan.policies[label])
    group = LANES * threads
    count = min(replications, max(1, _FIRST_ROUNDS // (rounds * group)) * group)
    # Those that are played at once: each of them is at the same round.
    at_once = min(count, group)
    trace = [(0.0, 0)]
    began = clock()
    before = 0

    def watch(_label: str, played: int, _total: int) -> None:
        spent, done = clock() - began, before + played
        trace.append((spent, done))
        long_enough = _PATIENCE * seconds if done < at_once * rounds else seconds
        if spent >= (long_enough if done else _IN_VAIN):
            raise _EnoughError

    try:
        while clock() - began < seconds:
            plan.play(label, range(count), threads=threads, report=watch)
            before += count * rounds
    except _EnoughError:
        pass
    return _extrapolated(trace, at_once * rounds)


def _extrapolated(trace: list[tuple[float, int]], whole: int) -> float:
    """Return the time of a round, from (time, rounds); `whole` is how many a first group takes."""
    spent, played = trace[-1]
    if not played:
        return math.inf
    half = [(s, n) for s, n in trace if 0 < n <= played / 2]
    if played >= whole or not half:
        return spent / played
    power = math.log(spent / half[-1][0]) / math.log(played / half[-1][1])
    power = min(power, _STEEPEST) if power > _STEADY else 1.0
    return float(spent / played * (whole / played) ** (power - 1.0))
