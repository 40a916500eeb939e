"""Paths of curves in SVG: short texts with as many points as a screen can show."""

from typing import Final

import numpy as np
import numpy.typing as npt

from keyhole.pages.chart_scales import Floats

Indices = npt.NDArray[np.intp]

WIDTH: Final = 1800
"""The width of a drawing in its own units; on a wide screen a unit is half a pixel."""

_REACH: Final = 4.0  # lines are cut off at this many widths or heights of the drawing


def line_point_indices(x: Floats, y: Floats, point_count: int) -> Indices:
    """Return the indices of at most about `point_count` points that keep the look of a line.

    The width is divided into equal columns. Each column keeps its highest point, its lowest point
    and its first gap. The first and the last point of the line are kept, too.
    """
    if len(x) <= point_count:
        return np.arange(len(x))
    # Most columns keep two points: the lowest and the highest, so that a narrow peak stays visible.
    columns = _column_numbers(x, point_count // 2)
    # `ascending` lists the points column by column, in each from the lowest up; NaN comes last.
    ascending = np.lexsort((y, columns))
    descending = np.lexsort((-y, columns))
    column_starts = np.flatnonzero(np.diff(columns[ascending], prepend=-1))
    gaps = np.flatnonzero(np.isnan(y))
    first_gaps = gaps[np.unique(columns[gaps], return_index=True)[1]]
    ends = np.array([0, len(x) - 1])
    extremes = [ascending[column_starts], descending[column_starts]]
    return np.unique(np.concatenate([*extremes, first_gaps, ends]))


def thin_band(
    x: Floats, low: Floats, high: Floats, point_count: int
) -> tuple[Floats, Floats, Floats]:
    """Return a band of at most about `point_count` points that covers the given band."""
    if len(x) <= point_count:
        return x, low, high
    column_starts = np.flatnonzero(np.diff(_column_numbers(x, point_count), prepend=-1))
    # The ends of the band stay where they are. fmin and fmax ignore NaN.
    return (
        np.concatenate([x[:1], x[column_starts][1:-1], x[-1:]]),
        np.fmin.reduceat(low, column_starts),
        np.fmax.reduceat(high, column_starts),
    )


def spread_indices(x: Floats, point_count: int) -> Indices:
    """Return the indices of at most about `point_count` points, evenly spread, with both ends."""
    if len(x) <= point_count:
        return np.arange(len(x))
    column_starts = np.flatnonzero(np.diff(_column_numbers(x, point_count - 1), prepend=-1))
    return np.unique(np.append(column_starts, len(x) - 1))


def _column_numbers(x: Floats, count: int) -> Indices:
    """Return which of `count` equal columns each point lies in; NaN is in the first."""
    low = np.nanmin(x, initial=np.inf)
    high = np.nanmax(x, initial=-np.inf)
    if not low < high:
        return np.zeros(len(x), np.intp)
    share = np.nan_to_num((x - low) / (high - low), nan=0.0)
    return np.minimum((share * count).astype(np.intp), count - 1)


def line_path(x: Floats, y: Floats, height: int, *, steps: bool = False) -> str:
    """Return the path of a line through points, which are fractions; NaN breaks the line.

    `height` is in the drawing's units. `dots_path` draws the points without neighbours.

    Examples
    --------
    >>> line_path(np.array([0, 0.5, 1]), np.array([0, 1, 0.5]), 100)
    'M0 100l900-100 900 50'
    """
    across, down = _convert_to_units(x, y, height)
    return "".join(
        _segment_path(_line_corners(across[start:end], down[start:end], steps))
        for start, end in _ranges_without_nan(x + y)
        if end - start > 1
    )


def dots_path(x: Floats, y: Floats, height: int) -> str:
    """Return the path of the points without neighbours: lines without length, with round ends.

    Examples
    --------
    >>> dots_path(np.array([0, 0.5, 1]), np.array([0, np.nan, 0.5]), 100)
    'M0 100h.01M1800 50h.01'
    """
    across, down = _convert_to_units(x, y, height)
    isolated = [start for start, end in _ranges_without_nan(x + y) if end - start == 1]
    return "".join(f"M{across[point]} {down[point]}h.01" for point in isolated)


def band_path(x: Floats, low: Floats, high: Floats, height: int, *, steps: bool = False) -> str:
    """Return the path of a band: a closed outline of each part without a gap."""
    across, upper = _convert_to_units(x, high, height)
    _, lower = _convert_to_units(x, low, height)
    outlines = []
    for start, end in _ranges_without_nan(x + low + high):
        if end - start > 1:
            upper_edge = _line_corners(across[start:end], upper[start:end], steps)
            lower_edge = _line_corners(across[start:end], lower[start:end], steps)
            outlines.append(_segment_path(np.concatenate([upper_edge, lower_edge[::-1]])) + "z")
    return "".join(outlines)


def whiskers_path(x: Floats, low: Floats, high: Floats, height: int) -> str:
    """Return the path of the intervals without neighbours: a vertical line each."""
    across, upper = _convert_to_units(x, high, height)
    _, lower = _convert_to_units(x, low, height)
    isolated = [start for start, end in _ranges_without_nan(x + low + high) if end - start == 1]
    return "".join(f"M{across[point]} {upper[point]}V{lower[point]}" for point in isolated)


def _convert_to_units(
    x: Floats, y: Floats, height: int
) -> tuple[npt.NDArray[np.int_], npt.NDArray[np.int_]]:
    """Return the distances of points from the left and from the top, in the drawing's units."""
    across = np.nan_to_num(np.clip(x, -_REACH, _REACH) * WIDTH)
    down = np.nan_to_num((1 - np.clip(y, -_REACH, _REACH)) * height)
    return np.rint(across).astype(np.int_), np.rint(down).astype(np.int_)


def _ranges_without_nan(values: Floats) -> list[tuple[int, int]]:
    """Return the ranges of indices without NaN: the first index, and the one after the last.

    Where one of several arrays has NaN, their sum has NaN, too.
    """
    edges = np.diff(np.concatenate([[0], ~np.isnan(values), [0]]).astype(np.int8))
    return list(
        zip(np.flatnonzero(edges == 1).tolist(), np.flatnonzero(edges == -1).tolist(), strict=True)
    )


def _line_corners(
    across: npt.NDArray[np.int_], down: npt.NDArray[np.int_], steps: bool
) -> npt.NDArray[np.int_]:
    """Return the corners of a line; with steps, each height holds until the next point."""
    if steps:
        across = np.repeat(across, 2)[1:]
        down = np.repeat(down, 2)[:-1]
    return np.stack([across, down], axis=1)


def _segment_path(corners: npt.NDArray[np.int_]) -> str:
    """Return the path of a line without gaps."""
    # Differences are short to write; since they are whole numbers, errors do not add up.
    moves = np.diff(corners, axis=0).tolist()
    # A minus sign separates numbers as well as a space does.
    text = " ".join(f"{dx} {dy}" for dx, dy in moves if dx or dy).replace(" -", "-")
    return f"M{corners[0, 0]} {corners[0, 1]}l{text or '0 0'}"
