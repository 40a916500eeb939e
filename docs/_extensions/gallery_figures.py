"""Style, alternative texts and captions of the figures in tutorials, exercises and the gallery.

Sphinx-Gallery would take the file's name as the alternative text of a figure without titles. Here
it is a description of what is drawn: the labels of the axes, and the ends of each curve. A comment
in a script that begins with ``Figure:`` is also the caption below the figures of its block.
"""

import re
from collections.abc import Iterator
from typing import Any, Final

from cycler import cycler
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.container import BarContainer
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

_HEIGHT: Final = 3.4  # inches
_PIXELS: Final = 600  # the width of a figure
_DASHES: Final = ("-", "--", "-.", ":")  # beside colours, for readers who see few of them
_CAPTION: Final = re.compile(r"^# Figure: (.+(?:\n# .+)*)", re.MULTILINE)
_MOST_NAMED: Final = 9  # bars or curves; more are summed up
_SEPARATED: Final = 1000  # the least number with a comma
_PEAK: Final = 0.1  # share of a curve's height by which a peak is above both ends


def set_figure_style(gallery_conf: dict[str, Any], script: Any) -> None:
    """Make the letters of figures readable on a phone, and their colours for all readers."""
    from matplotlib import rcParams

    from keyhole.pages.policy_colours import COLOURS, FIGURE_WIDTH

    rcParams["figure.figsize"] = FIGURE_WIDTH, _HEIGHT
    rcParams["figure.dpi"] = _PIXELS / FIGURE_WIDTH
    dashes = [_DASHES[number % len(_DASHES)] for number in range(len(COLOURS))]
    rcParams["axes.prop_cycle"] = cycler(color=COLOURS, linestyle=dashes)


def scrape_figures(block: Any, block_vars: dict[str, Any], gallery_conf: dict[str, Any]) -> str:
    """Save the figures of a block, with descriptions as alternative texts, and their caption."""
    import matplotlib.pyplot as plt
    from sphinx_gallery.scrapers import matplotlib_scraper

    figures = [plt.figure(number) for number in plt.get_fignums()]
    texts = iter([describe_figure(figure) for figure in figures])
    wrap_labels(figures)
    separate_thousands(figures)
    saved = matplotlib_scraper(block, block_vars, gallery_conf)
    described = re.sub(r"(?m)^(\s*:alt:).*$", lambda found: f"{found[1]} {next(texts)}", saved)
    return described + (format_caption(block[1]) if saved else "")


def wrap_labels(figures: list[Figure]) -> None:
    """Break labels of axes that would be cut off."""
    from keyhole.pages.policy_colours import wrap_axis_label

    for axis in _each_axis(figures):
        axis.label.set_text(wrap_axis_label(axis.label.get_text()))


def separate_thousands(figures: list[Figure]) -> None:
    """Write large numbers at the ticks of linear axes as everywhere else, such as 2,000."""
    for axis in _each_axis(figures):
        is_large = max(map(abs, axis.get_view_interval())) >= _SEPARATED
        # By name, since Sphinx-Gallery loads the class anew.
        if is_large and type(axis.get_major_formatter()).__name__ == "ScalarFormatter":
            axis.set_major_formatter("{x:,.10g}")


def _each_axis(figures: list[Figure]) -> Iterator[Axis]:
    for axes in (axes for figure in figures for axes in figure.axes):
        yield from (axes.xaxis, axes.yaxis)


def format_caption(code: str) -> str:
    """Return the caption in the comment of a block, as reStructuredText; nothing without one."""
    found = _CAPTION.search(code)
    if found is None:
        return ""
    words = found[1].replace("\n# ", " ")
    return f"\n.. rst-class:: figure-caption\n\n{words}\n\n"


def describe_figure(figure: Figure) -> str:
    """Return a sentence or two for each of a figure's axes."""
    parts = [describe_axes(axes) for axes in figure.axes]
    if len(parts) > 1:
        parts = [f"Panel {number}: {part}" for number, part in enumerate(parts, 1)]
    return " ".join(" ".join(parts).split())  # in one line


def describe_axes(axes: Axes) -> str:
    """Return the labels of the axes, and what is drawn on them."""
    bars = [box for box in axes.containers if isinstance(box, BarContainer)]
    lines = [line for line in axes.lines if len(line.get_xdata()) and not _is_mark(line, axes)]
    parts = [*_describe_bars(axes, bars), *_describe_lines(axes, lines)]
    parts += [f"band: {band.get_label()}" for band in axes.collections if _has_name(band)]
    parts += [_describe_mark(line) for line in axes.lines if _is_mark(line, axes)]
    parts += [f"text: {text.get_text()}" for text in axes.texts[:_MOST_NAMED] if text.get_text()]
    return f"{_describe_labels(axes)}: {'; '.join(parts)}."


def _describe_labels(axes: Axes) -> str:
    across, up = axes.get_xlabel(), axes.get_ylabel()
    labels = f"{up} by {across}" if up and across else up or across or "values"
    logarithmic = [name for name in "xy" if getattr(axes, f"get_{name}scale")() == "log"]
    scales = f" (logarithmic {' and '.join(logarithmic)} axis)" if logarithmic else ""
    return f"Plot of {labels}{scales}"


def _describe_bars(axes: Axes, groups: list[BarContainer]) -> Iterator[str]:
    for group in groups:
        across = group.orientation == "horizontal"
        ends = [bar.get_width() if across else bar.get_height() for bar in group]
        middles = [
            bar.get_y() + bar.get_height() / 2 if across else bar.get_x() + bar.get_width() / 2
            for bar in group
        ]
        if len(ends) > _MOST_NAMED:
            highest = max(range(len(ends)), key=ends.__getitem__)
            end, middle = _number(ends[highest]), _number(middles[highest])
            yield f"{len(ends)} bars, the highest ({end}) at {middle}"
            continue
        axis = axes.yaxis if across else axes.xaxis
        names = [tick.get_text() for tick in axis.get_ticklabels()]
        # The class itself may be another one: Sphinx-Gallery loads its module anew.
        if type(axis.get_major_formatter()).__name__ != "StrCategoryFormatter":
            names = list(map(_number, middles))
        bars = ", ".join(f"{name} {_number(end)}" for name, end in zip(names, ends, strict=True))
        yield f"bars: {bars}"


def _describe_lines(axes: Axes, lines: list[Line2D]) -> Iterator[str]:
    named = [line for line in lines if _has_name(line)]
    unnamed = [line for line in lines if not _has_name(line)]
    for line in named[:_MOST_NAMED]:
        yield f"{line.get_label()}, {_describe_ends(line)}"
    if len(named) > _MOST_NAMED:
        yield f"{len(named) - _MOST_NAMED} more"
    if len(unnamed) == 1:
        is_cloud = unnamed[0].get_linestyle() == "None"
        yield ("" if is_cloud else "a curve, ") + _describe_ends(unnamed[0])
    elif unnamed:
        ys = [float(y) for line in unnamed for y in line.get_ydata()]
        yield f"{len(unnamed)} marks, from {_number(min(ys))} to {_number(max(ys))}"


def _describe_ends(line: Line2D) -> str:
    """Return where a curve begins and ends, or the range of a cloud of points."""
    xs, ys = ([float(value) for value in data] for data in line.get_data())
    known = [(x, y) for x, y in zip(xs, ys, strict=True) if y == y]  # without NaN
    if not known:
        return "nowhere"
    if line.get_linestyle() == "None":
        low, high = min(y for _, y in known), max(y for _, y in known)
        if len(known) == 1:
            return f"a point at {_number(low)}"
        return f"{len(known)} points from {_number(low)} to {_number(high)}"
    ends = known[0], known[-1]
    begin, end = (f"{_number(y)} at {_number(x)}" for x, y in ends)
    return f"from {begin} to {end}{_describe_peak(known)}"


def _describe_peak(points: list[tuple[float, float]]) -> str:
    """Return where a curve is clearly above, or below, both of its ends."""
    ys = [y for _, y in points]
    least = _PEAK * (max(ys) - min(ys))
    for word, pick, sign in (("above", max, 1), ("below", min, -1)):
        x, y = pick(points, key=lambda point: point[1])
        if sign * (y - pick(ys[0], ys[-1])) > least:
            return f", between them {word}: {_number(y)} at {_number(x)}"
    return ""


def _is_mark(line: Line2D, axes: Axes) -> bool:
    """Return whether a line spans the axes, as those of `axvline` and `axhline` do."""
    return line.get_transform() is not axes.transData


def _describe_mark(line: Line2D) -> str:
    xs, ys = line.get_data()
    where = f"x = {_number(xs[0])}" if xs[0] == xs[-1] else f"y = {_number(ys[0])}"
    return f"a line at {where}" + (f", {line.get_label()}" if _has_name(line) else "")


def _has_name(artist: Any) -> bool:
    return not str(artist.get_label()).startswith("_")


def _number(value: Any) -> str:
    """Return a number with three digits, without an exponent."""
    rounded = float(f"{float(value):.3g}")
    return f"{rounded:,.10g}"
