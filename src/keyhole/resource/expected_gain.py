"""Expected reward less cost and penalty of running an arm up to a limit, by integration.

With reward R, consumption C and its cost c(C), this gain is E[(R - c(C)) 1{C <= limit}] -
penalty(limit) P(C > limit), by equation (2) of Bengs and Huellermeier (2022). An arm's `GainCurve`
computes the expectation and P(C <= limit) for every limit.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from keyhole.contract.state_arrays import FloatArray
from keyhole.distributions.distribution import Distribution
from keyhole.resource.cost_functions import Function
from keyhole.resource.joint_distributions import Replay, SmoothDistribution

# A cell is halved until its integral differs by at most this from the sum over its halves.
_PRECISION: Final = 1e-11
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(10)
_MOST_HALVINGS: Final = 30
# Straight lines between the points of a table of gains err by less than this at mid-cell.
TABLE_PRECISION: Final = 1e-7


class GainCurve(ABC):
    """The two expectations that determine an arm's gain, for limits up to the largest.

    `integrate_up_to(x)` integrates over consumptions of at most `x`, and `integrate_below(x)` over
    consumptions below `x`. Their results differ at atoms of the distribution. Subclasses are given
    `edges`: points from 0 to the largest limit, among them all points at which the cost is not
    smooth.
    """

    knots: FloatArray
    """Points from 0 to the largest limit between which the expectations are smooth."""

    @abstractmethod
    def integrate_up_to(self, x: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return E[(R - c(C)) 1{C <= x}] and P(C <= x)."""

    def integrate_below(self, x: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return E[(R - c(C)) 1{C < x}] and P(C < x)."""
        return self.integrate_up_to(x)


class SmoothGainCurve(GainCurve):
    """Gain curve of a distribution whose consumption has a density: Gauss-Legendre quadrature."""

    def __init__(self, distribution: SmoothDistribution, cost: Function, edges: FloatArray) -> None:
        self._distribution = distribution
        self._cost = cost
        breakpoints = distribution.landmarks()
        # Cells shrink geometrically towards 0, where a cost with a power below 1 is infinitely
        # steep.
        steep_points = edges[-1] * 0.5 ** np.arange(1, 40)
        is_inside = (breakpoints > 0.0) & (breakpoints < edges[-1])
        knots = np.union1d(edges, np.concatenate([breakpoints[is_inside], steep_points]))
        for halving in range(_MOST_HALVINGS + 1):
            middles = (knots[:-1] + knots[1:]) / 2
            whole = self._integrate_cells(knots[:-1], knots[1:])
            halves = self._integrate_cells(knots[:-1], middles)
            halves += self._integrate_cells(middles, knots[1:])
            # The difference between a cell and its halves estimates the error of the cell. The
            # two never agree where the density jumps, so the number of halvings is limited.
            is_rough = (np.abs(whole - halves) > _PRECISION).any(axis=1)
            if not is_rough.any() or halving == _MOST_HALVINGS:
                break
            knots = np.union1d(knots, middles[is_rough])
        self.knots = knots
        # The integrals over halves are more precise than those over whole cells.
        self._sums = np.vstack([np.zeros((1, 2)), np.cumsum(halves, axis=0)])

    def _integrate_cells(self, low: FloatArray, high: FloatArray) -> FloatArray:
        """Return E[(R - c(C)) 1{C in cell}] and P(C in cell) of each cell, shape (cells, 2)."""
        half = (high - low) / 2
        x = low[:, None] + half[:, None] * (_NODES + 1.0)
        mass = self._distribution.density(x) * _WEIGHTS * half[:, None]
        net = (self._distribution.mean_reward(x) - self._cost(x)) * mass
        return np.column_stack([net.sum(axis=1), mass.sum(axis=1)])

    def integrate_up_to(self, x: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return E[(R - c(C)) 1{C <= x}] and P(C <= x)."""
        cell = np.clip(np.searchsorted(self.knots, x, side="right") - 1, 0, len(self.knots) - 1)
        sums = self._sums[cell] + self._integrate_cells(self.knots[cell], x)
        return sums[:, 0], sums[:, 1]


class ReplayGainCurve(GainCurve):
    """Gain curve of an empirical distribution: sums over the measured runs."""

    def __init__(self, distribution: Replay, cost: Function, edges: FloatArray) -> None:
        order = np.argsort(distribution.consumptions, kind="stable")
        # With cumulative sums over the sorted runs, an expectation takes one look-up.
        self._consumptions = distribution.consumptions[order]
        net = distribution.rewards[order] - cost(self._consumptions)
        self._expected_net = np.concatenate([[0.0], np.cumsum(net)]) / len(net)
        self.knots = np.union1d(edges, self._consumptions[self._consumptions < edges[-1]])

    def integrate_up_to(self, x: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return E[(R - c(C)) 1{C <= x}] and P(C <= x)."""
        return self._cumulative_means(np.searchsorted(self._consumptions, x, side="right"))

    def integrate_below(self, x: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return E[(R - c(C)) 1{C < x}] and P(C < x)."""
        return self._cumulative_means(np.searchsorted(self._consumptions, x, side="left"))

    def _cumulative_means(self, count: NDArray[np.intp]) -> tuple[FloatArray, FloatArray]:
        return self._expected_net[count], count / len(self._consumptions)


def make_gain_curve(distribution: Distribution, cost: Function, edges: FloatArray) -> GainCurve:
    """Return the gain curve of a distribution."""
    if isinstance(distribution, Replay):
        return ReplayGainCurve(distribution, cost, edges)
    if isinstance(distribution, SmoothDistribution):
        return SmoothGainCurve(distribution, cost, edges)
    raise TypeError(
        f"arms must be distributions with a density, or measured runs, got {distribution!r}"
    )


def gain_at(curve: GainCurve, penalty: Function, limits: FloatArray) -> FloatArray:
    """Return the penalized expected gain at each limit: equation (2)."""
    return _penalize(curve.integrate_up_to(limits), penalty(limits))


def _penalize(expectations: tuple[FloatArray, FloatArray], penalties: FloatArray) -> FloatArray:
    net, mass = expectations
    return np.asarray(net - penalties * (1.0 - mass))


@dataclass(frozen=True)
class GainTable:
    """Table of an arm's gains for all limits: exact at the knots, linear in between."""

    knots: FloatArray  # increasing from 0 to the largest limit
    gain_at_knot: FloatArray
    gain_above_knot: FloatArray  # just above each knot
    slope: FloatArray  # the slope from each knot to the next


def tabulate_gain(curve: GainCurve, penalty: Function, edges: FloatArray) -> GainTable:
    """Tabulate an arm's gains so finely that linear interpolation errs by less than 1e-7.

    `edges` are points from 0 to the largest limit, among them all points at which the penalty is
    not smooth.
    """
    knots = np.union1d(edges, curve.knots)
    for halving in range(_MOST_HALVINGS + 1):
        # The gain just above and just below each knot, where penalty and distribution may jump.
        gain_above = _penalize(curve.integrate_up_to(knots), penalty.after(knots))
        gain_below = _penalize(curve.integrate_below(knots[1:]), penalty(knots[1:]))
        middles = (knots[:-1] + knots[1:]) / 2
        # For a smooth gain, the error of a straight line is largest near the middle.
        error = gain_at(curve, penalty, middles) - (gain_above[:-1] + gain_below) / 2
        is_rough = np.abs(error) > TABLE_PRECISION
        if not is_rough.any() or halving == _MOST_HALVINGS:
            break
        knots = np.union1d(knots, middles[is_rough])
    slope = np.append((gain_below - gain_above[:-1]) / np.diff(knots), 0.0)
    return GainTable(knots, gain_at(curve, penalty, knots), gain_above, slope)
