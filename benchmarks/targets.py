"""Performance targets of Keyhole, one row each, as ratios within one run.

Nanoseconds are not comparable between machines, so times are compared with a round of LSA in C++
(`lsa.cpp`) with 10 arms, which takes 4.3 ns on the machine on which the targets were set. Without a
C++ compiler the times are shown without a comparison.
"""

import statistics
import time

import numpy as np

from benchmarks import resource, semibandit, stochastic, threshold, thresholding
from benchmarks import thresholding_without_keyhole as yardsticks
from benchmarks.cpp import compile_lsa, run_lsa
from benchmarks.measure import Row, Size, seconds, time_in_turn
from keyhole import simulate
from keyhole.thresholding import LSA, Problem

YARDSTICK = 4.3  # ns of a round of LSA in C++ on the machine on which the targets were set


def timed_policies(size):
    """Yield name, target, call and rounds of each policy with a target in nanoseconds."""
    rounds, slow = size.horizon * size.replications, max(8, size.replications // 5)
    yield "LSA, K = 10", 7.0, thresholding.player(LSA(), size), rounds
    for name, arms, target in (
        ("UCB1", 10, 12.0),
        ("KLUCB", 5, 100.0),
        ("ThompsonSampling", 10, 240.0),
    ):
        means = (stochastic.MEANS * 2)[:arms]
        call = stochastic.player(stochastic.POLICIES[name], size, means)
        yield f"{name}, K = {arms}", target, call, rounds
    for name, target in (("CTS", 590.0), ("CSBDT", 430.0)):
        call, taken = semibandit.player(*semibandit.POLICIES[name], size)
        yield f"{name}, K = 5", target, call, taken
    call = resource.player(resource.RCUCB(), resource.problem(), size.horizon, slow)
    yield "RCUCB, 10 arms, 11 limits", 150.0, call, size.horizon * slow


def against_cpp(size):
    """Compare policies with LSA in C++."""
    with compile_lsa() as program:
        if program is None:
            yield Row("C++: no compiler was found", float("nan"), "")
        for name, target, call, rounds in timed_policies(size):
            call()
            if program is None:
                times = [seconds(call) / rounds * 1e9 for _ in range(size.repeats)]
                yield Row(name, statistics.median(times), "ns a round", f"{target:g}, see above")
                continue
            ratios, times = [], []
            for _ in range(size.repeats):
                other, _ = run_lsa(program, size.horizon, size.replications)
                times.append(seconds(call) / rounds * 1e9)
                ratios.append(times[-1] / other)
            ratio, most = statistics.median(ratios), target / YARDSTICK
            what = f"{name} ({statistics.median(times):.3g} ns) / LSA in C++"
            yield Row(what, ratio, "x", f"at most {most:.3g}", ratio <= most)


def against_numpy(size):
    """Compare policies with NumPy over all replications at once."""
    for name in ("LSA", "APT", "UCBE"):
        loop = getattr(yardsticks, f"numpy_{name.lower()}")
        ours = thresholding.player(thresholding.POLICIES[name], size)
        yield _ratio(name, ours, loop, thresholding.SETUP1, size)
    for name in ("UCB1", "KLUCB", "ThompsonSampling"):
        loop = getattr(stochastic, f"numpy_{name.lower()}")
        ours = stochastic.player(stochastic.POLICIES[name], size)
        yield _ratio(name, ours, loop, stochastic.MEANS, size)
    for name in ("DKWUCB", "OPTIM", "KaplanMeierUCB"):
        loop = getattr(threshold, f"numpy_{name.lower()}")
        ours = threshold.player(*threshold.POLICIES[name], size)
        yield _ratio(name, ours, loop, threshold.SURVIVAL, size)
    few = max(8, size.replications // 5)
    ours = resource.player(resource.RCUCB(), resource.problem(), size.horizon, few)
    _, _, ratio = time_in_turn(ours, lambda: resource.numpy_rcucb(size.horizon, few, 0), 2)
    yield Row("NumPy / RCUCB", ratio, "x", "at least 2", ratio >= 2)


def _ratio(name, ours, loop, instance, size):
    _, _, ratio = time_in_turn(
        ours, lambda: loop(instance, size.horizon, size.replications, 0), max(2, size.repeats // 2)
    )
    return Row(f"NumPy / {name}", ratio, "x", "at least 2", ratio >= 2)


def scaling(size):
    """Compare two threads with one, many arms with few, recorded rewards with drawn ones."""
    lsa = thresholding.player(LSA(), size)
    two = thresholding.player(LSA(), size, threads=2)
    _, _, ratio = time_in_turn(two, lsa, size.repeats, time.perf_counter)
    yield Row("LSA: one thread / two", ratio, "x", "at least 1.93", ratio >= 1.93)
    many = Size(10 * size.horizon, max(4, size.replications // 50), 0, size.repeats)
    arms = thresholding.player(LSA(), many, means=np.linspace(0.1, 0.9, 1000))
    _, _, ratio = time_in_turn(thresholding.player(LSA(), many), arms, size.repeats)
    yield Row("LSA: K = 1,000 / K = 10", ratio, "x", "at most 3.9", ratio <= 3.9)
    log = np.random.default_rng(0).random((10, 1000)) < np.array(thresholding.SETUP1)[:, None]
    recorded = Problem.replay(log.astype(float).tolist(), 0.5)

    def replayed():
        simulate(recorded, [LSA()], horizon=size.horizon, replications=size.replications, threads=1)

    _, _, ratio = time_in_turn(lsa, replayed, size.repeats)
    yield Row("LSA: rewards of a log / drawn", ratio, "x", "at most 1.5", ratio <= 1.5)


PARTS = (against_cpp, against_numpy, scaling)
