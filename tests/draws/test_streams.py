import numpy as np
import pytest
from numba import njit
from scipy import stats

from keyhole.draws.streams import (
    _JUMP,
    COUNTER_STEP,
    ENVIRONMENT,
    POLICY,
    mix64,
    next_uint64,
    seek_pull,
    stream,
    stream_key,
    uniform,
)

N = 100_000
FIVE_ERRORS = 5 / np.sqrt(N)


@njit
def draw(rng, n):
    out = np.empty(n)
    for i in range(n):
        out[i] = uniform(rng)
    return out


@njit
def first_of_each(seed, n, purpose):
    """Return the first draw of replications 0 .. n - 1."""
    out = np.empty(n)
    rng = np.empty(2, np.uint64)
    for replication in range(n):
        rng[0] = rng[1] = stream_key(seed, replication, purpose)
        out[replication] = uniform(rng)
    return out


@njit
def first_of_each_pull(rng, arm, n):
    out = np.empty(n)
    for pull in range(n):
        seek_pull(rng, arm, pull)
        out[pull] = uniform(rng)
    return out


SAMPLES = {
    "along a stream": lambda: draw(stream(0), N),
    "across replications": lambda: first_of_each(0, N, ENVIRONMENT),
    "across the pulls of an arm": lambda: first_of_each_pull(stream(0, 0, ENVIRONMENT), 3, N),
}


@pytest.mark.parametrize("where", SAMPLES)
def test_draws_are_uniform(where):
    sample = SAMPLES[where]()
    assert sample.min() >= 0
    assert sample.max() < 1
    assert stats.kstest(sample, "uniform").pvalue > 1e-4


def base():
    return draw(stream(5, 7, POLICY), N)


def pulls(arm):
    return first_of_each_pull(stream(5, 7, ENVIRONMENT), arm, N)


NEIGHBOURS = {
    "seeds": lambda: (base(), draw(stream(6, 7, POLICY), N)),
    "replications": lambda: (base(), draw(stream(5, 8, POLICY), N)),
    "purposes": lambda: (base(), draw(stream(5, 7, ENVIRONMENT), N)),
    "consecutive draws": lambda: (base()[:-1], base()[1:]),
    "arms": lambda: (pulls(0), pulls(1)),
    "pulls": lambda: (pulls(0)[:-1], pulls(0)[1:]),
}


@pytest.mark.parametrize("what", NEIGHBOURS)
def test_neighbours_are_independent(what):
    a, b = NEIGHBOURS[what]()
    assert abs(np.corrcoef(a, b)[0, 1]) < FIVE_ERRORS
    table, _, _ = np.histogram2d(a, b, bins=16, range=[[0, 1], [0, 1]])
    assert stats.chisquare(table.ravel()).pvalue > 1e-4


def test_a_draw_depends_only_on_its_key_and_position():
    rng = stream(3, 2, ENVIRONMENT)
    seek_pull(rng, 4, 9)
    first = uniform(rng)
    for _ in range(100):
        uniform(rng)
    seek_pull(rng, 4, 9)
    assert uniform(rng) == first


def test_the_draws_of_one_pull_never_run_into_those_of_another():
    # Draw j of a pull lies at JUMP * address + COUNTER_STEP * j. Two meet only if JUMP * d =
    # COUNTER_STEP * j (mod 2**64) for a difference d of addresses. Compute d for every j up to
    # 10,000 draws a pull: no two arms below 4,096 and pulls below 2**32 are that far apart.
    inverse = pow(int(_JUMP), -1, 2**64)
    for j in range(1, 10_001):
        d = int(COUNTER_STEP) * j * inverse % 2**64
        for difference in (d, 2**64 - d):
            arms, pulls = divmod(difference, 2**40)
            near = min(pulls, 2**40 - pulls)
            assert arms >= 4096 or near >= 2**32


def test_mix64_is_the_published_finaliser():
    # First outputs of SplitMix64 from state 0, as listed with Vigna's reference implementation.
    known = [0xE220A8397B1DCDAF, 0x6E789E6AA1B965F4, 0x06C45D188009454F]
    state = 0
    for word in known:
        state = (state + int(COUNTER_STEP)) % 2**64
        assert int(mix64(np.uint64(state))) == word


def test_next_uint64_walks_the_same_way():
    rng = np.zeros(2, np.uint64)
    assert int(next_uint64(rng)) == 0xE220A8397B1DCDAF


def test_pulls_of_all_arms_have_different_positions():
    rng, found = stream(3, purpose=ENVIRONMENT), set()
    for arm in (0, 1, 2, 2**24 - 1):
        for pull in (0, 1, 2**20, 2**24, 2**32, 2**40 - 1):
            seek_pull(rng, arm, pull)
            found.add(int(rng[0]))
    assert len(found) == 24
