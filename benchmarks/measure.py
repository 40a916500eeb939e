"""Timing functions shared by all benchmarks: pairs that take turns, and medians of their ratios."""

import os
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass

import numpy as np

from keyhole.draws.samplers import beta, exponential, gamma, normal
from keyhole.draws.streams import stream, uniform
from keyhole.kernels.kernel_decorators import kernel
from keyhole.thresholding import LSA


@dataclass(frozen=True)
class Size:
    """Sizes of the simulations, and numbers of repetitions."""

    horizon: int = 1000
    replications: int = 5000
    python_replications: int = 20
    repeats: int = 7


QUICK = Size(horizon=100, replications=200, python_replications=2, repeats=2)


@dataclass(frozen=True)
class Row:
    """Row of the table: a measured value, its unit, and its target."""

    what: str
    value: float
    unit: str
    target: str = ""
    met: bool | None = None


def seconds(call, clock=time.process_time):
    """Return the CPU seconds of a call, which other load on the machine changes little."""
    began = clock()
    call()
    return clock() - began


def time_in_turn(first, second, repeats, clock=time.process_time):
    """Return the median times of two calls that take turns, and the median of their ratio."""
    first(), second()
    pairs = [(seconds(first, clock), seconds(second, clock)) for _ in range(repeats)]
    ratio = statistics.median(b / a for a, b in pairs)
    return statistics.median(a for a, _ in pairs), statistics.median(b for _, b in pairs), ratio


def compare_with(what, ours, theirs, our_rounds, their_rounds, size, least):
    """Yield rows with a reference program's time per round, and its ratio to Keyhole's."""
    _, other, ratio = time_in_turn(ours, theirs, max(2, size.repeats // 2))
    ratio *= our_rounds / their_rounds
    yield Row(what, other / their_rounds * 1e9, "ns a round")
    target = "" if least is None else f"at least {least}"
    yield Row(f"{what} / Keyhole", ratio, "x", target, None if least is None else ratio >= least)


def learning(size):
    """Time a learner's ask and tell, and its replay of a log."""
    learner = LSA().learner(arms=10, threshold=0.5)
    calls = 20 * size.horizon

    def run():
        for _ in range(calls):
            learner.ask()
            learner.tell(1.0)

    run()
    best = statistics.median(seconds(run) for _ in range(size.repeats)) / calls * 1e6
    yield Row("learner: ask + tell", best, "us", "at most 0.5", best <= 0.5)
    rows = 1000 * size.horizon
    log = np.arange(rows) % 10, np.full(rows, 0.5)
    learner.replay(*log)
    best = statistics.median(seconds(lambda: learner.replay(*log)) for _ in range(size.repeats))
    yield Row(
        "learner: a round of a log", best / rows * 1e9, "ns", "below 1000", best < rows * 1e-6
    )


FIRST = """
import time; began = time.perf_counter()
from keyhole import simulate
from keyhole.thresholding import LSA, Problem
simulate(Problem(means=[0.2, 0.7], threshold=0.5), [LSA()], horizon=100, replications=10)
print(time.perf_counter() - began)
"""


def starting(size):
    """Time a fresh process: importing, and the first result with a cold and a warm cache."""
    imports = [
        seconds(
            lambda: subprocess.run([sys.executable, "-c", "import keyhole"], check=True),
            time.perf_counter,
        )
        for _ in range(size.repeats)
    ]
    value = statistics.median(imports)
    yield Row("fresh process: import keyhole", value, "s", "below 1", value < 1)
    with tempfile.TemporaryDirectory() as cache:
        times = [_first_result(cache) for _ in range(size.repeats + 1)]
    yield Row("fresh process: first result, cold cache", times[0], "s")
    value = statistics.median(times[1:])
    yield Row("fresh process: first result, warm cache", value, "s", "below 1", value < 1)


def _first_result(cache):
    done = subprocess.run(
        [sys.executable, "-c", FIRST],
        env=os.environ | {"KEYHOLE_CACHE_DIR": cache},
        capture_output=True,
        text=True,
        check=True,
    )
    return float(done.stdout)


def sampling(size):
    """Time the samplers."""
    draws = 2000 * size.horizon
    for name, sampler, arguments in (
        ("uniform", uniform, ()),
        ("normal", normal, ()),
        ("exponential", exponential, ()),
        ("gamma(2.5)", gamma, (2.5,)),
        ("beta(2, 5)", beta, (2.0, 5.0)),
    ):
        loop = (_loop0, _loop1, _loop2)[len(arguments)](sampler)
        rng = stream(0)
        loop(rng, 10, *arguments)
        value = statistics.median(
            seconds(lambda loop=loop, rng=rng, a=arguments: loop(rng, draws, *a))
            for _ in range(size.repeats)
        )
        target = "below 60" if name.startswith("beta") else ""
        yield Row(
            f"draw: {name}", value / draws * 1e9, "ns", target,
            value / draws * 1e9 < 60 if target else None,
        )  # fmt: skip


def _loop0(sampler):
    @kernel
    def loop(rng, n):
        total = 0.0
        for _ in range(n):
            total += sampler(rng)
        return total

    return loop


def _loop1(sampler):
    @kernel
    def loop(rng, n, a):
        total = 0.0
        for _ in range(n):
            total += sampler(rng, a)
        return total

    return loop


def _loop2(sampler):
    @kernel
    def loop(rng, n, a, b):
        total = 0.0
        for _ in range(n):
            total += sampler(rng, a, b)
        return total

    return loop


PARTS = (learning, starting, sampling)
