"""Counter-based random numbers for simulations: each draw is computed from its key and position.

A stream is identified by (seed, replication, purpose). The stream and the number of a draw in it
determine the value of the draw. So there is no generator to share, and results cannot depend on
threads, on blocks of replications, or on which policies run side by side.

The generator is SplitMix64 (Steele, Lea and Flood 2014, "Fast splittable pseudorandom number
generators"): a draw is a bijective hash of a counter.
"""

from typing import Final

import numpy as np
from numpy.typing import NDArray

from keyhole.kernels.kernel_decorators import kernel, set_python_equivalent

Stream = NDArray[np.uint64]
"""Two words: the counter of the last draw, and the key at which the stream begins."""

POLICY: Final = 0
"""Purpose of the stream from which a policy draws: Thompson samples, random ties."""
ENVIRONMENT: Final = 1
"""Purpose of the stream from which an environment draws feedback."""
WORKERS: Final = 2
"""Purpose of the stream from which the durations of simulated workers are drawn."""

# SplitMix64's increment (the golden ratio in 64 bits) leads from one draw of a stream to the next.
# A second odd constant, from the table of good multipliers of Steele and Vigna (2021), leads from
# one pull of an arm to the next, so that the draws of two pulls do not overlap. It also separates
# the streams of different purposes.
COUNTER_STEP: Final = np.uint64(0x9E3779B97F4A7C15)
_JUMP: Final = np.uint64(0xD1342543DE82EF95)
# The address of a pull has 64 bits: 24 for the arm, 40 for the number of the pull.
_PULL_BITS: Final = np.uint64(40)
# Factors of `mix64`.
MIX_FACTOR_1: Final = np.uint64(0xBF58476D1CE4E5B9)
MIX_FACTOR_2: Final = np.uint64(0x94D049BB133111EB)
_TO_UNIT: Final = 2.0**-53


@kernel
def mix64(word: np.uint64) -> np.uint64:
    """Hash 64 bits to 64, one to one, so that every input bit affects every output bit.

    This is the finaliser of SplitMix64, variant 13 of Stafford's (2011) improved mixers.
    """
    word = (word ^ (word >> np.uint64(30))) * np.uint64(MIX_FACTOR_1)
    word = (word ^ (word >> np.uint64(27))) * np.uint64(MIX_FACTOR_2)
    return word ^ (word >> np.uint64(31))


@kernel
def stream_key(seed: int, replication: int, purpose: int) -> np.uint64:
    """Return the word at which the stream of (seed, replication, purpose) begins.

    The three numbers are at least 0 and below 2**64. Each is hashed before the next is added, so
    that neighbouring numbers, such as seeds, lead to unrelated keys.
    """
    key = mix64(np.uint64(seed) + np.uint64(COUNTER_STEP))
    key = mix64(key + np.uint64(replication) * np.uint64(COUNTER_STEP))
    return mix64(key + np.uint64(purpose) * np.uint64(_JUMP))


def stream(seed: int, replication: int = 0, purpose: int = POLICY) -> Stream:
    """Make the stream of (seed, replication, purpose), of shape (2,), at its beginning.

    Parameters
    ----------
    seed, replication, purpose : int
        Non-negative, below 2**64.

    Examples
    --------
    >>> rng = stream(seed=7)
    >>> uniform(rng), uniform(rng)
    (0.4144608105310156, 0.3649830455871761)
    """
    return np.full(2, stream_key(int(seed), int(replication), int(purpose)), np.uint64)


@kernel
def next_uint64(rng: Stream) -> np.uint64:
    """Draw 64 random bits and move the stream one draw on."""
    rng[0] += np.uint64(COUNTER_STEP)
    return mix64(rng[0])


@kernel
def uniform(rng: Stream) -> float:
    """Draw a uniform number in [0, 1), a multiple of 2**-53, and move the stream on.

    Examples
    --------
    >>> 0.0 <= uniform(stream(seed=1)) < 1.0
    True
    """
    return (next_uint64(rng) >> np.uint64(11)) * _TO_UNIT


@kernel
def seek_pull(rng: Stream, arm: int, pull: int) -> None:
    """Move a stream to the draws that belong to one pull of one arm.

    So the n-th pull of an arm yields the same sample whatever was pulled before, and all policies
    meet the same random numbers (common random numbers).

    Parameters
    ----------
    rng : Stream
        The stream; its position changes.
    arm : int
        From 0, below 2**24.
    pull : int
        The number of the pull of this arm, from 0, below 2**40.

    Examples
    --------
    >>> rng = stream(seed=7, purpose=ENVIRONMENT)
    >>> seek_pull(rng, 3, 0)
    >>> first = uniform(rng)
    >>> seek_pull(rng, 2, 5)
    >>> seek_pull(rng, 3, 0)
    >>> first == uniform(rng)
    True
    """
    address = (np.uint64(arm) << np.uint64(_PULL_BITS)) + np.uint64(pull)
    rng[0] = rng[1] + address * np.uint64(_JUMP)


for _kernel in (next_uint64, uniform, seek_pull):
    set_python_equivalent(_kernel, f"keyhole.draws.interpreted_draws:{_kernel.__name__}")
