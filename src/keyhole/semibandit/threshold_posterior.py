"""Posterior of how much of a resource each arm needs (its threshold), as a density in steps.

A loss shows that the threshold is above what was given; a round without a loss makes it likelier
that the threshold is at most what was given. By Bayes' theorem the density of the threshold at x is
proportional to B(1 + S, 1 + F(x)), with B the beta function, S the number of losses, and F(x) the
number of rounds without a loss in which less than x was given. Each piece keeps one value of F.
"""

import math
from typing import Final

from keyhole.policy import Stream, float_array, int_array, uniform
from keyhole.semibandit.setting import TOLERANCE

PIECES: Final = 16
"""Pieces of constant density that are kept for each arm."""

# A piece with this weight is never drawn in practice. No weight falls below it: a loss that refutes
# all other pieces then leaves a density and not zeros.
_LEAST_WEIGHT: Final = 1e-200


class ThresholdPosterior:
    """State of each arm: pieces of constant density, and counts of rounds with and without loss."""

    pieces = int_array("arms")
    """Number of pieces."""
    lows = float_array("arms")
    """Largest allocation with a loss: the threshold is above it."""
    ends = float_array("arms", PIECES + 1)
    """Upper end of each piece; the last is 1."""
    weights = float_array("arms", PIECES + 1)
    """Density in each piece, divided by the density in the first piece."""
    losses = float_array("arms")
    clears = float_array("arms")
    """F in the first piece."""
    further = float_array("arms", PIECES + 1)
    """F in each piece less F in the first piece."""


def begin_posterior(s: ThresholdPosterior, arm: int, resource: float) -> None:
    """Set the prior, whose density is constant up to the resource and constant above it.

    Above the resource, neither the density nor the mass is larger than below the resource.
    """
    s.pieces[arm] = 1
    s.ends[arm, 0] = s.weights[arm, 0] = 1.0
    if resource < 1.0:
        s.pieces[arm] = 2
        s.ends[arm, 0] = resource
        s.ends[arm, 1] = 1.0
        s.weights[arm, 1] = min(1.0, resource / (1.0 - resource))


def piece_start(s: ThresholdPosterior, arm: int, piece: int) -> float:
    """Return the lower end of a piece."""
    return float(s.lows[arm] if piece == 0 else s.ends[arm, piece - 1])


def piece_mass(s: ThresholdPosterior, arm: int, piece: int) -> float:
    """Return the probability of a piece, up to a factor that all pieces of the arm share."""
    return float(s.weights[arm, piece] * (s.ends[arm, piece] - piece_start(s, arm, piece)))


def draw_piece(s: ThresholdPosterior, arm: int, rng: Stream) -> int:
    """Draw a piece by its mass."""
    total = 0.0
    for piece in range(s.pieces[arm]):
        total += piece_mass(s, arm, piece)
    remaining_mass = uniform(rng) * total
    for piece in range(s.pieces[arm]):
        remaining_mass -= piece_mass(s, arm, piece)
        if remaining_mass < 0.0:
            return piece
    return int(s.pieces[arm]) - 1


def threshold_quantile(s: ThresholdPosterior, arm: int, delta: float) -> float:
    """Return the lowest entry of `ends` that the threshold exceeds with probability <= delta."""
    total = mass_above = 0.0
    for piece in range(s.pieces[arm]):
        total += piece_mass(s, arm, piece)
    piece = s.pieces[arm] - 1
    while piece > 0 and mass_above + piece_mass(s, arm, piece) <= delta * total:
        mass_above += piece_mass(s, arm, piece)
        piece -= 1
    return float(s.ends[arm, piece])


def learn_loss(s: ThresholdPosterior, arm: int, amount: float) -> None:
    """Learn that an arm had a loss although it was given an amount."""
    if amount > s.lows[arm]:
        refuted_pieces = 0
        while (
            refuted_pieces < s.pieces[arm] - 1 and s.ends[arm, refuted_pieces] <= amount + TOLERANCE
        ):
            refuted_pieces += 1
        if refuted_pieces > 0:
            remove_lowest_pieces(s, arm, refuted_pieces)
        # An arm with a loss although it was given 1 breaks the rules: a threshold is at most 1.
        s.lows[arm] = min(amount, 1.0 - TOLERANCE)
    # A loss turns B(1 + S, 1 + F) into B(2 + S, 1 + F): it multiplies a density by the probability
    # of a loss, (1 + S) / (2 + S + F). Weights are relative to the first piece.
    shape_sum = 2.0 + s.losses[arm] + s.clears[arm]
    for piece in range(1, s.pieces[arm]):
        clamp_weight(
            s, arm, piece, s.weights[arm, piece] * shape_sum / (shape_sum + s.further[arm, piece])
        )
    s.losses[arm] += 1.0


def learn_no_loss(s: ThresholdPosterior, arm: int, amount: float) -> None:
    """Learn that an arm had no loss when it was given an amount."""
    if amount <= s.lows[arm] + TOLERANCE:
        learn_no_loss_below(s, arm)
        return
    piece = 0
    while s.ends[arm, piece] < amount - TOLERANCE:
        piece += 1
    if s.ends[arm, piece] > amount + TOLERANCE:
        split_piece(s, arm, piece, amount)
    # For thresholds above `amount`, a round without a loss multiplies the density by its
    # probability, (1 + F) / (2 + S + F). For other thresholds it says nothing.
    for above in range(piece + 1, s.pieces[arm]):
        shape = 1.0 + s.clears[arm] + s.further[arm, above]
        clamp_weight(s, arm, above, s.weights[arm, above] * shape / (1.0 + s.losses[arm] + shape))
        s.further[arm, above] += 1.0
    if s.pieces[arm] > PIECES:
        merge_pieces(s, arm, cheapest_merger(s, arm))


def learn_no_loss_below(s: ThresholdPosterior, arm: int) -> None:
    """Learn that an arm had no loss although it was given less than it needs."""
    # All pieces are above what was given, so the density of each is multiplied by the probability
    # of no loss, (1 + F) / (2 + S + F). Weights are relative to the first piece.
    shape_sum = 2.0 + s.losses[arm] + s.clears[arm]
    shape = 1.0 + s.clears[arm]
    for piece in range(1, s.pieces[arm]):
        further = s.further[arm, piece]
        ratio = (shape + further) * shape_sum / (shape * (shape_sum + further))
        clamp_weight(s, arm, piece, s.weights[arm, piece] * ratio)
    s.clears[arm] += 1.0


def clamp_weight(s: ThresholdPosterior, arm: int, piece: int, weight: float) -> None:
    """Set the weight of a piece, clamped to the range from `_LEAST_WEIGHT` to 1."""
    s.weights[arm, piece] = min(1.0, max(_LEAST_WEIGHT, weight))


def split_piece(s: ThresholdPosterior, arm: int, piece: int, end: float) -> None:
    """Split a piece in two; the first of them ends at `end`."""
    for k in range(s.pieces[arm], piece, -1):
        copy_piece(s, arm, k - 1, k)
    s.ends[arm, piece] = end
    s.pieces[arm] += 1


def copy_piece(s: ThresholdPosterior, arm: int, source: int, target: int) -> None:
    """Copy the piece at `source` to `target`."""
    s.ends[arm, target] = s.ends[arm, source]
    s.weights[arm, target] = s.weights[arm, source]
    s.further[arm, target] = s.further[arm, source]


def remove_lowest_pieces(s: ThresholdPosterior, arm: int, number: int) -> None:
    """Remove the lowest pieces."""
    for piece in range(number, s.pieces[arm]):
        copy_piece(s, arm, piece, piece - number)
    s.pieces[arm] -= number
    renormalize_weights(s, arm)


def renormalize_weights(s: ThresholdPosterior, arm: int) -> None:
    """Make weights and counts relative to the first piece again, after it has changed."""
    weight = s.weights[arm, 0]
    further = s.further[arm, 0]
    s.clears[arm] += further
    for piece in range(s.pieces[arm]):
        clamp_weight(s, arm, piece, s.weights[arm, piece] / weight)
        s.further[arm, piece] -= further


def cheapest_merger(s: ThresholdPosterior, arm: int) -> int:
    """Return the piece whose merger with the next one moves the least mass; the first of equals."""
    best = 0
    least_mass = 2.0
    for piece in range(s.pieces[arm] - 1):
        width = s.ends[arm, piece] - piece_start(s, arm, piece)
        next_width = s.ends[arm, piece + 1] - s.ends[arm, piece]
        weight_difference = abs(s.weights[arm, piece] - s.weights[arm, piece + 1])
        moved_mass = weight_difference * width * next_width / (width + next_width)
        if moved_mass < least_mass:
            best, least_mass = piece, moved_mass
    return best


def merge_pieces(s: ThresholdPosterior, arm: int, piece: int) -> None:
    """Merge a piece with the next: it gets the mass of both, and the F of the likelier one."""
    first, second = piece_mass(s, arm, piece), piece_mass(s, arm, piece + 1)
    start, end = piece_start(s, arm, piece), s.ends[arm, piece + 1]
    if second >= first:
        s.further[arm, piece] = s.further[arm, piece + 1]
    s.ends[arm, piece] = end
    s.weights[arm, piece] = (first + second) / (end - start)
    for k in range(piece + 2, s.pieces[arm]):
        copy_piece(s, arm, k, k - 1)
    s.pieces[arm] -= 1
    if piece == 0:
        renormalize_weights(s, arm)


def allocation_in_piece(
    low: float, high: float, depth: float, resource: float, arms: int, rounding: int
) -> float:
    """Return an allocation in the piece from `low` to `high`.

    With `rounding` 0 it is ``high - depth * (high - low)``; `depth` is in [0, 1). With 1 it is an
    equal part of the resource. With 2 it is a round number: of the units 1, 1/2, 1/5, 1/10, 1/20,
    ... the first that has a multiple in the piece, and of these multiples the largest. If no such
    part or number lies in the piece, 1 and 2 do as 0 does.
    """
    if rounding == 1:
        # The parts resource / m that are above `low` and at most `high` are equally likely.
        first = max(1, math.ceil(resource / (high + TOLERANCE)))
        last = min(arms, math.ceil(resource / (low + TOLERANCE)) - 1)
        if first <= last:
            number = first + int(depth * (last - first + 1))
            return min(high, resource / min(number, last))
    if rounding == 2:
        units_per_1 = 1.0
        for k in range(28):  # units down to 1e-9
            round_number = math.floor((high + TOLERANCE) * units_per_1) / units_per_1
            if round_number > low + TOLERANCE:
                return min(high, round_number)
            units_per_1 *= 2.5 if k % 3 == 1 else 2.0
    return high - depth * (high - low)
