"""The report of a sweep (an experiment that varies spec entries): plots, and tables of metrics."""

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Final

from matplotlib.figure import Figure

from keyhole.experiment.plots import cell_note
from keyhole.experiment.run_folder import RunFolder
from keyhole.experiment.small_multiples import plot_by_parameter, plot_by_round
from keyhole.experiment.sweep_points import count_points, value_to_toml
from keyhole.experiment.sweep_summary import (
    MOST_PANELS,
    Summaries,
    is_number,
    legend_labels,
    points_to_compare,
    short_names,
)
from keyhole.metric import Metric
from keyhole.pages.page import PageBlock, Section
from keyhole.pages.picture import Picture
from keyhole.pages.table import Table
from keyhole.results.drawn_curves import arms_divisor
from keyhole.results.estimate import Estimate
from keyhole.results.plot import MOST_STYLES, count_nonpositive

_BEST: Final = "A policy is best if its 95 % interval overlaps no other."
_SHORT: Final = 60  # letters of a value that is shown beside its name
_MOST_ROWS: Final = 200
_LEAST_VALUES: Final = 3  # of an entry that metrics are drawn against
_WHOLE_POLICY: Final = re.compile(r"policy\[\d+\]")


def sweep_sections(run: RunFolder, summaries: Summaries) -> list[Section]:
    """Return the sections of a sweep: varied entries, each metric, and the short names.

    Figures are also written to files in the run folder.
    """
    metrics = list(summaries.metrics)
    files = ["figure", *(f"figure-{metric}" for metric in metrics[1:])]
    sections = [
        _metric_section(run, summaries, m, file) for m, file in zip(metrics, files, strict=True)
    ]
    return [_varied_section(run, summaries), *sections, *_legend(summaries)]


def summarize_sweep(summaries: Summaries) -> str:
    """Return a sentence with the number of points at which each policy is best."""
    metric = next(iter(summaries.metrics.values()))
    parts = points_to_compare(summaries.points)
    counts: Counter[str] = Counter()
    for _, points in parts:
        last = {label: p.last(label, metric.name) for p in points for label in p.labels}
        known = {label: mean for label, mean in last.items() if mean is not None}
        if known:
            counts[_name_best(known, metric)] += 1
    alone = len(parts) == 1
    listed = "; ".join(
        words if alone else f"{words} at {n:,} of {len(parts):,}"
        for words, n in counts.most_common()
    )
    beside = _count_text(len(parts), [*parts[0][0]])
    return f"{metric.best.capitalize()} {metric.title} in the end{beside}: {listed}. {_BEST}"


def _name_best(means: Mapping[str, Estimate], metric: Metric) -> str:
    """Return which policy is best, or why that is unknown."""
    lower = metric.better == "lower"
    first = (min if lower else max)(means, key=lambda label: means[label].value)
    others = [mean for label, mean in means.items() if label != first]
    if not all(math.isfinite(mean.reach) for mean in means.values()):
        return "one replication has no interval"
    low, high = means[first].low, means[first].high
    if all(high < mean.low if lower else mean.high < low for mean in others):
        return f"{first} is best"
    return "intervals overlap"


def _count_text(count: int, names: Sequence[str]) -> str:
    """Return how many problems, values or combinations are compared."""
    if count == 1:
        return ""
    if all(name.startswith("problem") for name in names):
        return f", of {count:,} problems"
    of = f"values of {names[0]}" if len(names) == 1 else f"combinations of {', '.join(names)}"
    return f", of {count:,} {of}"


def _varied_section(run: RunFolder, summaries: Summaries) -> Section:
    """Return the section with the varied entries and their values."""
    names = short_names(summaries.sweep)
    rows = []
    for name, values in summaries.sweep.items():
        shown = [_show_value(*pair) for pair in zip(names[name], values, strict=True)]
        separator = ", " if shown == names[name] else "; "
        rows.append([_show_entry(name, run.spec), f"{len(values)}", separator.join(_few(shown))])
    table = Table("All combinations; the last varies the fastest.", ["entry", "values", ""], rows)
    return Section("varied", "What varies", [table])


def _show_value(short: str, value: Any) -> str:
    """Return a short name, with its value if that is a short list."""
    text = value_to_toml(value)
    return f"{short} = {text}" if isinstance(value, list) and len(text) <= _SHORT else short


def _show_entry(name: str, spec: Mapping[str, Any]) -> str:
    """Return the name of a varied entry, with the policy of ``policy[0].alpha``."""
    place, dot, _ = name.partition(".")
    if not (dot and _WHOLE_POLICY.fullmatch(place)):
        return name
    policy = spec["policy"][int(place[len("policy[") : -1])]
    return f"{name} ({policy.get('label') or policy['name']})"


def _legend(summaries: Summaries) -> list[Section]:
    """Return the section that lists the values of short names, if there are any."""
    listed = legend_labels(summaries.sweep)
    more = len(listed) - _MOST_ROWS
    note = f"; {more:,} more are in the spec" if more > 0 else ""
    short = [[name, text] for name, text in listed[:_MOST_ROWS]]
    table = Table(f"The values of short names{note}.", ["name", "value"], short)
    return [Section("key", "Short names", [table])] if short else []


def _few(words: Sequence[str]) -> list[str]:
    most = 8
    return [*words] if len(words) <= most else [*words[: most - 2], "...", words[-1]]


def _metric_section(run: RunFolder, summaries: Summaries, metric: str, file: str) -> Section:
    metric_title = summaries.metrics[metric].title
    axes: dict[str, Any] = run.spec.get("figure", {})
    title = f"{run.spec.get('title') or run.spec['name']}: {metric_title}"
    blocks: list[PageBlock] = []
    for number, name in enumerate(_drawn_entries(summaries.sweep)):
        figure, left_out = plot_by_parameter(summaries, metric, name, y=axes.get("y"))
        caption = f"At the last checkpoint, against {name}; bars are 95 % intervals."
        if left_out:
            caption += f" {MOST_PANELS} of {left_out + MOST_PANELS:,} panels, evenly spread over"
            caption += " all; the table has their numbers."
        caption += _own_axes(figure)
        path = run.folder / f"{file}-against-{number + 1}"
        blocks.append(Picture.of(figure, path, title=f"{title} against {name}", caption=caption))
    caption = "Means over the rounds, with their 95 % intervals."
    if (panels := len(points_to_compare(summaries.points, MOST_STYLES))) > MOST_PANELS:
        caption += (
            f" {MOST_PANELS} of {panels:,} panels, evenly spread over all; curves.parquet and"
            " values.parquet have the others."
        )
    shown, y = [panel for panel in summaries.panels if metric in panel.known], axes.get("y")
    if any(arms_divisor(p, metric, y) or y == "log" for p in shown) and any(
        count_nonpositive(p, metric) for p in shown
    ):
        caption += " Means that are not above 0 are left out: they have no logarithm."
    if any(len(panel.checkpoints) > 1 for panel in shown):
        figure = plot_by_round(summaries, metric, **axes)
        caption += _own_axes(figure)
        blocks.append(Picture.of(figure, run.folder / file, title=title, caption=caption))
    blocks.append(_table(summaries, metric))
    return Section(file, metric_title[:1].upper() + metric_title[1:], blocks)


def _own_axes(figure: Figure) -> str:
    """Return which axes of the panels differ, for the caption."""
    ends = {
        "horizontal": {axes.get_xlim() for axes in figure.axes},
        "vertical": {axes.get_ylim() for axes in figure.axes},
    }
    own = " and ".join(which for which, found in ends.items() if len(found) > 1)
    return f" Panels differ in their {own} axes." if own else ""


def count_panels(sweep: Mapping[str, Sequence[Any]], *, over_rounds: bool) -> list[int]:
    """Return the number of panels of each figure of a metric, as the forecast expects it.

    Points that differ in a whole table of a policy are expected to share a panel.
    """
    apart = {name: v for name, v in sweep.items() if not _WHOLE_POLICY.fullmatch(name)}
    points = count_points(apart)
    sizes = [points] if over_rounds else []
    sizes += [points // len(apart.get(name, [0])) for name in _drawn_entries(sweep)]
    return [min(size, MOST_PANELS) for size in sizes]


def _drawn_entries(sweep: Mapping[str, Sequence[Any]]) -> list[str]:
    """Return the entries against which metrics are drawn: numbers, and those with many values."""
    many = count_points(sweep) > MOST_PANELS
    return [
        name
        for name, values in sweep.items()
        if len(values) >= _LEAST_VALUES
        and (all(map(is_number, values)) or (many and len(values) > MOST_PANELS))
    ]


def _table(summaries: Summaries, metric: str) -> Table:
    rows = []
    for point in summaries.points[:_MOST_ROWS]:
        found = [point.last(label, metric) for label in summaries.labels]
        cells = ["" if mean is None else mean.plus_minus() for mean in found]
        rows.append([*point.names.values(), *cells])
    note = f"{cell_note(summaries.metrics[metric])}, at the last checkpoint"
    if len(summaries.points) > _MOST_ROWS:
        note += (
            f"; the first {_MOST_ROWS} of {len(summaries.points):,} points, curves.parquet has all"
        )
    return Table(f"{note}.", [*summaries.sweep, *summaries.labels], rows)
