"""Batches of beta-distributed random numbers, for policies that sample many posteriors a round.

The policies draw plausible chances of their options: the posterior says how plausible each is.

The variates are those of `keyhole.draws.samplers.beta`, one after the other, bit by bit. Each is
made of two gamma variates, by rejection sampling. Four are computed at once, in vector registers,
each from the words of the stream that it reads if all before it take four, as they do if both
gammas are accepted by their first tests. Any other is drawn step by step; if it takes another
number of words, those after it are computed anew.
"""

from collections.abc import Callable
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from keyhole.draws.samplers import NORMAL_ENDS, NORMAL_STEP, beta, beta_by_steps
from keyhole.draws.streams import COUNTER_STEP, MIX_FACTOR_1, MIX_FACTOR_2, Stream
from keyhole.kernels.kernel_declaration import (
    from_internals,
    intrinsic,
    kernel,
    set_python_equivalent,
)

_LANES: Final = 4
_FEWEST: Final = 3  # fewer variates are drawn faster one by one
# The words of a variate in the usual case: the proposal and the test of both gammas.
_WORDS: Final = 4


def _checked_of(typing, a, b, out, count):  # type: ignore[no-untyped-def]
    """Type and build: return `count`; refuse vectors that `betas` cannot read."""
    from numba import types

    for name, kind in (("a", a), ("b", b), ("out", out)):
        vector = isinstance(kind, types.Array) and kind.ndim == 1 and kind.layout == "C"
        if not vector or kind.dtype != types.float64:
            raise TypeError(
                f"betas: {name} must be a vector of float64 whose numbers lie side by side, "
                f"got {kind}"
            )

    def build(context, builder, signature, args):  # type: ignore[no-untyped-def]
        return args[3]

    return count(a, b, out, count), build


_checked: Final[Callable[..., Any]] = intrinsic(_checked_of)


def none_of_four(
    begun: np.uint64, a: NDArray[np.float64], b: NDArray[np.float64], first: int, count: int,
    out: NDArray[np.float64], step: NDArray[np.float64], ends: NDArray[np.float64],
) -> np.uint64:  # fmt: skip
    """Draw nothing, and return in bits that none of four variates was drawn.

    The vector code, which takes its place in compiled code, draws all that are the usual case.
    """
    return np.uint64(2**_LANES - 1)


_four: Final[Callable[..., Any]] = from_internals(
    none_of_four,
    lambda internals: internals.make_four_betas(
        int(COUNTER_STEP), (int(MIX_FACTOR_1), int(MIX_FACTOR_2))
    ),
)


@kernel
def betas(
    rng: Stream,
    a: NDArray[np.float64],
    b: NDArray[np.float64],
    count: int,
    out: NDArray[np.float64],
) -> None:
    """Draw `count` beta variates, at least 1, with the shapes in two vectors: see `beta`.

    The shapes are from 1e-300 to 1e300. The vectors are of float64 and contiguous: whole
    arrays, or rows of such.

    Examples
    --------
    >>> from keyhole.draws.streams import stream
    >>> drawn = np.empty(2)
    >>> betas(stream(0), np.array([2.0, 3.0]), np.array([5.0, 1.0]), 2, drawn)
    >>> rng = stream(0)
    >>> drawn.tolist() == [beta(rng, 2.0, 5.0), beta(rng, 3.0, 1.0)]
    True
    """
    first, count = 0, _checked(a, b, out, count)
    while first < count:
        if count - first < _FEWEST:
            out[first] = beta(rng, a[first], b[first])
            first += 1
            continue
        # All four are computed as if each took four words. The stream is set behind them, and set
        # back where one took another number of words.
        begun = rng[0]
        unusual = _four(begun, a, b, first, count, out, NORMAL_STEP, NORMAL_ENDS)
        lanes = min(_LANES, count - first)
        rng[0] = begun + np.uint64(_WORDS * lanes) * np.uint64(COUNTER_STEP)
        if unusual & np.uint64((1 << lanes) - 1) != np.uint64(0):
            lanes = _redraw(rng, begun, unusual, a, b, first, lanes, out)
        first += lanes


@kernel
def _redraw(
    rng: Stream, begun: np.uint64, unusual: np.uint64,
    a: NDArray[np.float64], b: NDArray[np.float64], first: int, lanes: int,
    out: NDArray[np.float64],
) -> int:  # fmt: skip
    """Draw the unusual variates step by step; return how many variates are valid then."""
    for lane in range(lanes):
        if (unusual >> np.uint64(lane)) & np.uint64(1) == np.uint64(0):
            continue
        # Drawn again from its own first word, not from new ones: drawing anew would be biased,
        # since whether a case is usual depends on the value.
        end = begun + np.uint64(_WORDS * (lane + 1)) * np.uint64(COUNTER_STEP)
        after = rng[0]
        rng[0] = end - np.uint64(_WORDS) * np.uint64(COUNTER_STEP)
        out[first + lane] = beta_by_steps(rng, a[first + lane], b[first + lane])
        # If it took more words, the variates behind it were computed from the wrong ones: they are
        # drawn in the next batch, from where the stream is now.
        if rng[0] != end:
            return lane + 1
        rng[0] = after
    return lanes


set_python_equivalent(betas, "keyhole.draws.interpreted_draws:betas")
