"""Paths of curves in SVG: short texts with as many points as a screen can show."""

from typing import Final

import numpy as np
import numpy.typing as npt

from keyhole.pages.chart_plot import Floats

UNITS: Final = 1800
"""Width of a drawing in its own units, half a pixel of a wide screen each."""

_REACH: Final = 4.0  # lines outside the drawing end this many of its sizes away


def thin_line(x: Floats, y: Floats, point_count: int) -> npt.NDArray[np.intp]:
    """Return the indices of at most about `point_count` points that keep the look of a line.

    The width is divided into equal columns. Of each, the highest and the lowest point stay, and a
    gap. The first and the last point stay.
    """
    if len(x) <= point_count:
        return np.arange(len(x))
    # A column keeps two points, its lowest and its highest: a peak between others stays visible.
    column = _pixel_columns(x, point_count // 2)
    # Sorted by column and height, the lowest point is the first of its column. NaN comes last.
    ascending = np.lexsort((y, column))
    descending = np.lexsort((-y, column))
    column_starts = np.flatnonzero(np.diff(column[ascending], prepend=-1))
    gaps = np.flatnonzero(np.isnan(y))
    first_gaps = gaps[np.unique(column[gaps], return_index=True)[1]]
    ends = np.array([0, len(x) - 1])
    extremes = [ascending[column_starts], descending[column_starts]]
    return np.unique(np.concatenate([*extremes, first_gaps, ends]))


def thin_band(
    x: Floats, low: Floats, high: Floats, point_count: int
) -> tuple[Floats, Floats, Floats]:
    """Return at most about `point_count` points of a band that contains the whole band."""
    if len(x) <= point_count:
        return x, low, high
    column_starts = np.flatnonzero(np.diff(_pixel_columns(x, point_count), prepend=-1))
    # fmin and fmax ignore NaN.
    return (
        np.concatenate([x[:1], x[column_starts][1:-1], x[-1:]]),
        np.fmin.reduceat(low, column_starts),
        np.fmax.reduceat(high, column_starts),
    )


def spread_points(x: Floats, point_count: int) -> npt.NDArray[np.intp]:
    """Return the indices of at most about `point_count` points, evenly spread, with both ends."""
    if len(x) <= point_count:
        return np.arange(len(x))
    column_starts = np.flatnonzero(np.diff(_pixel_columns(x, point_count - 1), prepend=-1))
    return np.unique(np.append(column_starts, len(x) - 1))


def _pixel_columns(x: Floats, count: int) -> npt.NDArray[np.intp]:
    """Return the number of each point's column; points that are not drawn have one, too."""
    low = np.nanmin(x, initial=np.inf)
    high = np.nanmax(x, initial=-np.inf)
    if not low < high:
        return np.zeros(len(x), np.intp)
    share = np.nan_to_num((x - low) / (high - low), nan=0.0)
    return np.minimum((share * count).astype(np.intp), count - 1)


def line_path(x: Floats, y: Floats, height: int, *, steps: bool = False) -> str:
    """Return the path of a line through points given as fractions; NaN breaks it.

    `height` is in the drawing's units. A point without neighbours is in `dots_path`.

    Examples
    --------
    >>> line_path(np.array([0, 0.5, 1]), np.array([0, 1, 0.5]), 100)
    'M0 100l900-100 900 50'
    """
    across, down = _pixels(x, y, height)
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
    across, down = _pixels(x, y, height)
    alone = [start for start, end in _ranges_without_nan(x + y) if end - start == 1]
    return "".join(f"M{across[point]} {down[point]}h.01" for point in alone)


def band_path(x: Floats, low: Floats, high: Floats, height: int, *, steps: bool = False) -> str:
    """Return the closed path of a band, one for each part without a gap."""
    across, upper = _pixels(x, high, height)
    _, lower = _pixels(x, low, height)
    outlines = []
    for start, end in _ranges_without_nan(x + low + high):
        if end - start > 1:
            upper_edge = _line_corners(across[start:end], upper[start:end], steps)
            lower_edge = _line_corners(across[start:end], lower[start:end], steps)
            outlines.append(_segment_path(np.concatenate([upper_edge, lower_edge[::-1]])) + "z")
    return "".join(outlines)


def whiskers_path(x: Floats, low: Floats, high: Floats, height: int) -> str:
    """Return the path of the intervals without neighbours: a vertical line each."""
    across, upper = _pixels(x, high, height)
    _, lower = _pixels(x, low, height)
    alone = [start for start, end in _ranges_without_nan(x + low + high) if end - start == 1]
    return "".join(f"M{across[point]} {upper[point]}V{lower[point]}" for point in alone)


def _pixels(x: Floats, y: Floats, height: int) -> tuple[npt.NDArray[np.int_], npt.NDArray[np.int_]]:
    """Return places from the left and from the top in the drawing's units."""
    across = np.nan_to_num(np.clip(x, -_REACH, _REACH) * UNITS)
    down = np.nan_to_num((1 - np.clip(y, -_REACH, _REACH)) * height)
    return np.rint(across).astype(np.int_), np.rint(down).astype(np.int_)


def _ranges_without_nan(values: Floats) -> list[tuple[int, int]]:
    """Return the ranges of indices without NaN."""
    edges = np.diff(np.concatenate([[0], ~np.isnan(values), [0]]).astype(np.int8))
    return list(
        zip(np.flatnonzero(edges == 1).tolist(), np.flatnonzero(edges == -1).tolist(), strict=True)
    )


def _line_corners(
    across: npt.NDArray[np.int_], down: npt.NDArray[np.int_], steps: bool
) -> npt.NDArray[np.int_]:
    """Return the points of a line; with steps, each height holds until the next point."""
    if steps:
        across = np.repeat(across, 2)[1:]
        down = np.repeat(down, 2)[:-1]
    return np.stack([across, down], axis=1)


def _segment_path(corners: npt.NDArray[np.int_]) -> str:
    """Return the path of a line without gaps."""
    # Differences of whole numbers: the path is short, and errors do not add up.
    moves = np.diff(corners, axis=0).tolist()
    # A minus sign separates numbers as well as a space does.
    text = " ".join(f"{dx} {dy}" for dx, dy in moves if dx or dy).replace(" -", "-")
    return f"M{corners[0, 0]} {corners[0, 1]}l{text or '0 0'}"
